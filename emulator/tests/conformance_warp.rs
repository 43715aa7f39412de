//! Instructions across lanes, and atomics: reductions over lanes, election, atomics of half-precision numbers,
//! of 16 and of 128 bits and of vectors, compared with the same operations in Rust, lane by lane.

use crate::lower_kit;

use lower_kit::*;
use rustc_apfloat::ieee::{BFloat, Half};
use rustc_apfloat::{Float, Round};
use test_kit::Random;

const HEADER: &str = ".version 8.7\n.target sm_100a\n.address_size 64\n";

/// Words for `n` lanes, with the type's special values among them.
fn words(n: usize, seed: u64, edges: &[u32]) -> Vec<u32> {
    let mut random = Random::new(seed);
    (0..n)
        .map(|_| {
            let x = random.bits();
            if x.is_multiple_of(3) { edges[(x >> 8) as usize % edges.len()] } else { (x >> 32) as u32 }
        })
        .collect()
}

/// A kernel of `body`, which reads its linear thread number from `%i` and `[%pa + 4 i]` from `%a`, and leaves its
/// result in `%r`.
fn kernel(declarations: &str, body: &str) -> String {
    format!(
        "{HEADER}.visible .entry test(.param .u64 p0, .param .u64 p1)\n{{\n.reg .b64 %pa, %po, %d<8>; \
         .reg .b32 %i, %a, %r, %t<8>; .reg .f32 %f<8>; .reg .b16 %h<8>; .reg .pred %p<4>; {declarations}\n\
         mov.u32 %t0, %ctaid.x; mov.u32 %t1, %ntid.x; mov.u32 %t2, %tid.x; mad.lo.u32 %i, %t0, %t1, %t2;\n\
         ld.param.u64 %pa, [p0]; ld.param.u64 %po, [p1]; mad.wide.u32 %d0, %i, 4, %pa; ld.global.u32 %a, [%d0];\n\
         {body}\nmad.wide.u32 %d0, %i, 4, %po; st.global.u32 [%d0], %r; ret;\n}}\n"
    )
}

#[test]
fn reductions_over_lanes() {
    let edges = [0, 1, u32::MAX, 0x7FFF_FFFF, 0x8000_0000];
    let inputs = words(512, 5, &edges);
    type Fold = fn(u32, u32) -> u32;
    let forms: [(&str, Fold); 9] = [
        ("and.b32", |x, y| x & y),
        ("or.b32", |x, y| x | y),
        ("xor.b32", |x, y| x ^ y),
        ("add.s32", u32::wrapping_add),
        ("add.u32", u32::wrapping_add),
        ("min.u32", u32::min),
        ("max.u32", u32::max),
        ("min.s32", |x, y| (x as i32).min(y as i32) as u32),
        ("max.s32", |x, y| (x as i32).max(y as i32) as u32),
    ];
    for (name, fold) in forms {
        // All lanes, then those of one parity in a diverged branch.
        let whole = format!("redux.sync.{name} %r, %a, 0xffffffff;");
        let parted = format!(
            "and.b32 %t0, %i, 1; setp.eq.u32 %p0, %t0, 0; @%p0 bra EVEN; redux.sync.{name} %r, %a, 0xaaaaaaaa; \
             bra DONE; EVEN: redux.sync.{name} %r, %a, 0x55555555; DONE:"
        );
        for (body, step) in [(whole, 1), (parted, 2)] {
            let lowered = lower(&kernel("", &body), 64);
            let out = run(&lowered, &[inputs.clone(), vec![0; 512]], &[], 8, 64).pop().unwrap();
            for (i, &got) in out.iter().enumerate() {
                let warp = &inputs[i / 32 * 32..][..32];
                let want = warp.iter().copied().skip(i % step).step_by(step).reduce(fold).unwrap();
                assert_eq!(got, want, "{name} {i}");
            }
        }
    }
}

