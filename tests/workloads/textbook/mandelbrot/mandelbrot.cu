// Escape times of the Mandelbrot set: a loop whose trip count differs from thread to thread. The roundings
// are spelt out, because one fused differently would change escape times.
extern "C" __global__ void mandelbrot(unsigned *iterations, int width, int height, float left, float top,
                                      float step, int limit)
{
    int px = blockIdx.x * blockDim.x + threadIdx.x;
    int py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= width || py >= height)
        return;

    float cx = fmaf((float)px, step, left);
    float cy = fmaf(-(float)py, step, top);
    float x = 0.0f;
    float y = 0.0f;
    float xx = 0.0f;
    float yy = 0.0f;
    int count = 0;
    while (count < limit && xx + yy <= 4.0f) {
        y = fmaf(2.0f * x, y, cy);
        x = xx - yy + cx;
        xx = __fmul_rn(x, x);
        yy = __fmul_rn(y, y);
        count++;
    }
    iterations[py * width + px] = (unsigned)count;
}
