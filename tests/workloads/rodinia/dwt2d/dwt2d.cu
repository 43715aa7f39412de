// Discrete wavelet transform of images with the reversible 5/3 filters of JPEG 2000 (Le Gall and Tabatabai, 1988, by
// the lifting of Sweldens), and of the components of a picture. A block stages a tile with its halo in shared
// memory, lifts its columns and then its rows, and stores the four bands apart.
constexpr int TILE_X = 64, TILE_Y = 16, HALO = 4;
constexpr int WIDTH = TILE_X + 2 * HALO, HEIGHT = TILE_Y + 2 * HALO;

// Three bytes of a pixel to three components around zero, through shared memory so that loads are coalesced.
extern "C" __global__ void __launch_bounds__(256)
    dwt_components(const unsigned char *pixels, int *red, int *green, int *blue, int count)
{
    __shared__ unsigned char staged[3 * 256];
    const int base = blockIdx.x * 256;
#pragma unroll
    for (int i = 0; i < 3; i++) {
        const int at = i * 256 + threadIdx.x;
        if (3 * base + at < 3 * count)
            staged[at] = pixels[3 * base + at];
    }
    __syncthreads();
    const int at = base + threadIdx.x;
    if (at < count) {
        red[at] = int(staged[3 * threadIdx.x]) - 128;
        green[at] = int(staged[3 * threadIdx.x + 1]) - 128;
        blue[at] = int(staged[3 * threadIdx.x + 2]) - 128;
    }
}

// Mirrors an index at both ends.
__device__ int mirrored(int i, int n)
{
    if (i < 0)
        i = -i;
    if (i >= n)
        i = 2 * (n - 1) - i;
    return max(0, min(i, n - 1));
}

// One lifting step: values of one parity, `step` apart, move by a share of their two neighbours.
__device__ void predict(int *value, int step)
{
    *value -= (value[-step] + value[step]) >> 1;
}

__device__ void update(int *value, int step)
{
    *value += (value[-step] + value[step] + 2) >> 2;
}

// The image's sides are even. Bands: low-low in the upper left quarter of the result, and so on.
extern "C" __global__ void __launch_bounds__(256) dwt_forward53(const int *image, int *bands, int width, int height)
{
    __shared__ int tile[HEIGHT][WIDTH];
    const int thread = threadIdx.y * TILE_X + threadIdx.x;
    const int left = blockIdx.x * TILE_X - HALO, top = blockIdx.y * TILE_Y - HALO;
    for (int at = thread; at < WIDTH * HEIGHT; at += 256) {
        const int row = mirrored(top + at / WIDTH, height), column = mirrored(left + at % WIDTH, width);
        tile[at / WIDTH][at % WIDTH] = image[row * width + column];
    }
    __syncthreads();
    // Columns: odd rows predict, even rows update; those in the halo as far as the tile needs them.
    for (int at = thread; at < WIDTH * (TILE_Y / 2 + 2); at += 256)
        predict(&tile[HALO - 1 + 2 * (at / WIDTH)][at % WIDTH], WIDTH);
    __syncthreads();
    for (int at = thread; at < WIDTH * (TILE_Y / 2); at += 256)
        update(&tile[HALO + 2 * (at / WIDTH)][at % WIDTH], WIDTH);
    __syncthreads();
    // Rows likewise.
    for (int at = thread; at < TILE_Y * (TILE_X / 2 + 2); at += 256)
        predict(&tile[HALO + at / (TILE_X / 2 + 2)][HALO - 1 + 2 * (at % (TILE_X / 2 + 2))], 1);
    __syncthreads();
    for (int at = thread; at < TILE_Y * TILE_X / 2; at += 256)
        update(&tile[HALO + at / (TILE_X / 2)][HALO + 2 * (at % (TILE_X / 2))], 1);
    __syncthreads();
    for (int at = thread; at < TILE_X * TILE_Y; at += 256) {
        const int y = at / TILE_X, x = at % TILE_X;
        const int row = top + HALO + y, column = left + HALO + x;
        if (row < height && column < width) {
            const int to_row = row / 2 + (row % 2 ? height / 2 : 0), to_column = column / 2 + (column % 2 ? width / 2 : 0);
            bands[to_row * width + to_column] = tile[HALO + y][HALO + x];
        }
    }
}
