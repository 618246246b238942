"""Assemblies: all that is planted is found and nothing else, from every kind of input, after a kill, on a full disk, in pieces."""

import json
import pathlib
import re
import subprocess
import sys
import textwrap
import types

import numpy as np
import pytest

import palpate
from conftest import CUBE_FACES, CUBE_VERTICES, matrix, quaternion

CLEARANCE = 0.5e-3
CUBE = (0.01 * CUBE_VERTICES, CUBE_FACES)


def at(x, y=0.0, z=0.0):
    return matrix([x, y, z], [0, 0, 0, 1])


def kinds(report):
    return sorted((f.a, f.b, f.kind) for f in report.findings)


@pytest.fixture(scope="module")
def sample():
    return palpate.Assembly.sample(48, seed=3)


@pytest.fixture(scope="module")
def whole(sample):
    return palpate.assembly(sample, CLEARANCE)


def test_every_planted_one_is_found_and_none_invented(sample, whole):
    assert len(sample) == 48 and len(sample.planted) > 12
    assert kinds(whole) == sorted((a, b, kind) for a, b, kind, _ in sample.planted)
    found = {(f.a, f.b): f for f in whole.findings}
    exact = [p for p in sample.planted if p[3] is not None]
    assert len(exact) > 8
    for a, b, _, distance in exact:
        assert abs(found[a, b].distance - distance) < 2e-8
    assert len(whole.clashes) + len(whole.clearances) == len(whole.findings) and len(whole.contacts) > 3
    assert [f.kind for f in whole.findings] == ["clash"] * len(whole.clashes) + ["clearance"] * len(whole.clearances)
    assert [f.depth for f in whole.clashes] == sorted((f.depth for f in whole.clashes), reverse=True)


def test_threads_and_memory_do_not_matter(sample, whole):
    for how in ({"threads": 1}, {"threads": 3}, {"max_memory": 1}):
        report = palpate.assembly(sample, CLEARANCE, **how)
        assert report.csv(True) == whole.csv(True) and report.json(True) == whole.json(True), how


def test_what_a_finding_says():
    report = palpate.assembly([("left", CUBE), ("right", CUBE, at(0.009)), ("far", CUBE, at(0.0193))], CLEARANCE)
    clash, near = report.findings
    assert (clash.a, clash.b, clash.kind, clash.pair, clash.time) == ("left", "right", "clash", (0, 1), None)
    assert clash.depth == pytest.approx(1e-3, abs=1e-9) and clash.distance == -clash.depth
    np.testing.assert_allclose(clash.way, [1e-3, 0, 0], atol=1e-8)
    assert clash.region.volume == pytest.approx(1e-3 * 1e-2 * 1e-2, rel=0.01)
    assert abs(clash.region.volume - 1e-7) <= max(clash.region.volume_error, 1e-10)
    np.testing.assert_allclose(clash.region.aabb, [[0.004, -0.005, -0.005], [0.005, 0.005, 0.005]], atol=2e-5)
    np.testing.assert_allclose(clash.place, clash.region.centroid)
    assert (near.a, near.b, near.kind, near.region) == ("right", "far", "clearance", None)
    assert near.distance == pytest.approx(0.3e-3, abs=1e-12)
    assert near.point_b[0] - near.point_a[0] == pytest.approx(0.3e-3)
    assert "clash of 'left'" in repr(clash).replace('"', "'") and "2 findings" not in repr(report)
    assert "3 parts, 1 clashes, 1 clearances" in repr(report)
    assert report.lines()[0].startswith("clash      left and right: 1 mm deep, 100 mm³")


def test_parts_that_move():
    # The second passes the first at a distance, then meets the third.
    entries = [("post", CUBE), ("slider", CUBE, at(-0.05, 0.0103), at(0.05, 0.0103)), ("stop", CUBE, at(0.04, 0.0103))]
    report = palpate.assembly(entries, CLEARANCE)
    clash, near = report.findings
    assert (clash.a, clash.b, clash.kind) == ("slider", "stop", "clash")
    assert clash.time == pytest.approx(0.08 / 0.1, abs=2e-3)
    assert (near.a, near.b, near.kind) == ("post", "slider", "clearance")
    assert near.distance == pytest.approx(0.3e-3, abs=1e-8) and 0.4 <= near.time <= 0.6


