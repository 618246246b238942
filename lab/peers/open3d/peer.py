"""Open3D as a peer: dense signed distances, surface voxels, signed distance of points, nearest points of a cloud.

Timed: `RaycastingScene.compute_signed_distance` on all nodes or points (the scene is built before), and
`VoxelGrid.create_from_triangle_mesh` (the legacy mesh is made before). For clouds `core.nns` (f32) with all probes in one
call, and the legacy `KDTreeFlann` (f64) with one call for each; the trees are timed apart.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "python"))
import nearest
import numpy as np
import open3d
import protocol

STATE = {}


def mesh_of(request):
    if STATE.get("path") != request["mesh"]:
        STATE.clear()
        STATE["mesh"] = protocol.read_mesh(request["mesh"])
        STATE["path"] = request["mesh"]
    return STATE["mesh"]


def scene_of(request):
    vertices, triangles = mesh_of(request)
    if "scene" not in STATE:
        scene = open3d.t.geometry.RaycastingScene(nthreads=int(request.get("threads", 0)))
        scene.add_triangles(open3d.core.Tensor(vertices), open3d.core.Tensor(triangles))
        STATE["scene"] = scene
    return STATE["scene"]


def distances(request, points):
    scene, threads = scene_of(request), int(request.get("threads", 0))
    query = open3d.core.Tensor(points)
    seconds, result = protocol.timed(request, lambda: scene.compute_signed_distance(query, nthreads=threads))
    return seconds, result.numpy()


def build(request):
    grid = protocol.nodes(request)
    seconds, values = distances(request, grid)
    if request.get("points") and request.get("out"):
        points = protocol.read_points(request["points"])
        protocol.write_distances(
            request["out"], protocol.sample_dense(values, request["origin"], request["voxel"], points)
        )
    return seconds, values.size


def sample(request):
    points = protocol.read_points(request["points"])
    seconds, values = distances(request, points)
    if request.get("out"):
        protocol.write_distances(request["out"], values)
    return seconds, len(points)


def voxelize(request):
    vertices, triangles = mesh_of(request)
    if "legacy" not in STATE:
        STATE["legacy"] = open3d.geometry.TriangleMesh(
            open3d.utility.Vector3dVector(vertices.astype(np.float64)),
            open3d.utility.Vector3iVector(triangles.astype(np.int32)),
        )
    make = open3d.geometry.VoxelGrid.create_from_triangle_mesh
    seconds, grid = protocol.timed(request, lambda: make(STATE["legacy"], request["voxel"]))
    return seconds, len(grid.get_voxels())


def nns(points):
    tree = open3d.core.nns.NearestNeighborSearch(points)
    tree.knn_index()
    return tree


def legacy(cloud):
    return open3d.geometry.PointCloud(open3d.utility.Vector3dVector(cloud.astype(np.float64)))


def nearest_points(request):
    batch = (
        open3d.core.Tensor,
        nns,
        open3d.core.Tensor,
        lambda tree, probes: tree.knn_search(probes, 1),
        lambda found: found[1].numpy(),
    )
    single = (
        legacy,
        open3d.geometry.KDTreeFlann,
        lambda probe: probe.astype(np.float64),
        lambda tree, probe: tree.search_knn_vector_3d(probe, 1),
        lambda found: found[2][0],
    )
    # The searches take their number of threads from the process, which other jobs share.
    threads, before = int(request.get("threads") or 0), open3d.utility.get_max_threads()
    open3d.utility.set_max_threads(threads or before)
    try:
        return nearest.answer(request, {"batch": batch, "single": single})
    finally:
        open3d.utility.set_max_threads(before)


JOBS = {"build": build, "sample": sample, "voxelize": voxelize, "nearest": nearest_points}
protocol.serve(open3d.__version__, JOBS)
