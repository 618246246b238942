"""mesh2sdf as a peer: dense cube of signed distances, one thread.

Timed: `mesh2sdf.core.compute` alone (no mesh repair). It fills n x n x n nodes at -1 + 2 i / n of a cube that holds the
mesh scaled into it: the request's `voxel` becomes 2 / n, so that the nodes are as far apart as everybody else's.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "python"))
import mesh2sdf.core
import numpy as np
import protocol

MESH = {}


def build(request):
    if MESH.get("path") != request["mesh"]:
        MESH["data"] = protocol.read_mesh(request["mesh"])
        MESH["path"] = request["mesh"]
    vertices, triangles = MESH["data"]
    h, n = request["voxel"], int(max(request["dims"]))
    scale = 2.0 / (n * h)
    # Node (0, 0, 0) lies at (-1, -1, -1), which is the request's origin.
    origin = np.asarray(request["origin"])
    inside_cube = ((vertices.astype(np.float64) - origin) * scale - 1.0).astype(np.float32)
    corners = np.ascontiguousarray(triangles)
    seconds, values = protocol.timed(request, lambda: mesh2sdf.core.compute(inside_cube, corners, n))
    if request.get("points") and request.get("out"):
        points = protocol.read_points(request["points"])
        values = np.asarray(values).reshape(n, n, n)
        protocol.write_distances(request["out"], protocol.sample_dense(values, origin, h, points) / scale)
    return seconds, n**3


protocol.serve("1.1.0", {"build": build})
