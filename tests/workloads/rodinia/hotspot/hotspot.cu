// Explicit heat diffusion on a chip: every cell exchanges heat with its four neighbours and with the
// ambient air and gains what its circuits dissipate. A 16 x 16 block advances its tile by several time
// steps in shared memory; the part of the tile that is still right shrinks by one ring per step, so
// blocks overlap by 2 * steps cells. Beyond the rim of the chip a cell sees itself (no flux).
#define TILE 16

extern "C" __global__ void hotspot(const float *power, const float *temp_in, float *temp_out, int rows,
                                   int cols, int steps, float per_capacity, float per_r_vertical,
                                   float per_r_horizontal, float per_r_ambient, float ambient)
{
    __shared__ float temp[TILE][TILE];

    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int inner = TILE - 2 * steps;
    int row = (int)blockIdx.y * inner + ty - steps;
    int col = (int)blockIdx.x * inner + tx - steps;
    bool on_chip = row >= 0 && row < rows && col >= 0 && col < cols;

    float heat = 0.0f;
    float centre = 0.0f;
    if (on_chip) {
        centre = temp_in[row * cols + col];
        heat = power[row * cols + col];
    }
    temp[ty][tx] = centre;
    __syncthreads();

    int north = row > 0 ? ty - 1 : ty;
    int south = row < rows - 1 ? ty + 1 : ty;
    int west = col > 0 ? tx - 1 : tx;
    int east = col < cols - 1 ? tx + 1 : tx;

    bool valid = false;
    for (int step = 1; step <= steps; step++) {
        valid = on_chip && tx >= step && tx < TILE - step && ty >= step && ty < TILE - step;
        if (valid) {
            float vertical = temp[north][tx] + temp[south][tx] - 2.0f * centre;
            float horizontal = temp[ty][west] + temp[ty][east] - 2.0f * centre;
            float flow = heat + vertical * per_r_vertical + horizontal * per_r_horizontal +
                         (ambient - centre) * per_r_ambient;
            centre = centre + per_capacity * flow;
        }
        __syncthreads();
        if (valid)
            temp[ty][tx] = centre;
        __syncthreads();
    }

    if (valid)
        temp_out[row * cols + col] = centre;
}
