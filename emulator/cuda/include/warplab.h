/* Warplab's emulator in a program of your own: load PTX, launch kernels, read what they wrote.
 *
 * Link with libcuda.so.1. Every function returns 0, or the number of a CUDA error, which warplab_error() puts into
 * words; details (where a kernel failed, what is wrong with a PTX text) go to standard error. A launch is finished
 * when its function returns, and a kernel's fault is the result of its launch only. Functions may be called from
 * any thread, one at a time does its work.
 *
 * Host and kernels have one address space: a pointer means the same on both sides. Kernels may access memory of
 * warplab_allocate(), variables of modules, and what warplab_share() names; any other access is a fault that is
 * reported, never a crash of the program.
 *
 * For instance, with PTX that has a kernel `scale(float *values, float factor)`:
 *
 *     warplab_module module;
 *     warplab_kernel_t kernel;
 *     float *values, factor = 2;
 *     uint32_t grid[3] = {4, 1, 1}, block[3] = {64, 1, 1};
 *     const void *args[] = {&values, &factor};
 *     if (warplab_load(ptx, &module) || warplab_kernel(module, "scale", &kernel)) return 1;
 *     if (warplab_allocate(256 * sizeof(float), (void **)&values)) return 1;
 *     for (int i = 0; i < 256; i++) values[i] = i;
 *     if (warplab_record("scale.wtrace")) return 1;
 *     int32_t result = warplab_launch(kernel, grid, block, 0, args);
 *     if (result) { fprintf(stderr, "%s\n", warplab_error(result)); return 1; }
 *     if (warplab_record_end()) return 1;
 *     printf("%g\n", values[255]);
 *
 * WARPLAB_DEVICE chooses the GPU (such as sm_80), WARPLAB_THREADS how many threads emulate, and
 * WARPLAB_MAX_INSTRUCTIONS how many warp instructions a launch may take. */
#ifndef WARPLAB_H
#define WARPLAB_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Runs the first kernel of a PTX text with blocks of bx * by * bz threads in a grid of gx * gy * gz.
 *
 * `args` holds the parameters themselves, each in 8 bytes: an address, or a number of which the parameter's low
 * bytes count. Texts are kept, so that running one again does not translate it again.
 *
 * Memory need not be announced. For the time of the call the kernel may access the whole of every readable and
 * writable mapping of the process in which an argument's value lies, and of those adjacent to it: the heap, for a
 * pointer that malloc() gave. Within such a mapping a wrong index is not noticed, and other threads should leave it
 * alone; memory of warplab_allocate() is checked exactly. What is reachable only through pointers in memory has to lie
 * in one of these mappings, or be shared. A caller has to look at the result: after a fault the arrays are incomplete.
 *
 * sin.approx and cos.approx, and tangents made of them, are as inexact as on a GPU: their absolute error grows with
 * the argument, and from 10^4 to 10^6 few digits are right. tinygrad's PTX renderer uses them, and its own tests of
 * such arguments expect more. */
int32_t ptx_run(const char *source, int32_t n_args, void **args, int32_t bx, int32_t by, int32_t bz, int32_t gx,
                int32_t gy, int32_t gz, int32_t shared_bytes);

/* A loaded PTX text, and a kernel of one; 0 is none. A kernel lives as long as its module. */
typedef uint64_t warplab_module;
typedef uint64_t warplab_kernel_t;

/* Loads a PTX text that ends with a NUL, and unloads it with its kernels and variables. */
int32_t warplab_load(const char *source, warplab_module *module);
int32_t warplab_unload(warplab_module module);

/* Finds a kernel (.entry) by name. */
int32_t warplab_kernel(warplab_module module, const char *name, warplab_kernel_t *kernel);

/* Finds a .global or .const variable by name; `bytes` may be NULL. */
int32_t warplab_variable(warplab_module module, const char *name, void **memory, size_t *bytes);

/* Memory that host and kernels share, zeroed. */
int32_t warplab_allocate(size_t bytes, void **memory);
int32_t warplab_free(void *memory);

/* Lets kernels access memory that the program has; it has to stay until warplab_unshare(). */
int32_t warplab_share(void *memory, size_t bytes);
int32_t warplab_unshare(void *memory);

/* Runs a kernel. `args` points to each parameter, in order, as cuLaunchKernel takes them. */
int32_t warplab_launch(warplab_kernel_t kernel, const uint32_t grid[3], const uint32_t block[3],
                       uint32_t shared_bytes, const void *const *args);

/* Records all launches from now on into a trace, for `timing` and `trace`; a file that is there already is left
 * alone, and the number of the process goes into the name. warplab_record_end(), or the end of the process, completes
 * the trace. There is none when nothing was launched. */
int32_t warplab_record(const char *path);
int32_t warplab_record_end(void);

/* What a result means. */
const char *warplab_error(int32_t result);

#ifdef __cplusplus
}
#endif

#endif