def test_every_kind_of_input_is_the_same_assembly(tmp_path, sample, whole):
    sample.write(tmp_path / "folder")
    read = palpate.Assembly.read(tmp_path / "folder")
    assert (read.names, read.parts, read.meshes) == (sample.names, sample.parts, sample.meshes)
    assert palpate.assembly(tmp_path / "folder", CLEARANCE).csv(True) == whole.csv(True)
    assert palpate.assembly(str(tmp_path / "folder"), CLEARANCE, unit="mm").csv(True) == whole.csv(True), "its list names the unit"
    assert palpate.assembly("sample:48:3", CLEARANCE).csv(True) == whole.csv(True)
    # Lists, dicts, tuples and objects.
    thing = types.SimpleNamespace(vertices=CUBE[0], faces=CUBE[1])
    shape = palpate.Shape(*CUBE, resolution=32)
    first = palpate.assembly([("left", CUBE), ("right", CUBE, at(0.0102))], CLEARANCE)
    for second in (
        [("left", thing), ("right", thing, ([0.0102, 0, 0], [0, 0, 0, 1]))],
        {"left": thing, "right": (thing, at(0.0102))},
        {"left": CUBE, "right": (CUBE, at(0.0102))},
        {"left": [CUBE[0].tolist(), CUBE[1].tolist()], "right": [list(CUBE), ([0.0102, 0, 0], [0, 0, 0, 1])]},
        {"left": tuple(c.tolist() for c in CUBE), "right": (thing, at(0.0102), None)},
        (("left", shape), ["right", shape, [0.0102, 0, 0, 0, 0, 0, 1]]),
    ):
        report = palpate.assembly(second, CLEARANCE)
        assert kinds(report) == kinds(first) == [("left", "right", "clearance")]
        assert report.csv() == first.csv()
    moving = palpate.assembly({"post": CUBE, "slider": (CUBE, at(-0.05, 0.0103), at(0.05, 0.0103))}, CLEARANCE)
    assert kinds(moving) == [("post", "slider", "clearance")] and moving.findings[0].time is not None


def test_scenes_of_trimesh_with_scales_and_mirrors():
    trimesh = pytest.importorskip("trimesh")
    scene = trimesh.Scene()
    box = trimesh.creation.box(extents=[0.01] * 3)
    scene.add_geometry(box, node_name="left")
    # Twice as long, turned over: from -0.01 to 0.01 around 0.0153, then mirrored.
    larger = np.diag([-2.0, 1, 1, 1])
    larger[0, 3] = 0.0153
    scene.add_geometry(box, node_name="right", transform=larger)
    report = palpate.assembly(scene, CLEARANCE)
    assert kinds(report) == [("left", "right", "clearance")]
    assert report.findings[0].distance == pytest.approx(0.3e-3, abs=1e-9)
    assert report.failures == []


def test_a_part_that_is_none_is_told_and_the_others_go_on(tmp_path, sample, whole):
    nan = CUBE[0].copy()
    nan[3, 1] = np.nan
    report = palpate.assembly([("broken", (nan, CUBE[1])), ("left", CUBE), ("holes", (CUBE[0], [[0, 1, 99]])), ("right", CUBE, at(0.0102))], CLEARANCE)
    assert kinds(report) == [("left", "right", "clearance")]
    assert [name for name, _ in report.failures] == ["broken", "holes"]
    assert "NaN" in report.failures[0][1] and "99" in report.failures[1][1]
    # Arrays that are none.
    wrong = {
        "negative": (CUBE[0], -1 - CUBE[1]),
        "empty": ([], []),
        "flat": (CUBE[0][:, :2], CUBE[1]),
        "quads": (CUBE[0], CUBE[1][:, [0, 1, 2, 0]]),
        "words": types.SimpleNamespace(vertices="abc", faces=CUBE[1]),
    }
    words = {}
    for name, mesh in wrong.items():
        v, f = mesh if isinstance(mesh, tuple) else (mesh.vertices, mesh.faces)
        with pytest.raises(palpate.InputError) as error:
            palpate.Shape(v, f)
        words[name] = str(error.value)
    good = {"left": CUBE, "right": (CUBE, at(0.0102))}
    report = palpate.assembly(wrong | good, CLEARANCE)
    assert kinds(report) == [("left", "right", "clearance")] and dict(report.failures) == words
    single = palpate.Assembly()
    assert single.add("negative", *wrong["negative"]) is False and single.failures == [("negative", words["negative"])]
    # What is wrong with the call is not the part's.
    for entry in [("a",), ("a", object()), ("a", wrong["flat"], np.eye(3)), ("a", CUBE[0])]:
        with pytest.raises(palpate.InputError):
            palpate.assembly([*good.items(), entry], CLEARANCE)
    # A file that was cut short.
    folder = tmp_path / "folder"
    sample.write(folder)
    broken = folder / "part-0001.ply"
    broken.write_bytes(broken.read_bytes()[:500])
    report = palpate.assembly(folder, CLEARANCE, output=tmp_path / "out", pictures=0)
    lost = sample.names[0]
    assert [name for name, _ in report.failures] == ["part-0001.ply"]
    assert kinds(report) == [k for k in kinds(whole) if lost not in k[:2]]
    assert json.loads((tmp_path / "out" / "findings.json").read_text())["failures"][0]["part"] == "part-0001.ply"


