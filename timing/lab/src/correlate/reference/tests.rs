use super::*;
use crate::correlate::metrics::Machine;

const MACHINE: Machine = Machine { sms: 20.0, max_warps: 64.0, core_clock_hz: 1.5e9 };

fn of(text: &str) -> Reference {
    read(text, None, Some(&MACHINE)).unwrap_or_else(|why| panic!("{why}"))
}

fn error(text: &str) -> String {
    read(text, None, Some(&MACHINE)).expect_err("refused").to_string()
}

fn near(found: f64, expected: f64) -> bool {
    (found / expected - 1.0).abs() < 1e-9
}

#[test]
fn nsight_raw_page() {
    let found = of(include_str!("../../../../tests/profiles/ncu_raw.csv"));
    assert_eq!(found.formats, [Format::NsightRaw]);
    let which: Vec<(&str, Which)> = found.rows.iter().map(|row| (row.kernel.as_str(), row.which)).collect();
    let step = "void ns::step<float, (int)16>(const T1 *, T1 *, int)";
    let sum = "sum(const float *, float *, int)";
    assert_eq!(which, [(step, Which::Launch(0)), (step, Which::Launch(1)), (sum, Which::Launch(0))]);
    let first = &found.rows[0];
    assert_eq!(first.process.as_deref(), Some("heat"));
    let value = |name: &str| first.values[name];
    assert_eq!((value("cycles"), value("warp_instructions")), (56_439.0, 1_234_567.0));
    // Counted sectors come before bytes; where only bytes are counted, Kbyte are 1000 bytes.
    assert_eq!(value("dram_read_sectors"), 262_144.0);
    assert!(near(value("dram_write_sectors"), 4_194_300.0 / 32.0));
    assert_eq!((value("l1_sectors"), value("occupancy"), value("l2_hit_rate")), (655_360.0, 87.31, 51.2));
    assert_eq!(found.rows[2].values.get("l2_hit_rate"), None, "n/a");
    // Only what could be compared and has no counterpart; the list of values is no number.
    assert_eq!(found.unused, ["lts__t_sectors_op_read.sum"]);
    assert!(found.notes.is_empty());
}

#[test]
fn nsight_details_page() {
    let found = of(include_str!("../../../../tests/profiles/ncu_details.csv"));
    assert_eq!((found.formats.as_slice(), found.rows.len()), (&[Format::NsightDetails][..], 2));
    assert_eq!(found.rows[0].values["cycles"], 56_439.0);
    assert_eq!((found.rows[0].values["l1_hit_rate"], found.rows[0].values["occupancy"]), (61.02, 87.31));
    // The second launch has no cycles: its duration times its clock.
    assert!(near(found.rows[1].values["cycles"], 60_000.0));
    assert_eq!(found.unused, ["DRAM Frequency", "Mem Busy"]);
    assert_eq!(found.notes, ["cycles are durations times the clock of the profile"]);
}

#[test]
fn nsight_metrics_without_identifiers_and_means() {
    let text = "\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n\
        k,sm__cycles_elapsed.max,cycle,10\nk,smsp__inst_executed.sum,Kinst,2\nk,sm__cycles_elapsed.max,cycle,30\n";
    let found = of(text);
    let cycles: Vec<f64> = found.rows.iter().map(|row| row.values["cycles"]).collect();
    assert_eq!((cycles.as_slice(), found.rows[0].values["warp_instructions"]), (&[10.0, 30.0][..], 2000.0));
    let text = "\"Kernel Name\",\"Invocations\",\"Metric Name\",\"Metric Unit\",\"Minimum\",\"Maximum\",\"Average\"\n\
        k,4,sm__cycles_elapsed.max,cycle,10,30,20\n";
    let found = of(text);
    assert_eq!((found.rows[0].which, found.rows[0].values["cycles"]), (Which::Mean, 20.0));
}

