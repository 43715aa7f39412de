//! Shapes of operands over some of a warp's lanes, for instructions that only some execute.

use super::setting::{At, Span};
use super::values::Shape;

/// Shape of an operand's registers over the lanes of a mask: register pairs count as one number, an odd
/// register by itself. Affine means base + lane · stride with a whole stride.
#[must_use]
pub(super) fn shape_in(at: &At<'_>, span: Span, lanes: u32) -> Shape {
    let mut all = Shape::Uniform;
    let mut words = span.iter();
    while let Some(low) = words.next() {
        let (low_row, low_shape) = (&at.row(low).0, words_shape(&at.row(low).0, lanes));
        let mut shape = low_shape;
        if let Some(high) = words.next() {
            let high_row = &at.row(high).0;
            let each = low_shape.max(words_shape(high_row, lanes));
            let pair = |lane: usize| (u64::from(low_row[lane]) | u64::from(high_row[lane]) << 32) as i64;
            shape = if each == Shape::Unstructured { shape_of(lanes, pair) } else { each };
        }
        all = all.max(shape);
    }
    all
}

/// Shape of one register over the lanes of a mask.
#[must_use]
pub(super) fn words_shape(row: &[u32; 32], lanes: u32) -> Shape {
    shape_of(lanes, |lane| i64::from(row[lane] as i32))
}

fn shape_of(lanes: u32, value: impl Fn(usize) -> i64) -> Shape {
    let mut left = lanes;
    let mut next = || {
        let lane = (left != 0).then_some(left.trailing_zeros() as usize)?;
        left &= left - 1;
        Some(lane)
    };
    let (Some(first), Some(second)) = (next(), next()) else { return Shape::Uniform };
    let base = value(first);
    let distance = (second - first) as i128;
    let difference = i128::from(value(second)) - i128::from(base);
    if difference % distance != 0 {
        return Shape::Unstructured;
    }
    let stride = difference / distance;
    while let Some(lane) = next() {
        if i128::from(value(lane)) - i128::from(base) != stride * (lane - first) as i128 {
            return Shape::Unstructured;
        }
    }
    if stride == 0 { Shape::Uniform } else { Shape::Affine }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_are_whole_and_steady() {
        let row = |f: &dyn Fn(usize) -> i64| std::array::from_fn(|lane| f(lane) as u32);
        assert_eq!(words_shape(&row(&|_| 7), 0b1011), Shape::Uniform);
        assert_eq!(words_shape(&row(&|l| 5 - 3 * l as i64), u32::MAX), Shape::Affine);
        assert_eq!(words_shape(&row(&|l| i64::from(l == 4)), 0b10101), Shape::Unstructured);
        assert_eq!(words_shape(&row(&|l| i64::from(l == 4)), 0b10000), Shape::Uniform, "one lane");
        assert_eq!(words_shape(&row(&|l| l as i64 / 2), 0b11_0000_0101), Shape::Unstructured);
        assert_eq!(words_shape(&row(&|l| (l as i64 / 2) * 9), 0b1), Shape::Uniform);
        assert_eq!(words_shape(&row(&|l| l as i64 * l as i64), 0b110), Shape::Affine, "two lanes");
        assert_eq!(
            words_shape(&row(&|l| i64::from(l > 1)), 0b101),
            Shape::Unstructured,
            "a stride of a half"
        );
    }
}
