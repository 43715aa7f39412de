#!/usr/bin/env python3
"""Derives the rows of data/opcodes.txt from nvdisasm's text.

Usage: derive.py NVDISASM ROWS TARGET=WORDS.txt    rows of a target, such as 75
       derive.py merge TABLE ROWS...               the table of all targets
       derive.py add TABLE ROWS... [-- OPCODE...]  adds opcodes that the table lacks for a target; replaces those named

A file of words holds one 128-bit instruction word a line, as 32 hexadecimal digits. For each value of the 12-bit opcode, the tool takes
words with the most operands, flips every bit, and learns from nvdisasm's text which bits form which operand or modifier; fields of
modifiers are enumerated. Where it reports that modifiers are not separated, write the row by hand, with a line for each of
them, and add it in the same way; `examples/agree.rs` compares it like the others. Rows that come out the same for several targets are merged. A bit that no field names must have the value that it
has in all given words, or may have any (`any`) if the words differ there and the text does not.
"""

import collections
import itertools
import re
import subprocess
import sys
import tempfile

NOP = 0x000FC000000000000000000000007918  # the word that takes the place of refused ones
GUARD = 7 << 12
CONTROL = ((1 << 17) - 1) << 105 | ((1 << 6) - 1) << 122
PLAIN_CONTROL = 0x000FE400 << 96  # stall 2, no yield, no counters, no reuse
MAX_ENUMERATED_BITS = 13
TARGETS = {"BRA", "BSSY", "CALL", "RET", "BRX", "WARPSYNC", "LEPC", "JMP", "JMX", "BRXU"}


def bits_of(word, at, width):
    return word >> at & (1 << width) - 1


def with_bits(word, at, width, value):
    mask = (1 << width) - 1 << at
    return word & ~mask | value << at & mask


