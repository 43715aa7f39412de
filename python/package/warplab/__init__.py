"""Warplab: what register-file, redundancy and scheduling ideas do to real CUDA code, from Python.

    import warplab
    trace = warplab.record_ptx("saxpy.ptx")                 # or warplab.record(["./app"]), warplab.record(function)
    plain = trace.replay(config="titanx-pascal")
    bow = trace.replay(tech=["bow", "corf"], set={"technique.bow.window": 4})
    bow.against(plain)                                      # an Arrow table: pandas and polars read it in place
    trace.study("redundancy")
    warplab.sweep([trace], vary={"sm.max_warps": [32, 48, 64]}, tech=["", "bow"], machines=["titanx-pascal"])

What Warplab refuses raises `warplab.Error`, in the words of the command line. No GPU and no driver are needed.
"""

from ._core import (
    Context,
    Error,
    Instruction,
    Kernel,
    Launch,
    Operand,
    Replay,
    Result,
    Study,
    Table,
    Trace,
    Warp,
    WarpAddresses,
    WarpValues,
    __version__,
    machines,
    studies,
    study,
    sweep,
    techniques,
)
from ._record import Recording, record, record_ptx
from ._workloads import workloads
from .technique import Storage, Technique

__all__ = [
    "Context",
    "Error",
    "Instruction",
    "Kernel",
    "Launch",
    "Operand",
    "Recording",
    "Replay",
    "Result",
    "Storage",
    "Study",
    "Table",
    "Technique",
    "Trace",
    "Warp",
    "WarpAddresses",
    "WarpValues",
    "__version__",
    "machines",
    "record",
    "record_ptx",
    "studies",
    "study",
    "sweep",
    "techniques",
    "workloads",
]
