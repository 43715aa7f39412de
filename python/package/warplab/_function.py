"""Sends a Python function to a new interpreter, which `emu` starts with Warplab's CUDA libraries.

A new interpreter is needed because the CUDA libraries of a process are chosen when it starts. What can be sent:

- a function of a module that can be imported: by its name, as `multiprocessing` does;
- a function of the script that runs: likewise; the script is imported there, so its own work belongs under
  `if __name__ == "__main__":`;
- a function of a notebook or of an interactive session: its source, with that of the functions, kernels (Triton's, Numba's)
  and classes of the session that it names, the modules that it names, and the values, which are pickled.

Arguments and the returned value are pickled. Closures and lambdas are refused.
"""

import ast
import importlib.util
import inspect
import linecache
import pickle
import sys
import textwrap
import types
from multiprocessing import spawn
from pathlib import Path

from ._core import Error

#: Attributes under which decorators keep the function that they wrap: Triton, Numba, functools.
WRAPPED = ("fn", "py_func", "__wrapped__")
MODULE = "warplab_function"


def pack(function, args, kwargs, folder: Path) -> list:
    """Writes what the new interpreter needs into a folder; returns the words of the command that calls the function."""
    name = getattr(function, "__name__", None)
    if name is None:
        raise Error(f"record({function!r}): it is not a function with a name; pass the function, and its arguments as args")
    inner = _source_object(function) or function
    if getattr(inner, "__closure__", None):
        raise Error(f"record({name}): it is a closure, which cannot be sent to a new interpreter; pass the values as args")
    if name == "<lambda>":
        raise Error("record(lambda): a lambda cannot be sent to a new interpreter; define a function with `def`")
    main = sys.modules["__main__"]
    interactive = function.__module__ == "__main__" and not getattr(main, "__file__", None)
    preparation = spawn.get_preparation_data("warplab")
    # The key is of a type that only multiprocessing itself may pickle.
    preparation["authkey"] = bytes(preparation["authkey"])
    packed = {"name": name, "source": interactive, "preparation": preparation}
    try:
        if interactive:
            (folder / f"{MODULE}.py").write_text(_Sources(folder).of(function, name))
            packed["called"] = pickle.dumps((args, kwargs))
        else:
            packed["called"] = pickle.dumps((function, args, kwargs))
    except (pickle.PicklingError, TypeError, AttributeError) as why:
        raise Error(f"record({name}): it cannot be sent to a new interpreter: {why}") from why
    (folder / "call.pickle").write_bytes(pickle.dumps(packed))
    return [sys.executable, "-c", "import sys; from warplab._function import call; call(sys.argv[1])", str(folder)]


def returned(folder: Path):
    """What the function returned; None if it could not be pickled."""
    try:
        return pickle.loads((folder / "returned.pickle").read_bytes())
    except OSError:
        return None


def _source_object(value):
    """The function or class whose source defines a value; none for other values."""
    for _ in range(8):
        if isinstance(value, (types.FunctionType, type)):
            return value
        wrapped = (getattr(value, name, None) for name in WRAPPED)
        value = next((one for one in wrapped if callable(one)), None)
    return None


def _source(defined) -> str:
    """The source of a function or class. A class of a notebook has no file, but its methods know their cell."""
    if isinstance(defined, types.FunctionType):
        return textwrap.dedent(inspect.getsource(defined))
    methods = [value for value in vars(defined).values() if isinstance(value, types.FunctionType)]
    for method in methods:
        text = "".join(linecache.getlines(method.__code__.co_filename))
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef) and node.name == defined.__name__:
                first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                lines = text.splitlines(keepends=True)[first - 1 : node.end_lineno]
                return textwrap.dedent("".join(lines))
    raise OSError("it has no method whose source is known")


class _Sources:
    """Collects the sources and values that a function of an interactive session needs."""

    def __init__(self, folder):
        self.folder, self.imports, self.values, self.parts, self.seen = folder, [], {}, [], set()

    def of(self, function, name):
        """The text of a module that defines the function."""
        self.add(name, function, _source_object(function).__globals__)
        head = [*self.imports]
        if self.values:
            path = self.folder / "values.pickle"
            path.write_bytes(pickle.dumps(self.values))
            head.append(f"import pickle as _pickle\nglobals().update(_pickle.load(open({str(path)!r}, 'rb')))")
        return "\n".join(head) + "\n\n\n" + "\n\n".join(self.parts)

    def add(self, name, value, names):
        if name in self.seen:
            return
        self.seen.add(name)
        if isinstance(value, types.ModuleType):
            self.imports.append(f"import {value.__name__} as {name}")
            return
        origin = getattr(value, "__module__", None)
        qualified = getattr(value, "__qualname__", getattr(value, "__name__", None))
        defined = _source_object(value)
        if origin not in (None, "__main__", "builtins") and isinstance(qualified, str) and "." not in qualified:
            self.imports.append(f"from {origin} import {qualified} as {name}")
            return
        if defined is not None and defined.__module__ == "__main__":
            try:
                source = _source(defined)
            except (OSError, TypeError, SyntaxError) as why:
                raise Error(f"record: the source of {name} is not known: {why}") from why
            for used in sorted({node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}):
                if used != name and used in names:
                    self.add(used, names[used], names)
            self.parts.append(source)
            return
        pickled = pickle.dumps(value)
        if b"__main__" in pickled:
            raise Error(f"record: the value of {name} is of a class of this session; make it inside the function")
        self.values[name] = value


def call(folder: str) -> None:
    """Calls the function, in the new interpreter."""
    folder = Path(folder)
    packed = pickle.loads((folder / "call.pickle").read_bytes())
    spawn.prepare(packed["preparation"])
    if packed["source"]:
        specification = importlib.util.spec_from_file_location(MODULE, folder / f"{MODULE}.py")
        module = importlib.util.module_from_spec(specification)
        sys.modules[MODULE] = module
        specification.loader.exec_module(module)
        function = getattr(module, packed["name"])
        args, kwargs = pickle.loads(packed["called"])
    else:
        function, args, kwargs = pickle.loads(packed["called"])
    result = function(*args, **kwargs)
    try:
        text = pickle.dumps(result)
    except (pickle.PicklingError, TypeError, AttributeError):
        return
    (folder / "returned.pickle").write_bytes(text)
