//! Functions without an implementation: clusters; and functions that programs link but do not need.

use super::{Out, functions};
use crate::error::{Outcome, Status};
use crate::tell::tell;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// The same for all.
fn absent() -> Outcome {
    Err(Status::NOT_SUPPORTED)
}

functions! {
    "cuOccupancyMaxPotentialClusterSize" 11070 Context occupancy_max_potential_cluster_size(
        _size: Out<i32>, _function: u64, _config: usize,
    ) {
        absent()
    }
    "cuOccupancyMaxActiveClusters" 11070 Context occupancy_max_active_clusters(
        _count: Out<i32>, _function: u64, _config: usize,
    ) {
        absent()
    }
}

/// Prints once for each function that it is not supported.
fn lacks(name: &'static str) -> Status {
    static TOLD: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());
    if TOLD.lock().unwrap_or_else(PoisonError::into_inner).insert(name) {
        tell(&format!("{name} is not supported"));
    }
    Status::NOT_SUPPORTED
}

/// Exports functions for programs that are linked with them; most programs never call them.
/// `cuGetProcAddress` does not find them. They do not read their arguments, so none are declared.
macro_rules! lacking {
    ($($name:ident)*) => {
        /// Functions that only print that they are not supported.
        #[allow(non_snake_case, reason = "names of the API")]
        mod lacking {
            $(
                #[unsafe(no_mangle)]
                extern "C" fn $name() -> crate::error::Status {
                    super::lacks(stringify!($name))
                }
            )*
        }
    };
}

