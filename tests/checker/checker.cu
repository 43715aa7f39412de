// Kernels with one mistake each, marked by a comment, and the same kernels without it (`_ok`). Compiled with
// nvcc -arch=sm_75 -O3 -lineinfo -ptx; what the checker must say is in tests/checker.rs.

extern "C" {

__global__ void past_the_end(const unsigned *in, unsigned *out, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i] + 1;  // BAD past_the_end
}
__global__ void past_the_end_ok(const unsigned *in, unsigned *out, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] + 1;
}

__global__ void reads_unwritten(const unsigned *in, unsigned *out, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && i % 2 == 0) out[i] = in[i];
    if (i + 1 < n) out[i] += 3;  // BAD reads_unwritten
}
__global__ void reads_unwritten_ok(const unsigned *in, unsigned *out, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i];
    if (i + 1 < n) out[i] += 3;
}

__global__ void reads_unwritten_shared(unsigned *out) {
    __shared__ unsigned tile[65];
    tile[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x + 1];  // BAD reads_unwritten_shared
}
__global__ void reads_unwritten_shared_ok(unsigned *out) {
    __shared__ unsigned tile[65];
    tile[threadIdx.x] = threadIdx.x;
    if (threadIdx.x == 0) tile[64] = 0;
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x + 1];
}

__global__ void forgotten_barrier(unsigned *out) {
    __shared__ unsigned tile[64];
    tile[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = tile[63 - threadIdx.x];  // BAD forgotten_barrier
}
__global__ void forgotten_barrier_ok(unsigned *out) {
    __shared__ unsigned tile[64];
    tile[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = tile[63 - threadIdx.x];
}

// The next round overwrites what slow threads still read.
__global__ void overwritten_too_early(unsigned *out) {
    __shared__ unsigned tile[64];
    unsigned sum = 0;
    for (unsigned r = 0; r < 4; ++r) {
        tile[threadIdx.x] = threadIdx.x + r;  // BAD overwritten_too_early
        __syncthreads();
        sum += tile[(threadIdx.x + 33) % 64];
    }
    out[threadIdx.x] = sum;
}
__global__ void overwritten_too_early_ok(unsigned *out) {
    __shared__ unsigned tile[64];
    unsigned sum = 0;
    for (unsigned r = 0; r < 4; ++r) {
        tile[threadIdx.x] = threadIdx.x + r;
        __syncthreads();
        sum += tile[(threadIdx.x + 33) % 64];
        __syncthreads();
    }
    out[threadIdx.x] = sum;
}

// Lanes of one warp without __syncwarp.
__global__ void forgotten_syncwarp(unsigned *out) {
    __shared__ unsigned tile[32];
    tile[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = tile[31 - threadIdx.x];  // BAD forgotten_syncwarp
}
__global__ void forgotten_syncwarp_ok(unsigned *out) {
    __shared__ unsigned tile[32];
    tile[threadIdx.x] = threadIdx.x;
    __syncwarp();
    out[threadIdx.x] = tile[31 - threadIdx.x];
}

// Threads count with a plain read and write of the same word.
__global__ void lost_updates(const unsigned *in, unsigned *out) {
    __shared__ unsigned bins[8];
    if (threadIdx.x < 8) bins[threadIdx.x] = 0;
    __syncthreads();
    bins[in[threadIdx.x] % 8] += 1;  // BAD lost_updates
    __syncthreads();
    if (threadIdx.x < 8) out[threadIdx.x] = bins[threadIdx.x];
}
__global__ void lost_updates_ok(const unsigned *in, unsigned *out) {
    __shared__ unsigned bins[8];
    __shared__ bool any;
    if (threadIdx.x < 8) bins[threadIdx.x] = 0;
    any = false;
    __syncthreads();
    atomicAdd(&bins[in[threadIdx.x] % 8], 1);
    if (in[threadIdx.x] > 3) any = true;
    __syncthreads();
    if (threadIdx.x < 8) out[threadIdx.x] = bins[threadIdx.x] + any;
}

// A lock orders what it protects.
__global__ void under_a_lock_ok(unsigned *out) {
    __shared__ unsigned lock, sum;
    if (threadIdx.x == 0) lock = sum = 0;
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        while (atomicCAS(&lock, 0, 1) != 0) {}
        __threadfence_block();
        sum += threadIdx.x;
        __threadfence_block();
        atomicExch(&lock, 0);
    }
    __syncthreads();
    out[threadIdx.x] = sum;
}

__global__ void divergent_barrier(unsigned *out) {
    if (threadIdx.x % 2 == 0) {
        out[threadIdx.x] = 1;
        __syncthreads();  // BAD divergent_barrier
    } else {
        out[threadIdx.x] = 2;
        __syncthreads();
    }
}
__global__ void different_barriers(unsigned *out) {
    if (threadIdx.x < 32) {
        out[threadIdx.x] = 1;
        __syncthreads();
        out[threadIdx.x] += 1;
    } else {
        out[threadIdx.x] = 2;
        __syncthreads();  // BAD different_barriers
        out[threadIdx.x] *= 2;
    }
}

__global__ void divides(const unsigned *in, unsigned *out) {
    out[threadIdx.x] = 100 / (in[threadIdx.x] & 15);  // BAD divides
}

__global__ void uses_freed(unsigned *out) {
    unsigned *p = (unsigned *)malloc(64);
    p[0] = threadIdx.x;
    out[threadIdx.x] = p[0];
    free(p);
    out[threadIdx.x] += *(volatile unsigned *)p;  // BAD uses_freed
}

}
