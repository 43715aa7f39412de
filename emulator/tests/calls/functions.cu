#include <cstdio>
#include <cassert>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__device__ __noinline__ int fib(int n) { return n < 2 ? n : fib(n-1) + fib(n-2); }
__device__ __noinline__ void quicksort(int *a, int lo, int hi) {
  while (lo < hi) {
    int p = a[(lo+hi)/2], i = lo, j = hi;
    while (i <= j) { while (a[i] < p) i++; while (a[j] > p) j--; if (i <= j) { int t=a[i]; a[i]=a[j]; a[j]=t; i++; j--; } }
    if (j - lo < hi - i) { quicksort(a, lo, j); lo = i; } else { quicksort(a, i, hi); hi = j; }
  }
}
__device__ int is_odd(unsigned n);
__device__ __noinline__ int is_even(unsigned n) { return n == 0 ? 1 : is_odd(n - 1) * 3; }
__device__ __noinline__ int is_odd(unsigned n) { return n == 0 ? 0 : is_even(n - 1) + 1; }
struct Shape { int k; __device__ virtual float area(float s) const = 0; __device__ virtual ~Shape() {} };
struct Square : Shape { __device__ float area(float s) const override { return s * s + k; } };
struct Circle : Shape { float f; __device__ float area(float s) const override { return 3.0f * s * s * f + k; } };
struct Twin : Square { Shape *a; __device__ float area(float s) const override { return a->area(s) + Square::area(2*s); } };
typedef int (*op_t)(int,int);
__device__ int add(int a,int b){return a+b;}
__device__ int sub(int a,int b){return a-b;}
__device__ int mulo(int a,int b){return a*b;}
__device__ op_t table[4] = {add, sub, mulo, add};
__constant__ op_t ctable[2] = {mulo, sub};
struct Big { int a; double b; char c[9]; };
__device__ __noinline__ Big bump(Big x, int i) { x.a += i; x.b *= 2; x.c[i & 7] += 1; return x; }
__device__ int counters[4] = {1,2,3,4};
__device__ int *where = &counters[2];

extern "C" __global__ void recursion(int *out, int *data, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  out[t] = fib(t % 12) + is_even(t % 9) * 1000;
  quicksort(data + t * n, 0, n - 1);
}
extern "C" __global__ void virtuals(float *out) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  Shape *s;
  if (t % 3 == 0) { s = new Square; } else if (t % 3 == 1) { Circle *c = new Circle; c->f = 0.5f; s = c; }
  else { Twin *w = new Twin; Circle *c = new Circle; c->f = 2.0f; c->k = 7; w->a = c; s = w; }
  s->k = t;
  out[t] = s->area((float)(t & 7));
  if (t % 3 == 2) delete ((Twin*)s)->a;
  delete s;
}
extern "C" __global__ void tables(int *out, int which) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  op_t f = table[t & 3];
  op_t g = ctable[which];
  out[t] = f(t, 7) * 1000 + g(t, 3) + *where;
}
extern "C" __global__ void structs(double *out) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  Big b; b.a = t; b.b = t * 0.5; for (int i = 0; i < 9; i++) b.c[i] = i;
  b = bump(b, t);
  b = bump(b, 3);
  double s = b.a + b.b; for (int i = 0; i < 9; i++) s += b.c[i] * (i + 1);
  out[t] = s;
}
extern "C" __global__ void prints(int n) {
  int t = threadIdx.x;
  printf("block %d thread %3d of %u: %5.2f %-8s|%+d|%#x|%lld %c%%\n", blockIdx.x, t, blockDim.x, t * 1.5, t & 1 ? "odd" : "even", -t, t * 17, (long long)t << 33, 'a' + t);
  if (t == 1) printf("plain\n");
}
extern "C" __global__ void asserts(int *a) { assert(a[threadIdx.x] != 3); a[threadIdx.x] = 0; }
struct Node { int v; Node *next; };
extern "C" __global__ void lists(int *out, int n) {
  int t = threadIdx.x; Node *h = nullptr;
  for (int i = 0; i < n; i++) { Node *x = (Node*)malloc(sizeof(Node)); if (!x) { out[t] = -1; return; } x->v = i * t; x->next = h; h = x; }
  int s = 0; while (h) { s += h->v; Node *x = h->next; free(h); h = x; }
  out[t] = s;
}
extern "C" __global__ void gridsync(int *a, int *b, int n) {
  auto g = cg::this_grid();
  int t = g.thread_rank();
  a[t] = t * 3;
  g.sync();
  b[t] = a[(t + n / 2) % n];
  g.sync();
  a[t] = b[n - 1 - t] + 1;
}
extern "C" __global__ void dyn(int *out, int n) {
  int t = threadIdx.x;
  int m = (t % 5 + 1) * 4;
  int *p = (int*)alloca(m * 4);
  for (int i = 0; i < m; i++) p[i] = i * t;
  int s = 0; for (int i = 0; i < m; i++) s += p[(i * 7) % m];
  out[t] = s;
}
