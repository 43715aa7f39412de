//! Control flow of one warp: positions of its lanes, and their reconvergence.
//!
//! A warp is a set of [`Path`]s (lanes that run together) and of joins (positions at which lanes wait for
//! others after a divergent branch or a call). Running the youngest path first is equivalent to the classic
//! reconvergence stack; a set instead of a stack lets other lanes of the warp run while some wait at a
//! barrier or spin. `super::warp` executes instructions.

use crate::memory::lanes::lanes_of;
use trace_format::isa::Convergence;
use trace_format::semantics::WARP_SIZE;

/// "No reconvergence point": a program counter that no instruction has.
pub(crate) const NEVER: u32 = u32::MAX;
const NO_JOIN: u32 = u32::MAX;

/// Maximum number of open calls of a warp, over all its paths.
pub(crate) const MAX_CALL_DEPTH: u32 = 1 << 16;

/// State of a path: ready, or waiting.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Wait {
    /// Nothing: it can run.
    Ready,
    /// The completion of a block-wide barrier; `at` is the barrier instruction.
    Barrier {
        /// Barrier number.
        id: u8,
        /// Program counter of the instruction that waits.
        at: u32,
    },
    /// The other lanes of a `WARPSYNC` mask; `at` is the instruction.
    WarpSync {
        /// Lanes that must arrive.
        members: u32,
        /// Program counter of the instruction that waits.
        at: u32,
    },
    /// The other lanes of the mask of a `WARPSYNC.COLLECTIVE`; `at` is the instruction.
    Collective {
        /// Lanes that must arrive.
        members: u32,
        /// Program counter of the instruction that waits.
        at: u32,
    },
    /// The other lanes of a convergence register, which come to a `BSYNC` of it.
    Converge {
        /// The register, which `BREAK` names.
        register: u8,
        /// Lanes that must come, or exit.
        members: u32,
        /// Program counter of the instruction that waits.
        at: u32,
    },
}

/// Lanes that run together.
#[derive(Clone, Copy, Hash, Debug)]
pub(crate) struct Path {
    /// Next instruction.
    pub pc: u32,
    /// The lanes; empty in a path that means "nothing to run".
    pub mask: u32,
    /// Reconvergence point; [`NEVER`] within a function that lanes leave only by returning.
    pub reconv: u32,
    join: u32,
    /// Lanes with which it executes the instructions of a `WARPSYNC.COLLECTIVE`; none elsewhere.
    together: u32,
    /// Whether the path can run.
    pub wait: Wait,
}

const IDLE: Path = Path { pc: 0, mask: 0, reconv: NEVER, join: NO_JOIN, together: 0, wait: Wait::Ready };

/// A join: the reconvergence point of a divergent branch, or the return from a call.
#[derive(Clone, Copy, Hash, Debug)]
struct Join {
    /// Position at which the lanes continue together.
    pc: u32,
    /// Reconvergence point and join of the path that continues.
    reconv: u32,
    join: u32,
    /// Lanes that have not arrived.
    pending: u32,
    /// Lanes that wait here.
    arrived: u32,
    /// Whether it is a call's return: lanes arrive here only by `RET`.
    frame: bool,
}

/// Lanes that wait at a join, for reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Meeting {
    /// Position at which they continue once all have arrived.
    pub pc: u32,
    /// Lanes that wait.
    pub arrived: u32,
    /// Lanes that they wait for.
    pub pending: u32,
}

/// The paths and joins of one warp.
#[derive(Clone, Hash, Debug)]
pub(crate) struct Paths {
    current: Path,
    /// Paths that are not running, the youngest last.
    parked: Vec<Path>,
    joins: Vec<Join>,
    free: Vec<u32>,
    live: u32,
    depth: u32,
    /// What each convergence register of machine code is to each lane: the lanes with which it set it. Lanes that have
    /// diverged use the same register at the same time for places of their own. Empty before the first use.
    convergence: Vec<[u32; WARP_SIZE]>,
    /// The lanes that have left each convergence register with `BREAK` and have not set it since.
    left: [u32; Convergence::COUNT],
    /// Where each lane goes on after instructions of a `WARPSYNC.COLLECTIVE`, with its reconvergence point and join. Empty
    /// before the first.
    behind_collective: Vec<(u32, u32, u32)>,
}

