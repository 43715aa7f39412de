//! Charts as PNG, for slides and papers that take no SVG: rendered in the light colours with an embedded font, so that
//! every machine gives the same pixels whatever fonts it has.

use std::sync::{Arc, LazyLock};

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::fontdb::Database;
use resvg::usvg::{Options, Tree};

/// Pixels per unit of the drawing: sharp in print at column width.
const SCALE: f32 = 2.0;

/// The most pixels along a side; beyond, the drawing is scaled down.
const MOST: f32 = 8192.0;

static FONTS: LazyLock<Arc<Database>> = LazyLock::new(|| {
    let mut fonts = Database::new();
    for face in [dejavu::sans::regular(), dejavu::sans::bold()] {
        fonts.load_font_data(face.to_vec());
    }
    fonts.set_sans_serif_family("DejaVu Sans");
    Arc::new(fonts)
});

/// Renders a standalone SVG whose style sheet holds colours instead of variables.
///
/// # Errors
/// A sentence on what cannot be rendered.
pub(crate) fn render(svg: &str) -> Result<Vec<u8>, String> {
    let options =
        Options { font_family: "DejaVu Sans".to_owned(), fontdb: Arc::clone(&FONTS), ..Options::default() };
    let tree = Tree::from_str(svg, &options).map_err(|why| why.to_string())?;
    let (width, height) = (tree.size().width(), tree.size().height());
    let scale = SCALE.min(MOST / width).min(MOST / height);
    let side = |length: f32| (length * scale).ceil().max(1.0) as u32;
    let mut pixels = Pixmap::new(side(width), side(height)).ok_or("the drawing is too large")?;
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
    pixels.encode_png().map_err(|why| why.to_string())
}
