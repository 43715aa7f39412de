// DXT1 compression of 4 x 4 pixels (after Castano's sample, High quality DXT compression, 2007): sixteen threads share a
// block of pixels. They find the line along which the colours vary most, sort the pixels along it, and try all ways to
// cut the sorted pixels into four clusters, a thread every sixteenth; the best one is found by a minimum in shared
// memory. Colours are integers, so that sums are exact.
constexpr int GROUPS = 4;  // blocks of pixels per block of threads

// All ways to cut sixteen sorted pixels into four clusters, of which the first and the last are not empty.
constexpr int CUTS = 680;

struct Cuts {
    int list[CUTS];

    constexpr Cuts() : list{}
    {
        int number = 0;
        for (int first = 1; first <= 15; first++)
            for (int second = first; second <= 15; second++)
                for (int third = second; third <= 15; third++)
                    list[number++] = first | second << 8 | third << 16;
    }
};

__device__ const Cuts cuts = Cuts();

struct Best {
    unsigned error;
    int cuts;
};

extern "C" __global__ void __launch_bounds__(16 * GROUPS)
    dxt_compress(const unsigned *pixels, uint2 *compressed, int width, int count)
{
    __shared__ int red[GROUPS][16], green[GROUPS][16], blue[GROUPS][16], order[GROUPS][16], along[GROUPS][16];
    __shared__ unsigned errors[GROUPS][16];
    __shared__ int choices[GROUPS][16];

    const int group = threadIdx.x / 16, lane = threadIdx.x % 16;
    const int square = blockIdx.x * GROUPS + group;
    const int per_row = width / 4;
    const bool active = square < count;
    const int x = active ? square % per_row * 4 + lane % 4 : 0, y = active ? square / per_row * 4 + lane / 4 : 0;
    const unsigned pixel = pixels[y * width + x];
    const int r = pixel & 255, g = pixel >> 8 & 255, b = pixel >> 16 & 255;
    red[group][lane] = r;
    green[group][lane] = g;
    blue[group][lane] = b;
    __syncwarp();

    // The axis: the difference of the most distant pixels of the square from its first corner's colour.
    int far = 0, most = -1;
    for (int i = 0; i < 16; i++) {
        const int dr = red[group][i] - red[group][0], dg = green[group][i] - green[group][0], db = blue[group][i] - blue[group][0];
        const int distance = dr * dr + dg * dg + db * db;
        if (distance > most) {
            most = distance;
            far = i;
        }
    }
    const int ar = red[group][far] - red[group][0], ag = green[group][far] - green[group][0], ab = blue[group][far] - blue[group][0];
    const int place = ar * r + ag * g + ab * b;
    along[group][lane] = place;
    __syncwarp();
    // Rank of this pixel along the axis; equal ones keep their order.
    int rank = 0;
    for (int i = 0; i < 16; i++)
        rank += along[group][i] < place || (along[group][i] == place && i < lane);
    order[group][rank] = lane;
    __syncwarp();

    // Clusters: pixels before cut 1, 2 and 3 in the sorted order. Ends are the means of the first and the last one.
    Best best = {0xffffffffu, 0};
    for (int number = lane; number < CUTS; number += 16) {
        const int cut = cuts.list[number];
        const int first = cut & 255, second = cut >> 8 & 255, third = cut >> 16;
        int low[3] = {0, 0, 0}, high[3] = {0, 0, 0};
        for (int i = 0; i < 16; i++) {
            const int p = order[group][i];
            if (i < first) {
                low[0] += red[group][p];
                low[1] += green[group][p];
                low[2] += blue[group][p];
            } else if (i >= third) {
                high[0] += red[group][p];
                high[1] += green[group][p];
                high[2] += blue[group][p];
            }
        }
        unsigned error = 0;
        for (int c = 0; c < 3; c++) {
            low[c] /= first;
            high[c] /= 16 - third;
        }
        for (int i = 0; i < 16; i++) {
            const int p = order[group][i];
            const int cluster = (i >= first) + (i >= second) + (i >= third);
            const int value[3] = {red[group][p], green[group][p], blue[group][p]};
            for (int c = 0; c < 3; c++) {
                const int colour = (low[c] * (3 - cluster) + high[c] * cluster) / 3;
                error += (colour - value[c]) * (colour - value[c]);
            }
        }
        if (error < best.error)
            best = {error, cut};
    }
    errors[group][lane] = best.error;
    choices[group][lane] = best.cuts;
    __syncwarp();
    for (int distance = 8; distance > 0; distance /= 2) {
        if (lane < distance && errors[group][lane + distance] < errors[group][lane]) {
            errors[group][lane] = errors[group][lane + distance];
            choices[group][lane] = choices[group][lane + distance];
        }
        __syncwarp();
    }
    if (lane == 0 && active) {
        const int cut = choices[group][0];
        const int first = cut & 255, second = cut >> 8 & 255, third = cut >> 16;
        int low[3] = {0, 0, 0}, high[3] = {0, 0, 0};
        unsigned indices = 0;
        for (int i = 0; i < 16; i++) {
            const int p = order[group][i];
            const int cluster = (i >= first) + (i >= second) + (i >= third);
            // The format's order of the four colours: both ends, then those between.
            const unsigned index = cluster == 0 ? 0u : cluster == 3 ? 1u : cluster == 1 ? 2u : 3u;
            indices |= index << (2 * p);
            int *sum = cluster == 0 ? low : high;
            if (cluster == 0 || cluster == 3) {
                sum[0] += red[group][p];
                sum[1] += green[group][p];
                sum[2] += blue[group][p];
            }
        }
        auto packed = [](const int *sum, int n) {
            return unsigned(sum[0] / n >> 3 << 11 | sum[1] / n >> 2 << 5 | sum[2] / n >> 3);
        };
        compressed[square] = make_uint2(packed(low, first) | packed(high, 16 - third) << 16, indices);
    }
}
