"""Building, properties, files, distances of points."""

import os
import pathlib
import pickle

import numpy as np
import pytest

import palpate
from conftest import CUBE_FACES, CUBE_VERTICES


def cube_distance(p):
    """Signed distance to the cube of edge 1, by formula."""
    q = np.abs(p) - 0.5
    return np.linalg.norm(np.maximum(q, 0), axis=1) + np.minimum(q.max(axis=1), 0)


def test_properties(cube):
    assert cube.voxel == 0.05
    assert cube.spacing == pytest.approx(0.1)
    assert cube.volume == pytest.approx(1.0)
    assert cube.area == pytest.approx(6.0)
    np.testing.assert_allclose(cube.centre_of_mass, 0, atol=1e-12)
    np.testing.assert_allclose(cube.inertia, np.eye(3) / 6, atol=1e-12)
    np.testing.assert_allclose(cube.aabb, [[-0.5] * 3, [0.5] * 3])
    assert cube.vertices.shape == (8, 3) and cube.faces.shape == (12, 3)
    assert cube.points.shape == cube.normals.shape == (cube.report.points, 3)
    assert np.abs(cube_distance(cube.points)).max() < 1e-6
    assert 0 < cube.error_bound_band <= cube.error_bound_far
    assert cube.nbytes > 1000
    assert "12 triangles" in repr(cube)


def test_report(cube):
    report = cube.report
    assert report.watertight and report.holes == 0 and report.components == 1
    assert (report.vertices, report.triangles) == (8, 12)
    assert report.sign_confidence > 0.99


def test_open_mesh_is_capped_and_says_so():
    shape = palpate.Shape(CUBE_VERTICES, CUBE_FACES[:-2], voxel=0.05)
    assert not shape.report.watertight
    assert shape.report.boundary_edges == 4 and shape.report.caps == 1
    assert shape.signed_distance([[0, 0, 0]])[0] < -0.4


def test_resolution_is_the_default():
    shape = palpate.Shape(CUBE_VERTICES, CUBE_FACES)
    assert shape.voxel == pytest.approx(1 / 122)
    assert palpate.Shape(CUBE_VERTICES, CUBE_FACES, resolution=26).voxel == pytest.approx(1 / 20)


def test_signed_distance_is_within_its_bound(cube, rng):
    points = rng.uniform(-0.9, 0.9, (20_000, 3))
    true = cube_distance(points)
    # Enough of them inside, or the test says little.
    assert 0.1 < (true < 0).mean() < 0.4
    inside_box = np.abs(points).max(axis=1) < 0.6
    found = cube.signed_distance(points)
    assert found.dtype == np.float64 and found.shape == (20_000,)
    # Single precision inside the field's box adds about 1e-7 m.
    assert np.abs(found - true)[inside_box].max() <= cube.error_bound_far + 1e-6
    near = inside_box & (np.abs(true) < cube.band / 2)
    assert np.abs(found - true)[near].max() <= cube.error_bound_band + 1e-6


def test_exact_distance(cube, rng):
    points = rng.uniform(-0.9, 0.9, (20_000, 3))
    # Also points hardly off the surface, where the field alone cannot tell the side.
    faces = rng.uniform(-0.5, 0.5, (4000, 3))
    axis = rng.integers(0, 3, 4000)
    faces[np.arange(4000), axis] = np.where(rng.random(4000) < 0.5, -0.5, 0.5) + rng.uniform(-1e-4, 1e-4, 4000)
    points = np.concatenate([points, faces])
    # f64: 1e-7 of the diagonal with room to spare.
    np.testing.assert_allclose(cube.signed_distance(points, exact=True), cube_distance(points), atol=1e-9)


def test_exact_sides_on_a_curved_surface(gear, rng):
    """Hardly off the surface of a coarse field, along its own normals: the side is known."""
    faces, vertices = gear.faces, gear.vertices
    corners = vertices[faces[rng.integers(0, len(faces), 3000)]]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    offset = rng.uniform(-1e-6, 1e-6, 3000)
    points = corners.mean(axis=1) + offset[:, None] * normals
    exact = gear.signed_distance(points, exact=True)
    np.testing.assert_allclose(exact, offset, atol=1e-12)
    # The field alone is wrong about some.
    assert ((gear.signed_distance(points) < 0) != (offset < 0)).mean() > 0.01


