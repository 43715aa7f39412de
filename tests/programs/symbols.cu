// Variables of the device by symbol, managed memory and variables, hints about it.
#include "check.h"

__constant__ int table[8];
__device__ int total;
__device__ __managed__ int managed = 5;

__global__ void work(int *out) {
    out[threadIdx.x] = table[threadIdx.x % 8] + managed;
    atomicAdd(&total, 1);
}

int main() {
    int values[8], *out, result, first = 100;
    for (int i = 0; i < 8; i++) values[i] = i * i;
    OK(cudaMemcpyToSymbol(table, values, sizeof values));
    OK(cudaMemcpyToSymbol(table, &first, sizeof first, 3 * sizeof(int)));
    FAILS(cudaMemcpyToSymbol(table, values, sizeof values, 4), cudaErrorInvalidValue);
    FAILS(cudaMemcpyToSymbol(table, values, 4, 0, cudaMemcpyDeviceToHost), cudaErrorInvalidMemcpyDirection);
    FAILS(cudaMemcpyToSymbol(values, values, 4), cudaErrorInvalidSymbol);
    cudaGetLastError();
    managed += 2;
    OK(cudaMallocManaged(&out, 32 * sizeof(int)));
    cudaMemLocation here = {cudaMemLocationTypeDevice, {0}};
    OK(cudaMemAdvise(out, 32 * sizeof(int), cudaMemAdviseSetPreferredLocation, here));
    OK(cudaMemPrefetchAsync(out, 32 * sizeof(int), here, 0, 0));
    work<<<1, 32>>>(out);
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < 32; i++) CHECK(out[i] == (i % 8 == 3 ? 100 : (i % 8) * (i % 8)) + 7);
    OK(cudaMemcpyFromSymbol(&result, total, sizeof result));
    CHECK(result == 32);
    int *address;
    size_t bytes;
    OK(cudaGetSymbolAddress((void **)&address, total));
    OK(cudaGetSymbolSize(&bytes, table));
    CHECK(bytes == sizeof values);
    OK(cudaMemset(address, 0, sizeof(int)));
    OK(cudaMemcpyFromSymbolAsync(&result, total, sizeof result, 0, cudaMemcpyDeviceToHost, 0));
    CHECK(result == 0);
    OK(cudaFree(out));
    return passed();
}
