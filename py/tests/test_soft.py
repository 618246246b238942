"""Meshes that deform."""

import numpy as np
import pytest

import palpate
from conftest import CUBE_FACES, CUBE_VERTICES, matrix


def triangles_meet(s, t):
    """Whether an edge of one triangle crosses the other: a referee for general position."""

    def crosses(p, q, t):
        n = np.cross(t[1] - t[0], t[2] - t[0])
        a, b = n @ (p - t[0]), n @ (q - t[0])
        if a * b > 0 or a == b:
            return False
        x = p + (q - p) * (a / (a - b))
        return all(n @ np.cross(t[(i + 1) % 3] - t[i], x - t[i]) >= 0 for i in range(3))

    return any(crosses(s[i], s[(i + 1) % 3], t) or crosses(t[i], t[(i + 1) % 3], s) for i in range(3))


def test_pairs_are_those_of_all_triangles(rng):
    for _ in range(10):
        verts_a, verts_b = rng.uniform(-1, 1, (30, 3)), rng.uniform(-1, 1, (30, 3))
        faces = np.array([rng.choice(30, 3, replace=False) for _ in range(20)])
        a, b = palpate.SoftMesh(verts_a, faces), palpate.SoftMesh(verts_b, faces)
        found = palpate.Soft().pairs(a, b)
        expected = [(i, j) for i in range(20) for j in range(20) if triangles_meet(verts_a[faces[i]], verts_b[faces[j]])]
        assert len(expected) > 10
        np.testing.assert_array_equal(found, expected)


def test_moving(cube_mesh):
    vertices, faces = cube_mesh
    a, b = palpate.SoftMesh(vertices, faces), palpate.SoftMesh(vertices + [3, 0, 0], faces)
    soft = palpate.Soft()
    assert soft.pairs(a, b).shape == (0, 2)
    apart = soft.distance(a, b)
    assert apart.distance == pytest.approx(2) and apart.witness_b[0] - apart.witness_a[0] == pytest.approx(2)
    hit = soft.first_contact(a, a.vertices, b, b.vertices - [4, 0, 0])
    assert hit.time == pytest.approx(0.5, abs=1e-6)
    assert soft.first_contact(a, a.vertices, b, b.vertices + [4, 0, 0]) is None
    b.vertices = vertices + [0.9, 0.1, 0.2]
    found = soft.contacts(a, b)
    assert len(found.pairs) > 0 and found.point.shape == found.normal.shape == (len(found.depth), 3)
    np.testing.assert_array_equal(found.pairs, soft.pairs(a, b))
    np.testing.assert_allclose(np.linalg.norm(found.normal, axis=1), 1, atol=1e-9)
    assert soft.distance(a, b).distance == 0


def test_own_pairs():
    """A sheet folded through itself."""
    vertices = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0.2, 0.2, -1], [0.4, 0.2, 1], [0.2, 0.4, 1]], float)
    mesh = palpate.SoftMesh(vertices, [[0, 1, 2], [3, 4, 5]])
    np.testing.assert_array_equal(palpate.Soft().pairs(mesh), [[0, 1]])


def test_triangles_come_and_go(cube_mesh):
    vertices, faces = cube_mesh
    a, b = palpate.SoftMesh(vertices, faces), palpate.SoftMesh(vertices + [0.9, 0.1, 0.2], faces)
    soft = palpate.Soft()
    gone = int(soft.pairs(a, b)[0, 0])
    a.set_enabled(gone, False)
    assert gone not in soft.pairs(a, b)[:, 0]
    a.set_enabled(gone, True)
    assert gone in soft.pairs(a, b)[:, 0]
    a.remove_triangle(gone)
    assert gone not in soft.pairs(a, b)[:, 0]
    first = a.add_vertices([[0.9, 0, 0], [1, 0.2, 0], [1, 0, 0.3]])
    new = a.add_triangle([first, first + 1, first + 2])
    # A number that is free is given again.
    assert a.vertices.shape == (11, 3) and new == gone
    assert "11 vertices" in repr(a)


def test_from_shape(cube):
    mesh = palpate.SoftMesh.from_shape(cube)
    np.testing.assert_array_equal(mesh.vertices, cube.vertices)
    np.testing.assert_array_equal(mesh.faces, cube.faces)


