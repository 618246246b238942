"""Many poses: the same as one by one."""

import multiprocessing
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import palpate
from conftest import matrix, quaternion


@pytest.fixture(scope="module")
def poses():
    rng = np.random.default_rng(7)
    n = 200
    positions = np.array([0.058, 0, 0]) + rng.uniform(-0.02, 0.02, (n, 3))
    return positions, quaternion(rng, n)


def test_batch_is_single(gear, torus, poses):
    found = palpate.wrench_batch(gear, torus, poses, stiffness=1e9, full=True)
    alone = palpate.contacts_batch(gear, torus, poses, full=True)
    meets = palpate.intersects_batch(gear, torus, poses)
    apart = palpate.distance_batch(gear, torus, poses)
    # Some touch, some do not.
    assert 0.2 < (found.count > 0).mean() < 0.98
    assert found.offsets.shape == (201,) and found.offsets[-1] == len(found.contacts)
    np.testing.assert_array_equal(np.diff(found.offsets), found.count)
    np.testing.assert_array_equal(alone.count, found.count)
    np.testing.assert_array_equal(alone.contacts, found.contacts)
    for i, pose in enumerate(zip(*poses)):
        one = palpate.contacts(gear, torus, pose_b=pose)
        np.testing.assert_array_equal(found.contacts[found.offsets[i] : found.offsets[i + 1]], one)
        push = palpate.wrench(gear, torus, pose_b=pose, stiffness=1e9)
        np.testing.assert_array_equal(push.force, found.force[i])
        np.testing.assert_array_equal(push.torque, found.torque[i])
        assert push.area == found.area[i]
        assert meets[i] == palpate.intersects(gear, torus, pose_b=pose)
        d = palpate.distance(gear, torus, pose_b=pose)
        assert (d.distance, d.bound) == (apart.distance[i], apart.bound[i])
        np.testing.assert_array_equal(d.witness_a, apart.witness_a[i])
        np.testing.assert_array_equal(d.witness_b, apart.witness_b[i])
        if len(one):
            assert found.deepest[i] == one[one["distance"].argmin()]
        else:
            assert np.isnan(found.deepest[i]["distance"]) and found.deepest[i]["id"] == 2**32 - 1


def test_lists_without_room_are_refused_before_they_fill_it(gear, monkeypatch):
    poses = np.broadcast_to(np.eye(4), (400, 4, 4))
    one = palpate.contacts(gear, gear, pose_b=np.eye(4))
    assert len(one) > 100
    whole = palpate.contacts_batch(gear, gear, poses, full=True)
    assert len(whole.contacts) == 400 * len(one)
    # Half of it is for lists.
    monkeypatch.setattr(palpate._room, "free", lambda: 2.0 * whole.contacts.nbytes)
    assert len(palpate.contacts_batch(gear, gear, poses, full=True).contacts) == len(whole.contacts)
    monkeypatch.setattr(palpate._room, "free", lambda: 1.9 * whole.contacts.nbytes)
    for ask in (palpate.contacts_batch, lambda *given, **how: palpate.wrench_batch(*given, stiffness=1e9, **how)):
        with pytest.raises(MemoryError, match="all contacts of 400 poses take about 0.0 GiB; ask for fewer"):
            ask(gear, gear, poses, full=True)
        assert (ask(gear, gear, poses).count == len(one)).all()


def test_ways_out_are_those_of_single_poses(gear, torus, poses):
    some = (poses[0][:40], poses[1][:40])
    w = matrix([0.3, -0.2, 0.1], quaternion(np.random.default_rng(5)))
    here = np.stack([w @ matrix(p, q) for p, q in zip(*some)])
    out = palpate.penetration_batch(gear, torus, some, threads=2)
    moved = palpate.penetration_batch(gear, torus, here, pose_a=w, directions=32)
    assert 0.2 < out.overlapping.mean() < 0.98
    for i, pose in enumerate(zip(*some)):
        one = palpate.penetration(gear, torus, pose_b=pose)
        assert (one.depth, one.bound, one.lower, one.overlapping) == (out.depth[i], out.bound[i], out.lower[i], out.overlapping[i])
        np.testing.assert_array_equal(one.translation, out.translation[i])
        np.testing.assert_array_equal(one.free, out.free[i])
        one = palpate.penetration(gear, torus, pose_a=w, pose_b=here[i], directions=32)
        np.testing.assert_array_equal(one.translation, moved.translation[i])