class Disassembler:
    """nvdisasm on batches of raw words."""

    LINE = re.compile(r"^\s*/\*([0-9a-f]+)\*/\s+(.*?)\s*;\s+/\* 0x")

    def __init__(self, path, target):
        self.path, self.target, self.known, self.asked = path, target, {}, 0

    def texts(self, words):
        new = [w for w in dict.fromkeys(words) if w not in self.known]
        for start in range(0, len(new), 40000):
            self.ask(new[start : start + 40000])
        return [self.known[w] for w in words]

    def ask(self, words):
        self.asked += len(words)
        place = list(words)
        for _ in range(50):
            with tempfile.NamedTemporaryFile(suffix=".bin") as file:
                file.write(b"".join(w.to_bytes(16, "little") for w in place))
                file.flush()
                done = subprocess.run(
                    [self.path, "-b", f"SM{self.target}", "-hex", file.name], capture_output=True, text=True
                )
            refused = {int(a, 16) // 16 for a in re.findall(r"address 0x([0-9a-f]+)", done.stderr)}
            if not refused:
                break
            for at in refused:
                place[at] = NOP
        found = {}
        for line in done.stdout.splitlines():
            m = self.LINE.match(line)
            if m:
                found[int(m[1], 16)] = m[2]
        for i, word in enumerate(words):
            kept = place[i] == word
            self.known[word] = normal(found.get(16 * i), 16 * i) if kept else None


def normal(text, address):
    """The text with branch targets relative to the next instruction."""
    if text is None:
        return None
    text = re.sub(r"\s+", " ", text).replace(" ,", ",").strip()
    name = re.sub(r"^@\S+ ", "", text).split(" ")[0].split(".")[0]
    full = re.sub(r"^@\S+ ", "", text).split(" ")[0]
    if name in TARGETS and ".ABS" not in full and (name != "WARPSYNC" or "COLLECTIVE" in full):
        m = re.search(r"(-?)`?\(?0x([0-9a-f]+)\)?$", text)
        if m:
            value = int(m[2], 16) - address - 16
            value &= (1 << 64) - 1
            text = text[: m.start()] + f"@{value:#x}"
    return text


Operand = collections.namedtuple("Operand", "neg inv bang abs core reuse suffixes")
REGISTER = re.compile(r"^(UR|UP|R|P|B|SB)(\d+|Z|T)$")


def split(text):
    """(modifiers of the name, operands) of a text; operands as strings."""
    text = re.sub(r"^@!?U?P\w+ ", "", text)
    name, _, rest = text.partition(" ")
    rest = re.sub(r"\b(U?R\w+(?:\.\w+)?) (?=@|-?0x)", r"\1, ", rest)  # RET and BRX: no comma
    operands, depth, start = [], 0, 0
    for i, c in enumerate(rest):
        depth += c in "[{"
        depth -= c in "]}"
        if c == "," and depth == 0:
            operands.append(rest[start:i].strip())
            start = i + 1
    if rest[start:].strip():
        operands.append(rest[start:].strip())
    return tuple(name.split(".")), tuple(operands)


def operand(text):
    """The decorations of an operand and its core."""
    neg = inv = bang = absolute = reuse = False
    core = text
    if core[:1] == "!":
        bang, core = True, core[1:]
    if core[:1] == "~":
        inv, core = True, core[1:]
    if re.match(r"-(\||U?R|c|P)", core):
        neg, core = True, core[1:]
    m = re.match(r"^\|(.*)\|(.*)$", core)
    if m:
        absolute, core = True, m[1] + m[2]
    suffixes = ()
    m = re.match(r"^(UR\w+|R\d+|RZ|P\w|UP\w|B\d+|c\[.*\]|cx\[.*\])((?:\.\w+)*)$", core)
    if m:
        core, parts = m[1], [p for p in m[2].split(".") if p]
        reuse = "reuse" in parts
        suffixes = tuple(p for p in parts if p != "reuse")
    return Operand(neg, inv, bang, absolute, core, reuse, suffixes)


NUMBER = re.compile(r"\b(UR|UP|SB|R|P|B)(\d+|Z|T)\b|(-?)\b0x([0-9a-f]+)\b|(?<![\w.])(\d+)(?![\w.])")


def numbers(core, uniform_zero):
    """The numbers of a core, and its text without them."""
    out = []

    def take(m):
        if m[1]:
            zero = {"R": 255, "UR": uniform_zero, "P": 7, "UP": 7}.get(m[1], 0)
            out.append((m[1], zero if m[2] in "ZT" else int(m[2])))
            return m[1] + "#"
        value = int(m[4], 16) if m[4] else int(m[5])
        out.append(("#", -value if m[3] else value))
        return "#"

    skeleton = NUMBER.sub(take, core)
    return out, skeleton


def is_float(core):
    return bool(re.match(r"^[+-]?(\d+(\.\d+)?(e[+-]?\d+)?|INF|QNAN|SNAN)$", core))


def strip_common(tuples):
    """Lengths of the common prefix and suffix of some tuples."""
    first, shortest = tuples[0], min(map(len, tuples))
    prefix = 0
    while prefix < shortest and all(t[prefix] == first[prefix] for t in tuples):
        prefix += 1
    suffix = 0
    while suffix < shortest - prefix and all(t[len(t) - 1 - suffix] == first[-1 - suffix] for t in tuples):
        suffix += 1
    return prefix, suffix


def difference(a, b):
    prefix, suffix = strip_common([a, b])
    return a[prefix : len(a) - suffix], b[prefix : len(b) - suffix]


def factor(bits, data, base, named):
    """Splits a function from values of `bits` to tuples of words into fields in the order of printing.

    Returns [(bits, {value: words}) or words], so that the concatenation gives every tuple of `data`. `named` also has the
    values for which nvdisasm prints INVALID; they show which bits form a field.
    """
    count = len(bits)
    parent = list(range(count))

    def root(i):
        while parent[i] != i:
            i = parent[i]
        return i

    valid = {v: t for v, t in data.items() if t is not None}
    named = {v: t for v, t in named.items() if t is not None}
    effect = [{} for _ in range(count)]
    for i in range(count):
        for v, t in named.items():
            if not v >> i & 1 and v | 1 << i in named:
                effect[i][v] = difference(t, named[v | 1 << i])
    for i in range(count):
        for j in range(i + 1, count):
            if root(i) != root(j):
                a, b = effect[i], effect[j]
                if any(
                    not v >> j & 1 and v | 1 << j in a and a[v | 1 << j] != d for v, d in a.items()
                ) or any(not v >> i & 1 and v | 1 << i in b and b[v | 1 << i] != d for v, d in b.items()):
                    parent[root(i)] = root(j)
    groups = collections.defaultdict(list)
    for i in range(count):
        groups[root(i)].append(i)
    groups = list(groups.values())
    base = max(valid, key=lambda v: (len(valid[v]), v == base))  # the longest shows the order of most fields
    while True:
        made = assemble(bits, valid, base, groups)
        if made is not None or len(groups) <= 1:
            return made
        groups = [sorted(sum(groups, []))]


def spread(value, places):
    return sum((value >> k & 1) << p for k, p in enumerate(places))


def assemble(bits, valid, base, groups):
    slots = []
    for group in groups:
        mask = sum(1 << i for i in group)
        contexts = collections.Counter(v & ~mask for v in valid)
        best = max(contexts, key=lambda c: (contexts[c], c == base & ~mask))
        table, missing = {}, []
        reached = {g: valid.get(best | spread(g, group)) for g in range(1 << len(group))}
        present = {g: t for g, t in reached.items() if t is not None}
        prefix, suffix = strip_common(list(present.values()))
        table = {g: t[prefix : len(t) - suffix] for g, t in present.items()}
        own = sum((base >> p & 1) << k for k, p in enumerate(group))
        if own not in table:
            return None
        # values that are valid in other contexts only
        for v, t in valid.items():
            g = sum((v >> p & 1) << k for k, p in enumerate(group))
            if g not in table:
                known = next((k for k in table if v & ~mask | spread(k, group) in valid), None)
                if known is None:
                    continue
                other = valid[v & ~mask | spread(known, group)]
                removed, added = difference(other, t)
                whole = table[known]
                if removed and removed != whole:
                    at = [k for k in range(len(whole)) if whole[k : k + len(removed)] == removed]
                    if len(at) != 1:
                        continue
                    added = whole[: at[0]] + added + whole[at[0] + len(removed) :]
                elif not removed and whole:
                    continue
                table[g] = added
        # place in the text of the base
        siblings = [valid[base & ~mask | spread(g, group)] for g in table if base & ~mask | spread(g, group) in valid]
        p, s = strip_common(siblings) if len(siblings) > 1 else (None, None)
        text = valid[base]
        if p is None or text[p : len(text) - s] != table[own]:
            starts = [k for k in range(len(text) + 1) if text[k : k + len(table[own])] == table[own]]
            if len(siblings) == 1 and not table[own]:
                starts = [len(text)]
            elif not table[own] or len(starts) != 1:
                if p is None:
                    return None
                if text[p : p + len(table[own])] != table[own]:
                    return None
                starts = [p]
            p = starts[0]
        slots.append((p, p + len(table[own]), group, table))
    text = valid[base]
    slots.sort(key=lambda s: (s[0], s[1]))
    ties = collections.defaultdict(list)
    for slot in slots:
        ties[slot[0]].append(slot)
    orders = [list(itertools.permutations(same)) for _, same in sorted(ties.items())]
    values = sorted(valid, key=lambda v: -bin(v).count("1"))
    for choice in itertools.islice(itertools.product(*orders), 5000):
        pieces, at, fits = [], 0, True
        for start, end, group, table in itertools.chain(*choice):
            if start < at:
                fits = False
                break
            if start > at:
                pieces.append(text[at:start])
            pieces.append((group, table))
            at = end
        if not fits:
            continue
        if at < len(text):
            pieces.append(text[at:])
        if len(groups) == 1 or all(compose(pieces, v) == valid[v] for v in values):
            return [([bits[i] for i in p[0]], p[1]) if isinstance(p[0], list) else p for p in pieces]
    return None


def compose(pieces, v):
    out = ()
    for piece in pieces:
        if isinstance(piece[0], list):
            g = sum((v >> p & 1) << k for k, p in enumerate(piece[0]))
            if g not in piece[1]:
                return None
            out += piece[1][g]
        else:
            out += piece
    return out


def place(bits):
    """Bits, the lowest of the number first, as `72,78-80`."""
    runs = []
    for b in bits:
        if runs and runs[-1][1] + 1 == b:
            runs[-1][1] = b
        else:
            runs.append([b, b])
    return ",".join(f"{a}" if a == b else f"{a}-{b}" for a, b in runs)


def is_valid(words):
    """Whether nvdisasm has names for the values of all fields."""
    return not any("INVALID" in w or "??" in w for w in words)


def field_text(bits, table):
    known = " ".join(f"{v:x}={'.'.join(w) or '-'}" for v, w in sorted(table.items()) if is_valid(w))
    return f"{place(bits)}: {known}"


class Learner:
    """Learns the row of one opcode; `run` is a generator of questions, lists of words, that is sent their texts."""

    def __init__(self, opcode, words, target):
        self.opcode, self.words, self.target = opcode, words, target
        self.uniform_zero = 255 if target >= 100 else 63
        self.notes = []
        self.forced = None

    def parse(self, text):
        if text is None:
            return None
        return split(text)

    def run(self):
        bank = [w & ~CONTROL & ~(15 << 12) | GUARD | PLAIN_CONTROL for w in self.words]
        bank = list(dict.fromkeys(bank))
        texts = yield bank
        shapes = {}
        for w, t in zip(bank, texts):
            if t is None:
                continue
            name, ops = split(t)
            key = (name, tuple(numbers(operand(o).core, self.uniform_zero)[1] if not is_float(o) else "F" for o in ops))
            shapes.setdefault(key, []).append(w)
        if not shapes:
            return None
        order = sorted(shapes, key=lambda k: (len(k[1]), sum(map(len, k[1])), len(shapes[k])), reverse=True)
        base = shapes[order[0]][0]
        # generic values in the places of registers and predicates
        for at, width, value in (
            (16, 8, 8), (24, 8, 16), (32, 8, 24), (64, 8, 32), (16, 6, 8), (24, 6, 16), (32, 6, 24), (64, 6, 32),
            (81, 3, 1), (84, 3, 2), (87, 3, 3), (77, 3, 4), (68, 3, 5), (40, 24, 0x40), (122, 4, 0),
        ):  # fmt: skip
            before, = yield [base]
            trial = with_bits(base, at, width, value)
            after, = yield [trial]
            if after is None:
                continue
            (n0, o0), (n1, o1) = split(before), split(after)
            shape = lambda ops: [numbers(operand(o).core, self.uniform_zero)[1] for o in ops]  # noqa: E731
            if len(o1) > len(o0) or len(o1) == len(o0) and n1 == n0 and (
                [len(s) for s in shape(o1)] >= [len(s) for s in shape(o0)]
            ):
                changed = [a for a, b in zip(o0, o1) if a != b]
                if not any(is_float(c) for c in changed) and len(o1) >= len(o0):
                    if n1 == n0 and len(o1) > len(o0) or all(
                        operand(a)._replace(core="") == operand(b)._replace(core="") for a, b in zip(o0, o1)
                    ):
                        base = trial
        # flips that show more operands
        for _ in range(4):
            flips = [base ^ 1 << b for b in range(16, 105)]
            texts = yield [base] + flips
            here = split(texts[0])
            longer = [w for w, t in zip(flips, texts[1:]) if t and len(split(t)[1]) > len(here[1])
                      and split(t)[0][0] == here[0][0]]
            if not longer:
                break
            base = longer[0]
        # flips that show more numbers: an index, a uniform register
        for _ in range(2):
            flips = [base ^ 1 << b for b in range(64, 105)]
            texts = yield [base] + flips
            here = split(texts[0])
            count = lambda ops: sum(len(numbers(o, 0)[0]) for o in ops)  # noqa: E731
            more = [w for w, t in zip(flips, texts[1:]) if t and is_valid([t]) and "cx[" not in t and split(t)[0][0] == here[0][0]
                    and len(split(t)[1]) == len(here[1]) and count(split(t)[1]) > count(here[1])]
            if not more or any(is_float(o) for o in here[1]):
                break
            self.forced = (base ^ more[0]).bit_length() - 1
            base = more[0]
        span = list(range(16, 105)) + [122, 123, 124, 125]
        # bases: the fullest word, and one word of each shape in the bank
        bases = [base] + [shapes[k][0] for k in order[:40]]
        questions = [b ^ 1 << bit for b in bases for bit in span]
        texts = yield bases + questions
        base_texts, flip_texts = texts[: len(bases)], texts[len(bases) :]
        name, ops = split(base_texts[0])
        self.name = name
        name_bits, owners = set(), [set() for _ in ops]
        drops = [set() for _ in ops]
        for i, b in enumerate(bases):
            n0, o0 = split(base_texts[i])
            for k, bit in enumerate(span):
                t = flip_texts[i * len(span) + k]
                if t is None:
                    continue
                n1, o1 = split(t)
                if n1 != n0:
                    name_bits.add(bit)
                if i > 0:
                    continue
                aligned = self.align(o0, o1)
                for at, (o, other) in enumerate(zip(o0, aligned)):
                    if other is None:
                        drops[at].add(bit)
                    elif other != o:
                        owners[at].add(bit)
        self.base = base
        numeric = set()
        operands = []
        for at, text in enumerate(ops):
            made = yield from self.learn_operand(at, text, ops, owners[at], drops[at])
            operands.append(made)
            numeric |= made["bits"]
        # modifiers of the name
        name_bits -= numeric
        varied = 0
        for w in bank:
            varied |= w ^ bank[0]
        unexplained = [b for b in range(16, 105) if varied >> b & 1 and b not in numeric and b not in name_bits
                       and not any(b in o["bits"] or b in d for o, d in zip(operands, drops))]
        refused = set()
        for i, b in enumerate(bases):
            for k, bit in enumerate(span):
                if flip_texts[i * len(span) + k] is None:
                    refused.add(bit)
        name_bits |= {b for b in unexplained if b in refused}
        nb = sorted(b for b in name_bits if b < 122)
        pieces = [name]
        if nb:
            values = range(1 << len(nb))
            if len(nb) > MAX_ENUMERATED_BITS:
                starts = dict.fromkeys(
                    sum((w >> b & 1) << k for k, b in enumerate(nb)) for w in [base] + [ws[0] for ws in shapes.values()]
                )
                values = set()
                for v in list(starts)[:8]:
                    for n in range(4):
                        for flips in itertools.combinations(range(len(nb)), n):
                            values.add(v ^ sum(1 << k for k in flips))
                    for first in range(len(nb)):
                        for last in range(first, min(first + 8, len(nb))):
                            if nb[last] - nb[first] == last - first:
                                for x in range(1 << last - first + 1):
                                    values.add(with_bits(v, first, last - first + 1, x))
                values = sorted(values)
            asked = []
            for v in values:
                w = base
                for k, b in enumerate(nb):
                    w = with_bits(w, b, 1, v >> k & 1)
                asked.append(w)
            texts = yield asked
            data = {v: split(t)[0] if t else None for v, t in zip(values, texts)}
            data = {v: n if n and n[0] == self.name[0] else None for v, n in data.items()}
            own = sum((base >> b & 1) << k for k, b in enumerate(nb))
            # names that only bank words reach
            for w, key in ((ws[0], k) for k, ws in shapes.items()):
                v = sum((w >> b & 1) << k for k, b in enumerate(nb))
                if data.get(v) is None and not key[0][1:2] in (("MOV",), ("SHL",), ("IADD",)):
                    data[v] = key[0]
            clean = {v: n for v, n in data.items() if n is not None and is_valid(n)}
            if own not in clean:
                clean = data
            pieces = factor(nb, clean, own, data)
            if pieces is None or any(isinstance(p[0], list) and len(p[1]) > 600 for p in pieces):
                self.notes.append(f"modifiers in bits {place(nb)} are not separated")
                seen = {sum((w >> b & 1) << k for k, b in enumerate(nb)): key[0] for key, ws in shapes.items() for w in ws}
                prefix, suffix = strip_common(list(seen.values()))
                prefix = max(prefix, 1)
                pieces = [name[:prefix], (nb, {v: n[prefix:] for v, n in seen.items()})]
        # presence of operands
        for at, made in enumerate(operands):
            yield from self.learn_presence(at, ops, made, drops[at], nb)
        for piece in pieces:
            if isinstance(piece[0], list) and len(piece[0]) <= 7 and nb:
                values = sorted(piece[1])
                texts = yield [
                    (base & ~sum(1 << b for b in piece[0])) | spread(v, piece[0]) for v in values
                ]
                # some values are only allowed with the address 0
                for at, made in enumerate(operands):
                    if None in texts and made["kind"].startswith("["):
                        zero = base | sum(1 << b for f in made["fields"] if f[0] in ("R", "UR") for b in f[1])
                        zero &= ~sum(1 << b for f in made["fields"] if f[0] == "#" for b in f[1])
                        again = yield [(zero & ~sum(1 << b for b in piece[0])) | spread(v, piece[0]) for v in values]
                        texts = [t if t is not None else other for t, other in zip(texts, again)]
                    shown = [v for v, t in zip(values, texts) if t is None or self.align(ops, split(t)[1])[at] is not None]
                    if len(shown) < len(values) and not made.get("when") and shown:
                        made["when"] = (piece[0], shown)
        # suffixes that only appear with other modifiers than those of the base
        for i, b in enumerate(bases[1:], 1):
            n0, o0 = split(base_texts[i])
            if len(o0) != len(ops):
                continue
            for at, made in enumerate(operands):
                if made.get("rest") or made["kind"] not in ("R#", "UR#"):
                    continue
                own = operand(o0[at])
                found = []
                for k, bit in enumerate(span):
                    t = flip_texts[i * len(span) + k]
                    if t is None or bit in nb or bit >= 105 or any(bit in o["bits"] for o in operands):
                        continue
                    o1 = split(t)[1]
                    if len(o1) == len(ops):
                        o = operand(o1[at])
                        if o.core == own.core and o.suffixes != own.suffixes:
                            found.append(bit)
                if found and len(found) <= 6:
                    texts = yield [
                        (b & ~sum(1 << x for x in found)) | spread(v, found) for v in range(1 << len(found))
                    ]
                    table = {}
                    for v, t in enumerate(texts):
                        if t and is_valid([t]) and len(split(t)[1]) == len(ops):
                            table[v] = (made["kind"], operand(split(t)[1][at]).suffixes)
                    made["rest"] = (found, table)
                    made["bits"] |= set(found)
        guarded, = yield [base & ~(15 << 12)]
        fixed = set(nb)
        for made in operands:
            if made["kind"].startswith("@#"):
                made["bits"] = set(range(34, 64 if self.name[0] == "BSSY" else 82))
                if self.target >= 90 and self.name[0] != "BSSY":
                    made["bits"] |= set(range(16, 24))
                made["when"] = None
            fixed |= made["bits"]
            if made.get("when"):
                fixed |= set(made["when"][0])
        ones, anys = [], []
        free = [b for b in range(16, 105) if b not in fixed] + [125]
        raw = self.words
        for b in free:
            seen = {w >> b & 1 for w in raw}
            if seen == {1}:
                ones.append(b)
            elif len(seen) == 2:
                anys.append(b)
        head = pieces[0]
        lines = []
        base_name = head[0] if not isinstance(head[0], list) else None
        if base_name is None:
            base_name = self.name[0]
            lead = pieces[0][1]
            first = {k: v[1:] if v[:1] == (base_name,) else v for k, v in lead.items()}
            pieces = [(pieces[0][0], first)] + list(pieces[1:])
        else:
            pieces = [head[1:]] + list(pieces[1:])
        for piece in pieces:
            if not piece:
                continue
            if isinstance(piece[0], list):
                lines.append("mod " + field_text(piece[0], piece[1]))
            else:
                lines.append("mod const: " + ".".join(piece))
        for made in operands:
            lines.append("op " + self.operand_text(made))
        if guarded and guarded.startswith("@UP"):
            lines.append("guard uniform")
        if ones:
            lines.append("one " + place(ones))
        if anys:
            lines.append("any " + place(anys))
        return base_name, lines

    def align(self, o0, o1):
        """The operands of o1 that stand for those of o0; None where one is missing."""
        if len(o0) == len(o1):
            return list(o1)
        if len(o1) > len(o0):
            return list(o0)
        # the longest common subsequence of the operands without marks
        a, b = [operand(o).core for o in o0], [operand(o).core for o in o1]
        best = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
        for i in range(len(a) - 1, -1, -1):
            for k in range(len(b) - 1, -1, -1):
                same = best[i + 1][k + 1] + 1 if a[i] == b[k] else 0
                best[i][k] = max(same, best[i + 1][k], best[i][k + 1])
        out, k, missing = [], 0, len(o0) - len(o1)
        for i, o in enumerate(a):
            if k < len(b) and o == b[k] and best[i][k] == best[i + 1][k + 1] + 1:
                out.append(o1[k])
                k += 1
            elif missing and (k >= len(b) or best[i + 1][k] == best[i][k]):
                out.append(None)
                missing -= 1
            else:
                out.append(o1[k] if k < len(b) else None)
                k += 1
        return out

    def same_shape(self, text, at, ops):
        if text is None:
            return None
        n, o = split(text)
        return o[at] if len(o) == len(ops) else None

    def learn_operand(self, at, text, ops, bits, dropping):
        made = {"text": text, "bits": set(), "kind": None, "flags": {}, "fields": [], "suffix": []}
        base = self.base
        if is_float(text) or ({b for b in bits if 32 <= b < 64} >= set(range(34, 62)) and not text.startswith(("@", "0x", "-0x", "desc")) and text[:1] not in "Rc[|-~"):
            self.float_operand(made, text, bits, ops, at)
            return made
        own = operand(text)
        own_numbers, skeleton = numbers(own.core, self.uniform_zero)
        made["kind"] = skeleton
        flips = sorted(bits)
        texts = yield [base ^ 1 << b for b in flips]
        weights = collections.defaultdict(dict)
        rest, signed, complemented = set(), set(), set()
        for b, t in zip(flips, texts):
            other = self.same_shape(t, at, ops)
            if other is None:
                continue
            o = operand(other)
            changed = [f for f in ("neg", "inv", "bang", "abs", "reuse") if getattr(o, f) != getattr(own, f)]
            found, sk = numbers(o.core, self.uniform_zero)
            moved = [k for k, (a, c) in enumerate(zip(own_numbers, found)) if a != c] if len(found) == len(own_numbers) else []
            if len(moved) == 1 and sk.replace("-", "") == skeleton.replace("-", "") and not changed and o.suffixes == own.suffixes:
                k = moved[0]
                delta = found[k][1] - own_numbers[k][1]
                if found[k][1] < 0 or own_numbers[k][1] < 0:
                    signed.add(k)
                if own_numbers[k][0] in ("P", "UP") and (delta < 0) == (base >> b & 1 == 0):
                    complemented.add(k)
                weights[k][b] = abs(delta)
            elif len(changed) == 1 and sk == skeleton and o.suffixes == own.suffixes:
                made["flags"].setdefault(changed[0], []).append(b)
                made["bits"].add(b)
            else:
                rest.add(b)
        address = skeleton.startswith(("[", "desc", "c["))
        for k, (kind, value) in enumerate(own_numbers):
            w = weights.get(k, {})
            if not w:
                made["fields"].append((kind, [], 1, ""))
                continue
            scale = min(w.values())
            by_weight = {v: b for b, v in sorted(w.items(), reverse=True)}
            if scale > 1 and scale < 64 and (kind == "#" and skeleton == "#" or kind in ("P", "UP")):
                by_weight_low = min(by_weight.values())
                spare = by_weight_low - 1
                low, at_bit = scale, spare
                while low > 1 and (at_bit in rest or at_bit in dropping):
                    low //= 2
                    by_weight[low] = at_bit
                    at_bit -= 1
                scale = low
            top, low, places = max(by_weight), scale, []
            while low <= top:
                if low not in by_weight:
                    guess = places[-1] + 1 if places else None
                    if guess is not None and (guess in rest or guess in dropping or guess in bits):
                        by_weight[low] = guess
                    else:
                        break
                places.append(by_weight[low])
                low *= 2
            top_guess = places[-1] + 1
            if kind in ("P", "UP") and len(places) == 2 and (top_guess in rest or top_guess in dropping):
                places.append(top_guess)
            if kind in ("P", "UP") and len(places) == 1 and {places[0] + 1, places[0] + 2} <= (rest | dropping | set(w)):
                places += [places[0] + 1, places[0] + 2]
            if kind == "#" and not skeleton.startswith("c[#][#]") and address and k == len(own_numbers) - 1:
                lowest = min(w)
                places = list(range(lowest, 54 if skeleton.startswith("c[") else 64))
                scale = 1
            is_signed = k in signed or address and kind == "#" and len(places) in (16, 17, 24)
            made["fields"].append((kind, places, scale, "c" if k in complemented else "s" if is_signed else ""))
            made["bits"] |= set(places)
            rest -= set(places)
        if self.forced is not None and "UR#" in skeleton and address and self.forced not in made["bits"]:
            rest.add(self.forced)
        if rest:
            rest = sorted(rest)[:8]
            asked = []
            for v in range(1 << len(rest)):
                word = base
                for k, b in enumerate(rest):
                    word = with_bits(word, b, 1, v >> k & 1)
                asked.append(word)
            texts = yield asked
            table = {}
            literal = not any(f[1] for f in made["fields"])
            known = collections.Counter(f[0] for f in made["fields"] if f[1])
            for v, t in enumerate(texts):
                other = self.same_shape(t, at, ops)
                if literal and t and len(split(t)[1]) == len(ops) - 1:
                    table[v] = ("-", ())
                    continue
                if other is None or not is_valid([other]):
                    continue
                o = operand(other)
                if literal:
                    if not re.match(r"^SR\d+$", other):
                        table[v] = (other, ())
                    continue
                found, sk = numbers(o.core, self.uniform_zero)
                kinds = collections.Counter(n[0] for n in found)
                if sk in ("P#", "UP#") and skeleton in ("P#", "UP#") or all(known[n] >= c for n, c in kinds.items()):
                    table[v] = (sk, o.suffixes)
            if literal:
                made["kind"], made["fields"] = "word", []
            made["rest"] = (rest, table)
            made["bits"] |= set(rest)
            # without a uniform register, the offset of some instructions also has the bits of that register's number
            used = {sum((w >> b & 1) << k for k, b in enumerate(rest)) for w in self.words}
            plain = next((v for v, (sk, _) in table.items()
                          if v in used and "UR#" in skeleton and sk.startswith("[") and "UR#" not in sk), None)
            if plain is not None:
                word = base & ~sum(1 << b for b in rest) | spread(plain, rest)
                word = with_bits(word, 32, 32, 1 << 31 - 1)
                pair = yield [word, word ^ 1 << 33]
                pair = [self.same_shape(t, at, ops) for t in pair]
                if None not in pair and pair[0] != pair[1]:
                    made["fields"].append(("#0", list(range(32, 64)), 1, "s"))
                    made["bits"] |= set(range(32, 64))
        return made

    def float_operand(self, made, text, bits, ops, at):
        half = {b for b in bits if 32 <= b < 64}
        if self.name[0] in ("HFMA2", "HADD2", "HMUL2", "HSETP2", "HSET2", "HMNMX2", "UHFMA2", "UHADD2") and ops[at : at + 2] and half:
            places, kind = (range(48, 64) if min(half) >= 48 else range(32, 48)), "f16"
        else:
            places, kind = range(32, 64), "f64" if self.name[0] in ("DADD", "DMUL", "DFMA", "DSETP") else "f32"
        made["kind"], made["bits"] = kind, set(places)
        made["fields"] = [("#", list(places), 1, "")]

    def learn_presence(self, at, ops, made, dropping, name_bits):
        base = self.base
        asked = sorted(dropping)
        fields = [f[1] for f in made["fields"] if f[1]] if len(made["fields"]) == 1 and made["kind"][:1] in "RUP#" else []
        low = bool(fields) and made["fields"][0][3] == "c"
        trial = [base & ~sum(1 << b for b in p) if low else base | sum(1 << b for b in p) for p in fields]
        texts = yield trial
        for p, t in zip(fields, texts):
            if t and len(split(t)[1]) < len(ops):
                made["zero" if low else "unless"] = p
            elif made["kind"] == "#":
                cleared, = yield [base & ~sum(1 << b for b in p)]
                if cleared and len(split(cleared)[1]) < len(ops):
                    made["zero"] = p
            if made.get("unless"):
                ones = sum(1 << b for b in p)
                shown = yield [(base | ones) ^ 1 << b for b in name_bits]
                for b, other in zip(name_bits, shown):
                    if other and len(split(other)[1]) >= len(ops) and base >> b & 1 == 0 and self.kept(at, ops, other):
                        made["show"] = b
        # a mark that is a complement with .X and a negation without
        if "inv" in made["flags"] and 74 in name_bits:
            plain = with_bits(base, 74, 1, 0) | sum(1 << b for b in made["flags"]["inv"])
            t, = yield [plain]
            if t and re.search(r" -(R|UR|c|cx)", t.replace(",", ", ").replace("  ", " ")):
                made["flags"]["xinv"] = made["flags"].pop("inv")
        own = [b for b in asked if b not in made["bits"]][:8]
        if own:
            questions = []
            for v in range(1 << len(own)):
                word = base
                for k, b in enumerate(own):
                    word = with_bits(word, b, 1, v >> k & 1)
                questions.append(word)
            texts = yield questions
            values = []
            for v, t in enumerate(texts):
                if t is None:
                    continue
                aligned = self.align(ops, split(t)[1])
                if aligned[at] is not None:
                    values.append(v)
            made["when"] = (own, values)

    def kept(self, at, ops, text):
        """Whether a text has an operand of the kind and place of `ops[at]`."""
        other = split(text)[1]
        kind = lambda o: numbers(operand(o).core, self.uniform_zero)[1]  # noqa: E731
        return len(other) > at and kind(other[at]) == kind(ops[at])

    def operand_text(self, made):
        if made["kind"].startswith("@#"):
            low = "" if self.target < 90 or self.name[0] in ("BSSY",) else "16-23,"
            if self.name[0] in ("BRX", "JMX", "BRXU"):
                return f"# #={low}34-81s*4"
            return f"target #={low}34-{'63' if self.name[0] == 'BSSY' else '81'}s*4"
        out = [made["kind"].replace(" ", "_")]
        for kind, places, scale, signed in made["fields"]:
            if places:
                out.append(f"{kind}={place(places)}" + signed + (f"*{scale}" if scale != 1 else ""))
        for flag, places in made["flags"].items():
            out.append(f"{flag}:{place(places)}")
        if made.get("rest"):
            rest, table = made["rest"]
            made["rest_text"] = " ".join(f"{v:x}={'.'.join((s,) + x).replace(' ', '_')}" for v, (s, x) in sorted(table.items()))
            out.append("by:" + place(rest))
        if made.get("unless"):
            out.append("unless:" + place(made["unless"]))
        if made.get("show"):
            out.append(f"show:{made['show']}")
        if made.get("zero"):
            out.append("zero:" + place(made["zero"]))
        if made.get("when"):
            out.append("when:" + place(made["when"][0]) + "=" + ",".join(f"{v:x}" for v in made["when"][1]))
        if made.get("rest"):
            out.append("{ " + made["rest_text"] + " }")
        return " ".join(out)


def learn(nvdisasm, target, words):
    """Rows of a target: {opcode: (name, lines)}."""
    by = collections.defaultdict(list)
    for w in words:
        by[w & 0xFFF].append(w)
    tool = Disassembler(nvdisasm, target)
    learners = {op: Learner(op, ws, target) for op, ws in by.items()}
    running = {op: l.run() for op, l in learners.items()}
    waiting, rows = {}, {}
    for op, g in list(running.items()):
        waiting[op] = next(g)
    while waiting:
        tool.texts([w for ws in waiting.values() for w in ws])
        step = {}
        for op, ws in waiting.items():
            try:
                step[op] = running[op].send([tool.known[w] for w in ws])
            except StopIteration as end:
                rows[op] = end.value
        waiting = step
    for op, l in sorted(learners.items()):
        for note in l.notes:
            print(f"sm_{target} {op:03x}: {note}", file=sys.stderr)
    print(f"sm_{target}: {len(rows)} opcodes, {tool.asked} words disassembled", file=sys.stderr)
    return rows


def read_rows(path):
    """Rows of a file in the form of the table: {(opcode, name, lines): targets}."""
    rows, current = {}, None
    for line in open(path):
        if line.startswith("  "):
            current[1].append(line)
        elif line.strip() and not line.startswith("#"):
            targets, opcode, name = line.split()
            current = ((opcode, name), [], targets.split(","))
            rows.setdefault(path, []).append(current)
    return [(key, tuple(lines), targets) for key, lines, targets in rows.get(path, [])]


HEADER = """# Encodings of SASS by opcode and target. Derived by tools/derive.py from nvdisasm's text on words of programs compiled
# from source; src/table.rs describes the form. Rows are the same for all targets that they list.
"""


# What flips of single bits do not show: (opcodes, pattern of a line, replacement; None to leave the line out). Each is
# checked against nvdisasm like everything else.
CORRECTIONS = [
    # the second predicate of a packed minimum is only printed beside the first
    (None, r"^  op word by:84-86 \{ 0=P0 .* 6=P6 \}$", "  op P# P=84-86 unless:84-86"),
    (None, r"^  op word by:84-86 \{ 0=UP0 .* 6=UP6 \}$", "  op UP# UP=84-86 unless:84-86"),
    # MERGE_C, whose third register is not printed right, is left unknown
    ({"83e"}, r" by:78 \{ 0=R# 1=-.* \}$", ""),
    # two offsets side by side, of which the first takes the sign of the second; the predicate is left out if true
    ({"fae"}, r"^(  op \[R#.64.*) #=32-63s #0=32-63s ", r"\1 #=32-43s #0=32-43s "),
    ({"fae"}, r"^(  op desc.*) #=32-63s (.*)$", r"\1 #=32-43s \2"),
    ({"fae"}, r"^  op P# P=87-89 bang:90$", "  op P# P=87-89 bang:90 unless:87-89"),
    # registers whose sign is a predicate
    ({"21f", "a1f", "c1f"}, r"^  op R# R=", "  op R#.SIGN R="),
    ({"29f"}, r"^  op UR# UR=", "  op UR#.SIGN UR="),
    # the upper half of a literal in double precision
    ({"911"}, r"^  op f32 #=", "  op f64 #="),
    # constants at small places leave open what their place is counted in
    (None, r" c\[#\]_\[#\] #=54-58 #=40-53s ", " c[#]_[#] #=54-58 #=40-53s*4 "),
    # the only target that is counted in bytes
    ({"94e"}, r"^  op target .*$", "  op target #=24-81s"),
    ({"94e"}, r"^  one 28$", None),
    # only .COLLECTIVE has a target
    ({"348", "948"}, r"^  op target (.*)$", r"  op target \1 when:86=1"),
    # .IVALL has no address
    ({"98f"}, r"^  op \[R#\+#\] R=24-31 #=32-63s$", "  op [R#+#] R=24-31 #=32-63s when:87-89=0,1,2,3,5"),
    # bits 70 and 71 are a field: the last value has the descriptor's register, which is not printed
    ({"9a8", "98a"}, r" by:70 \{ 0=\[R#.U32\+UR#\+#\] 1=\[R#.64\+UR#\+#\] \}$",
     " by:70-71 { 0=[R#.U32+UR#+#] 1=[R#.64+UR#+#] 3=[R#.64+#] }"),
    ({"9a8", "98a"}, r"^  one 71,91$", "  one 91"),
    # from sm_100 on, bit 63 belongs to no number here and is always set
    ({"9a8", "98a"}, r"^(  op desc.* UR=64-71 R=24-31 #=40-)63s(.*)$", r"\g<1>62s\2\n  one 63"),
    # an absolute address has no sign; beside a uniform register it is an offset
    ({"943"}, r"^  op # #=(.*)81s\*4 zero:(.*)$",
     r"  op # #=\g<1>81s*4 zero:\2 when:91=1\n  op # #=\g<1>80*4 when:91=0\n  any 81"),
    # relative to the next instruction, or absolute
    ({"950"}, r"^  mod const: (REL|ABS)$", "  mod 85: 0=REL 1=ABS"),
    ({"950"}, r"^  op (target|#) #=(\S+)( by:85 .*)?$", r"  op target #=\2 when:85=0\n  op # #=\2 when:85=1"),
    # the part of a register depends on the bytes of its type
    ({"306"}, r"^  op R# R=32-39 by:60-61 .*$",
     "  op R# R=32-39 by:60-61,84-85 { 0=R# 1=R#.B1 2=R#.B2 3=R#.B3 4=R# 5=R#.H1 8=R# }"),
    ({"312"}, r"^  op R# R=32-39 by:60-61 .*$",
     "  op R# R=32-39 by:60-61,84-85 { 0=R# 1=R#.B1 2=R#.B2 3=R#.B3 4=R# 5=R#.H1 8=R# c=R# }"),
    # a bulk copy's cache policy is left unknown
    ({"3ba"}, r"^  op desc\[UR#\] .*$", None),
    # literals have the type of the operation, where it has one
    ({"431", "435", "831", "835", "840"}, r"^  op f16 (#=\S+)( when:.*)?$", r"  op f16 \1 when:85=0\n  op bf16 \1 when:85=1", "BF16_V2"),
]


def corrected(opcode, line, row):
    for opcodes, pattern, replacement, *needs in CORRECTIONS:
        applies = (opcodes is None or opcode in opcodes) and all(any(n in other for other in row) for n in needs)
        if applies and re.search(pattern, line.rstrip("\n")):
            return None if replacement is None else re.sub(pattern, replacement, line.rstrip("\n")) + "\n"
    return line


def merge(output, paths):
    """Joins rows that are the same for several targets."""
    joined = collections.defaultdict(list)
    for path in paths:
        for key, lines, targets in read_rows(path):
            lines = [line for line in (corrected(key[0], line, lines) for line in lines) if line is not None]
            lines = tuple("".join(lines).splitlines(keepends=True))
            joined[(key, lines)] += targets
    write(output, joined)


def write(output, joined):
    """Writes rows, each with its targets, in the order of opcodes."""
    with open(output, "w") as out:
        out.write(HEADER)
        for (key, lines), targets in sorted(joined.items(), key=lambda r: (r[0][0][0], min(map(int, r[1])))):
            out.write(f"{','.join(sorted(targets, key=int))} {' '.join(key)}\n" + "".join(lines))


def add(output, paths):
    """Adds rows of opcodes that a table lacks for a target; opcodes after `--` are replaced."""
    replaced = set(paths[paths.index("--") + 1 :]) if "--" in paths else set()
    paths = paths[: paths.index("--")] if "--" in paths else paths
    by_target = {}
    for path in paths:
        for key, lines, targets in read_rows(path):
            lines = [line for line in (corrected(key[0], line, lines) for line in lines) if line is not None]
            for target in targets:
                by_target[key[0], target] = (key, tuple("".join(lines).splitlines(keepends=True)))
    for key, lines, targets in read_rows(output):
        for target in targets:
            if key[0] not in replaced or (key[0], target) not in by_target:
                by_target[key[0], target] = (key, lines)
    joined = collections.defaultdict(list)
    for (_, target), row in by_target.items():
        joined[row].append(target)
    write(output, joined)


def main():
    if sys.argv[1] == "add":
        add(sys.argv[2], sys.argv[3:])
        return
    if sys.argv[1] == "merge":
        merge(sys.argv[2], sys.argv[3:])
        return
    nvdisasm, output, item = sys.argv[1:]
    target, _, path = item.partition("=")
    words = [int(line, 16) for line in open(path) if line.strip()]
    rows = learn(nvdisasm, int(target), words)
    with open(output, "w") as out:
        for op, row in sorted(rows.items()):
            if row:
                out.write(f"{target} {op:03x} {row[0]}\n" + "".join(f"  {line}\n" for line in row[1]))


if __name__ == "__main__":
    main()
