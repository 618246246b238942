"""Every array that a function takes, in every layout and every wrong kind: the same answer as for float64 in C order, or an error that says which.

Views that stand for more than there is memory are an error too, and a full disk leaves what was there.
"""

import subprocess
import sys
import textwrap
import types

import numpy as np
import pytest

import palpate
from conftest import CUBE_FACES, CUBE_VERTICES
from palpate.collision_manager import CollisionManager

POINTS = np.array([[0.1, 0.2, 0.3], [0.4, -0.2, 0.0], [0.75, 0.5, 0.25], [-1, 0, 0.5]])
POINT = np.array([0.25, -0.5, 0.75])
POSE = np.array([[0, -1, 0, 0.75], [1, 0, 0, 0.25], [0, 0, 1, 0], [0, 0, 0, 1.0]])
POSES = np.stack([POSE, np.eye(4), POSE @ POSE])
SEVENS = np.array([[0.75, 0, 0, 0, 0, 0, 1], [0, 0.5, 0.25, 0, 0, 1, 0.0]])
MOVED = CUBE_VERTICES + [3, 0, 0]


def flat(answer):
    """What was answered, as plain arrays that can be compared."""
    if isinstance(answer, (tuple, list)):
        return [x for part in answer for x in flat(part)]
    if type(answer).__module__ != "palpate":
        return [np.asarray(answer)]
    names = [n for n in dir(type(answer)) if not n.startswith("_") and not callable(getattr(answer, n))]
    return [x for n in names for x in flat(getattr(answer, n))]


def soft(vertices=CUBE_VERTICES, faces=CUBE_FACES):
    mesh = palpate.SoftMesh(vertices, faces)
    return mesh.vertices, mesh.faces


def assigned(vertices):
    mesh = palpate.SoftMesh(CUBE_VERTICES, CUBE_FACES)
    mesh.vertices = vertices
    return mesh.vertices


def grown(vertices):
    mesh = palpate.SoftMesh(CUBE_VERTICES, CUBE_FACES)
    mesh.add_vertices(vertices)
    return mesh.vertices


def patched(triangle):
    mesh = palpate.SoftMesh(CUBE_VERTICES, CUBE_FACES)
    mesh.remove_triangle(0)
    mesh.add_triangle(triangle)
    return mesh.faces


def meeting(a_end, b_end):
    a, b = palpate.SoftMesh(CUBE_VERTICES, CUBE_FACES), palpate.SoftMesh(MOVED, CUBE_FACES)
    hit = palpate.Soft().first_contact(a, a_end, b, b_end)
    return hit and (hit.time, hit.point)


def cloud(points=POINTS):
    return palpate.Cloud(points).nearest(POINTS)


def after(change):
    known = palpate.Cloud(POINTS)
    change(known)
    return known.nearest(POINTS)


def fallen(shape, gravity=None, velocity=None, pose=None, normal=None, size=(1, 1, 1), place=None, force=(0, 0, 0), torque=(0, 0, 0)):
    scene = palpate.Scene(gravity)
    body = scene.add(shape, pose, velocity=velocity)
    scene.add_plane(normal, offset=-9)
    scene.add_box(size, place if place is not None else [9, 9, 9, 0, 0, 0, 1])
    running = scene.start("own")
    running.push(body, force, torque)
    running.step(3)
    return running.poses


def shown(shape, **arguments):
    return len(palpate.show(shape, **arguments).html)


def managed(vertices=CUBE_VERTICES, faces=CUBE_FACES, transform=None):
    manager = CollisionManager(resolution=24)
    manager.add_object("a", types.SimpleNamespace(vertices=CUBE_VERTICES, faces=CUBE_FACES))
    return manager.min_distance_single(types.SimpleNamespace(vertices=vertices, faces=faces), transform)


def shape(vertices=CUBE_VERTICES, faces=CUBE_FACES):
    built = palpate.Shape(vertices, faces, resolution=16)
    return built.vertices, built.faces, built.signed_distance(POINTS)


