// Graphs by hand and by capture, linking, host functions.
#include <cuda.h>
#include "check.h"

#define HEAD ".version 7.0\n.target sm_75\n.address_size 64\n"

// x[i] = f(x[i], k), with f from another text: x * k + 1.
static const char *CALLER = HEAD
    ".extern .func (.param .b32 r) f(.param .b32 a, .param .b32 b);\n"
    ".visible .entry step(.param .u64 x, .param .u32 k) {\n"
    " .reg .b32 %r<5>; .reg .b64 %d<4>;\n"
    " mov.u32 %r1, %tid.x; mul.wide.u32 %d1, %r1, 4; ld.param.u64 %d2, [x]; add.u64 %d3, %d2, %d1;\n"
    " ld.global.u32 %r2, [%d3]; ld.param.u32 %r3, [k];\n"
    " { .param .b32 a; .param .b32 b; .param .b32 r; st.param.b32 [a], %r2; st.param.b32 [b], %r3;\n"
    "   call (r), f, (a, b); ld.param.b32 %r4, [r]; }\n"
    " st.global.u32 [%d3], %r4; ret;\n}\n";
static const char *CALLEE = HEAD
    ".visible .func (.param .b32 r) f(.param .b32 a, .param .b32 b) {\n"
    " .reg .b32 %r<4>; ld.param.b32 %r1, [a]; ld.param.b32 %r2, [b]; mad.lo.u32 %r3, %r1, %r2, 1;\n"
    " st.param.b32 [r], %r3; ret;\n}\n";

enum { N = 32 };

static int linked(CUmodule *module) {
    CUlinkState state;
    void *image;
    size_t bytes;
    char log[256] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)sizeof log};
    OK(cuLinkCreate(2, options, values, &state));
    OK(cuLinkAddData(state, CU_JIT_INPUT_PTX, (void *)CALLER, strlen(CALLER) + 1, "caller", 0, NULL, NULL));
    OK(cuLinkAddData(state, CU_JIT_INPUT_PTX, (void *)CALLEE, strlen(CALLEE), "callee", 0, NULL, NULL));
    OK(cuLinkComplete(state, &image, &bytes));
    OK(cuModuleLoadData(module, image));
    OK(cuLinkAddData(state, CU_JIT_INPUT_PTX, (void *)CALLEE, strlen(CALLEE), "again", 0, NULL, NULL));
    HOLDS(cuLinkComplete(state, &image, &bytes) != CUDA_SUCCESS && strstr(log, "again"));
    values[1] = (void *)sizeof log;
    HOLDS(cuLinkAddData(state, CU_JIT_INPUT_CUBIN, (void *)"nonsense", 8, "bad", 0, NULL, NULL) != CUDA_SUCCESS);
    OK(cuLinkDestroy(state));
    EXPECT(cuLinkDestroy(state), CUDA_ERROR_INVALID_HANDLE);
    return 0;
}

static void note(void *data) { ++*(int *)data; }

