// Calls that a program gets wrong: no parameters for a kernel that has some, a pointer to a parameter that is null or wild, and
// calls in a child after fork. Each has to return CUDA's error, and neither crash nor wait.
#include <cstdio>
#include <cstring>
#include <cuda.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>
__global__ void put(int *out, int value) { *out = value; }
static int failed = 0;
static void expect(const char *what, int got, int want) { if (got != want) { printf("FAIL %s: %d, not %d\n", what, got, want); failed = 1; } }
template <class F> static F driver(const char *name) { return (F)dlsym(dlopen("libcuda.so.1", RTLD_NOW), name); }
int main() {
  int *out, value = 7, got = 0;
  expect("malloc", cudaMalloc(&out, 4), 0);
  void *good[] = {&out, &value}, *null[] = {&out, NULL}, *wild[] = {(void *)16, &value};
  expect("cudaLaunchKernel without parameters", cudaLaunchKernel((void *)put, 1, 1, NULL, 0, 0), cudaErrorInvalidValue);
  expect("cudaLaunchKernel with a null parameter", cudaLaunchKernel((void *)put, 1, 1, null, 0, 0), cudaErrorInvalidValue);
  expect("cudaLaunchKernel with a wild parameter", cudaLaunchKernel((void *)put, 1, 1, wild, 0, 0), cudaErrorInvalidValue);
  cudaGetLastError();
  cudaFunction_t function;
  expect("function", cudaGetFuncBySymbol(&function, (void *)put), 0);
  auto launch = driver<decltype(&cuLaunchKernel)>("cuLaunchKernel");
  auto cooperative = driver<decltype(&cuLaunchCooperativeKernel)>("cuLaunchCooperativeKernel");
  auto add = driver<CUresult (*)(CUgraphNode *, CUgraph, const CUgraphNode *, size_t, const CUDA_KERNEL_NODE_PARAMS *)>("cuGraphAddKernelNode_v2");
  auto create = driver<decltype(&cuGraphCreate)>("cuGraphCreate");
  for (void **args : {(void **)NULL, null, wild}) {
    expect("cuLaunchKernel", launch((CUfunction)function, 1, 1, 1, 1, 1, 1, 0, 0, args, NULL), CUDA_ERROR_INVALID_VALUE);
    expect("cuLaunchCooperativeKernel", cooperative((CUfunction)function, 1, 1, 1, 1, 1, 1, 0, 0, args), CUDA_ERROR_INVALID_VALUE);
    CUgraph graph; CUgraphNode node;
    expect("cuGraphCreate", create(&graph, 0), 0);
    CUDA_KERNEL_NODE_PARAMS params; memset(&params, 0, sizeof params);
    params.func = (CUfunction)function; params.gridDimX = params.gridDimY = params.gridDimZ = params.blockDimX = params.blockDimY = params.blockDimZ = 1; params.kernelParams = args;
    expect("cuGraphAddKernelNode", add(&node, graph, NULL, 0, &params), CUDA_ERROR_INVALID_VALUE);
  }
  void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, NULL, CU_LAUNCH_PARAM_BUFFER_SIZE, NULL, CU_LAUNCH_PARAM_END};
  expect("cuLaunchKernel with a null buffer", launch((CUfunction)function, 1, 1, 1, 1, 1, 1, 0, 0, NULL, extra), CUDA_ERROR_INVALID_VALUE);
  expect("a right launch", launch((CUfunction)function, 1, 1, 1, 1, 1, 1, 0, 0, good, NULL), 0);
  expect("copy", cudaMemcpy(&got, out, 4, cudaMemcpyDeviceToHost), 0);
  expect("its result", got, 7);
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    alarm(20); // no call may wait
    failed = 0;
    int *other; cudaStream_t stream; int count = -1;
    expect("cudaMalloc in a child", cudaMalloc(&other, 4), cudaErrorInitializationError);
    expect("cudaMemcpy in a child", cudaMemcpy(&got, out, 4, cudaMemcpyDeviceToHost), cudaErrorInitializationError);
    expect("cudaStreamCreate in a child", cudaStreamCreate(&stream), cudaErrorInitializationError);
    expect("cudaLaunchKernel in a child", cudaLaunchKernel((void *)put, 1, 1, good, 0, 0), cudaErrorInitializationError);
    expect("cudaDeviceSynchronize in a child", cudaDeviceSynchronize(), cudaErrorInitializationError);
    expect("cuLaunchKernel in a child", launch((CUfunction)function, 1, 1, 1, 1, 1, 1, 0, 0, good, NULL), CUDA_ERROR_NOT_INITIALIZED);
    expect("cuInit in a child", driver<decltype(&cuInit)>("cuInit")(0), CUDA_ERROR_NOT_INITIALIZED);
    (void)count;
    fflush(stdout);
    _exit(failed);
  }
  int status = 0;
  waitpid(child, &status, 0);
  expect("the child", status, 0);
  expect("the parent afterwards", cudaMemset(out, 0, 4), 0);
  expect("the parent afterwards", cudaDeviceSynchronize(), 0);
  if (!failed) puts("PASS");
  return failed;
}
