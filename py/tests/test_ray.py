"""Assemblies on a Ray of this machine: the same findings, also when processes are killed again and again."""

import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time

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
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    yield
    ray.shutdown()


def same(report, whole):
    assert report.csv(True) == whole.csv(True) and report.json(True) == whole.json(True)


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


def test_little_memory_means_many_batches(sample, whole, joined, monkeypatch):
    from palpate import _ray

    monkeypatch.setattr(_ray, "ROOM", 0)
    same(palpate.assembly(sample, CLEARANCE, cluster="auto", max_memory=1), whole)


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
    assert "again and again" in report.failures[0][1]
    lost = {f.pair for f in whole.clashes if number in (sample.parts[f.pair[0]], sample.parts[f.pair[1]])}
    assert lost and {f.pair for f in report.findings} == {f.pair for f in whole.findings} - lost


def test_clusters_that_cannot_be_joined(sample, joined):
    with pytest.raises(palpate.InputError, match="joined a Ray already"):
        palpate.assembly(sample, CLEARANCE, cluster=2)


def test_a_ray_of_its_own(sample, whole):
    ray.shutdown()
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
    env = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
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