def test_lost_vertices(cube_mesh):
    vertices, faces = cube_mesh
    vertices[0] = np.nan
    assert palpate.SoftMesh(vertices, faces).lost_vertices == 1


def test_bad_input(cube_mesh):
    vertices, faces = cube_mesh
    mesh = palpate.SoftMesh(vertices, faces)
    with pytest.raises(palpate.MeshError, match="7 positions for 8 vertices"):
        mesh.vertices = vertices[:7]
    with pytest.raises(palpate.InputError, match="vertices has shape"):
        mesh.vertices = vertices[:, :2]
    with pytest.raises(palpate.MeshError, match="triangle 0"):
        palpate.SoftMesh(vertices, faces + 6)
    with pytest.raises(palpate.MeshError, match="no triangle 99"):
        mesh.remove_triangle(99)
    with pytest.raises(palpate.MeshError):
        palpate.Soft().first_contact(mesh, vertices[:4], mesh, vertices)
    empty = palpate.SoftMesh(np.zeros((0, 3)), np.zeros((0, 3), int))
    assert palpate.Soft().distance(mesh, empty) is None
    assert palpate.Soft().pairs(mesh, empty).shape == (0, 2)


def test_a_shape_and_a_soft_mesh(cube):
    """A box of edge 0.4 m whose lower face is 0.1 m deep in a cube: pressure is stiffness times depth, over 0.16 m² and the sides' lower quarters."""
    mesh = palpate.SoftMesh(0.4 * CUBE_VERTICES, CUBE_FACES)
    pair = palpate.SoftPair(cube, mesh, spacing=0.01)
    place = ([0, 0, 0.6], [0, 0, 0, 1])
    push = pair.wrench(pose_b=place, stiffness=1e4)
    # The way out is up everywhere: the face, and the sides at half its depth.
    np.testing.assert_allclose(push.force, [0, 0, 1e4 * (0.1 * 0.16 + 0.05 * 0.16)], atol=2)
    # Against their own normals the sides are pushed by equal and opposite forces.
    against = pair.wrench(pose_b=place, stiffness=1e4, direction="shell")
    np.testing.assert_allclose(against.force, [0, 0, 1e4 * 0.1 * 0.16], atol=2)
    assert push.area == pytest.approx(0.16 + 4 * 0.4 * 0.1, rel=0.02)
    found = pair.contacts(pose_b=place)
    assert found.dtype == palpate.CONTACT and found["id"].max() < 12 and (np.diff(found["id"].astype(int)) >= 0).all()
    np.testing.assert_allclose(found["area"].sum(), push.area, rtol=1e-5)
    np.testing.assert_allclose(found["distance"], cube.signed_distance(found["point"].astype(float)), atol=1e-4)
    point, distance, triangle = pair.nearest(pose_b=place)
    assert distance == pytest.approx(-0.1, abs=1e-3) and point[2] == pytest.approx(0.4, abs=1e-3) and triangle < 12
    # In another frame.
    w = matrix([1, 2, 3], [0, 0.6, 0, 0.8])
    there = pair.wrench(pose_a=w, pose_b=w @ matrix(*place), stiffness=1e4)
    np.testing.assert_allclose(there.force, w[:3, :3] @ push.force, atol=1e-2)
    # Vertices that move, and are damped: away, and there is nothing to push; towards, and it pushes more.
    speed = np.zeros((8, 3))
    speed[:, 2] = 1.0
    harder = [pair.wrench(pose_b=place, stiffness=1e4, damping=500.0, vertex_velocities=v).force[2] for v in (speed, -speed)]
    assert harder[0] < push.force[2] < harder[1]
    mesh.vertices = mesh.vertices + [0, 0, 1]
    assert pair.wrench(pose_b=place, stiffness=1e4).contacts == 0 and len(pair.contacts(pose_b=place)) == 0
    with pytest.raises(palpate.InputError, match="spacing"):
        palpate.SoftPair(cube, mesh, np.nan)
    with pytest.raises(palpate.InputError, match="margin"):
        pair.contacts(margin=np.nan)
