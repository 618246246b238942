"""The job `nearest` of ../README.md for Python peers: the nearest point of a cloud."""

import time

import numpy as np
import protocol

CLOUD = {}


def cloud_of(request):
    """The request's cloud (n, 3) float32; read once, kept while its path stays the same."""
    if CLOUD.get("path") != request["cloud"]:
        CLOUD.update(path=request["cloud"], points=protocol.read_points(request["cloud"]))
    return CLOUD["points"]


def answer(request, kinds):
    """Answers the job; `kinds` maps `single` and `batch` to (prepare, build, to_query, search, squares).

    `build(prepare(cloud))` gives the tree, of which `build` is timed; `search(tree, query)` is timed and gives what
    `squares` turns into squared distances [m²]. `to_query` makes the query of all probes (`batch`) or of one (`single`).
    """
    kind = request.get("kind") or "batch"
    if kind not in kinds:
        raise ValueError(f"this peer has no query of the kind '{kind}'")
    prepare, build, to_query, search, squares = kinds[kind]
    probes = protocol.read_points(request["points"])
    if len(probes) == 0 or len(cloud_of(request)) == 0:
        raise ValueError("the cloud or the probes have no points")
    repeat = max(1, int(request.get("repeat") or 1))
    prepared = prepare(cloud_of(request))
    seconds, tree = protocol.timed({"repeat": min(repeat, 3)}, lambda: build(prepared))
    reply = {"seconds": seconds, "count": len(probes)}
    if kind == "batch":
        query = to_query(probes)
        passes, found = protocol.timed({"repeat": repeat}, lambda: search(tree, query))
        found = squares(found)
    else:
        queries = [to_query(p) for p in probes]
        passes, found = protocol.timed({"repeat": repeat}, lambda: [search(tree, q) for q in queries])
        found = [squares(f) for f in found]
        reply["micros"] = micros(tree, queries, search, repeat)
    found = np.asarray(found, dtype=np.float64).reshape(len(probes))
    if request.get("out"):
        protocol.write_distances(request["out"], np.sqrt(found))
    return {**reply, "mean_micros": 1e6 * min(passes) / len(probes), "values": [float(found.sum())]}


def micros(tree, queries, search, repeat):
    """Of each query the least time the thread ran [µs], less what measuring nothing gives."""
    clock = time.thread_time_ns
    empty = sorted(-(clock() - clock()) for _ in range(1001))[500]
    best = [float("inf")] * len(queries)
    for _ in range(repeat):
        for i, query in enumerate(queries):
            start = clock()
            search(tree, query)
            took = clock() - start - empty
            best[i] = min(best[i], max(took, 0))
    return [b / 1e3 for b in best]
