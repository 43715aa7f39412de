// Potential and forces between particles of neighbouring boxes (after Rodinia's lavaMD): a block owns a box, stages its
// own particles and then those of each of up to 27 boxes in shared memory; a thread sums over all staged ones for
// each of its own. Potentials fall exponentially with the squared distance.
constexpr int PER_BOX = 100;
constexpr int THREADS = 128;

struct Box {
    int count;
    int number[27];
};

// Lists of the boxes around each box of a cube.
extern "C" __global__ void lavamd_boxes(Box *boxes, int side)
{
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= side * side * side)
        return;
    const int x = at % side, y = at / side % side, z = at / (side * side);
    Box *box = boxes + at;
    int count = 0;
    for (int k = max(z - 1, 0); k <= min(z + 1, side - 1); k++)
        for (int j = max(y - 1, 0); j <= min(y + 1, side - 1); j++)
            for (int i = max(x - 1, 0); i <= min(x + 1, side - 1); i++)
                box->number[count++] = (k * side + j) * side + i;
    box->count = count;
}

// A particle is a place and, as its first component, the square of its length, so that distances are products.
extern "C" __global__ void __launch_bounds__(THREADS)
    lavamd_forces(const Box *boxes, const float4 *places, const float *charges, float4 *forces, float alpha)
{
    __shared__ float4 own[PER_BOX], others[PER_BOX];
    __shared__ float charge[PER_BOX];

    const float twice = 2.0f * alpha * alpha;
    const int first = blockIdx.x * PER_BOX;
    for (int i = threadIdx.x; i < PER_BOX; i += THREADS)
        own[i] = places[first + i];
    const Box &box = boxes[blockIdx.x];
    const int count = box.count;
    for (int n = 0; n < count; n++) {
        const int other = box.number[n] * PER_BOX;
        __syncthreads();
        for (int i = threadIdx.x; i < PER_BOX; i += THREADS) {
            others[i] = places[other + i];
            charge[i] = charges[other + i];
        }
        __syncthreads();
        for (int i = threadIdx.x; i < PER_BOX; i += THREADS) {
            const float4 a = own[i];
            float4 sum = forces[first + i];
            for (int j = 0; j < PER_BOX; j++) {
                const float4 b = others[j];
                const float square = a.x + b.x - (a.y * b.y + a.z * b.z + a.w * b.w);
                const float potential = expf(-twice * square);
                const float push = 2.0f * potential;
                sum.x += charge[j] * potential;
                sum.y += charge[j] * (push * (a.y - b.y));
                sum.z += charge[j] * (push * (a.z - b.z));
                sum.w += charge[j] * (push * (a.w - b.w));
            }
            forces[first + i] = sum;
        }
    }
}
