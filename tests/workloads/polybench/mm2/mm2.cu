// Two matrix products in a row, d = alpha * a * b * c + beta * d, as PolyBench/GPU's 2MM: a thread per entry, all loads
// from global memory.
extern "C" __global__ void mm2_first(const float *a, const float *b, float *product, int ni, int nj, int nk, float alpha)
{
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    const int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < ni && j < nj) {
        float sum = 0.0f;
        for (int k = 0; k < nk; k++)
            sum = fmaf(alpha * a[i * nk + k], b[k * nj + j], sum);
        product[i * nj + j] = sum;
    }
}

extern "C" __global__ void mm2_second(const float *product, const float *c, float *d, int ni, int nj, int nl, float beta)
{
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    const int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < ni && j < nl) {
        float sum = d[i * nl + j] * beta;
        for (int k = 0; k < nj; k++)
            sum = fmaf(product[i * nj + k], c[k * nl + j], sum);
        d[i * nl + j] = sum;
    }
}
