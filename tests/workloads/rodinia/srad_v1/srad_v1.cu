// Speckle-reducing anisotropic diffusion (Yu and Acton, 2002), Rodinia's first version: an image is a
// one-dimensional list of pixels, column after column, whose neighbours are found through index lists; each
// iteration sums the image in a tree, computes coefficients of diffusion, and updates.
constexpr int THREADS = 512;

// The logarithmic compression of the input is undone by an exponential elsewhere; here images are given.
extern "C" __global__ void srad1_prepare(const float *image, float *sums, float *squares, int pixels)
{
    const int at = blockIdx.x * THREADS + threadIdx.x;
    if (at < pixels) {
        const float value = image[at];
        sums[at] = value;
        squares[at] = value * value;
    }
}

// Sums spans of 512 values into the first place of each span; `step` is the distance of the values.
extern "C" __global__ void __launch_bounds__(THREADS) srad1_reduce(float *sums, float *squares, int count, int step)
{
    __shared__ float s[THREADS], q[THREADS];
    const int i = blockIdx.x * THREADS + threadIdx.x;
    const bool inside = i < count;
    s[threadIdx.x] = inside ? sums[i * step] : 0.0f;
    q[threadIdx.x] = inside ? squares[i * step] : 0.0f;
    for (int width = 2; width <= THREADS; width *= 2) {
        __syncthreads();
        // Threads at multiples of a growing width work: warps diverge as in the original.
        if ((threadIdx.x + 1) % width == 0) {
            s[threadIdx.x] += s[threadIdx.x - width / 2];
            q[threadIdx.x] += q[threadIdx.x - width / 2];
        }
    }
    if (threadIdx.x == THREADS - 1) {
        sums[blockIdx.x * THREADS * step] = s[THREADS - 1];
        squares[blockIdx.x * THREADS * step] = q[THREADS - 1];
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    srad1_coefficients(const float *image, const float *sums, const float *squares, const int *north, const int *south,
                       const int *west, const int *east, float *dn, float *ds, float *dw, float *de, float *coefficients,
                       int rows, int columns)
{
    const int at = blockIdx.x * THREADS + threadIdx.x;
    if (at >= rows * columns)
        return;
    const float pixels = float(rows * columns);
    const float mean = sums[0] / pixels;
    const float variance = squares[0] / pixels - __fmul_rn(mean, mean);
    const float speckle = variance / (mean * mean);

    const int row = at % rows, column = at / rows;
    const float centre = image[at];
    const float n = image[north[row] + rows * column] - centre, s = image[south[row] + rows * column] - centre;
    const float w = image[row + rows * west[column]] - centre, e = image[row + rows * east[column]] - centre;
    const float gradient = fmaf(n, n, fmaf(s, s, fmaf(w, w, __fmul_rn(e, e)))) / (centre * centre);
    const float laplacian = (n + s + w + e) / centre;
    const float numerator = fmaf(0.5f, gradient, -__fmul_rn(0.0625f, __fmul_rn(laplacian, laplacian)));
    float denominator = fmaf(0.25f, laplacian, 1.0f);
    const float q = numerator / (denominator * denominator);
    denominator = (q - speckle) / (speckle * (1.0f + speckle));
    float c = 1.0f / (1.0f + denominator);
    if (c < 0.0f)
        c = 0.0f;
    else if (c > 1.0f)
        c = 1.0f;
    dn[at] = n;
    ds[at] = s;
    dw[at] = w;
    de[at] = e;
    coefficients[at] = c;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    srad1_update(float *image, const int *south, const int *east, const float *dn, const float *ds, const float *dw,
                 const float *de, const float *coefficients, int rows, int columns, float lambda)
{
    const int at = blockIdx.x * THREADS + threadIdx.x;
    if (at >= rows * columns)
        return;
    const int row = at % rows, column = at / rows;
    const float here = coefficients[at];
    const float below = coefficients[south[row] + rows * column], right = coefficients[row + rows * east[column]];
    const float divergence = fmaf(here, dn[at], fmaf(below, ds[at], fmaf(here, dw[at], __fmul_rn(right, de[at]))));
    image[at] = fmaf(0.25f * lambda, divergence, image[at]);
}

// Index lists of neighbours; at the borders a pixel is its own neighbour.
extern "C" __global__ void srad1_neighbours(int *north, int *south, int *west, int *east, int rows, int columns)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows) {
        north[i] = max(i - 1, 0);
        south[i] = min(i + 1, rows - 1);
    }
    if (i < columns) {
        west[i] = max(i - 1, 0);
        east[i] = min(i + 1, columns - 1);
    }
}
