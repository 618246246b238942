"""Signed distances of points to a mesh, from Python: by the field, and exactly; beside Open3D, pysdf, libigl and trimesh.

    python py/bench/points.py bunny.obj [--points 1000000] [--resolution 256]

Prints one JSON object. Peers that are not installed are left out; slow ones answer fewer points, which is told. Every row has its largest
difference from our exact distances, in diagonals of the mesh. Points are uniform in the box of the mesh, a tenth larger. Trees are built before.
Unfair: the field answers with the error bound that is printed, peers exactly; Open3D and pysdf use all cores, as we do.
"""

import argparse
import json
import time

import numpy as np

import palpate


def open3d_distance(vertices, faces):
    import open3d

    scene = open3d.t.geometry.RaycastingScene()
    scene.add_triangles(open3d.core.Tensor(vertices.astype(np.float32)), open3d.core.Tensor(faces.astype(np.uint32)))
    return lambda p: scene.compute_signed_distance(open3d.core.Tensor(p.astype(np.float32))).numpy()


def pysdf_distance(vertices, faces):
    import pysdf

    f = pysdf.SDF(vertices.astype(np.float32), faces.astype(np.uint32))
    return lambda p: -f(p.astype(np.float32))


def libigl_distance(vertices, faces):
    import igl

    return lambda p: np.asarray(igl.signed_distance(p, vertices, faces)[0]).ravel()


def trimesh_distance(vertices, faces):
    import rtree  # noqa: F401, trimesh needs it
    import trimesh

    mesh = trimesh.Trimesh(vertices, faces, process=False)
    return lambda p: -trimesh.proximity.signed_distance(mesh, p)


PEERS = [("open3d", open3d_distance, 100_000), ("pysdf", pysdf_distance, 100_000), ("libigl", libigl_distance, 20_000), ("trimesh", trimesh_distance, 500)]


def timed(work, times):
    took = []
    for _ in range(times):
        begin = time.perf_counter()
        result = work()
        took.append(time.perf_counter() - begin)
    return min(took), result


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("mesh")
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--resolution", type=int, default=256)
    args = parser.parse_args()
    shape = palpate.Shape.from_file(args.mesh, resolution=args.resolution)
    low, high = shape.aabb
    diagonal = float(np.linalg.norm(high - low))
    middle, half = (low + high) / 2, 0.55 * (high - low)
    points = middle + np.random.default_rng(1).uniform(-1, 1, (args.points, 3)) * half
    exact_seconds, exact = timed(lambda: shape.signed_distance(points, exact=True), 2)
    rows = []

    def row(who, n, seconds, found):
        error = float(np.nanmax(np.abs(np.asarray(found, float) - exact[:n]))) / diagonal
        rows.append({"who": who, "points": n, "points_per_second": n / seconds, "largest_difference_in_diagonals": error})
        return n / seconds

    single = points.astype(np.float32)
    field = row("palpate field", args.points, *timed(lambda: shape.signed_distance(points), 5))
    row("palpate field, float32", args.points, *timed(lambda: shape.signed_distance(single), 5))
    true = row("palpate exact", args.points, exact_seconds, exact)
    fastest = 0.0
    for name, make, n in PEERS:
        try:
            ask = make(shape.vertices, shape.faces.astype(np.int64))
        except ImportError:
            continue
        n = min(n, args.points)
        fastest = max(fastest, row(name, n, *timed(lambda: ask(points[:n]), 1)))
    about = {"bench": "python points", "mesh": args.mesh.rsplit("/", 1)[-1], "voxel": shape.voxel}
    bounds = {"error_bound_band": shape.error_bound_band, "error_bound_far": shape.error_bound_far, "diagonal": diagonal}
    ratios = {"field": field / fastest, "exact": true / fastest} if fastest else None
    print(json.dumps({**about, **bounds, "ratio_to_the_fastest_peer": ratios, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
