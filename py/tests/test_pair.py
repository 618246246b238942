"""Two shapes in a pose."""

import threading

import numpy as np
import pytest

import palpate
from conftest import matrix, quaternion

APART = ([1.5, 0, 0], [0, 0, 0, 1])
PRESSED = ([0.9, 0, 0], [0, 0, 0, 1])


def test_contact_dtype():
    assert palpate.CONTACT.itemsize == 48
    assert palpate.CONTACT.names == ("point", "distance", "normal", "id", "shell_normal", "area")


def test_contacts(cube):
    found = palpate.contacts(cube, cube, pose_b=PRESSED)
    assert found.dtype == palpate.CONTACT and found.ndim == 1 and len(found) > 100
    assert (found["distance"] <= 0).all()
    assert found["distance"].min() == pytest.approx(-0.1, abs=cube.error_bound_far)
    assert (found["point"][:, 0] >= 0.4 - 1e-6).all() and (found["point"][:, 0] <= 0.5 + 1e-6).all()
    np.testing.assert_allclose(np.linalg.norm(found["normal"], axis=1), 1, atol=1e-5)
    assert (np.diff(found["id"].astype(int)) > 0).all()
    assert len(palpate.contacts(cube, cube, pose_b=APART)) == 0
    near = palpate.contacts(cube, cube, pose_b=([1.02, 0, 0], [0, 0, 0, 1]), margin=0.05)
    assert len(near) > 100 and (near["distance"] > 0).any() and near["distance"].max() <= 0.05


def test_all_ways_to_give_a_pose(cube, rng):
    position, q = rng.uniform(0.5, 0.8, 3), quaternion(rng)
    expected = palpate.distance(cube, cube, pose_b=(position, q)).distance
    ways = [
        (list(position), list(q)),
        np.concatenate([position, q]),
        matrix(position, q),
        matrix(position, q).tolist(),
        np.asfortranarray(matrix(position, q)),
        matrix(position, q).astype(np.float32),
        (position, 3 * q),
        (position, -q),
    ]
    for pose in ways:
        # Single precision and the way over a matrix round.
        assert palpate.distance(cube, cube, pose_b=pose).distance == pytest.approx(expected, abs=1e-6)


BAD_POSES = [
    (np.eye(3), r"shape \(3, 3\)"),
    (np.zeros((4, 4)), "last row"),
    (2 * np.eye(4), "last row"),
    (np.diag([2.0, 2, 2, 1]), "scaled"),
    (np.diag([1.0, 1, -1, 1]), "mirrors"),
    (np.full((4, 4), np.nan), "finite"),
    (([0, 0, 0], [0, 0, 0, 0]), "no length"),
    (([0, 0, np.inf], [0, 0, 0, 1]), "finite"),
    (([0, 0, 0], [0, 0, 1]), "quaternion"),
    (([0, 0], [0, 0, 0, 1]), "position"),
    ([0, 0, 0], r"shape \(3,\)"),
    ("here", "pose"),
    (np.eye(4, dtype=complex), "complex"),
]


@pytest.mark.parametrize(("pose", "says"), BAD_POSES)
def test_bad_poses_are_named(cube, pose, says):
    for ask in (palpate.contacts, palpate.distance, palpate.intersects, palpate.penetration):
        with pytest.raises(palpate.InputError, match=says):
            ask(cube, cube, pose_b=pose)
        with pytest.raises(palpate.InputError, match="pose_a"):
            ask(cube, cube, pose_a=pose)


def test_distance_and_witnesses(cube):
    apart = palpate.distance(cube, cube, pose_b=APART)
    assert apart.distance == pytest.approx(0.5, abs=1e-6) and not apart.overlaps
    assert apart.witness_a[0] == pytest.approx(0.5) and apart.witness_b[0] == pytest.approx(1.0)
    assert np.linalg.norm(apart.witness_b - apart.witness_a) == pytest.approx(apart.distance)
    np.testing.assert_allclose(apart.direction, [1, 0, 0], atol=1e-6)
    assert 0 <= apart.bound < 0.3 and float(apart) == apart.distance
    pressed = palpate.distance(cube, cube, pose_b=PRESSED)
    assert pressed.overlaps and pressed.distance == pytest.approx(-0.1, abs=0.01)


