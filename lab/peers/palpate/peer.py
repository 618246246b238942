"""Our own package for Python, and the libraries its users would take instead, in one process: see ../README.md, jobs `points`, `room`,
`poses`, `lists` and `assembly`."""

import os
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parent.parent / "python"))
import palpate
from protocol import peak_rss, read_mesh, read_points, serve, timed, write_distances

ALL = 10_000_000  # more contacts than there are when a mesh lies on itself

kept = {}


def once(key, make):
    """What was made for this key, or is made now."""
    if key not in kept:
        kept[key] = make()
    return kept[key]


def shape(request):
    return once(("shape", request["mesh_b"]), lambda: palpate.Shape.load(request["mesh_b"]))


def mesh(request):
    vertices, faces = once(("mesh", request["mesh"]), lambda: read_mesh(request["mesh"]))
    return vertices.astype(np.float64), faces.astype(np.int64)


# Signed distances of points: a function of the points for each who answers. Trees are built before.


def ours(request, **how):
    return lambda p: shape(request).signed_distance(p, threads=request["threads"], **how)


def open3d_distance(request):
    import open3d

    vertices, faces = mesh(request)
    scene = open3d.t.geometry.RaycastingScene(nthreads=request["threads"])
    scene.add_triangles(open3d.core.Tensor(vertices.astype(np.float32)), open3d.core.Tensor(faces.astype(np.uint32)))
    return lambda p: scene.compute_signed_distance(open3d.core.Tensor(p.astype(np.float32)), nthreads=request["threads"]).numpy()


def pysdf_distance(request):
    import pysdf

    vertices, faces = mesh(request)
    f = pysdf.SDF(vertices.astype(np.float32), faces.astype(np.uint32))
    return lambda p: -f(p.astype(np.float32), n_threads=request["threads"])


def libigl_distance(request):
    import igl

    vertices, faces = mesh(request)
    return lambda p: np.asarray(igl.signed_distance(p, vertices, faces)[0]).ravel()


def trimesh_distance(request):
    import trimesh

    thing = trimesh.Trimesh(*mesh(request), process=False)
    return lambda p: -trimesh.proximity.signed_distance(thing, p)


DISTANCES = {
    "field": ours,
    "exact": lambda request: ours(request, exact=True),
    "open3d": open3d_distance,
    "pysdf": pysdf_distance,
    "libigl": libigl_distance,
    "trimesh": trimesh_distance,
}


def points(request):
    ask = once((request["kind"], request["mesh"], request["threads"]), lambda: DISTANCES[request["kind"]](request))
    at = once(("points", request["points"]), lambda: read_points(request["points"]).astype(np.float64))
    at = at[: request["count"]] if request.get("count") else at
    ask(at[:100])  # what is made on first use
    seconds, found = timed(request, lambda: ask(at))
    write_distances(request["out"], found)
    return seconds, len(at)


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def room(request):
    """The most memory that distances of so many points take at a time, beyond the points and the answers [bytes]."""
    rng = np.random.default_rng(1)
    low, high = shape(request).aabb
    ask = DISTANCES[request["kind"]](request)
    ask(rng.uniform(low, high, (1 << 20, 3)))  # what is made on first use stays
    at = rng.uniform(low, high, (request["count"], 3))
    # From here on the system counts the most anew.
    Path("/proc/self/clear_refs").write_text("5")
    before = resident()
    start = time.perf_counter()
    found = ask(at)
    seconds = time.perf_counter() - start
    return {"seconds": [seconds], "count": len(at), "values": [float(peak_rss() - before - found.nbytes)]}


# Poses of B against A: contacts, the deepest and the wrench of each by ours, all pairs of triangles by others.


def places(request):
    read = lambda: np.loadtxt(request["poses"], delimiter=",").reshape(-1, 7)  # noqa: E731
    all_poses = once(("poses", request["poses"]), read)
    return all_poses[: request["count"]] if request.get("count") else all_poses


def our_poses(request):
    a, at = shape(request), places(request)
    work = lambda: palpate.wrench_batch(a, a, at, stiffness=1e9, threads=request["threads"])  # noqa: E731
    seconds, found = timed(request, work)
    return {"seconds": seconds, "count": len(at), "values": found.count.tolist() if len(at) <= 1000 else [int(found.count.sum())]}


