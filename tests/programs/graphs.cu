// Graphs: captured with a fork and a join, built by hand, updated, cloned, with memory of their own.
#include "check.h"
#include <vector>

__global__ void add(int *x, int n, int by) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += by;
}
__global__ void scale(int *x, int n, int by) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= by;
}

const int N = 100;
static int calls = 0;
static void count_call(void *by) { calls += *(int *)by; }

static void captured(int *a, int *b, int *host) {
    cudaStream_t first, second;
    cudaEvent_t fork, join;
    OK(cudaStreamCreate(&first));
    OK(cudaStreamCreate(&second));
    OK(cudaEventCreate(&fork));
    OK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
    OK(cudaMemset(a, 0, N * sizeof(int)));
    OK(cudaMemset(b, 0, N * sizeof(int)));
    OK(cudaStreamBeginCapture(first, cudaStreamCaptureModeThreadLocal));
    add<<<1, 128, 0, first>>>(a, N, 1);
    OK(cudaEventRecord(fork, first));
    OK(cudaStreamWaitEvent(second, fork, 0));
    cudaStreamCaptureStatus status;
    OK(cudaStreamIsCapturing(second, &status));
    CHECK(status == cudaStreamCaptureStatusActive);
    FAILS(cudaStreamSynchronize(second), cudaErrorStreamCaptureUnsupported);
    cudaGetLastError();
    add<<<1, 128, 0, second>>>(b, N, 10);
    scale<<<1, 128, 0, first>>>(a, N, 3);
    OK(cudaEventRecord(join, second));
    OK(cudaStreamWaitEvent(first, join, 0));
    OK(cudaMemcpyAsync(host, a, N * sizeof(int), cudaMemcpyDeviceToHost, first));
    static int one = 1;
    OK(cudaLaunchHostFunc(first, count_call, &one));
    cudaGraph_t graph;
    OK(cudaStreamEndCapture(first, &graph));
    size_t nodes = 0, edges = 0;
    OK(cudaGraphGetNodes(graph, nullptr, &nodes));
    OK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
    CHECK(nodes == 5 && edges == 5);
    cudaGraphExec_t exec;
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaMemcpy(host, a, N * sizeof(int), cudaMemcpyDeviceToHost));
    CHECK(host[0] == 0 && calls == 0);
    for (int i = 0; i < 3; i++) OK(cudaGraphLaunch(exec, first));
    OK(cudaStreamSynchronize(first));
    CHECK(host[N - 1] == ((0 + 1) * 3 + 1) * 3 * 3 + 3 && calls == 3);
    OK(cudaMemcpy(host, b, N * sizeof(int), cudaMemcpyDeviceToHost));
    CHECK(host[5] == 30);
    OK(cudaGraphExecDestroy(exec));
    FAILS(cudaGraphLaunch(exec, first), cudaErrorInvalidValue);
    cudaGetLastError();
    OK(cudaGraphDestroy(graph));
    // A fork that is not joined spoils a capture.
    OK(cudaStreamBeginCapture(first, cudaStreamCaptureModeGlobal));
    OK(cudaEventRecord(fork, first));
    OK(cudaStreamWaitEvent(second, fork, 0));
    add<<<1, 128, 0, second>>>(b, N, 10);
    FAILS(cudaStreamEndCapture(first, &graph), cudaErrorStreamCaptureUnjoined);
    CHECK(graph == nullptr && cudaGetLastError() == cudaErrorStreamCaptureUnjoined);
    OK(cudaStreamDestroy(first));
    OK(cudaStreamDestroy(second));
    OK(cudaEventDestroy(fork));
    OK(cudaEventDestroy(join));
}

