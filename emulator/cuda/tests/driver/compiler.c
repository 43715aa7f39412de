// NVIDIA's run-time compiler, asked for machine code of a real architecture: linked with (LINKED), or opened by the
// program, which gets the library's path.
#include <cuda.h>
#include <dlfcn.h>
#include <nvrtc.h>
#include "check.h"

#define COMPILED(call)                                                   \
    do {                                                                 \
        nvrtcResult got_ = (call);                                       \
        if (got_ != NVRTC_SUCCESS) {                                     \
            printf("line %d: %s gave %d\n", __LINE__, #call, (int)got_); \
            return 1;                                                    \
        }                                                                \
    } while (0)

#ifndef LINKED
static void *library;
#define CALL(name) ((__typeof__(&name))dlsym(library, #name))
#else
#define CALL(name) name
#endif

static const char *const text = "extern \"C\" __global__ void fill(int *out, int value) { out[threadIdx.x] = value + threadIdx.x; }\n"
                                "template <int N> __global__ void scale(int *out) { out[threadIdx.x] *= N; }\n";

int main(int argc, char **argv) {
#ifndef LINKED
    HOLDS(argc == 2);
    library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    HOLDS(library != NULL);
#else
    (void)argc, (void)argv;
#endif
    CUdevice device;
    CUcontext context;
    OK(cuInit(0));
    OK(cuDeviceGet(&device, 0));
    OK(cuCtxCreate(&context, NULL, 0, device));
    nvrtcProgram program;
    COMPILED(CALL(nvrtcCreateProgram)(&program, text, "fill.cu", 0, NULL, NULL));
    COMPILED(CALL(nvrtcAddNameExpression)(program, "scale<3>"));
    const char *options[] = {"--std=c++17", "--gpu-architecture=sm_75", "-lineinfo"};
    COMPILED(CALL(nvrtcCompileProgram)(program, 3, options));
    const char *scale_name;
    COMPILED(CALL(nvrtcGetLoweredName)(program, "scale<3>", &scale_name));
    size_t bytes = 0;
    COMPILED(CALL(nvrtcGetCUBINSize)(program, &bytes));
    HOLDS(bytes > 0);
    char *image = malloc(bytes);
    COMPILED(CALL(nvrtcGetCUBIN)(program, image));
    CUmodule module;
    CUfunction fill, scale;
    OK(cuModuleLoadData(&module, image));
    OK(cuModuleGetFunction(&fill, module, "fill"));
    OK(cuModuleGetFunction(&scale, module, scale_name));
    COMPILED(CALL(nvrtcDestroyProgram)(&program));
    CUdeviceptr out;
    int value = 7, result[32];
    OK(cuMemAlloc(&out, sizeof result));
    void *arguments[] = {&out, &value};
    OK(cuLaunchKernel(fill, 1, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL));
    OK(cuLaunchKernel(scale, 1, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL));
    OK(cuMemcpyDtoH(result, out, sizeof result));
    for (int i = 0; i < 32; i++) HOLDS(result[i] == 3 * (7 + i));

    // Who asks for a virtual architecture gets what NVRTC has: no machine code.
    COMPILED(CALL(nvrtcCreateProgram)(&program, text, "fill.cu", 0, NULL, NULL));
    const char *virtual[] = {"-arch=compute_75"};
    COMPILED(CALL(nvrtcCompileProgram)(program, 1, virtual));
    COMPILED(CALL(nvrtcGetCUBINSize)(program, &bytes));
    HOLDS(bytes == 0);
    COMPILED(CALL(nvrtcDestroyProgram)(&program));
    free(image);
    printf("passed\n");
    return 0;
}