#[test]
fn reductions_of_floats() {
    let edges = [0, 0x8000_0000, 0x7F80_0000, 0xFF80_0000, 0x7FC0_0001, 0xFFC0_0000, 1, 0x8000_0001];
    // NaN in half of the warps, and only NaN in the last.
    let mut inputs = words(512, 6, &edges);
    inputs[..256].iter_mut().for_each(|x| {
        if f32::from_bits(*x).is_nan() {
            *x = 0x3F80_0000;
        }
    });
    inputs[480..].fill(0x7FC0_1234);
    for (name, max, abs, nan) in [
        ("min", false, false, false),
        ("max", true, false, false),
        ("max.abs", true, true, false),
        ("min.NaN", false, false, true),
        ("min.abs.NaN", false, true, true),
    ] {
        let body = format!("mov.b32 %f0, %a; redux.sync.{name}.f32 %f1, %f0, 0xffffffff; mov.b32 %r, %f1;");
        let lowered = lower(&kernel("", &body), 64);
        let out = run(&lowered, &[inputs.clone(), vec![0; 512]], &[], 8, 64).pop().unwrap();
        for (i, &got) in out.iter().enumerate() {
            let warp = inputs[i / 32 * 32..][..32].iter().map(|&x| if abs { x & 0x7FFF_FFFF } else { x });
            let (nans, numbers): (Vec<u32>, Vec<u32>) = warp.partition(|&x| f32::from_bits(x).is_nan());
            // `total_cmp` orders numbers and puts -0 below +0.
            let order = |x: &u32, y: &u32| f32::from_bits(*x).total_cmp(&f32::from_bits(*y));
            let best =
                if max { numbers.into_iter().max_by(order) } else { numbers.into_iter().min_by(order) };
            let want = if nan && !nans.is_empty() { None } else { best }.unwrap_or(0x7FFF_FFFF);
            assert_eq!(got, want, "{name} {i}");
        }
    }
}

#[test]
fn one_member_is_elected() {
    let masks: Vec<u32> =
        (0..512u32).map(|i| 1 << (i / 32 % 32) | if i / 32 % 3 == 0 { 0xF000_0000 } else { 0x80 }).collect();
    // Only members take part; the other lanes keep 77.
    let body = "mov.u32 %r, 77; mov.u32 %t0, %laneid; shr.u32 %t1, %a, %t0; and.b32 %t1, %t1, 1; \
                setp.eq.u32 %p0, %t1, 0; @%p0 bra DONE; elect.sync %t2|%p1, %a; selp.u32 %t3, 100, 0, %p1; \
                add.u32 %r, %t2, %t3; DONE:";
    let lowered = lower(&kernel("", body), 64);
    let out = run(&lowered, &[masks.clone(), vec![0; 512]], &[], 8, 64).pop().unwrap();
    for (i, (&got, &mask)) in out.iter().zip(&masks).enumerate() {
        let (lane, leader) = (i as u32 % 32, mask.trailing_zeros());
        let want = if mask >> lane & 1 == 0 { 77 } else { leader + if lane == leader { 100 } else { 0 } };
        assert_eq!(got, want, "thread {i}, mask {mask:#x}");
    }
}

fn add_half(a: u16, b: u16) -> u16 {
    let r = Half::from_bits(a.into()).add_r(Half::from_bits(b.into()), Round::NearestTiesToEven).value;
    if r.is_nan() { 0x7FFF } else { r.to_bits() as u16 }
}

fn add_bf16(a: u16, b: u16) -> u16 {
    let r = BFloat::from_bits(a.into()).add_r(BFloat::from_bits(b.into()), Round::NearestTiesToEven).value;
    if r.is_nan() { 0x7FFF } else { r.to_bits() as u16 }
}

fn both(f: fn(u16, u16) -> u16) -> impl Fn(u32, u32) -> u32 {
    move |a, b| u32::from(f(a as u16, b as u16)) | u32::from(f((a >> 16) as u16, (b >> 16) as u16)) << 16
}

