/* What a program that was compiled with CUDA 12 calls: its symbols and its structures, declared here as in 12.9. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void *handle;
struct location {
    int type, id;
};
int cudaGetDeviceProperties_v2(void *properties, int device);
int cudaMallocManaged(void **pointer, size_t bytes, unsigned flags);
int cudaMemAdvise(const void *pointer, size_t bytes, int advice, int device);
int cudaMemPrefetchAsync(const void *pointer, size_t bytes, int device, handle stream);
int cudaMemPrefetchAsync_v2(const void *pointer, size_t bytes, struct location where, unsigned flags,
                            handle stream);
int cudaGraphCreate(handle *graph, unsigned flags);
int cudaGraphAddEmptyNode(handle *node, handle graph, const handle *needs, size_t count);
int cudaGraphAddDependencies(handle graph, const handle *from, const handle *to, size_t count);
int cudaGraphGetEdges(handle graph, handle *from, handle *to, size_t *count);
int cudaGraphGetEdges_v2(handle graph, handle *from, handle *to, void *data, size_t *count);
int cudaGraphNodeGetDependencies(handle node, handle *needs, size_t *count);
int cudaStreamCreate(handle *stream);
int cudaStreamBeginCapture(handle stream, int mode);
int cudaStreamEndCapture(handle stream, handle *graph);
int cudaMemsetAsync(void *pointer, int value, size_t bytes, handle stream);
int cudaStreamGetCaptureInfo_v2(handle stream, int *status, unsigned long long *id, handle *graph, const handle **needs,
                                size_t *count);
int cudaThreadSynchronize(void);
int cudaDeviceGetAttribute(int *value, int attribute, int device);

#define HOLDS(condition)                                                          \
    do {                                                                          \
        if (!(condition)) printf("line %d: %s does not hold\n", __LINE__, #condition), exit(1); \
    } while (0)

static int field(const char *properties, int at) {
    int value;
    memcpy(&value, properties + at, 4);
    return value;
}

int main(void) {
    char properties[1032 + 8];
    memset(properties, 0x5a, sizeof properties);
    HOLDS(cudaGetDeviceProperties_v2(properties, 0) == 0);
    HOLDS(cudaGetDeviceProperties_v2(properties, 1) == 101);
    int sms, clock;
    HOLDS(cudaDeviceGetAttribute(&sms, 16, 0) == 0 && cudaDeviceGetAttribute(&clock, 13, 0) == 0);
    HOLDS(field(properties, 388) == sms && field(properties, 348) == clock && field(properties, 624) == 1024);
    for (int i = 1032; i < 1040; i++) HOLDS(properties[i] == 0x5a);

    void *memory;
    HOLDS(cudaMallocManaged(&memory, 4096, 1) == 0);
    HOLDS(cudaMemAdvise(memory, 4096, 3, -1) == 0 && cudaMemAdvise(memory, 4096, 3, 0) == 0);
    HOLDS(cudaMemAdvise(memory, 4096, 3, 7) == 101);
    HOLDS(cudaMemPrefetchAsync(memory, 4096, -1, NULL) == 0 && cudaMemPrefetchAsync(memory, 4096, 5, NULL) == 101);
    struct location host = {2, 0};
    HOLDS(cudaMemPrefetchAsync_v2(memory, 4096, host, 0, NULL) == 0);

    handle graph, a, b, from[4], to[4], stream;
    size_t count = 4;
    HOLDS(cudaGraphCreate(&graph, 0) == 0);
    HOLDS(cudaGraphAddEmptyNode(&a, graph, NULL, 0) == 0 && cudaGraphAddEmptyNode(&b, graph, NULL, 0) == 0);
    HOLDS(cudaGraphAddDependencies(graph, &a, &b, 1) == 0);
    HOLDS(cudaGraphGetEdges(graph, from, to, &count) == 0 && count == 1 && from[0] == a && to[0] == b && !from[1]);
    count = 4;
    HOLDS(cudaGraphGetEdges_v2(graph, from, to, NULL, &count) == 0 && count == 1);
    HOLDS(cudaGraphNodeGetDependencies(b, NULL, &count) == 0 && count == 1);
    HOLDS(cudaGraphNodeGetDependencies(a, NULL, &count) == 0 && count == 0);

    int status;
    unsigned long long id;
    const handle *needs;
    handle captured;
    HOLDS(cudaStreamCreate(&stream) == 0 && cudaStreamBeginCapture(stream, 0) == 0);
    HOLDS(cudaMemsetAsync(memory, 1, 64, stream) == 0);
    HOLDS(cudaStreamGetCaptureInfo_v2(stream, &status, &id, &captured, &needs, &count) == 0);
    HOLDS(status == 1 && count == 1 && needs[0]);
    HOLDS(cudaStreamEndCapture(stream, &graph) == 0 && graph == captured);
    HOLDS(cudaThreadSynchronize() == 0);
    printf("passed\n");
    return 0;
}
