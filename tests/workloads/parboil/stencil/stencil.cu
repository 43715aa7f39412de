// Seven-point stencil on a grid of three dimensions (as in Parboil): a thread owns two columns of cells, 32 apart, and
// walks them along z with planes in registers; the middle plane is shared through shared memory.
constexpr int X = 32, Y = 4;

extern "C" __global__ void __launch_bounds__(X * Y)
    stencil_block2d(const float *from, float *to, float centre_share, float side_share, int nx, int ny, int nz)
{
    __shared__ float plane[Y][2 * X];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int i = blockIdx.x * 2 * X + tx, i2 = i + X, j = blockIdx.y * Y + ty;
    auto at = [nx, ny](int x, int y, int z) { return x + nx * (y + ny * z); };
    const bool w = i > 0 && i < nx - 1 && j > 0 && j < ny - 1, w2 = i2 < nx - 1 && j > 0 && j < ny - 1;
    const bool in = i < nx && j < ny, in2 = i2 < nx && j < ny;

    float bottom = in ? from[at(i, j, 0)] : 0.0f, bottom2 = in2 ? from[at(i2, j, 0)] : 0.0f;
    float current = in ? from[at(i, j, 1)] : 0.0f, current2 = in2 ? from[at(i2, j, 1)] : 0.0f;
    for (int k = 1; k < nz - 1; k++) {
        plane[ty][tx] = current;
        plane[ty][tx + X] = current2;
        __syncthreads();
        const float top = in ? from[at(i, j, k + 1)] : 0.0f, top2 = in2 ? from[at(i2, j, k + 1)] : 0.0f;
        if (w) {
            const float left = tx == 0 ? from[at(i - 1, j, k)] : plane[ty][tx - 1];
            const float right = plane[ty][tx + 1];
            const float up = ty == Y - 1 ? from[at(i, j + 1, k)] : plane[ty + 1][tx];
            const float down = ty == 0 ? from[at(i, j - 1, k)] : plane[ty - 1][tx];
            to[at(i, j, k)] = fmaf(top + bottom + up + down + left + right, side_share, -__fmul_rn(current, centre_share));
        }
        if (w2) {
            const float left = plane[ty][tx + X - 1];
            const float right = tx == X - 1 ? from[at(i2 + 1, j, k)] : plane[ty][tx + X + 1];
            const float up = ty == Y - 1 ? from[at(i2, j + 1, k)] : plane[ty + 1][tx + X];
            const float down = ty == 0 ? from[at(i2, j - 1, k)] : plane[ty - 1][tx + X];
            to[at(i2, j, k)] = fmaf(top2 + bottom2 + up + down + left + right, side_share, -__fmul_rn(current2, centre_share));
        }
        __syncthreads();
        bottom = current;
        bottom2 = current2;
        current = top;
        current2 = top2;
    }
}
