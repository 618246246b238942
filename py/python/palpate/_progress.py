"""How far long work is: a line on a terminal, or whatever is called."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import contextmanager

from ._errors import InputError

Told = Callable[[str, int, int], None]

#: Columns of a bar.
WIDTH = 28


class Bar:
    """A line that is written again and again: the stage, how much of it is done, and how long the rest may take."""

    def __init__(self, out):
        self.out = out
        self.stage = ""
        self.since = 0.0
        self.length = 0

    def __call__(self, stage: str, done: int, steps: int) -> None:
        now = time.monotonic()
        if stage != self.stage:
            self.stage, self.since = stage, now
        text = f"  {stage:<24}"
        if steps > 0:
            share = min(done / steps, 1.0)
            full = round(share * WIDTH)
            text += f" {'━' * full}{'─' * (WIDTH - full)} {100 * share:3.0f} %"
            if 0 < share < 1:
                text += f"  {(now - self.since) * (1 - share) / share:.0f} s left"
        self._write(text)

    def _write(self, text: str) -> None:
        try:
            self.out.write("\r" + text.ljust(self.length))
            self.out.flush()
        except (OSError, ValueError):
            pass
        self.length = len(text)

    def clear(self) -> None:
        if self.length:
            self._write("")
            self._write("")
            self.length = 0


@contextmanager
def shown(progress: bool | Told | None):
    """What is to be called with ``(stage, done, steps)``; None: nothing. ``None`` shows a bar where standard error is a terminal."""
    if not (progress is None or isinstance(progress, bool) or callable(progress)):
        raise InputError(f"progress is a {type(progress).__name__}; give True, or a function of (stage, done, steps)")
    if progress is None:
        progress = bool(getattr(sys.stderr, "isatty", lambda: False)())
    if progress is False:
        yield None
    elif progress is True:
        bar = Bar(sys.stderr)
        try:
            yield bar
        finally:
            bar.clear()
    else:
        yield progress
