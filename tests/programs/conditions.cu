// Graphs in which device code decides: if, if-else, while, switch, and loops within loops.
// nvcc: -rdc=true
#include "check.h"

__global__ void set(cudaGraphConditionalHandle condition, unsigned value) {
    if (threadIdx.x == 0) cudaGraphSetConditional(condition, value);
}

__global__ void step(int *x, cudaGraphConditionalHandle condition, int until) {
    if (++*x >= until) cudaGraphSetConditional(condition, 0);
}

__global__ void add(int *x, int by) { *x += by; }

static cudaGraphNode_t conditional(cudaGraph_t graph, cudaGraphNode_t after, cudaGraphConditionalHandle condition,
                                   cudaGraphConditionalNodeType type, unsigned size, cudaGraph_t *bodies) {
    cudaGraphNodeParams params = {};
    params.type = cudaGraphNodeTypeConditional;
    params.conditional.handle = condition;
    params.conditional.type = type;
    params.conditional.size = size;
    cudaGraphNode_t node;
    OK(cudaGraphAddNode(&node, graph, &after, nullptr, after ? 1 : 0, &params));
    for (unsigned i = 0; i < size; i++) bodies[i] = params.conditional.phGraph_out[i];
    cudaGraphNodeType is;
    OK(cudaGraphNodeGetType(node, &is));
    CHECK(is == cudaGraphNodeTypeConditional);
    return node;
}

// What work adds to a graph, by capture.
template <class F> static void into(cudaGraph_t graph, F work) {
    cudaStream_t stream;
    cudaGraph_t same;
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamBeginCaptureToGraph(stream, graph, nullptr, nullptr, 0, cudaStreamCaptureModeGlobal));
    work(stream);
    OK(cudaStreamEndCapture(stream, &same));
    CHECK(same == graph);
    // The program has the graph and need not ask for it.
    OK(cudaStreamBeginCaptureToGraph(stream, graph, nullptr, nullptr, 0, cudaStreamCaptureModeGlobal));
    OK(cudaStreamEndCapture(stream, nullptr));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    FAILS(cudaStreamEndCapture(stream, nullptr), cudaErrorInvalidValue);
    OK(cudaStreamEndCapture(stream, &same));
    OK(cudaGraphDestroy(same));
    cudaGetLastError();
    OK(cudaStreamDestroy(stream));
}

static int value(int *x) {
    int host;
    OK(cudaMemcpy(&host, x, 4, cudaMemcpyDeviceToHost));
    return host;
}

static void launch(cudaGraph_t graph, int times) {
    cudaGraphExec_t executable;
    OK(cudaGraphInstantiate(&executable, graph, 0));
    for (int i = 0; i < times; i++) OK(cudaGraphLaunch(executable, 0));
    OK(cudaDeviceSynchronize());
    OK(cudaGraphExecDestroy(executable));
}

int main() {
    int *x;
    OK(cudaMalloc(&x, 4));
    cudaGraphConditionalHandle condition, within;
    cudaGraph_t graph, bodies[3];

    // A loop starts anew with each launch, as its condition has a value for launches.
    OK(cudaMemset(x, 0, 4));
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphConditionalHandleCreate(&condition, graph, 1, cudaGraphCondAssignDefault));
    conditional(graph, nullptr, condition, cudaGraphCondTypeWhile, 1, bodies);
    into(bodies[0], [&](cudaStream_t s) { step<<<1, 1, 0, s>>>(x, condition, 5); });
    launch(graph, 1);
    CHECK(value(x) == 5);
    launch(graph, 2);
    CHECK(value(x) == 7);
    OK(cudaGraphDestroy(graph));

    // Each value of a switch and of if-else, set by a kernel before.
    for (unsigned which = 0; which < 4; which++) {
        OK(cudaMemset(x, 0, 4));
        OK(cudaGraphCreate(&graph, 0));
        OK(cudaGraphConditionalHandleCreate(&condition, graph, 0, 0));
        into(graph, [&](cudaStream_t s) { set<<<1, 32, 0, s>>>(condition, which); });
        cudaGraphNode_t before;
        size_t one = 1;
        OK(cudaGraphGetRootNodes(graph, &before, &one));
        cudaGraphNode_t chosen = conditional(graph, before, condition, cudaGraphCondTypeSwitch, 3, bodies);
        for (int i = 0; i < 3; i++) into(bodies[i], [&](cudaStream_t s) { add<<<1, 1, 0, s>>>(x, 1 << i); });
        conditional(graph, chosen, condition, cudaGraphCondTypeIf, 2, bodies);
        into(bodies[0], [&](cudaStream_t s) { add<<<1, 1, 0, s>>>(x, 100); });
        into(bodies[1], [&](cudaStream_t s) { add<<<1, 1, 0, s>>>(x, 200); });
        launch(graph, 1);
        int expected = (which < 3 ? 1 << which : 0) + (which ? 100 : 200);
        CHECK(value(x) == expected);
        OK(cudaGraphDestroy(graph));
    }

    // A loop within a loop: 3 rounds of as many as it takes to the next multiple of 10.
    int *rounds;
    OK(cudaMalloc(&rounds, 4));
    OK(cudaMemset(x, 0, 4));
    OK(cudaMemset(rounds, 0, 4));
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphConditionalHandleCreate(&condition, graph, 1, cudaGraphCondAssignDefault));
    conditional(graph, nullptr, condition, cudaGraphCondTypeWhile, 1, bodies);
    cudaGraph_t outer = bodies[0];
    OK(cudaGraphConditionalHandleCreate(&within, outer, 0, 0));
    into(outer, [&](cudaStream_t s) {
        set<<<1, 1, 0, s>>>(within, 1);
        step<<<1, 1, 0, s>>>(rounds, condition, 3);
    });
    cudaGraphNode_t nodes[2];
    size_t count = 2;
    OK(cudaGraphGetNodes(outer, nodes, &count));
    conditional(outer, nodes[1], within, cudaGraphCondTypeWhile, 1, bodies);
    into(bodies[0], [&](cudaStream_t s) { step<<<1, 1, 0, s>>>(x, within, 10); });
    launch(graph, 1);
    // 10 in the first round, and one in each after it, as the value is beyond its end then.
    CHECK(value(rounds) == 3 && value(x) == 12);
    OK(cudaGraphDestroy(graph));

    FAILS(cudaGraphConditionalHandleCreate(&condition, graph, 0, 0), cudaErrorInvalidValue);
    cudaGetLastError();
    return passed();
}
