//! The code of the compiler pass, by a checker of its own.

use super::*;
use crate::testing::program;
use live::Live;

/// Checks a kernel's code without the pass's own analysis: follows the values of every lane over all paths, with
/// the registers that they are in and whether the set is surely, or possibly, acquired. A register that has no
/// value yet may be read from anywhere.
pub(super) fn verify(program: &Program, live: &Live, code: &Code, base: u32) {
    #[derive(Clone, Copy, PartialEq, Debug)]
    enum Place {
        Anywhere,
        In(u8),
        Nowhere,
    }
    impl Place {
        fn is(self, register: u8) -> bool {
            matches!(self, Place::Anywhere) || self == Place::In(register)
        }
        fn without(self, register: impl Fn(u8) -> bool) -> Place {
            match self {
                Place::In(here) if register(here) => Place::Nowhere,
                other => other,
            }
        }
        fn or(self, other: Place) -> Place {
            match (self, other) {
                (Place::Anywhere, place) | (place, Place::Anywhere) => place,
                (a, b) if a == b => a,
                _ => Place::Nowhere,
            }
        }
    }
    #[derive(Clone, PartialEq, Debug)]
    struct State {
        place: Vec<Place>,
        surely: bool,
        possibly: bool,
    }
    let registers = program.registers_per_thread as usize;
    let mut states: Vec<Option<State>> = vec![None; program.insts.len()];
    states[0] = Some(State { place: vec![Place::Anywhere; registers], surely: false, possibly: false });
    let mut work = vec![0u32];
    while let Some(pc) = work.pop() {
        let at = pc as usize;
        let mut state = states[at].clone().expect("reached");
        for (_, step) in code.steps.iter().filter(|(before, _)| *before == pc) {
            match step {
                Step::Acquire => (state.surely, state.possibly) = (true, true),
                Step::Release => {
                    (state.surely, state.possibly) = (false, false);
                    for place in &mut state.place {
                        *place = place.without(|register| u32::from(register) >= base);
                    }
                }
                Step::Move { from, to } => {
                    assert!(state.surely || u32::from(*from).max(u32::from(*to)) < base, "{pc}: {step:?}");
                    // The old place keeps its value until something else is put there.
                    for place in &mut state.place {
                        match *place {
                            Place::In(here) if here == *from => *place = Place::In(*to),
                            Place::In(here) if here == *to => *place = Place::Nowhere,
                            _ => {}
                        }
                    }
                }
            }
        }
        let inst = &program.insts[at];
        assert!(inst.path != Path::Barrier || !state.possibly, "{pc}: a barrier with a section");
        let renaming = &code.renamed[at];
        for (reg, register) in inst.sources().iter().zip(renaming.sources) {
            let place = state.place[usize::from(*reg)];
            assert!(place.is(register), "{pc}: r{reg} is {place:?}, not in {register}");
            assert!(state.surely || u32::from(register) < base, "{pc}: r{reg} without the section");
        }
        for (reg, register) in inst.destinations().iter().zip(renaming.destinations) {
            assert!(state.surely || u32::from(register) < base, "{pc}: r{reg} without the section");
            let kept = inst.inst.is_unguarded();
            assert!(
                kept || !live.before[at].contains(*reg) || state.place[usize::from(*reg)].is(register),
                "{pc}: a guarded write of r{reg} leaves lanes behind"
            );
            for place in &mut state.place {
                *place = place.without(|there| there == register);
            }
        }
        for (reg, register) in inst.destinations().iter().zip(renaming.destinations) {
            state.place[usize::from(*reg)] = Place::In(register);
        }
        for next in &live.next[at] {
            let mut arriving = state.clone();
            for reg in 0..registers {
                if !live.before[*next as usize].contains(reg as u8) {
                    arriving.place[reg] = Place::Nowhere;
                }
            }
            let merged = match &states[*next as usize] {
                None => arriving,
                Some(known) => State {
                    place: known.place.iter().zip(&arriving.place).map(|(a, b)| a.or(*b)).collect(),
                    surely: known.surely && arriving.surely,
                    possibly: known.possibly || arriving.possibly,
                },
            };
            if states[*next as usize].as_ref() != Some(&merged) {
                states[*next as usize] = Some(merged);
                work.push(*next);
            }
        }
    }
}

