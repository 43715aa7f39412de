// What graphs tell of their nodes and take for them, of every type; graphs inside nodes; objects that graphs retain.
#include "check.h"
#include <cstring>
#include <vector>

__global__ void add(int *x, int n, long long by) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += (int)by;
}

__device__ int symbol[4];

static int called = 0, ended = 0;
static void count(void *by) { called += *(int *)by; }
static void end(void *what) { ended += *(int *)what; }

// The one node of a type.
static cudaGraphNode_t only(cudaGraph_t graph, cudaGraphNodeType type) {
    size_t n = 0;
    OK(cudaGraphGetNodes(graph, nullptr, &n));
    std::vector<cudaGraphNode_t> nodes(n);
    OK(cudaGraphGetNodes(graph, nodes.data(), &n));
    cudaGraphNode_t found = nullptr;
    for (auto node : nodes) {
        cudaGraphNodeType is;
        OK(cudaGraphNodeGetType(node, &is));
        if (is == type) {
            CHECK(!found);
            found = node;
        }
    }
    CHECK(found);
    return found;
}

static void kernels(cudaGraph_t graph, int *x, int n) {
    cudaGraphNode_t node = only(graph, cudaGraphNodeTypeKernel), again;
    cudaKernelNodeParams params = {};
    OK(cudaGraphKernelNodeGetParams(node, &params));
    CHECK(params.func == (void *)add && params.gridDim.x == 2 && params.blockDim.x == 32);
    CHECK(*(int **)params.kernelParams[0] == x && *(int *)params.kernelParams[1] == n);
    CHECK(*(long long *)params.kernelParams[2] == 5);
    // What has been told makes the same node elsewhere.
    cudaGraph_t other;
    OK(cudaGraphCreate(&other, 0));
    OK(cudaGraphAddKernelNode(&again, other, nullptr, 0, &params));
    long long by = 7;
    void *args[] = {&x, &n, &by};
    params.kernelParams = args;
    OK(cudaGraphKernelNodeSetParams(again, &params));
    OK(cudaGraphKernelNodeGetParams(again, &params));
    CHECK(*(long long *)params.kernelParams[2] == 7);
    cudaKernelNodeAttrValue value = {};
    value.cooperative = 1;
    OK(cudaGraphKernelNodeSetAttribute(again, cudaLaunchAttributeCooperative, &value));
    OK(cudaGraphKernelNodeCopyAttributes(node, again));
    value.cooperative = 0;
    OK(cudaGraphKernelNodeGetAttribute(node, cudaLaunchAttributeCooperative, &value));
    CHECK(value.cooperative == 1);
    FAILS(cudaGraphMemsetNodeGetParams(node, nullptr), cudaErrorInvalidValue);
    cudaGraph_t containing;
    OK(cudaGraphNodeGetContainingGraph(again, &containing));
    CHECK(containing == other);
    OK(cudaGraphDestroy(other));
    FAILS(cudaGraphKernelNodeGetParams(again, &params), cudaErrorInvalidValue);
}

static void others(cudaGraph_t graph, int *x, int *host, cudaEvent_t event) {
    cudaMemcpy3DParms copy = {};
    OK(cudaGraphMemcpyNodeGetParams(only(graph, cudaGraphNodeTypeMemcpy), &copy));
    CHECK(copy.srcPtr.ptr == x && copy.dstPtr.ptr == host && copy.extent.width == 64 * 4);
    cudaMemsetParams fill = {};
    cudaGraphNode_t node = only(graph, cudaGraphNodeTypeMemset);
    OK(cudaGraphMemsetNodeGetParams(node, &fill));
    CHECK(fill.dst == x && fill.value == 1 && fill.elementSize == 4 && fill.width == 64 && fill.height == 1);
    fill.value = 2;
    OK(cudaGraphMemsetNodeSetParams(node, &fill));
    OK(cudaGraphMemsetNodeGetParams(node, &fill));
    CHECK(fill.value == 2);
    cudaGraphNodeParams any = {};
    any.type = cudaGraphNodeTypeMemset;
    any.memset.dst = x;
    any.memset.value = 1;
    any.memset.elementSize = 4;
    any.memset.width = 64;
    any.memset.height = 1;
    OK(cudaGraphNodeSetParams(node, &any));
    OK(cudaGraphMemsetNodeGetParams(node, &fill));
    CHECK(fill.value == 1);
    any.type = cudaGraphNodeTypeEmpty;
    FAILS(cudaGraphNodeSetParams(node, &any), cudaErrorInvalidValue);
    cudaHostNodeParams call = {};
    OK(cudaGraphHostNodeGetParams(only(graph, cudaGraphNodeTypeHost), &call));
    CHECK(call.fn == count && *(int *)call.userData == 3);
    cudaEvent_t told;
    OK(cudaGraphEventRecordNodeGetEvent(only(graph, cudaGraphNodeTypeEventRecord), &told));
    CHECK(told == event);
    FAILS(cudaGraphEventWaitNodeGetEvent(only(graph, cudaGraphNodeTypeEventRecord), &told), cudaErrorInvalidValue);
}