#[test]
fn nvprof_traces() {
    let found = of(include_str!("../../../../tests/profiles/nvprof_trace.csv"));
    assert_eq!((found.formats.as_slice(), found.rows.len()), (&[Format::NvprofTrace][..], 3));
    assert_eq!(
        (found.rows[1].kernel.as_str(), found.rows[1].which),
        ("step(float const *, float*, int)", Which::Launch(1))
    );
    assert!(near(found.rows[1].values["cycles"], 78_000.0), "52 us at 1.5 GHz");
    assert_eq!(
        found.notes,
        ["the reference has durations and no clock: cycles are at the configuration's 1500 MHz"]
    );
    let without =
        read(include_str!("../../../../tests/profiles/nvprof_trace.csv"), None, None).expect("read");
    assert!(
        without.rows[0].values.is_empty() && without.notes[0].contains("--config"),
        "{:?}",
        without.notes
    );
}

#[test]
fn nvprof_metrics_of_launches() {
    let found = of(include_str!("../../../../tests/profiles/nvprof_launches.csv"));
    assert_eq!((found.formats.as_slice(), found.rows.len()), (&[Format::NvprofLaunches][..], 2));
    let value = |name: &str| found.rows[0].values[name];
    // The event is a sum over SMs.
    assert_eq!((value("cycles"), value("warp_instructions")), (4493.0, 344.0));
    assert_eq!(
        (value("shared_wavefronts"), value("active_ipc"), value("l1_hit_rate")),
        (30.0, 0.427_861, 48.0)
    );
    assert!(near(value("occupancy"), 33.4921) && value("dram_read_sectors") == 223.0);
    assert_eq!(found.unused, ["dram_read_throughput"]);
}

#[test]
fn nvprof_metrics_and_events_of_kernels() {
    let found = of(include_str!("../../../../tests/profiles/nvprof_metrics.csv"));
    assert_eq!(found.formats, [Format::NvprofMetrics]);
    // Two tables of one file are one row per kernel.
    assert_eq!(found.rows.len(), 2);
    let value = |name: &str| found.rows[0].values[name];
    assert_eq!(
        (found.rows[0].which, value("cycles"), value("warp_instructions")),
        (Which::Mean, 40_000.0, 2000.0)
    );
    assert!(near(value("occupancy"), 60.0));
    assert_eq!(found.unused, ["gld_throughput"]);
}

#[test]
fn nvprof_summaries() {
    let found = of(include_str!("../../../../tests/profiles/nvprof_summary.csv"));
    assert_eq!((found.formats.as_slice(), found.rows.len()), (&[Format::NvprofSummary][..], 1));
    assert!(near(found.rows[0].values["cycles"], 75_000.0) && found.rows[0].which == Which::Mean);
}

#[test]
fn plain_tables() {
    let text = "\u{feff}# published\n# by somebody\n\nprogram,Kernel,launch,Cycles,l1_sectors,dram_bytes,smsp__inst_executed.sum,furlongs,colour,note\r\n\
        heat,step,0,\"56,439\",n/a,64,10,3,red,first\r\nheat,step,mean,55 000,5,,10,,blue,\r\n,sum,,1e3,5,,10,,,\r\n";
    let found = of(text);
    assert_eq!(found.formats, [Format::Plain]);
    let rows: Vec<_> =
        found.rows.iter().map(|row| (row.program.as_deref(), row.which, row.values["cycles"])).collect();
    assert_eq!(
        rows,
        [
            (Some("heat"), Which::Launch(0), 56_439.0),
            (Some("heat"), Which::Mean, 55_000.0),
            (None, Which::Mean, 1000.0)
        ]
    );
    assert_eq!((found.rows[0].values["dram_bytes"], found.rows[0].values["warp_instructions"]), (64.0, 10.0));
    assert_eq!(found.unused, ["colour", "furlongs"]);
    // Without launches, several rows of a kernel are its launches in order.
    let found = of("kernel,cycles\nstep,1\nstep,2\nsum,3\n");
    let which: Vec<Which> = found.rows.iter().map(|row| row.which).collect();
    assert_eq!(which, [Which::Launch(0), Which::Launch(1), Which::Mean]);
    let found = of("kernel,duration_us\nstep,2\n");
    assert!(near(found.rows[0].values["cycles"], 3000.0));
    // What `timing correlate --csv` writes is read as ours.
    let found = of("program,kernel,launch,cycles,cycles_reference,cycles_ratio\na,step,0,10,20,0.5\n");
    assert!(found.unused.is_empty() && found.rows[0].values["cycles"] == 10.0);
}