def test_files_pictures_and_a_second_run(tmp_path, sample, whole):
    out = tmp_path / "deep" / "out"
    first = palpate.assembly(sample, CLEARANCE, output=out, contacts=True, pictures=3)
    assert first.csv(True) == whole.csv(True) == (out / "findings.csv").read_text()
    assert (out / "findings.json").read_text() == whole.json(True)
    page = (out / "assembly.html").read_text()
    assert page.count("<img") == 4 and "://" not in re.sub(r"http://www\.w3\.org/\d+/svg", "", page)
    assert page == first.html("Assembly", True, 3)
    built = first.shapes[0]
    assert built > 0 and len(list((out / "cache").glob("*.palp"))) == built
    again = palpate.assembly(sample, CLEARANCE, output=out, contacts=True, pictures=3)
    assert (again.known, again.shapes) == (again.pairs, (0, 0, 0))
    assert (out / "assembly.html").read_text() == page
    # The journal gone, the shapes kept.
    (out / "findings.journal").unlink()
    third = palpate.assembly(sample, CLEARANCE, output=out, pictures=0)
    assert third.known == 0 and third.shapes[0] == 0 and third.shapes[1] > 0
    assert third.csv(True) == whole.csv(True)
    assert not [f for f in out.rglob("*") if f.name.endswith(".tmp") or f.name.startswith(".")]


def test_progress_and_a_callback_that_raises(sample, whole, tmp_path, capfd):
    told = []
    palpate.assembly(sample, CLEARANCE, progress=lambda *now: told.append(now))
    assert all(done <= steps or steps == 0 for _, done, steps in told)

    class Enough(Exception):
        pass

    def stop(stage, done, steps):
        if stage == "look at pairs":
            raise Enough

    # A larger one, so that it is still at work.
    large = palpate.Assembly.sample(240, seed=1)
    with pytest.raises(Enough):
        palpate.assembly(large, CLEARANCE, output=tmp_path, progress=stop, threads=1)
    assert not (tmp_path / "findings.csv").exists()
    palpate.assembly(sample, CLEARANCE, progress=True)
    assert "\r" in capfd.readouterr().err
    palpate.assembly(sample, CLEARANCE)
    assert capfd.readouterr().err == "", "no terminal"


def test_progress_that_is_none_is_refused_at_once(sample, tmp_path):
    sample.write(tmp_path / "folder")
    for progress in (3, "yes"):
        for call in (
            lambda: palpate.assembly(sample, CLEARANCE, output=tmp_path / "out", progress=progress),
            lambda: palpate.Assembly.read(tmp_path / "folder", progress=progress),
            lambda: palpate.assembly([("a", CUBE)], CLEARANCE).html(progress=progress),
        ):
            with pytest.raises(palpate.InputError, match=f"progress is a {type(progress).__name__}; give True"):
                call()
    assert not (tmp_path / "out").exists()
    assert len(palpate.Assembly.read(tmp_path / "folder", progress=True)) == len(sample)


RUN = """
    import sys, palpate
    report = palpate.assembly(palpate.Assembly.sample(28, seed=9), 0.5e-3, output=sys.argv[1], pictures=1, threads=1)
"""


def run(code, *arguments, **how):
    return subprocess.run([sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)], capture_output=True, text=True, timeout=240, **how)


def contents(folder):
    return {f.name: f.read_bytes() for f in pathlib.Path(folder).iterdir() if f.is_file()}


