// Heat in a chip of several layers (after Rodinia's hotspot3D): a thread owns a column of cells and walks down the
// layers with the cells above, here and below in registers; the four neighbours of a layer come from memory.
extern "C" __global__ void hotspot3d(const float *power, const float *from, float *to, int nx, int ny, int nz,
                                     float step_per_capacity, float along_x, float along_y, float along_z, float ambient)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= nx || j >= ny)
        return;
    const float centre = 1.0f - (2.0f * along_x + 2.0f * along_y + 3.0f * along_z);
    const int plane = nx * ny;
    int at = j * nx + i;
    const int west = i == 0 ? 0 : -1, east = i == nx - 1 ? 0 : 1;
    const int north = j == 0 ? 0 : -nx, south = j == ny - 1 ? 0 : nx;

    float above = from[at], here = above, below = from[at + plane];
    for (int k = 0; k < nz; k++) {
        float value = fmaf(centre, here, __fmul_rn(along_x, from[at + west]));
        value = fmaf(along_x, from[at + east], value);
        value = fmaf(along_y, from[at + south], value);
        value = fmaf(along_y, from[at + north], value);
        value = fmaf(along_z, below, value);
        value = fmaf(along_z, above, value);
        value = fmaf(step_per_capacity, power[at], value);
        to[at] = fmaf(along_z, ambient, value);
        above = here;
        here = below;
        at += plane;
        below = k + 2 < nz ? from[at + plane] : here;
    }
}
