"""Pages: in a notebook, as a file, in a browser."""

from __future__ import annotations

import html
import os
import pathlib
import tempfile
import webbrowser
from collections.abc import Sequence
from typing import Any

from ._errors import FileError, InputError
from ._palpate import Recording, Shape, record


def write(path: str | os.PathLike[str], text: str) -> pathlib.Path:
    """Writes a file: whole, or not at all."""
    place = pathlib.Path(path)
    try:
        handle, name = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}.")
    except OSError as error:
        raise FileError(f"cannot write {path}: {error}") from error
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, place)
    except BaseException as error:
        pathlib.Path(name).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise FileError(f"cannot write {path}: {error}") from error
        raise
    return place


class Page:
    """A page that shows shapes or plays a motion: one HTML document that asks for nothing from a network."""

    def __init__(self, text: str, height: int = 640):
        self.html = text
        self.height = height

    def save(self, path: str | os.PathLike[str]) -> pathlib.Path:
        """Writes it to a file: whole, or not at all."""
        return write(path, self.html)

    def open(self) -> pathlib.Path:
        """Shows it in the browser of this machine; where the file is."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="palpate-"))
        try:
            path = self.save(folder / "page.html")
        except FileError:
            folder.rmdir()
            raise
        webbrowser.open(path.as_uri())
        return path

    def _repr_html_(self) -> str:
        """How notebooks show it: in a frame of its own, so that its style and the notebook's do not meet."""
        page = html.escape(self.html, quote=True)
        return f'<iframe srcdoc="{page}" width="100%" height="{self.height}" style="border:0" sandbox="allow-scripts"></iframe>'

    def __repr__(self) -> str:
        return f"<palpate.Page: {len(self.html)} characters>"


def show(
    *what: Shape | Recording,
    poses: Sequence[Any] | None = None,
    contacts: bool | None = None,
    path: str | os.PathLike[str] | None = None,
    title: str | None = None,
    fps: float | None = None,
    up: Sequence[float] | None = None,
    height: int = 640,
) -> Page:
    """A page with shapes in 3D, or with a recording that plays.

    ``what`` is one :class:`Recording`, or shapes. ``poses`` has one pose for each shape, or an array of poses for each, which are
    the frames of a motion at ``fps`` frames a second, 60 unless said otherwise. ``contacts`` draws where shapes are inside each other, which
    False leaves out. ``up`` is the direction that is up, z unless said otherwise. A recording has all of these and a ``title`` of its own. In a
    notebook the result is shown as it is; ``path`` also writes it to a file, ``.open()`` shows it in a browser.
    """
    if len(what) == 1 and isinstance(what[0], Recording):
        recording = what[0]
        own = {"poses": poses, "contacts": contacts, "title": title, "fps": fps, "up": up}
        for name, given in own.items():
            if given is not None:
                raise InputError(f"{name} is for shapes; a recording has its own")
    else:
        shapes = list(what)
        if not shapes:
            raise InputError("nothing to show: give a recording, or shapes")
        for thing in shapes:
            if not isinstance(thing, Shape):
                raise InputError(f"a {type(thing).__name__} cannot be shown: give a recording, or shapes")
        if poses is not None and not hasattr(poses, "__len__"):
            raise InputError(f"poses is a {type(poses).__name__}; give one pose for each shape")
        places = [None] * len(shapes) if poses is None else list(poses)
        try:
            rate = 60.0 if fps is None else float(fps)
        except (TypeError, ValueError, OverflowError):
            raise InputError(f"fps is {fps!r}; it must be positive and finite") from None
        drawn = True if contacts is None else contacts
        recording = record(shapes, places, drawn, rate, title or "Shapes", (0, 0, 1) if up is None else up)
    page = Page(recording.html(), height)
    if path is not None:
        page.save(path)
    return page
