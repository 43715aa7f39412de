// Hashes for a content-addressed store: MD5 (RFC 1321) of blocks of a file, and of windows that slide over it, as in
// StoreGPU (Al-Kiswany et al., 2008). A thread hashes one block or one window. Its data is staged in shared memory,
// word w of thread t at w * threads + t, so that threads of a warp use different banks.
constexpr int THREADS = 64;
constexpr int BLOCK_WORDS = 32;
constexpr int WINDOW_BYTES = 16;

__device__ unsigned rotate(unsigned x, int n)
{
    return x << n | x >> (32 - n);
}

#define STEP(f, a, b, c, d, word, constant, turn) a = b + rotate(a + (f) + (word) + constant##u, turn)
#define F(x, y, z) ((x & y) | (~x & z))
#define G(x, y, z) ((x & z) | (y & ~z))
#define H(x, y, z) (x ^ y ^ z)
#define I(x, y, z) (y ^ (x | ~z))

// One chunk of 64 bytes; WORD(i) gives its i-th word.
template <class Words>
__device__ void md5_chunk(unsigned state[4], const Words &word)
{
    unsigned a = state[0], b = state[1], c = state[2], d = state[3];
    STEP(F(b, c, d), a, b, c, d, word(0), 0xd76aa478, 7);
    STEP(F(a, b, c), d, a, b, c, word(1), 0xe8c7b756, 12);
    STEP(F(d, a, b), c, d, a, b, word(2), 0x242070db, 17);
    STEP(F(c, d, a), b, c, d, a, word(3), 0xc1bdceee, 22);
    STEP(F(b, c, d), a, b, c, d, word(4), 0xf57c0faf, 7);
    STEP(F(a, b, c), d, a, b, c, word(5), 0x4787c62a, 12);
    STEP(F(d, a, b), c, d, a, b, word(6), 0xa8304613, 17);
    STEP(F(c, d, a), b, c, d, a, word(7), 0xfd469501, 22);
    STEP(F(b, c, d), a, b, c, d, word(8), 0x698098d8, 7);
    STEP(F(a, b, c), d, a, b, c, word(9), 0x8b44f7af, 12);
    STEP(F(d, a, b), c, d, a, b, word(10), 0xffff5bb1, 17);
    STEP(F(c, d, a), b, c, d, a, word(11), 0x895cd7be, 22);
    STEP(F(b, c, d), a, b, c, d, word(12), 0x6b901122, 7);
    STEP(F(a, b, c), d, a, b, c, word(13), 0xfd987193, 12);
    STEP(F(d, a, b), c, d, a, b, word(14), 0xa679438e, 17);
    STEP(F(c, d, a), b, c, d, a, word(15), 0x49b40821, 22);
    STEP(G(b, c, d), a, b, c, d, word(1), 0xf61e2562, 5);
    STEP(G(a, b, c), d, a, b, c, word(6), 0xc040b340, 9);
    STEP(G(d, a, b), c, d, a, b, word(11), 0x265e5a51, 14);
    STEP(G(c, d, a), b, c, d, a, word(0), 0xe9b6c7aa, 20);
    STEP(G(b, c, d), a, b, c, d, word(5), 0xd62f105d, 5);
    STEP(G(a, b, c), d, a, b, c, word(10), 0x02441453, 9);
    STEP(G(d, a, b), c, d, a, b, word(15), 0xd8a1e681, 14);
    STEP(G(c, d, a), b, c, d, a, word(4), 0xe7d3fbc8, 20);
    STEP(G(b, c, d), a, b, c, d, word(9), 0x21e1cde6, 5);
    STEP(G(a, b, c), d, a, b, c, word(14), 0xc33707d6, 9);
    STEP(G(d, a, b), c, d, a, b, word(3), 0xf4d50d87, 14);
    STEP(G(c, d, a), b, c, d, a, word(8), 0x455a14ed, 20);
    STEP(G(b, c, d), a, b, c, d, word(13), 0xa9e3e905, 5);
    STEP(G(a, b, c), d, a, b, c, word(2), 0xfcefa3f8, 9);
    STEP(G(d, a, b), c, d, a, b, word(7), 0x676f02d9, 14);
    STEP(G(c, d, a), b, c, d, a, word(12), 0x8d2a4c8a, 20);
    STEP(H(b, c, d), a, b, c, d, word(5), 0xfffa3942, 4);
    STEP(H(a, b, c), d, a, b, c, word(8), 0x8771f681, 11);
    STEP(H(d, a, b), c, d, a, b, word(11), 0x6d9d6122, 16);
    STEP(H(c, d, a), b, c, d, a, word(14), 0xfde5380c, 23);
    STEP(H(b, c, d), a, b, c, d, word(1), 0xa4beea44, 4);
    STEP(H(a, b, c), d, a, b, c, word(4), 0x4bdecfa9, 11);
    STEP(H(d, a, b), c, d, a, b, word(7), 0xf6bb4b60, 16);
    STEP(H(c, d, a), b, c, d, a, word(10), 0xbebfbc70, 23);
    STEP(H(b, c, d), a, b, c, d, word(13), 0x289b7ec6, 4);
    STEP(H(a, b, c), d, a, b, c, word(0), 0xeaa127fa, 11);
    STEP(H(d, a, b), c, d, a, b, word(3), 0xd4ef3085, 16);
    STEP(H(c, d, a), b, c, d, a, word(6), 0x04881d05, 23);
    STEP(H(b, c, d), a, b, c, d, word(9), 0xd9d4d039, 4);
    STEP(H(a, b, c), d, a, b, c, word(12), 0xe6db99e5, 11);
    STEP(H(d, a, b), c, d, a, b, word(15), 0x1fa27cf8, 16);
    STEP(H(c, d, a), b, c, d, a, word(2), 0xc4ac5665, 23);
    STEP(I(b, c, d), a, b, c, d, word(0), 0xf4292244, 6);
    STEP(I(a, b, c), d, a, b, c, word(7), 0x432aff97, 10);
    STEP(I(d, a, b), c, d, a, b, word(14), 0xab9423a7, 15);
    STEP(I(c, d, a), b, c, d, a, word(5), 0xfc93a039, 21);
    STEP(I(b, c, d), a, b, c, d, word(12), 0x655b59c3, 6);
    STEP(I(a, b, c), d, a, b, c, word(3), 0x8f0ccc92, 10);
    STEP(I(d, a, b), c, d, a, b, word(10), 0xffeff47d, 15);
    STEP(I(c, d, a), b, c, d, a, word(1), 0x85845dd1, 21);
    STEP(I(b, c, d), a, b, c, d, word(8), 0x6fa87e4f, 6);
    STEP(I(a, b, c), d, a, b, c, word(15), 0xfe2ce6e0, 10);
    STEP(I(d, a, b), c, d, a, b, word(6), 0xa3014314, 15);
    STEP(I(c, d, a), b, c, d, a, word(13), 0x4e0811a1, 21);
    STEP(I(b, c, d), a, b, c, d, word(4), 0xf7537e82, 6);
    STEP(I(a, b, c), d, a, b, c, word(11), 0xbd3af235, 10);
    STEP(I(d, a, b), c, d, a, b, word(2), 0x2ad7d2bb, 15);
    STEP(I(c, d, a), b, c, d, a, word(9), 0xeb86d391, 21);
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
}

