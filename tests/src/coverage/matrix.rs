//! Samples of `wmma`: a whole product of tiles around each load, multiplication or store. Elements are small
//! integers, whose products and sums are exact in every type, so that the order of summation does not matter.

use super::sample::Sample;
use super::words::Words;
use std::fmt::Write;

/// A product: the modifiers that its four instructions share.
#[derive(Clone, Debug)]
struct Product {
    shape: (usize, usize, usize),
    shape_name: String,
    factor: String,
    c: String,
    d: String,
    layouts: [String; 4],
    spaces: [String; 4],
}

const FACTORS: [&str; 8] = ["f16", "bf16", "tf32", "f64", "u8", "s8", "f32", "s32"];

/// The sample of a matrix form.
pub(super) fn sample(form: &str, words: &Words<'_>) -> Option<Sample> {
    if words.family != "wmma" {
        return None;
    }
    let shape_name = words
        .modifiers
        .iter()
        .find(|w| w.starts_with('m') && w[1..].starts_with(|c: char| c.is_ascii_digit()))?;
    let numbers: Vec<usize> = shape_name[1..].split(['n', 'k']).filter_map(|n| n.parse().ok()).collect();
    let &[m, n, k] = &numbers[..] else { return None };
    let types: Vec<&str> = words.modifiers.iter().copied().filter(|w| FACTORS.contains(w)).collect();
    let layouts: Vec<&str> =
        words.modifiers.iter().copied().filter(|w| matches!(*w, "row" | "col")).collect();
    let space = ["global", "shared"].into_iter().find(|s| words.has(s)).unwrap_or_default();
    let mut product = Product {
        shape: (m, n, k),
        shape_name: (*shape_name).to_owned(),
        factor: default_factor(shape_name, types[0]).into(),
        c: String::new(),
        d: String::new(),
        layouts: ["row", "col", "row", "row"].map(Into::into),
        spaces: ["global", "global", "global", "global"].map(Into::into),
    };
    let verb = words.modifiers[0];
    let sum = match product.factor.as_str() {
        "f64" => "f64",
        "u8" | "s8" => "s32",
        _ => "f32",
    };
    (product.c, product.d) = (sum.into(), sum.into());
    if verb == "mma" {
        match types[..] {
            [d, c] => (product.d, product.c) = (d.into(), c.into()),
            [d, a, _, c] => (product.d, product.factor, product.c) = (d.into(), a.into(), c.into()),
            _ => return None,
        }
        (product.layouts[0], product.layouts[1]) = (layouts[0].into(), layouts[1].into());
        return Some(product.sample(None, form));
    }
    let at = ["a", "b", "c", "d"].iter().position(|f| *f == words.modifiers[1])?;
    product.layouts[at] = layouts[0].into();
    product.spaces[at] = space.into();
    if at >= 2 && types[0] == "f16" {
        (product.c, product.d) = ("f16".into(), "f16".into());
    }
    Some(product.sample(Some(at), form))
}

/// The type of the factors where a form tells only its own type.
fn default_factor<'t>(shape: &str, own: &'t str) -> &'t str {
    match (shape, own) {
        ("m16n16k8", _) => "tf32",
        ("m8n8k4", _) => "f64",
        (_, "s32") => "u8",
        (_, "f32") => "f16",
        (_, other) => other,
    }
}

impl Product {
    /// Elements, leading dimension and type of a fragment's tile.
    fn tile(&self, at: usize) -> (usize, usize, &str) {
        let (m, n, k) = self.shape;
        let row = self.layouts[at] == "row";
        match at {
            0 => (m * k, if row { k } else { m }, &self.factor),
            1 => (k * n, if row { n } else { k }, &self.factor),
            2 => (m * n, if row { n } else { m }, &self.c),
            _ => (m * n, if row { n } else { m }, &self.d),
        }
    }

    fn registers(&self, at: usize) -> usize {
        let (elements, _, ty) = self.tile(at);
        match ty {
            "f16" if at < 2 => 8,
            "f64" => elements / 32,
            ty => elements * element_bits(ty) / 1024,
        }
    }

    fn fragment(&self, at: usize) -> String {
        let names: Vec<String> =
            (0..self.registers(at)).map(|i| format!("%{}{i}", ["fa", "fb", "fc", "fd"][at])).collect();
        format!("{{{}}}", names.join(", "))
    }

