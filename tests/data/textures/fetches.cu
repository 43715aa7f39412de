// nvcc -arch=compute_75 -ptx -o fetches_sm75.ptx fetches.cu, and likewise for compute_100.
//
// Every texture and surface function that programs use, each in a kernel of its own: thread t takes its
// coordinates from `at` (four floats per thread) and writes four words to `out`.
#include <cuda_runtime.h>

#define THREAD unsigned t = blockIdx.x * blockDim.x + threadIdx.x

extern "C" __global__ void fetch1d(float4 *out, const float4 *at, cudaTextureObject_t tex) {
    THREAD;
    out[t] = make_float4(tex1D<float>(tex, at[t].x), tex1Dfetch<float>(tex, (int)at[t].y), 0, 0);
}

extern "C" __global__ void fetch_linear(int4 *out, const float4 *at, cudaTextureObject_t tex) {
    THREAD;
    uchar4 v = tex1Dfetch<uchar4>(tex, (int)at[t].y);
    out[t] = make_int4(v.x, v.y, v.z, v.w);
}

extern "C" __global__ void fetch2d(float4 *out, const float4 *at, cudaTextureObject_t tex) {
    THREAD;
    out[t] = tex2D<float4>(tex, at[t].x, at[t].y);
}

extern "C" __global__ void fetch2d_short(int4 *out, const float4 *at, cudaTextureObject_t tex) {
    THREAD;
    short2 v = tex2D<short2>(tex, at[t].x, at[t].y);
    out[t] = make_int4(v.x, v.y, 0, 0);
}

extern "C" __global__ void fetch3d(float4 *out, const float4 *at, cudaTextureObject_t tex) {
    THREAD;
    float v = tex3D<float>(tex, at[t].x, at[t].y, at[t].z);
    out[t] = make_float4(v, 0, 0, 0);
}

extern "C" __global__ void fetch_layered(float4 *out, const float4 *at, cudaTextureObject_t tex) {
    THREAD;
    out[t] = tex2DLayered<float4>(tex, at[t].x, at[t].y, (int)at[t].w);
}

extern "C" __global__ void fetch_cube(float4 *out, const float4 *at, cudaTextureObject_t tex) {
    THREAD;
    out[t] = texCubemap<float4>(tex, at[t].x, at[t].y, at[t].z);
}

extern "C" __global__ void fetch_lod(float4 *out, const float4 *at, cudaTextureObject_t tex) {
    THREAD;
    out[t] = tex2DLod<float4>(tex, at[t].x, at[t].y, at[t].z);
}

extern "C" __global__ void fetch_grad(float4 *out, const float4 *at, cudaTextureObject_t tex) {
    THREAD;
    out[t] = tex2DGrad<float4>(tex, at[t].x, at[t].y, make_float2(at[t].z, 0), make_float2(0, at[t].w));
}

extern "C" __global__ void gather2d(float4 *out, const float4 *at, cudaTextureObject_t tex) {
    THREAD;
    out[t] = tex2Dgather<float4>(tex, at[t].x, at[t].y, 1);
}

// A surface of width by height words: every word becomes the sum of itself and its right neighbour.
extern "C" __global__ void surface2d(cudaSurfaceObject_t in, cudaSurfaceObject_t out, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x >= width || y >= height) return;
    unsigned a = surf2Dread<unsigned>(in, x * 4, y, cudaBoundaryModeTrap);
    unsigned b = surf2Dread<unsigned>(in, (x + 1) * 4, y, cudaBoundaryModeZero);
    surf2Dwrite(a + b, out, x * 4, y);
    surf2Dwrite(0u, out, (x + width) * 4, y, cudaBoundaryModeZero);
}

// Bytes and four-byte vectors, in two and three dimensions.
extern "C" __global__ void surface3d(cudaSurfaceObject_t bytes, cudaSurfaceObject_t colours, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y, z = blockIdx.z;
    if (x >= width || y >= height) return;
    surf3Dwrite((unsigned char)(x + 10 * y + 100 * z), bytes, x, y, z);
    if (z == 0) surf2Dwrite(make_uchar4(x, y, x ^ y, 255), colours, x * 4, y);
}

// A Gaussian blur of an image read through a filtering texture: five fetches between texels give nine taps.
extern "C" __global__ void blur(cudaSurfaceObject_t out, cudaTextureObject_t image, int width, int height, float dx,
                                float dy) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float u = (x + 0.5f) * (1.0f / 64), v = (y + 0.5f) * (1.0f / 64);
    const float offset[3] = {0.0f, 1.375f, 3.25f}, weight[3] = {0.25f, 0.3125f, 0.0625f};
    float4 sum = tex2D<float4>(image, u, v);
    sum.x *= weight[0], sum.y *= weight[0], sum.z *= weight[0], sum.w *= weight[0];
    for (int i = 1; i < 3; i++) {
        float4 a = tex2D<float4>(image, u + offset[i] * dx, v + offset[i] * dy);
        float4 b = tex2D<float4>(image, u - offset[i] * dx, v - offset[i] * dy);
        sum.x += weight[i] * (a.x + b.x), sum.y += weight[i] * (a.y + b.y);
        sum.z += weight[i] * (a.z + b.z), sum.w += weight[i] * (a.w + b.w);
    }
    surf2Dwrite(sum, out, x * 16, y);
}
