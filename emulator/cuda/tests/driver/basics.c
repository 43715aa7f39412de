// Module, memory, launch, errors: what every program of the driver API does.
#include <cuda.h>
#include "check.h"

// out[i] = a * in[i] + i for i below n; a global counter is raised by every thread that writes.
static const char *PTX =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .global .align 4 .u32 counter = 5;\n"
    ".visible .entry scale(.param .u64 out, .param .u64 in, .param .u32 a, .param .u32 n) {\n"
    " .reg .pred %p; .reg .b32 %r<9>; .reg .b64 %d<6>;\n"
    " mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;\n"
    " mad.lo.u32 %r4, %r1, %r2, %r3;\n"
    " ld.param.u32 %r5, [n]; setp.ge.u32 %p, %r4, %r5; @%p bra DONE;\n"
    " ld.param.u64 %d1, [in]; ld.param.u64 %d2, [out]; mul.wide.u32 %d3, %r4, 4;\n"
    " add.u64 %d4, %d1, %d3; ld.global.u32 %r6, [%d4]; ld.param.u32 %r7, [a];\n"
    " mad.lo.u32 %r6, %r6, %r7, %r4; add.u64 %d5, %d2, %d3; st.global.u32 [%d5], %r6;\n"
    " red.global.add.u32 [counter], 1;\n"
    "DONE: ret;\n}\n";

enum { N = 1000 };

static int errors_before_contexts(void) {
    int count;
    CUdeviceptr p;
    EXPECT(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT(cuInit(1), CUDA_ERROR_INVALID_VALUE);
    OK(cuInit(0));
    OK(cuDeviceGetCount(&count));
    HOLDS(count == 1);
    EXPECT(cuMemAlloc(&p, 4), CUDA_ERROR_INVALID_CONTEXT);
    CUdevice device;
    EXPECT(cuDeviceGet(&device, 1), CUDA_ERROR_INVALID_DEVICE);
    OK(cuDeviceGet(&device, 0));
    char name[64] = "";
    OK(cuDeviceGetName(name, sizeof name, device));
    HOLDS(strlen(name) > 3);
    const char *text;
    OK(cuGetErrorName(CUDA_ERROR_INVALID_VALUE, &text));
    HOLDS(strcmp(text, "CUDA_ERROR_INVALID_VALUE") == 0);
    OK(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text));
    HOLDS(strcmp(text, "out of memory") == 0);
    EXPECT(cuGetErrorName((CUresult)12345, &text), CUDA_ERROR_INVALID_VALUE);
    return 0;
}

static int contexts(CUcontext *kept) {
    CUcontext a, b, current;
    OK(cuCtxCreate(&a, NULL, 0, 0));
    OK(cuCtxCreate(&b, NULL, CU_CTX_SCHED_SPIN, 0));
    OK(cuCtxGetCurrent(&current));
    HOLDS(current == b);
    unsigned flags;
    OK(cuCtxGetFlags(&flags));
    HOLDS(flags == CU_CTX_SCHED_SPIN);
    OK(cuCtxDestroy(b));
    OK(cuCtxGetCurrent(&current));
    HOLDS(current == a);
    OK(cuCtxPopCurrent(&current));
    HOLDS(current == a);
    EXPECT(cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT(cuCtxSetCurrent(b), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuCtxPushCurrent(a));
    size_t limit;
    OK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096));
    OK(cuCtxGetLimit(&limit, CU_LIMIT_STACK_SIZE));
    HOLDS(limit == 4096);
    EXPECT(cuCtxGetLimit(&limit, (CUlimit)99), CUDA_ERROR_UNSUPPORTED_LIMIT);
    *kept = a;
    return 0;
}

static int check_scaled(const unsigned *in, const unsigned *out, unsigned a) {
    for (unsigned i = 0; i < N; i++) HOLDS(out[i] == a * in[i] + i);
    return 0;
}

