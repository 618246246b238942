"""Graphics processors: the CPU's answers, within what is promised.

Referee: the same question without ``gpu``. Runs on any device, Mesa's llvmpipe in software too; without one most of it is skipped.
"""

import gc
import multiprocessing
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import palpate
from conftest import CUBE_FACES, CUBE_VERTICES, matrix, quaternion

#: Distances differ by at most this [voxels]: queries of the CPU read values that are packed into 16 bits.
ROUNDING = 2e-3
STIFFNESS = 1e9


@pytest.fixture(scope="session")
def gpu():
    if not palpate.gpus():
        assert os.environ.get("PALPATE_GPU") != "required", "there is no graphics processor"
        pytest.skip("no graphics processor, nor one in software (Debian: mesa-vulkan-drivers)")
    return palpate.Gpu()


@pytest.fixture(scope="module")
def poses():
    rng = np.random.default_rng(11)
    n = 240
    return np.array([0.08, 0, 0]) + rng.uniform(-0.04, 0.04, (n, 3)), quaternion(rng, n)


def lists(found):
    return [found.contacts[i:j] for i, j in zip(found.offsets[:-1], found.offsets[1:])]


def hold(there, here, rounding, margin=0.0):
    """Contacts of a device to those of the CPU: the same points, but for those as near to the margin as rounding; how many those are."""
    doubtful = 0
    assert there.count.dtype == here.count.dtype and there.deepest.dtype == here.deepest.dtype == palpate.CONTACT
    np.testing.assert_array_equal(np.diff(there.offsets), there.count)
    for i, (got, want) in enumerate(zip(lists(there), lists(here))):
        assert (np.diff(got["id"].astype(np.int64)) > 0).all(), "in the order of the points"
        _, g, w = np.intersect1d(got["id"], want["id"], return_indices=True)
        for name, atol in (("distance", rounding), ("point", 1e-6), ("area", 1e-9), ("shell_normal", 1e-5)):
            np.testing.assert_allclose(got[name][g], want[name][w], atol=atol, err_msg=f"{name} of pose {i}")
        # Across the faces of voxels the gradient jumps.
        turned = np.abs(got["normal"][g] - want["normal"][w]).max(axis=1, initial=0) > 0.05
        assert turned.sum() <= 2 + 0.02 * len(turned)
        alone = np.concatenate([np.delete(got, g), np.delete(want, w)])
        assert (np.abs(alone["distance"] - margin) <= rounding).all()
        doubtful += len(alone)
        if len(got) and len(want):
            np.testing.assert_allclose(there.deepest[i]["distance"], want["distance"].min(), atol=rounding)
            assert there.deepest[i] == got[got["distance"].argmin()]
        elif not len(got):
            assert np.isnan(there.deepest[i]["distance"]) and there.deepest[i]["id"] == 2**32 - 1
    return doubtful


@pytest.mark.parametrize("points_of", [None, "a", "b"])
@pytest.mark.parametrize("law", ["integrated", "averaged"])
def test_wrenches_are_the_cpus(gpu, gear, torus, poses, points_of, law):
    options = {"stiffness": STIFFNESS, "law": law, "full": True, "points_of": points_of}
    for a, b in ((gear, torus), (torus, gear)):
        there, here = (palpate.wrench_batch(a, b, poses, gpu=g, **options) for g in (gpu, None))
        assert 0.3 < (here.count > 0).mean() < 0.95, "some touch, some do not"
        rounding = ROUNDING * max(a.voxel, b.voxel)
        assert hold(there, here, rounding) < 0.01 * here.count.sum()
        for i, (got, want) in enumerate(zip(lists(there), lists(here))):
            both = np.concatenate([got, want])
            border = both["area"][np.abs(both["distance"]) <= rounding].sum()
            # Of the depth alone, and of directions that jump.
            push = 1e-2 * np.maximum(-want["distance"], 0) @ want["area"] + rounding * both["area"].sum()
            bound = STIFFNESS * push / (max(want["area"].sum(), 1e-9) if law == "averaged" else 1.0) + 1e-6
            assert np.linalg.norm(there.force[i] - here.force[i]) <= bound
            assert np.linalg.norm(there.torque[i] - here.torque[i]) <= bound * 0.1  # the size of the shapes [m]
            assert abs(there.area[i] - here.area[i]) <= border + 1e-4 * here.area[i]


