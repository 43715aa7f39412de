//! Self-contained HTML reports with inline SVG charts, and their data as JSON, CSV and SVG files.
//!
//! The crate takes tables, charts and text and makes files; it does not depend on the meaning of the numbers.
//! A page needs no network, follows the reader's light or dark preference, prints, sorts its tables, and
//! carries its whole data. Equal input gives equal bytes.
//!
//! The features `parquet` and `png` add Parquet files of all data and PNG files of all charts.
//!
//! ```
//! use report::{Axis, BarChart, Column, Format, Kpi, Report, Section, Series, Table, cells};
//!
//! let kernels = ["vectoradd", "matmul_tiled<32>"];
//! let speedup = BarChart::new("Speedup by technique", Axis::new("Speedup over baseline", Format::Ratio(2)))
//!     .categories("Kernel", kernels)
//!     .series(Series::new("bow", [1.01, 1.14]))
//!     .series(Series::new("corf", [1.00, 1.09]))
//!     .baseline(1.0)
//!     .geometric_mean();
//! let counters = Table::new("Counters", [Column::text("Kernel"), Column::integer("Cycles").unit("cycles")])
//!     .row(cells![kernels[0], 81_204u64])
//!     .row(cells![kernels[1], 1_310_720u64]);
//! let report = Report::new("Register file techniques")
//!     .subtitle("Two kernels, one configuration")
//!     .fact("Configuration", "titanx-pascal")
//!     .section(
//!         Section::new("Techniques")
//!             .text("Every bar is relative to the same run without the technique.")
//!             .kpis([Kpi::number("BOW", 1.07, Format::Ratio(2)).note("geometric mean")])
//!             .chart(speedup)
//!             .table(counters),
//!     );
//!
//! let dir = std::env::temp_dir().join(format!("report-doc-{}", std::process::id()));
//! let written = report.write(&dir)?;
//! assert_eq!(written.csvs.len(), 2);
//! # std::fs::remove_dir_all(dir).unwrap();
//! # Ok::<(), report::Error>(())
//! ```

mod axis;
mod chart;
mod error;
mod format;
mod highlight;
mod names;
mod outline;
mod page;
mod page_table;
mod palette;
#[cfg(feature = "parquet")]
mod parquet;
mod plain;
#[cfg(feature = "png")]
mod png;
mod report;
mod section;
mod sidecar;
mod source;
mod svg;
mod table;
mod text;
mod write;

pub use axis::Axis;
pub use chart::{
    BarChart, Chart, HeatChart, Histogram, Line, LineChart, Mean, Points, ScatterChart, Series, StackedChart,
    arithmetic_mean, distinct, geometric_mean,
};
pub use error::{Error, Result};
pub use format::{Format, MISSING, integer};
pub use highlight::Language;
pub use plain::limit_lines;
pub use report::{DataSet, Report};
pub use section::{Callout, Code, Kpi, Section, Tone};
pub use sidecar::{SIDECAR, sidecar, sidecar_of, sidecar_text};
pub use source::SourceListing;
pub use table::{Cell, Column, Table};
pub use text::escape;
pub use write::{WrittenReport, check_folder};
