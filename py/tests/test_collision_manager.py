"""The methods of trimesh's collision manager. The referees are boxes and balls by formula, and the exact test of triangles."""

import itertools

import numpy as np
import pytest

import palpate
from conftest import matrix, quaternion
from palpate.collision_manager import CollisionManager, mesh_to_BVH, mesh_to_convex, scene_to_collision

trimesh = pytest.importorskip("trimesh")


def at(*position):
    return matrix(position, [0, 0, 0, 1])


@pytest.fixture(scope="module")
def box():
    return trimesh.creation.box((1, 1, 1))


def test_single(box):
    manager = CollisionManager()
    manager.add_object("near", box)
    manager.add_object("far", box, at(5, 0, 0))
    assert manager.in_collision_single(box) is True
    assert manager.in_collision_single(box, at(-5, 0, 0)) is False
    assert manager.in_collision_single(box, at(2.5, 0, 0), return_names=True) == (False, set())
    hit, names, data = manager.in_collision_single(box, at(4.2, 0.1, 0), return_names=True, return_data=True)
    assert hit and names == {"far"} and data
    for contact in data:
        assert contact.names == {"far", "__external"}
        assert 0 <= contact.depth <= 0.2 + 1e-6 and np.linalg.norm(contact.normal) == pytest.approx(1, abs=1e-4)
        # In both boxes.
        assert 4.5 - 1e-6 <= contact.point[0] <= 4.7 + 1e-6

def test_convex_objects_have_one_contact(box):
    """The depth of the pair, the way out, a place in the overlap; of ways that are as short, the first by x, y, z."""
    manager = CollisionManager()
    manager.add_object("a", box)
    _, (one,) = manager.in_collision_single(box, at(0.8, 0.1, 0), return_data=True)
    assert one.depth == pytest.approx(0.2, abs=1e-9)
    np.testing.assert_allclose(one.normal, [1, 0, 0], atol=1e-9)
    # In both.
    assert ([0.3, -0.4, -0.5] <= one.point).all() and (one.point <= [0.5, 0.5, 0.5]).all()
    _, (one,) = manager.in_collision_single(box, return_data=True)
    assert one.depth == pytest.approx(1, abs=1e-9)
    np.testing.assert_allclose(one.normal, [-1, 0, 0], atol=1e-9)
    np.testing.assert_allclose(one.point, [0, 0, 0], atol=0.05)
    assert isinstance(one.index("a"), int) and 0 <= one.index("__external") < 12
    # Not convex: all points that are inside.
    torus = trimesh.creation.torus(1.0, 0.3)
    _, data = manager.in_collision_single(torus, at(0.6, 0, 0), return_data=True)
    assert len(data) > 10 and all(0 <= c.depth < 0.6 for c in data)


def test_which_are_convex(box):
    ball, torus = trimesh.creation.icosphere(subdivisions=3), trimesh.creation.torus(1.0, 0.3)
    two = trimesh.util.concatenate([box, box.copy().apply_translation([3, 0, 0])])
    open_box = trimesh.Trimesh(box.vertices, box.faces[2:], process=False)
    dented = ball.copy()
    dented.vertices[0] *= 0.9
    manager = CollisionManager()
    for mesh, convex in [(box, True), (ball, True), (torus, False), (two, False), (open_box, False), (dented, False)]:
        assert manager.add_object("a", mesh).convex == convex
    assert isinstance(mesh_to_BVH(box), palpate.Shape) and mesh_to_convex(box).volume == pytest.approx(1)



def test_names_that_are_gone(box):
    manager = CollisionManager()
    manager.add_object("a", box)
    for ask in (manager.remove_object, lambda n: manager.set_transform(n, np.eye(4)), lambda n: manager.min_distance_internal(name=n)):
        with pytest.raises(ValueError, match="b not in collision manager"):
            ask("b")
    manager.remove_object("a")
    assert manager.in_collision_single(box) is False
    assert manager.in_collision_internal() is False
    assert manager.min_distance_single(box) == np.inf
    with pytest.raises(ValueError, match=r"\(4,4\)"):
        manager.add_object("a", box, np.eye(3))
    with pytest.raises(palpate.InputError, match="finite"):
        manager.add_object("a", box, np.full((4, 4), np.nan))


def test_a_name_is_replaced(box):
    manager = CollisionManager()
    manager.add_object("a", box)
    manager.add_object("a", box, at(9, 0, 0))
    assert not manager.in_collision_single(box)
    assert manager.in_collision_single(box, at(9, 0, 0))


def test_internal(box):
    manager = CollisionManager()
    for i in range(5):
        manager.add_object(f"box {i}", box, at(0.8 * i, 0, 0))
    hit, names = manager.in_collision_internal(return_names=True)
    assert hit and names == {(f"box {i}", f"box {i + 1}") for i in range(4)}
    manager.set_transform("box 2", at(50, 0, 0))
    _, names, data = manager.in_collision_internal(return_names=True, return_data=True)
    assert names == {("box 0", "box 1"), ("box 3", "box 4")}
    assert {frozenset(c.names) for c in data} == {frozenset(n) for n in names}


def test_other(box):
    ours, theirs = CollisionManager(), CollisionManager()
    ours.add_object("a", box)
    theirs.add_object("a", box, at(5, 0, 0))
    assert ours.in_collision_other(theirs) is False
    theirs.add_object("b", box, at(0.5, 0, 0))
    hit, names, data = ours.in_collision_other(theirs, return_names=True, return_data=True)
    assert hit and names == {("a", "b")} and data
    distance, names, data = ours.min_distance_other(theirs, return_names=True, return_data=True)
    assert distance == pytest.approx(-0.5) and names == ("a", "b")
    theirs.remove_object("b")
    distance, names, data = ours.min_distance_other(theirs, return_names=True, return_data=True)
    assert distance == pytest.approx(4) and names == ("a", "a")