lacking! {
    cuArrayGetMemoryRequirements cuArrayGetPlane cuArrayGetSparseProperties cuCheckpointOperationComplete
    cuCheckpointProcessCheckpoint cuCheckpointProcessGetRestoreThreadId cuCheckpointProcessGetState
    cuCheckpointProcessLock cuCheckpointProcessRestore cuCheckpointProcessUnlock
    cuCoredumpDeregisterCompleteCallback cuCoredumpDeregisterStartCallback cuCoredumpGetAttribute
    cuCoredumpGetAttributeGlobal cuCoredumpRegisterCompleteCallback cuCoredumpRegisterStartCallback
    cuCoredumpSetAttribute cuCoredumpSetAttributeGlobal cuCtxFromGreenCtx cuCtxGetDevResource
    cuCtxRecordEvent cuCtxWaitEvent cuDestroyExternalMemory cuDestroyExternalSemaphore
    cuDevResourceGenerateDesc cuDevSmResourceSplit cuDevSmResourceSplitByCount cuDeviceGetCliqueCount
    cuDeviceGetCliqueInfo cuDeviceGetDevResource cuDeviceGetFabricClusterUuid
    cuDeviceGetHostAtomicCapabilities cuDeviceGetLuid cuDeviceGetNvSciSyncAttributes
    cuDeviceGetP2PAtomicCapabilities cuDeviceRegisterAsyncNotification cuDeviceUnregisterAsyncNotification
    cuEGLStreamConsumerAcquireFrame cuEGLStreamConsumerConnect cuEGLStreamConsumerConnectWithFlags
    cuEGLStreamConsumerDisconnect cuEGLStreamConsumerReleaseFrame cuEGLStreamProducerConnect
    cuEGLStreamProducerDisconnect cuEGLStreamProducerPresentFrame cuEGLStreamProducerReturnFrame
    cuEventCreateFromEGLSync cuExternalMemoryGetMappedBuffer cuExternalMemoryGetMappedMipmappedArray
    cuFabricCpyBatchAsync cuFlushGPUDirectRDMAWrites cuGLCtxCreate cuGLCtxCreate_v2 cuGLGetDevices
    cuGLGetDevices_v2 cuGLInit cuGLMapBufferObject cuGLMapBufferObjectAsync cuGLMapBufferObjectAsync_v2
    cuGLMapBufferObjectAsync_v2_ptsz cuGLMapBufferObject_v2 cuGLMapBufferObject_v2_ptds
    cuGLRegisterBufferObject cuGLSetBufferObjectMapFlags cuGLUnmapBufferObject cuGLUnmapBufferObjectAsync
    cuGLUnregisterBufferObject cuGraphAddBatchMemOpNode cuGraphAddExternalSemaphoresSignalNode
    cuGraphAddExternalSemaphoresWaitNode cuGraphAddNode_v3 cuGraphBatchMemOpNodeGetParams
    cuGraphBatchMemOpNodeSetParams cuGraphExecBatchMemOpNodeSetParams
    cuGraphExecExternalSemaphoresSignalNodeSetParams cuGraphExecExternalSemaphoresWaitNodeSetParams
    cuGraphExternalSemaphoresSignalNodeGetParams cuGraphExternalSemaphoresSignalNodeSetParams
    cuGraphExternalSemaphoresWaitNodeGetParams cuGraphExternalSemaphoresWaitNodeSetParams
    cuGraphNodeGetParams cuGraphNodeSetParams_v2 cuGraphicsEGLRegisterImage cuGraphicsGLRegisterBuffer
    cuGraphicsGLRegisterImage cuGraphicsMapResources cuGraphicsMapResources_ptsz
    cuGraphicsResourceGetMappedEglFrame cuGraphicsResourceGetMappedMipmappedArray
    cuGraphicsResourceGetMappedPointer cuGraphicsResourceGetMappedPointer_v2 cuGraphicsResourceSetMapFlags
    cuGraphicsResourceSetMapFlags_v2 cuGraphicsSubResourceGetMappedArray cuGraphicsUnmapResources
    cuGraphicsUnmapResources_ptsz cuGraphicsUnregisterResource cuGraphicsVDPAURegisterOutputSurface
    cuGraphicsVDPAURegisterVideoSurface cuGreenCtxCreate cuGreenCtxDestroy cuGreenCtxGetDevResource
    cuGreenCtxGetId cuGreenCtxRecordEvent cuGreenCtxStreamCreate cuGreenCtxWaitEvent cuImportExternalMemory
    cuImportExternalSemaphore cuLaunchCooperativeKernelMultiDevice cuLibraryGetUnifiedFunction
    cuLogicalEndpointAddDevice cuLogicalEndpointBindAddr cuLogicalEndpointBindMem cuLogicalEndpointCreate
    cuLogicalEndpointDestroy cuLogicalEndpointExport cuLogicalEndpointGetLimits cuLogicalEndpointIdRelease
    cuLogicalEndpointIdReserve cuLogicalEndpointImport cuLogicalEndpointQuery cuLogicalEndpointUnbind
    cuLogsCurrent cuLogsDumpToFile cuLogsDumpToMemory cuLogsRegisterCallback cuLogsUnregisterCallback
    cuMemBatchDecompressAsync cuMemDiscardAndPrefetchBatchAsync cuMemDiscardBatchAsync
    cuMemGetHandleForAddressRange cuMemGetLocationInfo cuMemMapArrayAsync cuMemPoolExportPointer cuMemPoolExportToShareableHandle
    cuMemPoolImportFromShareableHandle cuMemPoolImportPointer cuMemPrefetchBatchAsync
    cuMemcpy3DBatchAsync cuMemcpy3DBatchAsync_ptsz cuMemcpy3DBatchAsync_v2
    cuMemcpy3DWithAttributesAsync cuMemcpyBatchAsync cuMemcpyBatchAsync_ptsz cuMemcpyBatchAsync_v2
    cuMemcpyWithAttributesAsync cuMipmappedArrayGetMemoryRequirements cuMipmappedArrayGetSparseProperties
    cuModuleGetSurfRef cuModuleGetTexRef cuMulticastAddDevice cuMulticastBindAddr cuMulticastBindAddr_v2
    cuMulticastBindMem cuMulticastBindMem_v2 cuMulticastCreate cuMulticastGetGranularity cuMulticastUnbind
    cuParamSetTexRef cuProfilerInitialize cuSignalExternalSemaphoresAsync cuStreamBatchMemOp
    cuStreamBatchMemOp_ptsz cuStreamBatchMemOp_v2 cuStreamBeginCaptureToCig cuStreamBeginRecaptureToGraph
    cuStreamEndCaptureToCig cuStreamGetDevResource cuStreamGetGreenCtx cuSurfRefGetArray cuSurfRefSetArray
    cuTensorMapEncodeIm2col cuTensorMapEncodeIm2colWide cuTensorMapEncodeTiled cuTensorMapReplaceAddress
    cuTensorMapSetAllocationClass cuTexObjectGetResourceViewDesc cuTexRefCreate cuTexRefDestroy
    cuTexRefGetAddress cuTexRefGetAddressMode cuTexRefGetAddress_v2 cuTexRefGetArray cuTexRefGetBorderColor
    cuTexRefGetFilterMode cuTexRefGetFlags cuTexRefGetFormat cuTexRefGetMaxAnisotropy
    cuTexRefGetMipmapFilterMode cuTexRefGetMipmapLevelBias cuTexRefGetMipmapLevelClamp
    cuTexRefGetMipmappedArray cuTexRefSetAddress cuTexRefSetAddress2D cuTexRefSetAddress2D_v2
    cuTexRefSetAddress2D_v3 cuTexRefSetAddressMode cuTexRefSetAddress_v2 cuTexRefSetArray
    cuTexRefSetBorderColor cuTexRefSetFilterMode cuTexRefSetFlags cuTexRefSetFormat cuTexRefSetMaxAnisotropy
    cuTexRefSetMipmapFilterMode cuTexRefSetMipmapLevelBias cuTexRefSetMipmapLevelClamp
    cuTexRefSetMipmappedArray cuVDPAUCtxCreate cuVDPAUCtxCreate_v2 cuVDPAUGetDevice
    cuWaitExternalSemaphoresAsync
}