fn compiled(text: &str, base: u32) -> (Program, Code) {
    let config = config(&[]);
    let program = program(text, &config);
    let live = Live::of(&program);
    let code = compile::compile(&program, &live, base, program.registers_per_thread).expect("compiles");
    verify(&program, &live, &code, base);
    (program, code)
}

#[test]
fn a_peak_is_enclosed_by_acquire_and_release() {
    // Five values are live at the peak, two afterwards.
    let text = "mov r0 0\n mov r1 1\n mov r2 2\n mov r3 3\n mov r4 4\n imad r2 r2 r3 r4\n stg r0 r2\n exit";
    let (_, code) = compiled(text, 4);
    assert_eq!(code.steps, [(4, Step::Acquire), (6, Step::Release)]);
    assert_eq!(code.renamed[4].destinations[0], 4);
    let (_, code) = compiled(text, 5);
    assert!(code.steps.is_empty());
}

#[test]
fn a_value_made_at_the_peak_moves_to_the_base_set() {
    // r4 is made while r0 to r3 are live, and outlives them.
    let text =
        "mov r0 0\n mov r1 1\n mov r2 2\n mov r3 3\n mov r4 4\n imad r1 r1 r2 r3\n stg r0 r1\n mov r2 8\n
        mov r3 9\n stg r2 r4\n exit";
    let (_, code) = compiled(text, 4);
    let moves: Vec<_> = code.steps.iter().filter(|(_, step)| matches!(step, Step::Move { .. })).collect();
    assert_eq!(code.steps.first(), Some(&(4, Step::Acquire)));
    assert_eq!(moves.len(), 1, "{:?}", code.steps);
    assert!(matches!(moves[0].1, Step::Move { from: 4, to } if to < 4), "{moves:?}");
    assert_eq!(code.steps.last(), Some(&(moves[0].0, Step::Release)), "the release follows the move");
}

#[test]
fn the_acquire_of_a_loop_stands_before_it() {
    // The loop at 5 keeps five values alive; its entry is guarded.
    let text = "mov r0 0\n mov r1 1\n mov r2 2\n mov r3 3\n @p1 bra 9\n mov r4 4\n imad r2 r2 r3 r4\n
        imad r3 r2 r4 r1\n @p0 bra 6\n stg r0 r2\n exit";
    let (_, code) = compiled(text, 4);
    let acquires: Vec<u32> =
        code.steps.iter().filter(|(_, step)| *step == Step::Acquire).map(|(at, _)| *at).collect();
    assert_eq!(acquires, [5], "{:?}", code.steps);
    assert!(code.steps.contains(&(9, Step::Release)), "{:?}", code.steps);
    // A header that is entered from a block that also leads elsewhere: the acquire stands before the branch.
    let text =
        "mov r0 0\n mov r1 1\n mov r2 2\n mov r3 3\n mov r4 4\n mov r4 4\n @p1 bra 10\n imad r2 r2 r3 r4\n
        imad r3 r2 r4 r1\n @p0 bra 7\n mov r3 0\n stg r0 r2\n exit";
    let (_, code) = compiled(text, 4);
    let inside = |at: &u32| (7..=9).contains(at);
    assert!(code.steps.iter().all(|(at, _)| !inside(at)), "nothing is repeated: {:?}", code.steps);
}

#[test]
fn registers_live_at_a_barrier_are_in_the_base_set() {
    let config = config(&[]);
    let peak =
        "mov r0 0\n mov r1 1\n mov r2 2\n mov r3 3\n bar rz\n mov r4 4\n imad r2 r2 r3 r4\n stg r0 r2\n exit";
    let program = program(peak, &config);
    let live = Live::of(&program);
    assert_eq!(live.at_barriers(&program), 4, "r0 to r3 are live: a pair of the address counts");
    assert!(compile::compile(&program, &live, 3, program.registers_per_thread).is_none());
    let launch = launch(&program, &config);
    assert!(size::choose(&launch, Rules { extended: 3, ..RULES }).is_none(), "three are too few");
    assert_eq!(size::choose(&launch, Rules { extended: 2, ..RULES }).map(|(split, _)| split.base), Some(4));
    let code = compile::compile(&program, &live, 4, program.registers_per_thread).expect("compiles");
    verify(&program, &live, &code, 4);
}
