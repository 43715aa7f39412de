//! Barriers in diverged code, from PTX to the timing model: reductions that lanes of a warp reach on several paths,
//! thread counts with lanes that have exited, lanes that name different barriers.

use emulator::exec::{Options, Unobserved};
use emulator::session::{Session, Setup};
use trace_format::reader::Trace;
use trace_format::validate;

const MODULE: &str = "
.version 8.0
.target sm_75
.address_size 64
.visible .entry meet(.param .u64 out)
{
    .reg .b32 %t, %a, %b, %c, %d, %lane, %id, %n; .reg .pred %p, %q, %r, %s; .reg .b64 %o;
    ld.param.u64 %o, [out];
    mov.u32 %t, %tid.x;
    mov.u32 %lane, %laneid;
    mad.wide.u32 %o, %t, 4, %o;
    setp.lt.u32 %p, %t, 77;
    // Every fifth thread leaves before the first barrier.
    rem.u32 %a, %t, 5;
    setp.eq.u32 %q, %a, 4;
    @%q bra OUT;
    and.b32 %a, %t, 3;
    setp.eq.u32 %q, %a, 1;
    @%q bra ONE;
    setp.eq.u32 %q, %a, 2;
    @%q bra TWO;
    barrier.red.popc.u32 %b, 3, %p;
    bra.uni NEXT;
ONE:
    barrier.red.popc.u32 %b, 3, %p;
    add.u32 %b, %b, 1000;
    bra.uni NEXT;
TWO:
    barrier.red.popc.u32 %b, 3, %p;
    add.u32 %b, %b, 2000;
NEXT:
    // All warps, given as a count; lanes arrive in two groups.
    mov.u32 %n, %ntid.x;
    add.u32 %n, %n, 31;
    and.b32 %n, %n, -32;
    setp.lt.u32 %q, %lane, 9;
    @%q bra LOW;
    barrier.red.or.pred %r, 5, %n, !%p;
    bra.uni BOTH;
LOW:
    barrier.red.or.pred %r, 5, %n, !%p;
BOTH:
    // Lower and upper halves of the warps meet at barriers of their own.
    shr.u32 %id, %lane, 4;
    add.u32 %id, %id, 7;
    barrier.red.and.pred %s, %id, 64, %p;
    barrier.sync 0;
    selp.u32 %c, 10000, 0, %r;
    add.u32 %b, %b, %c;
    selp.u32 %c, 20000, 0, %s;
    add.u32 %b, %b, %c;
    st.global.u32 [%o], %b;
OUT:
    ret;
}
";

#[test]
fn diverged_barriers_give_their_results_and_replay() {
    for threads in [128u32, 100, 33, 7] {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let path = dir.path().join("meet.toml");
        // Without early exits, the halves of four warps are 64 threads each; otherwise all meet at one barrier.
        let halves = threads == 128;
        let module = if halves {
            MODULE.replace("setp.eq.u32 %q, %a, 4;", "setp.eq.u32 %q, %a, 9;")
        } else {
            MODULE.replace("barrier.red.and.pred %s, %id, 64, %p;", "barrier.red.and.pred %s, 6, %p;")
        };
        std::fs::write(dir.path().join("meet.ptx"), module).expect("a module");
        let text = format!(
            "[buffers.out]\ntype = 'u32'\nlen = {threads}\n\
             [[launch]]\nkernel = 'meet'\ngrid = 3\nblock = {threads}\nargs = ['@out']\n"
        );
        std::fs::write(&path, text).expect("a manifest");
        let open = || Session::open_manifest(&path, &Setup::default()).unwrap_or_else(|e| panic!("{e}"));
        let trace = dir.path().join("meet.wtrace");
        let mut session = open();
        session.record(&trace, &Options::default(), &Unobserved).unwrap_or_else(|e| panic!("{e}"));
        let stay = |t: &u32| halves || t % 5 != 4;
        let count = (0..threads).filter(stay).filter(|&t| t < 77).count() as u32;
        let staying = (0..threads).filter(stay).count() as u32;
        let some_false = count < staying;
        let got = session.buffer("out").expect("results").chunks_exact(4);
        for (t, got) in (0..threads).zip(got) {
            let way = [0, 1000, 2000, 0][(t % 4) as usize];
            let all = if some_false { 0 } else { 20_000 };
            let want = count + way + if some_false { 10_000 } else { 0 } + all;
            let got = u32::from_le_bytes([got[0], got[1], got[2], got[3]]);
            assert_eq!(got, if stay(&t) { want } else { 0 }, "thread {t} of {threads}");
        }
        let report = validate::validate(&trace, 2, &validate::Progress::default()).expect("a trace");
        assert!(report.is_sound() && report.warps > 0, "{:?}", report.problems);
        let trace = Trace::open(&trace).expect("a trace");
        for gpu in ["gtx480", "titanx-pascal", "qv100", "rtx2060"] {
            let config = timing::config::load(gpu, &[]).expect("a configuration").config;
            let options = timing::replay::ReplayOptions { checked: true, ..Default::default() };
            let replay = timing::replay::replay(&trace, &config, &[], &options);
            replay.unwrap_or_else(|e| panic!("{gpu}, {threads} threads: {e}"));
        }
    }
}
