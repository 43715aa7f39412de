// Asks for every function of a list, in every way there is: it is there, or CUDA's codes say that it is not found.
// nvcc: -lcuda
#include "check.h"
#include <cstring>
#include <cuda.h>
#include <dlfcn.h>
#include <fstream>
#include <string>

// What each way says must fit together: a function that is found is not null, and any other is.
static void ask(const char *name, int version, unsigned long long flags) {
    void *function = (void *)1;
    CUdriverProcAddressQueryResult how = (CUdriverProcAddressQueryResult)7;
    CUresult code = cuGetProcAddress(name, &function, version, flags, &how);
    CHECK(how == CU_GET_PROC_ADDRESS_SUCCESS || how == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND ||
          how == CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    CHECK((code == CUDA_SUCCESS) == (how == CU_GET_PROC_ADDRESS_SUCCESS));
    CHECK(code == CUDA_SUCCESS || code == CUDA_ERROR_NOT_FOUND);
    CHECK((function != nullptr) == (code == CUDA_SUCCESS));
    void *again = (void *)1;
    cudaDriverEntryPointQueryResult found = (cudaDriverEntryPointQueryResult)7;
    OK(cudaGetDriverEntryPointByVersion(name, &again, version, flags, &found));
    CHECK(again == function && (int)found == (int)how);
}

int main(int argc, char **argv) {
    std::ifstream list(argv[1]);
    std::string name;
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    int count = 0, missing = 0;
    CHECK(library != nullptr);
    OK(cudaFree(nullptr));
    for (; std::getline(list, name); count++) {
        for (int version : {2000, 12080, 13050})
            for (unsigned long long flags : {0ull, 1ull, 2ull}) ask(name.c_str(), version, flags);
        // Names without a version that later versions have taken the place of are in no driver.
        if (dlsym(library, name.c_str()) == nullptr) {
            printf("%s cannot be linked with\n", name.c_str());
            missing++;
        }
    }
    ask("cuNoSuchFunction", 13050, 0);
    ask("", 13050, 0);
    CHECK(count > 500 && missing == 0);
    void *function;
    for (const char *bad : {(const char *)nullptr, (const char *)16}) {
        CUdriverProcAddressQueryResult how;
        CHECK(cuGetProcAddress(bad, &function, 13050, 0, &how) == CUDA_ERROR_INVALID_VALUE);
    }
    return passed();
}