impl Paths {
    /// No lanes at all.
    #[must_use]
    pub(crate) fn new() -> Paths {
        Paths {
            current: IDLE,
            parked: Vec::new(),
            joins: Vec::new(),
            free: Vec::new(),
            live: 0,
            depth: 0,
            convergence: Vec::new(),
            left: [0; Convergence::COUNT],
            behind_collective: Vec::new(),
        }
    }

    /// Resets to all lanes of a mask at the first instruction.
    pub(crate) fn reset(&mut self, lanes: u32) {
        self.parked.clear();
        self.joins.clear();
        self.free.clear();
        (self.live, self.depth) = (lanes, 0);
        self.convergence.clear();
        self.left = [0; Convergence::COUNT];
        self.behind_collective.clear();
        self.current = Path { mask: lanes, ..IDLE };
    }

    /// The running path; its mask is empty when none can run.
    #[inline]
    #[must_use]
    pub(crate) fn current(&self) -> &Path {
        &self.current
    }

    /// Lanes that have not exited.
    #[inline]
    #[must_use]
    pub(crate) fn live(&self) -> u32 {
        self.live
    }

    /// Continues the running path at `pc`. It is then ready to run unless [`Self::meets`] is true.
    #[inline]
    pub(crate) fn goto(&mut self, pc: u32) {
        self.current.pc = pc;
    }

    /// Whether the running path is at its reconvergence point.
    #[inline]
    #[must_use]
    pub(crate) fn meets(&self) -> bool {
        self.current.pc == self.current.reconv
    }

    /// The running path waits at its reconvergence point; another path runs, or all lanes continue.
    #[cold]
    pub(crate) fn meet(&mut self) {
        while self.current.mask != 0 && self.meets() {
            let (join, lanes) = (self.current.join, self.current.mask);
            self.arrive(join, lanes);
            self.current.mask = 0;
            self.settle();
        }
    }

    /// Some lanes of the running path, but not all, go to `target`, the rest to `next`; they reconverge at
    /// `reconv`.
    pub(crate) fn diverge(&mut self, taken: u32, target: u32, next: u32, reconv: Option<u32>) {
        let p = self.current;
        let (reconv, join) = match reconv {
            Some(r) if r != p.reconv => (
                r,
                self.open(Join {
                    pc: r,
                    reconv: p.reconv,
                    join: p.join,
                    pending: p.mask,
                    arrived: 0,
                    frame: false,
                }),
            ),
            _ => (p.reconv, p.join),
        };
        self.current.mask = 0;
        for (lanes, pc) in [(taken, target), (p.mask & !taken, next)] {
            let path = Path { pc, mask: lanes, reconv, join, wait: Wait::Ready, ..IDLE };
            if pc == reconv {
                self.arrive(join, lanes);
                if self.current.mask == 0 {
                    // Keeps the position in the chain, in case both sides reconverge immediately.
                    self.current = Path { mask: 0, ..path };
                }
            } else {
                if self.current.mask != 0 {
                    self.parked.push(self.current);
                }
                self.current = path;
            }
        }
        if self.current.mask == 0 {
            self.settle();
            self.meet();
        }
    }

    /// Some lanes of the running path call a function and return to `next`, where the others wait for them.
    /// False when too many calls are open.
    #[must_use]
    pub(crate) fn call(&mut self, lanes: u32, target: u32, next: u32) -> bool {
        self.call_each(&[(target, lanes)], next)
    }

    /// Lanes of the running path call functions, given with the lanes that call each, and return to `next`,
    /// where all wait for each other. False when too many calls are open.
    #[must_use]
    pub(crate) fn call_each(&mut self, targets: &[(u32, u32)], next: u32) -> bool {
        if self.depth >= MAX_CALL_DEPTH {
            return false;
        }
        let p = self.current;
        let lanes = targets.iter().fold(0, |all, (_, lanes)| all | lanes);
        let join = self.open(Join {
            pc: next,
            reconv: p.reconv,
            join: p.join,
            pending: lanes,
            arrived: p.mask & !lanes,
            frame: true,
        });
        self.depth += 1;
        let path =
            |&(pc, mask): &(u32, u32)| Path { pc, mask, reconv: NEVER, join, wait: Wait::Ready, ..IDLE };
        // The first runs first, the others wait for their turn.
        self.parked.extend(targets.iter().skip(1).rev().map(path));
        self.current = targets.first().map_or(IDLE, path);
        true
    }

