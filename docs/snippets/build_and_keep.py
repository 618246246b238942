"""A cube given as arrays, with two mistakes: what was repaired, a shape of it, kept in a file and read again. build_and_keep.rs prints
the same. The file is in the folder where this runs, and is removed."""

import pathlib

import palpate

# Counter-clockwise from outside. The last is there twice, and the one before is turned around.
triangles = [
    [0, 2, 3], [0, 3, 1], [4, 5, 7], [4, 7, 6], [0, 1, 5], [0, 5, 4], [2, 6, 7],
    [2, 7, 3], [0, 4, 6], [0, 6, 2], [1, 3, 7], [1, 5, 7], [0, 2, 3],
]  # fmt: skip
# Corners of a cube of 50 mm [m]: bits of their number are x, y and z.
corners = [[0.05 * (i & 1), 0.05 * (i >> 1 & 1), 0.05 * (i >> 2)] for i in range(8)]

cube = palpate.Shape(corners, triangles, voxel=1e-3)  # [m]
report = cube.report
print(f"triangles {report.triangles} of {len(triangles)}")
print(f"twice {report.duplicate_faces}, turned {report.flipped_faces}")
print(f"{'closed' if report.watertight else 'open'}, {1e6 * cube.volume:.6f} cm3")

cube.save("cube.palp")
cube = palpate.Shape.load("cube.palp")
pathlib.Path("cube.palp").unlink()
print(f"points {cube.report.points}")
print(f"off by at most {1e3 * cube.error_bound_band:.6f} mm near the surface")
inside = cube.signed_distance([[0.005, 0.02, 0.03]])[0]
print(f"distance {1e3 * inside:.6f} mm")
