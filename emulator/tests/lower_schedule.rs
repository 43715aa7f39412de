//! The order of instructions in blocks that need many registers, and the products that a target's tensor cores have.

use emulator::lower::{LowerOptions, ModuleLayout, lower_kernel};
use trace_format::isa::{HmmaShape, Op};

fn insts(text: &str, gpu: Option<u32>) -> Vec<Op> {
    let module = emulator::ptx::parse(text, "test.ptx").unwrap_or_else(|e| panic!("{e}"));
    let layout = ModuleLayout::of(&module).unwrap();
    let (id, _) = module.kernels().next().unwrap();
    let options = LowerOptions { check: true, gpu, ..Default::default() };
    let lowered = lower_kernel(&module, &layout, id, &options).unwrap();
    assert!(lowered.unsupported.is_empty(), "{:?}", lowered.unsupported);
    lowered.kernel.insts.iter().map(|inst| inst.op).collect()
}

/// A block of 256 threads that keeps 120 sums, in a loop whose every step multiplies what it loads from shared memory; the loads
/// of each quarter come before its products.
fn sums_and_loads() -> String {
    let all = |count: usize, line: &dyn Fn(usize) -> String| (0..count).map(line).collect::<String>();
    let zero = all(120, &|i| format!("mov.f32 %s{i}, 0f00000000;\n"));
    let quarter = |q: usize| {
        let loads = all(6, &|i| format!("ld.shared.f32 %a{i}, [%r0+{}];\n", 128 * (6 * q + i)));
        let products = all(30, &|i| {
            let sum = 30 * q + i;
            format!("fma.rn.f32 %s{sum}, %a{}, %a{}, %s{sum};\n", i / 5, (i / 5 + 1 + i % 5) % 6)
        });
        loads + &products
    };
    let steps = all(4, &quarter);
    let store = all(120, &|i| format!("st.global.f32 [%d0+{}], %s{i};\n", 4 * i));
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.shared .align 16 .b8 tile[8192];\n\
         .visible .entry k(.param .u64 p, .param .u32 n)\n.maxntid 256\n{{\n\
         .reg .b64 %d<2>; .reg .b32 %r<4>; .reg .f32 %s<120>, %a<6>; .reg .pred %p;\n\
         ld.param.u64 %d0, [p]; ld.param.u32 %r1, [n]; mov.u32 %r0, %tid.x; shl.b32 %r0, %r0, 2;\n\
         mov.u32 %r2, tile; add.s32 %r0, %r0, %r2;\n\
         {zero}again:\n{steps}bar.sync 0;\nadd.s32 %r1, %r1, -1;\nsetp.ne.s32 %p, %r1, 0;\n@%p bra again;\n{store}ret;\n}}\n"
    )
}

/// A register more or less keeps no other block resident there, so the loads of a quarter pass the products before it.
#[test]
fn loads_pass_products_where_registers_cost_no_block() {
    let ops = insts(&sums_and_loads(), None);
    let is_load = |op: &Op| matches!(op, Op::Lds { .. });
    let is_product = |op: &Op| matches!(op, Op::Ffma { .. });
    let first = ops.iter().position(is_product).expect("a product");
    let mut behind = Vec::new();
    for (at, _) in ops.iter().enumerate().filter(|(at, op)| *at > first && is_load(op)) {
        // Products between a load and the next load or the products that wait for it.
        behind.push(ops[at..].iter().filter(|op| is_product(op)).count());
    }
    // In the order of the source, 90 products are left when the loads of the second quarter are issued.
    let early = behind.iter().filter(|&&left| left > 90).count();
    assert!(early >= 3, "products behind each load: {behind:?}");
}

/// `nvdisasm` of ptxas 13.5's code: two HMMA.1688 for sm_75 where sm_80 has one HMMA.16816.
#[test]
fn tensor_cores_before_sm_80_multiply_eight_deep() {
    let text = ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n\
        .reg .b64 %d<2>; .reg .b32 %a<8>, %b<8>; .reg .f32 %c<8>;\n\
        ld.param.u64 %d0, [p];\n\
        wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%a0,%a1,%a2,%a3,%a4,%a5,%a6,%a7}, [%d0], 16;\n\
        wmma.load.b.sync.aligned.col.m16n16k16.global.f16 {%b0,%b1,%b2,%b3,%b4,%b5,%b6,%b7}, [%d0+512], 16;\n\
        wmma.load.c.sync.aligned.row.m16n16k16.global.f32 {%c0,%c1,%c2,%c3,%c4,%c5,%c6,%c7}, [%d0+1024], 16;\n\
        wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%c0,%c1,%c2,%c3,%c4,%c5,%c6,%c7}, {%a0,%a1,%a2,%a3,%a4,%a5,%a6,%a7}, \
        {%b0,%b1,%b2,%b3,%b4,%b5,%b6,%b7}, {%c0,%c1,%c2,%c3,%c4,%c5,%c6,%c7};\n\
        wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%d0+1024], {%c0,%c1,%c2,%c3,%c4,%c5,%c6,%c7}, 16;\nret;\n}\n";
    for (gpu, shape, count) in
        [(None, HmmaShape::S1688, 4), (Some(75), HmmaShape::S1688, 4), (Some(86), HmmaShape::S16816, 2)]
    {
        let products: Vec<Op> =
            insts(text, gpu).into_iter().filter(|op| matches!(op, Op::Hmma { .. })).collect();
        let of_shape =
            products.iter().filter(|op| matches!(op, Op::Hmma { shape: one, .. } if *one == shape));
        assert_eq!((products.len(), of_shape.count()), (count, count), "{gpu:?}: {products:?}");
    }
}
