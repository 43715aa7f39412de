// What the C programs share: a failed call or a wrong value ends the program with its line.
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPECT(call, status)                                                                   \
    do {                                                                                       \
        CUresult got_ = (call);                                                                \
        if (got_ != (status)) {                                                                \
            printf("line %d: %s gave %d, not %d\n", __LINE__, #call, (int)got_, (int)(status)); \
            return 1;                                                                          \
        }                                                                                      \
    } while (0)
#define OK(call) EXPECT(call, CUDA_SUCCESS)
#define HOLDS(what)                                           \
    do {                                                      \
        if (!(what)) {                                        \
            printf("line %d: not so: %s\n", __LINE__, #what); \
            return 1;                                         \
        }                                                     \
    } while (0)
