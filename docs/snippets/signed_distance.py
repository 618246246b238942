"""How far points are from a gear, which way is out, and how far to trust that. signed_distance.rs prints the same."""

import palpate

gear = palpate.Shape.sample("gear", resolution=128)
print(f"off by at most {1e3 * gear.error_bound_band:.6f} mm within {1e3 * gear.band:.6f} mm")
print(f"and by at most {1e3 * gear.error_bound_far:.6f} mm farther away")

# In the bore, in the solid, and beyond the teeth; in the gear's frame [m].
points = [[0.005, 0.0, 0.0], [0.02, 0.0, 0.001], [0.033, 0.005, 0.002]]
distances, outward = gear.signed_distance(points, gradients=True)  # negative inside
for distance, out in zip(distances, outward):
    print("{:.6f} mm, outward {:.6f} {:.6f} {:.6f}".format(1e3 * distance, *out))
