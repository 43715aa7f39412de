// Jacobi iteration for an anisotropic Poisson equation on a grid with fixed rim, in double precision, with
// a true division per point. The largest change of a sweep is kept through an atomic maximum over bit
// patterns, which order like the non-negative numbers that they encode.
extern "C" __global__ void jacobi(const double *in, const double *source, double *out,
                                  unsigned long long *largest_change, int rows, int cols, double across,
                                  double down)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= rows || col >= cols)
        return;

    int at = row * cols + col;
    double old = in[at];
    if (row == 0 || row == rows - 1 || col == 0 || col == cols - 1) {
        out[at] = old;
        return;
    }
    double sum = fma(in[at - 1] + in[at + 1], across, (in[at - cols] + in[at + cols]) * down) - source[at];
    double value = sum / (2.0 * (across + down));
    out[at] = value;
    atomicMax(largest_change, (unsigned long long)__double_as_longlong(fabs(value - old)));
}
