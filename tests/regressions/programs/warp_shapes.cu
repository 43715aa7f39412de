// Warp-wide operations in divergent code: queues of a warp, votes and shuffles at several places, masks of groups, calls, exits.
// Each shape is a kernel beside a reference that goes through the lanes of a warp one at a time.
#include <cooperative_groups.h>
#include <cstdio>
#include <cstring>
#include <vector>
namespace cg = cooperative_groups;
#define ALL 0xffffffffu
const int N = 128, W = N / 32;
__device__ __host__ inline unsigned mix(unsigned x) { x ^= x >> 16; x *= 0x7feb352du; x ^= x >> 15; x *= 0x846ca68bu; return x ^ x >> 16; }

// ---- queues -------------------------------------------------------------------------------------------------------
__global__ void queue_continue(const int *in, int *out) {
  int lane = threadIdx.x & 31, turns = 0; bool todo = in[threadIdx.x] & 1; unsigned q;
  while ((q = __ballot_sync(ALL, todo)) != 0) { turns++; if (lane != __ffs(q) - 1) continue; atomicAdd(out + N, in[threadIdx.x]); todo = false; }
  out[threadIdx.x] = turns;
}
__global__ void queue_break(const int *in, int *out) {
  int lane = threadIdx.x & 31, turns = 0; bool todo = in[threadIdx.x] & 2;
  while (true) {
    unsigned q = __ballot_sync(ALL, todo);
    if (!q) break;
    int leader = __ffs(q) - 1;
    turns = turns * 3 + __shfl_sync(ALL, in[threadIdx.x] & 15, leader);
    if (lane == leader) { out[threadIdx.x + N] = turns; todo = false; }
  }
  out[threadIdx.x] = turns;
}
__global__ void slab_search(const int *in, int *out) {
  int lane = threadIdx.x & 31, found = -2; bool todo = in[threadIdx.x] % 3 != 0; unsigned q;
  while ((q = __ballot_sync(ALL, todo)) != 0) {
    int src = __ffs(q) - 1, key = __shfl_sync(ALL, in[threadIdx.x] & 31, src), at = lane, next = src;
    unsigned hit;
    while (true) {  // a list of slabs, each of 32 keys
      hit = __ballot_sync(ALL, (int)(mix(at + next * 32) & 31) == key);
      if (hit) break;
      next = __shfl_sync(ALL, next * 7 + 3, 31);
    }
    if (lane == src) { found = next % 1000 * 32 + __ffs(hit); todo = false; }
  }
  out[threadIdx.x] = found;
}
__global__ void nested_queues(const int *in, int *out) {
  int lane = threadIdx.x & 31, sum = 0; unsigned bits = in[threadIdx.x] & 0x55, q, p;
  while ((q = __ballot_sync(ALL, bits != 0)) != 0) {
    int src = __ffs(q) - 1; unsigned his = __shfl_sync(ALL, bits, src);
    bool mine = his >> (lane & 7) & 1;
    while ((p = __ballot_sync(ALL, mine)) != 0) {
      if (lane != __ffs(p) - 1) { sum += 1; continue; }
      sum += src; mine = false;
    }
    if (lane == src) bits &= bits - 1;
  }
  out[threadIdx.x] = sum;
}
__global__ void any_pending(const int *in, int *out) {
  int left = in[threadIdx.x] & 15, rounds = 0;
  do { rounds++; if (left > 0) { left -= 1 + (left & 1); if (left <= 0) out[threadIdx.x + N] = rounds; } } while (__any_sync(ALL, left > 0));
  out[threadIdx.x] = rounds;
}
__global__ void work_sharing(const int *in, int *out) {  // each lane has some items; the warp takes 32 at a time
  int lane = threadIdx.x & 31, mine = in[threadIdx.x] & 31, scan = mine;
  for (int o = 1; o < 32; o *= 2) { int v = __shfl_up_sync(ALL, scan, o); if (lane >= o) scan += v; }
  int total = __shfl_sync(ALL, scan, 31), begin = scan - mine, acc = 0;
  for (int base = 0; base < total; base += 32) {
    int item = base + lane, owner = -1;
    for (int l = 0; l < 32; l++) { int b = __shfl_sync(ALL, begin, l), n = __shfl_sync(ALL, mine, l); if (item >= b && item < b + n) owner = l; }
    if (owner >= 0) acc += owner * 3 + (item & 7);
    acc += __popc(__ballot_sync(ALL, owner >= 0));
  }
  out[threadIdx.x] = acc;
}
// ---- several places -----------------------------------------------------------------------------------------------
__global__ void two_votes(const int *in, int *out) {
  unsigned r; int v = in[threadIdx.x];
  if (v & 1) { r = __ballot_sync(ALL, v & 2); out[threadIdx.x + N] = 1; } else { out[threadIdx.x + N] = 2; r = __ballot_sync(ALL, v & 4); }
  out[threadIdx.x] = r;
}
__global__ void two_shuffles(const int *in, int *out) {
  int r, v = in[threadIdx.x], lane = threadIdx.x & 31;
  if (v & 1) { r = __shfl_sync(ALL, v, lane ^ 5); out[threadIdx.x + N] = 1; } else { out[threadIdx.x + N] = 2; r = __shfl_sync(ALL, v * 3, (lane + 9) & 31); }
  out[threadIdx.x] = r;
}
__global__ void three_matches(const int *in, int *out) {
  unsigned r; int v = in[threadIdx.x];
  switch (v % 3) {
    case 0: r = __match_any_sync(ALL, v & 7); out[threadIdx.x + N] = 1; break;
    case 1: out[threadIdx.x + N] = 2; r = __match_any_sync(ALL, (v & 7) ^ 1); break;
    default: r = __match_any_sync(ALL, 3); out[threadIdx.x + N] = 3;
  }
  out[threadIdx.x] = r;
}
__global__ void loop_of_two_places(const int *in, int *out) {  // lanes meet at two votes of one loop
  int x = in[threadIdx.x] & 1023, n = 0;
  while (true) {
    if (x & 1) { x = x / 2; n += 100; if (!__any_sync(ALL, x != 0)) break; continue; }
    x = x / 4; n += 1;
    if (!__any_sync(ALL, x != 0)) break;
  }
  out[threadIdx.x] = n;
}
__global__ void masked_places(const int *in, int *out) {  // groups of two masks, each at two places
  int v = in[threadIdx.x], lane = threadIdx.x & 31; unsigned m = lane & 1 ? 0xaaaaaaaau : 0x55555555u, r;
  if (v & 1) { r = __ballot_sync(m, v & 2); out[threadIdx.x + N] = 4; } else { out[threadIdx.x + N] = 5; r = __ballot_sync(m, v & 4); }
  out[threadIdx.x] = r;
}
__global__ void syncwarps(const int *in, int *out) {
  __shared__ int s[N]; int v = in[threadIdx.x], lane = threadIdx.x & 31, w = threadIdx.x & ~31, r;
  if (v & 1) { s[threadIdx.x] = v; __syncwarp(); r = s[w + (lane + 1) % 32]; __syncwarp(); } else { s[threadIdx.x] = v + 1; __syncwarp(); r = s[w + (lane + 2) % 32]; __syncwarp(); }
  out[threadIdx.x] = r;
}
// ---- masks ----------------------------------------------------------------------------------------------------------
__global__ void active_masks(const int *in, int *out) {
  int v = in[threadIdx.x], lane = threadIdx.x & 31, r = 0;
  unsigned m = __ballot_sync(ALL, v & 1);
  if (v & 1) {
    r = __popc(__ballot_sync(m, v & 2));
    unsigned k = __ballot_sync(m, v & 4);
    if (v & 4) r += __shfl_sync(k, v & 255, __ffs(k) - 1); else r += 1000 * __popc(__ballot_sync(m & ~k, v & 8));
  } else { r = __shfl_sync(~m, lane, 31 - __clz(~m)) * 7; }
  out[threadIdx.x] = r;
}
__global__ void groups_of_equal(const int *in, int *out) {
  int key = in[threadIdx.x] & 7, lane = threadIdx.x & 31, s = 0;
  unsigned m = __match_any_sync(ALL, key);
  for (int i = 0; i < key; i++) { s += __shfl_sync(m, lane * i, __ffs(m) - 1) + __popc(__ballot_sync(m, (lane + i) & 1)); if (s > 90) { s -= 7; continue; } s++; }
  out[threadIdx.x] = s;
}
__global__ void shrinking_mask(const int *in, int *out) {
  int n = in[threadIdx.x] & 15, s = 0; unsigned m = ALL;
  for (int i = 0;; i++) { bool go = i < n; m = __ballot_sync(m, go); if (!go) break; s += __popc(m) * (i + 1); }
  out[threadIdx.x] = s;
}
__global__ void coalesced(const int *in, int *out) {
  int v = in[threadIdx.x], r = -1;
  if (v & 1) {
    auto g = cg::coalesced_threads();
    if (g.thread_rank() == 0) r = atomicAdd(out + N + 4 * (threadIdx.x / 32), (int)g.size());
    r = g.shfl(r, 0) + g.thread_rank() + g.size() * 100;
    if (v & 2) { auto h = cg::coalesced_threads(); r += 10000 * h.size() + (h.any(v & 4) ? 5 : 0); }
  }
  out[threadIdx.x] = r;
}
__global__ void tiles(const int *in, int *out) {
  auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  int v = in[threadIdx.x], r = 0, n = tile.shfl(v & 7, 0);
  for (int i = 0; i < n; i++) { r += tile.shfl(v, (tile.thread_rank() + i) % 8) & 63; if (tile.any(r > 200)) break; tile.sync(); r += tile.ballot(r & 1); }
  out[threadIdx.x] = r;
}
__global__ void partitions(const int *in, int *out) {
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  int v = in[threadIdx.x];
  auto l = cg::labeled_partition(warp, v % 5);
  int r = l.shfl(v & 255, l.size() - 1) + 1000 * l.size();
  auto b = cg::binary_partition(warp, (v & 8) != 0);
  r += 100000 * __popc(b.ballot(v & 16)) + b.thread_rank();
  out[threadIdx.x] = r;
}
// ---- calls and exits ------------------------------------------------------------------------------------------------
__device__ __noinline__ int voter(int v, int depth) {
  if (v & 1) return __popc(__ballot_sync(ALL, v & 2)) + depth;
  if (depth > 5) return -1;
  return 100 * __popc(__ballot_sync(ALL, v & 4)) + depth;
}
__global__ void called_at_two_places(const int *in, int *out) {
  int v = in[threadIdx.x], r;
  if (v & 8) r = voter(v, 1) * 2; else { out[threadIdx.x + N] = v; r = voter(v >> 4, 2) + 7; }
  out[threadIdx.x] = r + __popc(__ballot_sync(ALL, r & 1));
}
__device__ __noinline__ int descend(int v, unsigned m, int depth) {
  if (depth == 0) return __popc(__ballot_sync(m, v & 1));
  unsigned k = __ballot_sync(m, v & 1);
  if (v & 1) return descend(v >> 1, k, depth - 1) + 1;
  return descend(v >> 1, m & ~k, depth - 1) * 2;
}
__global__ void recursion(const int *in, int *out) { out[threadIdx.x] = descend(in[threadIdx.x], ALL, 4); }
__global__ void early_exits(const int *in, int *out) {
  int v = in[threadIdx.x], lane = threadIdx.x & 31;
  if (v % 5 == 0) { out[threadIdx.x] = -5; return; }
  unsigned a = __ballot_sync(ALL, v & 2);
  if (v % 7 == 0) { out[threadIdx.x] = a; return; }
  unsigned left = __ballot_sync(ALL, true), q, turns = 0; bool todo = v & 1;
  while ((q = __ballot_sync(left, todo)) != 0) { turns++; if (lane == __ffs(q) - 1) { out[threadIdx.x + N] = turns; todo = false; } }
  out[threadIdx.x] = __popc(a) * 100 + turns;
}
__global__ void leaves_queue(const int *in, int *out) {  // a lane that is done ends
  int v = in[threadIdx.x], lane = threadIdx.x & 31, turns = 0;
  while (true) {
    unsigned q = __ballot_sync(ALL, true);
    turns++;
    if (lane == __ffs(q) - 1 || turns * 3 > (v & 63)) { out[threadIdx.x] = turns * 64 + __popc(q); return; }
  }
}
const int ABSENT = -12345;
__global__ void reductions(const int *in, int *out) {
#if __CUDA_ARCH__ >= 800
  int v = in[threadIdx.x]; unsigned m = __ballot_sync(ALL, v & 1); int r;
  if (v & 1) { r = __reduce_add_sync(m, v & 255); if (v & 2) r += 1; } else { out[threadIdx.x + N] = 9; r = __reduce_max_sync(~m, v & 127); }
  unsigned w = (v & 4) ? __reduce_or_sync(ALL, v & 0xff) : __reduce_or_sync(ALL, v & 0xf00);
  out[threadIdx.x] = r + w;
#else
  out[threadIdx.x] = ABSENT;
#endif
}

