"""Many poses of a mesh against itself, from Python: contact count, deepest contact and wrench of each; beside Coal and python-fcl.

    python py/bench/poses.py bunny.obj [--poses 100000] [--peers 300] [--resolution 128]

Prints one JSON object. Peers that are not installed are left out. They answer some of the poses, one by one, in this process: all pairs of
triangles that meet, and their contacts; trees are built before. Unfair: theirs are exact pairs of triangles without depth, ours are points
with depth, area and normal of a field with the error bound that is printed; theirs use one thread.
"""

import argparse
import json
import time

import numpy as np

import palpate

ALL = 10_000_000  # more than there are pairs when a mesh lies on itself


def best(work, times=3):
    seconds = []
    for _ in range(times):
        begin = time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - begin)
    return min(seconds), result


def make_poses(shape, n, seed=1):
    """B turned at random about its middle, which is up to an extent away from A's: from coincident to apart."""
    rng = np.random.default_rng(seed)
    q = rng.normal(size=(n, 4))
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    low, high = shape.aabb
    way = rng.normal(size=(n, 3))
    way *= (rng.uniform(0, 1, n) * (high - low).max() / np.linalg.norm(way, axis=1))[:, None]
    middle = (low + high) / 2
    v, w = q[:, :3], q[:, 3:]
    turned = middle + 2 * np.cross(v, np.cross(v, middle) + w * middle)
    return middle + way - turned, q


def matrices(q):
    x, y, z, w = q.T
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), 2, 0)


def coal_contacts(vertices, faces, positions, rotations):
    import coal

    model = coal.BVHModelOBBRSS()
    model.beginModel(len(faces), len(vertices))
    model.addVertices(vertices)
    model.addTriangles(faces)
    model.endModel()
    request = coal.CollisionRequest(coal.CollisionRequestFlag.CONTACT, ALL)
    here, counts, seconds = coal.Transform3s(), [], 0.0
    for p, r in zip(positions, rotations):
        there, result = coal.Transform3s(r, p), coal.CollisionResult()
        begin = time.perf_counter()
        coal.collide(model, here, model, there, request, result)
        seconds += time.perf_counter() - begin
        counts.append(result.numContacts())
    return seconds, counts


def fcl_contacts(vertices, faces, positions, rotations):
    import fcl

    model = fcl.BVHModel()
    model.beginModel(len(vertices), len(faces))
    model.addSubModel(vertices, faces)
    model.endModel()
    here, counts, seconds = fcl.CollisionObject(model, fcl.Transform()), [], 0.0
    for p, r in zip(positions, rotations):
        there, result = fcl.CollisionObject(model, fcl.Transform(r, p)), fcl.CollisionResult()
        request = fcl.CollisionRequest(num_max_contacts=ALL, enable_contact=True)
        begin = time.perf_counter()
        counts.append(fcl.collide(here, there, request, result))
        seconds += time.perf_counter() - begin
    return seconds, counts


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("mesh")
    parser.add_argument("--poses", type=int, default=100_000)
    parser.add_argument("--peers", type=int, default=300)
    parser.add_argument("--resolution", type=int, default=128)
    args = parser.parse_args()
    shape = palpate.Shape.from_file(args.mesh, resolution=args.resolution)
    positions, q = poses = make_poses(shape, args.poses)
    rows = []
    for threads in (1, 2):
        seconds, found = best(lambda: palpate.wrench_batch(shape, shape, poses, stiffness=1e9, threads=threads), 2)
        rows.append(
            {
                "who": "palpate", "threads": threads, "poses": args.poses, "poses_per_second": args.poses / seconds,
                "contacts": int(found.count.sum()), "touching": float((found.count > 0).mean()),
            }
        )  # fmt: skip
    few = slice(0, args.peers)
    seconds, found = best(lambda: palpate.wrench_batch(shape, shape, (positions[few], q[few]), stiffness=1e9, threads=1))
    ours = args.peers / seconds
    rows.append({"who": "palpate", "threads": 1, "poses": args.peers, "poses_per_second": ours, "contacts": int(found.count.sum())})
    vertices, faces = shape.vertices, shape.faces.astype(np.int64)
    for name, work in (("coal", coal_contacts), ("python-fcl", fcl_contacts)):
        try:
            seconds, counts = work(vertices, faces, positions[few], matrices(q[few]))
        except ImportError:
            continue
        theirs = args.peers / seconds
        touch = np.mean((np.array(counts) > 0) == (found.count > 0))
        rows.append(
            {
                "who": name, "threads": 1, "poses": args.peers, "poses_per_second": theirs, "contacts": int(sum(counts)),
                "ratio": ours / theirs, "same_answer_whether_they_touch": float(touch),
            }
        )  # fmt: skip
    about = {"bench": "python poses", "mesh": args.mesh.rsplit("/", 1)[-1], "points": len(shape.points), "voxel": shape.voxel}
    print(json.dumps({**about, "error_bound_band": shape.error_bound_band, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
