//! Puts the git revision into the program.

fn main() {
    warplab_revision::emit(env!("CARGO_PKG_VERSION"));
}