int main() {
    const int n = 64;
    int *x, host[n], three = 3;
    OK(cudaMalloc(&x, sizeof host));
    cudaEvent_t event;
    OK(cudaEventCreate(&event));
    cudaGraph_t graph;
    OK(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t fill, kernel, copy, call, record;
    cudaMemsetParams fills = {x, 0, 1, 4, (size_t)n, 1};
    fills.dst = x, fills.pitch = 0, fills.value = 1, fills.elementSize = 4, fills.width = n, fills.height = 1;
    OK(cudaGraphAddMemsetNode(&fill, graph, nullptr, 0, &fills));
    long long by = 5;
    int count_of_x = n;
    void *args[] = {&x, &count_of_x, &by};
    cudaKernelNodeParams launch = {};
    launch.func = (void *)add;
    launch.gridDim = dim3(2);
    launch.blockDim = dim3(32);
    launch.kernelParams = args;
    OK(cudaGraphAddKernelNode(&kernel, graph, &fill, 1, &launch));
    OK(cudaGraphAddMemcpyNode1D(&copy, graph, &kernel, 1, host, x, sizeof host, cudaMemcpyDeviceToHost));
    cudaHostNodeParams calls = {};
    calls.fn = count;
    calls.userData = &three;
    OK(cudaGraphAddHostNode(&call, graph, &copy, 1, &calls));
    OK(cudaGraphAddEventRecordNode(&record, graph, &call, 1, event));
    kernels(graph, x, n);
    others(graph, x, host, event);

    // A graph in a node is changed there, and nowhere else.
    cudaGraph_t outer, inner;
    OK(cudaGraphCreate(&outer, 0));
    cudaGraphNode_t child, extra;
    OK(cudaGraphAddChildGraphNode(&child, outer, nullptr, 0, graph));
    OK(cudaGraphChildGraphNodeGetGraph(child, &inner));
    cudaGraphNode_t last = only(inner, cudaGraphNodeTypeHost);
    OK(cudaGraphAddHostNode(&extra, inner, &last, 1, &calls));
    size_t nodes = 0, inside = 0;
    OK(cudaGraphGetNodes(graph, nullptr, &nodes));
    OK(cudaGraphGetNodes(inner, nullptr, &inside));
    CHECK(nodes == 5 && inside == 6);
    FAILS(cudaGraphDestroy(inner), cudaErrorInvalidValue);
    cudaGraphExec_t executable;
    OK(cudaGraphInstantiate(&executable, outer, 0));
    OK(cudaGraphLaunch(executable, 0));
    OK(cudaDeviceSynchronize());
    CHECK(called == 6);
    for (int i = 0; i < n; i++) CHECK(host[i] == 6);
    OK(cudaGraphExecDestroy(executable));

    // Parameters of nodes of an instantiated graph, by the type's own function and the one for all.
    OK(cudaGraphInstantiate(&executable, graph, 0));
    by = 10;
    OK(cudaGraphExecKernelNodeSetParams(executable, kernel, &launch));
    cudaGraphNodeParams any = {};
    any.type = cudaGraphNodeTypeMemset;
    any.memset.dst = x;
    any.memset.value = 4;
    any.memset.elementSize = 4;
    any.memset.width = n;
    any.memset.height = 1;
    OK(cudaGraphExecNodeSetParams(executable, fill, &any));
    int *into;
    OK(cudaGetSymbolAddress((void **)&into, symbol));
    OK(cudaGraphExecMemcpyNodeSetParamsToSymbol(executable, copy, symbol, x, 8, 4, cudaMemcpyDeviceToDevice));
    OK(cudaGraphLaunch(executable, 0));
    int back[4];
    OK(cudaMemcpyFromSymbol(back, symbol, sizeof back));
    CHECK(back[0] == 0 && back[1] == 14 && back[2] == 14 && back[3] == 0);
    OK(cudaGraphExecDestroy(executable));

    // Objects end with their last reference: the program's, a graph's, a clone's, an instantiated graph's.
    static int one = 1, ten = 10;
    cudaUserObject_t object, moved;
    OK(cudaUserObjectCreate(&object, &one, end, 2, cudaUserObjectNoDestructorSync));
    OK(cudaUserObjectCreate(&moved, &ten, end, 1, cudaUserObjectNoDestructorSync));
    OK(cudaUserObjectRetain(object, 1));
    OK(cudaUserObjectRelease(object, 2));
    OK(cudaGraphRetainUserObject(graph, object, 1, 0));
    OK(cudaGraphRetainUserObject(graph, moved, 1, cudaGraphUserObjectMove));
    OK(cudaUserObjectRelease(object, 1));
    CHECK(ended == 0);
    cudaGraph_t clone;
    OK(cudaGraphClone(&clone, graph));
    OK(cudaGraphInstantiate(&executable, clone, 0));
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphReleaseUserObject(clone, object, 1));
    FAILS(cudaGraphReleaseUserObject(clone, object, 1), cudaErrorInvalidValue);
    OK(cudaGraphDestroy(clone));
    CHECK(ended == 0);
    OK(cudaGraphExecDestroy(executable));
    CHECK(ended == 11);
    FAILS(cudaUserObjectRelease(object, 1), cudaErrorInvalidValue);
    OK(cudaGraphDestroy(outer));
    cudaGetLastError();
    return passed();
}
