//! Machine ISA, semantics and trace container.
