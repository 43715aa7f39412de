//! Layouts of our mirrors of CUDA's structures, by the names in the headers, for comparison with them.

use super::{devices, execution, functions, graphs, layout};
use std::mem::offset_of;

/// Sizes of structures, and offsets of fields, under their names in CUDA's headers.
#[must_use]
pub fn layouts() -> Vec<(&'static str, usize)> {
    let mut all = vec![
        ("cudaChannelFormatDesc", size_of::<layout::ChannelDesc>()),
        ("cudaExtent", size_of::<layout::Extent>()),
        ("cudaPos", size_of::<layout::Position>()),
        ("cudaPitchedPtr", size_of::<layout::Pitched>()),
        ("cudaMemcpy3DParms", size_of::<layout::CopyParams>()),
        ("cudaMemcpy3DPeerParms", size_of::<layout::PeerCopyParams>()),
        ("cudaTextureDesc", size_of::<layout::TextureDesc>()),
        ("cudaResourceDesc", size_of::<layout::ResourceDesc>()),
        ("cudaResourceViewDesc", size_of::<layout::ResourceViewDesc>()),
        ("cudaMemLocation", size_of::<layout::Location>()),
        ("cudaPointerAttributes", size_of::<devices::PointerAttributes>()),
        ("cudaIpcMemHandle_t", size_of::<crate::driver::ipc::IpcHandle>()),
        ("cudaLaunchConfig_t", size_of::<execution::LaunchConfig>()),
        ("cudaLaunchAttribute", size_of::<crate::driver::launch::LaunchAttribute>()),
        ("cudaFuncAttributes", size_of::<functions::FuncAttributes>()),
    ];
    all.extend(graphs::sizes());
    all.extend([
        ("cudaMemcpy3DParms.dstArray", offset_of!(layout::CopyParams, to_array)),
        ("cudaMemcpy3DParms.srcPtr", offset_of!(layout::CopyParams, from)),
        ("cudaMemcpy3DParms.extent", offset_of!(layout::CopyParams, extent)),
        ("cudaMemcpy3DParms.kind", offset_of!(layout::CopyParams, kind)),
        ("cudaTextureDesc.readMode", offset_of!(layout::TextureDesc, read_mode)),
        ("cudaTextureDesc.borderColor", offset_of!(layout::TextureDesc, border)),
        ("cudaTextureDesc.normalizedCoords", offset_of!(layout::TextureDesc, normalized_coords)),
        ("cudaTextureDesc.mipmapFilterMode", offset_of!(layout::TextureDesc, mip_filter)),
        ("cudaTextureDesc.maxMipmapLevelClamp", offset_of!(layout::TextureDesc, mip_max)),
        ("cudaResourceDesc.res", offset_of!(layout::ResourceDesc, what)),
        ("cudaResourceDesc.res.linear.desc", offset_of!(layout::ResourceDesc, format)),
        ("cudaResourceDesc.res.linear.sizeInBytes", offset_of!(layout::ResourceDesc, width)),
        ("cudaResourceDesc.res.pitch2D.height", offset_of!(layout::ResourceDesc, height)),
        ("cudaResourceDesc.res.pitch2D.pitchInBytes", offset_of!(layout::ResourceDesc, pitch)),
        ("cudaResourceDesc.flags", offset_of!(layout::ResourceDesc, flags)),
        ("cudaResourceViewDesc.format", offset_of!(layout::ResourceViewDesc, format)),
    ]);
    all
}
