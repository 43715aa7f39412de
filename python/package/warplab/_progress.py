"""Progress bars: a line on terminals, a bar in notebooks, after two seconds of work; nothing elsewhere.

`start` is called by the compiled half before long work, `update` about ten times a second, `close` at the end.
"""

import html
import sys
import time

#: Seconds of work that show no bar.
PATIENCE = 2.0
#: Characters of a bar on a terminal.
WIDTH = 30


class Silent:
    """Shows nothing."""

    def update(self, done, of, detail):
        """Progress of the work."""

    def close(self):
        """The end of the work."""


class Called(Silent):
    """Calls a function of work done, all work, and a text."""

    def __init__(self, function):
        self.function = function

    def update(self, done, of, detail):
        self.function(done, of, detail)


class Late(Silent):
    """A bar that appears after a while."""

    def __init__(self, label, patience):
        self.label, self.patience = label, patience
        self.started, self.shown = time.monotonic(), False

    def update(self, done, of, detail):
        if time.monotonic() - self.started >= self.patience and of:
            self.draw(min(done / of, 1.0), detail)
            self.shown = True

    def close(self):
        if self.shown:
            self.clear()


class Terminal(Late):
    """A line on standard error."""

    def draw(self, share, detail):
        filled = int(share * WIDTH)
        bar = "#" * filled + "-" * (WIDTH - filled)
        sys.stderr.write(f"\r{self.label} [{bar}] {share:4.0%} {detail}\033[K")
        sys.stderr.flush()

    def clear(self):
        sys.stderr.write("\r\033[K")
        sys.stderr.flush()


class Notebook(Late):
    """A bar under a cell."""

    handle = None

    def draw(self, share, detail):
        from IPython.display import HTML, display

        text = f"<progress value={share:.4f} max=1></progress> {html.escape(self.label)} {html.escape(detail)}"
        if self.handle is None:
            self.handle = display(HTML(text), display_id=True)
        else:
            self.handle.update(HTML(text))

    def clear(self):
        from IPython.display import HTML

        self.handle.update(HTML(""))


def _in_notebook():
    shell = sys.modules.get("IPython")
    shell = shell and shell.get_ipython()
    return type(shell).__name__ == "ZMQInteractiveShell"


def start(progress, label):
    """The bar of some work: `None` shows one where that makes sense, a switch forces or forbids it, a function is called."""
    if callable(progress):
        return Called(progress)
    if progress is False:
        return Silent()
    patience = 0.0 if progress is True else PATIENCE
    if _in_notebook():
        return Notebook(label, patience)
    if progress is True or (sys.stderr is not None and sys.stderr.isatty()):
        return Terminal(label, patience)
    return Silent()
