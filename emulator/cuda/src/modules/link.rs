//! Linking at run time: PTX texts from images of any kind become one module's text.
//!
//! A program receives that text as the "cubin"; every function that loads modules accepts it.

use super::image::Images;
use crate::device::Device;
use crate::error::Status;
use emulator::ptx::{is_nvidias_runtime, link};
use emulator::session::LoadedModule;

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

    /// Links the added texts; the result is valid as long as the state lives.
    ///
    /// # Errors
    /// A code for the program and words for people: when two texts define the same symbol.
    pub fn complete(&mut self) -> Result<&[u8], (Status, String)> {
        let texts: Vec<(&str, &str)> = self.texts.iter().map(|(n, t)| (n.as_str(), t.as_str())).collect();
        if texts.is_empty() {
            return Err((Status::INVALID_VALUE, "nothing has been added to the linker".into()));
        }
        let text = link(&texts).map_err(|e| (Status::INVALID_KERNEL_IMAGE, e.to_string()))?;
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
        let text = state.complete().unwrap().to_vec();
        assert_eq!(text.last(), Some(&0));
        let module = modules.try_load(&mut memory, &text[..text.len() - 1], "linked").unwrap();
        assert!(modules.kernel(&Options::default(), module, "k").is_ok());
        state.add(device, callee.as_bytes(), "again").unwrap();
        let (status, what) = state.complete().unwrap_err();
        assert_eq!(status, Status::INVALID_KERNEL_IMAGE);
        assert!(what.contains("`f`") && what.contains("again"), "{what}");
    }
}
