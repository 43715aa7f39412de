// Points and normals of Bezier surfaces. `bezier_bernstein` evaluates one surface of any degree by its Bernstein
// polynomials: a thread per point of the result, the control net staged in shared memory, powers and binomials
// computed in loops. `bezier_casteljau` evaluates bicubic patches by de Casteljau's repeated interpolation, one
// patch per layer of the grid, in registers, and gives the normal as well.

// Binomial coefficient of the Bernstein polynomial times its powers of u and 1 - u.
__device__ float blend(int k, int degree, float u)
{
    float value = 1.0f;
    int top = degree, low = k, high = degree - k;
    while (top >= 1) {
        value *= float(top);
        top--;
        if (low > 1) {
            value = value / float(low);
            low--;
        }
        if (high > 1) {
            value = value / float(high);
            high--;
        }
    }
    for (int i = 0; i < k; i++)
        value *= u;
    for (int i = 0; i < degree - k; i++)
        value *= 1.0f - u;
    return value;
}

extern "C" __global__ void bezier_bernstein(const float *net, float *points, int degree_u, int degree_v, int columns,
                                            int rows)
{
    extern __shared__ float staged[];
    const int thread = threadIdx.y * blockDim.x + threadIdx.x;
    const int values = 3 * (degree_u + 1) * (degree_v + 1);
    for (int i = thread; i < values; i += blockDim.x * blockDim.y)
        staged[i] = net[i];
    __syncthreads();

    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= columns || row >= rows)
        return;
    const float u = float(column) / float(columns - 1);
    const float v = float(row) / float(rows - 1);
    float x = 0.0f, y = 0.0f, z = 0.0f;
    for (int i = 0; i <= degree_u; i++) {
        const float along_u = blend(i, degree_u, u);
        for (int j = 0; j <= degree_v; j++) {
            const float weight = along_u * blend(j, degree_v, v);
            const float *control = staged + 3 * (i * (degree_v + 1) + j);
            x = fmaf(control[0], weight, x);
            y = fmaf(control[1], weight, y);
            z = fmaf(control[2], weight, z);
        }
    }
    float *point = points + 3 * (row * columns + column);
    point[0] = x;
    point[1] = y;
    point[2] = z;
}

struct Vector {
    float x, y, z;
};

__device__ Vector between(Vector a, Vector b, float t)
{
    return {fmaf(t, b.x - a.x, a.x), fmaf(t, b.y - a.y, a.y), fmaf(t, b.z - a.z, a.z)};
}

// The point of a cubic curve at t; its direction goes to `tangent`.
__device__ Vector cubic(const Vector *control, float t, Vector &tangent)
{
    const Vector ab = between(control[0], control[1], t);
    const Vector bc = between(control[1], control[2], t);
    const Vector cd = between(control[2], control[3], t);
    const Vector abc = between(ab, bc, t);
    const Vector bcd = between(bc, cd, t);
    tangent = {bcd.x - abc.x, bcd.y - abc.y, bcd.z - abc.z};
    return between(abc, bcd, t);
}

extern "C" __global__ void bezier_casteljau(const float *patches, float *points, float *normals, int steps)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int patch = blockIdx.z;
    if (column >= steps || row >= steps)
        return;
    const float u = float(column) / float(steps - 1);
    const float v = float(row) / float(steps - 1);

    // Four curves along u give the control points of the curve along v through the point, and of its derivative.
    Vector across[4], slopes[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        Vector control[4];
#pragma unroll
        for (int j = 0; j < 4; j++) {
            const float *from = patches + 3 * (16 * patch + 4 * i + j);
            control[j] = {from[0], from[1], from[2]};
        }
        across[i] = cubic(control, u, slopes[i]);
    }
    Vector along_v, unused;
    const Vector point = cubic(across, v, along_v);
    const Vector along_u = cubic(slopes, v, unused);
    const float nx = fmaf(along_u.y, along_v.z, -__fmul_rn(along_u.z, along_v.y));
    const float ny = fmaf(along_u.z, along_v.x, -__fmul_rn(along_u.x, along_v.z));
    const float nz = fmaf(along_u.x, along_v.y, -__fmul_rn(along_u.y, along_v.x));
    const float length = sqrtf(fmaf(nx, nx, fmaf(ny, ny, __fmul_rn(nz, nz))));
    const float scale = length > 0.0f ? 1.0f / length : 0.0f;
    const int at = 3 * ((patch * steps + row) * steps + column);
    points[at] = point.x;
    points[at + 1] = point.y;
    points[at + 2] = point.z;
    normals[at] = nx * scale;
    normals[at + 1] = ny * scale;
    normals[at + 2] = nz * scale;
}
