"""The objects of :mod:`palpate.collision_manager`: meshes in their places."""

from __future__ import annotations

import hashlib
import weakref

import numpy as np

from . import _broad, _room
from ._errors import InputError
from ._palpate import Shape

#: Shapes in use, by what they were built from: the same mesh is built once.
_shapes: weakref.WeakValueDictionary = weakref.WeakValueDictionary()
#: Which of them are convex.
_convex: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


def _real(what, value, kinds):
    """An array of one of these kinds of numbers; an error that names it otherwise."""
    try:
        array = np.asarray(value)
    except (ValueError, TypeError) as error:
        raise InputError(f"{what} is no array of numbers: {error}") from error
    if array.dtype.kind not in kinds and array.size > 0:
        raise InputError(f"{what} has dtype {array.dtype}; give {'real numbers' if 'f' in kinds else 'integers'}")
    return array


def _numbers(what, value, kinds, dtype):
    """A copy of an array (n, 3)."""
    array = _real(what, value, kinds)
    if array.ndim != 2 or array.shape[1] != 3:
        raise InputError(f"{what} has shape {array.shape}; it must be (n, 3)")
    _room.check(what, array.size, 8)
    return array.astype(dtype, order="C")


class Object:
    """A mesh in a place. Its shape is built when it is first near another."""

    def __init__(self, mesh, transform, resolution):
        self._vertices = _numbers("the mesh's vertices", mesh.vertices, "fiu", np.float64)
        self._faces = _numbers("the mesh's faces", mesh.faces, "iu", np.int64)
        if len(self._vertices) == 0 or len(self._faces) == 0:
            raise InputError("the mesh's faces or vertices are empty")
        if not np.isfinite(self._vertices).all():
            raise InputError("the mesh's vertices hold a number that is not finite")
        self._resolution = resolution
        self._built = None
        self.place(transform)

    def place(self, transform):
        """Moves it. What is no rigid motion is taken by the vertices."""
        transform = np.eye(4) if transform is None else _real("transform", transform, "fiu")
        if transform.shape != (4, 4):
            raise InputError("transform must be (4,4)!")
        transform = transform.astype(np.float64)
        if not np.isfinite(transform).all():
            raise InputError("the transform holds a number that is not finite")
        turn, linear = transform[:3, :3], np.eye(3)
        if np.abs(turn.T @ turn - np.eye(3)).max() > 1e-5 or np.linalg.det(turn) < 0:
            transform, linear = transform.copy(), turn.copy()
            transform[:3, :3] = np.eye(3)
        if getattr(self, "_linear", None) is None or not np.array_equal(linear, self._linear):
            self._linear, self._built = linear, None
            moved = self._vertices @ linear.T
            self._box = np.array([moved.min(axis=0), moved.max(axis=0)])
        self.transform = transform
        self.box = _broad.placed(self._box, transform)

    @property
    def shape(self) -> Shape:
        """In its own frame: what the field and the triangles of are asked."""
        if self._built is None:
            vertices, faces = self._vertices @ self._linear.T, self._faces
            # What mirrors turns faces inside out.
            if np.linalg.det(self._linear) < 0:
                faces = faces[:, ::-1]
            key = hashlib.blake2b(np.ascontiguousarray(vertices).tobytes(), digest_size=16)
            key.update(np.ascontiguousarray(faces).tobytes())
            key = (key.digest(), self._resolution)
            self._built = _shapes.get(key)
            if self._built is None:
                self._built = Shape(vertices, faces, resolution=self._resolution)
                _shapes[key] = self._built
        return self._built

    @property
    def convex(self) -> bool:
        """Whether its surface is closed, in one piece, and bent outward at every edge."""
        known = _convex.get(self.shape)
        if known is None:
            known = _convex[self.shape] = _bent_outward(self.shape)
        return known

    @property
    def corners(self):
        """Vertices in the world's frame: (n, 3)."""
        return self.shape.vertices @ self.transform[:3, :3].T + self.transform[:3, 3]

    def face(self, point) -> int:
        """The face nearest to a place, as the mesh that was given numbers them."""
        local = self.transform[:3, :3].T @ (np.asarray(point) - self.transform[:3, 3])
        closest, _, triangle = self.shape.closest_point(local[None])
        shape = self.shape
        if len(shape.faces) == len(self._faces) and triangle[0] < len(self._faces):
            return int(triangle[0])
        # Faces were left out or closed: the one whose plane and middle are nearest.
        corners = (self._vertices @ self._linear.T)[self._faces]
        return int(np.argmin(np.linalg.norm(corners.mean(axis=1) - closest[0], axis=1)))


def normals(shape: Shape):
    """Of the triangles, unit: (m, 3)."""
    p = shape.vertices[shape.faces]
    n = np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0])
    return n / np.maximum(np.linalg.norm(n, axis=1, keepdims=True), 1e-300)


def _bent_outward(shape: Shape) -> bool:
    if not shape.report.watertight or shape.report.components != 1:
        return False
    vertices, faces = shape.vertices, shape.faces.astype(np.int64)
    edges = np.sort(faces[:, [[0, 1], [1, 2], [2, 0]]], axis=2).reshape(-1, 2)
    order = np.lexsort((edges[:, 1], edges[:, 0])).reshape(-1, 2)
    # Each edge has two triangles: the corner of one must not be above the other.
    across = faces[:, [2, 0, 1]].ravel()[order[:, 1]]
    above = vertices[across] - vertices[edges[order[:, 0], 0]]
    height = np.einsum("ij,ij->i", normals(shape)[order[:, 0] // 3], above)
    return bool(height.max() <= 1e-6 * np.ptp(vertices, axis=0).max())