def test_exact_distance_is_that_of_the_triangles(gear, rng):
    """Against the meshes as soft ones: the same least distance, with witnesses that far apart; overlaps keep their depth."""
    shape, soft = palpate.Soft(), palpate.SoftMesh(gear.vertices, gear.faces)
    improved = overlaps = 0
    for _ in range(40):
        pose = matrix(rng.uniform(-0.09, 0.09, 3), quaternion(rng))
        found, exact = palpate.distance(gear, gear, pose_b=pose), palpate.distance(gear, gear, pose_b=pose, exact=True)
        assert exact.distance == palpate.Pair(gear, gear).distance(pose_b=pose, exact=True).distance
        if exact.overlaps:
            overlaps += 1
            assert exact.distance == found.distance
            continue
        other = palpate.SoftMesh(gear.vertices @ pose[:3, :3].T + pose[:3, 3], gear.faces)
        assert exact.distance == pytest.approx(shape.distance(soft, other).distance, rel=1e-12, abs=1e-15)
        assert exact.bound == 0 and np.linalg.norm(exact.witness_a - exact.witness_b) == pytest.approx(exact.distance, rel=1e-9)
        assert found.distance - found.bound <= exact.distance <= found.distance * (1 + 1e-9)
        improved += exact.distance < found.distance * (1 - 1e-6)
    assert improved > 5 and overlaps > 3, (improved, overlaps)


