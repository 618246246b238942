"""The peers' side of the protocol in ../README.md, shared by the Python peers."""

import json
import os
import sys
import time

import numpy as np


def read_mesh(path):
    """Vertices (n, 3) float32 and triangles (m, 3) uint32 of a raw mesh file."""
    raw = np.fromfile(path, dtype="<u4")
    vertices, triangles = int(raw[0]), int(raw[1])
    if len(raw) != 2 + 3 * (vertices + triangles):
        raise ValueError(f"{path} has another length than its counts say")
    xyz = raw[2 : 2 + 3 * vertices].view("<f4").reshape(-1, 3)
    return np.ascontiguousarray(xyz), np.ascontiguousarray(raw[2 + 3 * vertices :].reshape(-1, 3))


def read_points(path):
    """Points (n, 3) float32 of a raw points file."""
    return np.fromfile(path, dtype="<f4").reshape(-1, 3)


def write_distances(path, distances):
    """Writes distances [m], negative inside, as float32."""
    np.asarray(distances, dtype="<f4").tofile(path)


def timed(request, work):
    """Runs `work` as often as the request says; seconds of each run and the last result."""
    seconds, last = [], None
    for _ in range(max(1, int(request.get("repeat", 1)))):
        last = None
        start = time.perf_counter()
        last = work()
        seconds.append(time.perf_counter() - start)
    return seconds, last


def nodes(request):
    """Positions (nx, ny, nz, 3) float32 of the nodes of the request's dense grid."""
    axes = [o + request["voxel"] * np.arange(n) for o, n in zip(request["origin"], request["dims"])]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).astype(np.float32)


def sample_dense(values, origin, h, points):
    """Trilinear values of a dense grid (x, y, z) at points, NaN outside."""
    dims = np.array(values.shape)
    u = (points.astype(np.float64) - np.asarray(origin)) / h
    inside = np.all((u >= 0) & (u <= dims - 1), axis=1)
    cell = np.clip(u.astype(np.int64), 0, dims - 2)
    f = u - cell
    out = np.zeros(len(points))
    for corner in range(8):
        bit = np.array([corner & 1, corner >> 1 & 1, corner >> 2 & 1])
        weight = np.prod(np.where(bit == 1, f, 1 - f), axis=1)
        out += weight * values[tuple((cell + bit).T)]
    out[~inside] = np.nan
    return out


def peak_rss():
    """High-water mark of this process's resident memory [bytes]."""
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0


def serve(version, jobs):
    """Answers every line of standard input; `jobs` maps a name to f(request) -> (seconds, count) or a reply's keys."""
    # Libraries print to descriptor 1; replies must be alone there.
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        if not line.strip():
            continue
        try:
            request = json.loads(line)
            job = request.get("job")
            if job == "hello":
                reply = {"ok": True, "version": version, "error": None}
            elif job in jobs:
                done = jobs[job](request)
                if not isinstance(done, dict):
                    done = {"seconds": done[0], "count": int(done[1])}
                reply = {"ok": True, **done, "peak_rss_bytes": peak_rss(), "error": None}
            else:
                reply = {"ok": False, "seconds": [], "error": f"this peer does not do the job '{job}'"}
        except Exception as error:  # noqa: BLE001 - a peer reports whatever went wrong and goes on
            reply = {"ok": False, "seconds": [], "error": f"{type(error).__name__}: {error}"}
        print(json.dumps(reply), file=replies, flush=True)
