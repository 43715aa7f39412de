// Three digital sequences in base 2 (Niederreiter, 1992) by multiplying the bits of an index with a matrix in constant
// memory: a row of threads per dimension, a column per bit of 31. The matrices are those of van der Corput's sequence and of
// Sobol's second and third dimension, shifted to 31 bits.
#define DIMENSIONS 3
#define BITS 31

__constant__ unsigned int matrix[DIMENSIONS][BITS] = {
    {0x40000000, 0x20000000, 0x10000000, 0x08000000, 0x04000000, 0x02000000, 0x01000000, 0x00800000,
     0x00400000, 0x00200000, 0x00100000, 0x00080000, 0x00040000, 0x00020000, 0x00010000, 0x00008000,
     0x00004000, 0x00002000, 0x00001000, 0x00000800, 0x00000400, 0x00000200, 0x00000100, 0x00000080,
     0x00000040, 0x00000020, 0x00000010, 0x00000008, 0x00000004, 0x00000002, 0x00000001},
    {0x40000000, 0x60000000, 0x50000000, 0x78000000, 0x44000000, 0x66000000, 0x55000000, 0x7F800000,
     0x40400000, 0x60600000, 0x50500000, 0x78780000, 0x44440000, 0x66660000, 0x55550000, 0x7FFF8000,
     0x40004000, 0x60006000, 0x50005000, 0x78007800, 0x44004400, 0x66006600, 0x55005500, 0x7F807F80,
     0x40404040, 0x60606060, 0x50505050, 0x78787878, 0x44444444, 0x66666666, 0x55555555},
    {0x40000000, 0x60000000, 0x30000000, 0x48000000, 0x74000000, 0x2E000000, 0x47000000, 0x62800000,
     0x34400000, 0x4E600000, 0x77300000, 0x2AC80000, 0x40340000, 0x604E0000, 0x30770000, 0x482A8000,
     0x74404000, 0x2E606000, 0x47303000, 0x62C84800, 0x34347400, 0x4E4E2E00, 0x77774700, 0x2AAAE280,
     0x40007440, 0x60002E60, 0x30004730, 0x480062C8, 0x74003434, 0x2E004E4E, 0x47007777},
};

extern "C" __global__ void quasirandom(float *to, unsigned int seed, unsigned int n)
{
    const unsigned int *column = &matrix[threadIdx.y][0];
    unsigned int first = blockDim.x * blockIdx.x + threadIdx.x;
    unsigned int threads = blockDim.x * gridDim.x;
    for (unsigned int at = first; at < n; at += threads) {
        unsigned int result = 0;
        unsigned int index = seed + at;
#pragma unroll
        for (int bit = 0; bit < BITS; bit++, index >>= 1)
            if (index & 1)
                result ^= column[bit];
        to[threadIdx.y * n + at] = (float)(result + 1) * (1.0f / (float)0x80000001u);
    }
}
