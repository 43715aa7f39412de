// A program that launches, waits, and says so, one line for each launch whose end it has been told of:
//   guest N BLOCKS     N launches of so many blocks; exit code 0 if the result is right
// The functions are declared here, so that a C compiler and the library are all that it takes.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef unsigned long long Address;
int cuInit(unsigned);
int cuDeviceGet(int *, int);
int cuCtxCreate_v2(void **, unsigned, int);
int cuCtxSynchronize(void);
int cuModuleLoadData(void **, const void *);
int cuModuleGetFunction(void **, void *, const char *);
int cuMemAlloc_v2(Address *, size_t);
int cuMemsetD32_v2(Address, unsigned, size_t);
int cuMemcpyDtoH_v2(void *, Address, size_t);
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
int cuStreamSynchronize(void *);
int cuStreamQuery(void *);
int cuEventCreate(void **, unsigned);
int cuEventRecord(void *, void *);
int cuEventSynchronize(void *);
int cuEventQuery(void *);

static const char *ptx =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry step(.param .u64 to) {\n"
    ".reg .b32 %r<8>; .reg .b64 %a<4>; .reg .pred %p;\n"
    "ld.param.u64 %a0, [to]; mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x;\n"
    "mad.lo.u32 %r3, %r0, %r1, %r2; mul.wide.u32 %a1, %r3, 4; add.u64 %a1, %a0, %a1; mov.u32 %r4, 0;\n"
    "again: ld.global.u32 %r5, [%a1]; add.u32 %r5, %r5, %r3; st.global.u32 [%a1], %r5;\n"
    "add.u32 %r4, %r4, 1; setp.lt.u32 %p, %r4, 8; @%p bra again; ret;\n}\n";

#define CHECK(call) do { int code = (call); if (code) { \
    fprintf(stderr, "%s: %d\n", #call, code); return 2; } } while (0)

int main(int count, char **words) {
    int launches = count > 1 ? atoi(words[1]) : 100, blocks = count > 2 ? atoi(words[2]) : 4;
    unsigned threads = 64, all = blocks * threads;
    unsigned *back = malloc(all * sizeof *back);
    void *context, *module, *step, *event;
    int device;
    Address to;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuCtxCreate_v2(&context, 0, device));
    CHECK(cuModuleLoadData(&module, ptx));
    CHECK(cuModuleGetFunction(&step, module, "step"));
    CHECK(cuEventCreate(&event, 0));
    CHECK(cuMemAlloc_v2(&to, all * sizeof *back));
    CHECK(cuMemsetD32_v2(to, 0, all));
    void *arguments[] = { &to };
    for (int i = 0; i < launches; i++) {
        CHECK(cuLaunchKernel(step, blocks, 1, 1, threads, 1, 1, 0, 0, arguments, 0));
        CHECK(cuEventRecord(event, 0));
        switch (i % 6) {
        case 0: CHECK(cuCtxSynchronize()); break;
        case 1: CHECK(cuStreamSynchronize(0)); break;
        case 2: CHECK(cuEventSynchronize(event)); break;
        case 3: while (cuStreamQuery(0)) {} break;
        case 4: while (cuEventQuery(event)) {} break;
        default: CHECK(cuMemcpyDtoH_v2(back, to, all * sizeof *back));
        }
        char line[16];
        int length = snprintf(line, sizeof line, "%d\n", i + 1);
        if (write(1, line, length) != length) return 3;
    }
    CHECK(cuMemcpyDtoH_v2(back, to, all * sizeof *back));
    for (unsigned i = 0; i < all; i++)
        if (back[i] != (unsigned)launches * 8 * i) return fprintf(stderr, "%u: %u\n", i, back[i]), 4;
    fprintf(stderr, "right\n");
    return 0;
}
