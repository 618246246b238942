"""Two gears pressed into each other: contacts, distance and the wrench that pushes them apart. first_contact.rs prints the same."""

import palpate

gear = palpate.Shape.sample("gear", resolution=128)
# B's centre is 58.5 mm along A's x axis, a millimetre and a half nearer than the gears should be.
# It is turned by half a tooth: x y z w, made unit.
half_a_tooth = [0.0, 0.0, 0.0654, 0.99786]
a_from_b = ([0.0585, 0.0, 0.0], half_a_tooth)

contacts = palpate.contacts(gear, gear, pose_b=a_from_b)
push = palpate.wrench(gear, gear, pose_b=a_from_b, stiffness=1e9)  # [N/m³]
print(f"contacts {len(contacts)}")
print("force    {:.6f} {:.6f} {:.6f} N".format(*push.force))
print("torque   {:.6f} {:.6f} {:.6f} N m".format(*push.torque))

print(f"distance {1e3 * palpate.distance(gear, gear, pose_b=a_from_b).distance:.6f} mm")
a_from_b = ([0.07, 0.0, 0.0], half_a_tooth)
print(f"apart    {1e3 * palpate.distance(gear, gear, pose_b=a_from_b).distance:.6f} mm")
