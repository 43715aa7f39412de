// Prices of European options by Monte Carlo simulation: a block prices one option, its threads stride over normally
// distributed draws that all options share, and a tree in shared memory sums payoffs and their squares.
constexpr int THREADS = 256;

struct Option {
    float spot, strike, drift, volatility;
};

// Turns random bits into normal draws by Box and Muller's method.
extern "C" __global__ void montecarlo_draws(const unsigned *bits, float *draws, int pairs)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= pairs)
        return;
    const float u = (float(bits[2 * i] >> 9) + 0.5f) * (1.0f / 8388608.0f);
    const float angle = float(bits[2 * i + 1] >> 9) * (6.2831853071795864769f / 8388608.0f);
    const float radius = sqrtf(-2.0f * logf(u));
    draws[2 * i] = radius * cosf(angle);
    draws[2 * i + 1] = radius * sinf(angle);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    montecarlo_prices(const float4 *options, const float *draws, float2 *prices, int paths)
{
    __shared__ float sums[THREADS], squares[THREADS];
    const float4 o = options[blockIdx.x];
    const Option option = {o.x, o.y, o.z, o.w};
    float sum = 0.0f, square = 0.0f;
    for (int i = threadIdx.x; i < paths; i += THREADS) {
        const float end = option.spot * __expf(fmaf(option.volatility, draws[i], option.drift));
        const float payoff = fmaxf(end - option.strike, 0.0f);
        sum += payoff;
        square = fmaf(payoff, payoff, square);
    }
    sums[threadIdx.x] = sum;
    squares[threadIdx.x] = square;
    for (int width = THREADS / 2; width > 0; width /= 2) {
        __syncthreads();
        if (threadIdx.x < width) {
            sums[threadIdx.x] += sums[threadIdx.x + width];
            squares[threadIdx.x] += squares[threadIdx.x + width];
        }
    }
    if (threadIdx.x == 0) {
        const float mean = sums[0] / float(paths);
        prices[blockIdx.x] = make_float2(mean, squares[0] / float(paths));
    }
}
