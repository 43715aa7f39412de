/* Opens the driver's library at run time, as LLVM-based compilers do: by either of the names that NVIDIA's driver
 * installs. Both have to be one library, or the program would have two GPUs. */

#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>

typedef CUresult (*Init)(unsigned int);
typedef CUresult (*Count)(int *);

int main(void) {
    void *plain = dlopen("libcuda.so", RTLD_LAZY);
    if (!plain) {
        printf("libcuda.so: %s\n", dlerror());
        return 1;
    }
    void *versioned = dlopen("libcuda.so.1", RTLD_NOW);
    if (versioned != plain) {
        printf("libcuda.so and libcuda.so.1 are two libraries\n");
        return 1;
    }
    int devices = 0;
    Init init = (Init)dlsym(plain, "cuInit");
    Count count = (Count)dlsym(plain, "cuDeviceGetCount");
    if (!init || !count || init(0) != CUDA_SUCCESS || count(&devices) != CUDA_SUCCESS || devices != 1) {
        printf("no device behind libcuda.so\n");
        return 1;
    }
    printf("passed\n");
    return 0;
}
