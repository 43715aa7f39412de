// Textures and surfaces of every shape, with handles in parameters and in memory, where neighbouring lanes have different ones.
// Every texel of object o holds 1000 * o + 100 * layer + its place, so that a fetch without a filter says what it read.
#include <cstdio>
#include <vector>
enum { D1, D2, D3, L1, L2, CUBE, LCUBE, LINEAR, SHAPES };
const int N = 4, LAYERS = 3, OBJECTS = 2;
struct Handles { cudaTextureObject_t tex[SHAPES]; cudaSurfaceObject_t surf[5]; };

__device__ float at(int v) { return v + 0.5f; }
// The direction whose face and place are these: faces +x, -x, +y, -y, +z, -z.
__device__ float3 direction(int face, int x, int y) {
  float s = 2 * at(x) / N - 1, t = 2 * at(y) / N - 1;
  switch (face) {
  case 0: return make_float3(1, -t, -s);
  case 1: return make_float3(-1, -t, s);
  case 2: return make_float3(s, 1, t);
  case 3: return make_float3(s, -1, -t);
  case 4: return make_float3(s, -t, 1);
  default: return make_float3(-s, -t, -1);
  }
}
__device__ void shade(const Handles &h, float *o, int i) {
  int x = i % N, y = (i / 2) % N, z = (i / 3) % N, l = i % LAYERS, f = i % 6;
  float2 g = make_float2(0.01f, 0.01f);
  float3 d = direction(f, x, y);
  *o++ = tex1D<float>(h.tex[D1], at(x)), *o++ = tex1DLod<float>(h.tex[D1], at(x), 0), *o++ = tex1DGrad<float>(h.tex[D1], at(x), 0.01f, 0.01f);
  *o++ = tex2D<float>(h.tex[D2], at(x), at(y)), *o++ = tex2DLod<float>(h.tex[D2], at(x), at(y), 0), *o++ = tex2DGrad<float>(h.tex[D2], at(x), at(y), g, g);
  *o++ = tex3D<float>(h.tex[D3], at(x), at(y), at(z)), *o++ = tex3DLod<float>(h.tex[D3], at(x), at(y), at(z), 0), *o++ = tex1Dfetch<float>(h.tex[LINEAR], x);
  *o++ = tex1DLayered<float>(h.tex[L1], at(x), l), *o++ = tex1DLayeredLod<float>(h.tex[L1], at(x), l, 0), *o++ = tex1DLayeredGrad<float>(h.tex[L1], at(x), l, 0.01f, 0.01f);
  *o++ = tex2DLayered<float>(h.tex[L2], at(x), at(y), l), *o++ = tex2DLayeredLod<float>(h.tex[L2], at(x), at(y), l, 0), *o++ = tex2DLayeredGrad<float>(h.tex[L2], at(x), at(y), l, g, g);
  *o++ = texCubemap<float>(h.tex[CUBE], d.x, d.y, d.z), *o++ = texCubemapLod<float>(h.tex[CUBE], d.x, d.y, d.z, 0);
  *o++ = texCubemapLayered<float>(h.tex[LCUBE], d.x, d.y, d.z, l), *o++ = texCubemapLayeredLod<float>(h.tex[LCUBE], d.x, d.y, d.z, l, 0);
  float4 q = tex2Dgather<float4>(h.tex[D2], x + 1.0f, y + 1.0f, 0);
  *o++ = q.w, *o++ = q.z, *o++ = q.x;
}
__device__ void surfaces(const Handles &h, float *o, int i) {
  int x = i % N, y = (i / 2) % N, z = (i / 3) % N, l = i % LAYERS;
  *o++ = surf1Dread<float>(h.surf[0], 4 * x), *o++ = surf2Dread<float>(h.surf[1], 4 * x, y), *o++ = surf3Dread<float>(h.surf[2], 4 * x, y, z);
  *o++ = surf1DLayeredread<float>(h.surf[3], 4 * x, l), *o++ = surf2DLayeredread<float>(h.surf[4], 4 * x, y, l);
}
const int OUT = 22 + 5;
__global__ void of_parameter(Handles h, float *o) { shade(h, o + OUT * threadIdx.x, threadIdx.x), surfaces(h, o + OUT * threadIdx.x + 22, threadIdx.x); }
__global__ void of_memory(const Handles *h, float *o) {
  int t = threadIdx.x;
  shade(h[t % OBJECTS], o + OUT * t, t), surfaces(h[t % OBJECTS], o + OUT * t + 22, t);
}
__global__ void changed(const Handles *h) {
  int t = threadIdx.x, x = t % N, y = t / N % N, l = t / (N * N) % LAYERS, o = t / (N * N * LAYERS);
  if (o >= OBJECTS) return;
  const Handles &s = h[o];
  float v = 50000 + 1000 * o + 100 * l + N * y + x;
  if (!y && !l) surf1Dwrite(v, s.surf[0], 4 * x);
  if (!l) surf2Dwrite(v, s.surf[1], 4 * x, y);
  surf3Dwrite(v, s.surf[2], 4 * x, y, l);
  if (!y) surf1DLayeredwrite(v, s.surf[3], 4 * x, l);
  surf2DLayeredwrite(v, s.surf[4], 4 * x, y, l);
}

