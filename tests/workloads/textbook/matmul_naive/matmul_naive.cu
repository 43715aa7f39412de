// C = A * B for n x n row-major matrices, one element of C per thread, operands straight from global
// memory: every thread of a row reads the same elements of A. Any two-dimensional block shape will do.
extern "C" __global__ void matmul_naive(const float *__restrict__ a, const float *__restrict__ b,
                                        float *__restrict__ c, int n)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n || col >= n)
        return;

    float sum = 0.0f;
    for (int k = 0; k < n; k++)
        sum += a[row * n + k] * b[k * n + col];
    c[row * n + col] = sum;
}
