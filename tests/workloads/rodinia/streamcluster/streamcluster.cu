// The gain of opening a centre in streaming clustering (after Rodinia's streamcluster): every thread compares one point's
// distance to the candidate, which is staged in shared memory, with the cost of its present centre. Points that
// would switch are marked and their gain kept; the others add to what closing their centre would save. Coordinates
// are stored dimension by dimension.
constexpr int THREADS = 512;

extern "C" __global__ void __launch_bounds__(THREADS)
    streamcluster_gain(const float *coordinates, const float *weights, const float *costs, const int *assigned,
                       const int *centre_of, float *work, unsigned char *switches, int points, int dimensions, int candidate,
                       int stride)
{
    extern __shared__ float centre[];
    const int point = blockIdx.x * THREADS + threadIdx.x;
    for (int d = threadIdx.x; d < dimensions; d += THREADS)
        centre[d] = coordinates[d * points + candidate];
    __syncthreads();
    if (point >= points)
        return;
    float distance = 0.0f;
    for (int d = 0; d < dimensions; d++) {
        const float difference = coordinates[d * points + point] - centre[d];
        distance = fmaf(difference, difference, distance);
    }
    const float cost = __fmul_rn(distance, weights[point]);
    const float present = costs[point];
    // A row of `work` per point: what its centre would save, and in the last place what the switch gains.
    float *row = work + point * stride;
    if (cost < present) {
        switches[point] = 1;
        row[stride - 1] += cost - present;
    } else {
        row[centre_of[assigned[point]]] += present - cost;
    }
}
