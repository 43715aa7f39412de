// Speckle-reducing anisotropic diffusion (Yu and Acton, 2002), Rodinia's second version: two kernels per iteration on
// tiles of 16 x 16 pixels, which are staged with their four neighbouring rows and columns in shared memory.
constexpr int TILE = 16;

extern "C" __global__ void srad2_coefficients(const float *image, float *east_c, float *west_c, float *north_c,
                                              float *south_c, float *coefficients, int side, float speckle)
{
    __shared__ float tile[TILE][TILE], north[TILE], south[TILE], east[TILE], west[TILE];

    const int tx = threadIdx.x, ty = threadIdx.y;
    const int left = blockIdx.x * TILE, top = blockIdx.y * TILE;
    const int at = (top + ty) * side + left + tx;
    tile[ty][tx] = image[at];
    if (ty == 0)
        north[tx] = image[max(top - 1, 0) * side + left + tx];
    if (ty == TILE - 1)
        south[tx] = image[min(top + TILE, side - 1) * side + left + tx];
    if (tx == 0)
        west[ty] = image[(top + ty) * side + max(left - 1, 0)];
    if (tx == TILE - 1)
        east[ty] = image[(top + ty) * side + min(left + TILE, side - 1)];
    __syncthreads();

    const float centre = tile[ty][tx];
    // The nine cases of the original: corners, edges and inside of the tile.
    float n, s, w, e;
    if (ty == 0) {
        n = north[tx] - centre;
        s = tile[ty + 1][tx] - centre;
    } else if (ty == TILE - 1) {
        n = tile[ty - 1][tx] - centre;
        s = south[tx] - centre;
    } else {
        n = tile[ty - 1][tx] - centre;
        s = tile[ty + 1][tx] - centre;
    }
    if (tx == 0) {
        w = west[ty] - centre;
        e = tile[ty][tx + 1] - centre;
    } else if (tx == TILE - 1) {
        w = tile[ty][tx - 1] - centre;
        e = east[ty] - centre;
    } else {
        w = tile[ty][tx - 1] - centre;
        e = tile[ty][tx + 1] - centre;
    }
    const float gradient = fmaf(n, n, fmaf(s, s, fmaf(w, w, __fmul_rn(e, e)))) / (centre * centre);
    const float laplacian = (n + s + w + e) / centre;
    const float numerator = fmaf(0.5f, gradient, -__fmul_rn(0.0625f, __fmul_rn(laplacian, laplacian)));
    const float denominator = fmaf(0.25f, laplacian, 1.0f);
    const float q = numerator / (denominator * denominator);
    const float ratio = (q - speckle) / (speckle * (1.0f + speckle));
    const float c = 1.0f / (1.0f + ratio);
    coefficients[at] = c < 0.0f ? 0.0f : c > 1.0f ? 1.0f : c;
    east_c[at] = e;
    west_c[at] = w;
    north_c[at] = n;
    south_c[at] = s;
}

extern "C" __global__ void srad2_update(const float *east_c, const float *west_c, const float *north_c,
                                        const float *south_c, const float *coefficients, float *image, int side,
                                        float lambda)
{
    __shared__ float tile[TILE][TILE], south[TILE], east[TILE];

    const int tx = threadIdx.x, ty = threadIdx.y;
    const int left = blockIdx.x * TILE, top = blockIdx.y * TILE;
    const int at = (top + ty) * side + left + tx;
    tile[ty][tx] = coefficients[at];
    if (ty == TILE - 1)
        south[tx] = coefficients[min(top + TILE, side - 1) * side + left + tx];
    if (tx == TILE - 1)
        east[ty] = coefficients[(top + ty) * side + min(left + TILE, side - 1)];
    __syncthreads();

    const float here = tile[ty][tx];
    const float below = ty == TILE - 1 ? south[tx] : tile[ty + 1][tx];
    const float right = tx == TILE - 1 ? east[ty] : tile[ty][tx + 1];
    const float flow = fmaf(here, north_c[at], fmaf(below, south_c[at], fmaf(here, west_c[at], __fmul_rn(right, east_c[at]))));
    image[at] = fmaf(0.25f * lambda, flow, image[at]);
}
