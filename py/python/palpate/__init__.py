"""Contact, distance and force between 3D shapes of any complexity.

    import palpate
    gear = palpate.Shape.sample("gear")                     # or Shape(vertices, faces), Shape.from_file("gear.stl", unit="mm")
    pose = ([0.0585, 0, 0], [0, 0, 0.0654, 0.99786])        # position [m], quaternion x y z w; or a 4x4 matrix
    print(palpate.distance(gear, gear, pose_b=pose))        # signed, with witnesses and a bound
    print(palpate.wrench(gear, gear, pose_b=pose, stiffness=1e9).force)

Units are SI. Distances are signed, negative inside. In a pair A is the first shape and B the second: ``pose_a`` and ``pose_b``
place them in a common frame (``w_from_a``, ``w_from_b``), and every result is in that frame; without ``pose_a`` that is A's own.
A normal goes from A to B; a wrench acts on B, about B's origin, and A receives the opposite.

A pose is a 4x4 matrix, seven numbers ``x y z qx qy qz qw``, or a tuple ``(position, quaternion)`` with the quaternion as x y z w.
Arrays may be of any real dtype, contiguous or not; those of float64 in C order are used where they are. Long calls release the
interpreter's lock; ``threads=0`` means all cores, and never changes a result.
"""

from ._errors import (
    BuildError,
    FileError,
    GpuError,
    InputError,
    InternalError,
    MeshError,
    PalpateError,
    SimulationError,
)
from ._palpate import (
    CONTACT,
    SAMPLES,
    Cloud,
    ContactsBatch,
    Distance,
    DistanceBatch,
    FirstContact,
    Gpu,
    GpuInfo,
    Impact,
    Pair,
    Penetration,
    Recording,
    Report,
    Scene,
    Shape,
    Simulation,
    SimulationContacts,
    Soft,
    SoftContacts,
    SoftDistance,
    SoftMesh,
    SoftPair,
    Wrench,
    WrenchBatch,
    __version__,
    contacts,
    contacts_batch,
    distance,
    distance_batch,
    gpus,
    intersects,
    intersects_batch,
    penetration,
    time_of_impact,
    wrench,
    wrench_batch,
)
from ._show import Page, show

__all__ = [
    "CONTACT",
    "SAMPLES",
    "BuildError",
    "Cloud",
    "ContactsBatch",
    "Distance",
    "DistanceBatch",
    "FileError",
    "FirstContact",
    "Gpu",
    "GpuError",
    "GpuInfo",
    "Impact",
    "InputError",
    "InternalError",
    "MeshError",
    "Page",
    "Pair",
    "PalpateError",
    "Penetration",
    "Recording",
    "Report",
    "Scene",
    "Shape",
    "Simulation",
    "SimulationContacts",
    "SimulationError",
    "Soft",
    "SoftContacts",
    "SoftDistance",
    "SoftMesh",
    "SoftPair",
    "Wrench",
    "WrenchBatch",
    "__version__",
    "contacts",
    "contacts_batch",
    "distance",
    "distance_batch",
    "gpus",
    "intersects",
    "intersects_batch",
    "penetration",
    "show",
    "time_of_impact",
    "wrench",
    "wrench_batch",
]
