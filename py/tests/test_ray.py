"""Assemblies on a Ray of this machine: the same findings, also when processes are killed again and again."""

import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
import types

import numpy as np
import pytest

import palpate

ray = pytest.importorskip("ray", reason="Ray is not installed (pip install ray)")

CLEARANCE = 0.5e-3


@pytest.fixture(scope="module")
def sample():
    return palpate.Assembly.sample(160, seed=5)


@pytest.fixture(scope="module")
def whole(sample):
    return palpate.assembly(sample, CLEARANCE)


@pytest.fixture(scope="module")
def joined():
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    yield
    ray.shutdown()


def same(report, whole):
    assert report.csv(True) == whole.csv(True) and report.json(True) == whole.json(True)


def row(n):
    """Boxes, each of which sinks into the next."""
    whole = palpate.Assembly()
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=float)
    faces = [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]]
    for i in range(n):
        place = np.eye(4)
        place[0, 3] = 0.009 * i
        whole.add(f"box {i}", corners * [0.01, 0.01 + 1e-5 * i, 0.01], np.array(faces, dtype=np.uint32), place)
    return whole


def at_work():
    """Processes of Ray that do one of our tasks now."""
    found = []
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                title = file.read()
        except OSError:
            continue
        if title.startswith((b"ray::_look", b"ray::_build", b"ray::_measure")):
            found.append(int(name))
    return found


def test_the_same_to_the_last_bit(sample, whole, joined):
    told = []
    report = palpate.assembly(sample, CLEARANCE, cluster="auto", progress=lambda *now: told.append(now))
    same(report, whole)
    assert report.shapes[0] > 10 and report.known == 0
    assert {stage for stage, _, _ in told} == {"look at pairs", "measure overlaps"}
    last = {stage: (done, steps) for stage, done, steps in told}
    assert all(done == steps > 0 for done, steps in last.values()), last
    assert ray.is_initialized(), "what was there is left there"


def test_killed_workers_lose_nothing(sample, whole, joined, tmp_path):
    if not os.path.isdir("/proc/self"):
        pytest.skip("processes are not listed here")
    killed = []
    over = threading.Event()

    def kill():
        while not over.is_set() and len(killed) < 6:
            for process in at_work()[:1]:
                try:
                    os.kill(process, signal.SIGKILL)
                    killed.append(process)
                except OSError:
                    pass
            time.sleep(0.4)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        report = palpate.assembly(sample, CLEARANCE, cluster="auto", output=tmp_path, pictures=0)
    finally:
        over.set()
        killer.join()
    assert len(set(killed)) >= 2, "processes were killed at work"
    assert report.failures == []
    same(report, whole)
    # What was found is in the journal, and shapes are in the cache, as after a run here.
    again = palpate.assembly(sample, CLEARANCE, output=tmp_path, pictures=0)
    assert again.known == again.pairs
    same(again, whole)
    (tmp_path / "findings.journal").unlink()
    third = palpate.assembly(sample, CLEARANCE, cluster="auto", output=tmp_path, pictures=0)
    assert third.shapes[0] == 0 and third.shapes[1] > 0
    same(third, whole)


def test_a_run_that_is_stopped_goes_on(sample, whole, joined, tmp_path):
    class Enough(Exception):
        pass

    def stop(stage, done, steps):
        if done > steps / 3:
            raise Enough

    with pytest.raises(Enough):
        palpate.assembly(sample, CLEARANCE, cluster="auto", output=tmp_path, progress=stop)
    report = palpate.assembly(sample, CLEARANCE, cluster="auto", output=tmp_path, pictures=0)
    assert 0 < report.known < report.pairs
    same(report, whole)


def test_little_memory_means_many_batches_that_share_parts(joined, monkeypatch):
    from palpate import _ray

    monkeypatch.setattr(_ray, "ROOM", 0)
    put = []
    own = ray.put
    monkeypatch.setattr(ray, "put", lambda thing: put.append(thing) or own(thing))
    boxes = row(12)
    told = []
    report = palpate.assembly(boxes, CLEARANCE, cluster="auto", max_memory=1, progress=lambda *now: told.append(now))
    same(report, palpate.assembly(boxes, CLEARANCE))
    assert len(report.clashes) == 11 and report.shapes[0] == 12
    assert told[-1] == ("measure overlaps", 11 + 12, 11 + 12)
    assert not put, "small meshes go along with the tasks"


def test_pieces_of_an_earlier_batch_that_fail(joined, monkeypatch):
    from palpate import _ray

    boxes = row(20)
    measure = _ray._measure

    def deadly(recipe, which, *rest):
        if len(which) > 1:
            time.sleep(0.5)
            os._exit(1)
        return measure(recipe, which, *rest)

    monkeypatch.setattr(_ray, "_measure", deadly)
    monkeypatch.setattr(_ray, "RETRIES", 0)
    monkeypatch.setattr(_ray, "PIECES", 1)
    monkeypatch.setattr(_ray, "ROOM", 0)
    report = palpate.assembly(boxes, CLEARANCE, cluster="auto", max_memory=6_000_000)
    assert report.failures == []
    same(report, palpate.assembly(boxes, CLEARANCE))


