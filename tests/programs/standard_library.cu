// CUDA's C++ standard library and cooperative groups: atomic references, locks, waiting, barriers, pipelines of
// asynchronous copies, algorithms of groups, complex numbers, spans, tuples, device new and delete, block-wide sorting.
// nvcc: -diag-suppress 20054
#include "check.h"
#include <algorithm>
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/std/array>
#include <cuda/std/complex>
#include <cuda/std/span>
#include <cuda/std/tuple>
#include <string.h>
#include <vector>
namespace cg = cooperative_groups;

static int *memory; // managed, cleared before each case
const size_t BYTES = 1 << 17;

static int *cleared() { return (int *)memset(memory, 0, BYTES); }

__global__ void counters(int *i, unsigned long long *u, float *f, double *d, unsigned char *c, unsigned short *s) {
    cuda::atomic_ref<int, cuda::thread_scope_device>(*i).fetch_add(1, cuda::memory_order_relaxed);
    cuda::atomic_ref<unsigned long long, cuda::thread_scope_device>(*u).fetch_max(threadIdx.x + blockIdx.x * blockDim.x);
    cuda::atomic_ref<float, cuda::thread_scope_device>(*f).fetch_add(1.f, cuda::memory_order_acq_rel);
    cuda::atomic_ref<double, cuda::thread_scope_system>(*d).fetch_add(0.5);
    cuda::atomic_ref<unsigned char, cuda::thread_scope_device>(*c).fetch_add(1);
    cuda::atomic_ref<unsigned short, cuda::thread_scope_device>(*s).fetch_or(1u << (threadIdx.x & 15));
}

// Every lane of a warp takes the same lock in turn.
__global__ void locked(int *lock, int *sum) {
    cuda::atomic_ref<int, cuda::thread_scope_device> l(*lock);
    while (l.exchange(1, cuda::memory_order_acquire)) {
    }
    *sum = *sum + 1;
    l.store(0, cuda::memory_order_release);
}

__global__ void notified(int *flag, int *out) {
    cuda::atomic_ref<int, cuda::thread_scope_device> l(*flag);
    if (blockIdx.x == 0) {
        l.wait(0);
        *out = 7;
    } else {
        l.store(1);
        l.notify_all();
    }
}

__global__ void phases(int *out) {
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    __shared__ int held[256];
    if (threadIdx.x == 0) init(&barrier, blockDim.x);
    __syncthreads();
    for (int i = 0; i < 4; i++) {
        held[threadIdx.x] = i * 1000 + threadIdx.x;
        auto token = barrier.arrive();
        barrier.wait(cuda::std::move(token));
        int next = held[(threadIdx.x + 1) % blockDim.x];
        barrier.arrive_and_wait();
        if (i == 3) out[threadIdx.x] = next;
    }
}

__global__ void staged(const int *in, int *out, int batches) {
    auto block = cg::this_thread_block();
    __shared__ int buffer[2][128];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto pipeline = cuda::make_pipeline(block, &state);
    int sum = 0;
    for (int fetched = 0, used = 0; used < batches; ++used) {
        for (; fetched < batches && fetched < used + 2; ++fetched) {
            pipeline.producer_acquire();
            cuda::memcpy_async(block, buffer[fetched % 2], in + fetched * 128, cuda::aligned_size_t<16>(sizeof(int) * 128), pipeline);
            pipeline.producer_commit();
        }
        pipeline.consumer_wait();
        sum += buffer[used % 2][127 - threadIdx.x];
        pipeline.consumer_release();
    }
    out[threadIdx.x] = sum;
}

__global__ void alone(const int4 *in, int4 *out) {
    __shared__ int4 held[128];
    auto pipeline = cuda::make_pipeline();
    pipeline.producer_acquire();
    cuda::memcpy_async(&held[threadIdx.x], &in[threadIdx.x], sizeof(int4), pipeline);
    pipeline.producer_commit();
    cuda::pipeline_consumer_wait_prior<0>(pipeline);
    out[threadIdx.x] = held[threadIdx.x];
    pipeline.consumer_release();
}

__global__ void copied(const int *in, int *out) {
    extern __shared__ int held[];
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, held, in, sizeof(int) * 256);
    cg::wait(block);
    out[threadIdx.x] = held[255 - threadIdx.x];
}

struct Groups {
    int sum, greatest, inclusive, exclusive, coalesced, exchanged, ballot, matched, split;
};

__global__ void groups(Groups *out) {
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    auto tile = cg::tiled_partition<8>(block);
    int t = threadIdx.x;
    Groups g = {};
    g.sum = cg::reduce(warp, t, cg::plus<int>());
    g.greatest = cg::reduce(tile, t, cg::greater<int>());
    g.inclusive = cg::inclusive_scan(warp, 1);
    g.exclusive = cg::exclusive_scan(tile, 2);
    if (t % 3 == 0) {
        auto some = cg::coalesced_threads();
        auto labelled = cg::labeled_partition(some, t % 2);
        g.coalesced = some.size() * 100 + some.thread_rank() + 10000 * labelled.size();
    }
    g.exchanged = warp.shfl_xor(t, 1);
    g.ballot = warp.ballot(t & 1);
    g.matched = warp.match_any(t / 4);
    g.split = cg::binary_partition(warp, t < 5).size();
    out[t] = g;
}