def test_margin_frame_and_repeats(gpu, gear, torus, poses):
    rng = np.random.default_rng(5)
    w = matrix(rng.uniform(-1, 1, 3), quaternion(rng))
    matrices = w @ np.stack([matrix(p, q) for p, q in zip(*poses)])
    ask = {"pose_a": w, "margin": 2e-3, "full": True}
    there, here = (palpate.contacts_batch(gear, torus, matrices, gpu=g, **ask) for g in (gpu, None))
    assert here.contacts["distance"].max() > 1e-3
    hold(there, here, ROUNDING * max(gear.voxel, torus.voxel), 2e-3)
    again = palpate.contacts_batch(gear, torus, matrices, gpu=gpu, **ask)
    assert there.contacts.tobytes() == again.contacts.tobytes() and there.deepest.tobytes() == again.deepest.tobytes()
    brief = palpate.contacts_batch(gear, torus, matrices, pose_a=w, margin=2e-3, gpu=gpu)
    assert brief.contacts is None and brief.offsets is None
    np.testing.assert_array_equal(brief.count, there.count)
    strided = np.asfortranarray(matrices)[::-1]
    np.testing.assert_array_equal(palpate.contacts_batch(gear, torus, strided, gpu=gpu, **ask).count[::-1], there.count)


def test_whether_shapes_meet(gpu, gear, torus, poses):
    there, here = (palpate.intersects_batch(gear, torus, poses, gpu=g) for g in (gpu, None))
    least = palpate.distance_batch(gear, torus, poses).distance
    assert 0.3 < here.mean() < 0.95
    assert (np.abs(least[there != here]) <= ROUNDING * gear.voxel).all()


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_points(gpu, torus, kind):
    rng = np.random.default_rng(2)
    low, high = torus.aabb
    points = rng.uniform(low - 0.02, high + 0.02, (20_000, 3)).astype(kind)
    points[::7] *= 3  # outside the field's box
    here = torus.signed_distance(points)
    there = torus.signed_distance(points, gpu=gpu)
    assert there.dtype == here.dtype == kind and there.shape == (20_000,)
    assert 0.02 < (here < 0).mean() < 0.7
    size = np.linalg.norm(high - low)
    np.testing.assert_allclose(there, here, atol=1e-6 * size, rtol=2e-6)
    for views in (torus.signed_distance(points[::-2], gpu=gpu), torus.signed_distance(np.asfortranarray(points), gpu=gpu)[::-2]):
        assert views.dtype == kind
        np.testing.assert_array_equal(views, there[::-2])
    distance, way = torus.signed_distance(points, gradients=True, gpu=gpu)
    far, out = torus.signed_distance(points, gradients=True)
    np.testing.assert_allclose(distance, far, atol=1e-6 * size, rtol=2e-6)
    # Across the faces of voxels the gradient jumps.
    assert way.shape == (20_000, 3) and (np.abs(way - out).max(axis=1) > 1e-3).mean() < 0.01


def test_points_that_are_none(gpu, torus):
    odd = np.array([[np.nan, 0, 0], [0, 0, 0], [np.inf, 0, 0], [1e30, 0, 0], [0, -1e300, 0]])
    there = torus.signed_distance(odd, gpu=gpu)
    np.testing.assert_allclose(there, torus.signed_distance(odd), atol=1e-7, rtol=1e-6)
    assert np.isnan(there[0])
    assert torus.signed_distance(np.zeros((0, 3)), gpu=gpu).shape == (0,)
    assert torus.signed_distance([[0, 0, 0]], gpu=gpu).shape == (1,)
    with pytest.raises(palpate.InputError, match=r"points has shape \(4, 2\)"):
        torus.signed_distance(np.zeros((4, 2)), gpu=gpu)
    with pytest.raises(palpate.InputError, match="exact and gpu"):
        torus.signed_distance(odd, exact=True, gpu=gpu)


def test_more_points_than_a_piece(gpu, cube):
    points = np.random.default_rng(3).uniform(-0.7, 0.7, (2**20 + 5, 3)).astype(np.float32)
    np.testing.assert_allclose(cube.signed_distance(points, gpu=gpu), cube.signed_distance(points), atol=2e-6)


def test_more_poses_than_a_piece(gpu, cube):
    rng = np.random.default_rng(4)
    n = 2**16 + 300
    positions, quaternions = rng.uniform(-4, 4, (n, 3)), quaternion(rng, n)
    there = palpate.wrench_batch(cube, cube, (positions, quaternions), stiffness=1e6, gpu=gpu)
    here = palpate.wrench_batch(cube, cube, (positions, quaternions), stiffness=1e6)
    assert len(there.count) == n and 0.005 < (here.count > 0).mean() < 0.1
    # Points as near to the surface as rounding.
    assert (there.count != here.count).mean() < 1e-3
    np.testing.assert_allclose(there.force, here.force, atol=0.02 * np.abs(here.force).max())


