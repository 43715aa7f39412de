// Explicit heat diffusion on a chip in tiles that shrink by one ring per time step, in the form of Rodinia's hotspot
// (Huang et al., HotSpot, TVLSI 2006; Che et al., Rodinia, IISWC 2009): temperatures, power and new temperatures in three
// shared tiles, differences in double precision.
#define TILE 16

extern "C" __global__ void calculate_temp(int steps, const float *power, const float *from, float *to, int columns,
                                          int rows, float per_capacity, float per_r_x, float per_r_y, float per_r_z)
{
    __shared__ float temperature[TILE][TILE];
    __shared__ float heat[TILE][TILE];
    __shared__ float next[TILE][TILE];
    const float ambient = 80.0f;

    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int inner = TILE - 2 * steps;
    int first_row = inner * blockIdx.y - steps;
    int first_column = inner * blockIdx.x - steps;
    int row = first_row + ty;
    int column = first_column + tx;
    bool present = row >= 0 && row < rows && column >= 0 && column < columns;
    int cell = columns * row + column;
    if (present) {
        temperature[ty][tx] = from[cell];
        heat[ty][tx] = power[cell];
    }
    __syncthreads();

    // The part of the tile that lies on the chip.
    int top = first_row < 0 ? -first_row : 0;
    int bottom = first_row + TILE > rows ? rows - 1 - first_row : TILE - 1;
    int left = first_column < 0 ? -first_column : 0;
    int right = first_column + TILE > columns ? columns - 1 - first_column : TILE - 1;
    int north = max(ty - 1, top);
    int south = min(ty + 1, bottom);
    int west = max(tx - 1, left);
    int east = min(tx + 1, right);
    bool computed = false;
    for (int step = 0; step < steps; step++) {
        computed = false;
        if (tx >= step + 1 && tx <= TILE - 2 - step && ty >= step + 1 && ty <= TILE - 2 - step && tx >= left &&
            tx <= right && ty >= top && ty <= bottom) {
            computed = true;
            float centre = temperature[ty][tx];
            next[ty][tx] =
                centre + per_capacity * (heat[ty][tx] +
                                         (temperature[south][tx] + temperature[north][tx] - 2.0 * centre) * per_r_y +
                                         (temperature[ty][east] + temperature[ty][west] - 2.0 * centre) * per_r_x +
                                         (ambient - centre) * per_r_z);
        }
        __syncthreads();
        if (step == steps - 1)
            break;
        if (computed)
            temperature[ty][tx] = next[ty][tx];
        __syncthreads();
    }
    if (computed)
        to[cell] = next[ty][tx];
}
