"""The collision manager of trimesh, on palpate: scripts written for ``trimesh.collision`` run with another import.

    from palpate.collision_manager import CollisionManager

Methods, arguments and results are those of trimesh. What differs:

* Shapes are solid: an object wholly inside another collides with it. With FCL meshes are surfaces, unless they are convex.
* Distances of objects that overlap are minus the length of the shortest translation that parts them.
* Convex objects have one contact, as with FCL: the depth of the pair, at a place in the overlap. Of others, contacts are points of a
  surface that are inside the other object, each with its own depth, rather than pairs of triangles.
* ``index`` is the nearest face, also of convex objects, where FCL says -1.
* A transform may have a scale or a shear: the mesh is moved by it.

Whether objects collide, and how far apart they are, is decided by their triangles; depths of contacts are those of a field, with
the error bounds of :class:`palpate.Shape`. Nothing else needs to be installed. Units are those of the meshes and transforms.
"""

from __future__ import annotations

import itertools
from typing import Any, Hashable

import numpy as np

from . import _broad
from ._errors import InputError
from ._object import Object, normals
from ._palpate import Shape, contacts, distance, penetration

__all__ = ["CollisionManager", "ContactData", "DistanceData", "mesh_to_BVH", "mesh_to_convex", "scene_to_collision"]

#: The name of an object that is in no manager.
EXTERNAL = "__external"

#: Cells along the largest extent of shapes, unless said otherwise.
RESOLUTION = 64

#: Products of directions and vertices that are looked at for ways out that are as short. More: seconds; fewer: which one is given depends on the search.
MOST_PRODUCTS = 10_000_000

class ContactData:
    """A contact of two objects, in the world's frame."""

    def __init__(self, names, objects, point, normal, depth):
        self.names = set(names)
        self._objects = dict(zip(names, objects))
        self._point, self._normal, self._depth = point, normal, depth

    @property
    def normal(self):
        """Unit, from the first object to the second: (3,) float."""
        return self._normal

    @property
    def point(self):
        """Where: (3,) float."""
        return self._point

    @property
    def depth(self):
        """How deep the point is in the other object, not negative: float."""
        return self._depth

    def index(self, name):
        """The face nearest to the contact of the object with this name: int."""
        return self._objects[name].face(self._point)


class DistanceData:
    """The distance of two objects, in the world's frame."""

    def __init__(self, names, objects, value, points):
        self.names = set(names)
        self._objects = dict(zip(names, objects))
        self._points = dict(zip(names, points))
        self._distance = value

    @property
    def distance(self):
        """Negative where they overlap: float."""
        return self._distance

    def index(self, name):
        """The face of the object with this name that is nearest: int."""
        return self._objects[name].face(self._points[name])

    def point(self, name):
        """The nearest point on the object with this name: (3,) float."""
        return self._points[name]


def _meet(a: Object, b: Object) -> bool:
    """Whether two objects share a point: by their points where these are certain, else by all triangles."""
    poses = (a.transform, b.transform)
    near = distance(a.shape, b.shape, *poses)
    if near.distance > near.bound:
        return False
    if near.distance < -max(a.shape.error_bound_band, b.shape.error_bound_band):
        return True
    return penetration(a.shape, b.shape, *poses, directions=1).overlapping


def _touches(names, a: Object, b: Object) -> list[ContactData]:
    """The contacts of two objects that meet: at least one."""
    found = contacts(a.shape, b.shape, a.transform, b.transform)
    if a.convex and b.convex:
        return [_convex_touch(names, a, b, found)]
    rows = zip(found["point"].astype(float), found["normal"].astype(float), found["distance"])
    out = [ContactData(names, (a, b), point, normal, max(0.0, -float(d))) for point, normal, d in rows]
    if not out:
        near = distance(a.shape, b.shape, a.transform, b.transform)
        out.append(ContactData(names, (a, b), (near.witness_a + near.witness_b) / 2, near.direction, 0.0))
    return out