def test_more_contacts_than_have_room(gpu):
    """Lists are never cut short: 80 poses with every point inside are more contacts than a submission keeps."""
    outer = palpate.Shape(CUBE_VERTICES, CUBE_FACES, voxel=0.05, spacing=0.0125)
    inner = outer.scaled(0.5)
    n = len(inner.points)
    places = np.random.default_rng(6).uniform(-0.2, 0.2, (80, 3))
    poses = (places, np.tile([0.0, 0, 0, 1], (80, 1)))
    found = palpate.contacts_batch(outer, inner, poses, full=True, points_of="b", gpu=gpu)
    assert n > 36_000 and (found.count == n).all() and len(found.contacts) == 80 * n
    np.testing.assert_array_equal(found.contacts["id"], np.tile(np.arange(n, dtype=np.uint32), 80))
    for i in (0, 41, 79):
        want = inner.points + places[i]
        np.testing.assert_allclose(found.contacts["point"][i * n : (i + 1) * n], want, atol=1e-5)


def test_no_poses_and_bad_ones(gpu, gear):
    for none in (np.zeros((0, 4, 4)), np.zeros((0, 7)), []):
        found = palpate.wrench_batch(gear, gear, none, stiffness=1e9, full=True, gpu=gpu)
        assert len(found.count) == 0 and found.force.shape == (0, 3) and found.offsets.tolist() == [0]
        assert palpate.intersects_batch(gear, gear, none, gpu=gpu).shape == (0,)
    bad = [
        (np.stack([np.eye(4), np.full((4, 4), np.nan)]), r"poses\[1\] holds NaN"),
        (np.zeros((2, 7), complex), "complex128"),
        ("poses", "poses"),
    ]
    for poses, says in bad:
        with pytest.raises(palpate.InputError, match=says):
            palpate.contacts_batch(gear, gear, poses, gpu=gpu)
    with pytest.raises(palpate.InputError, match="margin"):
        palpate.contacts_batch(gear, gear, np.eye(4)[None], margin=np.nan, gpu=gpu)
    with pytest.raises(TypeError):
        palpate.contacts_batch(gear, gear, np.eye(4)[None], gpu="llvmpipe")
    whole = palpate.contacts_batch(gear, gear, np.eye(4, dtype=int)[None], gpu=gpu)
    assert whole.count.shape == (1,)


def test_shapes_stay_there_until_they_are_gone(gpu):
    own = palpate.Gpu(gpu.name)
    assert own.nbytes == 0 and own.name == gpu.name and own.name in repr(own)
    cube = palpate.Shape(CUBE_VERTICES, CUBE_FACES, voxel=0.05)
    place = np.eye(4)[None]
    palpate.contacts_batch(cube, cube, place, gpu=own)
    once = own.nbytes
    assert once > 0
    palpate.contacts_batch(cube, cube, place, gpu=own)
    cube.signed_distance([[0, 0, 0]], gpu=own)
    assert own.nbytes == once
    other = cube.scaled(2)
    palpate.contacts_batch(other, other, place, gpu=own)
    assert own.nbytes > once
    own.release(other)
    assert own.nbytes == once
    own.release()
    assert own.nbytes == 0
    assert palpate.contacts_batch(cube, cube, place, gpu=own).count[0] > 0 and own.nbytes == once
    del cube
    gc.collect()
    assert own.nbytes == 0
    with pytest.raises(TypeError, match="open one in each process"):
        own.__reduce__()


def test_threads_may_share_one(gpu, gear, torus, poses):
    expected = palpate.contacts_batch(gear, torus, poses, gpu=gpu).count
    found = [None] * 4

    def ask(i):
        found[i] = palpate.contacts_batch(gear, torus, poses, gpu=gpu).count

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for count in found:
        np.testing.assert_array_equal(count, expected)


def test_fields_built_there(gpu, gear, poses):
    built = palpate.Shape.sample("gear", resolution=64, gpu=gpu)
    assert built.voxel == gear.voxel and len(built.points) == len(gear.points)
    low, high = gear.aabb
    points = np.random.default_rng(8).uniform(low, high, (5000, 3))
    exact = gear.signed_distance(points, exact=True)
    assert 0.1 < (exact < 0).mean() < 0.9
    near = np.abs(exact) < built.band - built.error_bound_band
    error = np.abs(built.signed_distance(points) - exact)
    assert near.mean() > 0.1 and error[near].max() <= built.error_bound_band + 1e-7
    assert error.max() <= built.error_bound_far + 1e-7
    for make in (lambda: palpate.Shape(CUBE_VERTICES, CUBE_FACES, voxel=1e-7, gpu=gpu), lambda: palpate.Shape(CUBE_VERTICES, CUBE_FACES, voxel=-1.0, gpu=gpu)):
        with pytest.raises((palpate.BuildError, palpate.GpuError)):
            make()