static int failed;
static void check(const char *what, const std::vector<float> &got, int objects, bool after) {
  for (int t = 0; t < 32; t++) {
    int x = t % N, y = (t / 2) % N, z = (t / 3) % N, l = t % LAYERS, f = t % 6, o = 1000 * (t % objects);
    auto to = [&](int layer, int py) { return float(o + 100 * layer + N * py + x); };
    auto next = [&](int dx, int dy) { return float(o + N * (y + dy < N ? y + dy : N - 1) + (x + dx < N ? x + dx : N - 1)); };
    float w = after ? 50000 : 0, e[OUT] = {to(0, 0), to(0, 0), to(0, 0), to(0, y), to(0, y), to(0, y), to(z, y), to(z, y), to(0, 0), to(l, 0), to(l, 0), to(l, 0), to(l, y), to(l, y), to(l, y),
      to(f, y), to(f, y), to(6 * l + f, y), to(6 * l + f, y), next(0, 0), next(1, 0), next(0, 1),
      w + to(0, 0), w + to(0, y), (z < LAYERS ? w : 0) + to(z, y), w + to(l, 0), w + to(l, y)};
    for (int k = after ? 22 : 0; k < OUT && !failed; k++)
      if (got[OUT * t + k] != e[k]) printf("FAIL %s: thread %d value %d is %g, not %g\n", what, t, k, got[OUT * t + k], e[k]), failed = 1;
  }
}
int main() {
  Handles h[OBJECTS], *dh;
  for (int o = 0; o < OBJECTS; o++)
    for (int s = 0; s < SHAPES; s++) {
      bool layered = s == L1 || s == L2 || s == LCUBE, cube = s == CUBE || s == LCUBE;
      int height = s == D1 || s == L1 || s == LINEAR ? 0 : N, slices = s == D3 ? N : s == CUBE ? 6 : s == LCUBE ? 6 * LAYERS : layered ? LAYERS : 0;
      std::vector<float> v;
      for (int l = 0; l < (slices ? slices : 1); l++)
        for (int p = 0; p < N * (height ? height : 1); p++) v.push_back(1000 * o + 100 * l + p);
      cudaResourceDesc r = {};
      cudaTextureDesc t = {};
      t.addressMode[0] = t.addressMode[1] = t.addressMode[2] = cudaAddressModeClamp, t.normalizedCoords = cube;
      cudaChannelFormatDesc c = cudaCreateChannelDesc<float>();
      if (s == LINEAR) {
        r.resType = cudaResourceTypeLinear, r.res.linear.desc = c, r.res.linear.sizeInBytes = 4 * N;
        cudaMalloc(&r.res.linear.devPtr, 4 * N), cudaMemcpy(r.res.linear.devPtr, v.data(), 4 * N, cudaMemcpyHostToDevice);
      } else {
        cudaExtent e = make_cudaExtent(N, height, slices);
        unsigned flags = (layered ? cudaArrayLayered : 0) | (cube ? cudaArrayCubemap : s == D2 ? cudaArrayTextureGather : 0) | (s <= L2 && s != D2 ? cudaArraySurfaceLoadStore : 0);
        cudaArray_t a;
        if (cudaMalloc3DArray(&a, &c, e, flags)) return printf("FAIL: array %d\n", s), 1;
        cudaMemcpy3DParms m = {};
        m.srcPtr = make_cudaPitchedPtr(v.data(), 4 * N, N, height ? height : 1), m.dstArray = a, m.kind = cudaMemcpyHostToDevice;
        m.extent = make_cudaExtent(N, height ? height : 1, slices ? slices : 1);
        if (cudaMemcpy3D(&m)) return printf("FAIL: copy %d\n", s), 1;
        r.resType = cudaResourceTypeArray, r.res.array.array = a;
        if (s <= L2) {
          cudaArray_t b = a;
          if (s == D2) {
            cudaMalloc3DArray(&b, &c, e, cudaArraySurfaceLoadStore), m.dstArray = b, cudaMemcpy3D(&m);
          }
          cudaResourceDesc q = r;
          q.res.array.array = b;
          if (cudaCreateSurfaceObject(&h[o].surf[s], &q)) return printf("FAIL: surface %d\n", s), 1;
        }
      }
      if (cudaCreateTextureObject(&h[o].tex[s], &r, &t, nullptr)) return printf("FAIL: texture %d\n", s), 1;
    }
  float *d;
  cudaMalloc(&dh, sizeof h), cudaMemcpy(dh, h, sizeof h, cudaMemcpyHostToDevice), cudaMalloc(&d, 32 * OUT * 4);
  std::vector<float> got(32 * OUT);
  auto ended = [&](const char *what, int objects, bool after) {
    cudaError_t e = cudaGetLastError(), s = cudaDeviceSynchronize();
    if (e || s) printf("FAIL %s: %s\n", what, cudaGetErrorString(e ? e : s)), failed = 1;
    cudaMemcpy(got.data(), d, 4 * got.size(), cudaMemcpyDeviceToHost);
    check(what, got, objects, after);
  };
  of_parameter<<<1, 32>>>(h[0], d), ended("parameter", 1, false);
  of_memory<<<1, 32>>>(dh, d), ended("memory", OBJECTS, false);
  changed<<<1, N * N * LAYERS * OBJECTS>>>(dh), of_memory<<<1, 32>>>(dh, d), ended("written", OBJECTS, true);
  if (!failed) printf("PASS\n");
  return failed;
}