def test_what_always_fails_is_told_and_the_rest_goes_on(sample, whole, joined, monkeypatch):
    from palpate import _ray

    victim = sample.names[whole.clashes[0].pair[0]]
    number = sample.parts[whole.clashes[0].pair[0]]
    build = _ray._build

    def deadly(recipe, mesh):
        if mesh[1] == victim:
            os._exit(1)
        return build(recipe, mesh)

    monkeypatch.setattr(_ray, "_build", deadly)
    monkeypatch.setattr(_ray, "RETRIES", 1)
    report = palpate.assembly(sample, CLEARANCE, cluster="auto")
    assert [name for name, _ in report.failures] == [victim]
    assert report.failures[0][1] == "the process that built its shape ended, 2 times"
    lost = {f.pair for f in whole.clashes if number in (sample.parts[f.pair[0]], sample.parts[f.pair[1]])}
    assert lost and {f.pair for f in report.findings} == {f.pair for f in whole.findings} - lost


def test_failures_have_the_words_of_the_error(joined, monkeypatch):
    from palpate import _ray

    def damaged(recipe, mesh):
        return "", np.zeros(100, dtype=np.uint8)

    monkeypatch.setattr(_ray, "_build", damaged)
    report = palpate.assembly(row(4), CLEARANCE, cluster="auto")
    assert [name for name, _ in report.failures] == [f"box {i} and box {i + 1}" for i in range(3)]
    assert all(words.startswith("the shape of box") and "\n" not in words for _, words in report.failures), report.failures


def test_workers_that_cannot_do_the_work(sample, joined, monkeypatch):
    from palpate import _ray

    only_here = types.ModuleType("only_here")
    exec("def _look(*given): pass", only_here.__dict__)
    monkeypatch.setitem(sys.modules, "only_here", only_here)
    with monkeypatch.context() as here:
        here.setattr(_ray, "_look", only_here._look)
        with pytest.raises(palpate.InputError, match="cannot do the work: ModuleNotFoundError: No module named 'only_here'; .* needs palpate"):
            palpate.assembly(sample, CLEARANCE, cluster="auto")
    look = _ray._look

    def other_version(recipe, *rest):
        return look((*recipe[:-1], "0.0.9"), *rest)

    monkeypatch.setattr(_ray, "_look", other_version)
    with pytest.raises(palpate.InputError, match="0.0.9 asks"):
        palpate.assembly(sample, CLEARANCE, cluster="auto")