static int launches(CUmodule module) {
    CUfunction scale, absent;
    OK(cuModuleGetFunction(&scale, module, "scale"));
    EXPECT(cuModuleGetFunction(&absent, module, "nothing"), CUDA_ERROR_NOT_FOUND);
    unsigned in[N], out[N], a = 7, n = N, value;
    for (unsigned i = 0; i < N; i++) in[i] = i * 2654435761u;
    CUdeviceptr din, dout, counter;
    size_t bytes;
    OK(cuMemAlloc(&din, sizeof in));
    OK(cuMemAlloc(&dout, sizeof out));
    OK(cuMemcpyHtoD(din, in, sizeof in));
    void *args[] = {&dout, &din, &a, &n};
    OK(cuLaunchKernel(scale, (N + 255) / 256, 1, 1, 256, 1, 1, 0, NULL, args, NULL));
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH(out, dout, sizeof out));
    if (check_scaled(in, out, 7)) return 1;
    OK(cuModuleGetGlobal(&counter, &bytes, module, "counter"));
    HOLDS(bytes == 4);
    OK(cuMemcpyDtoH(&value, counter, 4));
    HOLDS(value == 5 + N);

    // The same from a buffer.
    struct { CUdeviceptr out, in; unsigned a, n; } buffer = {dout, din, 9, N};
    size_t size = sizeof buffer;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    OK(cuMemsetD32(dout, 0, N));
    OK(cuLaunchKernel(scale, (N + 127) / 128, 1, 1, 128, 1, 1, 0, NULL, NULL, extra));
    OK(cuMemcpyDtoH(out, dout, sizeof out));
    if (check_scaled(in, out, 9)) return 1;

    // And by configuration.
    CUlaunchConfig config = {.gridDimX = (N + 63) / 64, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 64, .blockDimY = 1, .blockDimZ = 1};
    a = 11;
    OK(cuLaunchKernelEx(&config, scale, args, NULL));
    OK(cuMemcpyDtoH(out, dout, sizeof out));
    if (check_scaled(in, out, 11)) return 1;

    EXPECT(cuLaunchKernel(scale, 0, 1, 1, 256, 1, 1, 0, NULL, args, NULL), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuLaunchKernel(scale, 1, 1, 1, 2048, 1, 1, 0, NULL, args, NULL), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuLaunchKernel(scale, 1, 1, 1, 32, 1, 1, 1 << 20, NULL, args, NULL), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuLaunchKernel((CUfunction)din, 1, 1, 1, 32, 1, 1, 0, NULL, args, NULL), CUDA_ERROR_INVALID_HANDLE);
    EXPECT(cuMemcpyDtoH(out, din + sizeof in, 4), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree(din));
    EXPECT(cuMemFree(din), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree(dout));
    return 0;
}

static int functions(CUmodule module) {
    CUfunction scale;
    OK(cuModuleGetFunction(&scale, module, "scale"));
    int value, blocks, grid, block;
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, scale));
    HOLDS(value == 1024);
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, scale));
    HOLDS(value > 0 && value < 64);
    size_t offset, size;
    OK(cuFuncGetParamInfo(scale, 3, &offset, &size));
    HOLDS(offset == 20 && size == 4);
    EXPECT(cuFuncGetParamInfo(scale, 4, &offset, &size), CUDA_ERROR_INVALID_VALUE);
    const char *name;
    OK(cuFuncGetName(&name, scale));
    HOLDS(strcmp(name, "scale") == 0);
    CUmodule of;
    OK(cuFuncGetModule(&of, scale));
    HOLDS(of == module);
    unsigned count;
    OK(cuModuleGetFunctionCount(&count, module));
    HOLDS(count == 1);
    // An SM of capability 7.5 holds 1024 threads.
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, scale, 256, 0));
    HOLDS(blocks == 4);
    OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, scale, NULL, 0, 0));
    HOLDS(block == 1024 && grid == 30);
    return 0;
}

static int bad_ptx(void) {
    CUmodule module;
    char log[512] = "?";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)sizeof log};
    const char *text = ".version 7.0\n.target sm_75\n.address_size 64\n.entry k() { .reg .u32 %r; ld.global.u32 %r [ ; }\n";
    EXPECT(cuModuleLoadDataEx(&module, text, 2, options, values), CUDA_ERROR_INVALID_PTX);
    HOLDS(strlen(log) > 10);
    HOLDS((size_t)values[1] == strlen(log) + 1);
    // An instruction that no assembler takes.
    values[1] = (void *)sizeof log;
    text = ".version 7.0\n.target sm_75\n.address_size 64\n.entry k() { .reg .pred %p; .reg .s32 %r; setp.gee.s32 %p, %r, 7; ret; }\n";
    EXPECT(cuModuleLoadDataEx(&module, text, 2, options, values), CUDA_ERROR_INVALID_PTX);
    HOLDS(strstr(log, ":4:") && strstr(log, "`.gee`") && strstr(log, "`.ge`"));
    EXPECT(cuModuleLoad(&module, "/nowhere/at/all.ptx"), CUDA_ERROR_FILE_NOT_FOUND);
    return 0;
}

int main(void) {
    CUcontext context;
    CUmodule module;
    CUdeviceptr p;
    if (errors_before_contexts() || contexts(&context)) return 1;
    OK(cuModuleLoadData(&module, PTX));
    if (launches(module) || functions(module) || bad_ptx()) return 1;
    OK(cuModuleUnload(module));
    EXPECT(cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
    // What is left goes with the last context.
    size_t before, after, all;
    OK(cuMemGetInfo(&before, &all));
    OK(cuMemAlloc(&p, 1 << 20));
    OK(cuMemGetInfo(&after, &all));
    HOLDS(before - after == 1 << 20);
    OK(cuCtxDestroy(context));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    OK(cuMemGetInfo(&after, &all));
    HOLDS(after == all);
    OK(cuDevicePrimaryCtxRelease(0));
    printf("passed\n");
    return 0;
}
