// Monte Carlo simulation of the LIBOR market model: forward rates evolve in log-normal steps, and a portfolio of
// swaptions is priced at the end of each path (M. Giles, Monte Carlo evaluation of sensitivities in computational
// finance, 2007). The second kernel also gives the derivative of the value with respect to every initial rate, by
// the adjoint of the same steps in reverse. A thread simulates one path; its rates are arrays in local memory,
// the model's parameters are constants. As in the published benchmark all paths take the same shock, so
// that threads compute the same values.
//
// The published benchmark moves 80 rates by 40 steps; `steps` may be fewer, with as many rates less.
constexpr int STEPS = 40;   // at most
constexpr int TERMS = 40;   // rates that are left at the end
constexpr int RATES = STEPS + TERMS;
constexpr int SWAPTIONS = 15;
constexpr float DELTA = 0.25f;
constexpr float SHOCK = 0.3f;

__constant__ int maturities[SWAPTIONS] = {4, 4, 4, 8, 8, 8, 20, 20, 20, 28, 28, 28, 40, 40, 40};
__constant__ float swaprates[SWAPTIONS] = {0.045f, 0.05f, 0.055f, 0.045f, 0.05f, 0.055f, 0.045f, 0.05f,
                                           0.055f, 0.045f, 0.05f, 0.055f, 0.045f, 0.05f, 0.055f};

// Moves the rates by `steps` steps; with `history` the rates before each step are kept in it.
__device__ void simulate(float *rates, const float *lambda, float *history, int steps)
{
    const int count = steps + TERMS;
    const float root = 0.5f * SHOCK;  // sqrt(DELTA) * SHOCK
    if (history)
        for (int i = 0; i < count; i++)
            history[i] = rates[i];
    for (int n = 0; n < steps; n++) {
        float drift = 0.0f;
        for (int i = n + 1; i < count; i++) {
            const float volatility = lambda[i - n - 1];
            const float scaled = DELTA * volatility;
            drift += scaled * rates[i] / fmaf(DELTA, rates[i], 1.0f);
            const float step = fmaf(scaled, drift, volatility * fmaf(-0.5f, scaled, root));
            rates[i] *= expf(step);
            if (history)
                history[(n + 1) * RATES + i] = rates[i];
        }
    }
}

// Value of the swaptions for the rates after the steps.
__device__ float portfolio(const float *rates, int steps)
{
    float bonds[TERMS], sums[TERMS];
    float bond = 1.0f, sum = 0.0f;
    for (int n = 0; n < TERMS; n++) {
        bond = bond / fmaf(DELTA, rates[n + steps], 1.0f);
        sum = fmaf(DELTA, bond, sum);
        bonds[n] = bond;
        sums[n] = sum;
    }
    float value = 0.0f;
    for (int i = 0; i < SWAPTIONS; i++) {
        const int m = maturities[i] - 1;
        const float swap = fmaf(swaprates[i], sums[m], bonds[m]) - 1.0f;
        if (swap < 0.0f)
            value = fmaf(-100.0f, swap, value);
    }
    for (int n = 0; n < steps; n++)
        value = value / fmaf(DELTA, rates[n], 1.0f);
    return value;
}

// As `portfolio`; the derivatives of the value with respect to the rates go to `adjoint`.
__device__ float portfolio_adjoint(const float *rates, float *adjoint, int steps)
{
    float bonds[TERMS], sums[TERMS];
    float bond_adjoints[TERMS], sum_adjoints[TERMS];
    float bond = 1.0f, sum = 0.0f;
    for (int n = 0; n < TERMS; n++) {
        bond = bond / fmaf(DELTA, rates[n + steps], 1.0f);
        sum = fmaf(DELTA, bond, sum);
        bonds[n] = bond;
        sums[n] = sum;
        bond_adjoints[n] = 0.0f;
        sum_adjoints[n] = 0.0f;
    }
    float value = 0.0f;
    for (int i = 0; i < SWAPTIONS; i++) {
        const int m = maturities[i] - 1;
        const float swap = fmaf(swaprates[i], sums[m], bonds[m]) - 1.0f;
        if (swap < 0.0f) {
            value = fmaf(-100.0f, swap, value);
            sum_adjoints[m] = fmaf(-100.0f, swaprates[i], sum_adjoints[m]);
            bond_adjoints[m] -= 100.0f;
        }
    }
    for (int n = TERMS - 1; n >= 0; n--) {
        bond_adjoints[n] = fmaf(DELTA, sum_adjoints[n], bond_adjoints[n]);
        const float factor = 1.0f / fmaf(DELTA, rates[n + steps], 1.0f);
        adjoint[n + steps] = -bond_adjoints[n] * DELTA * bonds[n] * factor;
        if (n > 0) {
            sum_adjoints[n - 1] += sum_adjoints[n];
            bond_adjoints[n - 1] = fmaf(bond_adjoints[n], factor, bond_adjoints[n - 1]);
        }
    }
    float discount = 1.0f;
    for (int n = 0; n < steps; n++)
        discount = discount / fmaf(DELTA, rates[n], 1.0f);
    value *= discount;
    for (int n = 0; n < steps; n++)
        adjoint[n] = -DELTA * value / fmaf(DELTA, rates[n], 1.0f);
    for (int n = steps; n < steps + TERMS; n++)
        adjoint[n] *= discount;
    return value;
}

// Carries the derivatives from the rates after the steps back to the initial ones.
__device__ void simulate_adjoint(const float *lambda, const float *history, float *adjoint, int steps)
{
    for (int n = steps - 1; n >= 0; n--) {
        float carried = 0.0f;
        for (int i = steps + TERMS - 1; i > n; i--) {
            const float scaled = DELTA * lambda[i - n - 1];
            const float before = history[n * RATES + i], after = history[(n + 1) * RATES + i];
            const float growth = after / before;
            const float factor = 1.0f / fmaf(DELTA, before, 1.0f);
            carried = fmaf(scaled * after, adjoint[i], carried);
            adjoint[i] = fmaf(scaled * factor * factor, carried, adjoint[i] * growth);
        }
    }
}

extern "C" __global__ void libor_paths(const float *lambda, const float *initial, float *values, int paths,
                                       int steps)
{
    const int stride = gridDim.x * blockDim.x;
    for (int path = blockIdx.x * blockDim.x + threadIdx.x; path < paths; path += stride) {
        float rates[RATES];
        for (int i = 0; i < steps + TERMS; i++)
            rates[i] = initial[i];
        simulate(rates, lambda, nullptr, steps);
        values[path] = portfolio(rates, steps);
    }
}

extern "C" __global__ void libor_greeks(const float *lambda, const float *initial, float *values, float *deltas,
                                        int paths, int steps)
{
    const int stride = gridDim.x * blockDim.x;
    for (int path = blockIdx.x * blockDim.x + threadIdx.x; path < paths; path += stride) {
        float rates[RATES], adjoint[RATES], history[(STEPS + 1) * RATES];
        for (int i = 0; i < steps + TERMS; i++)
            rates[i] = initial[i];
        simulate(rates, lambda, history, steps);
        values[path] = portfolio_adjoint(rates, adjoint, steps);
        simulate_adjoint(lambda, history, adjoint, steps);
        // Rates that no step has touched before their own maturity keep their derivative.
        deltas[path] = adjoint[steps + TERMS - 1];
    }
}
