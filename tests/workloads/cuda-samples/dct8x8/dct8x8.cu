// Two-dimensional discrete cosine transform (type II, orthonormal) of every 8 x 8 square of an image whose
// sides are multiples of 8: one 8 x 8 block per square, first along columns, then along rows.
#define N 8

// basis[u][k] = scale(u) * cos((2k + 1) * u * pi / 16)
__constant__ float basis[N][N] = {
    {0.353553391f, 0.353553391f, 0.353553391f, 0.353553391f,
     0.353553391f, 0.353553391f, 0.353553391f, 0.353553391f},
    {0.49039264f, 0.415734806f, 0.277785117f, 0.097545161f,
     -0.097545161f, -0.277785117f, -0.415734806f, -0.49039264f},
    {0.461939766f, 0.191341716f, -0.191341716f, -0.461939766f,
     -0.461939766f, -0.191341716f, 0.191341716f, 0.461939766f},
    {0.415734806f, -0.097545161f, -0.49039264f, -0.277785117f,
     0.277785117f, 0.49039264f, 0.097545161f, -0.415734806f},
    {0.353553391f, -0.353553391f, -0.353553391f, 0.353553391f,
     0.353553391f, -0.353553391f, -0.353553391f, 0.353553391f},
    {0.277785117f, -0.49039264f, 0.097545161f, 0.415734806f,
     -0.415734806f, -0.097545161f, 0.49039264f, -0.277785117f},
    {0.191341716f, -0.461939766f, 0.461939766f, -0.191341716f,
     -0.191341716f, 0.461939766f, -0.461939766f, 0.191341716f},
    {0.097545161f, -0.277785117f, 0.415734806f, -0.49039264f,
     0.49039264f, -0.415734806f, 0.277785117f, -0.097545161f},
};

extern "C" __global__ void dct8x8(const float *image, float *coefficients, int width)
{
    __shared__ float square[N][N];
    __shared__ float halfway[N][N];

    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int at = (blockIdx.y * N + ty) * width + blockIdx.x * N + tx;

    square[ty][tx] = image[at];
    __syncthreads();

    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < N; k++)
        sum += basis[ty][k] * square[k][tx];
    halfway[ty][tx] = sum;
    __syncthreads();

    sum = 0.0f;
#pragma unroll
    for (int k = 0; k < N; k++)
        sum += halfway[ty][k] * basis[tx][k];
    coefficients[at] = sum;
}