def _convex_touch(names, a: Object, b: Object, found) -> ContactData:
    """The one contact of convex objects: how deep the pair is, and the middle of the points that are inside."""
    near = distance(a.shape, b.shape, a.transform, b.transform)
    point, normal, depth = (near.witness_a + near.witness_b) / 2, near.direction, 0.0
    way = _way_out(a, b)
    if way is not None and way[1] > 0:
        normal, depth = way
    if len(found):
        point = np.average(found["point"].astype(float), axis=0, weights=np.maximum(found["area"], 1e-30))
    return ContactData(names, (a, b), point, normal, depth)


def _way_out(a: Object, b: Object):
    """The direction and the length of the shortest way of B out of A; none where they share no point.

    Of convex objects the normals of faces are tried besides, and of ways that are as short the first by x, y, z is given: it does not depend
    on the search then.
    """
    way = penetration(a.shape, b.shape, a.transform, b.transform)
    if not way.overlapping:
        return None
    if way.depth == 0 or not (a.convex and b.convex):
        return way.direction, way.depth
    first, second = a.corners, b.corners
    ways = np.concatenate([normals(a.shape) @ a.transform[:3, :3].T, -normals(b.shape) @ b.transform[:3, :3].T])
    if len(ways) * (len(first) + len(second)) > MOST_PRODUCTS:
        return way.direction, way.depth
    depths = (ways @ first.T).max(axis=1) - (ways @ second.T).min(axis=1)
    least = min(way.depth, depths.min())
    # Rounding must not choose.
    short = np.round(ways[depths <= least + max(way.bound, 1e-9 * least)], 9) + 0.0
    if len(short) == 0:
        return way.direction, way.depth
    chosen = short[np.lexsort(short.T[::-1])[0]]
    return chosen / np.linalg.norm(chosen), float(least)


def _apart(a: Object, b: Object):
    """Signed distance of two objects, and the nearest points."""
    near = distance(a.shape, b.shape, a.transform, b.transform, exact=True)
    value = near.distance
    if value <= 0:
        way = _way_out(a, b)
        value = 0.0 if way is None else -way[1]
    return value, (near.witness_a, near.witness_b)


def _answer(first, wanted):
    """``first`` alone, or in a tuple with those of ``wanted`` that are asked for."""
    more = tuple(value for asked, value in wanted if asked)
    return (first, *more) if more else first