def test_a_run_that_is_killed_goes_on(tmp_path):
    import time

    assert run(RUN, tmp_path / "whole").returncode == 0
    code = textwrap.dedent(RUN)
    kills = 0
    while True:
        process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "parts")])
        journal = tmp_path / "parts" / "findings.journal"
        before = journal.stat().st_size if journal.exists() else 0
        # Until it has found something new, then no further.
        while process.poll() is None and (not journal.exists() or journal.stat().st_size < before + 600):
            time.sleep(0.002)
        if process.poll() is not None:
            assert process.returncode == 0
            break
        process.kill()
        process.wait()
        kills += 1
        assert kills < 200
    assert kills >= 2, "it was killed in the middle"
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")


def test_a_full_disk_leaves_nothing_half_written(tmp_path):
    resource = pytest.importorskip("resource")
    assert resource
    assert run(RUN, tmp_path / "whole").returncode == 0
    want = contents(tmp_path / "whole")
    # A file that may not grow is what a full disk looks like to who writes it.
    limited = "    import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (int({}), int({})))\n" + RUN
    failed = 0
    for limit in (300, 2_000, 20_000, 200_000):
        out = tmp_path / str(limit)
        done = run(limited.format(limit, limit), out)
        assert "Traceback" not in done.stderr or "FileError" in done.stderr, done.stderr
        failed += done.returncode != 0
        # Whole or not there; the journal ends with a whole line.
        for name, data in contents(out).items():
            if name == "findings.journal":
                assert data.endswith(b"\n") or not data
                assert set(data.splitlines()) <= set(want[name].splitlines())
            else:
                assert data == want[name], name
        for shape in (out / "cache").glob("*"):
            assert shape.suffix == ".palp" and palpate.Shape.load(shape).nbytes > 0
        # With room again it goes on.
        assert run(RUN, out).returncode == 0
        assert contents(out) == want
    assert failed >= 3, "the limits were met"


def test_ctrl_c_ends_it_early(tmp_path):
    import signal
    import time

    # Those who start tests in the background ignore it.
    code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n" + textwrap.dedent(RUN.replace("28", "2000"))
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stderr=subprocess.PIPE, text=True)
    journal = tmp_path / "findings.journal"
    while process.poll() is None and not (journal.exists() and journal.stat().st_size > 0):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    try:
        _, words = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode != 0 and "KeyboardInterrupt" in words
    assert journal.stat().st_size > 0 and not (tmp_path / "findings.csv").exists()


@pytest.mark.parametrize(
    ("parts", "how", "word"),
    [
        ("sample:many", {}, "sample:200"),
        ("sample:0", {}, "1 to"),
        ([], {}, "no parts"),
        (7, {}, "int is no assembly"),
        ([("a", CUBE, at(0), at(1), 5)], {}, r"parts\[0\]"),
        ([("a", 3)], {}, "int is no mesh"),
        ([("a", (CUBE[0], CUBE[1] + 0.5))], {}, "faces has dtype"),
        ([("a", (CUBE[0][:, :2], CUBE[1]))], {}, r"no part of Assembly can be used; the first: a: vertices has shape \(8, 2\)"),
        ([("a", CUBE, np.eye(3))], {}, r"pose has shape \(3, 3\)"),
        ([("a", CUBE, 2 * np.eye(4))], {}, "pose"),
        ([("a", CUBE)], {"unit": "mm"}, "unit is for files"),
        ([("a", CUBE)], {"clearance": 0.0}, "clearance is 0"),
        ([("a", CUBE)], {"clearance": np.nan}, "clearance is NaN"),
        ([("a", CUBE)], {"tolerance": 1.0}, "tolerance is 1"),
        ([("a", CUBE)], {"voxel": -1.0}, "voxel is -1"),
        ([("a", CUBE)], {"threads": 5000}, "threads is 5000"),
        ([("a", (CUBE[0], CUBE[1][:0]))], {}, "no part of Assembly"),
    ],
)
def test_wrong_input_is_named(parts, how, word):
    with pytest.raises(palpate.InputError, match=word):
        palpate.assembly(parts, **how)


def test_wrong_files_are_named(tmp_path):
    with pytest.raises(palpate.FileError, match="no parts"):
        palpate.assembly(tmp_path)
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(palpate.FileError, match="neither a folder"):
        palpate.assembly(tmp_path / "file")
    with pytest.raises(palpate.FileError, match="cannot make the folder"):
        palpate.assembly([("a", CUBE)], output=tmp_path / "file" / "out")