/// Halves whose sums do not overflow, with subnormals and ties.
fn halves(n: usize, format: u32) -> Vec<u32> {
    let mut random = Random::new(u64::from(format));
    (0..n)
        .map(|_| {
            let x = random.bits();
            let half = |x: u32| {
                let magnitude = if x & 0x70 == 0 { x & 3 } else { x & 0x3FF | format };
                magnitude | (x & 0x8000)
            };
            half(x as u32) | half((x >> 32) as u32) << 16
        })
        .collect()
}

/// Sixteen counters, selected by the thread number, in global, generic or shared memory; the kernel returns the
/// atomic's result, and the counters follow the inputs.
fn counters(space: &str, instruction: &str) -> String {
    let place = match space {
        "shared" => "mov.u32 %t4, slots; shl.b32 %t5, %t3, 2; add.u32 %t4, %t4, %t5;",
        _ => "mad.wide.u32 %d1, %t3, 4, %pa; add.u64 %d1, %d1, 256;",
    };
    let address = if space == "shared" { "[%t4]" } else { "[%d1]" };
    let instruction =
        instruction.replace("SPACE", if space == "generic" { "" } else { space }).replace("..", ".");
    // Shared counters are copied from the global ones and back at the end.
    let (before, after) = if space == "shared" {
        (
            "mad.wide.u32 %d1, %i, 4, %pa; shl.b32 %t5, %i, 2; mov.u32 %t6, slots; add.u32 %t6, %t6, %t5; \
             setp.lt.u32 %p0, %i, 16; @%p0 ld.global.u32 %t7, [%d1 + 256]; @%p0 st.shared.u32 [%t6], %t7; bar.sync 0;",
            "bar.sync 0; @%p0 ld.shared.u32 %t7, [%t6]; @%p0 st.global.u32 [%d1 + 256], %t7;",
        )
    } else {
        ("", "")
    };
    let body =
        format!("{before} and.b32 %t3, %i, 15; {place} {} {after}", instruction.replace("ADDRESS", address));
    kernel(".shared .align 4 .b32 slots[16];", &body)
}

#[test]
fn atomic_sums_of_packed_halves() {
    for (ty, format, add) in
        [("f16x2", 0x3800, add_half as fn(u16, u16) -> u16), ("bf16x2", 0x3F00, add_bf16)]
    {
        let add = both(add);
        for space in ["global", "generic", "shared"] {
            let values = halves(80, format);
            let text = counters(space, &format!("atom.SPACE.add.noftz.{ty} %r, ADDRESS, %a;"));
            let out = run(&lower(&text, 64), &[values.clone(), vec![0; 64]], &[], 1, 64);
            let mut slots = values[64..].to_vec();
            for i in 0..64 {
                assert_eq!(out[1][i], slots[i % 16], "{ty} {space} {i}");
                slots[i % 16] = add(slots[i % 16], values[i]);
            }
            assert_eq!(out[0][64..], slots[..], "{ty} {space}");
            // A reduction leaves the same memory.
            let text = counters(space, &format!("red.SPACE.add.noftz.{ty} ADDRESS, %a; mov.u32 %r, 0;"));
            let out = run(&lower(&text, 64), &[values.clone(), vec![0; 64]], &[], 1, 64);
            assert_eq!(out[0][64..], slots[..], "red {ty} {space}");
        }
    }
}