__global__ void types(float *out) {
    cuda::std::complex<float> z(1.f, 2.f);
    z *= z;
    cuda::std::array<int, 4> four{1, 2, 3, 4};
    int sum = 0;
    for (int v : cuda::std::span<int, 4>(four)) sum += v;
    auto pair = cuda::std::make_tuple(1, 2.5f);
    out[0] = z.real(), out[1] = z.imag(), out[2] = sum, out[3] = cuda::std::get<1>(pair);
    out[4] = abs(cuda::std::complex<float>(3, 4));
    int *own = new int[4];
    for (int i = 0; i < 4; i++) own[i] = i * threadIdx.x;
    out[5 + threadIdx.x] = own[0] + own[1] + own[2] + own[3];
    delete[] own;
}

__global__ void sorted(int *keys, int *places, int *sums) {
    using Sort = cub::BlockRadixSort<int, 128, 4, int>;
    using Scan = cub::BlockScan<int, 128>;
    using Reduce = cub::BlockReduce<int, 128>;
    __shared__ union {
        Sort::TempStorage sort;
        Scan::TempStorage scan;
        Reduce::TempStorage reduce;
    } shared;
    int key[4], place[4], sum[4];
    for (int i = 0; i < 4; i++) key[i] = keys[threadIdx.x * 4 + i], place[i] = threadIdx.x * 4 + i;
    Sort(shared.sort).Sort(key, place);
    __syncthreads();
    Scan(shared.scan).InclusiveSum(key, sum);
    __syncthreads();
    int all = Reduce(shared.reduce).Sum(key[0] + key[1] + key[2] + key[3]);
    for (int i = 0; i < 4; i++) {
        int at = threadIdx.x * 4 + i;
        keys[at] = key[i], places[at] = place[i], sums[at] = sum[i];
    }
    if (threadIdx.x == 0) sums[512] = all;
}

static void atomics() {
    int *m = cleared();
    counters<<<4, 64>>>(m, (unsigned long long *)(m + 2), (float *)(m + 4), (double *)(m + 6), (unsigned char *)(m + 8), (unsigned short *)(m + 9));
    OK(cudaDeviceSynchronize());
    CHECK(m[0] == 256 && *(unsigned long long *)(m + 2) == 255 && *(float *)(m + 4) == 256 && *(double *)(m + 6) == 128);
    CHECK(m[8] == 0 && m[9] == 0xFFFF); // 256 wraps a byte, and its neighbours stay
    m = cleared();
    locked<<<4, 64>>>(m, m + 1);
    notified<<<2, 1>>>(m + 2, m + 3);
    OK(cudaDeviceSynchronize());
    CHECK(m[1] == 256 && m[3] == 7);
}

static void copies() {
    int *m = cleared(), *in = m + 4096;
    phases<<<1, 256>>>(m);
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < 256; i++) CHECK(m[i] == 3000 + (i + 1) % 256);
    for (int i = 0; i < 1024; i++) in[i] = i;
    staged<<<1, 128>>>(in, m, 8);
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < 128; i++) CHECK(m[i] == 128 * 28 + 8 * (127 - i));
    alone<<<1, 128>>>((int4 *)in, (int4 *)m);
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < 512; i++) CHECK(m[i] == i);
    copied<<<1, 256, 1024>>>(in, m);
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < 256; i++) CHECK(m[i] == 255 - i);
}

static void cooperation() {
    Groups *g = (Groups *)cleared();
    groups<<<1, 64>>>(g);
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < 64; i++) {
        int warp = i / 32 * 32, some = 0, rank = 0, alike = 0;
        for (int j = warp; j < warp + 32; j++)
            if (j % 3 == 0) some++, rank += j < i, alike += j % 2 == i % 2;
        CHECK(g[i].sum == 32 * warp + 496 && g[i].greatest == i / 8 * 8 + 7);
        CHECK(g[i].inclusive == i % 32 + 1 && g[i].exclusive == 2 * (i % 8));
        CHECK(g[i].coalesced == (i % 3 ? 0 : some * 100 + rank + 10000 * alike));
        CHECK(g[i].exchanged == (i ^ 1) && g[i].ballot == (int)0xAAAAAAAA);
        CHECK((unsigned)g[i].matched == 0xFu << i % 32 / 4 * 4 && g[i].split == (i >= 32 ? 32 : i < 5 ? 5 : 27));
    }
}

int main() {
    OK(cudaMallocManaged(&memory, BYTES));
    atomics();
    copies();
    cooperation();
    float *f = (float *)cleared();
    types<<<1, 32>>>(f);
    OK(cudaDeviceSynchronize());
    CHECK(f[0] == -3 && f[1] == 4 && f[2] == 10 && f[3] == 2.5f && f[4] == 5);
    for (int i = 0; i < 32; i++) CHECK(f[5 + i] == 6 * i);
    int *keys = cleared(), *places = keys + 1024, *sums = keys + 2048;
    for (int i = 0; i < 512; i++) keys[i] = (i * 2654435761u) >> 12;
    std::vector<int> original(keys, keys + 512), want = original;
    std::sort(want.begin(), want.end());
    sorted<<<1, 128>>>(keys, places, sums);
    OK(cudaDeviceSynchronize());
    int sum = 0;
    for (int i = 0; i < 512; i++) CHECK(keys[i] == want[i] && original[places[i]] == want[i] && sums[i] == (int)(sum += want[i]));
    CHECK(sums[512] == sum);
    return passed();
}
