"""The commands `emu`, `timing` and `trace`, which lie in the package with Warplab's CUDA libraries.

A command replaces this process, so that exit code, signals and terminal are its own.
"""

import os
import sys
from pathlib import Path

#: The folder of the programs; `emu` finds the CUDA libraries in its folder `cuda`.
FOLDER = Path(__file__).resolve().parent / "bin"


def program(name: str) -> str:
    """The path of a command."""
    return str(FOLDER / name)


def _become(name: str) -> None:
    path = program(name)
    try:
        os.execv(path, [name, *sys.argv[1:]])
    except OSError as why:
        sys.exit(f"error: {path} cannot be started: {why.strerror}; install the wheel of this kind of computer again")


def emu() -> None:
    """`emu`"""
    _become("emu")


def timing() -> None:
    """`timing`"""
    _become("timing")


def trace() -> None:
    """`trace`"""
    _become("trace")