def waving(shape, t):
    v = shape.vertices
    return v + 0.002 * np.sin(90 * v[:, [1, 2, 0]] + t)


def test_soft_meshes(gpu, gear, torus, poses):
    """Over moves of the vertices: areas and forces as two samplings at one spacing agree, every distance the field's."""
    mesh = palpate.SoftMesh.from_shape(torus)
    spacing = 0.5 * gear.voxel
    there, here = (palpate.SoftPair(gear, mesh, spacing, gpu=g) for g in (gpu, None))
    # A sample is off by at most 2/3 of the longest edge.
    off = 2 / 3 * spacing
    touching, asked = 0, 30
    for i in range(asked):
        mesh.vertices = waving(torus, i)
        pose = (poses[0][i], poses[1][i])
        wide = here.contacts(pose_b=pose, margin=2 * off)
        border = wide["area"][np.abs(wide["distance"]) <= 2 * off].sum()
        velocities = {"velocity": ([0.01, 0, 0], [0, 0.1, 0]), "vertex_velocities": np.full(mesh.vertices.shape, 1e-3)} if i % 3 == 0 else {}
        options = {"stiffness": STIFFNESS, "damping": 1e4 if velocities else 0.0, "friction": 0.2 if velocities else None, **velocities}
        got, want = (pair.wrench(pose_b=pose, **options) for pair in (there, here))
        bound = STIFFNESS * (2 * off * max(want.area, got.area) + off * border) + 0.05 * want.normal_force
        assert np.linalg.norm(got.force - want.force) <= bound
        assert abs(got.area - want.area) <= border + 1e-5 * want.area
        found = there.contacts(pose_b=pose)
        assert len(found) >= got.contacts > 0 or not len(found)
        local = gear.signed_distance(found["point"].astype(float))
        np.testing.assert_allclose(found["distance"], local, atol=1e-3 * gear.voxel)
        np.testing.assert_allclose(found["area"].sum(), got.area, rtol=1e-4, atol=1e-9)
        point, distance, triangle = there.nearest(pose_b=pose)
        _, least, _ = here.nearest(pose_b=pose)
        assert abs(distance - least) <= 2 * off and triangle < len(mesh.faces) and point.shape == (3,)
        touching += got.contacts > 0
    assert 0.2 * asked < touching < asked


def test_soft_meshes_that_are_edited(gpu, cube):
    mesh = palpate.SoftMesh(CUBE_VERTICES * 0.5, CUBE_FACES)
    pair = palpate.SoftPair(cube, mesh, gpu=gpu)
    assert pair.spacing == cube.voxel and gpu.name in repr(pair)
    whole = pair.wrench(stiffness=1e3).area
    assert whole == pytest.approx(6 * 0.25, rel=1e-4)
    mesh.set_enabled(0, False)
    mesh.remove_triangle(1)
    assert pair.wrench(stiffness=1e3).area == pytest.approx(5 * 0.25, rel=1e-4)
    mesh.set_enabled(0, True)
    first = mesh.add_vertices([[0, 0, 0], [0.1, 0, 0], [0, 0.1, 0]])
    mesh.add_triangle([first, first + 1, first + 2])
    grown = 5.5 * 0.25 + 0.005
    assert pair.wrench(stiffness=1e3).area == pytest.approx(grown, rel=1e-4)
    places = mesh.vertices
    lost = places.copy()
    lost[first] = np.nan
    mesh.vertices = lost
    assert pair.wrench(stiffness=1e3).area == pytest.approx(5.5 * 0.25, rel=1e-4)
    mesh.vertices = places
    assert pair.wrench(stiffness=1e3).area == pytest.approx(grown, rel=1e-4)
    mesh.vertices = places + 5.0
    assert len(pair.contacts()) == 0 and pair.nearest()[1] > 5
    empty = palpate.SoftMesh(np.zeros((0, 3)), np.zeros((0, 3), int))
    assert palpate.SoftPair(cube, empty, gpu=gpu).nearest() is None
    for spacing in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(palpate.InputError, match="spacing"):
            palpate.SoftPair(cube, mesh, spacing, gpu=gpu)
    with pytest.raises(palpate.InputError, match="vertex_velocities has 2 rows"):
        pair.wrench(stiffness=1.0, vertex_velocities=np.zeros((2, 3)))