def test_gradients_point_outward(cube, rng):
    points = rng.uniform(-0.55, 0.55, (2000, 3))
    distance, gradient = cube.signed_distance(points, gradients=True)
    assert gradient.shape == (2000, 3)
    # The derivative along each axis by finite differences, inside voxels.
    step = 1e-6
    for axis in range(3):
        offset = np.zeros(3)
        offset[axis] = step
        ahead, _ = cube.signed_distance(points + offset, gradients=True)
        behind, _ = cube.signed_distance(points - offset, gradients=True)
        # A step over a voxel's face changes the slope: rare.
        close = np.isclose((ahead - behind) / (2 * step), gradient[:, axis], atol=1e-4)
        assert close.mean() > 0.99
    exact, way = cube.signed_distance(points, exact=True, gradients=True)
    np.testing.assert_allclose(np.linalg.norm(way, axis=1), 1, atol=1e-9)
    assert np.abs(exact - distance).max() <= cube.error_bound_far


def test_closest_point(cube, rng):
    points = rng.uniform(-1, 1, (1000, 3))
    closest, distance, triangle = cube.closest_point(points)
    np.testing.assert_allclose(np.linalg.norm(points - closest, axis=1), distance, atol=1e-12)
    np.testing.assert_allclose(distance, np.abs(cube_distance(points)), atol=1e-9)
    assert triangle.min() >= 0 and triangle.max() < 12
    closest, distance, triangle = cube.closest_point([[np.nan, 0, 0]])
    assert np.isnan(distance[0]) and triangle[0] == -1


