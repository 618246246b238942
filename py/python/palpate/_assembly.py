"""Assemblies: every clash and every clearance too small, on this machine or on a cluster."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from ._errors import FileError, InputError
from ._palpate import Assembly, AssemblyReport, look_at_assembly
from ._progress import shown
from ._show import write

#: How far the rotation of a node may be from one [1]. Nodes farther off are scaled or sheared: their vertices are moved instead.
RIGID = 1e-9


def assembly(
    parts: Any,
    clearance: float = 0.5e-3,
    *,
    tolerance: float | None = None,
    unit: str | float | None = None,
    output: str | os.PathLike[str] | None = None,
    cache: str | os.PathLike[str] | None = None,
    contacts: bool = False,
    pictures: int = 200,
    voxel: float | None = None,
    max_memory: int = 2 << 30,
    threads: int = 0,
    cluster: str | int | bool | None = None,
    progress: bool | Callable[[str, int, int], None] | None = None,
) -> AssemblyReport:
    """Every pair of parts that clash, or come nearer to each other than ``clearance`` [m].

    ``parts`` is a folder of meshes or a glTF or GLB file, whose numbers have ``unit`` ("mm", or metres; metres unless said otherwise);
    "sample:200" for 200 parts made up; an :class:`Assembly`; a ``trimesh.Scene``; or a list of ``(name, mesh)``, ``(name, mesh, pose)`` or
    ``(name, mesh, pose, to)``, where a mesh is anything with ``vertices`` and ``faces``, or these two as a tuple, and a part moves from ``pose`` to
    ``to``; or a dict from names to a mesh, ``(mesh, pose)`` or ``(mesh, pose, to)``, where two arrays are vertices and faces. A part that cannot be
    used is among the ``failures`` of the report, and the others go on.

    Overlaps and gaps of at most ``tolerance`` [m] are contact by design; a tenth of the clearance unless said otherwise. Of parts that move: the
    first clash, or the least clearance, and when. ``voxel`` [m] and ``max_memory`` [bytes] are of the shapes that are built for overlaps.

    ``output`` is a folder that receives ``assembly.html`` with at most ``pictures`` pictures, ``findings.csv``, ``findings.json`` (with ``contacts`` also those by
    design) and a journal: after a kill, Ctrl-C or a full disk the same call goes on where it was, and after a part was changed it looks at
    the pairs of that part alone. ``cache`` is a folder that keeps built shapes; ``output``/cache unless said otherwise.

    ``threads=0`` is all cores. ``cluster`` does the work on Ray instead (``pip install palpate[ray]``): "ray://host:10001" or another address of a
    cluster, "auto" for the one that runs here or that ``ray.init`` has joined, a number of processes on this machine, or True for as many as
    it has cores. The findings are the same to the last bit, wherever they are computed.

    ``progress(stage, done, steps)`` is told how far it is; True shows a bar, False nothing, None a bar on a terminal.
    """
    title = os.fspath(parts) if isinstance(parts, (str, os.PathLike)) else "Assembly"
    with shown(progress) as told:
        folder, kept = _folders(output, cache)
        whole = collect(parts, unit, threads, told)
        if len(whole) == 0:
            first = whole.failures[0] if whole.failures else ("it", "has no parts")
            raise InputError(f"no part of {title} can be used; the first: {first[0]}: {first[1]}")
        how = {"tolerance": tolerance, "voxel": voxel, "max_memory": max_memory, "output": folder, "cache": kept, "threads": threads}
        if cluster is None or cluster is False:
            report = look_at_assembly(whole, clearance, progress=told, **how)
        else:
            from . import _ray

            report = _ray.look(whole, clearance, cluster, told, **how)
        if folder is not None:
            # Findings come before the page, which takes longer.
            write(folder / "findings.csv", report.csv(contacts))
            write(folder / "findings.json", report.json(contacts))
            write(folder / "assembly.html", report.html(title, contacts, pictures, told))
    return report


def _folders(output, cache):
    """The two folders, made; none for one that is not wanted."""
    out = None if output is None else pathlib.Path(output)
    kept = pathlib.Path(cache) if cache is not None else out and out / "cache"
    for folder in (out, kept):
        if folder is not None:
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise FileError(f"cannot make the folder {folder}: {error}") from error
    return out, kept


def collect(parts: Any, unit: str | float | None = None, threads: int = 0, progress=None) -> Assembly:
    """Whatever ``assembly`` takes, as an :class:`Assembly`."""
    if isinstance(parts, str) and parts.startswith("sample:"):
        count, _, seed = parts.removeprefix("sample:").partition(":")
        if not (count.isdecimal() and (seed or "1").isdecimal()):
            raise InputError(f"{parts} is no sample; write sample:200, or sample:200:SEED")
        return Assembly.sample(int(count), int(seed or 1))
    if isinstance(parts, (str, os.PathLike)):
        return Assembly.read(parts, unit, threads, progress)
    if unit is not None:
        raise InputError("unit is for files; arrays are in metres")
    if isinstance(parts, Assembly):
        return parts
    whole = Assembly()
    if hasattr(parts, "graph") and hasattr(parts, "geometry"):
        entries = list(_nodes(parts))
    elif isinstance(parts, Mapping):
        entries = [(name, *_placed(thing)) for name, thing in parts.items()]
    elif isinstance(parts, Iterable):
        entries = list(parts)
    else:
        raise InputError(f"a {type(parts).__name__} is no assembly: give a folder, a scene, or a list of (name, mesh, pose)")
    for i, entry in enumerate(entries):
        if not (isinstance(entry, (tuple, list)) and 2 <= len(entry) <= 4):
            raise InputError(f"parts[{i}] is not (name, mesh), (name, mesh, pose) or (name, mesh, pose, to)")
        name, mesh, *places = entry
        try:
            whole.add(str(name), *_arrays(mesh), *places)
        except InputError as error:
            raise InputError(f"part {name!r}: {error}") from error
    return whole


def _placed(thing: Any):
    """What a dict has for a name, as a mesh and its poses. Two arrays are a mesh; a mesh before something else is one at a place."""
    if not isinstance(thing, (tuple, list)):
        return (thing,)
    if len(thing) == 2 and all(hasattr(x, "__len__") or hasattr(x, "__array__") for x in thing):
        first = thing[0]
        pair = isinstance(first, (tuple, list)) and len(first) == 2
        if not (pair or hasattr(first, "vertices") or isinstance(first, str)):
            return (thing,)
    return thing


def _arrays(mesh: Any):
    """Vertices and faces."""
    if hasattr(mesh, "vertices") and hasattr(mesh, "faces"):
        return mesh.vertices, mesh.faces
    if isinstance(mesh, (tuple, list)) and len(mesh) == 2:
        return mesh
    raise InputError(f"a {type(mesh).__name__} is no mesh: give one with vertices and faces, or these two as a tuple")


def _nodes(scene: Any):
    """The meshes of a ``trimesh.Scene`` at their places. What is no rigid motion is taken by the vertices."""
    for node in scene.graph.nodes_geometry:
        transform, name = scene.graph[node]
        mesh = scene.geometry[name]
        if not hasattr(mesh, "faces"):
            continue
        turn = np.asarray(transform, dtype=np.float64)
        rigid = np.abs(turn[:3, :3].T @ turn[:3, :3] - np.eye(3)).max() <= RIGID and np.linalg.det(turn[:3, :3]) > 0
        if rigid:
            yield str(node), mesh, turn
        else:
            vertices = np.asarray(mesh.vertices) @ turn[:3, :3].T + turn[:3, 3]
            faces = np.asarray(mesh.faces)
            # Mirrored, they would face inward.
            yield str(node), (vertices, faces if np.linalg.det(turn[:3, :3]) > 0 else faces[:, ::-1])
