// Programs whose blocks and lanes wait for one another. Compiled with nvcc -arch=sm_75 -O3 -ptx; the results are
// checked in tests/waiting.rs against what the programs must compute.

extern "C" {

// Every block adds to the sum of its neighbours after a barrier of the whole grid, `rounds` times.
__device__ unsigned arrived;
__device__ volatile unsigned sense;

__device__ void grid_barrier(unsigned blocks) {
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned now = sense;
        __threadfence();
        if (atomicAdd(&arrived, 1) == blocks - 1) {
            arrived = 0;
            __threadfence();
            sense = now + 1;
        } else {
            while (sense == now) {}
        }
        __threadfence();
    }
    __syncthreads();
}

__global__ void rounds(unsigned *a, unsigned *b, unsigned count) {
    unsigned blocks = gridDim.x, n = blocks * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
    for (unsigned r = 0; r < count; ++r) {
        unsigned *from = r & 1 ? b : a, *to = r & 1 ? a : b;
        const volatile unsigned *v = from;
        unsigned x = v[(i + blockDim.x) % n] + v[(i + n - blockDim.x) % n] + r;
        to[i] = x;
        grid_barrier(blocks);
    }
}

// Single-pass inclusive scan: each block looks back at the aggregates of those before it.
__global__ void scan_look_back(const unsigned *in, unsigned *out, unsigned *status, unsigned *partial, unsigned n) {
    __shared__ unsigned tile[256];
    __shared__ unsigned before;
    unsigned t = threadIdx.x, i = blockIdx.x * 256 + t;
    tile[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (unsigned d = 1; d < 256; d *= 2) {
        unsigned x = t >= d ? tile[t - d] : 0;
        __syncthreads();
        tile[t] += x;
        __syncthreads();
    }
    if (t == 0) {
        volatile unsigned *s = status, *p = partial;
        p[2 * blockIdx.x] = tile[255];
        __threadfence();
        if (blockIdx.x > 0) s[blockIdx.x] = 1;
        unsigned sum = 0;
        for (int b = (int)blockIdx.x - 1; b >= 0; --b) {
            unsigned state;
            while ((state = s[b]) == 0) {}
            __threadfence();
            if (state == 2) {
                sum += p[2 * b + 1];
                break;
            }
            sum += p[2 * b];
        }
        before = sum;
        p[2 * blockIdx.x + 1] = sum + tile[255];
        __threadfence();
        s[blockIdx.x] = 2;
    }
    __syncthreads();
    if (i < n) out[i] = tile[t] + before;
}

// The same with blocks numbered from the end: every block waits for one that starts later.
__global__ void chain_from_the_end(unsigned *value, unsigned *flag) {
    unsigned b = blockIdx.x, last = gridDim.x - 1;
    volatile unsigned *f = flag, *v = value;
    if (threadIdx.x == 0) {
        unsigned x = 1;
        if (b != last) {
            while (f[b + 1] == 0) {}
            __threadfence();
            x = v[b + 1] + b;
        }
        v[b] = x;
        __threadfence();
        f[b] = 1;
    }
}

// Every lane takes a lock in divergent code: with lanes in lock step the holder would wait for the others.
__global__ void spin_lock(unsigned *lock, unsigned *counter, unsigned *order) {
    while (atomicCAS(lock, 0, 1) != 0) {}
    __threadfence();
    unsigned c = *(volatile unsigned *)counter;
    *(volatile unsigned *)counter = c + 1;
    order[c] = blockIdx.x * blockDim.x + threadIdx.x;
    __threadfence();
    atomicExch(lock, 0);
}

// The lock is released where lanes have met again: the holder goes on without those that spin, and shuffles with them.
__global__ void spin_lock_then_shuffle(unsigned *lock, unsigned *counter, unsigned *sums) {
    while (atomicCAS(lock, 0, 1) != 0) {}
    __threadfence();
    unsigned mine = *(volatile unsigned *)counter;
    *(volatile unsigned *)counter = mine + 1;
    __threadfence();
    atomicExch(lock, 0);
    unsigned sum = mine;
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffff, sum, d);
    if (__any_sync(0xffffffff, sum == 0)) sum = 1000000;
    sums[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// As programmers wrote it for lanes in lock step, followed by a shuffle of the whole warp.
__global__ void lock_then_shuffle(unsigned *lock, unsigned *counter, unsigned *sums) {
    bool done = false;
    unsigned mine = 0;
    while (!done) {
        if (atomicExch(lock, 1) == 0) {
            mine = *(volatile unsigned *)counter;
            *(volatile unsigned *)counter = mine + 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    }
    unsigned sum = mine;
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffff, sum, d);
    sums[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// Blocks enter in the order of the tickets that they draw.
__global__ void ticket_lock(unsigned *next, unsigned *serving, unsigned *log) {
    if (threadIdx.x == 0) {
        unsigned mine = atomicAdd(next, 1);
        while (*(volatile unsigned *)serving != mine) __nanosleep(100);
        __threadfence();
        log[mine] = blockIdx.x;
        __threadfence();
        *(volatile unsigned *)serving = mine + 1;
    }
}

// Lanes of the upper half of a warp produce, those of the lower half consume, through flags in shared memory.
__global__ void lanes_of_a_warp(unsigned *out) {
    __shared__ volatile unsigned flag[16], data[16];
    unsigned l = threadIdx.x;
    if (l < 16) flag[l] = 0;
    __syncwarp();
    if (l < 16) {
        unsigned sum = 0;
        for (unsigned round = 1; round <= 5; ++round) {
            while (flag[l] != round) {}
            __threadfence_block();
            sum = sum * 3 + data[l];
            __threadfence_block();
            flag[l] = 100 + round;
        }
        out[l] = sum;
    } else {
        unsigned p = 31 - l;
        for (unsigned round = 1; round <= 5; ++round) {
            data[p] = round * 10 + p;
            __threadfence_block();
            flag[p] = round;
            while (flag[p] != 100 + round) {}
            __threadfence_block();
        }
    }
}

// Lanes wait for one another at different warp barriers.
__global__ void different_warp_barriers(unsigned *out) {
    __shared__ unsigned tile[32];
    unsigned l = threadIdx.x;
    if (l < 16) {
        tile[l] = l + 1;
        __syncwarp();
        out[l] = tile[31 - l];
    } else {
        tile[l] = 100 * l;
        __syncwarp();
        out[l] = tile[31 - l];
    }
}

// Two locks taken in opposite order by two blocks that both hold their first: a deadlock.
__global__ void opposite_locks(unsigned *locks, unsigned *out) {
    unsigned b = blockIdx.x;
    volatile unsigned *ready = locks + 2;
    if (threadIdx.x == 0) {
        while (atomicCAS(&locks[b], 0, b + 1) != 0) {}
        atomicAdd(locks + 2, 1);
        while (*ready != 2) {}
        while (atomicCAS(&locks[1 - b], 0, b + 1) != 0) {}
        out[b] = 1;
    }
}

// Nobody sets the flag.
__global__ void forgotten_flag(unsigned *flag, unsigned *out) {
    if (threadIdx.x == 5) {
        while (*(volatile unsigned *)(flag + 3) == 7) {}
    }
    __syncthreads();
    out[threadIdx.x] = 1;
}

// Gives up after a while: no deadlock.
__global__ void patience(unsigned *flag, unsigned *out) {
    unsigned tries = 0;
    while (*(volatile unsigned *)flag == 0 && tries < 5000) ++tries;
    out[threadIdx.x] = tries;
}

}
