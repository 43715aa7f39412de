// Convolution of a volume with a sparse 3 x 3 x 3 filter, as PolyBench/GPU's 3DCONV: a launch per plane, a thread per
// cell of it, fifteen loads from global memory.
extern "C" __global__ void conv3d_plane(const float *from, float *to, int ni, int nj, int nk, int i)
{
    const int k = blockIdx.x * blockDim.x + threadIdx.x;
    const int j = blockIdx.y * blockDim.y + threadIdx.y;
    const float c11 = 2.0f, c21 = 5.0f, c31 = -8.0f, c12 = -3.0f, c22 = 6.0f, c32 = -9.0f, c13 = 4.0f, c23 = 7.0f, c33 = 10.0f;
    if (i < ni - 1 && j < nj - 1 && k < nk - 1 && i > 0 && j > 0 && k > 0) {
        auto at = [=](int di, int dj, int dk) { return from[(i + di) * nk * nj + (j + dj) * nk + k + dk]; };
        float sum = c11 * at(-1, -1, -1);
        sum = fmaf(c13, at(1, -1, -1), sum);
        sum = fmaf(c21, at(-1, -1, -1), sum);
        sum = fmaf(c23, at(1, -1, -1), sum);
        sum = fmaf(c31, at(-1, -1, -1), sum);
        sum = fmaf(c33, at(1, -1, -1), sum);
        sum = fmaf(c12, at(0, -1, 0), sum);
        sum = fmaf(c22, at(0, 0, 0), sum);
        sum = fmaf(c32, at(0, 1, 0), sum);
        sum = fmaf(c11, at(-1, -1, 1), sum);
        sum = fmaf(c13, at(1, -1, 1), sum);
        sum = fmaf(c21, at(-1, 0, 1), sum);
        sum = fmaf(c23, at(1, 0, 1), sum);
        sum = fmaf(c31, at(-1, 1, 1), sum);
        sum = fmaf(c33, at(1, 1, 1), sum);
        to[i * nk * nj + j * nk + k] = sum;
    }
}
