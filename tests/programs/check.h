// What all programs share: a failed call or a wrong value ends the program with its line.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define OK(call)                                                                                  \
    do {                                                                                          \
        cudaError_t code_ = (call);                                                               \
        if (code_ != cudaSuccess) {                                                               \
            printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(code_));     \
            exit(1);                                                                              \
        }                                                                                         \
    } while (0)

#define FAILS(call, expected)                                                                     \
    do {                                                                                          \
        cudaError_t code_ = (call);                                                               \
        if (code_ != (expected)) {                                                                \
            printf("%s:%d: %s: %s, expected %s\n", __FILE__, __LINE__, #call,                     \
                   cudaGetErrorName(code_), cudaGetErrorName(expected));                          \
            exit(1);                                                                              \
        }                                                                                         \
    } while (0)

#define CHECK(condition)                                                                          \
    do {                                                                                          \
        if (!(condition)) {                                                                       \
            printf("%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition);                 \
            exit(1);                                                                              \
        }                                                                                         \
    } while (0)

static inline int passed() {
    OK(cudaDeviceSynchronize());
    printf("PASSED\n");
    return 0;
}
