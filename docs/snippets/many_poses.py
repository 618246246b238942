"""Six places for a gear beside another, asked at once on all cores: which are free, how deep the others are, what pushes them apart.
many_poses.rs prints the same."""

import numpy as np

import palpate

gear = palpate.Shape.sample("gear", resolution=128)

# From 58 mm on, half a millimetre farther each; turned by half a tooth: x y z w, made unit.
positions = np.zeros((6, 3))
positions[:, 0] = 0.058 + 5e-4 * np.arange(6)
quaternions = np.tile([0.0, 0.0, 0.0654, 0.99786], (6, 1))
found = palpate.wrench_batch(gear, gear, (positions, quaternions), stiffness=1e9)  # [N/m³]
for count, deepest, force in zip(found.count, found.deepest, found.force):
    depth = -1e3 * float(deepest["distance"]) if count else 0.0
    print("{} contacts, {:.6f} mm, {:.6f} {:.6f} {:.6f} N".format(count, depth, *force))
