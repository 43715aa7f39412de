// Gaussian elimination without pivoting of a * x = b, n x n row-major: per pivot one launch computes the
// column of multipliers and one subtracts the pivot row from the rows below; then back substitution.
// Multiply-adds are written as fmaf, so that no compiler is left to choose where it rounds.

// Makes the matrix diagonally dominant, so that elimination without pivoting is sound.
extern "C" __global__ void strengthen_diagonal(float *a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        a[i * n + i] += (float)n;
}

extern "C" __global__ void multipliers(const float *a, float *m, int n, int pivot)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x + pivot + 1;
    if (row < n)
        m[row * n + pivot] = a[row * n + pivot] / a[pivot * n + pivot];
}

extern "C" __global__ void eliminate(float *a, float *b, const float *m, int n, int pivot)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x + pivot;
    int row = blockIdx.y * blockDim.y + threadIdx.y + pivot + 1;
    if (row >= n || col >= n)
        return;

    float factor = m[row * n + pivot];
    a[row * n + col] = fmaf(-factor, a[pivot * n + col], a[row * n + col]);
    if (col == pivot)
        b[row] = fmaf(-factor, b[pivot], b[row]);
}

// One block with at least n threads: thread i owns row i, the last unknown is found first.
extern "C" __global__ void back_substitute(const float *a, const float *b, float *x, int n)
{
    __shared__ float solved;
    int row = threadIdx.x;
    float rest = row < n ? b[row] : 0.0f;

    for (int i = n - 1; i >= 0; i--) {
        if (row == i) {
            solved = rest / a[i * n + i];
            x[i] = solved;
        }
        __syncthreads();
        if (row < i)
            rest = fmaf(-a[row * n + i], solved, rest);
        __syncthreads();
    }
}
