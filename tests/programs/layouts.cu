// Prints sizes and offsets of CUDA's structures as the headers have them, for comparison with our mirrors.
#include <cstddef>
#include <cstdio>
#include <cuda_runtime.h>

#define SIZE(type) printf("%s %zu\n", #type, sizeof(type))
#define OFFSET(type, field) printf("%s.%s %zu\n", #type, #field, offsetof(type, field))

int main() {
    SIZE(cudaChannelFormatDesc);
    SIZE(cudaExtent);
    SIZE(cudaPos);
    SIZE(cudaPitchedPtr);
    SIZE(cudaMemcpy3DParms);
    SIZE(cudaMemcpy3DPeerParms);
    SIZE(cudaTextureDesc);
    SIZE(cudaResourceDesc);
    SIZE(cudaResourceViewDesc);
    SIZE(cudaMemLocation);
    SIZE(cudaPointerAttributes);
    SIZE(cudaIpcMemHandle_t);
    SIZE(cudaLaunchConfig_t);
    SIZE(cudaLaunchAttribute);
    SIZE(cudaFuncAttributes);
    OFFSET(cudaMemcpy3DParms, dstArray);
    OFFSET(cudaMemcpy3DParms, srcPtr);
    OFFSET(cudaMemcpy3DParms, extent);
    OFFSET(cudaMemcpy3DParms, kind);
    OFFSET(cudaTextureDesc, readMode);
    OFFSET(cudaTextureDesc, borderColor);
    OFFSET(cudaTextureDesc, normalizedCoords);
    OFFSET(cudaTextureDesc, mipmapFilterMode);
    OFFSET(cudaTextureDesc, maxMipmapLevelClamp);
    OFFSET(cudaResourceDesc, res);
    OFFSET(cudaResourceDesc, res.linear.desc);
    OFFSET(cudaResourceDesc, res.linear.sizeInBytes);
    OFFSET(cudaResourceDesc, res.pitch2D.height);
    OFFSET(cudaResourceDesc, res.pitch2D.pitchInBytes);
    OFFSET(cudaResourceDesc, flags);
    OFFSET(cudaResourceViewDesc, format);
    SIZE(cudaKernelNodeParams);
    SIZE(cudaMemsetParams);
    SIZE(cudaHostNodeParams);
    SIZE(cudaMemAllocNodeParams);
    SIZE(cudaGraphNodeParams);
    SIZE(cudaGraphExecUpdateResultInfo);
    SIZE(cudaGraphInstantiateParams);
    OFFSET(cudaKernelNodeParams, kernelParams);
    OFFSET(cudaMemAllocNodeParams, bytesize);
    OFFSET(cudaMemAllocNodeParams, dptr);
    OFFSET(cudaGraphNodeParams, kernel);
    OFFSET(cudaMemsetParams, width);
}