def test_what_does_not_fit_is_an_exception(gpu, cube):
    # Cubes beside each other: each triangle has 255² parts of 16 bytes, and there is one cube more than the device can hold.
    count = palpate.gpus()[0].largest_buffer // (12 * 255**2 * 16) + 1
    if count > 40:
        pytest.skip("the device holds more than a test should make")
    vertices = np.concatenate([CUBE_VERTICES + [3.0 * i, 0, 0] for i in range(count)])
    finest = palpate.SoftMesh(vertices, np.concatenate([CUBE_FACES + 8 * i for i in range(count)]))
    with pytest.raises(palpate.GpuError, match="larger spacing"):
        palpate.SoftPair(cube, finest, 1e-9, gpu=gpu).wrench(stiffness=1.0)
    # And the next question is answered.
    small = palpate.SoftMesh(0.5 * CUBE_VERTICES, CUBE_FACES)
    assert palpate.SoftPair(cube, small, gpu=gpu).wrench(stiffness=1.0).contacts > 0


def test_names(gpu):
    found = palpate.gpus()
    assert gpu.name == found[0].name and gpu.software == (found[0].kind == "software")
    for info in found:
        assert info.name and info.backend in ("vulkan", "metal", "dx12") and info.largest_buffer > 1 << 20
        assert info.kind in ("discrete", "integrated", "virtual", "software", "other") and isinstance(info.driver, str)
    assert palpate.Gpu(gpu.name[1:5].upper()).name
    with pytest.raises(palpate.GpuError, match="only: .*" + found[0].name.split()[0]):
        palpate.Gpu("no such device")
    assert issubclass(palpate.GpuError, RuntimeError) and issubclass(palpate.GpuError, palpate.PalpateError)


def python(program, **environment):
    done = subprocess.run([sys.executable, "-c", program], env={**os.environ, **environment}, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="drivers are hidden by Vulkan's variables, on Linux")
def test_a_machine_without_any():
    program = """
import palpate
assert palpate.gpus() == []
try:
    palpate.Gpu()
except palpate.GpuError as e:
    print(e)
"""
    says = python(program, VK_ICD_FILENAMES="/nowhere.json", VK_DRIVER_FILES="/nowhere.json")
    assert "no GPU" in says and "CPU" in says


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="what is loaded is read from /proc")
def test_import_loads_no_driver():
    program = "import palpate; print('libvulkan' in open('/proc/self/maps').read())"
    assert python(program).strip() == "False"


def test_the_interpreter_ends_while_one_is_open(gpu):
    program = """
import numpy as np, palpate
gpu, cube = palpate.Gpu(), palpate.Shape.sample("gear", resolution=32)
print(palpate.contacts_batch(cube, cube, np.eye(4)[None], gpu=gpu).count.shape)
"""
    assert python(program).strip() == "(1,)"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is limited as Linux does")
def test_a_device_without_memory_is_lost_and_opened_again(gpu):
    """A device in software takes its memory from the process, which is held to 64 MiB more than it has; the lists need 128."""
    if not gpu.software:
        pytest.skip("only memory of the process can be limited, and this device has its own")
    program = """
import resource, numpy as np, palpate
gpu, gear = palpate.Gpu(), palpate.Shape.sample("gear", resolution=64)
poses = np.eye(4)[None].repeat(2000, 0)
palpate.contacts_batch(gear, gear, poses[:1], full=True, gpu=gpu)
pages = int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (64 << 20), -1))
for _ in range(2):
    try:
        palpate.contacts_batch(gear, gear, poses, full=True, gpu=gpu)
    except palpate.GpuError as e:
        print(e)
resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
print(palpate.contacts_batch(gear, gear, poses, full=True, gpu=palpate.Gpu()).count.std())
"""
    lines = python(program).splitlines()
    assert len(lines) == 3 and all("was lost" in line and "open it again" in line for line in lines[:2])
    assert lines[2] == "0.0"


def _in_a_fork(queue, gpu, cube):
    try:
        cube.signed_distance([[0, 0, 0]], gpu=gpu)
    except palpate.GpuError as e:
        queue.put(str(e))


def test_a_fork_is_told(gpu, cube):
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("no fork here")
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_in_a_fork, args=(queue, gpu, cube))
    child.start()
    assert "before a fork" in queue.get(timeout=60)
    child.join(60)
    assert child.exitcode == 0
