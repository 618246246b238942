"""The collision manager beside trimesh's own with FCL: the same seeded scenes through both, where python-fcl is installed.

FCL is trusted for whether surfaces cross, for distances apart, and for depths of convex pairs up to the tolerance of its search. It takes
meshes that are not convex as surfaces: poses with one inside the other are left out.
"""

import inspect
import itertools

import numpy as np
import pytest

import palpate
import palpate.collision_manager as ours
from conftest import matrix, quaternion

trimesh = pytest.importorskip("trimesh")
pytest.importorskip("fcl", reason="python-fcl is not installed")
theirs = trimesh.collision

#: FCL's searches stop here, for sizes of about 1 [m].
NEAR = 2e-5


def meshes():
    box = trimesh.creation.box((1, 0.7, 0.5))
    ball = trimesh.creation.icosphere(subdivisions=2, radius=0.5)
    torus = trimesh.creation.torus(0.6, 0.2, major_sections=24, minor_sections=12)
    pipe = trimesh.creation.annulus(r_min=0.3, r_max=0.5, height=0.8, sections=24)
    return {"box": box, "ball": ball, "torus": torus, "pipe": pipe}


def managers(rng, parts, n, room):
    """Two managers of the same objects in the same places, and the places."""
    pair, names = (ours.CollisionManager(), theirs.CollisionManager()), []
    for i in range(n):
        # FCL's places are in single precision when objects are added.
        pose = matrix(rng.uniform(-room, room, 3), quaternion(rng)).astype(np.float32).astype(float)
        name = f"{i:02} {parts[i % len(parts)][0]}"
        for manager in pair:
            manager.add_object(name, parts[i % len(parts)][1], pose)
        names.append(name)
    return *pair, names


@pytest.mark.parametrize("seed", range(4))
def test_pairs(seed):
    rng = np.random.default_rng(seed)
    mine, peer, names = managers(rng, list(meshes().items()), 24, 1.6)
    hit, found = mine.in_collision_internal(return_names=True)
    expected_hit, expected = peer.in_collision_internal(return_names=True)
    assert hit == expected_hit is True
    for pair in found ^ expected:
        value, _ = ours._apart(*(mine._objs[n] for n in pair))
        # Parts hardly apart or hardly touching.
        assert abs(value) < 1e-3, f"{pair}: {value}"
    assert 5 < len(expected) < 200 and len(found ^ expected) <= 1


@pytest.mark.parametrize("seed", range(4))
def test_distances(seed):
    rng = np.random.default_rng(100 + seed)
    mine, peer, names = managers(rng, list(meshes().items()), 6, 9.0)
    for name in (None, names[0], names[3]):
        value, found, data = mine.min_distance_internal(name=name, return_names=True, return_data=True)
        expected, others, peer_data = peer.min_distance_internal(name=name, return_names=True, return_data=True)
        assert value == pytest.approx(expected, abs=NEAR) and value > 0
        assert found == others and data.names == peer_data.names
        way = data.point(found[0]) - data.point(found[1])
        assert np.linalg.norm(way) == pytest.approx(value, abs=1e-9)
    for mesh in meshes().values():
        pose = matrix(rng.uniform(-3, 3, 3), quaternion(rng))
        value, name = mine.min_distance_single(mesh, pose, return_name=True)
        expected, other = peer.min_distance_single(mesh, pose, return_name=True)
        assert (value > 0) == (expected > 0)
        if value > 0:
            assert value == pytest.approx(expected, abs=NEAR) and name == other


