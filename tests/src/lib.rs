//! Workloads and references.