    /// Lanes of the running path jump, given with the lanes that jump to each place; the others continue at `next`. They
    /// meet again where they wait for each other.
    pub(crate) fn jump_each(&mut self, targets: &[(u32, u32)], next: u32) {
        let p = self.current;
        let jumping = targets.iter().fold(0, |all, (_, lanes)| all | lanes);
        self.current = Path { pc: next, mask: p.mask & !jumping, ..p };
        for &(pc, mask) in targets {
            if self.current.mask != 0 {
                self.parked.push(self.current);
            }
            self.current = Path { pc, mask, ..p };
        }
    }

    /// Some lanes of the running path return from their function, or end when they are in none.
    pub(crate) fn ret(&mut self, lanes: u32) {
        let mut join = self.current.join;
        while join != NO_JOIN {
            let j = &mut self.joins[join as usize];
            j.pending &= !lanes;
            if j.frame {
                j.arrived |= lanes;
                break;
            }
            join = j.join;
        }
        let ends = join == NO_JOIN;
        if ends {
            self.live &= !lanes;
        }
        self.leave(lanes);
        if ends {
            self.gather();
        }
    }

    /// Some lanes of the running path end.
    pub(crate) fn exit(&mut self, lanes: u32) {
        self.live &= !lanes;
        let mut join = self.current.join;
        while join != NO_JOIN {
            let j = &mut self.joins[join as usize];
            j.pending &= !lanes;
            join = j.join;
        }
        self.leave(lanes);
        self.gather();
    }

    fn leave(&mut self, lanes: u32) {
        self.current.mask &= !lanes;
        if self.current.mask == 0 {
            self.settle();
            self.meet();
        }
    }

    /// Some lanes of the running path wait and continue at `next` when released; the others, or another path,
    /// run.
    pub(crate) fn park(&mut self, lanes: u32, next: u32, wait: Wait) {
        self.parked.push(Path { wait, pc: next, mask: lanes, ..self.current });
        self.current.pc = next;
        self.current.mask &= !lanes;
        if self.current.mask == 0 {
            self.next_ready();
            self.meet();
        }
    }

    /// Releases lanes that wait for a mask of lanes, when all of these wait too or have exited.
    pub(crate) fn gather(&mut self) {
        let gathers = |p: &&Path| matches!(p.wait, Wait::WarpSync { .. });
        let here = self.parked.iter().filter(gathers).fold(0, |lanes, p| lanes | p.mask);
        if here != 0 {
            let away = self.live & !here;
            self.release(|wait| matches!(wait, Wait::WarpSync { members, .. } if members & away == 0));
        }
        self.collect();
        self.converge();
    }

    /// `WARPSYNC.COLLECTIVE` at `at`: some lanes of the running path wait, each for the lanes of its mask, which may come to
    /// other places. All execute the instructions from `first` on together; these continue at `behind` afterwards.
    pub(crate) fn wait_collectively(
        &mut self,
        lanes: u32,
        at: u32,
        members: &[u32; WARP_SIZE],
        [first, behind]: [u32; 2],
    ) {
        self.behind_collective.resize(WARP_SIZE, (NEVER, NEVER, NO_JOIN));
        let behind = (behind, self.current.reconv, self.current.join);
        lanes_of(lanes).for_each(|lane| self.behind_collective[lane] = behind);
        self.current.pc = at + 1;
        for (members, group) in groups(lanes, members) {
            let wait = Wait::Collective { members, at };
            self.parked.push(Path { wait, pc: first, mask: group, ..IDLE });
        }
        self.current.mask &= !lanes;
        self.collect();
        if self.current.mask == 0 {
            self.next_ready();
        }
    }

    /// `ENDCOLLECTIVE`: each lane of the running path goes on behind its own `WARPSYNC.COLLECTIVE`.
    pub(crate) fn end_collective(&mut self) {
        let mut left = self.current.mask;
        self.current = IDLE;
        while let Some(&behind) = self.behind_collective.get(left.trailing_zeros() as usize) {
            let goes = |lane: &usize| self.behind_collective[*lane] == behind;
            let mask = lanes_of(left).filter(goes).fold(0, |all, lane| all | 1 << lane);
            left &= !mask;
            let (pc, reconv, join) = behind;
            if self.current.mask != 0 {
                self.parked.push(self.current);
            }
            self.current = Path { pc, mask, reconv, join, ..IDLE };
        }
        self.meet();
    }

