"""`record` and `record_ptx`: start `emu record` of this package, and open the trace.

Programs run in a process of their own, whose CUDA libraries are Warplab's. A Python function runs in a new interpreter
(`_function.py` says which functions can).
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from . import _function, _manifest
from ._commands import program as command
from ._core import Error, Trace

Path_ = str | os.PathLike

#: Lines of standard error that an exception repeats.
TOLD_LINES = 40


@dataclass
class Recording:
    """What a recording left besides the trace: `trace.recording`."""

    #: What ran, as `emu --summary` and `emu --json` write it.
    summary: dict = field(default_factory=dict)
    #: Contents of the buffers that were asked for, as NumPy arrays.
    buffers: dict = field(default_factory=dict)
    #: What the function returned, if it can be pickled.
    returned: object = None


def record(
    program: Path_ | Sequence[Path_] | Callable[..., object],
    output: Path_ | None = None,
    *,
    args: Sequence[object] = (),
    kwargs: Mapping[str, object] | None = None,
    kernels: str | None = None,
    launches: str | None = None,
    every: int | None = None,
    blocks: int | str | None = None,
    addresses_only: bool = False,
    device: str | None = None,
    threads: int | None = None,
    maxregs: int | None = None,
    schedule: str | None = None,
    fmad: bool = True,
    lenient: bool = False,
    interleave: int | None = None,
    max_instructions: int | None = None,
    env: Mapping[str, str] | None = None,
) -> Trace:
    """Runs a CUDA program, or a Python function that uses CUDA, without a GPU, and records what its kernels did.

    `program` is a list of words (`["./app", "1000"]`), or a function, called with `args` and `kwargs` in a new interpreter.
    The other arguments are the flags of `emu record`; `env` adds environment variables. The trace is written to `output`,
    by default the program's or function's name with `.wtrace` in this folder.
    """
    flags = [
        *_flag("--kernels", kernels),
        *_flag("--launches", launches),
        *_flag("--every", every),
        *_flag("--blocks", blocks),
        *_flag("--device", device),
        *_code_flags(threads, maxregs, schedule, fmad, lenient, interleave, max_instructions, addresses_only),
    ]
    with tempfile.TemporaryDirectory(prefix="warplab-") as folder:
        folder = Path(folder)
        if callable(program):
            words = _function.pack(program, tuple(args), dict(kwargs or {}), folder)
            output = Path(output or f"{program.__name__}.wtrace")
        else:
            if isinstance(program, (str, os.PathLike)):
                program = [program]
            words = [os.fspath(word) for word in program]
            if not words:
                raise Error("no program is named")
            if args or kwargs:
                raise TypeError("args and kwargs are for functions; the words of a program are in its list")
            output = Path(output or Path(words[0]).with_suffix(".wtrace").name)
        summary = folder / "summary.json"
        called = [command("emu"), "record", "--summary", str(summary), "-o", str(output), *flags, "--", *words]
        status, told = _run(called, env, sys.stdout)
        if status != 0:
            raise Error(_why(words[0] if not callable(program) else program.__name__, status, told))
        trace = Trace(output)
        trace._set_recording(Recording(_read(summary), {}, _function.returned(folder)))
    return trace


def record_ptx(
    ptx: Path_,
    output: Path_ | None = None,
    *,
    launch: Path_ | Mapping[str, object] | None = None,
    size: str | None = None,
    set: Mapping[str, object] | None = None,
    buffers: str | Sequence[str] = (),
    addresses_only: bool = False,
    threads: int | None = None,
    maxregs: int | None = None,
    schedule: str | None = None,
    fmad: bool = True,
    lenient: bool = False,
    interleave: int | None = None,
    max_instructions: int | None = None,
) -> Trace:
    """Runs the launches of a PTX file without a GPU and records them.

    `ptx` is the path of a PTX file or of a manifest, or PTX itself. `launch` is the launch manifest: a path, by default the
    file beside the PTX, or a dict with the same keys, in which a buffer may be a NumPy array. `set` overrides values of the
    manifest (`{"n": 4096}`). The contents of `buffers` after the last launch are in `trace.recording.buffers`.
    """
    buffers = [buffers] if isinstance(buffers, str) else list(buffers)
    with tempfile.TemporaryDirectory(prefix="warplab-") as folder:
        folder = Path(folder)
        if isinstance(ptx, str) and ".version" in ptx and "\n" in ptx:
            if launch is None or output is None:
                raise Error("PTX as a text needs `launch`, which says what is launched, and `output`, the trace's file")
            path = folder / "kernel.ptx"
            path.write_text(ptx)
        else:
            path = Path(ptx)
        output = Path(output or path.with_suffix(".wtrace"))
        flags = [*_flag("--size", size)]
        if isinstance(launch, Mapping):
            flags += ["--launch", str(_manifest.write(dict(launch), folder))]
        else:
            flags += _flag("--launch", launch)
        for key, value in (set or {}).items():
            flags += ["--set", f"{key}={_manifest.toml(value) if not isinstance(value, str) else value}"]
        for name in buffers:
            flags += ["--dump", f"{name}:{2**63}"]
        flags += _code_flags(threads, maxregs, schedule, fmad, lenient, interleave, max_instructions, addresses_only)
        status, told = _run([command("emu"), "record", str(path), "-o", str(output), "--json", *flags], None, None)
        summary = json.loads(told.stdout) if told.stdout.lstrip().startswith("{") else {}
        if status != 0:
            failed = [check for check in summary.get("checks", []) if check["verdict"] == "failed"]
            if failed:
                raise Error("\n".join(f"check {check['buffer']}: failed: {check.get('detail', '')}" for check in failed))
            raise Error(told.stderr.strip().removeprefix("error: "))
        for line in told.stderr.splitlines():
            print(line, file=sys.stderr)
        contents = {dump["buffer"]: _manifest.array(dump["type"], dump["values"]) for dump in summary.pop("dumps", [])}
        trace = Trace(output)
        trace._set_recording(Recording(summary, contents))
    return trace


def _flag(name, value):
    return [] if value is None else [name, str(value)]


def _code_flags(threads, maxregs, schedule, fmad, lenient, interleave, max_instructions, addresses_only):
    return [
        *_flag("--threads", threads),
        *_flag("--maxregs", maxregs),
        *_flag("--schedule", schedule),
        *_flag("--interleave", interleave),
        *_flag("--max-instructions", max_instructions),
        *([] if fmad else ["--fmad", "false"]),
        *(["--lenient"] if lenient else []),
        *(["--addresses-only"] if addresses_only else []),
    ]


@dataclass
class _Told:
    """What a process printed, as far as it was kept."""

    stdout: str = ""
    stderr: str = ""


def _run(words, env, stdout):
    """Runs a process. Its output goes to `stdout` and to standard error as it comes; without `stdout` both are kept."""
    # The terminal's own stream is handed on; a notebook's is written to.
    inherited = stdout is not None and stdout is sys.__stdout__
    process = subprocess.Popen(
        words,
        env={**os.environ, **(env or {})},
        stdout=None if inherited else subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    told = _Told()

    def pump(stream, name, to):
        for line in stream:
            text = line.decode(errors="replace")
            setattr(told, name, getattr(told, name) + text)
            if to is not None:
                to.write(text)
                to.flush()

    pumps = [threading.Thread(target=pump, args=(process.stderr, "stderr", stdout and sys.stderr))]
    if not inherited:
        pumps.append(threading.Thread(target=pump, args=(process.stdout, "stdout", stdout)))
    for one in pumps:
        one.start()
    try:
        status = process.wait()
    except BaseException:
        # An interrupt ends the program too; what it launched until then stays in the trace.
        process.terminate()
        process.wait()
        raise
    finally:
        for one in pumps:
            one.join()
        for stream in filter(None, (process.stdout, process.stderr)):
            stream.close()
    return status, told


def _why(name, status, told):
    """The text of an exception: emu's own words, or how the program ended and what it said last."""
    said = told.stderr.strip()
    if status == 1 and said.startswith("error: "):
        return said.removeprefix("error: ")
    last = "\n".join(said.splitlines()[-TOLD_LINES:])
    if status < 0:
        ended = f"{name} was ended by signal {signal.Signals(-status).name}"
    else:
        ended = f"{name} ended with exit code {status}"
    return f"{ended}\n{last}" if last else ended


def _read(path):
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