// ---- references: lane by lane -----------------------------------------------------------------------------------------
typedef std::vector<int> V;
struct Warp { const int *v; int *out, *aux, *base; };
template <class P> unsigned ballot(P p, unsigned of = ALL) { unsigned m = 0; for (int l = 0; l < 32; l++) if (of >> l & 1 && p(l)) m |= 1u << l; return m; }
static int ffs_(unsigned m) { return m ? __builtin_ctz(m) + 1 : 0; }
static int popc(unsigned m) { return __builtin_popcount(m); }
static void r_queue_continue(Warp w) { int n = popc(ballot([&](int l) { return w.v[l] & 1; })); for (int l = 0; l < 32; l++) { w.out[l] = n; if (w.v[l] & 1) w.base[N] += w.v[l]; } }
static void r_queue_break(Warp w) { int t = 0; for (int l = 0; l < 32; l++) if (w.v[l] & 2) { t = t * 3 + (w.v[l] & 15); w.aux[l] = t; } for (int l = 0; l < 32; l++) w.out[l] = t; }
static void r_slab_search(Warp w) {
  for (int l = 0; l < 32; l++) { w.out[l] = -2; if (w.v[l] % 3 == 0) continue; int next = l; while (true) { unsigned h = ballot([&](int k) { return (int)(mix(k + next * 32) & 31) == (w.v[l] & 31); }); if (h) { w.out[l] = next % 1000 * 32 + ffs_(h); break; } next = next * 7 + 3; } }
}
static void r_nested_queues(Warp w) {
  unsigned bits[32], q; for (int l = 0; l < 32; l++) { bits[l] = w.v[l] & 0x55; w.out[l] = 0; }
  while ((q = ballot([&](int l) { return bits[l] != 0; })) != 0) { int src = ffs_(q) - 1; unsigned mine = ballot([&](int l) { return bits[src] >> (l & 7) & 1; }); for (; mine; mine &= mine - 1) for (int l = 0; l < 32; l++) w.out[l] += l == ffs_(mine) - 1 ? src : 1; bits[src] &= bits[src] - 1; }
}
static void r_any_pending(Warp w) {
  int left[32], rounds = 0; for (int l = 0; l < 32; l++) left[l] = w.v[l] & 15;
  do { rounds++; for (int l = 0; l < 32; l++) if (left[l] > 0) { left[l] -= 1 + (left[l] & 1); if (left[l] <= 0) w.aux[l] = rounds; } } while (ballot([&](int l) { return left[l] > 0; }));
  for (int l = 0; l < 32; l++) w.out[l] = rounds;
}
static void r_work_sharing(Warp w) {
  V owner; for (int l = 0; l < 32; l++) for (int k = 0; k < (w.v[l] & 31); k++) owner.push_back(l);
  for (int l = 0; l < 32; l++) { int acc = 0; for (int b = 0; b < (int)owner.size(); b += 32) { int i = b + l; if (i < (int)owner.size()) acc += owner[i] * 3 + (i & 7); acc += (int)owner.size() - b < 32 ? (int)owner.size() - b : 32; } w.out[l] = acc; }
}
static void r_two_votes(Warp w) { unsigned r = ballot([&](int l) { return w.v[l] & (w.v[l] & 1 ? 2 : 4); }); for (int l = 0; l < 32; l++) { w.out[l] = r; w.aux[l] = w.v[l] & 1 ? 1 : 2; } }
static void r_two_shuffles(Warp w) { for (int l = 0; l < 32; l++) { int o = w.v[l] & 1, s = o ? l ^ 5 : (l + 9) & 31; w.out[l] = w.v[s] & 1 ? w.v[s] : w.v[s] * 3; w.aux[l] = o ? 1 : 2; } }
static void r_three_matches(Warp w) { auto key = [&](int l) { int v = w.v[l]; return v % 3 == 0 ? v & 7 : v % 3 == 1 ? (v & 7) ^ 1 : 3; }; for (int l = 0; l < 32; l++) { w.out[l] = ballot([&](int k) { return key(k) == key(l); }); w.aux[l] = w.v[l] % 3 + 1; } }
static void r_loop_of_two_places(Warp w) {
  int x[32], n[32] = {0}; for (int l = 0; l < 32; l++) x[l] = w.v[l] & 1023;
  do for (int l = 0; l < 32; l++) if (x[l] & 1) { x[l] /= 2; n[l] += 100; } else { x[l] /= 4; n[l] += 1; } while (ballot([&](int l) { return x[l] != 0; }));
  for (int l = 0; l < 32; l++) w.out[l] = n[l];
}
static void r_masked_places(Warp w) { for (int l = 0; l < 32; l++) { w.out[l] = ballot([&](int k) { return w.v[k] & (w.v[k] & 1 ? 2 : 4); }, l & 1 ? 0xaaaaaaaau : 0x55555555u); w.aux[l] = w.v[l] & 1 ? 4 : 5; } }
static void r_syncwarps(Warp w) { for (int l = 0; l < 32; l++) { int s = (l + (w.v[l] & 1 ? 1 : 2)) % 32; w.out[l] = w.v[s] & 1 ? w.v[s] : w.v[s] + 1; } }
static void r_active_masks(Warp w) {
  unsigned m = ballot([&](int l) { return w.v[l] & 1; }), k = ballot([&](int l) { return w.v[l] & 4; }, m);
  for (int l = 0; l < 32; l++) if (m >> l & 1) { w.out[l] = popc(ballot([&](int j) { return w.v[j] & 2; }, m)); if (k >> l & 1) w.out[l] += w.v[ffs_(k) - 1] & 255; else w.out[l] += 1000 * popc(ballot([&](int j) { return w.v[j] & 8; }, m & ~k)); } else w.out[l] = (31 - __builtin_clz(~m)) * 7;
}
static void r_groups_of_equal(Warp w) {
  for (int l = 0; l < 32; l++) { int key = w.v[l] & 7, s = 0; unsigned m = ballot([&](int j) { return (w.v[j] & 7) == key; }); for (int i = 0; i < key; i++) { s += (ffs_(m) - 1) * i + popc(ballot([&](int j) { return (j + i) & 1; }, m)); if (s > 90) s -= 7; else s++; } w.out[l] = s; }
}
static void r_shrinking_mask(Warp w) { for (int l = 0; l < 32; l++) { int s = 0; for (int i = 0; i < (w.v[l] & 15); i++) s += popc(ballot([&](int j) { return i < (w.v[j] & 15); })) * (i + 1); w.out[l] = s; } }
static void r_coalesced(Warp w) {
  unsigned g = ballot([&](int l) { return w.v[l] & 1; }), h = ballot([&](int l) { return w.v[l] & 2; }, g); bool any = ballot([&](int l) { return w.v[l] & 4; }, h); 
  for (int l = 0; l < 32; l++) { w.out[l] = -1; if (!(g >> l & 1)) continue; int rank = popc(g & ((1u << l) - 1)); w.out[l] = rank + popc(g) * 100; if (h >> l & 1) w.out[l] += 10000 * popc(h) + (any ? 5 : 0); }
  w.base[N + 4 * ((w.out - w.base) / 32)] = popc(g);
}
static void r_tiles(Warp w) {
  for (int t = 0; t < 32; t += 8) { int r[8] = {0}, n = w.v[t] & 7;
    for (int i = 0; i < n; i++) { bool any = false; for (int k = 0; k < 8; k++) { r[k] += w.v[t + (k + i) % 8] & 63; any |= r[k] > 200; } if (any) break; int b = 0; for (int k = 0; k < 8; k++) b |= (r[k] & 1) << k; for (int k = 0; k < 8; k++) r[k] += b; }
    for (int k = 0; k < 8; k++) w.out[t + k] = r[k]; }
}
static void r_partitions(Warp w) {
  for (int l = 0; l < 32; l++) { unsigned m = ballot([&](int j) { return w.v[j] % 5 == w.v[l] % 5; }), b = ballot([&](int j) { return (w.v[j] & 8) == (w.v[l] & 8); });
    w.out[l] = (w.v[31 - __builtin_clz(m)] & 255) + 1000 * popc(m) + 100000 * popc(ballot([&](int j) { return w.v[j] & 16; }, b)) + popc(b & ((1u << l) - 1)); }
}
static void r_called_at_two_places(Warp w) {
  auto arg = [&](int l) { return w.v[l] & 8 ? w.v[l] : w.v[l] >> 4; }; unsigned b = ballot([&](int l) { return arg(l) & (arg(l) & 1 ? 2 : 4); }); int r[32];
  for (int l = 0; l < 32; l++) { bool first = w.v[l] & 8; int depth = first ? 1 : 2, x = (arg(l) & 1 ? 1 : 100) * popc(b) + depth; r[l] = first ? x * 2 : x + 7; if (!first) w.aux[l] = w.v[l]; }
  unsigned e = ballot([&](int l) { return r[l] & 1; }); for (int l = 0; l < 32; l++) w.out[l] = r[l] + popc(e);
}
static int r_descend(const int *v, int l, unsigned m, int depth, int at) { unsigned k = ballot([&](int j) { return v[j] >> at & 1; }, m); if (!depth) return popc(k); return v[l] >> at & 1 ? r_descend(v, l, k, depth - 1, at + 1) + 1 : r_descend(v, l, m & ~k, depth - 1, at + 1) * 2; }
static void r_recursion(Warp w) { for (int l = 0; l < 32; l++) w.out[l] = r_descend(w.v, l, ALL, 4, 0); }
static void r_early_exits(Warp w) {
  unsigned in = ballot([&](int l) { return w.v[l] % 5 != 0; }), a = ballot([&](int l) { return w.v[l] & 2; }, in), left = ballot([&](int l) { return w.v[l] % 7 != 0; }, in); int t = 0;
  for (int l = 0; l < 32; l++) { if (!(in >> l & 1)) w.out[l] = -5; else if (!(left >> l & 1)) w.out[l] = a; else if (w.v[l] & 1) w.aux[l] = ++t; }
  for (int l = 0; l < 32; l++) if (left >> l & 1) w.out[l] = popc(a) * 100 + t;
}
static void r_leaves_queue(Warp w) { unsigned live = ALL; for (int t = 1; live; t++) { unsigned q = live; for (int l = 0; l < 32; l++) if (q >> l & 1 && (l == ffs_(q) - 1 || t * 3 > (w.v[l] & 63))) { w.out[l] = t * 64 + popc(q); live &= ~(1u << l); } } }
static void r_reductions(Warp w) {
  unsigned m = ballot([&](int l) { return w.v[l] & 1; }); int sum = 0, most = 0, any = 0;
  for (int l = 0; l < 32; l++) { if (w.v[l] & 1) sum += w.v[l] & 255; else if ((w.v[l] & 127) > most) most = w.v[l] & 127; any |= w.v[l] & (w.v[l] & 4 ? 0xff : 0xf00); }
  for (int l = 0; l < 32; l++) { w.out[l] = (m >> l & 1 ? sum + (w.v[l] & 2 ? 1 : 0) : most) + any; if (!(m >> l & 1)) w.aux[l] = 9; }
}