# Name, what is called with the array, the array, and what the error names it.
CASES = [
    ("Shape vertices", lambda s, x: shape(vertices=x), CUBE_VERTICES, "vertices"),
    ("Shape faces", lambda s, x: shape(faces=x), CUBE_FACES, "faces"),
    ("from_trimesh", lambda s, x: palpate.Shape.from_trimesh(types.SimpleNamespace(vertices=x, faces=CUBE_FACES), resolution=16).vertices, CUBE_VERTICES, "vertices"),
    ("signed_distance", lambda s, x: s.signed_distance(x), POINTS, "points"),
    ("signed_distance exact", lambda s, x: s.signed_distance(x, exact=True, gradients=True), POINTS, "points"),
    ("closest_point", lambda s, x: s.closest_point(x), POINTS, "points"),
    ("contacts pose_a", lambda s, x: palpate.contacts(s, s, x), POSE, "pose_a"),
    ("contacts pose_b", lambda s, x: palpate.contacts(s, s, None, x), POSE, "pose_b"),
    ("contacts seven", lambda s, x: palpate.contacts(s, s, None, x), SEVENS[0], "pose_b"),
    ("contacts origin", lambda s, x: palpate.contacts(s, s, None, POSE, origin=x), POINT, "origin"),
    ("contacts position", lambda s, x: palpate.contacts(s, s, None, (x, [0, 0, 0, 1])), POINT, "pose_b"),
    ("contacts quaternion", lambda s, x: palpate.contacts(s, s, None, (POINT, x)), np.array([0, 0, 0.6, 0.8]), "pose_b"),
    ("intersects", lambda s, x: palpate.intersects(s, s, None, x), POSE, "pose_b"),
    ("distance", lambda s, x: palpate.distance(s, s, None, x), POSE, "pose_b"),
    ("penetration", lambda s, x: palpate.penetration(s, s, None, x), POSE, "pose_b"),
    ("time_of_impact start", lambda s, x: palpate.time_of_impact(s, s, x, POSE), POSE, "start"),
    ("time_of_impact end", lambda s, x: palpate.time_of_impact(s, s, POSE, x), POSE, "end"),
    ("wrench", lambda s, x: palpate.wrench(s, s, None, x, stiffness=1e6), POSE, "pose_b"),
    ("wrench velocity", lambda s, x: palpate.wrench(s, s, None, POSE, stiffness=1e6, damping=1.0, velocity=(x, POINT)), POINT, "linear velocity"),
    ("Pair.contacts", lambda s, x: palpate.Pair(s, s).contacts(None, x), POSE, "pose_b"),
    ("Pair.wrench", lambda s, x: palpate.Pair(s, s).wrench(None, x, stiffness=1e6), POSE, "pose_b"),
    ("contacts_batch", lambda s, x: palpate.contacts_batch(s, s, x, full=True), POSES, "poses"),
    ("contacts_batch sevens", lambda s, x: palpate.contacts_batch(s, s, x), SEVENS, "poses"),
    ("wrench_batch", lambda s, x: palpate.wrench_batch(s, s, x, stiffness=1e6), POSES, "poses"),
    ("intersects_batch", lambda s, x: palpate.intersects_batch(s, s, x), POSES, "poses"),
    ("distance_batch", lambda s, x: palpate.distance_batch(s, s, x), POSES, "poses"),
    ("distance_batch positions", lambda s, x: palpate.distance_batch(s, s, (x, np.tile([0, 0, 0, 1], (4, 1)))), POINTS, "poses"),
    ("SoftMesh vertices", lambda s, x: soft(vertices=x), CUBE_VERTICES, "vertices"),
    ("SoftMesh faces", lambda s, x: soft(faces=x), CUBE_FACES, "faces"),
    ("SoftMesh.vertices =", lambda s, x: assigned(x), CUBE_VERTICES, "vertices|positions"),
    ("add_vertices", lambda s, x: grown(x), POINTS, "vertices"),
    ("add_triangle", lambda s, x: patched(x), CUBE_FACES[3], "triangle"),
    ("first_contact a_end", lambda s, x: meeting(x, MOVED - [4, 0, 0]), CUBE_VERTICES, "a_end|positions"),
    ("first_contact b_end", lambda s, x: meeting(CUBE_VERTICES, x), MOVED - [4, 0, 0], "b_end|positions"),
    ("Cloud", lambda s, x: cloud(x), POINTS, "point"),
    ("Cloud.nearest", lambda s, x: palpate.Cloud(POINTS).nearest(x), POINTS, "points"),
    ("Cloud.within", lambda s, x: palpate.Cloud(POINTS).within(x, 1.0), POINT, "point"),
    ("Cloud.nearest_k", lambda s, x: palpate.Cloud(POINTS).nearest_k(x, 2), POINT, "point"),
    ("Cloud.insert", lambda s, x: after(lambda c: c.insert(x)), POINT, "point"),
    ("Cloud.move_to", lambda s, x: after(lambda c: c.move_to(0, x)), POINT, "point"),
    ("Scene gravity", lambda s, x: fallen(s, gravity=x), POINT, "gravity"),
    ("Scene.add pose", lambda s, x: fallen(s, pose=x), POSE, "pose"),
    ("Scene.add velocity", lambda s, x: fallen(s, velocity=x), np.stack([POINT, POINT]), "velocity"),
    ("Scene.add_plane", lambda s, x: fallen(s, normal=x), POINT, "normal"),
    ("Scene.add_box size", lambda s, x: fallen(s, size=x), np.array([1, 2, 0.5]), "size"),
    ("Scene.add_box pose", lambda s, x: fallen(s, place=x), np.array([9, 8, 7, 0, 0, 0, 1.0]), "pose"),
    ("push force", lambda s, x: fallen(s, force=x), POINT, "force"),
    ("push torque", lambda s, x: fallen(s, torque=x), POINT, "torque"),
    ("show poses", lambda s, x: shown(s, poses=[x]), POSE, "poses"),
    ("show frames", lambda s, x: shown(s, poses=[x]), POSES, "poses"),
    ("show up", lambda s, x: shown(s, up=x), POINT, "up"),
    ("manager vertices", lambda s, x: managed(vertices=x), CUBE_VERTICES, "vertices"),
    ("manager faces", lambda s, x: managed(faces=x), CUBE_FACES, "faces"),
    ("manager transform", lambda s, x: managed(transform=x), POSE, "transform"),
]


