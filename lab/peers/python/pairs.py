"""The job `pair` of ../README.md for Python peers: one query for each pose, timed one by one."""

import time

import numpy as np

import protocol

# A query slower than this is not repeated [ns].
SLOW_NS = 20_000_000

MODELS = {}


def model(path, scale, build):
    """What `build(vertices, triangles)` made of the mesh, and the seconds it took; kept by path and scale."""
    key = (path, scale)
    if key not in MODELS:
        vertices, triangles = protocol.read_mesh(path)
        vertices = vertices.astype(np.float64) * scale
        start = time.perf_counter()
        built = build(vertices, triangles.astype(np.int64))
        MODELS[key] = (built, time.perf_counter() - start)
    return MODELS[key]


def answer(request, build, place, queries):
    """Answers the job.

    `place(a, b, rotation, translation)` gives what a query takes; `queries[kind](placed)` gives (call, read): `call`
    alone is timed, `read(what it gave)` is the value. A distance comes back in metres.
    """
    kind = request["kind"]
    if kind not in queries:
        raise ValueError(f"this peer has no query of the kind '{kind}'")
    scale = request.get("scale") or 1.0
    (a, build_a), (b, build_b) = (model(request[key], scale, build) for key in ("mesh", "mesh_b"))
    poses = np.loadtxt(request["poses"], delimiter=",", ndmin=2)
    repeat, limit = max(1, int(request.get("repeat") or 1)), request.get("limit_s") or 1e9
    micros, values = [], []
    begin = time.perf_counter()
    for x, y, z, qx, qy, qz, qw in poses:
        placed = place(a, b, rotation(qx, qy, qz, qw), scale * np.array([x, y, z]))
        best = None
        for _ in range(repeat):
            call, read = queries[kind](placed)
            start = time.perf_counter_ns()
            found = call()
            took = time.perf_counter_ns() - start
            best = took if best is None else min(best, took)
            if took > SLOW_NS:
                break
        micros.append(best / 1e3)
        values.append(float(read(found)) / (scale if kind == "distance" else 1.0))
        if time.perf_counter() - begin > limit:
            break
    return {"seconds": [build_a + build_b], "count": len(micros), "micros": micros, "values": values}


def rotation(x, y, z, w):
    """The matrix of a unit quaternion."""
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )
