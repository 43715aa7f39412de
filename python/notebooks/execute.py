"""Executes the notebooks in a folder of its own and fails when a cell does: `execute.py [NAME...]`.

`--html FOLDER` also writes them there as pages with their results, to look at. Needs nbclient and ipykernel, and nbconvert for
pages. A notebook whose package is missing is left out, and this says so.
"""

import argparse
import importlib.util
import os
import sys
import tempfile
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

HERE = Path(__file__).resolve().parent
#: Packages that notebooks need besides those of every notebook.
NEEDS = {"2-triton-kernel": ["triton"], "3-sweep": ["polars", "pandas", "pyarrow"]}
#: Seconds after which a cell counts as hanging.
PATIENCE = 600


def main():
    """Executes the notebooks that the arguments name, by default all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--html", type=Path)
    arguments = parser.parse_args()
    os.environ.setdefault("WARPLAB_ROOT", str(HERE.parents[1]))
    failed = []
    for path in sorted(HERE.glob("*.ipynb")):
        if arguments.names and not any(name in path.stem for name in arguments.names):
            continue
        missing = [name for name in NEEDS.get(path.stem, []) if importlib.util.find_spec(name) is None]
        if missing:
            print(f"{path.stem}: left out, because {', '.join(missing)} is not installed")
            continue
        started = time.monotonic()
        notebook = nbformat.read(path, as_version=4)
        with tempfile.TemporaryDirectory() as folder:
            client = NotebookClient(notebook, timeout=PATIENCE, kernel_name="python3", resources={"metadata": {"path": folder}})
            try:
                client.execute()
                print(f"{path.stem}: executed in {time.monotonic() - started:.1f} s")
            except CellExecutionError as why:
                failed.append(path.stem)
                print(f"{path.stem}: {why}", file=sys.stderr)
        if arguments.html:
            page(notebook, arguments.html, path.stem)
    sys.exit(f"failed: {', '.join(failed)}" if failed else None)


def page(notebook, folder, name):
    """Writes a notebook as a page."""
    from nbconvert import HTMLExporter

    folder.mkdir(parents=True, exist_ok=True)
    text, _ = HTMLExporter().from_notebook_node(notebook)
    (folder / f"{name}.html").write_text(text)


if __name__ == "__main__":
    main()