def test_numbers_survive(rng):
    """A mesh with a defect, at any place: what comes back is what was given."""
    vertices = np.vstack([CUBE[0], CUBE[0][:1], [[5, 5, 5]]])
    faces = np.vstack([CUBE[1], CUBE[1][:1], [[8, 1, 1]]])
    whole = palpate.Assembly()
    q = quaternion(rng)
    assert whole.add("a", vertices, faces, ([1, 2, 3], q)) and whole.add("a", vertices, faces)
    assert whole.names == ["a", "a #2"] and whole.meshes == 1 and whole.parts == [0, 0]
    v, f = whole.mesh(0)
    np.testing.assert_array_equal(v, vertices)
    np.testing.assert_array_equal(f, faces)
    np.testing.assert_allclose(whole.poses[0], matrix([1, 2, 3], q), atol=1e-12)
    with pytest.raises(palpate.InputError, match="no mesh 1"):
        whole.mesh(1)


# In steps, as on a cluster.


def stepped(sample, order, **how):
    """A run by workers that forget, in an order of its own."""
    steps = palpate.AssemblySteps(sample, CLEARANCE, **how)
    todo = steps.todo()
    order.shuffle(todo)
    deep = []
    for pair in todo:
        parts, which, poses = steps.task([pair])
        answer = palpate.AssemblyWorker(*steps.recipe()).look([steps.mesh(p) for p in parts], which, poses)[0]
        deep.append(pair) if answer is None else steps.settle(pair, answer)
    worker = palpate.AssemblyWorker(*steps.recipe())
    shapes = {}
    for pairs, needed in steps.batches(deep, 1 << 20):
        for part in needed:
            shapes[part] = palpate.AssemblyWorker(*steps.recipe()).build(steps.mesh(part))
            steps.keep(part, shapes[part])
        parts, which, poses = steps.task(pairs)
        for pair, answer in zip(pairs, worker.measure([steps.mesh(p) for p in parts], [shapes[p] for p in parts], which, poses)):
            steps.settle(pair, answer)
    assert steps.left() == 0
    return steps


def test_steps_in_any_order_give_the_same(sample, whole, rng):
    steps = stepped(sample, rng)
    report = steps.finish()
    assert report.csv(True) == whole.csv(True) and report.json(True) == whole.json(True)
    with pytest.raises(palpate.InputError, match="has ended"):
        steps.todo()


def test_steps_share_journal_and_cache_with_whole_runs(sample, whole, rng, tmp_path):
    cache = tmp_path / "cache"
    cache.mkdir()
    stepped(sample, rng, output=tmp_path, cache=cache).finish()
    again = palpate.assembly(sample, CLEARANCE, output=tmp_path, pictures=0)
    assert again.known == again.pairs and again.csv(True) == whole.csv(True)
    (tmp_path / "findings.journal").unlink()
    third = palpate.assembly(sample, CLEARANCE, output=tmp_path, pictures=0)
    assert third.shapes[0] == 0 and third.shapes[1] > 0 and third.csv(True) == whole.csv(True)


def test_workers_refuse_what_is_wrong(sample):
    steps = palpate.AssemblySteps(sample, CLEARANCE)
    recipe = steps.recipe()
    with pytest.raises(palpate.InputError, match="install the same version"):
        palpate.AssemblyWorker(*recipe[:4], "0.0.0")
    worker = palpate.AssemblyWorker(*recipe)
    parts, which, poses = steps.task(steps.todo()[:2])
    meshes = [steps.mesh(p) for p in parts]
    key, name, vertices, faces = meshes[0]
    for wrong, match in [
        ([(key, name, vertices + 1e-3, faces), *meshes[1:]], "not the part"),
        ([(key[:3], name, vertices, faces), *meshes[1:]], "16 bytes"),
        (meshes[:1], "but there are 1"),
    ]:
        with pytest.raises(palpate.InputError, match=match):
            palpate.AssemblyWorker(*recipe).look(wrong, which, poses)
    with pytest.raises(palpate.InputError, match="poses has shape"):
        worker.look(meshes, which, poses[:, :7])
    with pytest.raises(palpate.InputError, match="not finite"):
        worker.look(meshes, which, np.full_like(poses, np.nan))
    with pytest.raises(palpate.FileError, match="the shape of"):
        worker.measure(meshes, [np.zeros(100, np.uint8)] * len(meshes), which, poses)
    assert worker.measure(meshes, [None] * len(meshes), which, poses) == [None, None]
    with pytest.raises(palpate.InputError, match="no answer"):
        steps.settle(0, b"nothing")
    with pytest.raises(palpate.InputError, match="no pair"):
        steps.task([10**9])
