"""A peg in the bore of a gear: how much room there is, and where; then, pushed into the wall, the shortest way out.
distance_and_way_out.rs prints the same."""

import palpate

gear = palpate.Shape.sample("gear", voxel=5e-4)  # [m]
peg = palpate.Shape.sample("peg", voxel=5e-4)
upright = [0.0, 0.0, 0.0, 1.0]

# The peg is off the middle. Everything is in the gear's frame.
gap = palpate.distance(gear, peg, pose_b=([0.002, 0.001, -0.015], upright))
print(f"distance {1e3 * gap.distance:.6f} mm, at most {1e3 * gap.bound:.6f} mm less")
print("on the gear {:.6f} {:.6f} {:.6f} mm".format(*(1e3 * gap.witness_a)))
print("on the peg  {:.6f} {:.6f} {:.6f} mm".format(*(1e3 * gap.witness_b)))

inside = ([0.004, 0.001, -0.015], upright)
print(f"pushed in {1e3 * palpate.distance(gear, peg, pose_b=inside).distance:.6f} mm")
out = palpate.penetration(gear, peg, pose_b=inside)
print(f"out by {1e3 * out.depth:.6f} mm, no way is below {1e3 * out.lower:.6f} mm")
print("that is {:.6f} {:.6f} {:.6f} mm".format(*(1e3 * out.translation)))