class CollisionManager:
    """Objects with names and places, and which of them collide.

    ``resolution`` is that of the shapes that are built, cells along the largest extent.
    """

    def __init__(self, resolution: int = RESOLUTION):
        self._objs: dict[Hashable, Object] = {}
        self._resolution = resolution

    def add_object(self, name, mesh, transform=None):
        """Adds a mesh of trimesh, or anything with ``vertices`` and ``faces``; one of the same name is replaced."""
        self._objs[name] = Object(mesh, transform, self._resolution)
        return self._objs[name]

    def remove_object(self, name):
        """Takes an object out. ``ValueError`` where there is none of this name."""
        del self._objs[self._known(name)]

    def set_transform(self, name, transform):
        """Moves an object: its transform becomes this (4, 4) matrix."""
        self._objs[self._known(name)].place(transform)

    def in_collision_single(self, mesh, transform=None, return_names=False, return_data=False):
        """Whether a mesh collides with an object; the set of their names; the list of contacts."""
        other = Object(mesh, transform, self._resolution)
        pairs = ((name, EXTERNAL, obj, other) for name, obj in self._near(other))
        hit, names, data = self._collide(pairs, return_names, return_data)
        return _answer(hit, [(return_names, {a for a, _ in names}), (return_data, data)])

    def in_collision_internal(self, return_names=False, return_data=False):
        """Whether objects collide with one another; the set of pairs of names, each sorted; the list of contacts."""
        names = list(self._objs)
        objects = list(self._objs.values())
        boxes = np.array([o.box for o in objects]).reshape(-1, 2, 3)
        pairs = ((names[i], names[j], objects[i], objects[j]) for i, j in _broad.overlapping(boxes))
        hit, found, data = self._collide(pairs, return_names, return_data)
        return _answer(hit, [(return_names, {tuple(sorted(pair)) for pair in found}), (return_data, data)])

    def in_collision_other(self, other_manager, return_names=False, return_data=False):
        """Whether objects collide with those of another manager; the set of pairs (ours, theirs); the list of contacts."""
        theirs = other_manager._objs.items()
        pairs = ((ours, name, obj, other) for name, other in theirs for ours, obj in self._near(other))
        hit, found, data = self._collide(pairs, return_names, return_data)
        return _answer(hit, [(return_names, found), (return_data, data)])

    def min_distance_single(self, mesh, transform=None, return_name=False, return_data=False):
        """Distance of a mesh to the nearest object, negative where they overlap; that object's name; data."""
        other = Object(mesh, transform, self._resolution)
        pairs = [(name, EXTERNAL, obj, other) for name, obj in self._objs.items()]
        value, names, data = self._nearest(pairs)
        return _answer(value, [(return_name, names and names[0]), (return_data, data)])

    def min_distance_internal(self, name=None, return_names=False, return_data=False):
        """Distance of the two objects that are nearest, or of the named one to the others; their names, sorted; data."""
        if name is None:
            two = itertools.combinations(self._objs.items(), 2)
            pairs = [(a, b, first, second) for (a, first), (b, second) in two]
        else:
            one = self._objs[self._known(name)]
            pairs = [(name, n, one, obj) for n, obj in self._objs.items() if n != name]
        value, names, data = self._nearest(pairs)
        return _answer(value, [(return_names, names and tuple(sorted(names))), (return_data, data)])

    def min_distance_other(self, other_manager, return_names=False, return_data=False):
        """Distance of the nearest objects of two managers; their names, ours first; data."""
        two = itertools.product(self._objs.items(), other_manager._objs.items())
        value, names, data = self._nearest([(a, b, first, second) for (a, first), (b, second) in two])
        return _answer(value, [(return_names, names), (return_data, data)])

    def _known(self, name):
        if name not in self._objs:
            raise InputError(f"{name} not in collision manager!")
        return name

    def _near(self, other: Object):
        """Our objects whose boxes meet that of another."""
        objects = list(self._objs.items())
        if not objects:
            return []
        gaps = _broad.gaps(other.box, np.array([o.box for _, o in objects]))
        return [objects[i] for i in np.flatnonzero(gaps == 0)]

    @staticmethod
    def _collide(pairs, names: bool, data: bool) -> tuple[bool, set, list[ContactData]]:
        found: set[tuple[Any, Any]] = set()
        touches: list[ContactData] = []
        for first, second, a, b in pairs:
            if not _meet(a, b):
                continue
            found.add((first, second))
            if not (names or data):
                break
            if data:
                touches += _touches((first, second), a, b)
        return bool(found), found, touches

    @staticmethod
    def _nearest(pairs):
        """The pair with the least distance: those whose boxes are nearest first, until none can be nearer."""
        if not pairs:
            return np.inf, None, None
        low = np.array([a.box for _, _, a, _ in pairs])
        high = np.array([b.box for _, _, _, b in pairs])
        apart = np.maximum(np.maximum(low[:, 0] - high[:, 1], high[:, 0] - low[:, 1]), 0)
        gaps = np.linalg.norm(apart, axis=1)
        best = None
        for i in np.argsort(gaps, kind="stable"):
            # Boxes that overlap say nothing of how deep; others bound the distance from below.
            if best is not None and gaps[i] > 0 and gaps[i] >= best[0]:
                break
            first, second, a, b = pairs[i]
            value, points = _apart(a, b)
            if best is None or value < best[0]:
                best = (value, (first, second), (a, b), points)
        value, names, objects, points = best
        return value, names, DistanceData(names, objects, value, points)


def mesh_to_BVH(mesh) -> Shape:
    """What a mesh is searched by: a :class:`palpate.Shape`."""
    return Object(mesh, None, RESOLUTION).shape


def mesh_to_convex(mesh) -> Shape:
    """The same: shapes need not be convex, and are asked in the same way if they are."""
    return mesh_to_BVH(mesh)


def scene_to_collision(scene):
    """A manager of the objects of a ``trimesh.Scene``, and these by the names of their nodes."""
    manager = CollisionManager()
    objects = {}
    for node in scene.graph.nodes_geometry:
        transform, geometry = scene.graph[node]
        objects[node] = manager.add_object(name=node, mesh=scene.geometry[geometry], transform=transform)
    return manager, objects