def test_near_misses(rng):
    """Convex parts at a known small gap, which a plate thinner than a cell and coarse points see badly: no hit, and that distance."""
    parts = [trimesh.creation.box((1, 0.6, 0.3)), trimesh.creation.cylinder(0.3, 1), trimesh.creation.box((1, 1, 0.002))]
    wrong = 0
    for i in range(90):
        first, second = parts[i % 3], parts[(i + 1 + i // 3 % 2) % 3]
        mine, peer = ours.CollisionManager(), theirs.CollisionManager()
        for manager in (mine, peer):
            manager.add_object("a", first)
        pose = matrix(rng.normal(size=3), quaternion(rng))
        far, data = peer.min_distance_single(second, pose, return_data=True)
        if far < 0.05:
            continue
        assert mine.min_distance_single(second, pose) == pytest.approx(far, abs=NEAR)
        way = (data.point("a") - data.point("__external")) / far
        for gap in (1e-3, 1e-2):
            near = pose.copy()
            near[:3, 3] += way * (far - gap)
            assert not mine.in_collision_single(second, near)
            assert mine.min_distance_single(second, near) == pytest.approx(gap, abs=2 * NEAR)
            a, b = mine._objs["a"], ours.Object(second, near, 64)
            wrong += abs(palpate.distance(a.shape, b.shape, a.transform, b.transform).distance - gap) > 2 * NEAR
        # Over by as much it touches.
        near = pose.copy()
        near[:3, 3] += way * (far + 1e-3)
        assert mine.in_collision_single(second, near)
    assert wrong > 10, f"points alone were wrong {wrong} times"


def test_convex_contacts(rng):
    """One contact with the depth of the shortest way out, which is at most a little longer than FCL's."""
    parts = [meshes()["box"], meshes()["ball"]]
    shorter = hits = 0
    for i in range(60):
        mine, peer = ours.CollisionManager(), theirs.CollisionManager()
        for manager in (mine, peer):
            manager.add_object("a", parts[i % 2])
        pose = matrix(rng.uniform(-0.6, 0.6, 3), quaternion(rng))
        args = (parts[i // 2 % 2], pose)
        hit, names, data = mine.in_collision_single(*args, return_names=True, return_data=True)
        expected, others, peer_data = peer.in_collision_single(*args, return_names=True, return_data=True)
        assert hit == expected and names == others and len(data) == len(peer_data)
        if not hit:
            continue
        hits += 1
        (one,), (other,) = data, peer_data
        assert one.names == other.names == {"a", "__external"}
        # A way across two edges is searched, and may be found a little too long.
        assert one.depth <= other.depth * 1.01, "a shorter way out exists"
        shorter += one.depth < other.depth * (1 - 1e-3)
        assert mine.min_distance_single(*args) == pytest.approx(-one.depth, abs=1e-9)
        # It does lead out, as FCL sees it, and half of it does not.
        for part, still in ((1 + 1e-4, False), (0.5, True)):
            moved = pose.copy()
            moved[:3, 3] += part * one.depth * one.normal
            assert peer.in_collision_single(args[0], moved) == still
    # FCL's search often ends at a longer way, of a box and a ball most of all.
    assert hits > 30 and shorter < hits, (hits, shorter)


def test_two_managers(rng):
    parts = list(meshes().items())
    mine, peer, _ = managers(rng, parts, 8, 2.0)
    mine_too, peer_too, _ = managers(rng, parts, 8, 2.0)
    assert mine.in_collision_other(mine_too, return_names=True) == peer.in_collision_other(peer_too, return_names=True)
    for manager in (mine_too, peer_too):
        for name in list(manager._objs):
            manager.set_transform(name, matrix([20, 0, 0], [0, 0, 0, 1]) if name[0:2] == "03" else matrix([40, int(name[:2]) * 3, 0], [0, 0, 0, 1]))
    value, names, _ = mine.min_distance_other(mine_too, return_names=True, return_data=True)
    expected, others, _ = peer.min_distance_other(peer_too, return_names=True, return_data=True)
    assert value == pytest.approx(expected, abs=NEAR) and names == others


def test_everything_public_is_there():
    """Functions, classes, methods and their arguments, in their order, as trimesh has them; ours may take more."""
    public = [n for n in vars(theirs) if not n.startswith("_") and getattr(vars(theirs)[n], "__module__", "") == theirs.__name__]
    assert len(public) >= 6
    for name in public:
        peer, own = getattr(theirs, name), getattr(ours, name)
        if not inspect.isclass(peer):
            assert list(inspect.signature(own).parameters) == list(inspect.signature(peer).parameters), name
            continue
        for part, value in vars(peer).items():
            if part.startswith("_"):
                continue
            assert hasattr(own, part), f"{name}.{part}"
            if callable(value):
                expected = inspect.signature(value).parameters
                found = inspect.signature(getattr(own, part)).parameters
                assert list(found)[: len(expected)] == list(expected), f"{name}.{part}"
                assert [p.default for p in expected.values()] == [found[n].default for n in expected], f"{name}.{part}"


@pytest.mark.parametrize("names", [False, True])
@pytest.mark.parametrize("data", [False, True])
def test_what_is_returned(names, data):
    """Every combination of what may be asked for: as many answers, of the same types."""
    box, apart = trimesh.creation.box((1, 1, 1)), np.eye(4)
    apart[0, 3] = 3
    answers = []
    for module in (ours, theirs):
        manager, other = module.CollisionManager(), module.CollisionManager()
        manager.add_object("a", box)
        manager.add_object("b", box, apart)
        other.add_object("c", box, apart)
        two = {"return_names": names, "return_data": data}
        answers.append(
            [
                manager.in_collision_single(box, apart, **two),
                manager.in_collision_internal(**two),
                manager.in_collision_other(other, **two),
                manager.min_distance_single(box, 2 * apart - np.eye(4), return_name=names, return_data=data),
                manager.min_distance_internal(**two),
                manager.min_distance_other(other, **two),
            ]
        )
    for own, peer in zip(*answers):
        own, peer = (x if isinstance(x, tuple) else (x,) for x in (own, peer))
        assert [type(x).__name__ for x in own] == [type(x).__name__ for x in peer]
        for x, y in zip(own, peer):
            if isinstance(x, (bool, set, str)) or (isinstance(x, tuple) and isinstance(x[0], str)):
                assert x == y
