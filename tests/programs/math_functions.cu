// The functions of CUDA's mathematical library over many arguments, within the bounds that the CUDA C++ Programming
// Guide states, in units in the last place; the reference is the host's library in the next wider type.
#include "check.h"
#include <cfloat>
#include <cmath>

// Name, bound in single precision, bound in double precision, least and greatest argument.
#define FUNCTIONS(X)                                                                                       \
    X(sin, 2, 2, -30, 30) X(cos, 2, 2, -30, 30) X(tan, 4, 2, -30, 30) X(asin, 2, 2, -1, 1) X(acos, 2, 2, -1, 1) \
    X(atan, 2, 2, -40, 40) X(sinh, 3, 2, -20, 20) X(cosh, 2, 1, -20, 20) X(tanh, 2, 1, -10, 10)            \
    X(exp, 2, 1, -80, 80) X(exp2, 2, 1, -120, 120) X(expm1, 1, 1, -20, 20) X(log, 1, 1, 1e-6, 1e6)         \
    X(log2, 1, 1, 1e-6, 1e6) X(log10, 2, 1, 1e-6, 1e6) X(log1p, 1, 1, -0.99, 100) X(sqrt, 0, 0, 0, 1e6)    \
    X(cbrt, 1, 1, -1e6, 1e6) X(erf, 2, 2, -4, 4) X(erfc, 4, 5, -4, 9) X(tgamma, 5, 10, 0.1, 30)            \
    X(lgamma, 6, 4, 3, 100) X(rint, 0, 0, -100, 100) X(floor, 0, 0, -100, 100) X(trunc, 0, 0, -100, 100)

// Of two arguments: the second runs through the same range the other way.
#define FUNCTIONS_OF_TWO(X)                                                                                \
    X(pow, 4, 2, 0.01, 20) X(atan2, 3, 2, -20, 20) X(fmod, 0, 0, 0.5, 300) X(remainder, 0, 0, 0.5, 300)    \
    X(hypot, 3, 2, -1e3, 1e3) X(fdim, 1, 0, -10, 10) X(fmin, 0, 0, -10, 10) X(copysign, 0, 0, -10, 10)

const int COUNT = 512;

#define KERNEL(name, single, twice, least, greatest)                                                       \
    template <class T> __global__ void k_##name(const T *x, const T *, T *y) {                             \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                                     \
        y[i] = ::name(x[i]);                                                                               \
    }
#define KERNEL_OF_TWO(name, single, twice, least, greatest)                                                \
    template <class T> __global__ void k_##name(const T *x, const T *z, T *y) {                            \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                                     \
        y[i] = ::name(x[i], z[i]);                                                                         \
    }
FUNCTIONS(KERNEL)
FUNCTIONS_OF_TWO(KERNEL_OF_TWO)

// Distance in units in the last place of T at the reference.
template <class T, class Wide> static double distance(T got, Wide want) {
    if (std::isnan(got) || std::isnan(want)) return std::isnan(got) == std::isnan(want) ? 0 : 1e30;
    if ((T)want == got) return 0;
    if (std::isinf(got)) return 1e30;
    T size = std::fabs((T)want);
    Wide unit = size < (sizeof(T) == 4 ? (T)FLT_MIN : (T)DBL_MIN)
                    ? (Wide)std::nextafter((T)0, (T)1)
                    : (Wide)std::nextafter(size, (T)INFINITY) - (Wide)size;
    return (double)(std::fabs((Wide)got - want) / unit);
}

template <class T, class Wide, class Kernel, class Reference>
static void sweep(const char *name, Kernel kernel, Reference reference, double bound, double least, double greatest) {
    T *x, *z, *y;
    OK(cudaMallocManaged(&x, 3 * COUNT * sizeof(T)));
    z = x + COUNT, y = z + COUNT;
    for (int i = 0; i < COUNT; i++) {
        x[i] = (T)(least + (greatest - least) * i / (COUNT - 1));
        z[i] = (T)(greatest - (greatest - least) * i / (COUNT - 1) * 0.97);
    }
    kernel<<<COUNT / 128, 128>>>(x, z, y);
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < COUNT; i++) {
        double off = distance<T, Wide>(y[i], reference((Wide)x[i], (Wide)z[i]));
        if (off > bound + 0.5) {
            printf("%s<%s>(%.17g, %.17g) = %.17g is %g units off, %g are allowed\n", name, sizeof(T) == 4 ? "float" : "double",
                   (double)x[i], (double)z[i], (double)y[i], off, bound);
            exit(1);
        }
    }
    OK(cudaFree(x));
}

#define SWEEP(name, single, twice, least, greatest)                                                        \
    sweep<float, double>(#name, k_##name<float>, [](double x, double) { return std::name(x); }, single, least, greatest); \
    sweep<double, long double>(#name, k_##name<double>, [](long double x, long double) { return std::name(x); }, twice, least, greatest);
#define SWEEP_OF_TWO(name, single, twice, least, greatest)                                                 \
    sweep<float, double>(#name, k_##name<float>, [](double x, double z) { return std::name(x, z); }, single, least, greatest); \
    sweep<double, long double>(#name, k_##name<double>, [](long double x, long double z) { return std::name(x, z); }, twice, least, greatest);

int main() {
    FUNCTIONS(SWEEP)
    FUNCTIONS_OF_TWO(SWEEP_OF_TWO)
    return passed();
}
