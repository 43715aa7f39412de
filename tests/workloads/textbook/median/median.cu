// Median filter over a 5 x 5 window that is clipped at the rim of the image: the window is sorted by
// insertion in a per-thread array indexed at run time, which the compiler has to keep in local memory.
#define RADIUS 2
#define SIDE (2 * RADIUS + 1)

extern "C" __global__ void median5x5(const unsigned short *in, unsigned short *out, int width, int height)
{
    int px = blockIdx.x * blockDim.x + threadIdx.x;
    int py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= width || py >= height)
        return;

    unsigned short sorted[SIDE * SIDE];
    int count = 0;
    for (int y = max(py - RADIUS, 0); y <= min(py + RADIUS, height - 1); y++) {
        for (int x = max(px - RADIUS, 0); x <= min(px + RADIUS, width - 1); x++) {
            unsigned short value = in[y * width + x];
            int slot = count;
            while (slot > 0 && sorted[slot - 1] > value) {
                sorted[slot] = sorted[slot - 1];
                slot--;
            }
            sorted[slot] = value;
            count++;
        }
    }
    out[py * width + px] = sorted[count / 2];
}