__device__ void start(unsigned state[4])
{
    state[0] = 0x67452301u;
    state[1] = 0xefcdab89u;
    state[2] = 0x98badcfeu;
    state[3] = 0x10325476u;
}

// MD5 of every block of 128 bytes.
extern "C" __global__ void __launch_bounds__(THREADS) sto_blocks(const unsigned *file, uint4 *hashes, int blocks)
{
    __shared__ unsigned staged[BLOCK_WORDS * THREADS];
    const int first = blockIdx.x * THREADS;
    for (int i = threadIdx.x; i < BLOCK_WORDS * THREADS; i += THREADS) {
        const int block = first + i / BLOCK_WORDS;
        if (block < blocks)
            staged[i % BLOCK_WORDS * THREADS + i / BLOCK_WORDS] = file[block * BLOCK_WORDS + i % BLOCK_WORDS];
    }
    __syncthreads();
    const int block = first + threadIdx.x;
    if (block >= blocks)
        return;
    unsigned state[4];
    start(state);
    for (int chunk = 0; chunk < BLOCK_WORDS; chunk += 16) {
        const unsigned *words = staged + chunk * THREADS + threadIdx.x;
        md5_chunk(state, [words](int i) { return words[i * THREADS]; });
    }
    // The padding of the message: a one, zeros and the length in bits.
    md5_chunk(state, [](int i) { return i == 0 ? 0x80u : i == 14 ? 32u * BLOCK_WORDS : 0u; });
    hashes[block] = make_uint4(state[0], state[1], state[2], state[3]);
}

// First word of the MD5 of every window of 16 bytes; windows begin at every byte.
extern "C" __global__ void __launch_bounds__(THREADS) sto_sliding(const unsigned *file, unsigned *hashes, int windows)
{
    __shared__ unsigned staged[(THREADS + WINDOW_BYTES) / 4 + 1];
    const int first = blockIdx.x * THREADS;
    if (threadIdx.x < (THREADS + WINDOW_BYTES) / 4)
        staged[threadIdx.x] = file[first / 4 + threadIdx.x];
    __syncthreads();
    const int window = first + threadIdx.x;
    if (window >= windows)
        return;
    // A window that begins inside a word takes its words from two neighbours.
    unsigned words[4];
    const int word = threadIdx.x / 4, shift = threadIdx.x % 4 * 8;
#pragma unroll
    for (int i = 0; i < 4; i++)
        words[i] = __funnelshift_r(staged[word + i], staged[word + i + 1], shift);
    unsigned state[4];
    start(state);
    md5_chunk(state, [&words](int i) { return i < 4 ? words[i] : i == 4 ? 0x80u : i == 14 ? 8u * WINDOW_BYTES : 0u; });
    hashes[window] = state[0];
}
