//! HTML reports.
