"""fcpw as a peer: unsigned distance of points to a mesh.

Timed: `find_closest_points` on all points at once (the tree is built before, vectorised).
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "python"))
import fcpw
import numpy as np
import protocol

STATE = {}


def scene_of(request):
    if STATE.get("path") != request["mesh"]:
        vertices, triangles = protocol.read_mesh(request["mesh"])
        scene = fcpw.scene_3D()
        scene.set_object_count(1)
        scene.set_object_vertices(np.asfortranarray(vertices), 0)
        scene.set_object_triangles(np.asfortranarray(triangles.astype(np.int32)), 0)
        scene.build(fcpw.aggregate_type.bvh_surface_area, True, False, False)
        STATE.update(path=request["mesh"], scene=scene)
    return STATE["scene"]


def sample(request):
    scene = scene_of(request)
    points = np.asfortranarray(protocol.read_points(request["points"]))
    far = np.full(len(points), np.inf, dtype=np.float32)

    def work():
        found = fcpw.interaction_3D_list()
        scene.find_closest_points(points, far, found)
        return found

    seconds, found = protocol.timed(request, work)
    if request.get("out"):
        protocol.write_distances(request["out"], [hit.d for hit in found])
    return seconds, len(points)


protocol.serve("1.2.0", {"sample": sample})