#[test]
fn atomic_sums_of_single_halves() {
    for (ty, format, add) in [("f16", 0x3800, add_half as fn(u16, u16) -> u16), ("bf16", 0x3F00, add_bf16)] {
        for space in ["global", "shared"] {
            let values = halves(80, format);
            let text = counters(
                space,
                &format!(
                    "mov.b32 {{%h0, %h1}}, %a; atom.SPACE.add.noftz.{ty} %h2, ADDRESS, %h0; cvt.u32.u16 %r, %h2;"
                ),
            );
            let out = run(&lower(&text, 64), &[values.clone(), vec![0; 64]], &[], 1, 64);
            let mut slots = values[64..].to_vec();
            for i in 0..64 {
                let slot = &mut slots[i % 16];
                assert_eq!(out[1][i], *slot & 0xFFFF, "{ty} {space} {i}");
                *slot = *slot & 0xFFFF_0000 | u32::from(add(*slot as u16, values[i] as u16));
            }
            assert_eq!(out[0][64..], slots[..], "{ty} {space}: the neighbours stay");
        }
    }
}

#[test]
fn compare_and_swap_of_16_bits() {
    for space in ["global", "shared"] {
        let mut values = words(80, 8, &[7]);
        // The low half of the operand is compared and stored; the upper half is ignored.
        values[64..].iter_mut().for_each(|x| *x = *x & 0xFFFF_0000 | 7);
        let text = counters(
            space,
            "mov.b32 {%h0, %h1}, %a; mov.u16 %h3, 7; atom.SPACE.cas.b16 %h2, ADDRESS, %h3, %h0; cvt.u32.u16 %r, %h2;",
        );
        let out = run(&lower(&text, 64), &[values.clone(), vec![0; 64]], &[], 1, 64);
        let mut slots = values[64..].to_vec();
        for i in 0..64 {
            let slot = &mut slots[i % 16];
            assert_eq!(out[1][i], *slot & 0xFFFF, "{space} {i}");
            if *slot & 0xFFFF == 7 {
                *slot = *slot & 0xFFFF_0000 | values[i] & 0xFFFF;
            }
        }
        assert_eq!(out[0][64..], slots[..], "{space}");
    }
}

#[test]
fn exchange_and_compare_of_128_bits() {
    // Every thread stores its number if the word holds the number of its predecessor: all 64 succeed, in order.
    for (shared, generic) in [(false, false), (false, true), (true, false)] {
        let (space, address) = match (shared, generic) {
            (true, _) => (".shared", "[slot]"),
            (_, true) => ("", "[%d2]"),
            _ => (".global", "[%d2]"),
        };
        let before = if shared {
            "setp.eq.u32 %p0, %i, 0; @%p0 st.shared.v2.u64 [slot], {0, 1000}; bar.sync 0;"
        } else {
            "add.u64 %d2, %pa, 256;"
        };
        let body = format!(
            "{{ .reg .b128 %w<3>; {before} cvt.u64.u32 %d3, %i; add.u64 %d4, %d3, 1; add.u64 %d5, %d3, 1000; \
             add.u64 %d6, %d4, 1000; mov.b128 %w0, {{%d3, %d5}}; mov.b128 %w1, {{%d4, %d6}}; \
             atom{space}.cas.b128 %w2, {address}, %w0, %w1; mov.b128 {{%d3, %d5}}, %w2; sub.u64 %d5, %d5, %d3; \
             cvt.u32.u64 %t0, %d3; cvt.u32.u64 %t1, %d5; shl.b32 %t1, %t1, 8; add.u32 %r, %t0, %t1; }}"
        );
        let text = kernel(".shared .align 16 .b8 slot[16];", &body);
        let mut input = vec![0; 68];
        input[66] = 1000;
        let out = run(&lower(&text, 64), &[input.clone(), vec![0; 64]], &[], 1, 64);
        for i in 0..64u32 {
            assert_eq!(out[1][i as usize], i + (1000 << 8), "{space} {i}");
        }
        if !shared {
            assert_eq!(out[0][64..68], [64, 0, 1064, 0]);
        }
    }
    let body = "{ .reg .b128 %w<2>; add.u64 %d2, %pa, 256; cvt.u64.u32 %d3, %i; not.b64 %d4, %d3; \
                mov.b128 %w0, {%d3, %d4}; atom.global.exch.b128 %w1, [%d2], %w0; mov.b128 {%d3, %d4}, %w1; \
                xor.b64 %d3, %d3, %d4; cvt.u32.u64 %t0, %d3; not.b32 %t0, %t0; cvt.u32.u64 %r, %d4; \
                not.b32 %r, %r; or.b32 %r, %r, %t0; }";
    let out = run(&lower(&kernel("", body), 64), &[vec![u32::MAX; 68], vec![0; 64]], &[], 1, 64);
    assert_eq!(out[1][1..], (0..63).collect::<Vec<u32>>());
    assert_eq!(out[0][64..68], [63, 0, !63, u32::MAX]);
}

