"""Coal as a peer: two meshes as trees of OBBRSS. f64, one thread.

Timed: `coal.collide` with at most one contact and none of its data (`boolean`), with all pairs of triangles and their
contacts (`contacts`), and `coal.distance`. Not timed: building the trees, placing, making the result object.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "python"))
import coal
import pairs
import protocol

# More than there are pairs when a bunny lies on itself.
ALL = 10_000_000

BOOLEAN = coal.CollisionRequest(coal.CollisionRequestFlag.NO_REQUEST, 1)
CONTACTS = coal.CollisionRequest(coal.CollisionRequestFlag.CONTACT, ALL)
DISTANCE = coal.DistanceRequest()


def build(vertices, triangles):
    model = coal.BVHModelOBBRSS()
    model.beginModel(len(triangles), len(vertices))
    model.addVertices(vertices)
    model.addTriangles(triangles)
    model.endModel()
    return model


def place(a, b, rotation, translation):
    return a, coal.Transform3s(), b, coal.Transform3s(rotation, translation)


def collide(request):
    def query(placed):
        result = coal.CollisionResult()
        return (lambda: coal.collide(*placed, request, result)), (lambda _: result.numContacts())

    return query


def distance(placed):
    result = coal.DistanceResult()
    return (lambda: coal.distance(*placed, DISTANCE, result)), (lambda found: found)


QUERIES = {"boolean": collide(BOOLEAN), "contacts": collide(CONTACTS), "distance": distance}
protocol.serve(coal.__version__, {"pair": lambda request: pairs.answer(request, build, place, QUERIES)})