def test_results_are_in_the_frame_of_the_poses(gear, rng):
    """The same scene placed elsewhere: everything moves with it."""
    for _ in range(20):
        b = matrix([0.055, rng.uniform(-0.01, 0.01), 0], [0, 0, 0.0654, 0.99786])
        w = matrix(rng.uniform(-1, 1, 3), quaternion(rng))
        here, there = palpate.contacts(gear, gear, pose_b=b), palpate.contacts(gear, gear, w, w @ b)
        assert len(here) > 10
        # Rounding of the relative pose may move a point over the surface; none here is so near.
        if len(here) == len(there):
            np.testing.assert_array_equal(here["id"], there["id"])
            np.testing.assert_allclose(here["point"] @ w[:3, :3].T + w[:3, 3], there["point"], atol=1e-6)
            np.testing.assert_allclose(here["normal"] @ w[:3, :3].T, there["normal"], atol=1e-4)
        one = palpate.wrench(gear, gear, pose_b=b, stiffness=1e9)
        two = palpate.wrench(gear, gear, w, w @ b, stiffness=1e9)
        np.testing.assert_allclose(w[:3, :3] @ one.force, two.force, rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(w[:3, :3] @ one.torque, two.torque, rtol=1e-3, atol=1e-3)
        d, e = palpate.distance(gear, gear, pose_b=b), palpate.distance(gear, gear, w, w @ b)
        assert d.distance == pytest.approx(e.distance, abs=1e-6)


def test_origin_keeps_digits_far_away(cube):
    """A million metres from the frame's origin single precision has 6 cm; relative to a place nearby nothing is lost."""
    far = np.eye(4)
    far[:3, 3] = [1e6, 2e6, 0]
    b = far.copy()
    b[0, 3] += 0.9
    here = palpate.contacts(cube, cube, pose_b=PRESSED)
    there = palpate.contacts(cube, cube, far, b, origin=far[:3, 3])
    # The relative pose has 1e-9 m; contacts whose depth is 0 come and go with it.
    deep_here, deep_there = (c[c["distance"] < -1e-6] for c in (here, there))
    np.testing.assert_array_equal(deep_here["id"], deep_there["id"])
    np.testing.assert_allclose(deep_here["point"], deep_there["point"], atol=1e-6)


def test_swap(gear):
    """Of the same points the contacts are the same, their normals opposite."""
    b = matrix([0.056, 0, 0], [0, 0, 0.0654, 0.99786])
    one = palpate.contacts(gear, gear, pose_b=b, points_of="b")
    two = palpate.contacts(gear, gear, b, np.eye(4), points_of="a")
    deep = one["distance"] < -1e-6
    np.testing.assert_array_equal(one["id"][deep], two["id"][two["distance"] < -1e-6])
    np.testing.assert_allclose(one["normal"][deep], -two["normal"][two["distance"] < -1e-6], atol=1e-4)


def test_intersects(cube, rng):
    assert palpate.intersects(cube, cube) and palpate.intersects(cube, cube, pose_b=PRESSED)
    assert not palpate.intersects(cube, cube, pose_b=APART)
    hits = 0
    for _ in range(200):
        pose = (rng.uniform(-1.3, 1.3, 3), quaternion(rng))
        meets, d = palpate.intersects(cube, cube, pose_b=pose), palpate.distance(cube, cube, pose_b=pose)
        hits += meets
        assert meets == (d.distance < 0) or abs(d.distance) < 1e-3
    assert 0.2 < hits / 200 < 0.9


def test_penetration_separates(gear, cube):
    out = palpate.penetration(cube, cube, pose_b=([0.7, 0.1, 0.05], [0, 0, 0, 1]))
    assert out.overlapping and out.depth == pytest.approx(0.3, abs=1e-6)
    np.testing.assert_allclose(out.direction, [1, 0, 0], atol=1e-3)
    assert out.lower <= out.depth + out.bound
    b = matrix([0.05, 0, 0], [0, 0, 0.0654, 0.99786])
    out = palpate.penetration(gear, gear, pose_b=b)
    assert out.depth > 0
    b[:3, 3] += out.free
    assert not palpate.intersects(gear, gear, pose_b=b)
    assert palpate.penetration(cube, cube, pose_b=APART).depth == 0


def test_time_of_impact(cube):
    hit = palpate.time_of_impact(cube, cube, ([3, 0, 0], [0, 0, 0, 1]), ([-3, 0, 0], [0, 0, 0, 1]))
    # They meet at x = 1, a third of the way; reported early by at most `early` of 6 m.
    assert hit.end == "hit" and 1 / 3 - hit.early / 6 <= hit.time <= 1 / 3
    assert hit.pose_b[0, 3] == pytest.approx(1, abs=hit.early + 1e-9)
    assert hit.normal[0] == pytest.approx(1, abs=1e-3)
    free = palpate.time_of_impact(cube, cube, ([3, 2, 0], [0, 0, 0, 1]), ([-3, 2, 0], [0, 0, 0, 1]))
    assert free.time is None and free.end == "free"
    assert palpate.time_of_impact(cube, cube, PRESSED, APART).end == "overlapping"
    with pytest.raises(palpate.InputError, match="tolerance"):
        palpate.time_of_impact(cube, cube, PRESSED, APART, tolerance=-1)
    with pytest.raises(palpate.InputError, match="end"):
        palpate.time_of_impact(cube, cube, PRESSED, [1, 2])


def test_wrench(cube):
    push = palpate.wrench(cube, cube, pose_b=PRESSED, stiffness=1e6)
    assert push.force[0] > 0 and abs(push.force[1]) + abs(push.force[2]) < 1e-3 * push.force[0]
    assert push.contacts > 0 and push.area > 0
    double = palpate.wrench(cube, cube, pose_b=PRESSED, stiffness=2e6)
    np.testing.assert_allclose(double.force, 2 * push.force, rtol=1e-6)
    averaged = palpate.wrench(cube, cube, pose_b=PRESSED, stiffness=1e6, law="averaged")
    np.testing.assert_allclose(averaged.force * averaged.area, push.force, rtol=1e-6, atol=1e-9)
    damped = palpate.wrench(cube, cube, pose_b=PRESSED, stiffness=1e6, damping=1e5, velocity=([-1, 0, 0], [0, 0, 0]))
    assert damped.force[0] > push.force[0]


def test_friction(cube):
    sliding = dict(pose_b=PRESSED, stiffness=1e6, velocity=([0, 1, 0], [0, 0, 0]))
    push = palpate.wrench(cube, cube, friction=0.5, **sliding)
    assert push.force[1] == pytest.approx(-0.5 * push.normal_force, rel=0.05) and push.sliding > 0
    pair = palpate.wrench(cube, cube, friction=(0.5, 0.2), **sliding)
    assert pair.force[1] > push.force[1]
    for same in ([0.5, 0.2], np.array([0.5, 0.2])):
        np.testing.assert_array_equal(palpate.wrench(cube, cube, friction=same, **sliding).force, pair.force)
    # With memory it sticks, and pulls back to where it stuck.
    pair = palpate.Pair(cube, cube)
    first = pair.wrench(pose_b=PRESSED, stiffness=1e6, friction=0.5)
    assert first.sticking > 0
    moved = pair.wrench(pose_b=([0.9, 1e-4, 0], [0, 0, 0, 1]), stiffness=1e6, friction=0.5)
    assert moved.force[1] < -1e-3 and moved.sticking > 0
    pair.reset()
    again = pair.wrench(pose_b=([0.9, 1e-4, 0], [0, 0, 0, 1]), stiffness=1e6, friction=0.5)
    assert again.force[1] > moved.force[1]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (dict(stiffness=-1.0), "stiffness is -1"),
        (dict(stiffness=float("nan")), "stiffness is NaN"),
        (dict(stiffness=1.0, law="quadratic"), "law"),
        (dict(stiffness=1.0, direction="up"), "direction"),
        (dict(stiffness=1.0, friction=-0.5), "coefficient"),
        (dict(stiffness=1.0, friction=(0.1, 0.5)), "static"),
        (dict(stiffness=1.0, friction=[0.1, 0.5]), "static"),
        (dict(stiffness=1.0, friction="ab"), "^friction is a str; give a coefficient, or a pair of static and dynamic"),
        (dict(stiffness=1.0, friction=[0.5]), "^friction is a list; give a coefficient"),
        (dict(stiffness=1.0, friction=(1, 2, 3)), "^friction is a tuple; give a coefficient"),
        (dict(stiffness=1.0, velocity=[1, 2, 3]), "velocity"),
        (dict(stiffness=1.0, velocity=([1, 2], [0, 0, 0])), "linear"),
        (dict(stiffness=1.0, points_of="c"), "points_of"),
    ],
)
def test_bad_forces_are_named(cube, given, says):
    with pytest.raises(palpate.InputError, match=says):
        palpate.wrench(cube, cube, **given)


