// Q matrix of MRI reconstruction on non-Cartesian samples (Stone et al., 2008, as in Parboil): every voxel sums the
// cosines and sines of its phase at all samples of k-space. Samples are processed in sets that fit constant
// memory; here they come from a buffer that all threads read in step.
constexpr float TWO_PI = 6.2831853071795864769f;

struct Sample {
    float x, y, z, magnitude;
};

extern "C" __global__ void mriq_magnitude(const float *real, const float *imaginary, float *samples, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        samples[4 * i + 3] = fmaf(real[i], real[i], __fmul_rn(imaginary[i], imaginary[i]));
}

extern "C" __global__ void __launch_bounds__(256)
    mriq_sum(const Sample *samples, const float *x, const float *y, const float *z, float *real, float *imaginary, int first,
             int count)
{
    const int voxel = blockIdx.x * blockDim.x + threadIdx.x;
    const float own_x = x[voxel], own_y = y[voxel], own_z = z[voxel];
    float sum_r = real[voxel], sum_i = imaginary[voxel];
    // Two samples per round, as the original unrolls it; an odd count begins with a single one.
    int k = first;
    const int last = first + count;
    if (count % 2) {
        const Sample s = samples[k++];
        const float angle = TWO_PI * (s.x * own_x + s.y * own_y + s.z * own_z);
        sum_r += s.magnitude * __cosf(angle);
        sum_i += s.magnitude * __sinf(angle);
    }
    for (; k < last; k += 2) {
        const Sample s = samples[k], t = samples[k + 1];
        const float angle = TWO_PI * (s.x * own_x + s.y * own_y + s.z * own_z);
        sum_r += s.magnitude * __cosf(angle);
        sum_i += s.magnitude * __sinf(angle);
        const float second = TWO_PI * (t.x * own_x + t.y * own_y + t.z * own_z);
        sum_r += t.magnitude * __cosf(second);
        sum_i += t.magnitude * __sinf(second);
    }
    real[voxel] = sum_r;
    imaginary[voxel] = sum_i;
}
