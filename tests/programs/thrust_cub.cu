// Thrust and CUB: sort, reduce, transform; scan, radix sort, histogram.
#include "check.h"
#include <algorithm>
#include <cub/cub.cuh>
#include <thrust/device_vector.h>
#include <thrust/reduce.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
#include <vector>

struct Square {
    __host__ __device__ int operator()(int x) const { return x * x; }
};

int main() {
    const int n = 3000;
    std::vector<int> host(n), sorted;
    unsigned state = 1;
    for (int &x : host) x = (state = state * 1664525 + 1013904223) >> 22;
    sorted = host;
    std::sort(sorted.begin(), sorted.end());
    thrust::device_vector<int> device(host.begin(), host.end()), squares(n);
    long sum = 0;
    for (int x : host) sum += x * x;
    thrust::transform(device.begin(), device.end(), squares.begin(), Square());
    CHECK(thrust::reduce(squares.begin(), squares.end(), 0L) == sum);
    thrust::sort(device.begin(), device.end());
    CHECK(std::equal(sorted.begin(), sorted.end(), std::vector<int>(device.begin(), device.end()).begin()));

    device.assign(host.begin(), host.end());
    thrust::device_vector<int> out(n), counts(16);
    int *in = thrust::raw_pointer_cast(device.data()), *to = thrust::raw_pointer_cast(out.data());
    void *scratch = nullptr;
    size_t bytes = 0;
    OK(cub::DeviceScan::InclusiveSum(scratch, bytes, in, to, n));
    OK(cudaMalloc(&scratch, bytes));
    OK(cub::DeviceScan::InclusiveSum(scratch, bytes, in, to, n));
    std::vector<int> back(out.begin(), out.end());
    for (int i = 0, total = 0; i < n; i++) CHECK(back[i] == (total += host[i]));
    OK(cudaFree(scratch));
    scratch = nullptr;
    OK(cub::DeviceRadixSort::SortKeys(scratch, bytes, in, to, n));
    OK(cudaMalloc(&scratch, bytes));
    OK(cub::DeviceRadixSort::SortKeys(scratch, bytes, in, to, n));
    CHECK(std::equal(sorted.begin(), sorted.end(), std::vector<int>(out.begin(), out.end()).begin()));
    OK(cudaFree(scratch));
    scratch = nullptr;
    int *bins = thrust::raw_pointer_cast(counts.data());
    OK(cub::DeviceHistogram::HistogramEven(scratch, bytes, in, bins, 17, 0, 1024, n));
    OK(cudaMalloc(&scratch, bytes));
    OK(cub::DeviceHistogram::HistogramEven(scratch, bytes, in, bins, 17, 0, 1024, n));
    std::vector<int> found(counts.begin(), counts.end()), expected(16);
    for (int x : host) expected[x / 64]++;
    CHECK(found == expected);
    return passed();
}
