// y = A * x for a sparse matrix in compressed rows, twice: one thread per row (rows of one warp differ in
// length) and one warp per row (coalesced, summed by shuffles).

// Row lengths repeat with period 8 (3, 17, 1, 40, 8, 0, 25, 66), so row offsets need no prefix sum.
#define PERIOD 8
#define ENTRIES_PER_PERIOD 160
__constant__ int first_entry[PERIOD] = {0, 3, 20, 21, 61, 69, 69, 94};

// Writes the row offsets (rows + 1 of them) and brings random columns into range; a thread per entry slot.
extern "C" __global__ void spmv_setup(int *row_offsets, unsigned *columns, int rows, int cols,
                                      int entry_slots)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < entry_slots)
        columns[row] %= (unsigned)cols;
    if (row <= rows)
        row_offsets[row] = row / PERIOD * ENTRIES_PER_PERIOD + first_entry[row % PERIOD];
}

extern "C" __global__ void spmv_thread_per_row(const int *__restrict__ row_offsets,
                                               const unsigned *__restrict__ columns,
                                               const float *__restrict__ values, const float *__restrict__ x,
                                               float *__restrict__ y, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float sum = 0.0f;
    for (int i = row_offsets[row]; i < row_offsets[row + 1]; i++)
        sum += values[i] * x[columns[i]];
    y[row] = sum;
}

extern "C" __global__ void spmv_warp_per_row(const int *__restrict__ row_offsets,
                                             const unsigned *__restrict__ columns,
                                             const float *__restrict__ values, const float *__restrict__ x,
                                             float *__restrict__ y, int rows)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (row >= rows)
        return;
    float sum = 0.0f;
    int end = row_offsets[row + 1];
    for (int i = row_offsets[row] + lane; i < end; i += 32)
        sum += values[i] * x[columns[i]];
    for (int mask = 16; mask > 0; mask /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, mask);
    if (lane == 0)
        y[row] = sum;
}
