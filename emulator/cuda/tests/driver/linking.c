// Linking at run time with NVIDIA's device runtime, as Numba does: a kernel that launches another, and one whose blocks
// wait for one another; and a declaration that differs from the definition.
#include <cuda.h>
#include "check.h"

#define HEAD ".version 8.0\n.target sm_75\n.address_size 64\n"

// The child adds 1 to a word; the parent launches it with <<<3, 4>>>.
static const char nested[] = HEAD
    ".extern .func (.param .b64 r) __cudaCDP2GetParameterBufferV2(.param .b64 k, .param .align 4 .b8 g[12],\n"
    "    .param .align 4 .b8 b[12], .param .b32 s);\n"
    ".extern .func (.param .b32 r) __cudaCDP2LaunchDeviceV2(.param .b64 p, .param .b64 s);\n"
    ".visible .entry child(.param .u64 word) { .reg .b64 %a; .reg .b32 %r;\n"
    "    ld.param.u64 %a, [word]; atom.global.add.u32 %r, [%a], 1; ret; }\n"
    ".visible .entry parent(.param .u64 word) { .reg .b64 %a, %k, %p; .reg .b32 %r; .reg .pred %q;\n"
    "    ld.param.u64 %a, [word]; mov.u64 %k, child;\n"
    "    { .param .b64 k; .param .align 4 .b8 g[12]; .param .align 4 .b8 b[12]; .param .b32 s; .param .b64 r;\n"
    "    st.param.b64 [k], %k; st.param.b32 [g], 3; st.param.b32 [g+4], 1; st.param.b32 [g+8], 1;\n"
    "    st.param.b32 [b], 4; st.param.b32 [b+4], 1; st.param.b32 [b+8], 1; st.param.b32 [s], 0;\n"
    "    call.uni (r), __cudaCDP2GetParameterBufferV2, (k, g, b, s); ld.param.b64 %p, [r]; }\n"
    "    setp.eq.u64 %q, %p, 0; @%q bra END; st.u64 [%p], %a;\n"
    "    { .param .b64 p; .param .b64 s; .param .b32 r; st.param.b64 [p], %p; st.param.b64 [s], 0;\n"
    "    call.uni (r), __cudaCDP2LaunchDeviceV2, (p, s); ld.param.b32 %r, [r]; }\n"
    "    st.global.u32 [%a+4], %r;\nEND: ret; }\n";

// Every block counts itself, waits for all, and stores how many it sees.
static const char grid[] = HEAD
    ".extern .func (.param .b64 r) cudaCGGetIntrinsicHandle(.param .b32 scope);\n"
    ".extern .func (.param .b32 r) cudaCGSynchronize(.param .b64 handle, .param .b32 flags);\n"
    ".visible .entry together(.param .u64 words) { .reg .b64 %a, %h, %o; .reg .b32 %r, %b;\n"
    "    ld.param.u64 %a, [words]; atom.global.add.u32 %r, [%a], 1;\n"
    "    { .param .b32 s; .param .b64 r; st.param.b32 [s], 1; call.uni (r), cudaCGGetIntrinsicHandle, (s);\n"
    "    ld.param.b64 %h, [r]; }\n"
    "    { .param .b64 h; .param .b32 f; .param .b32 r; st.param.b64 [h], %h; st.param.b32 [f], 0;\n"
    "    call.uni (r), cudaCGSynchronize, (h, f); ld.param.b32 %r, [r]; }\n"
    "    ld.volatile.global.u32 %r, [%a]; mov.u32 %b, %ctaid.x; mul.wide.u32 %o, %b, 4; add.u64 %a, %a, %o;\n"
    "    st.global.u32 [%a+4], %r; ret; }\n";

static const char caller[] = HEAD
    ".extern .func (.param .b32 r) f(.param .b32 a);\n.visible .entry k() { .reg .b32 %r;\n"
    "    { .param .b32 a; .param .b32 r; st.param.b32 [a], 1; call (r), f, (a); ld.param.b32 %r, [r]; } ret; }\n";
static const char callee[] = HEAD
    ".visible .func (.param .b64 r) f(.param .b32 a, .param .b32 b) { st.param.b64 [r], 1; ret; }\n";

static int linked(CUmodule *module, const char *text, const char *runtime) {
    CUlinkState state;
    void *image;
    size_t bytes;
    OK(cuLinkCreate(0, NULL, NULL, &state));
    OK(cuLinkAddData(state, CU_JIT_INPUT_PTX, (void *)text, strlen(text) + 1, "text", 0, NULL, NULL));
    OK(cuLinkAddFile(state, CU_JIT_INPUT_LIBRARY, runtime, 0, NULL, NULL));
    OK(cuLinkComplete(state, &image, &bytes));
    OK(cuModuleLoadData(module, image));
    OK(cuLinkDestroy(state));
    return 0;
}

int main(int argc, char **argv) {
    HOLDS(argc == 2);
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction kernel;
    CUdeviceptr words;
    int seen[16] = {0};
    OK(cuInit(0));
    OK(cuDeviceGet(&device, 0));
    OK(cuCtxCreate(&context, NULL, 0, device));
    OK(cuMemAlloc(&words, sizeof seen));
    void *arguments[] = {&words};

    OK(cuMemsetD8(words, 0, sizeof seen));
    HOLDS(linked(&module, nested, argv[1]) == 0);
    OK(cuModuleGetFunction(&kernel, module, "parent"));
    OK(cuLaunchKernel(kernel, 2, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
    OK(cuMemcpyDtoH(seen, words, sizeof seen));
    HOLDS(seen[0] == 2 * 3 * 4 && seen[1] == 0);

    OK(cuMemsetD8(words, 0, sizeof seen));
    HOLDS(linked(&module, grid, argv[1]) == 0);
    OK(cuModuleGetFunction(&kernel, module, "together"));
    for (int round = 1; round <= 2; round++) {
        OK(cuLaunchCooperativeKernel(kernel, 8, 1, 1, 32, 1, 1, 0, NULL, arguments));
        OK(cuMemcpyDtoH(seen, words, sizeof seen));
        for (int i = 1; i <= 8; i++) HOLDS(seen[i] == 8 * 32);
        OK(cuMemsetD8(words, 0, sizeof seen));
    }

    char log[400] = "";
    CUjit_option names[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)sizeof log};
    CUlinkState state;
    void *image;
    size_t bytes;
    OK(cuLinkCreate(2, names, values, &state));
    OK(cuLinkAddData(state, CU_JIT_INPUT_PTX, (void *)caller, sizeof caller, "caller.ptx", 0, NULL, NULL));
    OK(cuLinkAddData(state, CU_JIT_INPUT_PTX, (void *)callee, sizeof callee, "callee.ptx", 0, NULL, NULL));
    EXPECT(cuLinkComplete(state, &image, &bytes), CUDA_ERROR_INVALID_IMAGE);
    HOLDS(strstr(log, "`f` is declared with parameters of 4 bytes and a result of 4 bytes at caller.ptx:4"));
    HOLDS(strstr(log, "defined with parameters of 4, 4 bytes and a result of 8 bytes at callee.ptx:4"));
    OK(cuLinkDestroy(state));
    printf("passed\n");
    return 0;
}
