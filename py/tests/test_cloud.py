"""Points without a surface."""

import numpy as np
import pytest

import palpate


@pytest.fixture(scope="module")
def scan():
    rng = np.random.default_rng(11)
    points = rng.normal(size=(5000, 3))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def test_nearest_is_that_of_all(scan, rng):
    cloud = palpate.Cloud(scan)
    assert len(cloud) == 5000 and 0 < cloud.spacing < 0.1
    places = rng.uniform(-1.2, 1.2, (500, 3))
    points, distance, ids = cloud.nearest(places)
    all_of_them = np.linalg.norm(places[:, None] - scan[None], axis=2)
    # Positions are kept rounded, to far less than this.
    np.testing.assert_allclose(distance, all_of_them.min(axis=1), atol=1e-6)
    np.testing.assert_allclose(points, scan[ids], atol=1e-6)
    np.testing.assert_array_equal(cloud.nearest(places, threads=1)[2], ids)


def test_within_and_nearest_k(scan):
    cloud = palpate.Cloud(scan)
    place = np.array([1.0, 0, 0])
    true = np.linalg.norm(scan - place, axis=1)
    _, distance, ids = cloud.within(place, 0.2)
    np.testing.assert_array_equal(ids, np.flatnonzero(true <= 0.2))
    _, distance, ids = cloud.nearest_k(place, 7)
    np.testing.assert_allclose(distance, np.sort(true)[:7], atol=1e-6)
    assert (np.diff(distance) >= 0).all()
    assert len(cloud.nearest_k(place, 10**9)[2]) == 5000


def test_points_come_go_and_move(scan):
    cloud = palpate.Cloud(scan)
    new = cloud.insert([0, 0, 0])
    assert len(cloud) == 5001 and cloud.nearest([[0, 0, 0.01]])[2][0] == new
    cloud.move_to(new, [0.5, 0, 0])
    assert cloud.nearest([[0.49, 0, 0]])[2][0] == new
    assert cloud.remove(new) and not cloud.remove(new)
    assert len(cloud) == 5000


def test_file(tmp_path, scan):
    path = tmp_path / "scan.xyz"
    np.savetxt(path, 1000 * scan)
    cloud = palpate.Cloud.from_file(path, unit="mm")
    assert len(cloud) == 5000
    # It holds all points, and is that of cells around them.
    low, high = cloud.aabb
    assert (low <= scan.min(axis=0)).all() and (high >= scan.max(axis=0)).all()
    np.testing.assert_allclose(cloud.aabb, [scan.min(axis=0), scan.max(axis=0)], atol=0.01)
    with pytest.raises(palpate.FileError):
        palpate.Cloud.from_file(tmp_path / "nowhere.xyz")


def test_bad_input(scan):
    cloud = palpate.Cloud(scan)
    with pytest.raises(palpate.InputError, match="points has shape"):
        palpate.Cloud(scan[:, :2])
    points, distance, ids = cloud.nearest([[np.nan, 0, 0], [1, 0, 0]])
    assert np.isnan(distance[0]) and ids[0] == -1 and ids[1] >= 0
    with pytest.raises(palpate.InputError, match="finite"):
        cloud.insert([np.nan, 0, 0])
    with pytest.raises(palpate.BuildError):
        cloud.move_to(999_999, [0, 0, 0])
    assert cloud.nearest(np.zeros((0, 3)))[0].shape == (0, 3)
    assert len(cloud.within([0, 0, 0], -1)[2]) == 0
