"""Where the bundled programs are: those of the installed package, or of a checkout."""

import os
from pathlib import Path

from ._core import Error

_HERE = Path(__file__).resolve().parent


def workloads():
    """The folder of the bundled programs, each with its CUDA source, PTX and launch manifest.

        trace = warplab.record_ptx(warplab.workloads() / "textbook" / "vectoradd" / "vectoradd.ptx")

    It is part of the installed package; in a checkout it is `tests/workloads`, also by way of the variable `WARPLAB_ROOT`.
    """
    root = os.environ.get("WARPLAB_ROOT")
    roots = [Path(root)] if root else []
    roots += [Path.cwd(), *Path.cwd().parents, *_HERE.parents]
    places = [_HERE / "workloads"] if not root else []
    places += [folder / "tests" / "workloads" for folder in roots]
    places.append(_HERE / "workloads")
    for place in places:
        if place.is_dir():
            return place
    raise Error(
        "the bundled programs are neither in the installed package nor in a checkout above this folder; "
        "name the checkout with the variable WARPLAB_ROOT"
    )