@pytest.fixture(scope="module")
def small():
    return palpate.Shape(CUBE_VERTICES, CUBE_FACES, resolution=16)


def layouts(x):
    """The same numbers otherwise in memory, or of another type: the answer must be the same."""
    wide = np.zeros(tuple(2 * n for n in x.shape), x.dtype)
    every_second = wide[tuple(slice(None, None, 2) for _ in x.shape)]
    every_second[...] = x
    read_only = x.copy()
    read_only.flags.writeable = False
    yield from [("strided", every_second), ("Fortran", np.asfortranarray(x)), ("backwards", x[::-1].copy()[::-1]), ("read-only", read_only)]
    yield from [("big-endian", x.astype(x.dtype.newbyteorder(">"))), ("list", x.tolist())]
    unaligned = np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(x.dtype).reshape(x.shape)
    yield "unaligned", unaligned
    if x.dtype.kind == "i":
        yield from [("int32", x.astype(np.int32)), ("uint8", x.astype(np.uint8)), ("uint64", x.astype(np.uint64))]
    else:
        yield "longdouble", x.astype(np.longdouble)


@pytest.mark.parametrize(("name", "call", "good", "says"), CASES, ids=[c[0] for c in CASES])
def test_layouts(small, name, call, good, says):
    expected = flat(call(small, good))
    for kind, same in layouts(good):
        found = flat(call(small, same))
        assert len(found) == len(expected)
        for x, y in zip(found, expected):
            assert x.shape == y.shape and x.tobytes() == y.tobytes() or x.dtype.kind == "O", f"{name}, {kind}"


@pytest.mark.parametrize(("name", "call", "good", "says"), CASES, ids=[c[0] for c in CASES])
def test_other_precisions(small, name, call, good, says):
    """float32, and whole numbers where all are: as the same numbers in float64, up to the rounding of results in float32."""
    if good.dtype.kind != "f":
        return
    kinds = [np.float32] + ([np.int32, np.int64] if (good == np.round(good)).all() else [])
    for kind in kinds:
        found, expected = (flat(call(small, x)) for x in (good.astype(kind), good.astype(kind).astype(float)))
        for x, y in zip(found, expected):
            if x.dtype.kind == "f":
                np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6, err_msg=name)


