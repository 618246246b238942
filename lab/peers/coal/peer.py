"""Coal as a peer: two meshes as trees of OBBRSS, or as trees of OBB that are refitted. f64, one thread.

Timed: `coal.collide` with at most one contact and none of its data (`boolean`), with all pairs of triangles and their
contacts (`contacts`), and `coal.distance`. Not timed: building the trees, placing, making the result object.
Of deforming meshes: replacing the vertices and refitting the tree from its leaves up, then all pairs.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "python"))
import coal
import pairs
import protocol
import soft

# More than there are pairs when a bunny lies on itself.
ALL = 10_000_000

BOOLEAN = coal.CollisionRequest(coal.CollisionRequestFlag.NO_REQUEST, 1)
CONTACTS = coal.CollisionRequest(coal.CollisionRequestFlag.CONTACT, ALL)
DISTANCE = coal.DistanceRequest()


def build(vertices, triangles, kind=coal.BVHModelOBBRSS):
    model = kind()
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


def to_list(vertices):
    out = coal.StdVec_Vec3s()
    for v in vertices:
        out.append(v)
    return out


def refit(model, vertices):
    model.beginReplaceModel()
    model.replaceSubModel(vertices)
    model.endReplaceModel(True, True)


def all_pairs(a, b):
    """The call to time, and what gives the numbers of the triangles it found."""
    result, here = coal.CollisionResult(), coal.Transform3s()
    found = lambda: [(c.b1, c.b2) for c in result.getContacts()]
    return (lambda: coal.collide(a, here, b, here, CONTACTS, result)), found


def deform(request):
    return soft.answer(request, lambda v, t: build(v, t, coal.BVHModelOBB), to_list, refit, all_pairs)


QUERIES = {"boolean": collide(BOOLEAN), "contacts": collide(CONTACTS), "distance": distance}
JOBS = {"pair": lambda request: pairs.answer(request, build, place, QUERIES), "soft": deform}
protocol.serve(coal.__version__, JOBS)
