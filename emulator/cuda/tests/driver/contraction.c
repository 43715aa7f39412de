// Whether a product and a sum are fused: prints the bits of x * x - 1.
#include <cuda.h>
#include "check.h"

static const char *PTX =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry square(.param .u64 out, .param .f32 x) {\n"
    " .reg .f32 %f<4>; .reg .b64 %d; ld.param.u64 %d, [out]; ld.param.f32 %f1, [x];\n"
    " mul.f32 %f2, %f1, %f1; sub.f32 %f3, %f2, 0f3F800000; st.global.f32 [%d], %f3; ret;\n}\n";

int main(void) {
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction square;
    CUdeviceptr out;
    OK(cuInit(0));
    OK(cuDeviceGet(&device, 0));
    OK(cuDevicePrimaryCtxRetain(&context, device));
    OK(cuCtxSetCurrent(context));
    OK(cuModuleLoadData(&module, PTX));
    OK(cuModuleGetFunction(&square, module, "square"));
    OK(cuMemAlloc(&out, 4));
    float x = 1.0f + 1.0f / 4096.0f;
    void *args[] = {&out, &x};
    OK(cuLaunchKernel(square, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
    unsigned bits;
    OK(cuMemcpyDtoH(&bits, out, sizeof bits));
    printf("%08x\npassed\n", bits);
    return 0;
}
