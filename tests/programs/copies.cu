// Copies of rectangles and boxes between host, device and arrays; fills; directions and pitches that are wrong.
#include "check.h"
#include <cstring>

int main() {
    const int W = 6, H = 5, D = 3;
    unsigned char host[D][H][W], back[D][H][W];
    for (int i = 0; i < D * H * W; i++) (&host[0][0][0])[i] = (unsigned char)(i * 3 + 1);

    cudaPitchedPtr box;
    OK(cudaMalloc3D(&box, make_cudaExtent(W, H, D)));
    cudaMemcpy3DParms params = {};
    params.srcPtr = make_cudaPitchedPtr(host, W, W, H);
    params.dstPtr = box;
    params.extent = make_cudaExtent(W, H, D);
    params.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&params));
    // Row 2 of slice 1 lies where pitch and height say.
    unsigned char row[W];
    OK(cudaMemcpy(row, (char *)box.ptr + (H + 2) * box.pitch, W, cudaMemcpyDeviceToHost));
    CHECK(!memcmp(row, host[1][2], W));

    // Through an array and back, with offsets: the array gets the box's lower right part.
    cudaChannelFormatDesc format = cudaCreateChannelDesc<unsigned char>();
    cudaArray_t array;
    OK(cudaMalloc3DArray(&array, &format, make_cudaExtent(W, H, D)));
    params = {};
    params.srcPtr = box;
    params.srcPos = make_cudaPos(2, 1, 1);
    params.dstArray = array;
    params.extent = make_cudaExtent(4, 4, 2);
    params.kind = cudaMemcpyDeviceToDevice;
    OK(cudaMemcpy3D(&params));
    memset(back, 0xEE, sizeof back);
    params = {};
    params.srcArray = array;
    params.dstPtr = make_cudaPitchedPtr(back, W, W, H);
    params.extent = make_cudaExtent(4, 4, 2);
    params.kind = cudaMemcpyDeviceToHost;
    OK(cudaMemcpy3DAsync(&params, 0));
    OK(cudaDeviceSynchronize());
    for (int z = 0; z < D; z++)
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++) {
                bool inside = x < 4 && y < 4 && z < 2;
                CHECK(back[z][y][x] == (inside ? host[z + 1][y + 1][x + 2] : 0xEE));
            }
    params.extent = make_cudaExtent(W + 1, 1, 1);
    FAILS(cudaMemcpy3D(&params), cudaErrorInvalidValue);
    cudaExtent extent;
    unsigned flags;
    OK(cudaArrayGetInfo(&format, &extent, &flags, array));
    CHECK(extent.width == W && extent.height == H && extent.depth == D && format.x == 8 && format.y == 0);
    OK(cudaFreeArray(array));

    // Consecutive bytes wrap from row to row of an array.
    short numbers[24], again[24];
    for (int i = 0; i < 24; i++) numbers[i] = (short)(1000 - i);
    format = cudaCreateChannelDesc<short>();
    OK(cudaMallocArray(&array, &format, 8, 4));
    OK(cudaMemcpyToArray(array, 4, 1, numbers, sizeof numbers / 2, cudaMemcpyHostToDevice));
    OK(cudaMemcpyFromArray(again, array, 4, 1, sizeof numbers / 2, cudaMemcpyDeviceToHost));
    CHECK(!memcmp(again, numbers, sizeof numbers / 2));
    OK(cudaMemcpy2DFromArray(again, 6, array, 0, 2, 6, 1, cudaMemcpyDeviceToHost));
    CHECK(again[0] == numbers[6] && again[2] == numbers[8]);
    OK(cudaFreeArray(array));

    // Fills leave what is between the rows.
    OK(cudaMemset(box.ptr, 1, box.pitch * H));
    OK(cudaMemset2D(box.ptr, box.pitch, 7, W - 1, H));
    OK(cudaMemcpy2D(back, W, box.ptr, box.pitch, W, H, cudaMemcpyDeviceToHost));
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) CHECK(back[0][y][x] == (x < W - 1 ? 7 : 1));
    OK(cudaMemset3D(box, 9, make_cudaExtent(W, H, D)));
    OK(cudaMemcpy2D(back, W, box.ptr, box.pitch, W, H * D, cudaMemcpyDefault));
    for (int i = 0; i < D * H * W; i++) CHECK((&back[0][0][0])[i] == 9);

    FAILS(cudaMemcpy2D(back, W, box.ptr, 2, W, H, cudaMemcpyDeviceToHost), cudaErrorInvalidPitchValue);
    FAILS(cudaMemcpy(box.ptr, host, 4, (cudaMemcpyKind)9), cudaErrorInvalidMemcpyDirection);
    FAILS(cudaMemcpy(host, back, 4, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
    FAILS(cudaMemcpy(box.ptr, host, (size_t)1 << 40, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    CHECK(cudaPeekAtLastError() == cudaErrorInvalidValue);
    CHECK(cudaGetLastError() == cudaErrorInvalidValue);
    CHECK(cudaGetLastError() == cudaSuccess);
    OK(cudaFree(box.ptr));
    FAILS(cudaFree(box.ptr), cudaErrorInvalidValue);
    return passed();
}
