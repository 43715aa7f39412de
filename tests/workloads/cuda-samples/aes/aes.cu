// AES-128 encryption (FIPS 197) in electronic-codebook mode: a thread encrypts one block of 16 bytes with the four
// tables of SubBytes, ShiftRows and MixColumns together; a table lies in shared memory, the others are its
// rotations. Lookups of a warp's lanes hit different banks at random. Round keys are in global memory, which
// all threads read in step.
constexpr int THREADS = 256, ROUNDS = 10;

// Table entry: the S-box value s as bytes 2s, s, s, 3s in GF(2^8).
struct Tables {
    unsigned mixed[256];

    constexpr Tables() : mixed{}
    {
        // The S-box is an affine map of the inverse; inverses come from powers of the generator 3.
        unsigned char power[256] = {}, log[256] = {};
        unsigned x = 1;
        for (int i = 0; i < 255; i++) {
            power[i] = static_cast<unsigned char>(x);
            log[x] = static_cast<unsigned char>(i);
            x ^= x << 1 ^ (x & 0x80 ? 0x11bu : 0u);
        }
        for (int i = 0; i < 256; i++) {
            const unsigned inverse = i == 0 ? 0u : power[(255 - log[i]) % 255];
            unsigned s = 0x63;
            for (int turn = 0; turn < 5; turn++)
                s ^= (inverse << turn | inverse >> (8 - turn)) & 255u;
            const unsigned twice = s << 1 ^ (s & 0x80 ? 0x11bu : 0u);
            mixed[i] = twice | s << 8 | s << 16 | (twice ^ s) << 24;
        }
    }
};

__device__ const Tables tables = Tables();

// Expands a key to the words of eleven round keys, little-endian; one thread.
extern "C" __global__ void aes_expand(const unsigned *key, unsigned *round_keys)
{
    for (int i = 0; i < 4; i++)
        round_keys[i] = key[i];
    unsigned constant = 1;
    auto substitute = [](unsigned byte) { return tables.mixed[byte & 255u] >> 8 & 255u; };
    for (int i = 4; i < 4 * (ROUNDS + 1); i++) {
        unsigned word = round_keys[i - 1];
        if (i % 4 == 0) {
            word = word >> 8 | word << 24;
            word = substitute(word) | substitute(word >> 8) << 8 | substitute(word >> 16) << 16 | substitute(word >> 24) << 24;
            word ^= constant;
            constant = constant << 1 ^ (constant & 0x80 ? 0x11bu : 0u);
        }
        round_keys[i] = round_keys[i - 4] ^ word;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    aes_encrypt(const uint4 *plain, uint4 *cipher, const unsigned *round_keys, int blocks)
{
    __shared__ unsigned table[256];
    table[threadIdx.x] = tables.mixed[threadIdx.x];
    __syncthreads();
    const int at = blockIdx.x * THREADS + threadIdx.x;
    if (at >= blocks)
        return;
    auto rotated = [](unsigned word, int bytes) { return __funnelshift_l(word, word, 8 * bytes); };
    const uint4 in = plain[at];
    unsigned s[4] = {in.x ^ round_keys[0], in.y ^ round_keys[1], in.z ^ round_keys[2], in.w ^ round_keys[3]};
    for (int round = 1; round < ROUNDS; round++) {
        unsigned t[4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            t[i] = table[s[i] & 255u] ^ rotated(table[s[(i + 1) % 4] >> 8 & 255u], 1) ^
                   rotated(table[s[(i + 2) % 4] >> 16 & 255u], 2) ^ rotated(table[s[(i + 3) % 4] >> 24], 3) ^
                   round_keys[4 * round + i];
        }
#pragma unroll
        for (int i = 0; i < 4; i++)
            s[i] = t[i];
    }
    // The last round does not mix columns: only the S-box part of the entries counts.
    unsigned out[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const unsigned a = table[s[i] & 255u] >> 8 & 255u, b = table[s[(i + 1) % 4] >> 8 & 255u] >> 8 & 255u;
        const unsigned c = table[s[(i + 2) % 4] >> 16 & 255u] >> 8 & 255u, d = table[s[(i + 3) % 4] >> 24] >> 8 & 255u;
        out[i] = (a | b << 8 | c << 16 | d << 24) ^ round_keys[4 * ROUNDS + i];
    }
    cipher[at] = make_uint4(out[0], out[1], out[2], out[3]);
}