def test_bad_margin(cube):
    for margin in (np.nan, np.inf):
        with pytest.raises(palpate.InputError, match="margin"):
            palpate.contacts(cube, cube, margin=margin)
    with pytest.raises(TypeError):
        palpate.contacts(cube, "cube")


def test_pair_with_memory_says_the_same(gear, rng):
    pair = palpate.Pair(gear, gear)
    for _ in range(50):
        pose = (np.array([0.06, 0, 0]) + rng.uniform(-0.01, 0.01, 3), quaternion(rng))
        np.testing.assert_array_equal(pair.contacts(pose_b=pose), palpate.contacts(gear, gear, pose_b=pose))
        assert pair.distance(pose_b=pose).distance == palpate.distance(gear, gear, pose_b=pose).distance
        assert pair.intersects(pose_b=pose) == palpate.intersects(gear, gear, pose_b=pose)
        one, two = pair.wrench(pose_b=pose, stiffness=1e9), palpate.wrench(gear, gear, pose_b=pose, stiffness=1e9)
        np.testing.assert_array_equal(one.force, two.force)


def test_many_threads_may_ask_one_shape(gear):
    expected = palpate.contacts(gear, gear, pose_b=([0.056, 0, 0], [0, 0, 0, 1]))
    bad = []

    def ask():
        for _ in range(50):
            found = palpate.contacts(gear, gear, pose_b=([0.056, 0, 0], [0, 0, 0, 1]))
            if not np.array_equal(found, expected):
                bad.append(found)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not bad
