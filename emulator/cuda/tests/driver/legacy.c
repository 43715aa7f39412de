// Launches of before CUDA 4, contexts that are attached to, and functions that are not there.
#include <cuda.h>
#include <stdio.h>
#include <string.h>

#define IS(expected, call)                                                                        \
    do {                                                                                          \
        CUresult status = (call);                                                                 \
        if (status != (expected)) {                                                               \
            printf("line %d: %s: %d, not %d\n", __LINE__, #call, (int)status, (int)(expected));  \
            return 1;                                                                             \
        }                                                                                         \
    } while (0)

// out[thread of the grid] = a + (bits of) b, from blocks of 8 by 2 threads in a grid of two dimensions.
static const char *PTX =
    ".version 7.0\n.target sm_60\n.address_size 64\n"
    ".visible .entry k(.param .u64 out, .param .u32 a, .param .f32 b) {\n"
    " .reg .b32 %r<9>; .reg .b64 %d<3>;\n"
    " mov.u32 %r1, %ctaid.y; mov.u32 %r2, %nctaid.x; mov.u32 %r3, %ctaid.x; mad.lo.u32 %r1, %r1, %r2, %r3;\n"
    " mov.u32 %r4, %tid.y; mov.u32 %r5, %tid.x; mad.lo.u32 %r4, %r4, 8, %r5; mad.lo.u32 %r1, %r1, 16, %r4;\n"
    " ld.param.u64 %d1, [out]; mul.wide.u32 %d2, %r1, 4; add.u64 %d1, %d1, %d2;\n"
    " ld.param.u32 %r6, [a]; ld.param.u32 %r7, [b]; add.u32 %r6, %r6, %r7; st.global.u32 [%d1], %r6; ret;\n}\n";

int main(void) {
    CUdevice device;
    CUcontext context, same;
    CUmodule module;
    CUfunction kernel;
    CUdeviceptr out;
    CUtexref reference;
    unsigned words[6 * 16];
    IS(0, cuInit(0));
    IS(0, cuDeviceGet(&device, 0));
    IS(0, cuCtxCreate(&context, NULL, 0, device));
    IS(CUDA_ERROR_INVALID_VALUE, cuCtxAttach(&same, 1));
    IS(0, cuCtxAttach(&same, 0));
    if (same != context) return 2;
    IS(0, cuModuleLoadData(&module, PTX));
    IS(0, cuModuleGetFunction(&kernel, module, "k"));
    IS(0, cuMemAlloc(&out, sizeof words));
    IS(0, cuMemsetD32(out, 0, 6 * 16));

    IS(CUDA_ERROR_INVALID_VALUE, cuLaunch(kernel));
    IS(CUDA_ERROR_INVALID_VALUE, cuFuncSetBlockShape(kernel, 8, 0, 1));
    IS(CUDA_ERROR_INVALID_VALUE, cuFuncSetBlockShape(kernel, 8, -1, 1));
    IS(0, cuFuncSetBlockShape(kernel, 8, 2, 1));
    IS(0, cuFuncSetSharedSize(kernel, 64));
    IS(0, cuParamSetSize(kernel, 16));
    IS(0, cuParamSetv(kernel, 0, &out, 8));
    IS(0, cuParamSeti(kernel, 8, 5));
    IS(0, cuParamSetf(kernel, 12, 1.0f));
    IS(CUDA_ERROR_INVALID_VALUE, cuParamSeti(kernel, -4, 5));
    IS(CUDA_ERROR_INVALID_VALUE, cuParamSeti(kernel, 1 << 20, 5));
    IS(0, cuLaunchGrid(kernel, 3, 2));
    IS(0, cuMemcpyDtoH(words, out, sizeof words));
    for (int i = 0; i < 6 * 16; i++)
        if (words[i] != 0x3f800000u + 5) return 3;
    // The next launch has the same shape, and other numbers.
    IS(0, cuParamSeti(kernel, 8, 6));
    IS(0, cuLaunch(kernel));
    IS(0, cuMemcpyDtoH(words, out, sizeof words));
    for (int i = 0; i < 6 * 16; i++)
        if (words[i] != 0x3f800000u + (i < 16 ? 6 : 5)) return 4;
    IS(CUDA_ERROR_INVALID_VALUE, cuLaunchGrid(kernel, -1, 1));

    IS(CUDA_ERROR_NOT_SUPPORTED, cuTexRefCreate(&reference));
    // Detached twice: from what was attached to, and from what was made.
    IS(0, cuCtxDetach(context));
    IS(0, cuMemFree(out));
    IS(0, cuCtxDetach(context));
    IS(CUDA_ERROR_INVALID_CONTEXT, cuCtxDetach(context));
    printf("passed\n");
    return 0;
}
