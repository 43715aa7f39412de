// Integer hashing in 64 bits: xorshift rounds, a multiplicative finaliser, the high half of a product, a
// remainder by a run-time modulus, and bit counting, reversal and rotation in 32 bits.
extern "C" __global__ void hash64(const unsigned long long *keys, unsigned long long *buckets,
                                  unsigned long long *products, unsigned *digests, unsigned long long modulus,
                                  int rounds, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;

    unsigned long long h = keys[i] | 1ull;
    for (int round = 0; round < rounds; round++) {
        h ^= h << 13;
        h ^= h >> 7;
        h ^= h << 17;
    }
    unsigned long long mixed = h;
    mixed ^= mixed >> 33;
    mixed *= 0xff51afd7ed558ccdull;
    mixed ^= mixed >> 33;
    mixed *= 0xc4ceb9fe1a85ec53ull;
    mixed ^= mixed >> 33;

    buckets[i] = mixed % modulus;
    products[i] = __umul64hi(mixed, h);

    unsigned low = (unsigned)mixed;
    unsigned high = (unsigned)(mixed >> 32);
    unsigned digest = __brev(low) ^ __funnelshift_l(low, high, i & 31);
    digest += (unsigned)__popcll(mixed) * 0x9e3779b1u;
    digest ^= (unsigned)__clzll((long long)(mixed >> (i & 63))) << 8;
    digest += (unsigned)__ffs((int)high) * (low % 1000u);
    digests[i] = digest;
}
