// Arrays, texture and surface objects, boxes, pools.
#include <cuda.h>
#include "check.h"

// out[y * 8 + x] = texture at (x, y); the same is stored in the surface, plus 1.
static const char *PTX =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry fetch(.param .u64 out, .param .u64 tex, .param .u64 surf) {\n"
    " .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %d<6>;\n"
    " mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; ld.param.u64 %d1, [tex]; ld.param.u64 %d2, [surf];\n"
    " tex.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%d1, {%r1, %r2}];\n"
    " add.f32 %f5, %f1, 0f3F800000; mov.b32 %r5, %f5; shl.b32 %r6, %r1, 2;\n"
    " sust.b.2d.b32.trap [%d2, {%r6, %r2}], {%r5};\n"
    " shl.b32 %r3, %r2, 3; add.u32 %r3, %r3, %r1; mul.wide.u32 %d3, %r3, 4; ld.param.u64 %d4, [out];\n"
    " add.u64 %d5, %d4, %d3; st.global.f32 [%d5], %f1; ret;\n}\n";

int main(void) {
    CUcontext context;
    CUmodule module;
    CUfunction fetch;
    CUarray array, target;
    CUtexObject texture;
    CUsurfObject surface;
    CUdeviceptr out;
    float in[4][8], back[4][8];
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    OK(cuModuleLoadData(&module, PTX));
    OK(cuModuleGetFunction(&fetch, module, "fetch"));
    for (int y = 0; y < 4; y++)
        for (int x = 0; x < 8; x++) in[y][x] = (float)(10 * y + x);

    CUDA_ARRAY_DESCRIPTOR plain = {8, 4, CU_AD_FORMAT_FLOAT, 1}, found;
    CUDA_ARRAY3D_DESCRIPTOR writable = {8, 4, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SURFACE_LDST};
    OK(cuArrayCreate(&array, &plain));
    OK(cuArray3DCreate(&target, &writable));
    OK(cuArrayGetDescriptor(&found, array));
    HOLDS(memcmp(&found, &plain, sizeof plain) == 0);
    CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = in, .srcPitch = 32, .dstMemoryType = CU_MEMORYTYPE_ARRAY, .dstArray = array, .WidthInBytes = 32, .Height = 4};
    OK(cuMemcpy2D(&copy));

    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array}, asked;
    CUDA_TEXTURE_DESC sampler = {.addressMode = {CU_TR_ADDRESS_MODE_CLAMP, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_ADDRESS_MODE_CLAMP}};
    OK(cuTexObjectCreate(&texture, &resource, &sampler, NULL));
    OK(cuTexObjectGetResourceDesc(&asked, texture));
    HOLDS(asked.resType == CU_RESOURCE_TYPE_ARRAY && asked.res.array.hArray == array);
    EXPECT(cuSurfObjectCreate(&surface, &resource), CUDA_ERROR_INVALID_VALUE);
    resource.res.array.hArray = target;
    OK(cuSurfObjectCreate(&surface, &resource));

    OK(cuMemAllocAsync(&out, sizeof in, NULL));
    CUmemoryPool pool;
    cuuint64_t used;
    OK(cuDeviceGetDefaultMemPool(&pool, 0));
    OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    HOLDS(used == sizeof in);
    void *args[] = {&out, &texture, &surface};
    OK(cuLaunchKernel(fetch, 1, 1, 1, 8, 4, 1, 0, NULL, args, NULL));
    OK(cuMemcpyDtoH(back, out, sizeof back));
    HOLDS(memcmp(in, back, sizeof in) == 0);
    CUDA_MEMCPY2D read = {.srcMemoryType = CU_MEMORYTYPE_ARRAY, .srcArray = target, .srcXInBytes = 4, .srcY = 1, .dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = back, .dstPitch = 32, .WidthInBytes = 8, .Height = 2};
    OK(cuMemcpy2D(&read));
    HOLDS(back[0][0] == 12 && back[0][1] == 13 && back[1][0] == 22 && back[1][1] == 23);
    OK(cuMemFreeAsync(out, NULL));
    OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    HOLDS(used == 0);
    OK(cuTexObjectDestroy(texture));
    EXPECT(cuTexObjectDestroy(texture), CUDA_ERROR_INVALID_VALUE);
    OK(cuSurfObjectDestroy(surface));
    OK(cuArrayDestroy(array));
    EXPECT(cuArrayDestroy(array), CUDA_ERROR_INVALID_HANDLE);
    CUmipmappedArray mipmapped;
    OK(cuMipmappedArrayCreate(&mipmapped, &writable, 3));
    OK(cuMipmappedArrayGetLevel(&array, mipmapped, 2));
    OK(cuArrayGetDescriptor(&found, array));
    HOLDS(found.Width == 2 && found.Height == 1);
    OK(cuMipmappedArrayDestroy(mipmapped));
    printf("passed\n");
    return 0;
}