def test_damaged_shapes_are_built_again(joined, tmp_path):
    boxes = row(8)
    whole = palpate.assembly(boxes, CLEARANCE, output=tmp_path, pictures=0)
    files = sorted((tmp_path / "cache").glob("*.palp"))
    content = bytearray(files[3].read_bytes())
    content[len(content) // 2] ^= 255
    files[3].write_bytes(content)
    files[5].write_bytes(files[5].read_bytes()[:-100])
    for built in (2, 0):
        (tmp_path / "findings.journal").unlink()
        report = palpate.assembly(boxes, CLEARANCE, cluster="auto", output=tmp_path, pictures=0)
        assert report.shapes[:2] == (built, len(files) - built) and report.failures == []
        same(report, whole)


def test_nothing_waits_for_one_slow_shape(joined, monkeypatch, tmp_path):
    """The shape of the first part is there only after pairs of others were measured."""
    from palpate import _ray

    boxes = row(12)
    # The heaviest is the last one.
    ball = palpate.Assembly.sample(1)
    vertices, faces = ball.mesh(0)
    assert len(faces) > 12
    place = np.eye(4)
    place[0, 3] = 0.009 * 12
    boxes.add("heavy", vertices, faces, place)
    build, measure = _ray._build, _ray._measure

    def slow(recipe, mesh):
        (tmp_path / f"{time.monotonic()} built {mesh[1]}").touch()
        end = time.monotonic() + 20
        while mesh[1] == "box 0" and len(list(tmp_path.glob("* measured"))) < 8:
            if time.monotonic() > end:
                (tmp_path / "in vain").touch()
                break
            time.sleep(0.05)
        return build(recipe, mesh)

    def watched(*given):
        (tmp_path / f"{time.monotonic()} measured").touch()
        return measure(*given)

    monkeypatch.setattr(_ray, "_build", slow)
    monkeypatch.setattr(_ray, "_measure", watched)
    monkeypatch.setattr(_ray, "IN_FLIGHT", 1)
    same(palpate.assembly(boxes, CLEARANCE, cluster="auto"), palpate.assembly(boxes, CLEARANCE))
    assert not (tmp_path / "in vain").exists()
    began = sorted((float(name.split()[0]), name) for name in os.listdir(tmp_path) if "built" in name)
    assert any("heavy" in name for _, name in began[:2]), "what takes long comes first"


def test_workers_have_a_share_of_the_memory_and_forget(joined):
    @ray.remote
    def worker():
        from palpate import _ray

        before, _ray.AssemblyWorker = _ray.AssemblyWorker, lambda *given: given
        try:
            made = [_ray._worker((run, CLEARANCE, None, None, 1 << 30, "version")) for run in ("one", "other")]
            return made, list(_ray._kept)
        finally:
            _ray.AssemblyWorker = before
            _ray._kept.clear()

    made, kept = ray.get(worker.remote())
    assert made == [(CLEARANCE, None, None, 1 << 29, "version")] * 2
    assert [recipe[0] for recipe in kept] == ["other"]


def test_machines_that_join_later_are_used(joined, monkeypatch):
    from palpate import _ray

    run = _ray._Run(ray, palpate.AssemblySteps(row(2), CLEARANCE), None)
    assert run._size() == 2
    monkeypatch.setattr(ray, "cluster_resources", lambda: {"CPU": 7.0})
    monkeypatch.setattr(_ray, "FRESH", 0)
    assert run._size() == 7


def test_clusters_that_cannot_be_joined(sample, joined):
    with pytest.raises(palpate.InputError, match="joined a Ray already"):
        palpate.assembly(sample, CLEARANCE, cluster=2)


def test_addresses_that_nobody_answers(monkeypatch):
    ray.shutdown()
    small = palpate.Assembly.sample(32)
    (port,) = free_ports(1)
    begin = time.monotonic()
    monkeypatch.setenv("RAY_ADDRESS", f"127.0.0.1:{port}")
    for address in (f"127.0.0.1:{port}", f"ray://127.0.0.1:{port}", "auto"):
        with pytest.raises(palpate.InputError, match=f"cluster '{address}' cannot be joined.*refused"):
            palpate.assembly(small, CLEARANCE, cluster=address)
    assert time.monotonic() - begin < 20

    def refuse(**how):
        raise ConnectionError("no connection") from RuntimeError("wrong token\n")

    # Ray itself takes long to say so.
    monkeypatch.setattr(ray, "init", refuse)
    with socket.create_server(("127.0.0.1", 0)) as server:
        with pytest.raises(palpate.InputError, match=r"cannot be joined: no connection \(wrong token\)$"):
            palpate.assembly(small, CLEARANCE, cluster=f"127.0.0.1:{server.getsockname()[1]}")


def test_a_ray_of_its_own(sample, whole, monkeypatch):
    ray.shutdown()
    # Not the one that is named here.
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    small = palpate.Assembly.sample(32)
    for wrong in (-1, 2.5):
        with pytest.raises(palpate.InputError, match="cluster is"):
            palpate.assembly(small, CLEARANCE, cluster=wrong)
    report = palpate.assembly(small, CLEARANCE, cluster=2)
    same(report, palpate.assembly(small, CLEARANCE))
    assert not ray.is_initialized()


JOIN = """
import sys, palpate
small = palpate.Assembly.sample(32, seed=2)
here = palpate.assembly(small, 0.5e-3)
there = palpate.assembly(small, 0.5e-3, cluster=sys.argv[1])
assert there.csv(True) == here.csv(True) and there.json(True) == here.json(True)
print("the same", there.shapes[0] > 0)
"""


def free_ports(n):
    sockets = [socket.socket() for _ in range(n)]
    try:
        for s in sockets:
            s.bind(("127.0.0.1", 0))
        return [s.getsockname()[1] for s in sockets]
    finally:
        for s in sockets:
            s.close()


def test_a_cluster_by_its_address():
    """One that was started elsewhere: as one of its machines, and as a guest through its server for clients."""
    pytest.importorskip("grpc", reason="Ray's client is not installed (pip install 'ray[client]')")
    ray.shutdown()
    port, guests, agent = free_ports(3)
    # Both sides know one secret, as clusters of several machines do.
    # With fork support of gRPC the server for clients, which forks while others call, hangs at times.
    env = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0", "GRPC_ENABLE_FORK_SUPPORT": "0", "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    head = f"start --head --block --include-dashboard=false --num-cpus=2 --port={port} --ray-client-server-port={guests}"
    # Ray 2.60 tells its server for clients the wrong port of this agent unless it is given.
    head += f" --runtime-env-agent-port={agent} --min-worker-port=0 --max-worker-port=0"
    program = [sys.executable, "-c", "from ray.scripts.scripts import main; main()", *head.split()]
    server = subprocess.Popen(program, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for address in (f"127.0.0.1:{port}", f"ray://127.0.0.1:{guests}"):
            for _ in range(60):
                try:
                    socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2])), 1).close()
                    break
                except OSError:
                    assert server.poll() is None, "the cluster ended"
                    time.sleep(0.5)
            joined = subprocess.run([sys.executable, "-c", JOIN, address], env=env, capture_output=True, text=True, timeout=180)
            assert joined.returncode == 0, joined.stderr
            assert "the same True" in joined.stdout
    finally:
        server.terminate()
        server.wait(60)
