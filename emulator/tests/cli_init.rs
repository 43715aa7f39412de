//! `emu init`, `emu completions` and `emu man`.

use crate::cli_kit;

use cli_kit::Folder;

/// `to[i] = from[i] * by + i` for `count` elements.
const SCALE: &str = "\
.version 8.0
.target sm_75
.address_size 64
.visible .entry _Z5scalePfPKfif(.param .u64 _Z5scalePfPKfif_param_0, .param .u64 _Z5scalePfPKfif_param_1,
    .param .u32 _Z5scalePfPKfif_param_2, .param .f32 _Z5scalePfPKfif_param_3)
{
    .reg .pred %p<2>;
    .reg .f32 %f<5>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [_Z5scalePfPKfif_param_0];
    ld.param.u64 %rd2, [_Z5scalePfPKfif_param_1];
    ld.param.u32 %r1, [_Z5scalePfPKfif_param_2];
    ld.param.f32 %f1, [_Z5scalePfPKfif_param_3];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.s32 %p1, %r5, %r1;
    @%p1 bra done;
    cvta.to.global.u64 %rd3, %rd2;
    mul.wide.s32 %rd4, %r5, 4;
    add.s64 %rd5, %rd3, %rd4;
    ld.global.f32 %f2, [%rd5];
    mul.f32 %f3, %f2, %f1;
    cvta.to.global.u64 %rd6, %rd1;
    add.s64 %rd7, %rd6, %rd4;
    st.global.f32 [%rd7], %f3;
done:
    ret;
}
";

#[test]
fn a_manifest_from_the_signature_runs_at_once() {
    let folder = Folder::new().file("scale.ptx", SCALE);
    let init = folder.emu(&["init", "scale.ptx"]);
    init.succeeds();
    assert!(
        init.out.contains("scale.toml: 1 launch, 2 buffers") && init.out.contains("emu run scale.ptx"),
        "{}",
        init.out
    );
    let manifest = std::fs::read_to_string(folder.path("scale.toml")).expect("a manifest");
    assert!(manifest.contains("args = [\"@p0\", \"@p1\", { u32 = \"n\" }, { f32 = 1.0 }]"), "{manifest}");
    let run = folder.emu(&["run", "scale.ptx", "--dump", "p0:2", "--set", "n=512"]);
    run.succeeds();
    assert!(run.out.contains("p0 (512 x f32)"), "{}", run.out);
    folder.emu(&["record", "scale.ptx"]).succeeds();
    folder.emu(&["init", "scale.ptx"]).fails(&["scale.toml is there already", "--force"]);
    folder.emu(&["init", "scale.ptx", "--force"]).succeeds();
    let printed = folder.emu(&["init", "scale.ptx", "-o", "-"]);
    printed.succeeds();
    assert_eq!(printed.out, manifest);
}

#[test]
fn what_has_no_kernel_gets_no_manifest() {
    let folder = Folder::new()
        .file("none.ptx", ".version 8.0\n.target sm_75\n.address_size 64\n")
        .file("scale.ptx", SCALE)
        .file("a.cu", "int x;")
        .file("a.traceg", "-kernel name = x");
    folder.emu(&["init", "none.ptx"]).fails(&["none.ptx has no kernel"]);
    folder
        .emu(&["init", "scale.ptx", "--kernel", "_Z5scalePfPKfi"])
        .fails(&["did you mean `_Z5scalePfPKfif`"]);
    folder.emu(&["init", "a.cu"]).fails(&["CUDA source"]);
    folder.emu(&["init", "a.traceg"]).fails(&["Accel-Sim", "timing import-trace"]);
    folder.emu(&["init", "missing.ptx"]).fails(&["cannot read missing.ptx"]);
}

#[test]
fn mistyped_names_get_a_suggestion() {
    let folder = Folder::new().file("scale.ptx", SCALE);
    folder.emu(&["init", "scale.ptx"]).succeeds();
    folder
        .emu(&["disasm", "scale.ptx", "--kernel", "_Z5scalePfPKf"])
        .fails(&["did you mean `_Z5scalePfPKfif`"]);
    folder.emu(&["run", "scale.ptx", "--size", "tset"]).fails(&["no size `tset`", "did you mean `test`"]);
    folder
        .emu(&["run", "scale.ptx", "--dump", "p2"])
        .fails(&["no buffer `p2`", "buffers of the manifest: p0, p1"]);
    folder
        .emu(&["run", "scale.ptx", "--check=memchek"])
        .fails(&["no check `memchek`", "did you mean `memcheck`"]);
    folder
        .emu(&["run", "--device", "rtx2070", "--", "true"])
        .fails(&["unknown device `rtx2070`", "known are rtx2060"]);
}

#[test]
fn completions_manual_pages_and_the_revision() {
    let folder = Folder::new();
    for (shell, part) in [("bash", "complete "), ("zsh", "#compdef emu"), ("fish", "complete -c emu")] {
        let output = folder.emu(&["completions", shell]);
        output.succeeds();
        assert!(output.out.contains(part) && output.out.contains("disasm"), "{shell}: {}", output.out);
    }
    folder.emu(&["man", "-o", "man1"]).succeeds();
    assert!(std::fs::read_to_string(folder.path("man1/emu-record.1")).expect("a page").contains("addresses"));
    let version = folder.emu(&["--version"]);
    version.succeeds();
    assert_eq!(version.out.trim(), format!("emu {}", emulator::VERSION));
}
