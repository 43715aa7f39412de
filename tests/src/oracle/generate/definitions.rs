//! Draws functions: signatures, code, and the instructions that initialise registers and compute results.

use super::functions::Function;
use super::shape::{Focus, Pools};
use super::signature::{CLASSES, Signature, Storage};
use super::writer::Writer;
use super::{Dice, interesting_bits, interesting_f64, literal_f32};

/// Draws the functions of a kernel.
pub(crate) fn draw(dice: &mut Dice, focus: Focus, target: Option<u32>) -> Vec<Function> {
    let mut functions: Vec<Function> = Vec::new();
    for at in 0..dice.between(1, 4) {
        // Functions of one signature can be called through one register.
        let signature = match functions.last() {
            Some(last) if dice.chance(35) => last.signature.clone(),
            _ => Signature::random(dice, target.is_some()),
        };
        let function = Function::random(dice, (focus, target), format!("f_drawn{at}"), signature, &functions);
        functions.push(function);
    }
    functions
}

impl Function {
    fn random(
        dice: &mut Dice,
        (focus, target): (Focus, Option<u32>),
        name: String,
        signature: Signature,
        callees: &[Function],
    ) -> Self {
        let mut pools = Pools { half: 2, word: 3, long: 2, single: 2, double: 2, pred: 2 };
        let more = if focus == Focus::Pressure { 12 } else { 3 };
        for class in &CLASSES {
            let formals = || signature.params.iter().filter(|f| f.class().letter == class.letter);
            let wanted = formals().map(|formal| formal.lanes).sum::<usize>() + dice.below(more);
            let pool = pools.of_mut(class.letter);
            *pool = (*pool).max(wanted);
        }
        let uses_local = dice.chance(20);
        let mut prologue = initial_values(dice, &signature, pools, target.is_some());
        let mut writer = Writer::new(dice, focus, pools, 1, 1);
        writer.target = target;
        writer.in_function = true;
        writer.uniform = false;
        writer.uses_local = uses_local;
        writer.calls = writer.dice.chance(60);
        writer.functions = callees.to_vec();
        let epilogue = results(&mut writer, &signature);
        // Where it may return early the results have to be there before.
        if writer.dice.chance(40) {
            prologue.extend(results(&mut writer, &signature));
            writer.returns = true;
        }
        let size = writer.dice.between(1, 24);
        let body = writer.function_body(size);
        Self { name, signature, pools, uses_local, prologue, body, epilogue }
    }
}

/// The instructions that give each register of a function its first value.
fn initial_values(dice: &mut Dice, signature: &Signature, pools: Pools, strict: bool) -> Vec<String> {
    let typed = signature.typed;
    let mut lines = Vec::new();
    for class in &CLASSES {
        let mut next = 0;
        for (at, formal) in signature.params.iter().enumerate() {
            if formal.class().letter != class.letter {
                continue;
            }
            let to: Vec<String> =
                (next..next + formal.lanes).map(|i| format!("%{}{i}", class.letter)).collect();
            next += formal.lanes;
            let name = formal.name("par", at);
            if formal.storage == Storage::Register {
                let from = formal.elements(&name);
                let pairs = to.iter().zip(from);
                lines.extend(pairs.map(|(to, from)| format!("mov.{} {to}, {from};", formal.element(typed))));
            } else {
                lines.extend(formal.access(dice, "ld", &name, &to, typed));
            }
        }
        for i in next..pools.of(class.letter) {
            let name = format!("%{}{i}", class.letter);
            lines.push(match class.letter {
                'h' => format!("mov.u16 {name}, {};", interesting_bits(dice) as u16),
                'r' => format!("mov.u32 {name}, {};", interesting_bits(dice) as u32),
                'd' => format!("mov.u64 {name}, {:#x};", interesting_bits(dice)),
                'f' => format!("mov.f32 {name}, 0f{:08X};", literal_f32(dice, strict)),
                'g' => format!("mov.f64 {name}, 0d{:016X};", interesting_f64(dice)),
                _ => format!("mov.pred {name}, {};", dice.pick(&["0", "-1"])),
            });
        }
    }
    lines
}

/// The instructions that make registers of the function its results.
fn results(w: &mut Writer<'_>, signature: &Signature) -> Vec<String> {
    let mut lines = Vec::new();
    for (at, formal) in signature.results.iter().enumerate() {
        let from: Vec<String> = (0..formal.lanes).map(|_| w.register(formal.class().letter)).collect();
        let name = formal.name("out", at);
        if formal.storage == Storage::Register {
            let pairs = formal.elements(&name).into_iter().zip(from);
            let ty = formal.element(signature.typed);
            lines.extend(pairs.map(|(to, from)| format!("mov.{ty} {to}, {from};")));
        } else {
            lines.extend(formal.access(w.dice, "st", &name, &from, signature.typed));
        }
    }
    lines
}
