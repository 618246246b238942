"""FCL as a peer (python-fcl): two meshes as trees of OBBRSS. f64, one thread.

Timed: `fcl.collide` with at most one contact and none of its data (`boolean`), with all pairs of triangles and their
contacts (`contacts`), and `fcl.distance`. Not timed: building the trees, placing, making the result object.
"""

import os
import sys
from importlib.metadata import version

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "python"))
import fcl
import pairs
import protocol

# More than there are pairs when a bunny lies on itself.
ALL = 10_000_000

BOOLEAN = fcl.CollisionRequest(num_max_contacts=1, enable_contact=False)
CONTACTS = fcl.CollisionRequest(num_max_contacts=ALL, enable_contact=True)
DISTANCE = fcl.DistanceRequest()


def build(vertices, triangles):
    model = fcl.BVHModel()
    model.beginModel(len(vertices), len(triangles))
    model.addSubModel(vertices, triangles)
    model.endModel()
    return model


def place(a, b, rotation, translation):
    return fcl.CollisionObject(a, fcl.Transform()), fcl.CollisionObject(b, fcl.Transform(rotation, translation))


def collide(request):
    def query(placed):
        result = fcl.CollisionResult()
        return (lambda: fcl.collide(*placed, request, result)), (lambda found: found)

    return query


def distance(placed):
    result = fcl.DistanceResult()
    return (lambda: fcl.distance(*placed, DISTANCE, result)), (lambda found: found)


QUERIES = {"boolean": collide(BOOLEAN), "contacts": collide(CONTACTS), "distance": distance}
protocol.serve(version("python-fcl"), {"pair": lambda request: pairs.answer(request, build, place, QUERIES)})