def test_any_array_of_numbers_gives_the_same(cube, rng):
    points = rng.uniform(-0.6, 0.6, (100, 3)).astype(np.float32).astype(np.float64)
    expected = cube.signed_distance(points)
    wide = np.zeros((100, 6))
    wide[:, ::2] = points
    for given in (points.tolist(), np.asfortranarray(points), wide[:, ::2], points[::-1][::-1]):
        np.testing.assert_array_equal(cube.signed_distance(given), expected)
    single = cube.signed_distance(points.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_array_equal(single, expected.astype(np.float32))
    strided = cube.signed_distance(wide.astype(np.float32)[:, ::2])
    assert strided.dtype == np.float32
    np.testing.assert_array_equal(strided, single)
    whole = cube.signed_distance(np.array([[0, 0, 0], [1, 0, 0]]))
    np.testing.assert_array_equal(whole, cube.signed_distance([[0.0, 0, 0], [1.0, 0, 0]]))


def test_points_that_are_no_points_give_nan(cube):
    points = np.array([[0, 0, 0], [np.nan, 0, 0], [np.inf, 0, 0]])
    for exact in (False, True):
        found = cube.signed_distance(points, exact=exact)
        assert np.isfinite(found[0]) and np.isnan(found[1:]).all()


def test_no_points(cube):
    assert cube.signed_distance(np.zeros((0, 3))).shape == (0,)
    distance, gradient = cube.signed_distance(np.zeros((0, 3)), gradients=True)
    assert distance.shape == (0,) and gradient.shape == (0, 3)
    assert cube.closest_point(np.zeros((0, 3)))[0].shape == (0, 3)


def test_threads_do_not_change_bits(gear, rng):
    points = rng.uniform(-0.04, 0.04, (50_000, 3))
    for exact in (False, True):
        one = gear.signed_distance(points, exact=exact, threads=1)
        for threads in (0, 2, 3):
            np.testing.assert_array_equal(gear.signed_distance(points, exact=exact, threads=threads), one)


def test_save_and_load(gear, tmp_path, rng):
    path = tmp_path / "gear.palp"
    gear.save(path)
    back = palpate.Shape.load(path)
    points = rng.uniform(-0.04, 0.04, (1000, 3))
    np.testing.assert_array_equal(back.signed_distance(points), gear.signed_distance(points))
    pose = ([0.058, 0, 0], [0, 0, 0, 1])
    np.testing.assert_array_equal(palpate.contacts(back, back, pose_b=pose), palpate.contacts(gear, gear, pose_b=pose))
    np.testing.assert_array_equal(palpate.Shape.load(str(path)).points, gear.points)


def test_files(tmp_path, cube_mesh):
    vertices, faces = cube_mesh
    path = tmp_path / "cube.obj"
    lines = ["v {} {} {}".format(*v) for v in 1000 * vertices] + ["f {} {} {}".format(*f) for f in faces + 1]
    path.write_text("\n".join(lines))
    for unit in ("mm", 1e-3):
        assert palpate.Shape.from_file(path, unit=unit, voxel=0.05).volume == pytest.approx(1)
    with pytest.raises(palpate.InputError, match="furlong"):
        palpate.Shape.from_file(path, unit="furlong")
    with pytest.raises(palpate.InputError, match="positive"):
        palpate.Shape.from_file(path, unit=-1)
    with pytest.raises(palpate.FileError, match="nowhere.obj"):
        palpate.Shape.from_file(tmp_path / "nowhere.obj")
    with pytest.raises(OSError):
        palpate.Shape.from_file(tmp_path / "nowhere.obj")
    (tmp_path / "bad.obj").write_text("v 0 0 zero\n")
    with pytest.raises(palpate.PalpateError, match="line 1"):
        palpate.Shape.from_file(tmp_path / "bad.obj")


def test_bad_palp_files(tmp_path, cube):
    path = tmp_path / "x.palp"
    with pytest.raises(palpate.FileError):
        palpate.Shape.load(path)
    path.write_bytes(b"not one")
    with pytest.raises(palpate.FileError, match="not a .palp file"):
        palpate.Shape.load(path)
    with pytest.raises(palpate.FileError):
        cube.save(tmp_path / "no" / "folder" / "x.palp")
    assert not (tmp_path / "no").exists()
    cube.save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(palpate.FileError):
        palpate.Shape.load(path)


@pytest.mark.skipif(not pathlib.Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_full_disk_is_an_error(cube, tmp_path):
    link = tmp_path / "full.palp"
    os.symlink("/dev/full", link)
    try:
        cube.save(link)
    except palpate.FileError:
        pass
    # Nothing half-written is left beside it.
    assert [p.name for p in tmp_path.iterdir()] == ["full.palp"]


def test_from_trimesh(rng):
    trimesh = pytest.importorskip("trimesh")
    mesh = trimesh.creation.icosphere(subdivisions=3, radius=0.1)
    shape = palpate.Shape.from_trimesh(mesh, resolution=48)
    assert shape.volume == pytest.approx(mesh.volume)
    np.testing.assert_allclose(shape.inertia, mesh.moment_inertia, rtol=1e-9, atol=1e-15)
    points = rng.uniform(-0.1, 0.1, (200, 3))
    closest, distance, _ = trimesh.proximity.closest_point_naive(mesh, points)
    np.testing.assert_allclose(shape.closest_point(points)[1], distance, atol=1e-9)
    with pytest.raises(palpate.InputError, match="vertices"):
        palpate.Shape.from_trimesh(object())


def test_scaled(cube):
    large = cube.scaled(2)
    assert large.volume == pytest.approx(8) and large.voxel == pytest.approx(0.1)
    with pytest.raises(palpate.BuildError, match="scale"):
        cube.scaled(-1)
    for factor in (1e-300, -1e-300, 1e300):
        with pytest.raises(palpate.BuildError, match="scale.*1e-?300") as error:
            cube.scaled(factor)
        assert len(str(error.value)) < 250


def test_samples():
    assert "gear" in palpate.SAMPLES
    with pytest.raises(palpate.InputError, match="teapot.*torus"):
        palpate.Shape.sample("teapot")


def test_shapes_are_pickled_to_the_last_bit(cube, rng):
    again = pickle.loads(pickle.dumps(cube))
    points = rng.uniform(-1, 1, (500, 3))
    np.testing.assert_array_equal(again.signed_distance(points), cube.signed_distance(points))
    np.testing.assert_array_equal(again.points, cube.points)
    # A shape whose vertices are no numbers of single precision.
    gear = palpate.Shape.sample("gear", resolution=48)
    assert (gear.vertices != gear.vertices.astype(np.float32)).any()
    other, near = pickle.loads(pickle.dumps(gear)), rng.uniform(-0.05, 0.05, (2000, 3))
    np.testing.assert_array_equal(other.vertices, gear.vertices)
    np.testing.assert_array_equal(other.signed_distance(near, exact=True), gear.signed_distance(near, exact=True))
    for one, two in zip(other.closest_point(near), gear.closest_point(near)):
        np.testing.assert_array_equal(one, two)
    data = cube.to_bytes()
    assert data == again.to_bytes() and other.to_bytes() == gear.to_bytes()
    for wrong in (b"", data[:100], data[: len(data) // 2], bytes(len(data))):
        with pytest.raises(palpate.FileError):
            palpate.Shape.from_bytes(wrong)


def test_builds_tell_how_far_they_are(capfd):
    told = []
    palpate.Shape(CUBE_VERTICES, CUBE_FACES, resolution=200, progress=lambda *now: told.append(now))
    assert told and all(isinstance(stage, str) and done >= 0 for stage, done, _ in told)
    palpate.Shape.sample("bumpy-sphere", resolution=200, progress=True)
    assert "\r" in capfd.readouterr().err
    palpate.Shape.sample("gear", resolution=64, progress=False)
    assert capfd.readouterr().err == ""
    with pytest.raises(palpate.InputError, match="progress is a int"):
        palpate.Shape.sample("gear", resolution=64, progress=7)

    class Enough(Exception):
        pass

    def stop(*now):
        raise Enough

    with pytest.raises(Enough):
        palpate.Shape.sample("bumpy-sphere", resolution=250, progress=stop)


BAD = [
    # vertices, faces, parameters, exception, what it says
    (CUBE_VERTICES[:, :2], CUBE_FACES, {}, palpate.InputError, r"vertices has shape \(8, 2\); it must be \(n, 3\)"),
    (CUBE_VERTICES.ravel(), CUBE_FACES, {}, palpate.InputError, r"vertices has shape \(24,\)"),
    (CUBE_VERTICES.astype(complex), CUBE_FACES, {}, palpate.InputError, "complex128"),
    ([["a", "b", "c"]], CUBE_FACES, {}, palpate.InputError, "vertices"),
    ([[0, 0, 0], [1, 0]], CUBE_FACES, {}, palpate.InputError, "vertices"),
    (None, CUBE_FACES, {}, palpate.InputError, "vertices"),
    (CUBE_VERTICES, CUBE_FACES.astype(float), {}, palpate.InputError, "faces has dtype float64"),
    (CUBE_VERTICES, CUBE_FACES[:, [0, 1, 2, 0]], {}, palpate.InputError, "quadrilaterals"),
    (CUBE_VERTICES, CUBE_FACES[0], {}, palpate.InputError, r"faces has shape \(3,\)"),
    (CUBE_VERTICES, -1 - CUBE_FACES, {}, palpate.InputError, "face 0 names vertex -1"),
    (CUBE_VERTICES, CUBE_FACES + 2, {}, palpate.MeshError, "the mesh has 8 vertices"),
    (CUBE_VERTICES, CUBE_FACES.astype(np.int64) + 2**33, {}, palpate.InputError, "names vertex 8589934592"),
    (np.where(CUBE_VERTICES > 0, np.nan, 0), CUBE_FACES, {}, palpate.MeshError, "vertex 1 has the coordinate NaN"),
    (np.where(CUBE_VERTICES > 0, np.inf, 0), CUBE_FACES, {}, palpate.MeshError, "coordinate inf"),
    (1e13 * CUBE_VERTICES, CUBE_FACES, {}, palpate.MeshError, "unit"),
    (CUBE_VERTICES, np.zeros((0, 3), int), {}, palpate.MeshError, "no triangles"),
    (np.zeros((0, 3)), np.zeros((0, 3), int), {}, palpate.MeshError, "no triangles"),
    (0 * CUBE_VERTICES, CUBE_FACES, {}, palpate.MeshError, "no area"),
    (CUBE_VERTICES, CUBE_FACES, {"voxel": 0.1, "resolution": 20}, palpate.InputError, "give one"),
    (CUBE_VERTICES, CUBE_FACES, {"voxel": -1}, palpate.BuildError, "voxel"),
    (CUBE_VERTICES, CUBE_FACES, {"voxel": float("nan")}, palpate.BuildError, "voxel"),
    (CUBE_VERTICES, CUBE_FACES, {"voxel": 1e-9}, palpate.BuildError, "voxel"),
    (CUBE_VERTICES, CUBE_FACES, {"resolution": 3}, palpate.BuildError, "resolution of 3"),
    (CUBE_VERTICES, CUBE_FACES, {"spacing": -1.0, "voxel": 0.1}, palpate.BuildError, "spacing"),
    (CUBE_VERTICES, CUBE_FACES, {"threads": 10**6}, palpate.InputError, "threads"),
]


@pytest.mark.parametrize(("vertices", "faces", "params", "error", "says"), BAD)
def test_bad_meshes_are_named(vertices, faces, params, error, says):
    with pytest.raises(error, match=says):
        palpate.Shape(vertices, faces, **params)


def test_what_has_no_room_is_refused(monkeypatch):
    """A box with hardly a surface in it: its cells are what takes memory. Then one with a surface, and one that the engine refuses itself."""
    corner, ends = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]]), np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    vertices, faces = np.vstack([0.01 * corner, 1 - 0.01 * corner]), np.vstack([ends, 4 + ends[:, ::-1]])
    monkeypatch.setattr("palpate._room.free", lambda: 2.0**30)
    with pytest.raises(MemoryError, match=r"a shape in voxels of 4\.\d+e-4 m takes 1\.\d GiB while it is built; there are 1\.0 GiB"):
        palpate.Shape(vertices, faces, resolution=2400)
    with pytest.raises(MemoryError, match="voxels of 8.*e-4"):
        palpate.Shape(CUBE_VERTICES, CUBE_FACES, resolution=1200)
    with pytest.raises(palpate.BuildError, match="voxel"):
        palpate.Shape(CUBE_VERTICES, CUBE_FACES, resolution=50_000)
    # What is small is built without asking.
    monkeypatch.setattr("palpate._room.free", lambda: 0.0)
    assert palpate.Shape(vertices, faces, resolution=200).nbytes > 0


@pytest.mark.parametrize("points", [[1, 2, 3], np.zeros((4, 2)), np.zeros((2, 3, 3)), "abc", None, np.zeros((3, 3), complex), [[1, 2], [3]]])
def test_bad_points_are_named(cube, points):
    with pytest.raises(palpate.InputError, match="points"):
        cube.signed_distance(points)
    with pytest.raises(palpate.InputError, match="points"):
        cube.closest_point(points)


def test_errors_are_also_what_python_has(cube):
    for ours, theirs in [
        (palpate.InputError, ValueError),
        (palpate.MeshError, ValueError),
        (palpate.BuildError, ValueError),
        (palpate.FileError, OSError),
        (palpate.SimulationError, RuntimeError),
        (palpate.InternalError, RuntimeError),
    ]:
        assert issubclass(ours, theirs) and issubclass(ours, palpate.PalpateError)


def test_models():
    """A scan, where one is: set PALPATE_MODELS."""
    folder = os.environ.get("PALPATE_MODELS")
    if not folder or not (pathlib.Path(folder) / "bunny.obj").exists():
        pytest.skip("PALPATE_MODELS names no folder with bunny.obj")
    bunny = palpate.Shape.from_file(pathlib.Path(folder) / "bunny.obj", resolution=64)
    assert bunny.report.triangles > 60_000 and bunny.volume > 0
