// Gravity of n bodies on each other, all pairs: bodies are float4 (position, mass), staged through shared
// memory one tile at a time. Accelerations are softened, so a body's pull on itself is zero.
#define TILE 128

extern "C" __global__ void nbody_accelerations(const float4 *bodies, float4 *accelerations, int n,
                                               float softening)
{
    __shared__ float4 tile[TILE];

    int i = blockIdx.x * TILE + threadIdx.x;
    float4 self = i < n ? bodies[i] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    float ax = 0.0f;
    float ay = 0.0f;
    float az = 0.0f;

    for (int base = 0; base < n; base += TILE) {
        int j = base + threadIdx.x;
        tile[threadIdx.x] = j < n ? bodies[j] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        __syncthreads();
#pragma unroll 4
        for (int k = 0; k < TILE; k++) {
            float4 other = tile[k];
            float dx = other.x - self.x;
            float dy = other.y - self.y;
            float dz = other.z - self.z;
            float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + softening);
            float pull = other.w * inverse * inverse * inverse;
            ax += dx * pull;
            ay += dy * pull;
            az += dz * pull;
        }
        __syncthreads();
    }
    if (i < n)
        accelerations[i] = make_float4(ax, ay, az, 0.0f);
}
