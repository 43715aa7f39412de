// Tracking of points of a moving wall in ultrasound frames (after Rodinia's heartwall): a block follows one point. It
// stages a template around the point's place in the first frame, correlates it with every shift of a window in the next
// frame, normalised by the window's mean and deviation from running sums of columns and rows, and moves the point to
// the largest correlation. The number of threads is less than that of shifts, so that loops stride.
constexpr int THREADS = 256, TEMPLATE = 11, SHIFT = 8;
constexpr int WINDOW = TEMPLATE + 2 * SHIFT, SHIFTS = 2 * SHIFT + 1;

extern "C" __global__ void __launch_bounds__(THREADS)
    heartwall_track(const unsigned char *first, const unsigned char *next, const int *places, int *moved, int *scores, int side)
{
    __shared__ int pattern[TEMPLATE * TEMPLATE];
    __shared__ int window[WINDOW * WINDOW];
    // Sums over TEMPLATE values along columns, then along rows of these; and of squares.
    __shared__ int column_sums[SHIFTS * WINDOW], column_squares[SHIFTS * WINDOW];
    __shared__ int totals[2];
    __shared__ int best[THREADS], best_at[THREADS];

    const int x = places[2 * blockIdx.x], y = places[2 * blockIdx.x + 1];
    if (threadIdx.x < 2)
        totals[threadIdx.x] = 0;
    for (int i = threadIdx.x; i < TEMPLATE * TEMPLATE; i += THREADS) {
        const int row = y + i / TEMPLATE - TEMPLATE / 2, column = x + i % TEMPLATE - TEMPLATE / 2;
        pattern[i] = first[row * side + column];
    }
    for (int i = threadIdx.x; i < WINDOW * WINDOW; i += THREADS) {
        const int row = y + i / WINDOW - WINDOW / 2, column = x + i % WINDOW - WINDOW / 2;
        window[i] = next[row * side + column];
    }
    __syncthreads();
    if (threadIdx.x < TEMPLATE * TEMPLATE) {
        atomicAdd(&totals[0], pattern[threadIdx.x]);
        atomicAdd(&totals[1], pattern[threadIdx.x] * pattern[threadIdx.x]);
    }
    // A thread per column and shift of rows.
    for (int i = threadIdx.x; i < SHIFTS * WINDOW; i += THREADS) {
        const int shift = i / WINDOW, column = i % WINDOW;
        int sum = 0, squares = 0;
        for (int row = 0; row < TEMPLATE; row++) {
            const int value = window[(shift + row) * WINDOW + column];
            sum += value;
            squares += value * value;
        }
        column_sums[i] = sum;
        column_squares[i] = squares;
    }
    __syncthreads();

    const int count = TEMPLATE * TEMPLATE;
    const int pattern_sum = totals[0], pattern_spread = count * totals[1] - totals[0] * totals[0];
    int most = -0x7fffffff, at = 0;
    for (int shift = threadIdx.x; shift < SHIFTS * SHIFTS; shift += THREADS) {
        const int down = shift / SHIFTS, right = shift % SHIFTS;
        int products = 0, sum = 0, squares = 0;
        for (int column = 0; column < TEMPLATE; column++) {
            sum += column_sums[down * WINDOW + right + column];
            squares += column_squares[down * WINDOW + right + column];
            for (int row = 0; row < TEMPLATE; row++)
                products += pattern[row * TEMPLATE + column] * window[(down + row) * WINDOW + right + column];
        }
        // Covariance over both deviations, in thousandths.
        const int spread = count * squares - sum * sum;
        const float covariance = float(count * products - sum * pattern_sum);
        const float deviations = sqrtf(float(spread)) * sqrtf(float(pattern_spread));
        const int score = deviations > 0.0f ? int(rintf(1000.0f * (covariance / deviations))) : 0;
        if (score > most) {
            most = score;
            at = shift;
        }
    }
    best[threadIdx.x] = most;
    best_at[threadIdx.x] = at;
    for (int width = THREADS / 2; width > 0; width /= 2) {
        __syncthreads();
        if (threadIdx.x < width) {
            const int other = best[threadIdx.x + width], other_at = best_at[threadIdx.x + width];
            if (other > best[threadIdx.x] || (other == best[threadIdx.x] && other_at < best_at[threadIdx.x])) {
                best[threadIdx.x] = other;
                best_at[threadIdx.x] = other_at;
            }
        }
    }
    if (threadIdx.x == 0) {
        moved[2 * blockIdx.x] = x + best_at[0] % SHIFTS - SHIFT;
        moved[2 * blockIdx.x + 1] = y + best_at[0] / SHIFTS - SHIFT;
        scores[blockIdx.x] = best[0];
    }
}
