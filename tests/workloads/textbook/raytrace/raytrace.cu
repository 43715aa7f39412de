// Ray tracing of spheres over a chequered floor (Whitted, 1980): a thread follows the ray of one pixel through its
// reflections, up to a number of bounces; at each hit a second ray looks for shadow. Rays of a warp hit
// different things and end after different numbers of bounces. Spheres are in constant memory.
constexpr int SPHERES = 12;

struct Sphere {
    float x, y, z, radius, grey, mirror;
};

struct Scene {
    Sphere list[SPHERES];

    constexpr Scene() : list{}
    {
        unsigned state = 12345u;
        for (int i = 0; i < SPHERES; i++) {
            float draw[5] = {};
            for (int k = 0; k < 5; k++) {
                state = state * 1664525u + 1013904223u;
                draw[k] = float(state >> 24) / 256.0f;
            }
            list[i].x = 8.0f * draw[0] - 4.0f;
            list[i].y = 2.0f * draw[1];
            list[i].z = 6.0f * draw[2] + 4.0f;
            list[i].radius = 0.5f + 0.75f * draw[3];
            list[i].grey = 0.25f + 0.75f * draw[4];
            list[i].mirror = i % 3 == 0 ? 0.5f : 0.25f;
        }
    }
};

__constant__ Scene scene = Scene();

struct Vector {
    float x, y, z;
};

__device__ float dot(Vector a, Vector b)
{
    return fmaf(a.x, b.x, fmaf(a.y, b.y, __fmul_rn(a.z, b.z)));
}

__device__ Vector along(Vector origin, Vector direction, float t)
{
    return {fmaf(t, direction.x, origin.x), fmaf(t, direction.y, origin.y), fmaf(t, direction.z, origin.z)};
}

// Distance to the nearest thing along a ray, and its number: a sphere's, SPHERES for the floor, -1 for none.
__device__ int hit(Vector origin, Vector direction, float &nearest)
{
    int found = -1;
    nearest = 1.0e30f;
    for (int i = 0; i < SPHERES; i++) {
        const Sphere &s = scene.list[i];
        const Vector to = {s.x - origin.x, s.y - origin.y, s.z - origin.z};
        const float middle = dot(to, direction);
        const float off = fmaf(s.radius, s.radius, fmaf(middle, middle, -dot(to, to)));
        if (off < 0.0f)
            continue;
        const float half = sqrtf(off);
        const float t = middle - half > 1.0e-3f ? middle - half : middle + half;
        if (t > 1.0e-3f && t < nearest) {
            nearest = t;
            found = i;
        }
    }
    if (direction.y < -1.0e-4f) {
        const float t = (-1.0f - origin.y) / direction.y;
        if (t > 1.0e-3f && t < nearest) {
            nearest = t;
            found = SPHERES;
        }
    }
    return found;
}

extern "C" __global__ void raytrace(float *image, int width, int height, int bounces)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= width || row >= height)
        return;
    const Vector light = {0.48f, 0.8f, -0.36f};
    Vector origin = {0.0f, 0.5f, -4.0f};
    Vector direction = {float(2 * column - width) / float(width), float(height - 2 * row) / float(width), 1.0f};
    const float scale = 1.0f / sqrtf(dot(direction, direction));
    direction = {direction.x * scale, direction.y * scale, direction.z * scale};

    float brightness = 0.0f, share = 1.0f;
    for (int bounce = 0; bounce <= bounces; bounce++) {
        float t;
        const int thing = hit(origin, direction, t);
        if (thing < 0) {
            // The sky is brighter towards the top.
            brightness = fmaf(share, fmaf(0.5f, fmaxf(direction.y, 0.0f), 0.25f), brightness);
            break;
        }
        const Vector at = along(origin, direction, t);
        Vector normal = {0.0f, 1.0f, 0.0f};
        float grey, mirror;
        if (thing < SPHERES) {
            const Sphere &s = scene.list[thing];
            const float inverse = 1.0f / s.radius;
            normal = {(at.x - s.x) * inverse, (at.y - s.y) * inverse, (at.z - s.z) * inverse};
            grey = s.grey;
            mirror = s.mirror;
        } else {
            grey = (int(floorf(at.x)) + int(floorf(at.z))) & 1 ? 0.875f : 0.125f;
            mirror = 0.125f;
        }
        float lit = 0.1f;
        const float facing = dot(normal, light);
        float unused;
        if (facing > 0.0f && hit(at, light, unused) < 0)
            lit = fmaf(0.9f, facing, lit);
        brightness = fmaf(share * (1.0f - mirror), grey * lit, brightness);
        share *= mirror;
        const float twice = -2.0f * dot(direction, normal);
        direction = along(direction, normal, twice);
        origin = at;
    }
    image[row * width + column] = brightness;
}
