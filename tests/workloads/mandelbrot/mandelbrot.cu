// Escape times of the Mandelbrot set: a loop whose trip count differs from thread to thread.
extern "C" __global__ void mandelbrot(unsigned *iterations, int width, int height, float left, float top, float step,
                                      int limit)
{
    int px = blockIdx.x * blockDim.x + threadIdx.x;
    int py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= width || py >= height)
        return;

    float cx = left + (float)px * step;
    float cy = top - (float)py * step;
    float x = 0.0f;
    float y = 0.0f;
    float xx = 0.0f;
    float yy = 0.0f;
    int count = 0;
    while (count < limit && xx + yy <= 4.0f) {
        y = 2.0f * x * y + cy;
        x = xx - yy + cx;
        xx = x * x;
        yy = y * y;
        count++;
    }
    iterations[py * width + px] = (unsigned)count;
}
