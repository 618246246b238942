"""Open3D as a peer: dense signed distances, surface voxels, signed distance of points.

Timed: `RaycastingScene.compute_signed_distance` on all nodes or points (the scene is built before), and
`VoxelGrid.create_from_triangle_mesh` (the legacy mesh is made before).
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "python"))
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


protocol.serve(open3d.__version__, {"build": build, "sample": sample, "voxelize": voxelize})
