//! The report's files: page, JSON, one CSV and one Parquet file per chart, table and listing, one SVG and one PNG per
//! chart.
//!
//! Each file is written beside its final name and renamed into place, so that a reader never sees
//! half of one and a failed run leaves the previous one alone.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::outline::{Item, Outline};
use crate::page::figure_width;
use crate::report::{Report, csv_comment};

/// Paths of everything a report wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenReport {
    /// The page: `index.html`.
    pub html: PathBuf,
    /// The data: `data.json`.
    pub json: PathBuf,
    /// One file per chart, table and listing: `csv/ID.csv`.
    pub csvs: Vec<PathBuf>,
    /// One file per chart, table and listing: `parquet/ID.parquet`. None without the feature `parquet`.
    pub parquets: Vec<PathBuf>,
    /// One file per chart: `figures/ID.svg`.
    pub svgs: Vec<PathBuf>,
    /// One file per chart, in the light colours: `figures/ID.png`. None without the feature `png`.
    pub pngs: Vec<PathBuf>,
}

impl Report {
    /// Writes page, JSON, CSV, Parquet, SVG and PNG files into `dir`, which is created if needed.
    ///
    /// Files of the same names are replaced, all others are left alone.
    ///
    /// # Errors
    /// As [`Report::check`], before anything is written; [`Error::Io`] with the path concerned.
    pub fn write(&self, dir: impl AsRef<Path>) -> Result<WrittenReport> {
        let dir = dir.as_ref();
        let html = self.to_html()?;
        let (csv_dir, figures) = (dir.join("csv"), dir.join("figures"));
        for folder in [dir, &csv_dir, &figures] {
            fs::create_dir_all(folder).map_err(io("create the folder", folder))?;
        }
        let mut csvs = Vec::new();
        let comment = self.produced_by.as_ref().map(csv_comment).unwrap_or_default();
        for data in self.data_sets() {
            let text = comment.clone() + &data.table.to_csv();
            csvs.push(replace(csv_dir.join(format!("{}.csv", data.id)), text.as_bytes())?);
        }
        let parquets = self.write_parquets(dir)?;
        let mut svgs = Vec::new();
        for placed in &Outline::new(&self.sections).items {
            if let Item::Chart(chart) = placed.item {
                let svg = chart.to_svg(figure_width(placed.columns));
                svgs.push(replace(figures.join(format!("{}.svg", placed.id)), svg.as_bytes())?);
            }
        }
        let pngs = self.write_pngs(&figures)?;
        let json = replace(dir.join("data.json"), format!("{}\n", self.to_json()).as_bytes())?;
        // The page is written last: if it exists, so do all other files.
        let html = replace(dir.join("index.html"), html.as_bytes())?;
        Ok(WrittenReport { html, json, csvs, parquets, svgs, pngs })
    }

    #[cfg(feature = "parquet")]
    fn write_parquets(&self, dir: &Path) -> Result<Vec<PathBuf>> {
        let folder = dir.join("parquet");
        fs::create_dir_all(&folder).map_err(io("create the folder", &folder))?;
        let mut written = Vec::new();
        for data in self.data_sets() {
            let path = folder.join(format!("{}.parquet", data.id));
            let bytes =
                data.table.to_parquet_of(self.produced_by.as_ref()).map_err(encode("encode", &path))?;
            written.push(replace(path, &bytes)?);
        }
        Ok(written)
    }

    #[cfg(not(feature = "parquet"))]
    fn write_parquets(&self, _: &Path) -> Result<Vec<PathBuf>> {
        Ok(Vec::new())
    }

    #[cfg(feature = "png")]
    fn write_pngs(&self, figures: &Path) -> Result<Vec<PathBuf>> {
        let mut written = Vec::new();
        for placed in &Outline::new(&self.sections).items {
            if let Item::Chart(chart) = placed.item {
                let path = figures.join(format!("{}.png", placed.id));
                let pixels = chart.to_png(figure_width(placed.columns)).map_err(encode("render", &path))?;
                written.push(replace(path, &pixels)?);
            }
        }
        Ok(written)
    }

    #[cfg(not(feature = "png"))]
    fn write_pngs(&self, _: &Path) -> Result<Vec<PathBuf>> {
        Ok(Vec::new())
    }
}

/// Writes `contents` to a temporary file beside `path` and renames it to `path`.
fn replace(path: PathBuf, contents: &[u8]) -> Result<PathBuf> {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = path.with_file_name(name);
    let written = fill(&temporary, contents).map_err(io("write", &temporary));
    let moved =
        written.and_then(|()| fs::rename(&temporary, &path).map_err(io("move the finished file to", &path)));
    if moved.is_err() {
        // The first error is reported; a file that cannot be removed changes nothing.
        let _ = fs::remove_file(&temporary);
    }
    moved.map(|()| path)
}

fn fill(path: &Path, contents: &[u8]) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(path)?;
    file.write_all(contents)?;
    file.flush()
}

fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Io { action, path, source }
}

#[cfg(any(feature = "parquet", feature = "png"))]
fn encode(action: &'static str, path: &Path) -> impl FnOnce(String) -> Error {
    let path = path.to_owned();
    move |why| Error::Io { action, path, source: std::io::Error::other(why) }
}
