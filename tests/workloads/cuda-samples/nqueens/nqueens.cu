// Counts the ways to place n queens on a board. Each thread continues one placement of the first rows by backtracking:
// columns and diagonals under attack are bit masks, on a stack per row in shared memory. The lengths of the
// searches differ much between the lanes of a warp.
constexpr int THREADS = 96;
constexpr int ROWS = 10;  // below the third: boards of up to 13 x 13, whose stacks fit 16 KB

// All placements of the first three rows are numbered (column1 * n + column2) * n + column3; impossible ones count nothing.
extern "C" __global__ void __launch_bounds__(THREADS) nqueens_count(unsigned *solutions, unsigned *sums, int n)
{
    __shared__ unsigned columns[ROWS][THREADS], left[ROWS][THREADS], right[ROWS][THREADS], open[ROWS][THREADS];
    __shared__ unsigned totals[THREADS];
    const int thread = threadIdx.x;
    const int at = blockIdx.x * THREADS + thread;
    const unsigned all = (1u << n) - 1;
    unsigned count = 0;
    if (at < n * n * n) {
        const unsigned first = 1u << (at / (n * n)), second = 1u << (at / n % n), third = 1u << (at % n);
        const unsigned l1 = first << 1, r1 = first >> 1;
        const unsigned l2 = (l1 | second) << 1, r2 = (r1 | second) >> 1;
        const bool possible = !(second & (first | l1 | r1)) && !(third & (first | second | l2 | r2));
        if (possible) {
            int row = 0;
            columns[0][thread] = first | second | third;
            left[0][thread] = (l2 | third) << 1;
            right[0][thread] = (r2 | third) >> 1;
            open[0][thread] = all & ~(columns[0][thread] | left[0][thread] | right[0][thread]);
            while (row >= 0) {
                const unsigned free = open[row][thread];
                if (free == 0) {
                    row--;
                    continue;
                }
                // The lowest free column of this row.
                const unsigned queen = free & -free;
                open[row][thread] = free ^ queen;
                if (row + 4 == n) {
                    count++;
                    continue;
                }
                const unsigned c = columns[row][thread] | queen;
                const unsigned l = (left[row][thread] | queen) << 1, r = (right[row][thread] | queen) >> 1;
                row++;
                columns[row][thread] = c;
                left[row][thread] = l;
                right[row][thread] = r;
                open[row][thread] = all & ~(c | l | r);
            }
        }
        solutions[at] = count;
    }
    totals[thread] = count;
    __syncthreads();
    if (thread < 32)
        totals[thread] += totals[thread + 32] + totals[thread + 64];
    __syncthreads();
    for (int width = 16; width > 0; width /= 2) {
        if (thread < width)
            totals[thread] += totals[thread + width];
        __syncthreads();
    }
    if (thread == 0)
        sums[blockIdx.x] = totals[0];
}
