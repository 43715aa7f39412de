// Launches of before CUDA 4, contexts that are attached to, and functions that are not there.
#include <cuda.h>
#include "check.h"

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
    OK(cuInit(0));
    OK(cuDeviceGet(&device, 0));
    OK(cuCtxCreate(&context, NULL, 0, device));
    EXPECT(cuCtxAttach(&same, 1), CUDA_ERROR_INVALID_VALUE);
    OK(cuCtxAttach(&same, 0));
    HOLDS(same == context);
    OK(cuModuleLoadData(&module, PTX));
    OK(cuModuleGetFunction(&kernel, module, "k"));
    OK(cuMemAlloc(&out, sizeof words));
    OK(cuMemsetD32(out, 0, 6 * 16));

    EXPECT(cuLaunch(kernel), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuFuncSetBlockShape(kernel, 8, 0, 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuFuncSetBlockShape(kernel, 8, -1, 1), CUDA_ERROR_INVALID_VALUE);
    OK(cuFuncSetBlockShape(kernel, 8, 2, 1));
    OK(cuFuncSetSharedSize(kernel, 64));
    OK(cuParamSetSize(kernel, 16));
    OK(cuParamSetv(kernel, 0, &out, 8));
    OK(cuParamSeti(kernel, 8, 5));
    OK(cuParamSetf(kernel, 12, 1.0f));
    EXPECT(cuParamSeti(kernel, -4, 5), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuParamSeti(kernel, 1 << 20, 5), CUDA_ERROR_INVALID_VALUE);
    OK(cuLaunchGrid(kernel, 3, 2));
    OK(cuMemcpyDtoH(words, out, sizeof words));
    for (int i = 0; i < 6 * 16; i++)
        HOLDS(words[i] == 0x3f800000u + 5);
    // The next launch has the same shape, and other numbers.
    OK(cuParamSeti(kernel, 8, 6));
    OK(cuLaunch(kernel));
    OK(cuMemcpyDtoH(words, out, sizeof words));
    for (int i = 0; i < 6 * 16; i++)
        HOLDS(words[i] == 0x3f800000u + (i < 16 ? 6 : 5));
    EXPECT(cuLaunchGrid(kernel, -1, 1), CUDA_ERROR_INVALID_VALUE);

    EXPECT(cuTexRefCreate(&reference), CUDA_ERROR_NOT_SUPPORTED);
    // Detached twice: from what was attached to, and from what was made.
    OK(cuCtxDetach(context));
    OK(cuMemFree(out));
    OK(cuCtxDetach(context));
    EXPECT(cuCtxDetach(context), CUDA_ERROR_INVALID_CONTEXT);
    printf("passed\n");
    return 0;
}