    fn sample(&self, which: Option<usize>, form: &str) -> Sample {
        let mut module = String::new();
        let mut body = String::new();
        for at in 0..3 {
            let (elements, _, ty) = self.tile(at);
            let image: Vec<String> =
                (0..elements).flat_map(|i| element(ty, at, i)).map(|byte| byte.to_string()).collect();
            let size = image.len();
            let _ = writeln!(module, ".global .align 32 .b8 g_tile{at}[{size}] = {{{}}};", image.join(","));
            if self.spaces[at] == "shared" {
                let _ = writeln!(module, ".shared .align 32 .b8 s_tile{at}[{size}];");
                let _ = write!(
                    body,
                    "{{\n.reg .b64 %from;\n.reg .b32 %to, %i;\nmov.u32 %i, %me;\n$copy{at}:\nsetp.ge.u32 %no, %i, {};\n\
                     @%no bra $copied{at};\nmul.wide.u32 %t0, %i, 4;\nmov.u64 %from, g_tile{at};\nadd.s64 %from, %from, %t0;\n\
                     ld.global.b32 %word, [%from];\nmov.u32 %to, s_tile{at};\nmad.lo.s32 %to, %i, 4, %to;\n\
                     st.shared.b32 [%to], %word;\nadd.s32 %i, %i, 128;\nbra.uni $copy{at};\n$copied{at}:\n}}\nbar.sync 0;\n",
                    size / 4
                );
            }
        }
        for at in 0..4 {
            let (_, _, ty) = self.tile(at);
            let width = if ty == "f64" { "b64" } else { "b32" };
            let _ =
                writeln!(body, ".reg .{width} %{}<{}>;", ["fa", "fb", "fc", "fd"][at], self.registers(at));
            let _ = writeln!(body, ".reg .b64 %address{at};\n.reg .b32 %narrow{at};");
        }
        for at in 0..3 {
            let load = match which {
                Some(own) if own == at => form.to_owned(),
                _ => self.access("load", at),
            };
            let stride = self.tile(at).1;
            let address = self.address(&mut body, at, &format!("g_tile{at}"), &format!("s_tile{at}"));
            let _ = writeln!(body, "{load} {}, [{address}], {stride};", self.fragment(at));
        }
        let multiply = if which.is_none() { form.to_owned() } else { self.multiply() };
        let [a, b, c, d] = [0, 1, 2, 3].map(|at| self.fragment(at));
        let _ = writeln!(body, "{multiply} {d}, {a}, {b}, {c};");
        self.store(&mut module, &mut body, which == Some(3), form);
        Sample::new(body, "", "").with(module)
    }

    /// Stores the result to the warp's output, by way of shared memory if the form says so.
    fn store(&self, module: &mut String, body: &mut String, own: bool, form: &str) {
        let (elements, stride, ty) = self.tile(3);
        let size = elements * element_bits(ty) / 8;
        let store = if own { form.to_owned() } else { self.access("store", 3) };
        let fragment = self.fragment(3);
        if self.spaces[3] != "shared" {
            let generic = self.spaces[3].is_empty();
            let convert =
                if generic { "cvta.global.u64 %address3, %wout;" } else { "mov.b64 %address3, %wout;" };
            let _ = writeln!(body, "{convert}\n{store} [%address3], {fragment}, {stride};");
            return;
        }
        let _ = writeln!(module, ".shared .align 32 .b8 s_result[{}];", 4 * size);
        let _ = write!(
            body,
            "mov.u32 %narrow3, s_result;\nmad.lo.s32 %narrow3, %warp, {size}, %narrow3;\n{store} [%narrow3], {fragment}, {stride};\n\
             bar.warp.sync -1;\nand.b32 %half, %me, 31;\nmad.lo.s32 %narrow3, %half, 4, %narrow3;\n\
             mul.wide.u32 %t0, %half, 4;\nadd.s64 %address3, %wout, %t0;\n"
        );
        for at in (0..size).step_by(128) {
            let _ = writeln!(
                body,
                "ld.shared.b32 %word, [%narrow3+{at}];\nst.global.b32 [%address3+{at}], %word;"
            );
        }
    }

    /// The register with the address of a tile.
    fn address(&self, body: &mut String, at: usize, global: &str, shared: &str) -> String {
        match self.spaces[at].as_str() {
            "shared" => {
                let _ = writeln!(body, "mov.u32 %narrow{at}, {shared};");
                format!("%narrow{at}")
            }
            "global" => {
                let _ = writeln!(body, "mov.u64 %address{at}, {global};");
                format!("%address{at}")
            }
            _ => {
                let _ = writeln!(
                    body,
                    "mov.u64 %address{at}, {global};\ncvta.global.u64 %address{at}, %address{at};"
                );
                format!("%address{at}")
            }
        }
    }

    fn access(&self, verb: &str, at: usize) -> String {
        let space = if self.spaces[at].is_empty() { String::new() } else { format!(".{}", self.spaces[at]) };
        let (_, _, ty) = self.tile(at);
        let fragment = ["a", "b", "c", "d"][at];
        format!("wmma.{verb}.{fragment}.sync.aligned.{}.{}{space}.{ty}", self.layouts[at], self.shape_name)
    }

    fn multiply(&self) -> String {
        let types = match self.factor.as_str() {
            "f16" => format!("{}.{}", self.d, self.c),
            factor => format!("{}.{factor}.{factor}.{}", self.d, self.c),
        };
        let rounding = if self.factor == "f64" { ".rn" } else { "" };
        format!(
            "wmma.mma.sync.aligned.{}.{}.{}{rounding}.{types}",
            self.layouts[0], self.layouts[1], self.shape_name
        )
    }
}

fn element_bits(ty: &str) -> usize {
    match ty {
        "u8" | "s8" => 8,
        "f16" | "bf16" => 16,
        "f64" => 64,
        _ => 32,
    }
}

/// The bytes of element `i` of tile `at`: a small integer, not negative in unsigned types.
fn element(ty: &str, at: usize, i: usize) -> Vec<u8> {
    let value = ((i * (7 + 4 * at) + i / 5 + at) % 9) as i32 - if ty == "u8" { 0 } else { 4 };
    match ty {
        "u8" | "s8" => vec![value as u8],
        "f16" => half::f16::from_f32(value as f32).to_le_bytes().to_vec(),
        "bf16" => half::bf16::from_f32(value as f32).to_le_bytes().to_vec(),
        "f64" => f64::from(value).to_le_bytes().to_vec(),
        "s32" => value.to_le_bytes().to_vec(),
        _ => (value as f32).to_le_bytes().to_vec(),
    }
}
