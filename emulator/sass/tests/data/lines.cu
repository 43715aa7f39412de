__device__ __forceinline__ int bits(int x) {
    return __popc(x);
}

__global__ void count(const int *in, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int found = bits(in[i]);
        out[i] = found + 1;
    }
}

__global__ void fill(int *p) {
    p[threadIdx.x] = threadIdx.x;
}