static void by_hand(int *a, int *host) {
    cudaGraph_t graph, clone;
    OK(cudaGraphCreate(&graph, 0));
    cudaMemsetParams fill = {};
    fill.dst = a, fill.value = 5, fill.elementSize = 4, fill.width = N, fill.height = 1;
    cudaGraphNode_t filled, kernel, copied, counted;
    OK(cudaGraphAddMemsetNode(&filled, graph, nullptr, 0, &fill));
    int n = N, by = 4;
    void *args[] = {&a, &n, &by};
    cudaKernelNodeParams launch = {};
    launch.func = (void *)scale, launch.gridDim = dim3(2), launch.blockDim = dim3(64), launch.kernelParams = args;
    OK(cudaGraphAddKernelNode(&kernel, graph, &filled, 1, &launch));
    OK(cudaGraphAddMemcpyNode1D(&copied, graph, &kernel, 1, host, a, N * sizeof(int), cudaMemcpyDeviceToHost));
    static int hundred = 100;
    cudaHostNodeParams call = {count_call, &hundred};
    OK(cudaGraphAddHostNode(&counted, graph, nullptr, 0, &call));
    OK(cudaGraphAddDependencies(graph, &copied, &counted, nullptr, 1));
    FAILS(cudaGraphAddDependencies(graph, &counted, &filled, nullptr, 1), cudaErrorInvalidValue);
    cudaGetLastError();
    cudaGraphNodeType type;
    OK(cudaGraphNodeGetType(kernel, &type));
    CHECK(type == cudaGraphNodeTypeKernel);
    size_t roots = 4;
    cudaGraphNode_t root[4];
    OK(cudaGraphGetRootNodes(graph, root, &roots));
    CHECK(roots == 1 && root[0] == filled);

    cudaGraphExec_t exec;
    OK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cudaGraphUpload(exec, 0));
    by = 1000;  // Parameters were copied when the node was added.
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaDeviceSynchronize());
    CHECK(host[0] == 20 && host[N - 1] == 20 && calls == 103);
    // Changed parameters of the instantiated graph.
    by = 7;
    OK(cudaGraphExecKernelNodeSetParams(exec, kernel, &launch));
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaDeviceSynchronize());
    CHECK(host[3] == 35);
    OK(cudaGraphNodeSetEnabled(exec, kernel, 0));
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaDeviceSynchronize());
    CHECK(host[3] == 5);
    OK(cudaGraphNodeSetEnabled(exec, kernel, 1));
    // The whole of it from a graph of the same form; another form is refused.
    OK(cudaGraphClone(&clone, graph));
    cudaGraphNode_t same;
    OK(cudaGraphNodeFindInClone(&same, kernel, clone));
    by = 9;
    OK(cudaGraphKernelNodeSetParams(same, &launch));
    cudaGraphExecUpdateResultInfo info;
    OK(cudaGraphExecUpdate(exec, clone, &info));
    CHECK(info.result == cudaGraphExecUpdateSuccess);
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaDeviceSynchronize());
    CHECK(host[3] == 45);
    cudaGraphNode_t empty;
    OK(cudaGraphAddEmptyNode(&empty, clone, nullptr, 0));
    FAILS(cudaGraphExecUpdate(exec, clone, &info), cudaErrorGraphExecUpdateFailure);
    CHECK(info.result == cudaGraphExecUpdateErrorTopologyChanged);
    cudaGetLastError();
    OK(cudaGraphDestroy(clone));
    // As a part of another.
    cudaGraph_t outer;
    cudaGraphNode_t part;
    OK(cudaGraphCreate(&outer, 0));
    OK(cudaGraphAddChildGraphNode(&part, outer, nullptr, 0, graph));
    cudaGraphExec_t whole;
    OK(cudaGraphInstantiate(&whole, outer, 0));
    host[3] = 0;
    OK(cudaGraphLaunch(whole, 0));
    OK(cudaDeviceSynchronize());
    CHECK(host[3] == 20);
    OK(cudaGraphExecDestroy(whole));
    OK(cudaGraphDestroy(outer));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
}

static void with_memory(int *host) {
    cudaGraph_t graph;
    OK(cudaGraphCreate(&graph, 0));
    cudaMemAllocNodeParams memory = {};
    memory.poolProps.allocType = cudaMemAllocationTypePinned;
    memory.poolProps.location.type = cudaMemLocationTypeDevice;
    memory.bytesize = N * sizeof(int);
    cudaGraphNode_t allocated, filled, copied, freed;
    OK(cudaGraphAddMemAllocNode(&allocated, graph, nullptr, 0, &memory));
    cudaMemsetParams fill = {};
    fill.dst = memory.dptr, fill.value = 77, fill.elementSize = 4, fill.width = N, fill.height = 1;
    OK(cudaGraphAddMemsetNode(&filled, graph, &allocated, 1, &fill));
    OK(cudaGraphAddMemcpyNode1D(&copied, graph, &filled, 1, host, memory.dptr, N * sizeof(int),
                                cudaMemcpyDefault));
    OK(cudaGraphAddMemFreeNode(&freed, graph, &copied, 1, memory.dptr));
    cudaGraphExec_t exec;
    OK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 2; i++) {
        host[9] = 0;
        OK(cudaGraphLaunch(exec, 0));
        OK(cudaDeviceSynchronize());
        CHECK(host[9] == 77);
        FAILS(cudaMemcpy(host, memory.dptr, 4, cudaMemcpyDefault), cudaErrorInvalidValue);
        cudaGetLastError();
    }
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    // Captured allocation.
    cudaStream_t stream;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    int *x;
    OK(cudaMallocAsync(&x, N * sizeof(int), stream));
    OK(cudaMemsetAsync(x, 0, N * sizeof(int), stream));
    add<<<1, 128, 0, stream>>>(x, N, 6);
    OK(cudaMemcpyAsync(host, x, N * sizeof(int), cudaMemcpyDeviceToHost, stream));
    OK(cudaFreeAsync(x, stream));
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(host[0] == 6 && host[N - 1] == 6);
}

int main() {
    int *a, *b, *host;
    OK(cudaMalloc(&a, N * sizeof(int)));
    OK(cudaMalloc(&b, N * sizeof(int)));
    OK(cudaMallocHost(&host, N * sizeof(int)));
    captured(a, b, host);
    by_hand(a, host);
    with_memory(host);
    CHECK(cudaGetLastError() == cudaSuccess);
    return passed();
}
