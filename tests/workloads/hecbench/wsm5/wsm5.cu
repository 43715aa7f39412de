// Sedimentation in columns of air, as in single-moment microphysics (Hong, Dudhia and Chen, 2004): rain and snow
// fall through the levels with speeds that depend on their content, in as many sub-steps as the fastest fall in
// the column needs to be stable. A thread owns a column; fields are stored [level][column]; fall speeds and fluxes of
// all levels are arrays, which nvcc unrolls into registers. The number of sub-steps differs between the threads of a warp.
constexpr int LEVELS = 24;

__device__ float fourth_root(float x)
{
    return sqrtf(sqrtf(x));
}

extern "C" __global__ void wsm5_fall(const float *density, const float *thickness, const float *temperature,
                                     float *rain, float *snow, float *ground, int columns, float step)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= columns)
        return;
    float rain_speed[LEVELS], snow_speed[LEVELS];
    float rate = 0.0f;
    for (int k = 0; k < LEVELS; k++) {
        const int at = k * columns + column;
        const float rho = density[at];
        const float thin = sqrtf(1.28f / rho);
        // Larger drops fall faster: the speed is about the content to the power 1/4 (1/8 for snow).
        const float wet = fmaxf(rho * rain[at], 0.0f), white = fmaxf(rho * snow[at], 0.0f);
        rain_speed[k] = wet > 1.0e-9f ? 36.0f * thin * fourth_root(wet) : 0.0f;
        const float supercool = fminf(fmaxf(273.15f - temperature[at], 0.0f), 40.0f);
        const float aged = fmaf(-0.01f, supercool, 1.0f);
        snow_speed[k] = white > 1.0e-9f ? 3.0f * thin * aged * sqrtf(fourth_root(white)) : 0.0f;
        rate = fmaxf(rate, fmaxf(rain_speed[k], snow_speed[k]) / thickness[at]);
    }
    const int parts = max(int(ceilf(rate * step)), 1);
    const float part = step / float(parts);

    float fallen_rain = 0.0f, fallen_snow = 0.0f;
    for (int n = 0; n < parts; n++) {
        // From the top down; what leaves a level enters the one below.
        float rain_above = 0.0f, snow_above = 0.0f;
        for (int k = LEVELS - 1; k >= 0; k--) {
            const int at = k * columns + column;
            const float rho = density[at], depth = thickness[at];
            const float rain_out = rho * rain[at] * rain_speed[k];
            const float snow_out = rho * snow[at] * snow_speed[k];
            const float scale = part / (rho * depth);
            float new_rain = fmaxf(fmaf(rain_above - rain_out, scale, rain[at]), 0.0f);
            float new_snow = fmaxf(fmaf(snow_above - snow_out, scale, snow[at]), 0.0f);
            if (temperature[at] > 273.15f && new_snow > 0.0f) {
                // Falling snow melts on its way.
                const float warm = temperature[at] - 273.15f;
                const float melted = fminf(new_snow, new_snow * warm * part * 0.002f);
                new_snow -= melted;
                new_rain += melted;
            }
            rain[at] = new_rain;
            snow[at] = new_snow;
            rain_above = rain_out;
            snow_above = snow_out;
        }
        fallen_rain = fmaf(rain_above, part, fallen_rain);
        fallen_snow = fmaf(snow_above, part, fallen_snow);
    }
    ground[column] = fallen_rain;
    ground[columns + column] = fallen_snow;
}