def test_impacts_are_those_of_single_motions(gear, torus, poses):
    positions, quaternions = poses
    starts = (positions + [0.1, 0, 0], quaternions)
    ends = (positions * [1, -1, 1] - [0.02, 0, 0], quaternions[::-1])
    found = palpate.time_of_impact_batch(gear, torus, starts, ends)
    hit = ~np.isnan(found.time)
    assert 0.2 < hit.mean() <= 1.0 and set(found.end) <= {"hit", "free", "overlapping", "near", "unfinished"}
    for i in range(0, 200, 5):
        one = palpate.time_of_impact(gear, torus, (starts[0][i], starts[1][i]), (ends[0][i], ends[1][i]))
        assert one.end == found.end[i] and (one.time is None) == np.isnan(found.time[i])
        assert one.time is None or one.time == found.time[i]
        np.testing.assert_array_equal(one.point, found.point[i])
        np.testing.assert_array_equal(one.pose_b, found.pose_b[i])
        np.testing.assert_array_equal(one.normal, found.normal[i])
        assert one.early == found.early[i]
    two = palpate.time_of_impact_batch(gear, torus, starts, ends, threads=1)
    np.testing.assert_array_equal(two.time, found.time)
    w = matrix([0.3, -0.2, 0.1], quaternion(np.random.default_rng(5)))
    turned = [np.stack([w @ matrix(p, q) for p, q in zip(*some)]) for some in (starts, ends)]
    there = palpate.time_of_impact_batch(gear, torus, *turned, pose_a=w)
    np.testing.assert_allclose(there.time, found.time, atol=1e-3)
    with pytest.raises(palpate.InputError, match="200 starts, but 3 ends"):
        palpate.time_of_impact_batch(gear, torus, starts, (ends[0][:3], ends[1][:3]))
    with pytest.raises(palpate.InputError, match="tolerance is 0"):
        palpate.time_of_impact_batch(gear, torus, starts, ends, tolerance=0.0)
    with pytest.raises(palpate.InputError, match=r"ends\[7\] holds NaN"):
        wrong = positions.copy()
        wrong[7, 1] = np.nan
        palpate.time_of_impact_batch(gear, torus, starts, (wrong, quaternions))


LONG = """
import signal, numpy as np, palpate
signal.signal(signal.SIGINT, signal.default_int_handler)  # those who start tests in the background ignore it
gear = palpate.Shape.sample("gear", resolution=96)
rng = np.random.default_rng(1)
n = 2_000_000
poses = np.zeros((n, 7)); poses[:, :3] = rng.uniform(-0.01, 0.01, (n, 3)); poses[:, 3:] = rng.normal(size=(n, 4))
points = np.broadcast_to(rng.uniform(-1, 1, (1, 3)), (20_000_000, 3)).copy()
print("go", flush=True)
{}
print("done")
"""