#[test]
fn files_of_one_run_are_joined() {
    let mut first = of("kernel,launch,cycles\nstep,0,10\n");
    first.join(of("kernel,launch,dram_bytes,cycles,other\nstep,0,64,99,1\nsum,0,5,5,1\n"));
    assert_eq!(first.rows.len(), 2);
    assert_eq!((first.rows[0].values["cycles"], first.rows[0].values["dram_bytes"]), (10.0, 64.0));
    assert_eq!(first.unused, ["other"]);
    let named = read("kernel,cycles\nstep,1\n", Some("heat"), None).expect("read");
    assert_eq!(named.rows[0].program.as_deref(), Some("heat"));
}

#[test]
fn bad_files_are_refused_with_a_remedy() {
    assert_eq!(error(""), "it is empty");
    assert_eq!(error(" \n \n"), "it is empty");
    assert!(error("city,age\nrome,3").contains("column"));
    assert!(error("{\"schema\": \"warplab-replay/2\"}").contains("the columns kernel and cycles"));
    assert!(error("==PROF== x\n==ERROR== ERR_NVGPUCTRPERM - no permission").contains("profile again"));
    assert!(
        error("==1== NVPROF\n==WARNING== No kernels were profiled.").contains("No kernels were profiled")
    );
    let text_page =
        "  Section: GPU Speed Of Light\n  Metric Name   Metric Unit Metric Value\n  Elapsed Cycles cycle 4\n";
    assert!(error(text_page).contains("use --csv"));
    assert_eq!(error("kernel,cycles\n"), "plain table: it has no row of a kernel");
    assert_eq!(error("kernel,cycles\nstep,many\n"), "line 2: cycles is \"many\", not a number");
    assert_eq!(error("kernel,cycles\n,5\n"), "line 2: the row names no kernel");
    assert!(error("kernel,launch,cycles\nstep,first,5\n").starts_with("line 2: the launch is \"first\""));
    assert!(
        error("\"Metric Name\",\"Metric Unit\",\"Metric Value\"\na,b,1\n")
            .contains("no column \"Kernel Name\"")
    );
}

#[test]
fn truncated_files_are_refused_with_the_line() {
    let profiles = [
        include_str!("../../../../tests/profiles/ncu_raw.csv"),
        include_str!("../../../../tests/profiles/nvprof_trace.csv"),
        include_str!("../../../../tests/profiles/nvprof_launches.csv"),
        "kernel,cycles,dram_bytes\nstep,100,5\nsum,100,6\n",
    ];
    for whole in profiles {
        // Cut within the last line, before its last comma.
        let end = whole.trim_end().rfind(',').expect("a comma");
        let cut = error(&whole[..end]);
        let line = whole.trim_end().lines().count();
        assert!(cut.starts_with(&format!("line {line} ")) && cut.contains("cut off"), "{cut}");
    }
}

#[test]
fn every_prefix_of_a_profile_is_read_or_refused() {
    for whole in [
        include_str!("../../../../tests/profiles/ncu_raw.csv"),
        include_str!("../../../../tests/profiles/ncu_details.csv"),
        include_str!("../../../../tests/profiles/nvprof_metrics.csv"),
        include_str!("../../../../tests/profiles/nvprof_summary.csv"),
    ] {
        for end in (0..whole.len()).filter(|end| whole.is_char_boundary(*end)) {
            drop(read(&whole[..end], None, Some(&MACHINE)));
        }
    }
}

