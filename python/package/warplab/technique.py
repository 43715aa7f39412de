"""Techniques that are Python classes: prototypes for an idea before it is written in Rust.

Subclass `Technique`, declare, and write the methods that the idea needs; then `trace.replay(tech=[Mine(...)])`.

    class LastResult(warplab.Technique):
        name = "last-result"
        summary = "forwards each warp's last result"
        opportunity = "a source register that would be read from a bank"
        losses = {"another_register": "It is not the warp's last result."}
        storage = {"last": warplab.Storage(entry_bits=1024 + 8 + 32, doc="the last results")}

        def __init__(self):
            self.last = {}

        def start_warp(self, cx, warp):
            self.last.pop(warp.slot, None)

        def collect(self, cx, warp, inst, operands):
            register, lanes, values = self.last.get(warp.slot, (None, 0, None))
            for operand in operands:
                if operand.register == register and inst.active & ~lanes == 0:
                    operand.supply(values)
                else:
                    operand.lost("another_register")

        def write_back(self, cx, warp, inst, results):
            for result in results:
                self.last[warp.slot] = (result.register, inst.executed, result.values)
                cx.write(warp.slot)

**It is slow**: a replay calls Python for every instruction of every warp, on one thread. Measured with the class above, ten
thousand warp instructions a second, where a replay without it has two hundred thousand on the same busy computer. Use short
kernels, or `launches=` and `record(blocks=…)`. The model's rules hold as for any technique:

- Every value that is supplied is compared with the recorded one; a wrong value ends the replay with `warplab.Error`, which
  names kernel, PC, block, warp, register and lane.
- Values come from structures (`storage`), whose accesses queue at ports, take time, and are counted and priced.
- What is supplied and lost sums to the opportunities, or the replay ends.
- Methods that decide (`fetch`, `issue`, `order`, `admits_*`, `initiation`, `lanes`, `reuse`, `next_event`) must not change the
  object: the model may ask any number of times. Decisions are told afterwards (`fetched`, `issued`).

Each SM has a copy of the object (`copy.deepcopy`), made after `prepare`. Methods that a class does not have are not called.
Not possible in Python are micro-operations, renaming of registers, prefetches, answers to memory accesses, and scouts; for
these, write the technique in Rust (timing/technique/README.md).
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Storage:
    """A structure of a technique. Banks are accessed independently; `banks=0` is one for each warp slot of the SM."""

    entry_bits: int
    entries: int = 1
    banks: int = 0
    ports: int = 1
    write_ports: int = 1
    latency_cycles: int = 0
    doc: str = "the structure"


class Technique:
    """Base of techniques. The attributes are its declarations; lists, tables and JSON are made from them."""

    #: Name: small letters, digits, `-` and `+`.
    name = ""
    #: Summary in one line.
    summary = ""
    #: Paper and section.
    paper = ""
    #: What an opportunity is; empty if no values are supplied.
    opportunity = ""
    #: Causes for which opportunities are lost, with their meanings.
    losses: dict = {}
    #: Causes for which warps are stalled, with their meanings.
    stalls: dict = {}
    #: Counters, with their meanings.
    counters: dict = {}
    #: Structures.
    storage: dict = {}
    #: Parts of the machine that the technique controls alone, such as "occupancy" or "warp_priority".
    claims: tuple = ()
    #: Whether recorded values are needed; traces without values are then refused.
    needs_values = True

    def prepare(self, kernel):
        """Called once per launch. May return demands on the machine: a dict with registers_per_thread, reserved_registers,
        register_blocks (blocks for which the registers of an SM suffice) or extra_collect_cycles."""

    def admits_block(self, now, block):
        """Whether a block may be placed in the SM."""
        return True

    def admits_warp(self, now, warp):
        """Whether a warp that has been placed may begin."""
        return True

    def start_block(self, cx, block_slot, block):
        """A block has been placed."""

    def start_warp(self, cx, warp):
        """A warp has been placed."""

    def fetch(self, now, warp, pc):
        """Before an instruction is fetched: None fetches it, True skips it (`answered` then supplies its results), and the
        name of a cause in `stalls` lets the warp wait."""

    def fetched(self, cx, warp, pc, skipped):
        """An instruction has been fetched or skipped."""

    def order(self, now, scheduler, ready, chosen):
        """The warp slot that issues: `chosen`, the scheduler's choice, or another one with a bit in `ready`."""
        return chosen

    def issue(self, now, warp, inst):
        """When the scheduler has chosen an instruction: None issues it, the name of a cause in `stalls` lets the warp wait,
        and a number of cycles, at least 1, has it not execute: its results come after these cycles, from `answered`."""

    def issued(self, cx, warp, inst, reused):
        """An instruction has issued; `reused` if it does not execute."""

    def collect(self, cx, warp, inst, operands):
        """An instruction enters its operand collector. Every operand given here would be read from its bank, and counts as an
        opportunity: `operand.supply(values)` or `operand.lost(cause)`."""

    def initiation(self, now, warp, inst, cycles):
        """Cycles before the unit takes the next instruction."""
        return cycles

    def lanes(self, now, warp, inst, lanes):
        """Lanes in which the unit computes, which cost energy."""
        return lanes

    def reuse(self, now, warp, inst):
        """When an instruction has its operands: None executes it, a number of cycles has `answered` supply its results."""

    def answered(self, cx, warp, inst, how, results):
        """Supplies the results of an instruction that did not execute ("skipped", "reused"): `result.supply(values)` for each."""

    def write_back(self, cx, warp, inst, results):
        """An instruction completes: `result.values` holds each result in the lanes of `inst.executed`, and noise in others."""

    def tick(self, cx):
        """The technique's own stage, before issue."""

    def next_event(self, now):
        """The next cycle from `now` on in which `tick` has work, or None; without this method, every cycle has."""

    def end_warp(self, cx, warp_slot):
        """A warp has ended."""

    def end_block(self, cx, block_slot):
        """Every warp of a block has ended."""