    /// Releases lanes that wait at a `WARPSYNC.COLLECTIVE` when all lanes of their mask wait there for the same lanes, or
    /// have exited.
    fn collect(&mut self) {
        let mut free = 0;
        for path in &self.parked {
            let Wait::Collective { members, .. } = path.wait else { continue };
            let waits = |p: &&Path| matches!(p.wait, Wait::Collective { members: for_what, .. } if (for_what ^ members) & self.live == 0);
            let here = self.parked.iter().filter(waits).fold(0, |lanes, p| lanes | p.mask);
            if members & self.live & !here == 0 {
                free |= path.mask;
            }
        }
        if free == 0 {
            return;
        }
        for path in &mut self.parked {
            if let Wait::Collective { members, .. } = path.wait
                && path.mask & free != 0
            {
                path.together = members & self.live;
            }
        }
        self.release_lanes(free);
    }

    /// What a convergence register is to each lane.
    #[must_use]
    pub(crate) fn convergence(&self, Convergence(register): Convergence) -> [u32; WARP_SIZE] {
        self.convergence.get(usize::from(register)).copied().unwrap_or_default()
    }

    /// Gives a convergence register to some lanes, each with the lanes that `of` says.
    pub(crate) fn set_convergence(
        &mut self,
        Convergence(register): Convergence,
        lanes: u32,
        of: impl Fn(usize) -> u32,
    ) {
        // The memory is that of the warp before.
        self.convergence.resize(Convergence::COUNT, [0; WARP_SIZE]);
        let register = usize::from(register) % Convergence::COUNT;
        let values = &mut self.convergence[register];
        self.left[register] &= !lanes;
        lanes_of(lanes).for_each(|lane| values[lane] = of(lane));
    }

    /// `BSYNC`: some lanes of the running path wait at `at`, each for all lanes of its convergence register that have not
    /// exited.
    pub(crate) fn wait_at(&mut self, register: Convergence, lanes: u32, at: u32) {
        let members = self.convergence(register);
        let wait = |members| Wait::Converge { register: register.0, members, at };
        self.wait_for(lanes, lanes, at, &members, wait);
        self.converge();
    }

    /// `WARPSYNC`: some lanes of the running path wait at `at`, each for its own lanes.
    pub(crate) fn wait_together(&mut self, lanes: u32, at: u32, members: &[u32; WARP_SIZE]) {
        self.wait_for(lanes, self.current.mask, at, members, |members| Wait::WarpSync { members, at });
        self.gather();
    }

    /// Some lanes of the running path wait, each for its members; they go on if all of these are `here`.
    fn wait_for(
        &mut self,
        lanes: u32,
        here: u32,
        at: u32,
        members: &[u32; WARP_SIZE],
        wait: impl Fn(u32) -> Wait,
    ) {
        let all = match lanes {
            u32::MAX => members.iter().fold(0, |all, members| all | members),
            _ => lanes_of(lanes).fold(0, |all, lane| all | members[lane]),
        };
        if all & self.live & !here == 0 {
            self.goto(at + 1);
            return;
        }
        for (of, group) in groups(lanes, members) {
            self.park(group, at + 1, wait(of));
        }
    }

    /// `BREAK`: lanes are no longer waited for at a convergence register.
    pub(crate) fn leave_convergence(&mut self, register: Convergence, lanes: u32) {
        let before = self.convergence(register);
        let left = |members: u32| {
            lanes_of(lanes)
                .filter(|lane| before[*lane] == members)
                .fold(members, |rest, lane| rest & !(1 << lane))
        };
        let index = usize::from(register.0) % Convergence::COUNT;
        self.convergence.resize(Convergence::COUNT, [0; WARP_SIZE]);
        self.convergence[index].iter_mut().for_each(|members| *members = left(*members));
        self.left[index] |= lanes;
        for path in &mut self.parked {
            if let Wait::Converge { register: of, members, .. } = &mut path.wait
                && *of == register.0
            {
                *members = left(*members);
            }
        }
        self.converge();
    }