proptest::proptest! {
    #[test]
    fn any_table_is_read_or_refused(lines in proptest::collection::vec("[a-z0-9,\"# .%-]{0,40}", 0..8)) {
        drop(read(&format!("kernel,cycles\n{}", lines.join("\n")), None, None));
        drop(read(&format!("\"Device\",\"Kernel\",\"inst_executed\"\n{}", lines.join("\n")), None, None));
    }
}

#[test]
fn accelsim_output() {
    let found = of(include_str!("../../../../tests/profiles/accelsim_output.txt"));
    assert_eq!(found.formats, [Format::AccelsimOutput]);
    let rows: Vec<(&str, Which)> = found.rows.iter().map(|row| (row.kernel.as_str(), row.which)).collect();
    let (step, sum) = ("_Z4stepPKfPfi", "_Z3sumPKfPfi");
    assert_eq!(rows, [(step, Which::Launch(0)), (sum, Which::Launch(0)), (step, Which::Launch(1))]);
    let of = |row: usize, metric: &str| found.rows[row].values[metric];
    assert_eq!((of(0, "cycles"), of(1, "cycles"), of(2, "cycles")), (6421.0, 9120.0, 6380.0));
    // The simulator adds these up; the fourth kernel has not ended.
    assert_eq!(
        (of(0, "warp_instructions"), of(1, "warp_instructions"), of(2, "warp_instructions")),
        (1920.0, 2600.0, 1920.0)
    );
    assert_eq!((of(0, "thread_instructions"), of(0, "occupancy")), (57344.0, 62.4571));
    assert!(near(of(0, "l2_hit_rate"), 25.0) && near(of(1, "l2_hit_rate"), 50.0));
    assert!(error("kernel_name = \ngpu_sim_cycle = 1\n").contains("line 1"));
    assert!(error("kernel_name = k\ngpu_sim_cycle = x\n").contains("line 2: gpu_sim_cycle is \"x\""));
    assert!(error("gpu_sim_cycle = 12\n").contains("no kernel that ended"));
}

#[test]
fn accelsim_tables() {
    let found = of(include_str!("../../../../tests/profiles/accelsim_stats.csv"));
    assert_eq!(found.formats, [Format::AccelsimTables]);
    let rows: Vec<(Option<&str>, &str, Which)> =
        found.rows.iter().map(|row| (row.program.as_deref(), row.kernel.as_str(), row.which)).collect();
    let step = "_Z4stepPKfPfi";
    assert_eq!(
        rows,
        [
            (Some("heat"), step, Which::Launch(0)),
            (Some("heat"), "_Z3sumPKfPfi", Which::Launch(0)),
            (Some("heat"), step, Which::Launch(1))
        ]
    );
    assert_eq!((found.rows[0].values["cycles"], found.rows[2].values["cycles"]), (6421.0, 6380.0));
    assert_eq!(found.rows[1].values.get("warp_instructions"), None, "NA");
    assert_eq!(found.rows[0].values["warp_instructions"], 1920.0);
    assert_eq!(found.unused, ["gpu_tot_ipc", "total dram reads"]);
    let table = |header: &str, row: &str| format!("----\ngpu_tot_sim_cycle\\s*=\\s*(.*),\n{header}\n{row}\n");
    assert!(error(&table("APPS,A,B", "x/y--k--0,1,2")).contains("several configurations (A, B)"));
    assert!(error(&table("APPS,A", "x/y--final_kernel,1")).contains("-k -K"));
    // Kernels as columns.
    let turned = of(&table("CFG,x/y--k--0,x/y--k--1", "A,1,NA"));
    assert_eq!((turned.rows.len(), turned.rows[0].values["cycles"]), (1, 1.0));
    assert!(error(&table("CFG,x/y--k--0", "A,1\nB,2")).contains("line 5: the tables have several"));
    assert!(error(&table("CFG,x/y--k--0,x/y--k--1", "A,1")).contains("line 4: 2 of 3 columns"));
}