#[test]
fn vectors_are_modified_element_by_element() {
    // {f0, f1} = old, and the sources are the destinations swapped.
    let body = "add.u64 %d2, %pa, 256; cvt.rn.f32.u32 %f0, %i; neg.f32 %f1, %f0; \
                atom.global.add.v2.f32 {%f1, %f0}, [%d2], {%f0, %f1}; red.global.add.v2.f32 [%d2 + 8], {%f0, %f1}; \
                add.f32 %f2, %f0, %f1; mov.b32 %r, %f2;";
    let out = run(&lower(&kernel("", body), 64), &[vec![0; 68], vec![1; 64]], &[], 1, 32);
    assert!(out[1][..32].iter().all(|&x| f32::from_bits(x) == 0.0));
    let (mut sum, mut seen) = (0.0f32, [0.0f32; 2]);
    for i in 0..32 {
        // The atomic's results, in swapped order, are the inputs of the other pair.
        seen = [seen[0] - sum, seen[1] + sum];
        sum += i as f32;
    }
    let floats: Vec<f32> = out[0][64..68].iter().map(|&x| f32::from_bits(x)).collect();
    assert_eq!(floats, [sum, -sum, seen[0], seen[1]]);

    let body = "add.u64 %d2, %pa, 256; mov.b32 {%h0, %h1}, %a; \
                red.global.max.noftz.v2.f16 [%d2], {%h0, %h1}; \
                atom.global.min.noftz.v2.bf16x2 {%t4, %t5}, [%d2 + 8], {%a, %a}; mov.u32 %r, %t5;";
    let mut values = halves(68, 0x3800);
    values[65] = 0x1234_5678;
    let out = run(&lower(&kernel("", body), 64), &[values.clone(), vec![0; 64]], &[], 1, 64);
    let f16 = |x: u32| half::f16::from_bits(x as u16).to_f32();
    let bf16 = |x: u32| half::bf16::from_bits(x as u16).to_f32();
    for shift in [0, 16] {
        let of = |i: usize| values[i] >> shift & 0xFFFF;
        let top = (0..64).fold(of(64), |m, i| if f16(of(i)) > f16(m) { of(i) } else { m });
        assert_eq!(f16(out[0][64] >> shift), f16(top));
        for word in [66, 67] {
            let low = (0..64).fold(of(word), |m, i| if bf16(of(i)) < bf16(m) { of(i) } else { m });
            assert_eq!(bf16(out[0][word] >> shift), bf16(low));
        }
    }
    assert_eq!(out[0][65], 0x1234_5678);
}

