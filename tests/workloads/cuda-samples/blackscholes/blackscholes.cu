// Prices of European call and put options by the Black-Scholes formula: logarithm, exponential, square
// root and division in single precision. The normal distribution is the five-term polynomial of
// Abramowitz and Stegun, Handbook of Mathematical Functions, 26.2.17.
__device__ __forceinline__ float cumulative_normal(float d)
{
    float t = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    float polynomial = 1.330274429f;
    polynomial = polynomial * t - 1.821255978f;
    polynomial = polynomial * t + 1.781477937f;
    polynomial = polynomial * t - 0.356563782f;
    polynomial = polynomial * t + 0.319381530f;
    float tail = 0.39894228f * expf(-0.5f * d * d) * polynomial * t;
    return d > 0.0f ? 1.0f - tail : tail;
}

extern "C" __global__ void blackscholes(const float *__restrict__ price, const float *__restrict__ strike,
                                        const float *__restrict__ years, float *__restrict__ call,
                                        float *__restrict__ put, float rate, float volatility, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float s = price[i];
        float x = strike[i];
        float t = years[i];
        float spread = volatility * sqrtf(t);
        float d1 = (logf(s / x) + (rate + 0.5f * volatility * volatility) * t) / spread;
        float d2 = d1 - spread;
        float discounted = x * expf(-rate * t);
        float n1 = cumulative_normal(d1);
        float n2 = cumulative_normal(d2);
        call[i] = s * n1 - discounted * n2;
        put[i] = discounted * (1.0f - n2) - s * (1.0f - n1);
    }
}
