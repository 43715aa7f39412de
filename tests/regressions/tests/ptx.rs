//! PTX that no assembler takes is refused, with file, line, column, the word and the nearest valid one; and nested loops
//! compile in reasonable time.

use regressions::{fails, input, program};

/// An input, the place and message of its error, and the hint.
const REFUSED: [(&str, &str, &str); 7] = [
    ("ptx_setp_gee.ptx", "10:7: error: `.gee` is not a modifier that `setp` can have here", "`.ge`"),
    ("ptx_ld_globl.ptx", "9:5: error: `.globl` is not a modifier that `ld` can have here", "`.global`"),
    ("ptx_fma_no_rounding.ptx", "10:3: error: `fma.f32` lacks a rounding", ".rn, .rz, .rm, .rp"),
    (
        "ptx_st_f64_of_f32.ptx",
        "10:25: error: `st.global.f64`: expected type `.f64`, and `%f1` is declared `.f32`",
        "the PTX ISA",
    ),
    ("ptx_target_sm_999.ptx", "3:9: error: there is no target `sm_999`", "`sm_90`"),
    ("ptx_shl_u32.ptx", "10:6: error: `.u32` is not a modifier that `shl` can have here", "`.b32`"),
    ("ptx_version_before_target.ptx", "3:9: error: PTX 6.0 has no target `sm_75`", "from PTX 6.3 on"),
];

#[test]
fn ptx_that_does_not_exist_is_refused_by_every_command() {
    for (name, error, hint) in REFUSED {
        let path = input(name);
        for command in ["inspect", "disasm", "run", "record"] {
            let mut emu = program("emu");
            emu.arg(command).arg(&path);
            let told = fails(&mut emu, 1);
            let expected = format!("{}:{error}", path.display());
            assert!(told.contains(&expected) && told.contains(hint), "{command} {name}:\n{told}");
        }
    }
}
