"""Launch manifests from dicts, and the contents of buffers as NumPy arrays."""

import json
from pathlib import Path

import numpy

from ._core import Error

#: Element types of manifests, by those of NumPy.
TYPES = {
    "uint8": "u8",
    "int8": "s8",
    "uint16": "u16",
    "int16": "s16",
    "uint32": "u32",
    "int32": "s32",
    "uint64": "u64",
    "int64": "s64",
    "float16": "f16",
    "float32": "f32",
    "float64": "f64",
}
DTYPES = {name: dtype for dtype, name in TYPES.items()}


def toml(value) -> str:
    """A value as TOML, tables inline."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, numpy.integer)):
        return str(int(value))
    if isinstance(value, (float, numpy.floating)):
        return repr(float(value))
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(str(key))} = {toml(item)}" for key, item in value.items()) + " }"
    raise TypeError(f"a launch manifest has numbers, texts, switches, lists and dicts, not {value!r}")


def write(manifest: dict, folder: Path) -> Path:
    """Writes a manifest, and the arrays in its `buffers` as files beside it."""
    manifest = dict(manifest)
    if "buffers" in manifest:
        manifest["buffers"] = {name: _buffer(name, buffer, folder) for name, buffer in manifest["buffers"].items()}
    path = folder / "launch.toml"
    path.write_text("".join(f"{json.dumps(key)} = {toml(value)}\n" for key, value in manifest.items()))
    return path


def _buffer(name, buffer, folder):
    if isinstance(buffer, dict):
        return buffer
    contents = numpy.ascontiguousarray(buffer)
    if contents.dtype.name not in TYPES:
        raise Error(f"buffers.{name}: an array of {contents.dtype} is refused: it must be of {', '.join(TYPES)}")
    if contents.size == 0:
        raise Error(f"buffers.{name}: the array is empty")
    path = folder / f"buffer-{len(list(folder.glob('buffer-*')))}.bin"
    contents.tofile(path)
    return {"type": TYPES[contents.dtype.name], "len": contents.size, "init": {"file": str(path)}}


def array(kind: str, values) -> numpy.ndarray:
    """The contents of a buffer."""
    parse = float if kind.startswith("f") else int
    return numpy.array([parse(value) for value in values], dtype=DTYPES[kind])
