// The C interface for embedders.
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>
#include <warplab.h>
#include "check.h"

// out[i] = in[i] * k; slot -1 is an access before the memory.
static const char *PTX =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .global .align 8 .u64 seen;\n"
    ".visible .entry times(.param .u64 out, .param .u64 in, .param .u32 k) {\n"
    " .reg .b32 %r<4>; .reg .b64 %d<6>;\n"
    " mov.u32 %r1, %tid.x; mul.wide.u32 %d1, %r1, 4; ld.param.u64 %d2, [in]; add.u64 %d2, %d2, %d1;\n"
    " ld.global.u32 %r2, [%d2]; ld.param.u32 %r3, [k]; mul.lo.u32 %r2, %r2, %r3;\n"
    " ld.param.u64 %d3, [out]; add.u64 %d4, %d3, %d1; st.global.u32 [%d4], %r2; st.global.u64 [seen], %d3; ret;\n}\n";

// Maps and unmaps memory right below an array until it is told to stop, as other threads of a program may.
static char *array;
static size_t page;
static volatile int stop;
static void *neighbour(void *unused) {
    while (!stop) {
        void *there = mmap(array - page, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        if (there != array - page || mprotect(there, page, PROT_NONE) != 0) abort();
    }
    return unused;
}

int main(void) {
    enum { N = 64 };
    uint32_t *in = malloc(N * 4), *out = malloc(N * 4), on_stack[N];
    for (uint32_t i = 0; i < N; i++) in[i] = i + 1;
    // Any memory of the program, parameters by value.
    void *args[] = {out, in, (void *)7};
    HOLDS(ptx_run(PTX, 3, args, N, 1, 1, 1, 1, 1, 0) == 0);
    for (uint32_t i = 0; i < N; i++) HOLDS(out[i] == 7 * (i + 1));
    args[0] = on_stack;
    args[2] = (void *)9;
    HOLDS(ptx_run(PTX, 3, args, N, 1, 1, 1, 1, 1, 0) == 0);
    for (uint32_t i = 0; i < N; i++) HOLDS(on_stack[i] == 9 * (i + 1));
    HOLDS(ptx_run(PTX, 2, args, N, 1, 1, 1, 1, 1, 0) == 1);
    HOLDS(ptx_run("nonsense", 0, NULL, 1, 1, 1, 1, 1, 1, 0) != 0);
    HOLDS(ptx_run(PTX, 3, args, N, 1, 1, 0, 1, 1, 0) != 0);
    args[0] = (void *)16;
    HOLDS(ptx_run(PTX, 3, args, N, 1, 1, 1, 1, 1, 0) == 700);
    // An array that begins in one mapping and ends in the next; beyond that, nothing may be written.
    page = (size_t)sysconf(_SC_PAGESIZE);
    char *two = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    HOLDS(mmap(two + page, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == two + page);
    HOLDS(mprotect(two + 2 * page, page, PROT_NONE) == 0);
    uint32_t *over = (uint32_t *)(two + page - N * 2);
    args[0] = over;
    HOLDS(ptx_run(PTX, 3, args, N, 1, 1, 1, 1, 1, 0) == 0);
    for (uint32_t i = 0; i < N; i++) HOLDS(over[i] == 9 * (i + 1));
    args[0] = two + 2 * page - N * 2;
    HOLDS(ptx_run(PTX, 3, args, N, 1, 1, 1, 1, 1, 0) == 700);
    // Neighbours of an array come and go while it is lent.
    array = two + page;
    args[0] = array;
    pthread_t thread;
    HOLDS(pthread_create(&thread, NULL, neighbour, NULL) == 0);
    for (int i = 0; i < 200; i++) HOLDS(ptx_run(PTX, 3, args, N, 1, 1, 1, 1, 1, 0) == 0);
    stop = 1;
    HOLDS(pthread_join(thread, NULL) == 0);

    warplab_module module;
    warplab_kernel_t kernel;
    uint32_t *shared, k = 3, grid[3] = {1, 1, 1}, block[3] = {N, 1, 1};
    uint64_t *seen;
    size_t bytes;
    HOLDS(warplab_load(PTX, &module) == 0);
    HOLDS(warplab_kernel(module, "nothing", &kernel) == 500);
    HOLDS(warplab_kernel(module, "times", &kernel) == 0);
    HOLDS(warplab_allocate(N * 4, (void **)&shared) == 0);
    const void *pointers[] = {&shared, &in, &k};
    // What is not shared cannot be accessed.
    HOLDS(warplab_launch(kernel, grid, block, 0, pointers) == 700);
    HOLDS(strcmp(warplab_error(700), "an illegal memory access was encountered") == 0);
    HOLDS(warplab_share(in, N * 4) == 0);
    HOLDS(warplab_launch(kernel, grid, block, 0, pointers) == 0);
    for (uint32_t i = 0; i < N; i++) HOLDS(shared[i] == 3 * (i + 1));
    HOLDS(warplab_variable(module, "seen", (void **)&seen, &bytes) == 0);
    HOLDS(bytes == 8 && *seen == (uint64_t)shared);
    // Two recordings, one after the other; without a launch there is no file.
    HOLDS(warplab_record_end() == 1 && warplab_record("") == 1);
    HOLDS(warplab_record("embed-empty.wtrace") == 0 && warplab_record("embed-empty.wtrace") == 1 && warplab_record_end() == 0);
    HOLDS(fopen("embed-empty.wtrace", "r") == NULL);
    HOLDS(warplab_record("embed-1.wtrace") == 0);
    HOLDS(warplab_launch(kernel, grid, block, 0, pointers) == 0 && warplab_launch(kernel, grid, block, 0, pointers) == 0);
    HOLDS(warplab_record_end() == 0);
    HOLDS(warplab_record("embed-2.wtrace") == 0 && warplab_launch(kernel, grid, block, 0, pointers) == 0);
    HOLDS(warplab_unshare(in) == 0 && warplab_free(shared) == 0 && warplab_unload(module) == 0);
    HOLDS(warplab_free(shared) != 0 && warplab_unload(module) == 400);
    printf("passed\n");
    return 0;
}
