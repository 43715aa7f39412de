// Surface objects on arrays: written by one kernel, read by another and through a texture.
#include "check.h"

__global__ void write(cudaSurfaceObject_t surface, int w, int h) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < w && y < h) surf2Dwrite(make_int2(x + 100 * y, -x), surface, x * 8, y);
}

__global__ void read(cudaSurfaceObject_t surface, cudaTextureObject_t texture, int *out, int w, int h) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    int2 s = surf2Dread<int2>(surface, x * 8, y), t = tex2D<int2>(texture, x, y);
    out[y * w + x] = s.x == t.x && s.y == t.y ? s.x : -1;
}

int main() {
    const int W = 20, H = 10;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<int2>();
    cudaArray_t array, plain;
    OK(cudaMallocArray(&array, &format, W, H, cudaArraySurfaceLoadStore));
    OK(cudaMallocArray(&plain, &format, W, H));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaSurfaceObject_t surface;
    OK(cudaCreateSurfaceObject(&surface, &resource));
    cudaTextureDesc how = {};
    cudaTextureObject_t texture;
    OK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
    write<<<dim3(2, 2), dim3(16, 8)>>>(surface, W, H);
    int *out, host[W * H];
    OK(cudaMalloc(&out, sizeof host));
    read<<<dim3(2, 2), dim3(16, 8)>>>(surface, texture, out, W, H);
    OK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < W * H; i++) CHECK(host[i] == i % W + 100 * (i / W));
    OK(cudaDestroySurfaceObject(surface));
    OK(cudaDestroyTextureObject(texture));
    resource.res.array.array = plain;
    FAILS(cudaCreateSurfaceObject(&surface, &resource), cudaErrorInvalidValue);
    cudaGetLastError();
    OK(cudaFreeArray(array));
    OK(cudaFreeArray(plain));
    return passed();
}
