//! Launch manifests: kernels to launch, with buffers, their initial contents and expected results.
//!
//! [`Manifest::load`] reads `APP.toml`, chooses a size, applies overrides and evaluates every expression; the result contains
//! no names except those of kernels. `contents` fills buffers, `check` compares them afterwards,
//! `expression` evaluates, `element` knows the element types. [`crate::session`] checks arguments against
//! the kernel.

pub(crate) mod check;
pub(crate) mod contents;
pub(crate) mod element;
pub(crate) mod error;
pub(crate) mod expression;
mod node;
pub(crate) mod objects;
mod read;
mod sizes;
mod spec;

pub use check::{Check, Verdict};
pub use contents::{Init, Number};
pub use element::ElementType;
pub use error::{ManifestError, Place};
pub use objects::{ObjectSpec, Role, SamplerSpec};
pub use spec::{Argument, ArgumentValue, Buffer, Expect, LaunchSpec, MAX_BUFFER_BYTES, Manifest};

use std::path::Path;
use warplab_host::input;

impl Manifest {
    /// Reads a manifest, chooses one of its sizes, applies overrides (`PATH=VALUE`) and evaluates it.
    ///
    /// # Errors
    /// The first error, with its place.
    pub fn load(path: &Path, size: Option<&str>, overrides: &[String]) -> Result<Manifest, ManifestError> {
        let file = path.display().to_string();
        let text = input::read_text(path, input::TEXT_BYTES).map_err(|error| {
            let what = match error.kind() {
                std::io::ErrorKind::NotFound => "there is no such launch manifest".to_string(),
                _ => format!("the launch manifest cannot be read: {error}"),
            };
            ManifestError::file(&file, what).with_help(
                "a manifest says which kernel to launch on which data; put it beside the PTX or name it with --manifest",
            )
        })?;
        Manifest::parse(path, &text, size, overrides)
    }

    /// Like [`Manifest::load`] for a text; relative paths in it are relative to the folder of `path`.
    ///
    /// # Errors
    /// The first error, with its place.
    pub fn parse(
        path: &Path,
        text: &str,
        size: Option<&str>,
        overrides: &[String],
    ) -> Result<Manifest, ManifestError> {
        let file = path.display().to_string();
        let mut root = node::parse(&file, text)?;
        let resized = sizes::choose(&mut root, &file, size)?;
        for assignment in overrides {
            node::set(&mut root, &file, assignment)?;
        }
        read::manifest(path, &file, &root, resized || !overrides.is_empty())
    }
}
