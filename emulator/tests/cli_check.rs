//! `emu run --check`: findings with their lines, selection, limit, JSON and exit codes.

use crate::cli_kit;

use cli_kit::Folder;

const HEAD: &str = ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n\
    .reg .pred %p<9>;\n.reg .b32 %r<19>;\n.reg .b64 %rd<9>;\n.shared .align 4 .b8 tile[128];\n\
    .local .align 4 .b8 stack[16];\nld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x;\n\
    mul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\n";

const TOML: &str = "[buffers.a]\ntype = \"u32\"\nlen = 64\n[[launch]]\nkernel = \"k\"\ngrid = 2\nblock = 32\nargs = [\"@a\"]\n";

fn folder(body: &str) -> Folder {
    Folder::new().file("app.ptx", &format!("{HEAD}{body}ret;\n}}\n")).file("app.toml", TOML)
}

/// Line 15 reads local memory, line 16 reads the buffer, line 17 divides by zero in lane 3, line 18 stores 4 bytes
/// past the end of shared memory in lane 31.
const BODY: &str = "ld.local.u32 %r2, [stack+4];\nld.global.u32 %r3, [%rd3];\nsub.u32 %r4, %r1, 3;div.u32 %r5, %r2, %r4;\n\
    mov.u32 %r6, tile; mad.lo.u32 %r6, %r1, 4, %r6; st.shared.u32 [%r6+4], %r5;\nadd.u32 %r7, %r3, %r5;\nst.global.u32 [%rd3], %r7;\n";

#[test]
fn findings_name_line_place_and_thread_and_make_the_run_fail() {
    let folder = folder(BODY);
    folder.emu(&["run", "app.ptx", "--trap-zero-division"]).fails(&["division by zero"]);
    let run = folder.emu(&["run", "app.ptx", "--check"]);
    assert_eq!(run.code, Some(1), "{}{}", run.out, run.err);
    for told in [
        "initcheck: read of local memory at 0x4",
        "app.ptx:15: ld.local.u32",
        "initcheck: read of `a` + 0 (",
        "app.ptx:16: ld.global.u32",
        "divcheck: integer division by zero",
        "app.ptx:17: ",
        "block (0,0,0), thread (3,0,0)",
        "memcheck: write of 4 bytes out of bounds: shared memory has 128 bytes, the address is 0x80",
        "app.ptx:18: ",
        "thread (31,0,0)",
        "in kernel k, 64 times",
        "in kernel k, 2 times",
        "4 found",
    ] {
        assert!(run.out.contains(told), "{told} is missing in:\n{}", run.out);
    }
}

#[test]
fn checks_are_chosen_and_limited() {
    let folder = folder(BODY);
    let run = folder.emu(&["run", "app.ptx", "--check=divcheck", "--json"]);
    // Kernels that are not selected fault as without checks.
    run.fails(&["shared store of 4 bytes at 0x80 is out of bounds"]);
    let found: serde_json::Value = serde_json::from_str(&run.out).expect("JSON");
    assert_eq!(found["findings"][0]["check"], "divcheck");
    let run = folder.emu(&["run", "app.ptx", "--check=memcheck,divcheck", "--json"]);
    assert_eq!(run.code, Some(1), "{}", run.err);
    let found: serde_json::Value = serde_json::from_str(&run.out).expect("JSON");
    let list = found["findings"].as_array().expect("a list");
    assert_eq!((list.len(), &found["findings_omitted"]), (2, &0.into()), "{}", run.out);
    assert_eq!((&list[1]["site"]["ptx_line"], &list[1]["count"]), (&18.into(), &2.into()), "{}", run.out);
    let run = folder.emu(&["run", "app.ptx", "--check=all", "--check-limit", "1"]);
    assert!(run.code == Some(1) && run.out.contains("4 found, 3 of them not shown"), "{}", run.out);
    folder.emu(&["run", "app.ptx", "--check=typos"]).fails(&["there is no check `typos`", "racecheck"]);
    folder.emu(&["record", "app.ptx", "--check"]).fails(&["--check goes with `emu run`"]);
}

#[test]
fn a_clean_run_succeeds() {
    let run = folder("st.global.u32 [%rd3], %r1;\n").emu(&["run", "app.ptx", "--check"]);
    run.succeeds();
    assert!(run.out.contains("nothing found"), "{}", run.out);
}

#[test]
fn lanes_that_address_no_matrix_row_are_not_checked() {
    // One matrix has 8 rows of 16 bytes, which are the 128 bytes; lanes 8 and up would address bytes past them.
    let folder = folder(
        "mov.u32 %r6, tile;\nmad.lo.u32 %r6, %r1, 16, %r6;\n\
         ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r7}, [%r6];\nst.global.u32 [%rd3], %r7;\n",
    );
    let run = folder.emu(&["run", "app.ptx", "--check=memcheck"]);
    assert_eq!(run.code, Some(0), "{}{}", run.out, run.err);
    // Lane 7's row ends at the end of the memory; the next row would not.
    let folder = self::folder(
        "mov.u32 %r6, tile;\nmad.lo.u32 %r6, %r1, 16, %r6;\nadd.u32 %r6, %r6, 16;\n\
         ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r7}, [%r6];\nst.global.u32 [%rd3], %r7;\n",
    );
    let run = folder.emu(&["run", "app.ptx", "--check=memcheck"]);
    assert_eq!(run.code, Some(1), "{}{}", run.out, run.err);
    assert!(run.out.contains("thread (7,0,0)") && run.out.contains("1 found"), "{}", run.out);
}

/// Lanes exchange words in shared memory around an instruction: only an instruction that synchronises them orders
/// the accesses. The stores, the instruction and the loads depend on one another, so that the compiler does not
/// reorder them.
#[test]
fn lanes_are_ordered_by_every_instruction_in_which_they_take_part_together() {
    let check = |between: &str| {
        let body = format!(
            "mov.u32 %r6, tile; mad.lo.u32 %r6, %r1, 4, %r6; st.shared.u32 [%r6], %r1; ld.shared.u32 %r2, [%r6];\n\
             setp.ne.u32 %p1, %r2, 77; {between}\n\
             mov.u32 %r10, %ctaid.y; and.b32 %r9, %r9, %r10; xor.b32 %r7, %r6, 4; add.u32 %r7, %r7, %r9;\n\
             ld.shared.u32 %r8, [%r7]; st.global.u32 [%rd3], %r8;\n"
        );
        let text = format!("{HEAD}{body}ret;\n}}\n").replace("sm_75", "sm_80");
        let folder = Folder::new().file("app.ptx", &text).file("app.toml", TOML);
        folder.emu(&["run", "app.ptx", "--check=racecheck"])
    };
    for together in [
        "mov.u32 %r9, %r2; bar.warp.sync -1;",
        "redux.sync.add.s32 %r9, %r2, -1;",
        "vote.sync.ballot.b32 %r9, %p1, -1;",
        "shfl.sync.idx.b32 %r9, %r2, 0, 31, -1;",
        "match.any.sync.b32 %r9, %r2, -1;",
    ] {
        let run = check(together);
        run.succeeds();
        assert!(run.out.contains("nothing found"), "{together}\n{}", run.out);
    }
    for apart in ["add.u32 %r9, %r2, 1;", "selp.b32 %r9, 1, %r2, %p1;"] {
        let run = check(apart);
        assert_eq!(run.code, Some(1), "{apart}\n{}{}", run.out, run.err);
        assert!(run.out.contains("race on shared memory"), "{apart}\n{}", run.out);
    }
}