/// Values of lanes that do not execute the instruction: they have exited, do not exist, or have diverged. PTX
/// leaves them undefined. A shuffle from such a lane is 0 here, as on hardware; votes, matches and reductions are over
/// the lanes that are present.
#[test]
fn lanes_that_are_absent_contribute_nothing() {
    let run_lanes = |body: &str, block: u32| {
        let input: Vec<u32> = (0..32).map(|i| 100 + i).collect();
        run(&lower(&kernel("", body), 255), &[input, vec![7; 32]], &[], 1, block).pop().unwrap()
    };
    let gone = |i: u32| if i < 16 { 100 + i } else { 0 };
    // The upper lanes exit or branch around the instruction; some of them have written the register that is read.
    let leave = "setp.ge.u32 %p0, %i, 16; @%p0 exit;";
    let around = "setp.ge.u32 %p0, %i, 16; mov.u32 %r, %a; @%p0 bra OUT;";
    type Form = (&'static str, fn(u32) -> u32, bool);
    let forms: [Form; 6] = [
        ("shfl.sync.down.b32 %r, %a, 8, 31, MASK;", |i| i + 8, true),
        ("shfl.sync.bfly.b32 %r, %a, 16, 31, MASK;", |i| i ^ 16, true),
        ("shfl.sync.idx.b32 %r, %a, 20, 31, MASK;", |_| 20, true),
        // Out of the segment: the lane's own value.
        ("shfl.sync.up.b32 %r, %a, 9, 0, MASK;", |i| if i < 9 { i } else { i - 9 }, true),
        ("shfl.sync.idx.b32 %r, %a, 20, 0x1007, MASK;", |i| i, false),
        ("shfl.sync.down.b32 %r, %a, 31, 31, MASK;", |i| if i == 0 { 31 } else { i }, true),
    ];
    for (form, from, checked) in forms {
        for (way, mask) in [(leave, "-1"), (leave, "0xffff"), (around, "0xffff")] {
            let body = format!("{way} {} OUT:", form.replace("MASK", mask));
            let got = run_lanes(&body, 32);
            if checked {
                let want: Vec<u32> = (0..16).map(|i| gone(from(i))).collect();
                assert_eq!(got[..16], want[..], "{body}");
            }
        }
        // A warp that is not full.
        let got = run_lanes(&form.replace("MASK", "-1"), 16);
        if checked {
            let want: Vec<u32> = (0..16).map(|i| gone(from(i))).collect();
            assert_eq!(got[..16], want[..], "{form} in half a warp");
        }
    }
    for (form, want) in [
        ("setp.ne.u32 %p1, %a, 0; vote.sync.ballot.b32 %r, %p1, -1;", 0xffff),
        ("setp.eq.u32 %p1, %a, 0; vote.sync.ballot.b32 %r, !%p1, -1;", 0xffff),
        ("setp.lt.u32 %p1, %a, 116; vote.sync.all.pred %p2, %p1, -1; selp.u32 %r, 1, 0, %p2;", 1),
        ("setp.ge.u32 %p1, %a, 116; vote.sync.any.pred %p2, %p1, -1; selp.u32 %r, 1, 0, %p2;", 0),
        ("setp.lt.u32 %p1, %a, 116; vote.sync.uni.pred %p2, %p1, -1; selp.u32 %r, 1, 0, %p2;", 1),
        ("redux.sync.add.u32 %r, %a, -1;", (100..116).sum()),
        ("redux.sync.max.u32 %r, %a, -1;", 115),
        ("and.b32 %t0, %a, 0; match.any.sync.b32 %r, %t0, -1;", 0xffff),
        ("and.b32 %t0, %a, 0; match.all.sync.b32 %r, %t0, -1;", 0xffff),
    ] {
        let got = run_lanes(&format!("{leave} {form}"), 32);
        assert!(got[..16].iter().all(|&r| r == want), "{form}: {got:?}");
        assert!(got[16..].iter().all(|&r| r == 7), "{form}: {got:?}");
        assert!(run_lanes(form, 16)[..16].iter().all(|&r| r == want), "{form} in half a warp");
    }
    // Only lanes that execute the instruction are elected or counted.
    let elect = "setp.lt.u32 %p0, %i, 5; @%p0 exit; elect.sync %r|%p1, -1; selp.u32 %t0, 100, 0, %p1; add.u32 %r, %r, %t0;";
    let want: Vec<u32> = (0..32).map(|i| if i < 5 { 7 } else { 5 + if i == 5 { 100 } else { 0 } }).collect();
    assert_eq!(run_lanes(elect, 32), want);
}
