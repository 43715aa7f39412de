//! Section: what was executed and recorded.

use crate::measure::Case;
use report::{Column, Format, Section, Table};
use trace_format::reader::Launch;

pub fn section(cases: &[Case]) -> Section {
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
    for case in cases {
        let r = &case.recording;
        let launches = r.trace.launches();
        let instructions: u64 = launches.iter().map(Launch::warp_instructions).sum();
        let threads: u64 = launches.iter().map(Launch::thread_instructions).sum();
        let size = r.trace.file_bytes();
        all += instructions;
        bytes += size;
        table.push(report::cells![
            r.name,
            &r.about,
            r.trace.kernel_count(),
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
        cases.iter().map(|case| case.recording.trace.launches().len()).sum::<usize>(),
        "",
        all,
        none,
        bytes,
        bytes as f64 / all.max(1) as f64,
        cases.iter().map(|case| case.recording.buffers_checked).sum::<usize>(),
    ]);
    Section::new("What ran")
        .text(
            "Each kernel is CUDA C++ compiled to PTX by nvcc. Warplab lowers the PTX to register-allocated machine \
             code, executes that in warps of 32 threads, and records once what every warp did. A trace stores \
             only what cannot be derived (the path, and what was loaded); the reader regenerates the rest.",
        )
        .table(table)
}

/// The block with the most threads, as "16×16".
fn block(blocks: impl Iterator<Item = [u32; 3]>) -> String {
    let largest = blocks.max_by_key(|b| b.iter().product::<u32>()).unwrap_or([0; 3]);
    let used = 3 - largest.iter().rev().take_while(|&&n| n == 1).count();
    largest[..used.max(1)].iter().map(u32::to_string).collect::<Vec<_>>().join("×")
}
