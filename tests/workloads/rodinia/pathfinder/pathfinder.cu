// Cheapest way down a grid of costs, moving straight or diagonally: one row per step, dynamic
// programming over columns. A block keeps its stretch of a row in shared memory and advances it by
// several rows; each row costs it one column at either end, so blocks overlap by 2 * steps columns.
template <int WIDTH>
__device__ __forceinline__ void advance(const int *wall, const int *reached, int *result, int cols,
                                        int first_row, int steps)
{
    __shared__ int previous[WIDTH];

    int tx = threadIdx.x;
    int col = (int)blockIdx.x * (WIDTH - 2 * steps) + tx - steps;
    bool in_grid = col >= 0 && col < cols;

    int cost = in_grid ? reached[col] : 0;
    previous[tx] = cost;
    __syncthreads();

    int left = col > 0 ? tx - 1 : tx;
    int right = col < cols - 1 ? tx + 1 : tx;

    bool valid = false;
    for (int step = 0; step < steps; step++) {
        valid = in_grid && tx > step && tx < WIDTH - 1 - step;
        if (valid) {
            int best = min(previous[tx], min(previous[left], previous[right]));
            cost = best + wall[(first_row + step) * cols + col];
        }
        __syncthreads();
        if (valid)
            previous[tx] = cost;
        __syncthreads();
    }
    if (valid)
        result[col] = cost;
}

extern "C" __global__ void pathfinder(const int *wall, const int *reached, int *result, int cols,
                                      int first_row, int steps)
{
    advance<256>(wall, reached, result, cols, first_row, steps);
}

extern "C" __global__ void pathfinder_1024(const int *wall, const int *reached, int *result, int cols,
                                           int first_row, int steps)
{
    advance<1024>(wall, reached, result, cols, first_row, steps);
}
