// Three matrix products, g = (a * b) * (c * d), as PolyBench/GPU's 3MM: one kernel per product, a thread per entry, all
// loads from global memory.
__device__ void product(const float *a, const float *b, float *c, int m, int n, int k)
{
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    const int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < m && j < n) {
        float sum = 0.0f;
        for (int p = 0; p < k; p++)
            sum = fmaf(a[i * k + p], b[p * n + j], sum);
        c[i * n + j] = sum;
    }
}

extern "C" __global__ void mm3_first(const float *a, const float *b, float *e, int ni, int nj, int nk)
{
    product(a, b, e, ni, nj, nk);
}

extern "C" __global__ void mm3_second(const float *c, const float *d, float *f, int nj, int nl, int nm)
{
    product(c, d, f, nj, nl, nm);
}

extern "C" __global__ void mm3_third(const float *e, const float *f, float *g, int ni, int nl, int nj)
{
    product(e, f, g, ni, nl, nj);
}
