//! Bank 0 as the code of a target expects it: the words before the parameters, whose places the targets do not share.
//!
//! The places were found in what ptxas makes of PTX that asks for each special register and window.

use sass::Target;
use trace_format::isa::space::{LOCAL_WINDOW_HI, PARAM_WINDOW_HI, SHARED_WINDOW_HI};
use trace_format::semantics::Geometry;

/// Places in bank 0, in bytes.
struct Words {
    /// Where the parameters of most kernels begin, behind all of these.
    end: usize,
    block: usize,
    grid: usize,
    /// 64 bits: the generic address of shared memory. Later targets have a special register instead.
    shared_window: Option<usize>,
    /// 64 bits.
    local_window: usize,
    stack: usize,
    dynamic_shared: &'static [usize],
    /// 64 bits: the generic address of bank 0 itself, or of the parameters in it.
    own_address: OwnAddress,
    /// 64 bits: the generic address of bank 3.
    constants: usize,
    /// The first environment register. The second holds the upper word of the address of the grid's workspace, the third its
    /// lower word.
    environment: &'static [usize],
    sms: usize,
}

/// A word that holds an address in bank 0.
enum OwnAddress {
    Bank(usize),
    Parameters(usize),
}

const TURING_AMPERE: Words = Words {
    end: 0x160,
    block: 0x00,
    grid: 0x0c,
    shared_window: Some(0x18),
    local_window: 0x20,
    stack: 0x28,
    dynamic_shared: &[0x2c],
    own_address: OwnAddress::Bank(0x40),
    constants: 0x50,
    environment: &[0x88],
    sms: 0x10c,
};

const HOPPER: Words = Words {
    end: 0x210,
    block: 0x00,
    grid: 0x0c,
    shared_window: None,
    local_window: 0x20,
    stack: 0x28,
    dynamic_shared: &[0x2c],
    own_address: OwnAddress::Parameters(0x198),
    constants: 0xd0,
    environment: &[0x40],
    sms: 0x10c,
};

/// Code reads some words at a place that depends on the size of the cluster, in steps of 0xa0: those of no cluster and of one
/// block are the same here.
const BLACKWELL: Words = Words {
    end: 0x380,
    block: 0x360,
    grid: 0x370,
    shared_window: None,
    local_window: 0x2f8,
    stack: 0x37c,
    dynamic_shared: &[0x20c, 0x2ac],
    own_address: OwnAddress::Parameters(0x348),
    constants: 0x120,
    environment: &[0x1b0, 0x250],
    sms: 0x2d0,
};

fn words(target: Target) -> &'static Words {
    match target {
        Target::Sm70 | Target::Sm75 | Target::Sm80 | Target::Sm86 | Target::Sm89 => &TURING_AMPERE,
        Target::Sm90 => &HOPPER,
        Target::Sm120 => &BLACKWELL,
    }
}

/// What a launch puts into bank 0 besides its parameters.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// Grid and block.
    pub geometry: &'a Geometry,
    /// Bytes of local memory of a thread, at whose end the stack begins.
    pub local_bytes: u32,
    /// Dynamic shared memory, bytes.
    pub dynamic_shared_bytes: u32,
    /// Address of bank 3 in device memory; 0 without constants.
    pub constants: u64,
    /// Address of the workspace through which the blocks of a grid synchronise.
    pub workspace: u64,
    /// SMs of the GPU.
    pub sms: u32,
}

/// Writes bank 0 of a launch into its image from the cubin, `bank`: the words of the launch, and its parameters, which begin
/// at `parameter_base`.
pub fn fill(
    bank: &mut Vec<u8>,
    target: Target,
    around: &Surroundings<'_>,
    parameter_base: u32,
    parameters: &[u8],
) {
    let words = words(target);
    // The image of a kernel without parameters may end earlier.
    bank.resize(bank.len().max(words.end), 0);
    let mut put = |at: usize, bytes: &[u8]| {
        if let Some(place) = bank.get_mut(at..).and_then(|rest| rest.get_mut(..bytes.len())) {
            place.copy_from_slice(bytes);
        }
    };
    for (at, dimensions) in [(words.block, around.geometry.block), (words.grid, around.geometry.grid)] {
        for (axis, count) in dimensions.iter().enumerate() {
            put(at + 4 * axis, &count.to_le_bytes());
        }
    }
    let window = |high: u32| (u64::from(high) << 32).to_le_bytes();
    if let Some(at) = words.shared_window {
        put(at, &window(SHARED_WINDOW_HI));
    }
    put(words.local_window, &window(LOCAL_WINDOW_HI));
    put(words.stack, &around.local_bytes.to_le_bytes());
    for &at in words.dynamic_shared {
        put(at, &around.dynamic_shared_bytes.to_le_bytes());
    }
    let (at, inside) = match words.own_address {
        OwnAddress::Bank(at) => (at, 0),
        OwnAddress::Parameters(at) => (at, parameter_base),
    };
    put(at, &(u64::from(PARAM_WINDOW_HI) << 32 | u64::from(inside)).to_le_bytes());
    put(words.constants, &around.constants.to_le_bytes());
    for &at in words.environment {
        let [lower, upper] = [around.workspace as u32, (around.workspace >> 32) as u32];
        put(at + 4, &upper.to_le_bytes());
        put(at + 8, &lower.to_le_bytes());
    }
    put(words.sms, &around.sms.to_le_bytes());
    let room = bank.get_mut(parameter_base as usize..).unwrap_or_default();
    let length = room.len().min(parameters.len());
    room[..length].copy_from_slice(&parameters[..length]);
}
