//! Half precision, conversions, video forms, reductions over lanes and narrow or wide atomics in a recording:
//! the bytes are the same with any number of threads, and a reader regenerates the recorded values.

use crate::exec_kit;
use crate::lower_kit;

use exec_kit::{Device, verify};
use test_kit::Random;

const KERNEL: &str = r"
.version 8.7
.target sm_100
.address_size 64
.visible .entry test(.param .u64 p0, .param .u64 p1)
{
    .reg .b64 %a, %b, %d<4>; .reg .b32 %i, %r<20>; .reg .f32 %f<4>; .reg .b16 %h<4>; .reg .pred %p<4>;
    .reg .b128 %w<3>;
    .shared .align 16 .b8 slots[64];
    mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %i, %r0, %r1, %r2;
    ld.param.u64 %a, [p0]; ld.param.u64 %b, [p1]; mad.wide.u32 %d0, %i, 4, %a; ld.global.u32 %r3, [%d0];
    // Values that only even lanes change afterwards.
    and.b32 %r4, %i, 1; setp.eq.u32 %p0, %r4, 0;
    fma.rn.relu.f16x2 %r5, %r3, %r3, %r3;
    @%p0 add.bf16x2 %r5, %r5, %r3;
    setp.lt.f16x2 %p1|%p2, %r5, %r3;
    max.NaN.bf16x2 %r6, %r5, %r3;
    set.gt.f16x2.f16x2 %r7, %r6, %r3;
    mov.b32 %f0, %r3; mov.b32 %f1, %r5;
    cvt.rn.satfinite.e4m3x2.f32 %h0, %f0, %f1; cvt.rn.f16x2.e4m3x2 %r8, %h0;
    cvt.rna.tf32.f32 %r9, %f0;
    dp2a.hi.s32.u32 %r10, %r3, %r8, %r9;
    vabsdiff4.u32.u32.u32.add %r11, %r3, %r5, %r10;
    redux.sync.max.s32 %r12, %r11, 0xffffffff;
    @%p0 bra EVEN;
    redux.sync.xor.b32 %r13, %r11, 0xaaaaaaaa;
    bra JOIN;
EVEN:
    redux.sync.add.u32 %r13, %r11, 0x55555555;
JOIN:
    elect.sync %r14|%p3, 0xffffffff;
    mov.u32 %r15, slots;
    red.shared.add.noftz.f16x2 [%r15], %r3;
    mov.b32 {%h1, %h2}, %r11;
    atom.shared.add.noftz.bf16 %h3, [%r15+6], %h1;
    cvt.u64.u32 %d1, %r11; mov.b128 %w0, {%d1, %d0}; atom.shared.exch.b128 %w1, [%r15+16], %w0;
    mov.b128 {%d2, %d3}, %w1; cvt.u32.u64 %r16, %d2;
    cvt.u32.u16 %r17, %h3;
    red.global.add.v2.f32 [%b], {%f1, %f1};
    xor.b32 %r5, %r5, %r7; xor.b32 %r5, %r5, %r12; xor.b32 %r5, %r5, %r13; xor.b32 %r5, %r5, %r14;
    xor.b32 %r5, %r5, %r16; xor.b32 %r5, %r5, %r17; selp.u32 %r6, %r6, %r9, %p1; selp.u32 %r7, 1, 2, %p2;
    @%p3 add.u32 %r7, %r7, %r6;
    add.u32 %r5, %r5, %r7;
    mad.wide.u32 %d0, %i, 4, %b; st.global.u32 [%d0 + 8], %r5;
    ret;
}
";

#[test]
fn what_was_recorded_is_what_the_reader_computes() {
    let lowered = lower_kit::lower(KERNEL, 64);
    let mut random = Random::new(40);
    let input: Vec<u32> = (0..32 * 64).map(|_| random.bits() as u32).collect();
    let record = |threads| {
        let device = Device::new(&[&input, &vec![0; 32 * 64 + 2]]);
        device.record(&lowered.kernel, 32, 64, threads).1
    };
    let one = record(1);
    assert_eq!(verify(&one).problems, []);
    assert!(one == record(4), "the trace depends on the number of threads");
    let mnemonics: String = lowered.kernel.insts.iter().map(|i| format!("{i}\n")).collect();
    for name in
        ["HFMA2.RELU", "HADD2.BF16_V2", "HSETP2.LT", "HMNMX2", "HSET2", "F2FP", "IDP.2A.HI", "REDUX.MAX.S32"]
    {
        assert!(mnemonics.contains(name), "{name} is missing in\n{mnemonics}");
    }
}