#define SHAPE(name) {#name, name, r_##name}
struct Shape { const char *name; void (*kernel)(const int *, int *); void (*reference)(Warp); } shapes[] = {
    SHAPE(queue_continue), SHAPE(queue_break), SHAPE(slab_search), SHAPE(nested_queues), SHAPE(any_pending), SHAPE(work_sharing), SHAPE(two_votes), SHAPE(two_shuffles), SHAPE(three_matches), SHAPE(loop_of_two_places),
    SHAPE(masked_places), SHAPE(syncwarps), SHAPE(active_masks), SHAPE(groups_of_equal), SHAPE(shrinking_mask), SHAPE(coalesced), SHAPE(tiles), SHAPE(partitions), SHAPE(called_at_two_places), SHAPE(recursion),
    SHAPE(early_exits), SHAPE(leaves_queue), SHAPE(reductions)};

int main(int argc, char **argv) {
  int *in, *out, failed = 0, ran = 0;
  cudaMalloc(&in, N * 4); cudaMalloc(&out, 2 * N * 4);
  for (Shape &s : shapes) {
    if (argc > 1 && strcmp(argv[1], s.name)) continue;
    for (int seed = 0; seed < 3; seed++) {
      V data(N), got(2 * N), want(2 * N, 0);
      for (int i = 0; i < N; i++) data[i] = mix(i * 977 + seed * 31337 + 7) & 0xffff;
      cudaMemcpy(in, data.data(), N * 4, cudaMemcpyHostToDevice); cudaMemset(out, 0, 2 * N * 4);
      s.kernel<<<1, N>>>(in, out);
      cudaError_t e = cudaDeviceSynchronize();
      if (e) { printf("FAIL %s: %s\n", s.name, cudaGetErrorString(e)); return 1; }
      cudaMemcpy(got.data(), out, 2 * N * 4, cudaMemcpyDeviceToHost);
      if (got[0] == ABSENT) continue;
      for (int w = 0; w < W; w++) s.reference({data.data() + 32 * w, want.data() + 32 * w, want.data() + N + 32 * w, want.data()});
      ran++;
      for (int i = 0; i < 2 * N; i++) if (got[i] != want[i]) { printf("FAIL %s, seed %d: word %d is %d, not %d\n", s.name, seed, i, got[i], want[i]); failed++; break; }
    }
  }
  if (failed) return 1;
  printf("PASS %d runs\n", ran);
}