@pytest.mark.parametrize(
    "call",
    [
        "palpate.wrench_batch(gear, gear, poses, stiffness=1e9)",
        "palpate.intersects_batch(gear, gear, poses + 0.02)",
        "palpate.distance_batch(gear, gear, poses)",
        "palpate.penetration_batch(gear, gear, poses)",
        "palpate.time_of_impact_batch(gear, gear, poses + 0.3, poses)",
        "gear.signed_distance(points, exact=True)",
    ],
)
def test_ctrl_c_ends_long_calls(call):
    process = subprocess.Popen([sys.executable, "-c", LONG.format(call)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "go\n"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    try:
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert "done" not in out and "KeyboardInterrupt" in err, (out, err)


def test_lists_only_on_request(gear, poses):
    found = palpate.contacts_batch(gear, gear, poses)
    assert found.offsets is None and found.contacts is None
    assert found.deepest.dtype == palpate.CONTACT and found.count.dtype == np.int64


def test_all_ways_to_give_poses(gear, poses):
    positions, quaternions = poses
    expected = palpate.distance_batch(gear, gear, poses).distance
    seven = np.concatenate([positions, quaternions], axis=1)
    matrices = np.stack([matrix(p, q) for p, q in zip(*poses)])
    np.testing.assert_array_equal(palpate.distance_batch(gear, gear, seven).distance, expected)
    np.testing.assert_allclose(palpate.distance_batch(gear, gear, matrices).distance, expected, atol=1e-9)
    np.testing.assert_allclose(palpate.distance_batch(gear, gear, matrices[::-1]).distance[::-1], expected, atol=1e-9)
    single = palpate.distance_batch(gear, gear, matrices.astype(np.float32)).distance
    np.testing.assert_allclose(single, expected, atol=1e-6)


def test_pose_a(gear, poses):
    rng = np.random.default_rng(3)
    w = matrix(rng.uniform(-1, 1, 3), quaternion(rng))
    matrices = np.stack([matrix(p, q) for p, q in zip(*poses)])
    here = palpate.wrench_batch(gear, gear, matrices, stiffness=1e9)
    there = palpate.wrench_batch(gear, gear, w @ matrices, pose_a=w, stiffness=1e9)
    # A point within rounding of the surface may change sides; its force is none.
    np.testing.assert_allclose(here.force @ w[:3, :3].T, there.force, rtol=1e-3, atol=1e-2)
    one = palpate.distance_batch(gear, gear, matrices)
    two = palpate.distance_batch(gear, gear, w @ matrices, pose_a=w)
    np.testing.assert_allclose(one.distance, two.distance, atol=1e-6)
    apart = one.distance > 1e-3
    np.testing.assert_allclose(np.linalg.norm(two.witness_a - two.witness_b, axis=1)[apart], two.distance[apart], atol=1e-9)


def test_threads_do_not_change_bits(gear, poses):
    one = palpate.wrench_batch(gear, gear, poses, stiffness=1e9, full=True, threads=1)
    for threads in (0, 2, 3):
        other = palpate.wrench_batch(gear, gear, poses, stiffness=1e9, full=True, threads=threads)
        np.testing.assert_array_equal(one.contacts, other.contacts)
        np.testing.assert_array_equal(one.force, other.force)


def test_no_poses(gear):
    for none in (np.zeros((0, 4, 4)), np.zeros((0, 7)), (np.zeros((0, 3)), np.zeros((0, 4))), []):
        found = palpate.wrench_batch(gear, gear, none, stiffness=1e9, full=True)
        assert len(found.count) == 0 and found.force.shape == (0, 3) and found.offsets.tolist() == [0]
        assert palpate.intersects_batch(gear, gear, none).shape == (0,)
        assert palpate.penetration_batch(gear, gear, none).translation.shape == (0, 3)
        assert palpate.time_of_impact_batch(gear, gear, none, none).pose_b.shape == (0, 4, 4)


def test_lists_of_two(gear, poses):
    """Positions and quaternions in a list, as in a tuple; two poses in a list stay two poses."""
    p, q = poses
    one = (p[0], q[0])
    for pair in ([p[0], q[0]], [p[0].tolist(), q[0].tolist()]):
        np.testing.assert_array_equal(palpate.contacts(gear, gear, None, pair), palpate.contacts(gear, gear, None, one))
    many = palpate.distance_batch(gear, gear, poses).distance
    for pair in ([p, q], [p.tolist(), q.tolist()]):
        np.testing.assert_array_equal(palpate.distance_batch(gear, gear, pair).distance, many)
    # As frames of a motion too, and one that stands.
    assert palpate.show(gear, poses=[[p[:3], q[:3]]]).html == palpate.show(gear, poses=[(p[:3], q[:3])]).html
    assert palpate.show(gear, poses=[[p[0], q[0]]]).html == palpate.show(gear, poses=[one]).html
    sevens, matrices = np.hstack([p[:2], q[:2]]), np.stack([matrix(a, b) for a, b in zip(p[:2], q[:2])])
    for two, same in [(sevens, list(sevens)), (sevens, sevens.tolist()), (matrices, list(matrices)), (matrices, matrices.tolist())]:
        np.testing.assert_array_equal(palpate.distance_batch(gear, gear, same).distance, palpate.distance_batch(gear, gear, two).distance)
        with pytest.raises(palpate.InputError, match=r"pose_b has shape \(2, "):
            palpate.contacts(gear, gear, None, same)
    with pytest.raises(palpate.InputError, match="3 positions but 2 quaternions"):
        palpate.distance_batch(gear, gear, [p[:3], q[:2]])
    with pytest.raises(palpate.InputError, match=r"the position of pose_b has shape \(3, 3\)"):
        palpate.contacts(gear, gear, None, [p[:3], q[:3]])


BAD = [
    (np.eye(4), r"poses has shape \(4, 4\)"),
    (np.zeros((3, 6)), r"poses has shape \(3, 6\)"),
    ((np.zeros((3, 3)), np.ones((2, 4))), "3 positions but 2 quaternions"),
    ((np.zeros((3, 2)), np.ones((3, 4))), "positions of poses"),
    ((np.zeros((3, 3)), np.zeros((3, 4))), r"quaternion of poses\[0\] has no length"),
    (np.stack([np.eye(4), np.full((4, 4), np.nan)]), r"poses\[1\] holds NaN"),
    (np.stack([np.eye(4), np.diag([3.0, 3, 3, 1])]), r"poses\[1\] is no rigid motion"),
    (np.zeros((2, 7), complex), "complex128"),
    ("poses", "poses"),
    (None, "poses"),
]


@pytest.mark.parametrize(("poses", "says"), BAD)
def test_bad_poses_are_named(gear, poses, says):
    for ask in (palpate.contacts_batch, palpate.distance_batch, palpate.intersects_batch, palpate.penetration_batch):
        with pytest.raises(palpate.InputError, match=says):
            ask(gear, gear, poses)


def _in_a_fork(queue, gear, poses):
    queue.put(palpate.intersects_batch(gear, gear, poses).sum())


def test_after_a_fork_batches_still_work(gear, poses):
    """The pool's threads do not follow into a child; without care it would wait for them for ever."""
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("no fork here")
    expected = palpate.intersects_batch(gear, gear, poses).sum()
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_in_a_fork, args=(queue, gear, poses))
    child.start()
    assert queue.get(timeout=60) == expected
    child.join(60)
    assert child.exitcode == 0
