// Mersenne twisters of period 2^607 - 1, one per thread, each with parameters of its own (Matsumoto and Nishimura,
// Dynamic creation of pseudorandom number generators, 2000; the layout of Podlozhnyuk's sample). A thread's state of
// 19 words is an array that it walks in a ring; numbers go out interleaved, so that stores are coalesced.
constexpr int WORDS = 19, MIDDLE = 9;
constexpr unsigned UPPER = 0xfffffffeu, LOWER = 1u;

// Parameters: matrix, mask b, mask c and seed of each generator, four lists.
extern "C" __global__ void __launch_bounds__(128)
    mersenne_numbers(const unsigned *parameters, float *numbers, int generators, int count)
{
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (thread >= generators)
        return;
    const unsigned matrix = parameters[thread] | 0x80000000u;
    const unsigned mask_b = parameters[generators + thread] & 0xffffff80u;
    const unsigned mask_c = parameters[2 * generators + thread] & 0xfff80000u;
    unsigned state[WORDS];
    state[0] = parameters[3 * generators + thread];
    for (int i = 1; i < WORDS; i++)
        state[i] = 1812433253u * (state[i - 1] ^ (state[i - 1] >> 30)) + unsigned(i);

    int here = 0;
    unsigned now = state[0];
    for (int i = 0; i < count; i++) {
        int next = here + 1, middle = here + MIDDLE;
        if (next >= WORDS)
            next -= WORDS;
        if (middle >= WORDS)
            middle -= WORDS;
        const unsigned following = state[next];
        unsigned x = (now & UPPER) | (following & LOWER);
        x = state[middle] ^ (x >> 1) ^ (x & 1 ? matrix : 0u);
        state[here] = x;
        now = following;
        here = next;
        // Tempering.
        x ^= x >> 12;
        x ^= (x << 7) & mask_b;
        x ^= (x << 15) & mask_c;
        x ^= x >> 18;
        numbers[i * generators + thread] = (float(x) + 1.0f) / 4294967296.0f;
    }
}

// Pairs of numbers to pairs of normal draws, in place.
extern "C" __global__ void __launch_bounds__(128) mersenne_normal(float *numbers, int generators, int count)
{
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (thread >= generators)
        return;
    for (int i = 0; i + 1 < count; i += 2) {
        float *first = numbers + i * generators + thread, *second = first + generators;
        const float radius = sqrtf(-2.0f * logf(*first));
        const float angle = 6.2831853071795864769f * *second;
        *first = radius * __cosf(angle);
        *second = radius * __sinf(angle);
    }
}
