// Weather prediction: the microphysics of one time step in every column of air, after the single-moment scheme with
// five kinds of water (Hong, Dudhia and Chen, A revised approach to ice microphysical processes, 2004). A thread
// owns a column and walks its levels; fields are stored [level][column], so that neighbouring threads load
// neighbouring words. Rates depend on thresholds that differ from column to column.
constexpr float HEAT = 1004.5f, LATENT_VAPOUR = 2.5e6f, LATENT_MELT = 3.5e5f, GAS = 287.0f, FREEZING = 273.15f;

__device__ float saturation(float temperature, float pressure)
{
    // Magnus' formula, over ice below freezing.
    const float slope = temperature < FREEZING ? 21.8746f : 17.2694f;
    const float offset = temperature < FREEZING ? 7.66f : 35.86f;
    const float vapour = 610.78f * expf(slope * (temperature - FREEZING) / (temperature - offset));
    return 0.622f * vapour / fmaxf(pressure - vapour, 1.0f);
}

extern "C" __global__ void wp_microphysics(float *temperature, const float *pressure, float *vapour, float *cloud,
                                           float *rain, float *ice, float *snow, int columns, int levels, float step)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= columns)
        return;
    for (int level = 0; level < levels; level++) {
        const int at = level * columns + column;
        float t = temperature[at], qv = vapour[at], qc = cloud[at], qr = rain[at], qi = ice[at], qs = snow[at];
        const float p = pressure[at];
        const float density = p / (GAS * t);
        const float thin = sqrtf(1.28f / density);

        if (t > FREEZING) {
            // Snow and ice melt, as far as the heat above freezing allows.
            const float most = (t - FREEZING) * HEAT / LATENT_MELT;
            const float melted = fminf(qi + qs, most);
            const float from_ice = fminf(qi, melted);
            qi -= from_ice;
            qs -= melted - from_ice;
            qc += from_ice;
            qr += melted - from_ice;
            t -= melted * (LATENT_MELT / HEAT);
        } else {
            // Cloud water freezes at once below -40 degrees, slowly above; ice aggregates to snow.
            const float supercool = FREEZING - t;
            float frozen = qc;
            if (supercool < 40.0f)
                frozen = fminf(qc, 1.0e-3f * (expf(0.66f * fminf(supercool, 10.0f)) - 1.0f) * qc * step * density);
            qc -= frozen;
            qi += frozen;
            t += frozen * (LATENT_MELT / HEAT);
            const float crystals = 1.0e3f * expf(0.1f * supercool);
            const float heaviest = 9.4e-10f * crystals;
            if (qi > heaviest) {
                const float aggregated = (qi - heaviest) * (1.0f - expf(-1.0e-3f * step));
                qi -= aggregated;
                qs += aggregated;
            }
            const float riming = fminf(qc, 0.5f * thin * powf(fmaxf(qs * density, 0.0f), 0.6f) * qc * step * 0.02f);
            qc -= riming;
            qs += riming;
            t += riming * (LATENT_MELT / HEAT);
        }

        // Cloud turns to rain above a threshold, and rain collects cloud.
        const float threshold = 5.0e-4f / density;
        if (qc > threshold) {
            const float converted = fminf(qc, 1.0e-3f * (qc - threshold) * step);
            qc -= converted;
            qr += converted;
        }
        if (qr > 0.0f) {
            const float collected = fminf(qc, 2.2f * qc * powf(qr, 0.875f) * step);
            qc -= collected;
            qr += collected;
        }

        // Vapour and cloud adjust to saturation; in unsaturated air rain evaporates.
        const float limit = saturation(t, p);
        const float gain = fmaf(LATENT_VAPOUR * LATENT_VAPOUR / (HEAT * 461.6f), limit / (t * t), 1.0f);
        const float condensed = fmaxf((qv - limit) / gain, -qc);
        qv -= condensed;
        qc += condensed;
        t += condensed * (LATENT_VAPOUR / HEAT);
        const float after = saturation(t, p);
        if (qv < after && qr > 0.0f) {
            const float ventilation = fmaf(124.9f, powf(density * qr, 0.2046f), 1.6f) * powf(density * qr, 0.525f);
            const float dryness = 1.0f - qv / after;
            const float evaporated = fminf(qr, dryness * ventilation * step / (5.4e5f + 2.55e6f / (p * after)) / density);
            qr -= evaporated;
            qv += evaporated;
            t -= evaporated * (LATENT_VAPOUR / HEAT);
        }

        temperature[at] = t;
        vapour[at] = qv;
        cloud[at] = qc;
        rain[at] = qr;
        ice[at] = qi;
        snow[at] = qs;
    }
}
