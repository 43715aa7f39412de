// Conditional nodes of a graph: a loop, a branch and a switch, whose conditions device code sets.
#include <cstdio>
__global__ void step(int *x, cudaGraphConditionalHandle condition, int until) { if (++*x >= until) cudaGraphSetConditional(condition, 0); }
__global__ void choose(cudaGraphConditionalHandle condition, unsigned value) { if (threadIdx.x == 5) cudaGraphSetConditional(condition, value); }
__global__ void add(int *x, int by) { *x += by; }
static int failed = 0;
#define OK(call) do { cudaError_t e = call; if (e) { printf("FAIL %s: %s\n", #call, cudaGetErrorString(e)); failed = 1; } } while (0)
static cudaGraphNode_t kernel(cudaGraph_t graph, cudaGraphNode_t after, void *function, int threads, void **args) {
  cudaKernelNodeParams p = {};
  p.func = function; p.gridDim = 1; p.blockDim = threads; p.kernelParams = args;
  cudaGraphNode_t node;
  OK(cudaGraphAddKernelNode(&node, graph, &after, after ? 1 : 0, &p));
  return node;
}
static cudaGraphNode_t conditional(cudaGraph_t graph, cudaGraphNode_t after, cudaGraphConditionalHandle condition, cudaGraphConditionalNodeType type, unsigned size, cudaGraph_t *bodies) {
  cudaGraphNodeParams p = {};
  p.type = cudaGraphNodeTypeConditional; p.conditional.handle = condition; p.conditional.type = type; p.conditional.size = size;
  cudaGraphNode_t node;
  OK(cudaGraphAddNode(&node, graph, &after, nullptr, after ? 1 : 0, &p));
  for (unsigned i = 0; i < size; i++) bodies[i] = p.conditional.phGraph_out[i];
  return node;
}
int main() {
  int *x, got[3], until = 7;
  OK(cudaMalloc(&x, 12)); OK(cudaMemset(x, 0, 12));
  int *loops = x, *branches = x + 1, *cases = x + 2;
  cudaGraph_t graph, bodies[4];
  cudaGraphConditionalHandle loop, branch, pick;
  OK(cudaGraphCreate(&graph, 0));
  OK(cudaGraphConditionalHandleCreate(&loop, graph, 1, cudaGraphCondAssignDefault));
  OK(cudaGraphConditionalHandleCreate(&branch, graph, 0, cudaGraphCondAssignDefault));
  OK(cudaGraphConditionalHandleCreate(&pick, graph, 0, cudaGraphCondAssignDefault));
  cudaGraphNode_t at = conditional(graph, nullptr, loop, cudaGraphCondTypeWhile, 1, bodies);
  void *step_args[] = {&loops, &loop, &until};
  kernel(bodies[0], nullptr, (void *)step, 1, step_args);
  unsigned one = 1, two = 2;
  void *branch_args[] = {&branch, &one}, *pick_args[] = {&pick, &two};
  at = kernel(graph, at, (void *)choose, 32, branch_args);
  at = conditional(graph, at, branch, cudaGraphCondTypeIf, 1, bodies);
  int tens = 10, by[] = {100, 200, 300};
  void *tens_args[] = {&branches, &tens};
  kernel(bodies[0], nullptr, (void *)add, 1, tens_args);
  at = kernel(graph, at, (void *)choose, 64, pick_args);
  conditional(graph, at, pick, cudaGraphCondTypeSwitch, 3, bodies);
  for (int i = 0; i < 3; i++) { void *args[] = {&cases, &by[i]}; kernel(bodies[i], nullptr, (void *)add, 1, args); }
  cudaGraphExec_t run;
  OK(cudaGraphInstantiate(&run, graph, 0));
  OK(cudaGraphLaunch(run, 0));
  OK(cudaDeviceSynchronize());
  OK(cudaMemcpy(got, x, 12, cudaMemcpyDeviceToHost));
  int want[] = {7, 10, 300};
  for (int i = 0; i < 3; i++) if (got[i] != want[i]) { printf("FAIL value %d is %d, not %d\n", i, got[i], want[i]); failed = 1; }
  if (!failed) puts("PASS");
  return failed;
}