static int by_hand(CUfunction step, CUdeviceptr x) {
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode fill, kernel, copy, host, nodes[8], from[8], to[8];
    unsigned out[N], k = 3;
    int calls = 0;
    void *args[] = {&x, &k};
    CUDA_MEMSET_NODE_PARAMS fill_params = {.dst = x, .value = 5, .elementSize = 4, .width = N, .height = 1};
    CUDA_KERNEL_NODE_PARAMS params = {.func = step, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = N, .blockDimY = 1, .blockDimZ = 1, .kernelParams = args};
    CUDA_MEMCPY3D copy_params = {.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = x, .dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = out, .WidthInBytes = sizeof out, .Height = 1, .Depth = 1};
    CUDA_HOST_NODE_PARAMS host_params = {note, &calls};
    CUcontext context;
    OK(cuCtxGetCurrent(&context));
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddMemsetNode(&fill, graph, NULL, 0, &fill_params, context));
    OK(cuGraphAddKernelNode(&kernel, graph, &fill, 1, &params));
    OK(cuGraphAddMemcpyNode(&copy, graph, &kernel, 1, &copy_params, context));
    OK(cuGraphAddHostNode(&host, graph, &kernel, 1, &host_params));
    k = 99; // the node has its own copy
    size_t count = 0;
    OK(cuGraphGetNodes(graph, NULL, &count));
    HOLDS(count == 4);
    OK(cuGraphGetNodes(graph, nodes, &count));
    HOLDS(nodes[0] == fill && nodes[3] == host);
    count = 8;
    OK(cuGraphGetEdges(graph, from, to, NULL, &count));
    HOLDS(count == 3 && from[0] == fill && to[0] == kernel && to[3] == NULL);
    CUgraphNodeType type;
    OK(cuGraphNodeGetType(copy, &type));
    HOLDS(type == CU_GRAPH_NODE_TYPE_MEMCPY);
    CUDA_MEMSET_NODE_PARAMS fill_asked;
    CUDA_HOST_NODE_PARAMS host_asked;
    OK(cuGraphMemsetNodeGetParams(fill, &fill_asked));
    HOLDS(fill_asked.dst == x && fill_asked.value == 5 && fill_asked.width == N && fill_asked.height == 1);
    OK(cuGraphHostNodeGetParams(host, &host_asked));
    HOLDS(host_asked.fn == note && host_asked.userData == &calls);
    EXPECT(cuGraphHostNodeGetParams(fill, &host_asked), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuGraphAddDependencies(graph, &copy, &fill, NULL, 1), CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(cuGraphLaunch(exec, NULL));
    OK(cuCtxSynchronize());
    for (int i = 0; i < N; i++) HOLDS(out[i] == 16);
    HOLDS(calls == 1);
    // Other parameters in the instantiated graph only.
    k = 10;
    OK(cuGraphExecKernelNodeSetParams(exec, kernel, &params));
    OK(cuGraphLaunch(exec, NULL));
    for (int i = 0; i < N; i++) HOLDS(out[i] == 51);
    OK(cuGraphNodeSetEnabled(exec, kernel, 0));
    OK(cuGraphLaunch(exec, NULL));
    for (int i = 0; i < N; i++) HOLDS(out[i] == 5);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    EXPECT(cuGraphNodeGetType(copy, &type), CUDA_ERROR_INVALID_VALUE);
    return 0;
}

/* Memory that a captured stream allocates lives from its node to the one that frees it, or beyond the launch. */
static int captured_memory(CUfunction step, CUdeviceptr x) {
    CUstream stream;
    CUgraph graph;
    CUgraphExec exec;
    CUmemoryPool pool;
    CUdeviceptr inside, kept;
    unsigned out[N], k = 3;
    cuuint64_t bytes;
    OK(cuDeviceGetDefaultMemPool(&pool, 0));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuMemAllocAsync(&inside, sizeof out, stream));
    OK(cuMemAllocFromPoolAsync(&kept, sizeof out, pool, stream));
    void *args[] = {&inside, &k};
    OK(cuMemsetD32Async(inside, 7, N, stream));
    OK(cuLaunchKernel(step, 1, 1, 1, N, 1, 1, 0, stream, args, NULL));
    OK(cuMemcpyDtoDAsync(x, inside, sizeof out, stream));
    OK(cuMemcpyDtoDAsync(kept, inside, sizeof out, stream));
    OK(cuMemFreeAsync(inside, stream));
    OK(cuStreamEndCapture(stream, &graph));
    CUgraphNode nodes[8], allocation = NULL, freeing = NULL;
    size_t count = 8;
    OK(cuGraphGetNodes(graph, nodes, &count));
    HOLDS(count == 7);
    for (size_t i = 0; i < count; i++) {
        CUgraphNodeType type;
        OK(cuGraphNodeGetType(nodes[i], &type));
        if (type == CU_GRAPH_NODE_TYPE_MEM_ALLOC && !allocation) allocation = nodes[i];
        if (type == CU_GRAPH_NODE_TYPE_MEM_FREE) freeing = nodes[i];
    }
    CUDA_MEM_ALLOC_NODE_PARAMS params;
    CUdeviceptr freed;
    OK(cuGraphMemAllocNodeGetParams(allocation, &params));
    HOLDS(params.dptr == inside && params.bytesize == sizeof out);
    OK(cuGraphMemFreeNodeGetParams(freeing, &freed));
    HOLDS(freed == inside);
    EXPECT(cuMemsetD32(kept, 1, N), CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphInstantiate(&exec, graph, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
    for (int round = 0; round < 3; round++) {
        OK(cuMemsetD32(x, 0, N));
        OK(cuGraphLaunch(exec, stream));
        OK(cuStreamSynchronize(stream));
        unsigned first, last;
        OK(cuMemcpyDtoH(out, x, sizeof out));
        first = out[0], last = out[N - 1];
        OK(cuMemcpyDtoH(out, kept, sizeof out));
        HOLDS(first == out[0] && last == out[N - 1] && first != 0);
        EXPECT(cuMemcpyDtoH(out, inside, sizeof out), CUDA_ERROR_INVALID_VALUE);
    }
    OK(cuMemFree(kept));
    EXPECT(cuMemFree(kept), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &bytes));
    HOLDS(bytes == 0);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    return 0;
}

