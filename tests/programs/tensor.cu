// Halves, and a matrix product of tensor cores.
#include "check.h"
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;

__global__ void product(const half *a, const half *b, float *c) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::fill_fragment(fc, 1.0f);
    wmma::load_matrix_sync(fa, a, 16);
    wmma::load_matrix_sync(fb, b, 16);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}

__global__ void scale(half2 *x) { x[threadIdx.x] = __hfma2(x[threadIdx.x], __float2half2_rn(2), __float2half2_rn(1)); }

int main() {
    half a[256], b[256], *da, *db;
    float c[256], *dc;
    for (int i = 0; i < 256; i++) a[i] = __float2half(i % 7 - 3), b[i] = __float2half(i % 5);
    OK(cudaMalloc(&da, sizeof a));
    OK(cudaMalloc(&db, sizeof b));
    OK(cudaMalloc(&dc, sizeof c));
    OK(cudaMemcpy(da, a, sizeof a, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(db, b, sizeof b, cudaMemcpyHostToDevice));
    product<<<1, 32>>>(da, db, dc);
    OK(cudaMemcpy(c, dc, sizeof c, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++) {
            int sum = 1;
            for (int k = 0; k < 16; k++) sum += ((i * 16 + k) % 7 - 3) * ((j * 16 + k) % 5);
            CHECK(c[i * 16 + j] == sum);
        }
    scale<<<1, 128>>>((half2 *)da);
    OK(cudaMemcpy(a, da, sizeof a, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 256; i++) CHECK(__half2float(a[i]) == 2 * (i % 7 - 3) + 1);
    return passed();
}