    /// Releases lanes that wait at a `BSYNC` when all lanes of their convergence register wait for the same lanes or have
    /// exited. Each waits for those that the register had when it came: a function may have saved the register since, and
    /// use it for itself.
    fn converge(&mut self) {
        let mut free = 0;
        for path in &self.parked {
            let Wait::Converge { register, members, .. } = path.wait else { continue };
            let waits = |p: &&Path| {
                matches!(p.wait, Wait::Converge { register: of, members: for_what, .. }
                    if of == register && (for_what ^ members) & self.live == 0)
            };
            let here = self.parked.iter().filter(waits).fold(0, |lanes, p| lanes | p.mask);
            if members & self.live & !here == 0 {
                free |= path.mask;
            }
        }
        if free != 0 {
            self.release_lanes(free);
        }
    }

    /// Makes the waiting paths of these lanes ready to run.
    fn release_lanes(&mut self, lanes: u32) {
        for path in self.parked.iter_mut().filter(|path| path.mask & lanes != 0) {
            path.wait = Wait::Ready;
        }
        self.resume();
    }

    /// Paths that wait.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &Path> {
        self.parked.iter().filter(|p| p.wait != Wait::Ready)
    }

    /// Makes the waiting paths that `of` picks ready to run, and one of them run if none does. Paths at the
    /// same position continue together.
    pub(crate) fn release(&mut self, of: impl Fn(&Wait) -> bool) {
        for path in &mut self.parked {
            if path.wait != Wait::Ready && of(&path.wait) {
                if let Wait::Barrier { at, .. } = path.wait {
                    // Lanes with the result of a reduction wait at the instruction, others after it.
                    path.pc = at + 1;
                }
                path.wait = Wait::Ready;
            }
        }
        self.resume();
    }

    /// After paths have become ready: those at the same position continue together, and one runs if none does.
    fn resume(&mut self) {
        if self.parked.len() > 1 {
            self.unite();
        }
        if self.current.mask == 0 {
            self.next_ready();
            self.meet();
        }
    }

    /// Merges ready paths at the same position: some lanes have overtaken others.
    fn unite(&mut self) {
        let mut at = 0;
        while at < self.parked.len() {
            let p = self.parked[at];
            let same = |q: &Path| {
                let place = |path: &Path| (path.pc, path.reconv, path.join, path.together);
                q.wait == Wait::Ready && place(q) == place(&p) && q.mask != 0
            };
            let other = (at + 1..self.parked.len()).rev().find(|&o| same(&p) && same(&self.parked[o]));
            match other {
                Some(other) => self.parked[at].mask |= self.parked.remove(other).mask,
                None => at += 1,
            }
        }
    }

    /// Switches to the path that has waited longest; the running one moves to the end of the queue. False
    /// when no other is ready.
    pub(crate) fn rotate(&mut self) -> bool {
        let Some(at) = self.parked.iter().position(|p| p.wait == Wait::Ready) else { return false };
        let path = self.parked.remove(at);
        if self.current.mask != 0 {
            self.parked.push(self.current);
        }
        self.current = path;
        self.meet();
        true
    }

    /// Continues the lanes at the innermost join without the missing ones, which may spin until these lanes
    /// act. The missing lanes pass the join later. False when no lanes wait at a join.
    pub(crate) fn overtake(&mut self) -> bool {
        let mut at = self.current.join;
        while at != NO_JOIN {
            let j = &self.joins[at as usize];
            if j.arrived != 0 {
                break;
            }
            at = j.join;
        }
        if at == NO_JOIN {
            let Some(other) = self.held_up() else { return false };
            at = other;
        }
        self.go_on(at);
        true
    }

    /// When no path can run: continues lanes that wait at a join, or at a `BSYNC`. PTX does not define reconvergence, and
    /// compilers add it where lanes leave for the end of a kernel, so it must not cause a deadlock. True if a path can then
    /// run.
    pub(crate) fn break_up(&mut self) -> bool {
        while self.current.mask == 0 {
            if self.part() {
                continue;
            }
            let Some(at) = self.held_up() else { return false };
            self.go_on(at);
        }
        true
    }

    /// Releases lanes that wait at a `BSYNC` for lanes that all wait for a mask of lanes, or have left the register while the
    /// waiting ones had saved it in a function; these no longer wait for them there. False if there are none.
    fn part(&mut self) -> bool {
        let waits = |of: fn(&Wait) -> bool| {
            let waiting = self.parked.iter().filter(move |path| of(&path.wait));
            waiting.fold(0, |lanes, path| lanes | path.mask)
        };
        let gathers = waits(|wait| matches!(wait, Wait::WarpSync { .. } | Wait::Collective { .. }));
        let held_up = self.parked.iter().find_map(|path| {
            let Wait::Converge { register, members, .. } = path.wait else { return None };
            let left = self.left[usize::from(register) % Convergence::COUNT];
            // Some may have set the register again before a lane left it, others after.
            let same = |of: &Wait| {
                matches!(of, Wait::Converge { register: of, members: for_what, .. }
                    if *of == register && (for_what ^ members) & self.live & !left == 0)
            };
            let here = self.parked.iter().filter(|path| same(&path.wait));
            let here = here.fold(0, |lanes, path| lanes | path.mask);
            let away = members & self.live & !here;
            (away != 0 && away & !(gathers | left) == 0).then_some((register, here, away))
        });
        let Some((register, here, away)) = held_up else { return false };
        let register = Convergence(register);
        let before = self.convergence(register);
        self.set_convergence(register, away, |lane| before[lane] & !here);
        self.release_lanes(here);
        true
    }

    /// A join at which lanes wait for others, if there is one.
    fn held_up(&self) -> Option<u32> {
        self.joins.iter().rposition(|j| j.arrived != 0 && j.pending != 0).map(|at| at as u32)
    }

    /// Continues the lanes at a join without the others.
    fn go_on(&mut self, at: u32) {
        let j = &mut self.joins[at as usize];
        let lanes = std::mem::take(&mut j.arrived);
        let path = Path { pc: j.pc, mask: lanes, reconv: j.reconv, join: j.join, wait: Wait::Ready, ..IDLE };
        if self.current.mask != 0 {
            self.parked.push(self.current);
        }
        self.current = path;
        self.meet();
    }

    /// Joins at which lanes wait for others.
    pub(crate) fn meetings(&self) -> impl Iterator<Item = Meeting> {
        let used = self.joins.iter().filter(|j| j.arrived != 0 && j.pending != 0);
        used.map(|j| Meeting { pc: j.pc, arrived: j.arrived, pending: j.pending })
    }

    fn open(&mut self, join: Join) -> u32 {
        match self.free.pop() {
            Some(at) => {
                self.joins[at as usize] = join;
                at
            }
            None => {
                self.joins.push(join);
                (self.joins.len() - 1) as u32
            }
        }
    }

    fn close(&mut self, at: u32) {
        let j = &mut self.joins[at as usize];
        self.depth -= u32::from(j.frame);
        (j.pending, j.arrived) = (0, 0);
        self.free.push(at);
    }

    fn arrive(&mut self, join: u32, lanes: u32) {
        if join != NO_JOIN {
            let j = &mut self.joins[join as usize];
            j.arrived |= lanes;
            j.pending &= !lanes;
        }
    }

    /// After the running path has lost its last lane: closes joins at which no more lanes will arrive, and
    /// runs the lanes that waited there, or else another path.
    fn settle(&mut self) {
        let mut at = self.current.join;
        while at != NO_JOIN && self.joins[at as usize].pending == 0 {
            let j = self.joins[at as usize];
            self.close(at);
            if j.arrived != 0 {
                self.current = Path {
                    pc: j.pc,
                    mask: j.arrived,
                    reconv: j.reconv,
                    join: j.join,
                    wait: Wait::Ready,
                    ..IDLE
                };
                return;
            }
            at = j.join;
        }
        self.next_ready();
    }

    fn next_ready(&mut self) {
        self.current = match self.parked.iter().rposition(|p| p.wait == Wait::Ready) {
            Some(at) => self.parked.remove(at),
            None => IDLE,
        };
    }
}

