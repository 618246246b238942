"""A gear comes 50 mm nearer to another while it makes a quarter turn: when do they meet, and where? time_of_impact.rs prints the same."""

import math

import palpate

gear = palpate.Shape.sample("gear", resolution=128)

start = ([0.1, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0])
quarter = [0.0, 0.0, math.sin(math.pi / 4), math.cos(math.pi / 4)]
end = ([0.05, 0.0, 0.0], quarter)
hit = palpate.time_of_impact(gear, gear, start, end)
if hit.time is None:
    print("they do not meet")
else:
    # Never later than they do: this early at most, as a distance.
    print(f"time   {hit.time:.6f} of the way, {1e3 * hit.early:.6f} mm apart at most")
    print(f"centre {1e3 * hit.pose_b[0, 3]:.6f} mm")
    print("point  {:.6f} {:.6f} {:.6f} mm".format(*(1e3 * hit.point)))
    print("normal {:.6f} {:.6f} {:.6f}".format(*hit.normal))
