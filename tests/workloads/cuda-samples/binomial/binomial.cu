// Prices of European calls in a binomial tree of 512 steps (Cox, Ross and Rubinstein, 1979): a block prices one
// option. A thread holds two neighbouring values of the tree in registers; in every step it takes the first one of
// the next thread from shared memory and rolls its own back, until its part of the tree is used up.
constexpr int STEPS = 512;
constexpr int PER_THREAD = 2;
constexpr int THREADS = STEPS / PER_THREAD;

// `volatilities` holds the exponent of one move; `up` and `down` are discounted probabilities.
extern "C" __global__ void __launch_bounds__(THREADS)
    binomial_prices(const float *spots, const float *strikes, const float *volatilities, float *prices, float up, float down)
{
    __shared__ float edge[THREADS + 1];
    const float spot = spots[blockIdx.x], strike = strikes[blockIdx.x], volatility = volatilities[blockIdx.x];
    const int first = threadIdx.x * PER_THREAD;
    float values[PER_THREAD + 1];
#pragma unroll
    for (int i = 0; i < PER_THREAD; i++)
        values[i] = fmaxf(spot * expf(volatility * float(2 * (first + i) - STEPS)) - strike, 0.0f);
    // The leaf after those of the last thread.
    if (threadIdx.x == 0)
        edge[THREADS] = fmaxf(spot * expf(volatility * float(STEPS)) - strike, 0.0f);

    const int last = max(0, first - 1);
    for (int step = STEPS; step > 0; step--) {
        edge[threadIdx.x] = values[0];
        __syncthreads();
        values[PER_THREAD] = edge[threadIdx.x + 1];
        __syncthreads();
        if (step > last) {
#pragma unroll
            for (int i = 0; i < PER_THREAD; i++)
                values[i] = fmaf(up, values[i + 1], __fmul_rn(down, values[i]));
        }
    }
    if (threadIdx.x == 0)
        prices[blockIdx.x] = values[0];
}
