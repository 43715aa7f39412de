// Fast Fourier transform of 512 complex values per block (after Volkov and Kazian, Fitting FFT onto the G80
// architecture, 2008): each of 64 threads holds eight values in registers, transforms them with radix 8, multiplies
// by twiddle factors, and exchanges them through shared memory, three times.
constexpr int N = 512, THREADS = 64;

struct Complex {
    float re, im;
};

__device__ Complex operator+(Complex a, Complex b)
{
    return {a.re + b.re, a.im + b.im};
}

__device__ Complex operator-(Complex a, Complex b)
{
    return {a.re - b.re, a.im - b.im};
}

__device__ Complex operator*(Complex a, Complex b)
{
    return {fmaf(a.re, b.re, -__fmul_rn(a.im, b.im)), fmaf(a.re, b.im, __fmul_rn(a.im, b.re))};
}

__device__ void butterfly(Complex &a, Complex &b)
{
    const Complex sum = a + b, difference = a - b;
    a = sum;
    b = difference;
}

// Eight-point transform; results are in bit-reversed order.
__device__ void fft8(Complex *v)
{
    constexpr float HALF_ROOT = 0.70710678118654752440f;
#pragma unroll
    for (int i = 0; i < 4; i++)
        butterfly(v[i], v[i + 4]);
    v[5] = Complex{HALF_ROOT * (v[5].re + v[5].im), HALF_ROOT * (v[5].im - v[5].re)};
    v[6] = Complex{v[6].im, -v[6].re};
    v[7] = Complex{HALF_ROOT * (v[7].im - v[7].re), -HALF_ROOT * (v[7].re + v[7].im)};
#pragma unroll
    for (int half = 0; half < 8; half += 4) {
        butterfly(v[half], v[half + 2]);
        butterfly(v[half + 1], v[half + 3]);
        v[half + 3] = Complex{v[half + 3].im, -v[half + 3].re};
        butterfly(v[half], v[half + 1]);
        butterfly(v[half + 2], v[half + 3]);
    }
}

__device__ int reversed(int i)
{
    return (i & 1) << 2 | (i & 2) | i >> 2;
}

// Multiplies result k by the k-th power of the root with the angle -2 pi * part.
__device__ void twiddle(Complex *v, float part)
{
#pragma unroll
    for (int k = 1; k < 8; k++) {
        const float angle = -6.2831853071795864769f * float(k) * part;
        v[reversed(k)] = v[reversed(k)] * Complex{__cosf(angle), __sinf(angle)};
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) fft512(const float2 *from, float2 *to)
{
    __shared__ float exchange[8 * 72];
    const int t = threadIdx.x, high = t >> 3, low = t & 7;
    const float2 *source = from + blockIdx.x * N;
    Complex v[8];
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const float2 value = source[i * THREADS + t];
        v[i] = {value.x, value.y};
    }
    fft8(v);
    twiddle(v, float(t) / 512.0f);

    // Real and imaginary parts pass through the same memory one after the other; rows are padded against conflicts.
#pragma unroll
    for (int i = 0; i < 8; i++)
        exchange[i * 66 + t] = v[reversed(i)].re;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 8; i++)
        v[i].re = exchange[high * 66 + low + 8 * i];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 8; i++)
        exchange[i * 66 + t] = v[reversed(i)].im;
    __syncthreads();
    Complex w[8];
#pragma unroll
    for (int i = 0; i < 8; i++)
        w[i] = {v[i].re, exchange[high * 66 + low + 8 * i]};
    __syncthreads();
    fft8(w);
    twiddle(w, float(low) / 64.0f);

#pragma unroll
    for (int i = 0; i < 8; i++)
        exchange[high * 72 + i * 9 + low] = w[reversed(i)].re;
    __syncthreads();
    Complex x[8];
#pragma unroll
    for (int i = 0; i < 8; i++)
        x[i].re = exchange[high * 72 + low * 9 + i];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 8; i++)
        exchange[high * 72 + i * 9 + low] = w[reversed(i)].im;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 8; i++)
        x[i].im = exchange[high * 72 + low * 9 + i];
    fft8(x);

    // Thread (high, low) holds frequencies high + 8 * low + 64 * i.
    float2 *target = to + blockIdx.x * N;
#pragma unroll
    for (int i = 0; i < 8; i++)
        target[high + 8 * low + 64 * i] = make_float2(x[reversed(i)].re, x[reversed(i)].im);
}