def lists(request):
    a, at = shape(request), places(request)
    work = lambda: palpate.contacts_batch(a, a, at, full=True, threads=request["threads"])  # noqa: E731
    seconds, found = timed(request, work)
    return {"seconds": seconds, "count": len(at), "values": [float(len(found.contacts))]}


def matrix(q):
    x, y, z, w = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def coal_poses(request):
    import coal

    def make():
        vertices, faces = mesh(request)
        model = coal.BVHModelOBBRSS()
        model.beginModel(len(faces), len(vertices))
        model.addVertices(vertices)
        model.addTriangles(faces)
        model.endModel()
        return model

    model, here = once("coal", make), coal.Transform3s()
    ask = coal.CollisionRequest(coal.CollisionRequestFlag.CONTACT, ALL)
    there = [coal.Transform3s(matrix(p[3:]), p[:3]) for p in places(request)]

    def one(pose):
        result = coal.CollisionResult()
        coal.collide(model, here, model, pose, ask, result)
        return result.numContacts()

    seconds, found = timed(request, lambda: [one(pose) for pose in there])
    return {"seconds": seconds, "count": len(there), "values": found}


def fcl_poses(request):
    import fcl

    def make():
        vertices, faces = mesh(request)
        model = fcl.BVHModel()
        model.beginModel(len(vertices), len(faces))
        model.addSubModel(vertices, faces)
        model.endModel()
        return model

    model = once("fcl", make)
    here = fcl.CollisionObject(model, fcl.Transform())
    there = [fcl.CollisionObject(model, fcl.Transform(matrix(p[3:]), p[:3])) for p in places(request)]
    ask = fcl.CollisionRequest(num_max_contacts=ALL, enable_contact=True)
    seconds, found = timed(request, lambda: [fcl.collide(here, pose, ask, fcl.CollisionResult()) for pose in there])
    return {"seconds": seconds, "count": len(there), "values": found}


# Assemblies, made up, on this machine's pool and on a Ray of two processes.


def at_work():
    """Processes of Ray that do a task of ours now."""
    found = []
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            title = Path(f"/proc/{name}/cmdline").read_bytes()
        except OSError:
            continue
        if title.startswith((b"ray::_look", b"ray::_build", b"ray::_measure")):
            found.append(int(name))
    return found


def assembly(request):
    """Findings as bytes in `out`; values: planted, found of these, invented, and workers that were killed."""
    whole = once(("assembly", request["count"]), lambda: palpate.Assembly.sample(request["count"]))
    how, killed, over = {"threads": request["threads"]}, [], threading.Event()

    def kill():
        while not over.wait(4.0) and len(killed) < 8:
            for process in at_work()[:1]:
                try:
                    os.kill(process, signal.SIGKILL)
                    killed.append(process)
                except OSError:
                    pass

    if request["kind"] != "local":
        import ray

        if not ray.is_initialized():
            os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
            ray.init(address="local", num_cpus=request["threads"], include_dashboard=False, log_to_driver=False, logging_level="error")
        how["cluster"] = "auto"
    killer = threading.Thread(target=kill)
    if request["kind"] == "killed":
        killer.start()
    try:
        seconds, report = timed(request, lambda: palpate.assembly(whole, 0.5e-3, progress=False, **how))
    finally:
        over.set()
        if killer.is_alive():
            killer.join()
    Path(request["out"]).write_text(report.csv(True) + report.json(True))
    found = {(f.a, f.b, f.kind) for f in report.findings}
    planted = {(a, b, kind) for a, b, kind, _ in whole.planted}
    values = [len(planted), len(planted & found), len(found - planted) + len(report.failures), len(killed)]
    return {"seconds": seconds, "count": len(whole), "values": [float(v) for v in values]}


POSES = {"palpate": our_poses, "coal": coal_poses, "fcl": fcl_poses}

if __name__ == "__main__":
    jobs = {"points": points, "room": room, "poses": lambda request: POSES[request["kind"]](request), "lists": lists, "assembly": assembly}
    serve(palpate.__version__, jobs)
