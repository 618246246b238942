"""The job `soft` of ../README.md for Python peers: vertices that move, then all pairs of triangles that meet."""

import time

import numpy as np

import protocol


def load(mesh, steps, build, to_list):
    vertices, triangles = protocol.read_mesh(mesh)
    frames = protocol.read_points(steps).astype(np.float64).reshape(-1, len(vertices), 3)
    return build(vertices.astype(np.float64), triangles.astype(np.int64)), [to_list(f) for f in frames]


def answer(request, build, to_list, update, all_pairs):
    """Answers the job.

    `to_list(vertices)` gives what `update(model, vertices)` takes; `all_pairs(a, b)` gives (call, found): `update` and
    `call` are timed, `found()` gives the pairs of triangles.
    """
    a, frames_a = load(request["mesh"], request["steps"], build, to_list)
    b, frames_b = load(request["mesh_b"], request["steps_b"], build, to_list)
    repeat, limit = max(1, int(request.get("repeat") or 1)), request.get("limit_s") or 1e9
    reply = {"seconds": [], "count": 0, "updates": [], "micros": [], "values": [], "hashes": []}
    begin = time.perf_counter()
    for frame_a, frame_b in zip(frames_a, frames_b):
        updates, searches = [], []
        for _ in range(repeat):
            start = time.perf_counter_ns()
            update(a, frame_a)
            update(b, frame_b)
            updates.append(time.perf_counter_ns() - start)
            call, found = all_pairs(a, b)
            start = time.perf_counter_ns()
            call()
            searches.append(time.perf_counter_ns() - start)
        list_of_pairs = found()
        reply["updates"].append(min(updates) / 1e3)
        reply["micros"].append(min(searches) / 1e3)
        reply["values"].append(float(len(list_of_pairs)))
        reply["hashes"].append(hash_pairs(list_of_pairs))
        reply["count"] += 1
        if time.perf_counter() - begin > limit:
            break
    return reply


def hash_pairs(list_of_pairs):
    """As `hash_pairs` of ../protocol.rs."""
    numbers = np.array(list_of_pairs, dtype=np.uint64).reshape(-1, 2)
    h = numbers[:, 0] * np.uint64(0x9E3779B97F4A7C15) ^ numbers[:, 1] * np.uint64(0xC2B2AE3D27D4EB4F)
    h = (h ^ (h >> np.uint64(29))) * np.uint64(0x165667B19E3779F9)
    return float(int((h ^ (h >> np.uint64(32))).sum(dtype=np.uint64)) >> 32)
