//! Linking at run time: PTX texts from images of any kind become one module's text.
//!
//! A program receives that text as the "cubin"; every function that loads modules accepts it.

use super::image::Images;
use crate::device::Device;
use crate::error::Status;
use emulator::ptx::{is_nvidias_runtime, link};
use emulator::session::LoadedModule;

/// The comment in the last line of a linked text that says how many registers its kernels may have.
const MOST_REGISTERS: &str = "// most registers of a thread: ";

/// The most registers per thread that a text was linked for.
pub(super) fn most_registers_of(text: &str) -> Option<u16> {
    text.trim_end().lines().next_back()?.strip_prefix(MOST_REGISTERS)?.parse().ok()
}

/// A linker's state.
#[derive(Debug, Default)]
pub struct Link {
    /// Texts with the names that errors call them.
    texts: Vec<(String, String)>,
    /// The linked text with a NUL at its end.
    linked: Option<Vec<u8>>,
}

impl Link {
    /// Adds an image: PTX, or a container with PTX.
    ///
    /// # Errors
    /// A code for the program and words for people: when it holds no PTX, or PTX with errors.
    pub fn add(&mut self, device: &Device, image: &[u8], name: &str) -> Result<(), (Status, String)> {
        let chosen = Images::open(image).and_then(|images| images.choose_all(device));
        let chosen = chosen.map_err(|(status, what)| (status, format!("{name}: {what}")))?;
        for ptx in chosen {
            let text = String::from_utf8_lossy(&ptx.contents).trim_end_matches('\0').to_owned();
            // Warplab's device runtime replaces it.
            if !is_nvidias_runtime(&text) {
                LoadedModule::parse(&text, name).map_err(|e| (Status::INVALID_PTX, e.to_string()))?;
            }
            self.texts.push((name.to_owned(), text));
        }
        Ok(())
    }

    /// Links the added texts, for at most so many registers per thread; the result is valid as long as the state lives.
    ///
    /// # Errors
    /// A code for the program and words for people: when two texts define the same symbol.
    pub fn complete(&mut self, most_registers: Option<u16>) -> Result<&[u8], (Status, String)> {
        let texts: Vec<(&str, &str)> = self.texts.iter().map(|(n, t)| (n.as_str(), t.as_str())).collect();
        if texts.is_empty() {
            return Err((Status::INVALID_VALUE, "nothing has been added to the linker".into()));
        }
        let mut text = link(&texts).map_err(|e| (Status::INVALID_KERNEL_IMAGE, e.to_string()))?;
        if let Some(most) = most_registers {
            text += &format!("\n{MOST_REGISTERS}{most}\n");
        }
        let mut bytes = text.into_bytes();
        bytes.push(0);
        Ok(self.linked.insert(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Memory;
    use crate::modules::Modules;
    use emulator::exec::Options;

    #[test]
    fn texts_become_one_that_loads() {
        let device = &Device::all()[0];
        let (mut memory, mut modules) =
            (Memory::new(1 << 30).expect("there are addresses"), Modules::new(device));
        let head = ".version 7.0\n.target sm_75\n.address_size 64\n";
        let mut state = Link::default();
        let caller = format!(
            "{head}.extern .func (.param .b32 r) f(.param .b32 a);\n.visible .entry k() {{ .reg .b32 %r;\n{{ .param \
             .b32 a; .param .b32 r; st.param.b32 [a], 3; call (r), f, (a); ld.param.b32 %r, [r]; }} ret; }}\n\0"
        );
        let callee = format!(
            "{head}.visible .func (.param .b32 r) f(.param .b32 a) {{ .reg .b32 %r; ld.param.b32 %r, [a]; st.param.b32 \
             [r], %r; ret; }}\n"
        );
        state.add(device, caller.as_bytes(), "caller").unwrap();
        state.add(device, callee.as_bytes(), "callee").unwrap();
        let text = state.complete(None).unwrap().to_vec();
        assert_eq!(text.last(), Some(&0));
        let module = modules.try_load(&mut memory, &text[..text.len() - 1], "linked").unwrap();
        assert!(modules.kernel(&Options::default(), module, "k").is_ok());
        state.add(device, callee.as_bytes(), "again").unwrap();
        let (status, what) = state.complete(None).unwrap_err();
        assert_eq!(status, Status::INVALID_KERNEL_IMAGE);
        assert!(what.contains("`f`") && what.contains("again"), "{what}");
    }

    #[test]
    fn kernels_have_the_registers_that_they_are_linked_for() {
        let device = &Device::all()[0];
        let each = |line: &dyn Fn(usize) -> String| (0..100).map(line).collect::<String>();
        let text = format!(
            ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 p) {{ .reg .b64 %a; .reg .b32 \
             %r<100>; ld.param.u64 %a, [p];\n{}bar.sync 0;\n{}ret; }}\n",
            each(&|i| format!("ld.volatile.global.u32 %r{i}, [%a+{}];\n", 4 * i)),
            each(&|i| format!("st.volatile.global.u32 [%a+{}], %r{i};\n", 4 * i + 400)),
        );
        let registers = |most: Option<u16>| {
            let (mut memory, mut modules) =
                (Memory::new(1 << 30).expect("there are addresses"), Modules::new(device));
            let mut state = Link::default();
            state.add(device, text.as_bytes(), "text").unwrap();
            let linked = state.complete(most).unwrap();
            let module = modules.try_load(&mut memory, linked, "linked").unwrap();
            let kernel = modules.kernel(&Options::default(), module, "k").unwrap();
            modules.kernels.get(kernel).unwrap().lowered.kernel.regs_per_thread
        };
        let most = registers(None);
        assert!(most > 100, "{most}");
        for limit in [38, 57] {
            assert!(registers(Some(limit)) <= limit, "{} for {limit}", registers(Some(limit)));
        }
    }
}
