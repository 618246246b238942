"""V-HACD 4 by PyPI's vhacdx as a peer: a mesh as a few convex hulls.

Timed: `compute_vhacd`. The hulls are written to `out` as OBJ, one group for each.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "python"))
import protocol
import vhacdx
from importlib.metadata import version


def write_obj(path, hulls):
    first = 1
    with open(path, "w") as out:
        for index, (vertices, triangles) in enumerate(hulls):
            print(f"g hull{index}", file=out)
            for x, y, z in vertices:
                print(f"v {x:.9g} {y:.9g} {z:.9g}", file=out)
            for a, b, c in triangles:
                print(f"f {a + first} {b + first} {c + first}", file=out)
            first += len(vertices)


def hulls(request):
    vertices, triangles = protocol.read_mesh(request["mesh"])
    limits = {
        "maxConvexHulls": int(request.get("hulls", 8)),
        "maxNumVerticesPerCH": int(request.get("vertices", 100)),
    }
    seconds, found = protocol.timed(request, lambda: vhacdx.compute_vhacd(vertices, triangles, **limits))
    found = [(v.reshape(-1, 3), f.reshape(-1, 3)) for v, f in found]
    write_obj(request["out"], found)
    return {"seconds": seconds, "count": len(found), "values": [len(v) for v, _ in found]}


protocol.serve(version("vhacdx"), {"hulls": hulls})