def test_distances(box):
    manager = CollisionManager()
    manager.add_object("a", box, at(5, 0, 0))
    assert manager.min_distance_single(box) == pytest.approx(4)
    assert manager.min_distance_single(box, at(5.75, 0, 0)) == pytest.approx(-0.25)
    manager.add_object("b", box, at(-5, 0, 0))
    distance, name, data = manager.min_distance_single(box, at(-2, 0, 0), return_name=True, return_data=True)
    assert distance == pytest.approx(2) and name == "b" and data.distance == distance
    gap = data.point("__external") - data.point("b")
    np.testing.assert_allclose(gap[0], 2, atol=1e-6)
    assert manager.min_distance_internal() == pytest.approx(9)
    manager.add_object("c", box, at(2, 0, 0))
    assert manager.min_distance_internal(return_names=True) == (pytest.approx(2), ("a", "c"))
    assert manager.min_distance_internal(name="b", return_names=True) == (pytest.approx(6), ("b", "c"))


def test_faces(box):
    """The face of a contact is one of the mesh that was given, at that place."""
    manager = CollisionManager()
    manager.add_object("a", box)
    _, data = manager.min_distance_single(box, at(3, 0.1, 0), return_data=True)
    np.testing.assert_allclose(box.face_normals[data.index("a")], [1, 0, 0], atol=1e-9)
    np.testing.assert_allclose(box.face_normals[data.index("__external")], [-1, 0, 0], atol=1e-9)


def test_a_body_inside_another_collides():
    manager = CollisionManager()
    manager.add_object("large", trimesh.creation.box((10, 10, 10)))
    assert manager.in_collision_single(trimesh.creation.icosphere(subdivisions=2, radius=0.5))
    assert manager.min_distance_single(trimesh.creation.box((1, 1, 1))) == pytest.approx(-5.5, abs=1e-6)


def test_touch_is_collision_and_a_hair_is_not(box):
    manager = CollisionManager()
    manager.add_object("a", box)
    hit, data = manager.in_collision_single(box, at(1 - 1e-6, 0.3, 0.2), return_data=True)
    assert hit and data
    assert not manager.in_collision_single(box, at(1 + 1e-6, 0.3, 0.2))


def test_balls_by_formula(rng):
    """Random balls: pairs by their middles and radii; those that a mesh of a ball cannot tell are left out."""
    ball = trimesh.creation.icosphere(subdivisions=3)
    middles, radii = rng.uniform(0, 10, (60, 3)), rng.uniform(0.3, 1.5, 60)
    manager = CollisionManager(resolution=32)
    for i in range(60):
        manager.add_object(i, ball.copy().apply_scale(radii[i]), at(*middles[i]))
    _, names = manager.in_collision_internal(return_names=True)
    hits = 0
    for i, j in itertools.combinations(range(60), 2):
        gap = np.linalg.norm(middles[i] - middles[j]) - radii[i] - radii[j]
        # A facet of this sphere is at most 0.7 % of its radius inside it.
        if gap < -0.007 * (radii[i] + radii[j]):
            hits += 1
            assert (i, j) in names
        elif gap > 0:
            assert (i, j) not in names
    assert hits > 30
    nearest = min(
        (np.linalg.norm(middles[i] - middles[j]) - radii[i] - radii[j])
        for i, j in itertools.combinations(range(60), 2)
    )
    assert manager.min_distance_internal() == pytest.approx(nearest, abs=0.03)


def test_triangles_decide(rng):
    """Against the exact test of all triangles, in poses where surfaces cross or hardly do."""
    torus = trimesh.creation.torus(1.0, 0.3)
    manager = CollisionManager()
    manager.add_object("torus", torus)
    soft, first = palpate.Soft(), palpate.SoftMesh(torus.vertices, torus.faces)
    hits = 0
    for _ in range(100):
        pose = matrix(rng.uniform(-1, 1, 3) * [2, 2, 0.8], quaternion(rng))
        moved = palpate.SoftMesh(torus.vertices @ pose[:3, :3].T + pose[:3, 3], torus.faces)
        cross = len(soft.pairs(first, moved)) > 0
        hits += cross
        # One torus is never wholly inside the other.
        assert manager.in_collision_single(torus, pose) == cross
    assert 30 <= hits <= 98


def test_scales_are_taken_by_the_mesh(box):
    manager = CollisionManager()
    manager.add_object("a", box, np.diag([3.0, 1, 1, 1]))
    assert manager.min_distance_single(box, at(3, 0, 0)) == pytest.approx(1)
    mirrored = np.diag([-1.0, 1, 1, 1])
    mirrored[0, 3] = 4
    assert manager.min_distance_single(box, mirrored) == pytest.approx(2)


def test_the_same_mesh_is_built_once(box):
    manager = CollisionManager()
    one, two = manager.add_object("a", box), manager.add_object("b", box.copy(), at(3, 0, 0))
    assert one.shape is two.shape


def test_scene(box):
    scene = trimesh.Scene()
    scene.add_geometry(box, node_name="one", transform=at(0, 0, 0))
    scene.add_geometry(box, node_name="two", transform=at(0.9, 0, 0))
    manager, objects = scene_to_collision(scene)
    assert set(objects) == {"one", "two"}
    assert manager.in_collision_internal(return_names=True) == (True, {("one", "two")})


def test_bad_meshes(box):
    manager = CollisionManager()
    with pytest.raises(AttributeError):
        manager.add_object("a", object())
    broken = box.copy()
    broken.vertices[0] = np.nan
    with pytest.raises(palpate.InputError, match="not finite"):
        manager.add_object("a", broken)