/// Lanes by a value of each: every value with the lanes that have it.
fn groups(lanes: u32, values: &[u32; WARP_SIZE]) -> impl Iterator<Item = (u32, u32)> {
    let mut left = lanes;
    std::iter::from_fn(move || {
        if left == 0 {
            return None;
        }
        let of = values[left.trailing_zeros() as usize & 31];
        let group = lanes_of(left).filter(|lane| values[*lane] == of).fold(0, |all, lane| all | 1 << lane);
        left &= !group;
        Some((of, group))
    })
}

impl Default for Paths {
    fn default() -> Self {
        Paths::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lanes that have diverged use a convergence register for two places at the same time: each waits for the lanes with
    /// which it set the register, whatever others did to it since.
    #[test]
    fn a_convergence_register_is_of_each_lane() {
        let register = Convergence(1);
        let mut paths = Paths::new();
        paths.reset(0b1111);
        paths.diverge(0b0011, 10, 1, None);
        let first = paths.current().mask;
        let (early, late) = (first & first.wrapping_neg(), first & (first - 1));
        paths.set_convergence(register, first, |_| first);
        paths.wait_at(register, early, 5);
        assert_eq!(paths.current().mask, late, "the other lane has not come");

        assert!(paths.rotate());
        let second = paths.current().mask;
        assert_eq!((first | second, first & second), (0b1111, 0));
        paths.set_convergence(register, second, |_| second);
        paths.wait_at(register, second, 20);
        assert_eq!((paths.current().mask, paths.current().pc), (second, 21), "all of its lanes are here");
        assert_eq!(paths.waiting().count(), 1);

        assert!(paths.rotate());
        assert_eq!(paths.current().mask, late);
        paths.wait_at(register, late, 5);
        assert_eq!(paths.waiting().count(), 0);
        let together =
            paths.parked.iter().chain([&paths.current]).any(|path| path.mask == first && path.pc == 6);
        assert!(together, "both go on together");
    }

    #[test]
    fn a_lane_that_breaks_is_not_waited_for() {
        let register = Convergence(0);
        let mut paths = Paths::new();
        paths.reset(0b0111);
        paths.set_convergence(register, 0b0111, |_| 0b0111);
        paths.wait_at(register, 0b0001, 5);
        paths.wait_at(register, 0b0010, 5);
        assert_eq!(paths.waiting().count(), 2);
        paths.leave_convergence(register, 0b0100);
        assert_eq!(paths.waiting().count(), 0);
    }

    /// Two lanes that wait at 20 go on without the third, and meet it at 30, where it waits for them.
    fn go_on_and_meet(mut paths: Paths, outer: Convergence) {
        assert!(paths.break_up());
        assert_eq!((paths.current().mask, paths.current().pc), (0b0011, 21));
        paths.wait_at(outer, 0b0011, 30);
        assert_eq!((paths.current().mask, paths.current().pc), (0b0111, 31), "all go on together");
    }

    /// Lanes save the register in a function that uses it, and set it again afterwards; one that has left it meanwhile waits
    /// elsewhere for all.
    #[test]
    fn a_lane_that_breaks_while_others_have_saved_the_register_is_not_waited_for() {
        let (inner, outer) = (Convergence(6), Convergence(7));
        let mut paths = Paths::new();
        paths.reset(0b0111);
        paths.set_convergence(outer, 0b0111, |_| 0b0111);
        paths.set_convergence(inner, 0b0111, |_| 0b0111);
        paths.diverge(0b0011, 10, 1, None);
        let in_function = |paths: &mut Paths| {
            assert_eq!(paths.current().mask, 0b0011);
            let saved = paths.convergence(inner);
            paths.set_convergence(inner, 0b0011, |_| 0b0011);
            saved
        };
        if paths.current().mask != 0b0011 {
            assert!(paths.rotate());
        }
        let saved = in_function(&mut paths);
        assert!(paths.rotate());
        paths.leave_convergence(inner, 0b0100);
        paths.wait_at(outer, 0b0100, 30);
        assert_eq!(paths.current().mask, 0b0011);
        paths.set_convergence(inner, 0b0011, |lane| saved[lane]);
        paths.wait_at(inner, 0b0011, 20);
        assert_eq!((paths.current().mask, paths.waiting().count()), (0, 2), "nothing can run");
        go_on_and_meet(paths, outer);
    }

    /// The same where some of the waiting lanes had set the register before the other left it, and some after: they wait
    /// together, for different lanes.
    #[test]
    fn lanes_that_differ_in_one_that_has_left_wait_together() {
        let (inner, outer) = (Convergence(6), Convergence(7));
        let mut paths = Paths::new();
        paths.reset(0b0111);
        paths.set_convergence(outer, 0b0111, |_| 0b0111);
        paths.diverge(0b0100, 10, 1, None);
        if paths.current().mask != 0b0100 {
            assert!(paths.rotate());
        }
        paths.leave_convergence(inner, 0b0100);
        paths.wait_at(outer, 0b0100, 30);
        paths.set_convergence(inner, 0b0011, |lane| if lane == 0 { 0b0111 } else { 0b0011 });
        paths.wait_at(inner, 0b0011, 20);
        assert_eq!((paths.current().mask, paths.waiting().count()), (0, 3), "nothing can run");
        go_on_and_meet(paths, outer);
    }
}