static int by_capture(CUfunction step, CUdeviceptr x) {
    CUstream a, b;
    CUevent fork, join, start, end;
    CUgraph graph;
    CUgraphExec exec;
    unsigned out[N], k = 2;
    void *args[] = {&x, &k};
    CUstreamCaptureStatus status;
    OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
    OK(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
    OK(cuEventCreate(&start, 0));
    OK(cuEventCreate(&end, 0));
    OK(cuMemsetD32(x, 1, N));
    OK(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuStreamIsCapturing(a, &status));
    HOLDS(status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
    OK(cuLaunchKernel(step, 1, 1, 1, N, 1, 1, 0, a, args, NULL));
    OK(cuEventRecord(fork, a));
    OK(cuStreamWaitEvent(b, fork, 0));
    OK(cuLaunchKernel(step, 1, 1, 1, N, 1, 1, 0, b, args, NULL));
    OK(cuEventRecord(join, b));
    OK(cuStreamWaitEvent(a, join, 0));
    EXPECT(cuStreamSynchronize(a), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CUgraph building;
    const CUgraphNode *after;
    cuuint64_t id;
    size_t count;
    OK(cuStreamGetCaptureInfo(a, &status, &id, &building, &after, NULL, &count));
    // The next work waits for the stream's own last and for what it has joined.
    HOLDS(status == CU_STREAM_CAPTURE_STATUS_ACTIVE && count == 2);
    CUgraphNodeType type;
    OK(cuGraphNodeGetType(after[0], &type));
    HOLDS(type == CU_GRAPH_NODE_TYPE_KERNEL);
    OK(cuStreamEndCapture(a, &graph));
    HOLDS(graph == building);
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(cuEventRecord(start, a));
    OK(cuGraphLaunch(exec, a));
    OK(cuEventRecord(end, a));
    OK(cuStreamSynchronize(a));
    OK(cuMemcpyDtoH(out, x, sizeof out));
    for (int i = 0; i < N; i++) HOLDS(out[i] == 7);
    float ms = -1;
    OK(cuEventElapsedTime(&ms, start, end));
    HOLDS(ms > 0);
    EXPECT(cuEventElapsedTime(&ms, fork, end), CUDA_ERROR_INVALID_HANDLE);
    // Update from a graph of the same form, and from one of another.
    CUgraphExecUpdateResultInfo result;
    OK(cuGraphExecUpdate(exec, graph, &result));
    HOLDS(result.result == CU_GRAPH_EXEC_UPDATE_SUCCESS);
    CUgraph other;
    OK(cuGraphCreate(&other, 0));
    EXPECT(cuGraphExecUpdate(exec, other, &result), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    HOLDS(result.result == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
    OK(cuStreamDestroy(b));
    EXPECT(cuStreamDestroy(b), CUDA_ERROR_INVALID_HANDLE);
    return 0;
}

int main(void) {
    CUcontext context;
    CUmodule module;
    CUfunction step;
    CUdeviceptr x;
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    if (linked(&module)) return 1;
    OK(cuModuleGetFunction(&step, module, "step"));
    OK(cuMemAlloc(&x, N * 4));
    if (by_hand(step, x) || by_capture(step, x) || captured_memory(step, x)) return 1;
    printf("passed\n");
    return 0;
}
