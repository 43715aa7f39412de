//! Instructions without a lowering: a kernel runs as long as no thread reaches one; a thread that does faults with the
//! form's name and location, and `emu inspect` lists it beforehand.

use crate::calls_kit;
use crate::cli_kit;

use calls_kit::{TestProgram, manifest, module, words};
use cli_kit::Folder;

/// A call of CUDA 11's device-side launch, which no module defines; only thread `at` of the block reaches it.
fn launches_from_the_device(at: u32) -> String {
    let declared = ".extern .func (.param .b32 r) cudaLaunchDevice(.param .b64 p, .param .b64 s);";
    let body = format!(
        ".reg .pred %p;\nsetp.ne.u32 %p, %t, {at};\nadd.u32 %o, %t, 7;\n@%p bra L;\n\
         {{ .param .b64 p0; .param .b64 p1; .param .b32 r0; st.param.b64 [p0], 0; st.param.b64 [p1], 0;\n\
         call.uni (r0), cudaLaunchDevice, (p0, p1);\n}}\nL:"
    );
    module(declared, &body)
}

#[test]
fn a_kernel_runs_as_long_as_no_thread_reaches_what_is_unsupported() {
    let session = TestProgram::new(&launches_from_the_device(1000), &manifest(64, 2, 32)).run();
    assert_eq!(words(&session, "out"), (7..71).collect::<Vec<u32>>());
}

#[test]
fn the_thread_that_gets_there_faults_with_the_name_and_the_line() {
    let error = TestProgram::new(&launches_from_the_device(5), &manifest(64, 2, 32)).fails();
    for told in ["unsupported", "cudaLaunchDevice", "k.ptx:20", "lane 5", "block (0,0,0)"] {
        assert!(error.contains(told), "{told} is missing in:\n{error}");
    }
}

#[test]
fn an_instruction_that_is_not_emulated_faults_where_it_stands_and_not_before() {
    let body = |guard: &str| {
        let body = format!(
            ".reg .pred %p;\nsetp.lt.u32 %p, %t, 32;\nmov.u32 %o, 1;\n{guard} cp.async.bulk.commit_group;"
        );
        let text = module("", &body);
        let head = text.find(".address_size").expect("a head");
        format!(".version 8.0\n.target sm_90\n{}", &text[head..])
    };
    let session = TestProgram::new(&body("@!%p"), &manifest(32, 1, 32)).run();
    assert_eq!(words(&session, "out"), [1; 32]);
    let error = TestProgram::new(&body("@%p"), &manifest(32, 1, 32)).fails();
    assert!(error.contains("cp.async.bulk") && error.contains("k.ptx:"), "{error}");
}

#[test]
fn inspect_lists_forms_and_what_is_not_supported() {
    let folder = Folder::new().file("k.ptx", &launches_from_the_device(5));
    let run = folder.emu(&["inspect", "k.ptx"]);
    run.succeeds();
    for told in ["kernel k(u64 out)", "cudaLaunchDevice: declared only", "1 setp.ne.u32", "line 20: call.uni"]
    {
        assert!(run.out.contains(told), "{told} is missing in:\n{}", run.out);
    }
    let json: serde_json::Value =
        serde_json::from_str(&folder.emu(&["inspect", "k.ptx", "--json"]).out).unwrap();
    assert_eq!(json["unsupported"][0]["line"], 20);
    assert_eq!(json["forms"]["st.param.b64"], 2);
    assert_eq!(json["kernels"][0]["name"], "k");
}
