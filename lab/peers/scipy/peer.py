"""SciPy's cKDTree as a peer: the nearest point of a cloud. f64; leaves of 16 points unless the request says.

Timed: making the tree; `query` of all probes at once, or one call for each.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "python"))
import nearest
import numpy as np
import protocol
import scipy
from scipy.spatial import cKDTree


def answer(request):
    leaf, threads = int(request.get("leaf") or 16), max(1, int(request.get("threads") or 1))

    def prepare(cloud):
        return cloud.astype(np.float64)

    def build(cloud):
        return cKDTree(cloud, leafsize=leaf)

    def batch(tree, probes):
        return tree.query(probes, workers=threads)

    def single(tree, probe):
        return tree.query(probe)

    def squares(found):
        return found[0] ** 2

    kinds = {"batch": (prepare, build, prepare, batch, squares), "single": (prepare, build, prepare, single, squares)}
    return nearest.answer(request, kinds)


protocol.serve(scipy.__version__, {"nearest": answer})
