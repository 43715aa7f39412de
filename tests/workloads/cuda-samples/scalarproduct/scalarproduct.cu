// Scalar products of pairs of vectors: a block takes vectors in turn; its threads accumulate into 1024 partial sums in
// shared memory, which a tree then folds.
constexpr int SUMS = 1024;

extern "C" __global__ void __launch_bounds__(256)
    scalar_products(const float *a, const float *b, float *products, int vectors, int elements)
{
    __shared__ float sums[SUMS];
    for (int vector = blockIdx.x; vector < vectors; vector += gridDim.x) {
        const int first = vector * elements, last = first + elements;
        for (int sum = threadIdx.x; sum < SUMS; sum += blockDim.x) {
            float value = 0.0f;
            for (int at = first + sum; at < last; at += SUMS)
                value = fmaf(a[at], b[at], value);
            sums[sum] = value;
        }
        for (int width = SUMS / 2; width > 0; width /= 2) {
            __syncthreads();
            for (int sum = threadIdx.x; sum < width; sum += blockDim.x)
                sums[sum] += sums[width + sum];
        }
        __syncthreads();
        if (threadIdx.x == 0)
            products[vector] = sums[0];
        __syncthreads();
    }
}
