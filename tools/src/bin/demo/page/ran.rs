//! Section: what was executed and recorded.

use crate::measure::Results;
use report::{Column, Format, Section, Table};
use timing::reports::block_shape;
use trace_format::reader::Launch;

pub(super) fn section(Results { recordings, workloads, .. }: &Results) -> Section {
    let columns = [
        Column::text("Workload"),
        Column::text("Computes"),
        Column::integer("Kernels"),
        Column::integer("Launches"),
        Column::text("Block").help("Threads per block along x, y, z; the largest of the workload's"),
        Column::integer("Warp instructions").bar(),
        Column::float("Lanes", 1).help("Mean lanes on the path of a warp instruction, of 32"),
        Column::number("Trace", Format::Bytes),
        Column::float("Bytes per warp instruction", 2).key("bytes_per_warp_instruction"),
        Column::integer("Results checked").help("Buffers that equal what a CPU computes; none where rounding differs, which the tests check within bounds"),
    ];
    let mut table = Table::new("Workloads", columns).id("workloads").caption(
        "Each ran once; its trace holds every value, and what it computed was checked before it was used.",
    );
    let (mut all, mut bytes) = (0, 0);
    for (r, workload) in recordings.iter().zip(workloads) {
        let trace = &workload.trace;
        let launches = trace.launches();
        let instructions: u64 = launches.iter().map(Launch::warp_instructions).sum();
        let threads: u64 = launches.iter().map(Launch::thread_instructions).sum();
        let size = trace.file_bytes();
        all += instructions;
        bytes += size;
        table.push(report::cells![
            r.name,
            &r.about,
            trace.kernel_count(),
            launches.len(),
            block(launches.iter().map(|l| l.geometry.block)),
            instructions,
            threads as f64 / instructions.max(1) as f64,
            size,
            size as f64 / instructions.max(1) as f64,
            Some(r.buffers_checked).filter(|&n| n > 0),
        ]);
    }
    let none = Option::<u64>::None;
    let table = table.summary(report::cells![
        "Total",
        "",
        none,
        workloads.iter().map(|workload| workload.trace.launches().len()).sum::<usize>(),
        "",
        all,
        none,
        bytes,
        bytes as f64 / all.max(1) as f64,
        recordings.iter().map(|recording| recording.buffers_checked).sum::<usize>(),
    ]);
    Section::new("What ran")
        .text(
            "Each kernel is CUDA C++ compiled to PTX by nvcc. Warplab lowers the PTX to register-allocated machine \
             code, executes that in warps of 32 threads, and records once what every warp did. A trace stores \
             only what cannot be derived (the path, and what was loaded); the reader regenerates the rest.",
        )
        .table(table)
}

/// The block with the most threads.
fn block(blocks: impl Iterator<Item = [u32; 3]>) -> String {
    block_shape(blocks.max_by_key(|b| b.iter().product::<u32>()).unwrap_or([0; 3]))
}
