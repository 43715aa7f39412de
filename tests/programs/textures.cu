// Texture objects: point reads of linear memory, filtered reads of an array and of pitched memory, address modes.
#include "check.h"
#include <cmath>
#include <cstring>

__global__ void linear(cudaTextureObject_t texture, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex1Dfetch<int>(texture, n - 1 - i);
}

__global__ void sample(cudaTextureObject_t texture, const float2 *at, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex2D<float>(texture, at[i].x, at[i].y);
}

const int W = 8, H = 4, N = 64;

// What the programming guide says of linear filtering with clamped coordinates, with weights of 8 bits.
static float expected(const float *image, float x, float y) {
    float xb = x - 0.5f, yb = y - 0.5f;
    float fx = floorf(xb), fy = floorf(yb);
    float a = roundf((xb - fx) * 256) / 256, b = roundf((yb - fy) * 256) / 256;
    auto texel = [&](int i, int j) {
        i = i < 0 ? 0 : i >= W ? W - 1 : i;
        j = j < 0 ? 0 : j >= H ? H - 1 : j;
        return image[j * W + i];
    };
    int i = (int)fx, j = (int)fy;
    return (1 - a) * (1 - b) * texel(i, j) + a * (1 - b) * texel(i + 1, j) + (1 - a) * b * texel(i, j + 1) +
           a * b * texel(i + 1, j + 1);
}

static void check_samples(cudaTextureObject_t texture, const float *image) {
    float2 at[N], *d_at;
    float out[N], *d_out;
    for (int i = 0; i < N; i++) at[i] = make_float2(-1 + 10.0f * i / N, -1 + 6.0f * ((i * 7) % N) / N);
    OK(cudaMalloc(&d_at, sizeof at));
    OK(cudaMalloc(&d_out, sizeof out));
    OK(cudaMemcpy(d_at, at, sizeof at, cudaMemcpyHostToDevice));
    sample<<<2, 32>>>(texture, d_at, d_out, N);
    OK(cudaMemcpy(out, d_out, sizeof out, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++) CHECK(fabsf(out[i] - expected(image, at[i].x, at[i].y)) <= 0.3f);
    OK(cudaFree(d_at));
    OK(cudaFree(d_out));
}

int main() {
    int numbers[100], *d_numbers, *d_out;
    for (int i = 0; i < 100; i++) numbers[i] = i * i - 50;
    OK(cudaMalloc(&d_numbers, sizeof numbers));
    OK(cudaMalloc(&d_out, sizeof numbers));
    OK(cudaMemcpy(d_numbers, numbers, sizeof numbers, cudaMemcpyHostToDevice));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = d_numbers;
    resource.res.linear.desc = cudaCreateChannelDesc<int>();
    resource.res.linear.sizeInBytes = sizeof numbers;
    cudaTextureDesc how = {};
    cudaTextureObject_t texture;
    OK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
    linear<<<4, 32>>>(texture, d_out, 100);
    int back[100];
    OK(cudaMemcpy(back, d_out, sizeof back, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 100; i++) CHECK(back[i] == numbers[99 - i]);
    cudaResourceDesc said;
    OK(cudaGetTextureObjectResourceDesc(&said, texture));
    CHECK(said.resType == cudaResourceTypeLinear && said.res.linear.devPtr == d_numbers);
    OK(cudaDestroyTextureObject(texture));

    float image[W * H];
    for (int i = 0; i < W * H; i++) image[i] = (float)((i * 37) % 64);
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t array;
    OK(cudaMallocArray(&array, &format, W, H));
    OK(cudaMemcpy2DToArray(array, 0, 0, image, W * sizeof(float), W * sizeof(float), H, cudaMemcpyHostToDevice));
    resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
    how.filterMode = cudaFilterModeLinear;
    OK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
    check_samples(texture, image);
    OK(cudaDestroyTextureObject(texture));
    FAILS(cudaDestroyTextureObject(texture), cudaErrorInvalidValue);
    CHECK(cudaGetLastError() == cudaErrorInvalidValue);
    OK(cudaFreeArray(array));

    float *pitched;
    size_t pitch;
    OK(cudaMallocPitch(&pitched, &pitch, W * sizeof(float), H));
    CHECK(pitch >= W * sizeof(float) && pitch % 32 == 0);
    OK(cudaMemcpy2D(pitched, pitch, image, W * sizeof(float), W * sizeof(float), H, cudaMemcpyHostToDevice));
    resource = {};
    resource.resType = cudaResourceTypePitch2D;
    resource.res.pitch2D = {pitched, format, (size_t)W, (size_t)H, pitch};
    OK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
    check_samples(texture, image);
    OK(cudaDestroyTextureObject(texture));
    OK(cudaFree(pitched));
    return passed();
}
