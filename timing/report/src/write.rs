//! The report's files: page, JSON, one CSV and one Parquet file per chart, table and listing, one SVG and one PNG per
//! chart.
//!
//! Each file is written beside its final name and renamed into place, so that a reader never sees
//! half of one and a failed run leaves the previous one alone.

use std::fs::{self, File};
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::outline::{Item, Outline};
use crate::page::{GENERATOR, POLICY, figure_width};
use crate::report::Report;
use crate::sidecar::{sidecar, sidecar_of};
use warplab_host::destination::Destination;

/// Name of the page.
const PAGE: &str = "index.html";
/// Bytes at the beginning of a page that are looked at.
const HEAD_BYTES: u64 = 4096;

/// Paths of everything a report wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenReport {
    /// The page: `index.html`.
    pub html: PathBuf,
    /// The data: `data.json`.
    pub json: PathBuf,
    /// One file per chart, table and listing: `csv/ID.csv`. What produced it is in `csv/ID.csv.provenance.json`.
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
    /// Files of the same names are replaced, all others are left alone; a page of something else is not replaced.
    ///
    /// # Errors
    /// As [`Report::check`], before anything is written; [`Error::Io`] with the path concerned.
    pub fn write(&self, dir: impl AsRef<Path>) -> Result<WrittenReport> {
        let dir = dir.as_ref();
        let html = self.to_html()?;
        check_folder(dir)?;
        let (csv_dir, figures) = (dir.join("csv"), dir.join("figures"));
        for folder in [dir, &csv_dir, &figures] {
            fs::create_dir_all(folder).map_err(io("create the folder", folder))?;
        }
        let mut csvs = Vec::new();
        for data in self.data_sets() {
            let text = data.table.to_csv();
            let path = replace(csv_dir.join(format!("{}.csv", data.id)), text.as_bytes())?;
            if let Some(by) = &self.produced_by {
                replace(sidecar(&path), sidecar_of(&path, text.as_bytes(), by).as_bytes())?;
            }
            csvs.push(path);
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
        let html = replace(dir.join(PAGE), html.as_bytes())?;
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

/// Refuses a folder whose page is not one of this crate's: it would be replaced.
///
/// # Errors
/// [`Error::Io`] with the path of the page.
pub fn check_folder(dir: &Path) -> Result<()> {
    let page = dir.join(PAGE);
    let is_own = |page: &Path| -> std::io::Result<bool> {
        let mut head = Vec::new();
        File::open(page)?.take(HEAD_BYTES).read_to_end(&mut head)?;
        let head = String::from_utf8_lossy(&head);
        // Pages of earlier versions do not have the line.
        Ok(head.contains(GENERATOR) || head.contains(POLICY))
    };
    match page.symlink_metadata() {
        Err(why) if why.kind() == ErrorKind::NotFound => Ok(()),
        Err(why) => Err(io("read", &page)(why)),
        Ok(found) if found.is_file() && is_own(&page).map_err(io("read", &page))? => Ok(()),
        Ok(_) => {
            let why = "it is there already and is no page of Warplab; name another folder, or move the page";
            Err(io("replace", &page)(std::io::Error::new(ErrorKind::AlreadyExists, why)))
        }
    }
}

/// Writes a file that replaces an older one when it is complete.
fn replace(path: PathBuf, contents: &[u8]) -> Result<PathBuf> {
    let written = Destination::within(&path).write(|out| out.write_all(contents));
    written.map_err(io("write", &path)).map(|()| path)
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