def wrong(x):
    """What no function can use."""
    yield from [(k, x.astype(k)) for k in (bool, complex, "U8", "S8")]
    yield from [("object", x.astype(object)), ("dates", x.astype("i8").astype("M8[s]")), ("records", np.zeros(x.shape, "f8,f8"))]
    yield from [("deeper", x[None, None]), ("flatter", x.ravel()[:1]), ("number", np.array(1.0)), ("wider", np.concatenate([x, x], axis=-1))]
    yield from [("narrower", x[..., :-1]), ("text", "abc"), ("ragged", [[1, 2], [3]]), ("dict", {}), ("nothing", object())]


@pytest.mark.parametrize(("name", "call", "good", "says"), CASES, ids=[c[0] for c in CASES])
def test_wrong_kinds(small, name, call, good, says):
    for kind, bad in wrong(good):
        with pytest.raises(palpate.PalpateError, match=says):
            call(small, bad)
            pytest.fail(f"{name} took {kind}")


@pytest.mark.parametrize(("name", "call", "good", "says"), CASES, ids=[c[0] for c in CASES])
def test_not_finite_empty_and_huge(small, name, call, good, says):
    if good.dtype.kind == "f":
        for number in (np.nan, np.inf, -np.inf):
            bad = good.copy()
            bad.flat[-1 if good.ndim == 1 else 3] = number
            # An answer that says so for that point, or an error: nothing else.
            try:
                call(small, bad)
            except palpate.PalpateError as error:
                assert not isinstance(error, palpate.InternalError), error
    try:
        call(small, good[:0])
    except palpate.PalpateError as error:
        assert not isinstance(error, palpate.InternalError), error
    # The same row without end: 2^40 of them have no room anywhere.
    if good.ndim > 1:
        endless = np.broadcast_to(good[:1], (2**40, *good.shape[1:]))
        with pytest.raises((MemoryError, palpate.PalpateError), match=says):
            call(small, endless)


class Raising:
    """An array that is not there yet, whose making ends otherwise."""

    def __init__(self, error):
        self.error = error

    def __array__(self, *arguments, **named):
        raise self.error

    @property
    def vertices(self):
        raise self.error


class Own(BaseException):
    pass


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3), Own("stop"), MemoryError("full")])
def test_what_is_no_word_about_an_array_passes(small, error):
    for call in (
        lambda x: palpate.Shape(x, CUBE_FACES),
        lambda x: palpate.SoftMesh(CUBE_VERTICES, x),
        lambda x: small.signed_distance(x),
        lambda x: palpate.contacts(small, small, None, x),
        lambda x: palpate.contacts(small, small, None, [x, x]),
        lambda x: palpate.Assembly().add("a", x, CUBE_FACES),
        palpate.Shape.from_trimesh,
    ):
        with pytest.raises(type(error)) as caught:
            call(Raising(error))
        assert caught.value is error
    with pytest.raises(palpate.InputError, match="points is no array of numbers: of another kind"):
        small.signed_distance(Raising(ValueError("of another kind")))


FULL = """
    import os, resource, sys
    import palpate
    folder, what = sys.argv[1:]
    thing = palpate.Shape.sample("gear", resolution=48)
    page = palpate.show(thing)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
    try:
        if what == "Shape.save":
            thing.save(f"{folder}/file")
        elif what == "Page.save":
            page.save(f"{folder}/file")
        else:
            palpate.show(thing, path=f"{folder}/file")
    except palpate.FileError as error:
        assert isinstance(error, OSError) and "file" in str(error), error
        sys.exit(0)
    sys.exit("nothing was said")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no limits of files here")
@pytest.mark.parametrize("what", ["Shape.save", "Page.save", "show"])
@pytest.mark.parametrize("old", [None, b"what was there"])
def test_full_disk(tmp_path, what, old):
    """No room in the middle of a file: an error, the old file whole, and nothing besides it."""
    path = tmp_path / "file"
    if old is not None:
        path.write_bytes(old)
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(FULL), tmp_path, what], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ([] if old is None else ["file"])
    assert old is None or path.read_bytes() == old
