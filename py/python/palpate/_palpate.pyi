"""The compiled part of palpate. Units are SI, distances negative inside; see the package for frames."""

import os
from collections.abc import Callable
from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

#: A 4x4 matrix, seven numbers ``x y z qx qy qz qw``, or a pair ``(position, quaternion)``.
PoseLike = ArrayLike | tuple[ArrayLike, ArrayLike]
#: An array (n, 4, 4) or (n, 7), or a pair of positions (n, 3) and quaternions (n, 4).
PosesLike = ArrayLike | tuple[ArrayLike, ArrayLike]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
#: Of dtype :data:`CONTACT`.
Contacts = npt.NDArray[np.void]

__version__: str
#: The dtype of contacts: 48 bytes; ``point``, ``distance``, ``normal``, ``id``, ``shell_normal``, ``area``.
CONTACT: np.dtype[np.void]
#: Names of shapes that the engine makes itself, for ``Shape.sample``.
SAMPLES: list[str]

class Shape:
    """A rigid shape ready for queries, in its own frame [m]: built of triangles, counter-clockwise seen from outside.

    ``vertices`` (n, 3) [m], ``faces`` (m, 3) of integers. The field's fineness is ``voxel``, the edge of a cell [m], or ``resolution``, cells along the
    largest extent with three of padding on each side (128 unless said otherwise). ``spacing`` is the distance of the points on the
    surface [m]; twice the voxel unless said otherwise. Holes are closed and faces turned where they must be: see ``report``.
    ``threads=0`` is all cores; it never changes the result. With ``gpu`` the field is built there: every value within 1e-4 + 4.8e-7 n voxels of the exact
    distance, n voxels along the longest side; points and the tree are the CPU's.
    ``progress(stage, done, steps)`` is told how far it is; True shows it on standard error. Ctrl-C ends a build.
    """

    def __init__(
        self,
        vertices: ArrayLike,
        faces: ArrayLike,
        voxel: float | None = None,
        resolution: int | None = None,
        spacing: float | None = None,
        threads: int = 0,
        gpu: Gpu | None = None,
        progress: bool | Callable[[str, int, int], None] | None = None,
    ) -> None: ...

    @classmethod
    def from_file(
        cls,
        path: str | os.PathLike[str],
        unit: str | float | None = None,
        voxel: float | None = None,
        resolution: int | None = None,
        spacing: float | None = None,
        threads: int = 0,
        gpu: Gpu | None = None,
        progress: bool | Callable[[str, int, int], None] | None = None,
    ) -> Shape:
        """The shape of a mesh file: OBJ, STL, PLY, OFF, glTF. ``unit`` is the file's, by name ("mm") or in metres; metres unless said otherwise."""

    @classmethod
    def from_trimesh(
        cls,
        mesh: Any,
        voxel: float | None = None,
        resolution: int | None = None,
        spacing: float | None = None,
        threads: int = 0,
        gpu: Gpu | None = None,
        progress: bool | Callable[[str, int, int], None] | None = None,
    ) -> Shape:
        """The shape of anything with `vertices` and `faces`, such as a `trimesh.Trimesh`."""

    @classmethod
    def sample(
        cls,
        name: str,
        voxel: float | None = None,
        resolution: int | None = None,
        spacing: float | None = None,
        threads: int = 0,
        gpu: Gpu | None = None,
        progress: bool | Callable[[str, int, int], None] | None = None,
    ) -> Shape:
        """A shape that the engine makes itself, such as "gear"."""

    @classmethod
    def load(cls, path: str | os.PathLike[str], threads: int = 0) -> Shape:
        """The shape of a `.palp` file."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a `.palp` file: whole, or not at all."""

    def to_bytes(self) -> bytes:
        """The bytes of such a file."""

    @classmethod
    def from_bytes(cls, data: bytes, threads: int = 0) -> Shape:
        """The shape in the bytes of a ``.palp`` file."""

    def scaled(self, factor: float) -> Shape:
        """The same shape, larger by a factor."""

    @overload
    def signed_distance(
        self,
        points: ArrayLike,
        exact: bool = False,
        gradients: Literal[False] = False,
        threads: int = 0,
        gpu: Gpu | None = None,
    ) -> npt.NDArray[np.floating[Any]]:
        """Signed distances of points (n, 3) [m], in the shape's frame: (n,), negative inside.

        By the field, whose errors ``error_bound_band`` and ``error_bound_far`` bound; outside its box a lower bound of the distance but for the latter. With
        ``exact=True`` to the triangles themselves, slower. With ``gradients=True`` also the outward gradients (n, 3). Points of float32 give
        distances of float32. A point that is not finite gives NaN. With ``gpu`` that device answers, a million points at a time: the same
        within rounding in single precision, about 1e-6 of the size of the field's box; not with ``exact``.
        """

    @overload
    def signed_distance(
        self,
        points: ArrayLike,
        exact: bool = False,
        *,
        gradients: Literal[True],
        threads: int = 0,
        gpu: Gpu | None = None,
    ) -> tuple[Floats, Floats]: ...

    def closest_point(self, points: ArrayLike, threads: int = 0) -> tuple[Floats, Floats, Ints]:
        """The points of the surface closest to points (n, 3) [m]: where (n, 3), how far (n,), not negative, and on which triangle (n,).

        Exact. Triangles are counted as ``faces`` has them, those that close holes after them. A point that is not finite gives NaN and -1.
        """

    @property
    def faces(self) -> npt.NDArray[np.uint32]:
        """Triangles of the cleaned mesh (m, 3); a copy."""

    @property
    def report(self) -> Report:
        """What was found in the mesh, and what was done about it."""

    @property
    def nbytes(self) -> int:
        """Memory of the field and the points [bytes]."""

    @property
    def vertices(self) -> Floats:
        """Vertices of the cleaned mesh (n, 3) [m]; a copy."""

    @property
    def area(self) -> float:
        """Area of the surface [m²]."""

    @property
    def error_bound_band(self) -> float:
        """Largest error of the field's distances within ``band`` of the surface, in its box [m]."""

    @property
    def band(self) -> float:
        """How far from the surface the field is as fine as its voxels [m]."""

    @property
    def centre_of_mass(self) -> Floats:
        """Centre of mass at a uniform density (3,) [m]."""

    @property
    def voxel(self) -> float:
        """Edge of a cell of the field [m]."""

    @property
    def spacing(self) -> float:
        """Distance of the points on the surface [m]."""

    @property
    def aabb(self) -> Floats:
        """The box of the surface: its smallest and its largest corner (2, 3) [m]."""

    @property
    def volume(self) -> float:
        """Volume [m³]."""

    @property
    def error_bound_far(self) -> float:
        """Largest error of the field's distances anywhere in its box [m]."""

    @property
    def inertia(self) -> Floats:
        """Inertia about the centre of mass at a density of 1 kg/m³ (3, 3) [kg m²]."""

    @property
    def points(self) -> Floats:
        """Points on the surface (k, 3) [m], in the order of the ids of contacts; a copy."""

    @property
    def normals(self) -> Floats:
        """Outward normals of these points (k, 3), unit; a copy."""

class Pair:
    """Two shapes and the memory of questions about them: the same answers as from functions, without allocations, and friction that sticks.

    Methods take ``pose_a`` and ``pose_b`` as functions do. One thread at a time may ask.
    """

    def __init__(self, a: Shape, b: Shape) -> None: ...

    def contacts(
        self,
        pose_a: PoseLike | None = None,
        pose_b: PoseLike | None = None,
        margin: float = 0.0,
        points_of: Literal["a", "b"] | None = None,
        origin: ArrayLike | None = None,
    ) -> Contacts:
        """As ``palpate.contacts``."""

    def intersects(self, pose_a: PoseLike | None = None, pose_b: PoseLike | None = None) -> bool:
        """As ``palpate.intersects``."""

    def distance(self, pose_a: PoseLike | None = None, pose_b: PoseLike | None = None, exact: bool = False) -> Distance:
        """As ``palpate.distance``."""

    def penetration(
        self,
        pose_a: PoseLike | None = None,
        pose_b: PoseLike | None = None,
        directions: int = 128,
    ) -> Penetration:
        """As ``palpate.penetration``."""

    def time_of_impact(
        self,
        start: PoseLike,
        end: PoseLike,
        pose_a: PoseLike | None = None,
        tolerance: float | None = None,
        max_steps: int = 4000,
    ) -> Impact:
        """As ``palpate.time_of_impact``."""

    def wrench(
        self,
        pose_a: PoseLike | None = None,
        pose_b: PoseLike | None = None,
        *,
        stiffness: float,
        law: Literal["integrated", "averaged"] = 'integrated',
        direction: Literal["field", "shell"] = 'field',
        damping: float = 0.0,
        friction: float | tuple[float, float] | list[float] | None = None,
        velocity: tuple[ArrayLike, ArrayLike] | None = None,
        points_of: Literal["a", "b"] | None = None,
    ) -> Wrench:
        """As ``palpate.wrench``; with ``friction`` contacts stick where they were in the call before, so ask in every step."""

    def reset(self) -> None:
        """Forgets where contacts stick."""

class Distance:
    """How far two shapes are apart, and where."""

    @property
    def witness_a(self) -> Floats:
        """On A's surface (3,) [m]."""

    @property
    def witness_b(self) -> Floats:
        """On B's surface (3,) [m]."""

    @property
    def direction(self) -> Floats:
        """From A to B if apart, else the way B should go (3,), unit."""

    @property
    def distance(self) -> float:
        """Apart: that of the witnesses; overlapping: minus the depth of the deepest point found [m]."""

    @property
    def bound(self) -> float:
        """The true distance is at most this much smaller [m]."""

    @property
    def overlaps(self) -> bool:
        """Whether the distance is not positive."""

    def __float__(self) -> float: ...

class Impact:
    """When and where two shapes first meet."""

    @property
    def pose_b(self) -> Floats:
        """``w_from_b`` then (4, 4); without a time that at the end."""

    @property
    def point(self) -> Floats:
        """Where (3,) [m]; NaN without an impact."""

    @property
    def normal(self) -> Floats:
        """From A to B there (3,), unit."""

    @property
    def early(self) -> float:
        """How far apart shapes may be that are reported to meet [m]."""

    @property
    def time(self) -> float | None:
        """0 to 1; none if the shapes do not meet."""

    @property
    def steps(self) -> int:
        """Steps of the search."""

    @property
    def end(self) -> str:
        """"hit", "free", "overlapping" or "near" at the start, "unfinished", or "empty"."""

    @property
    def distance(self) -> float:
        """Distance of ``point`` from the other surface [m]."""

class Penetration:
    """The shortest translation found that separates two shapes."""

    @property
    def translation(self) -> Floats:
        """Moves B out of A (3,) [m]."""

    @property
    def direction(self) -> Floats:
        """Unit, or zero (3,)."""

    @property
    def free(self) -> Floats:
        """The translation after which they certainly share no point (3,) [m]."""

    @property
    def overlapping(self) -> bool:
        """Whether they share a point."""

    @property
    def bound(self) -> float:
        """What rounding may take from it [m]."""

    @property
    def lower(self) -> float:
        """No translation shorter than this separates them [m]."""

    @property
    def depth(self) -> float:
        """Its length [m]."""

class Wrench:
    """What contacts do to B."""

    @property
    def force(self) -> Floats:
        """On B (3,) [N]."""

    @property
    def torque(self) -> Floats:
        """On B about B's origin (3,) [N m]."""

    @property
    def area(self) -> float:
        """Surface in contact [m²]."""

    @property
    def sticking(self) -> int:
        """Those that friction holds."""

    @property
    def normal_force(self) -> float:
        """Sum of the lengths of normal forces [N]."""

    @property
    def sliding(self) -> int:
        """Those that slide."""

    @property
    def contacts(self) -> int:
        """Contacts with depth."""

class Report:
    """What was found in a mesh and what was built of it."""

    @property
    def welded_vertices(self) -> int:
        """Vertices that became one with others."""

    @property
    def boundary_edges(self) -> int:
        """Edges with one triangle."""

    @property
    def coverage_radius(self) -> float:
        """No place of the surface is farther from a point [m]."""

    @property
    def sign_method(self) -> str:
        """How inside was told from outside."""

    @property
    def duplicate_faces(self) -> int:
        """Triangles that were there twice."""

    @property
    def watertight(self) -> bool:
        """Whether nothing is open."""

    @property
    def points(self) -> int:
        """Points on the surface."""

    @property
    def flipped_faces(self) -> int:
        """Triangles that were turned."""

    @property
    def vertices(self) -> int:
        """Of the cleaned mesh."""

    @property
    def degenerate(self) -> int:
        """Triangles without area that were left out."""

    @property
    def sign_confidence(self) -> float:
        """How sure that is, 0 to 1."""

    @property
    def triangles(self) -> int:
        """Of the cleaned mesh."""

    @property
    def holes(self) -> int:
        """Boundary loops."""

    @property
    def components(self) -> int:
        """Parts that are not connected."""

    @property
    def caps(self) -> int:
        """Holes that were closed."""

    @property
    def nonmanifold_edges(self) -> int:
        """Edges with more than two."""

class ContactsBatch:
    """Contacts of many poses in a few numbers each."""

    @property
    def count(self) -> Ints:
        """Contacts of each pose (n,)."""

    @property
    def deepest(self) -> Contacts:
        """The deepest of each (n,), dtype ``palpate.CONTACT``."""

    @property
    def offsets(self) -> Ints | None:
        """Where the contacts of each begin (n + 1,); none unless asked for."""

    @property
    def contacts(self) -> Contacts | None:
        """All of them; none unless asked for."""

class WrenchBatch:
    """The same with forces."""

    @property
    def count(self) -> Ints:
        """Contacts of each pose (n,)."""

    @property
    def deepest(self) -> Contacts:
        """The deepest of each (n,), dtype ``palpate.CONTACT``."""

    @property
    def force(self) -> Floats:
        """On B (n, 3) [N]."""

    @property
    def torque(self) -> Floats:
        """On B about B's origin (n, 3) [N m]."""

    @property
    def area(self) -> Floats:
        """Surface in contact (n,) [m²]."""

    @property
    def contacts(self) -> Contacts | None:
        """All of them; none unless asked for."""

    @property
    def offsets(self) -> Ints | None:
        """Where the contacts of each begin (n + 1,); none unless asked for."""

class DistanceBatch:
    """Distances of many poses."""

    @property
    def distance(self) -> Floats:
        """Signed (n,) [m]."""

    @property
    def bound(self) -> Floats:
        """True distances are at most this much smaller (n,) [m]."""

    @property
    def witness_a(self) -> Floats:
        """On A's surface (n, 3) [m]."""

    @property
    def witness_b(self) -> Floats:
        """On B's surface (n, 3) [m]."""

class PenetrationBatch:
    """The shortest ways apart that were found, one for each pose."""

    @property
    def translation(self) -> Floats:
        """Moves B out of A (n, 3) [m]."""

    @property
    def depth(self) -> Floats:
        """Its length (n,) [m]."""

    @property
    def bound(self) -> Floats:
        """What rounding may take from it (n,) [m]."""

    @property
    def lower(self) -> Floats:
        """No translation shorter than this separates them (n,) [m]."""

    @property
    def free(self) -> Floats:
        """The translation after which they certainly share no point (n, 3) [m]."""

    @property
    def overlapping(self) -> npt.NDArray[np.bool_]:
        """Whether they share a point (n,) bool."""

class ImpactBatch:
    """When and where two shapes first meet, one for each motion."""

    @property
    def time(self) -> Floats:
        """0 to 1 (n,); NaN where they do not meet."""

    @property
    def pose_b(self) -> Floats:
        """``w_from_b`` then (n, 4, 4); without a time that at the end."""

    @property
    def point(self) -> Floats:
        """Where (n, 3) [m]; NaN without an impact."""

    @property
    def normal(self) -> Floats:
        """From A to B there (n, 3), unit."""

    @property
    def distance(self) -> Floats:
        """Distance of ``point`` from the other surface (n,) [m]."""

    @property
    def early(self) -> Floats:
        """How far apart shapes may be that are reported to meet (n,) [m]."""

    @property
    def end(self) -> list[str]:
        """How each search ended: see ``Impact.end``."""

class SoftMesh:
    """A mesh whose vertices move, in a common frame: ``vertices`` (n, 3) [m], ``faces`` (m, 3)."""

    def __init__(self, vertices: ArrayLike, faces: ArrayLike) -> None: ...

    @staticmethod
    def from_shape(shape: Shape) -> SoftMesh:
        """The mesh of a shape, which then may deform."""

    def add_vertices(self, vertices: ArrayLike) -> int:
        """Adds vertices; the number of the first."""

    def add_triangle(self, triangle: ArrayLike) -> int:
        """Adds a triangle; its number."""

    def remove_triangle(self, triangle: int) -> None:
        """Takes a triangle out for good."""

    def set_enabled(self, triangle: int, enabled: bool) -> None:
        """Lets a triangle take part, or not."""

    @property
    def vertices(self) -> Floats:
        """Positions (n, 3) [m]; assign as many to move them."""

    @vertices.setter
    def vertices(self, value: ArrayLike) -> None: ...

    @property
    def faces(self) -> npt.NDArray[np.uint32]:
        """Triangles (m, 3)."""

    @property
    def lost_vertices(self) -> int:
        """Vertices that are not finite: their triangles take no part."""

class Soft:
    """The memory of questions about soft meshes: keep it from step to step."""

    def __init__(self) -> None: ...

    def pairs(self, a: SoftMesh, b: SoftMesh | None = None, threads: int = 0) -> npt.NDArray[np.uint32]:
        """The triangles of two meshes that meet, exactly: (k, 2) numbers of triangles. Without ``b``, of a mesh with itself."""

    def contacts(self, a: SoftMesh, b: SoftMesh | None = None, threads: int = 0) -> SoftContacts:
        """Where they meet: ``pairs`` (k, 2), the middles ``point`` (k, 3) [m], ``normal`` (k, 3), unit, from A to B, and ``depth`` (k,) [m] of each pair."""

    def distance(self, a: SoftMesh, b: SoftMesh) -> SoftDistance | None:
        """How far two meshes are apart; none where one has no triangles."""

    def first_contact(self, a: SoftMesh, a_end: ArrayLike, b: SoftMesh, b_end: ArrayLike) -> FirstContact | None:
        """When two meshes first touch on a straight way of every vertex to its end; none where they do not."""

class SoftContacts:
    """Where pairs of triangles meet."""

    @property
    def pairs(self) -> npt.NDArray[np.uint32]:
        """Triangles of A and of B (k, 2)."""

    @property
    def point(self) -> Floats:
        """The middle of what they have in common (k, 3) [m]."""

    @property
    def normal(self) -> Floats:
        """From A to B (k, 3), unit."""

    @property
    def depth(self) -> Floats:
        """The shortest way apart of the two triangles (k,) [m]."""

class SoftDistance:
    """How far two soft meshes are apart."""

    @property
    def witness_a(self) -> Floats:
        """On A (3,) [m]."""

    @property
    def witness_b(self) -> Floats:
        """On B (3,) [m]."""

    @property
    def triangles(self) -> tuple[int, int]:
        """Those they are on."""

    @property
    def distance(self) -> float:
        """Not negative [m]."""

class FirstContact:
    """When two soft meshes first touch."""

    @property
    def point(self) -> Floats:
        """Where (3,) [m]."""

    @property
    def time(self) -> float:
        """0 to 1: there is no contact before."""

    @property
    def exact(self) -> bool:
        """Whether they do touch then, rather than may."""

class SoftPair:
    """A rigid shape, A, and a mesh that deforms, B, and the memory of questions about them: keep it from step to step.

    Poses, frames and signs are those of ``Pair``. The mesh is asked about at samples: no edge of a part of a triangle is longer than ``spacing`` [m], by
    default the shape's voxel. Distances have the error bounds of the shape's field. With ``gpu`` the field and the mesh stay on that device, and
    where it moves only its vertices go there; parts are cut otherwise than on the CPU, so that forces and areas agree as two samplings at one
    spacing do.
    """

    def __init__(self, shape: Shape, mesh: SoftMesh, spacing: float | None = None, gpu: Gpu | None = None) -> None: ...

    def contacts(
        self,
        pose_a: PoseLike | None = None,
        pose_b: PoseLike | None = None,
        margin: float = 0.0,
        origin: ArrayLike | None = None,
        threads: int = 0,
    ) -> Contacts:
        """Samples of the mesh that are inside the shape, or at most ``margin`` [m] outside: an array of dtype ``palpate.CONTACT``.

        Fields as in ``palpate.contacts``: ``normal`` is the shape's, outward; ``id`` is the number of the triangle, ``shell_normal`` its own normal, ``area``
        what the sample stands for. In the order of triangles. ``origin`` as there.
        """

    def wrench(
        self,
        pose_a: PoseLike | None = None,
        pose_b: PoseLike | None = None,
        *,
        stiffness: float,
        law: Literal["integrated", "averaged"] = 'integrated',
        direction: Literal["field", "shell"] = 'field',
        damping: float = 0.0,
        friction: float | tuple[float, float] | list[float] | None = None,
        velocity: tuple[ArrayLike, ArrayLike] | None = None,
        vertex_velocities: ArrayLike | None = None,
        threads: int = 0,
    ) -> Wrench:
        """The penalty force and torque on the mesh, about the origin of its frame; the shape receives the opposite [N, N m].

        ``stiffness``, ``law``, ``direction``, ``damping``, ``friction`` and ``velocity``, of the mesh's frame, as in ``palpate.wrench``; ``vertex_velocities`` (n, 3) [m/s]
        are those of the vertices in the mesh's frame. Friction has no memory here: nothing sticks.
        """

    def nearest(
        self, pose_a: PoseLike | None = None, pose_b: PoseLike | None = None, threads: int = 0
    ) -> tuple[Floats, float, int] | None:
        """The sample of the mesh that is closest to the shape, or deepest in it: where (3,) [m], how far [m], negative inside, and on which
        triangle; none without triangles.

        The least distance of the mesh is smaller by at most 2/3 ``spacing`` and the field's error. Outside the field's box a lower bound.
        """

    @property
    def spacing(self) -> float:
        """Longest edge of a part of the mesh [m]."""

class Gpu:
    """An open graphics processor, given to batches, points, ``SoftPair`` and ``Shape`` as ``gpu=``; by Vulkan, Metal or DX12.

    ``name`` is any part of a name of ``gpus()``, in any case; without it the fastest is taken, one in software only where there is no
    other and ``hardware_only`` is false. Where there is none, ``GpuError`` says what was found. Takes up to a second, and the first
    question of each kind compiles kernels.

    Shapes are put there when they are first asked about, and stay until they, or this, are gone or ``release`` is called. Answers are the
    CPU's but for rounding in single precision, the same bits every time on one device; one thread at a time is answered, others wait. After an
    error of the device every question raises ``GpuError``: open it again. It does not work in a forked process: open one there.
    """

    def __init__(self, name: str | None = None, hardware_only: bool = False) -> None: ...

    def release(self, shape: Shape | None = None) -> None:
        """Frees what a shape has there; without one, what all shapes and calls have. It is put there again when it is asked about."""

    @property
    def name(self) -> str:
        """Its name, as its driver says it."""

    @property
    def software(self) -> bool:
        """Whether it is a processor in software, such as Mesa's llvmpipe."""

    @property
    def nbytes(self) -> int:
        """Memory that fields and points of shapes take there now [bytes]."""

class GpuInfo:
    """A graphics processor of this machine."""

    @property
    def name(self) -> str:
        """As its driver says it; ``Gpu(name)`` takes any part of it."""

    @property
    def kind(self) -> str:
        """"discrete", "integrated", "virtual", "software" or "other"."""

    @property
    def backend(self) -> str:
        """The interface it is reached by: "vulkan", "metal" or "dx12"."""

    @property
    def driver(self) -> str:
        """The driver and its version."""

    @property
    def largest_buffer(self) -> int:
        """The largest piece of memory a kernel sees [bytes]; drivers do not say how much there is in all."""

class Cloud:
    """Points (n, 3) [m] that are searched, in their own frame; they may come, go and move."""

    def __init__(self, points: ArrayLike, threads: int = 0) -> None: ...

    @staticmethod
    def from_file(path: str | os.PathLike[str], unit: str | float | None = None, threads: int = 0) -> Cloud:
        """Of a file: PLY, XYZ, CSV, PCD, LAS, LAZ, or the vertices of a mesh."""

    def nearest(self, points: ArrayLike, threads: int = 0) -> tuple[Floats, Floats, Ints]:
        """The nearest point of each of places (n, 3) [m]: where (n, 3), how far (n,) [m], and its id (n,); NaN and -1 for a place that is not finite."""

    def within(self, point: ArrayLike, radius: float) -> tuple[Floats, Floats, Ints]:
        """The points within ``radius`` [m] of a place (3,), by their ids: as ``nearest``."""

    def nearest_k(self, point: ArrayLike, k: int) -> tuple[Floats, Floats, Ints]:
        """The ``k`` points nearest to a place (3,), nearest first: as ``nearest``."""

    def insert(self, point: ArrayLike) -> int:
        """Takes a point in; its id."""

    def remove(self, id: int) -> bool:
        """Takes a point out; whether there was one."""

    def move_to(self, id: int, point: ArrayLike) -> None:
        """Moves a point."""

    @property
    def aabb(self) -> Floats:
        """A box that holds all points: its corners (2, 3) [m]."""

    @property
    def spacing(self) -> float:
        """How far apart points are [m]."""

    def __len__(self) -> int: ...

class Scene:
    """What there is: bodies, where they begin, what pulls them (``gravity``, (3,) [m/s²]; 9.81 along -z). World frame, SI units."""

    def __init__(self, gravity: ArrayLike | None = None) -> None: ...

    def add(
        self,
        shape: Shape,
        pose: PoseLike | None = None,
        density: float = 1000.0,
        mass: float | None = None,
        fixed: bool = False,
        velocity: tuple[ArrayLike, ArrayLike] | None = None,
        friction: float = 0.5,
        restitution: float = 0.0,
        name: str | None = None,
    ) -> int:
        """Adds a shape at ``pose``, ``w_from_body``; its number.

        It has ``density`` [kg/m³], or ``mass`` [kg], or is ``fixed``. ``velocity`` is a pair: linear, of the centre of mass [m/s], and angular [rad/s].
        """

    def add_plane(
        self,
        normal: ArrayLike | None = None,
        offset: float = 0.0,
        friction: float = 0.5,
        restitution: float = 0.0,
        name: str | None = None,
    ) -> int:
        """Adds a half-space that stays: every p with ``normal · p <= offset`` [m]; its number. The normal is +z unless said otherwise."""

    def add_box(
        self,
        size: ArrayLike,
        pose: PoseLike | None = None,
        friction: float = 0.5,
        restitution: float = 0.0,
        name: str | None = None,
    ) -> int:
        """Adds a box that stays: ``size`` (3,) [m], its middle at ``pose``; its number."""

    def start(self, engine: Literal["rapier", "own", "bullet"] = 'rapier', rate: float = 240.0) -> Simulation:
        """Puts the scene into an engine: "rapier", "own", or "bullet" where its program is built. ``rate`` is in steps a second [Hz]."""

    @property
    def names(self) -> list[str]:
        """Names of the bodies, in their order."""

    def __len__(self) -> int: ...

class Simulation:
    """A scene in an engine."""

    def step(self, steps: int = 1) -> None:
        """Goes on by ``steps`` steps."""

    def run(
        self,
        seconds: float,
        fps: float = 60.0,
        title: str | None = None,
        progress: bool | Callable[[str, int, int], None] | None = None,
    ) -> Recording:
        """Goes on for ``seconds`` [s] and keeps about ``fps`` frames a second of it. ``progress(stage, done, steps)`` is told how far it is; True shows
        it on standard error. Ctrl-C ends it: the steps until then are done.
        """

    def push(self, body: int, force: ArrayLike, torque: ArrayLike) -> None:
        """Pushes a body at its centre of mass in every step until told otherwise: ``force`` [N] and ``torque`` [N m] in the world's frame."""

    @property
    def contacts(self) -> SimulationContacts:
        """Contacts of the last step that have depth: ``point``, ``normal`` (k, 3), the way the later body is pushed, ``depth`` (k,), positive inside [m], ``bodies`` (k, 2)."""

    @property
    def time(self) -> float:
        """Simulated time [s]."""

    @property
    def linear_velocities(self) -> Floats:
        """Velocities of the centres of mass (n, 3) [m/s]."""

    @property
    def poses(self) -> Floats:
        """``w_from_body`` of every body (n, 4, 4)."""

    @property
    def angular_velocities(self) -> Floats:
        """Angular velocities (n, 3) [rad/s], in the world's frame."""

class SimulationContacts:
    """Contacts of a simulation."""

    @property
    def point(self) -> Floats:
        """Where (k, 3) [m]."""

    @property
    def normal(self) -> Floats:
        """The way the later body is pushed (k, 3), unit."""

    @property
    def depth(self) -> Floats:
        """Positive inside (k,) [m]."""

    @property
    def bodies(self) -> Ints:
        """The two bodies (k, 2)."""

class Recording:
    """A motion: bodies, frames, contacts. World frame."""

    def html(self) -> str:
        """A page that plays it: one file without a network."""

    @property
    def names(self) -> list[str]:
        """Names of the bodies that are drawn."""

    @property
    def poses(self) -> Floats:
        """``w_from_body`` in every frame (t, n, 4, 4)."""

    @property
    def deepest(self) -> Floats:
        """Deepest contact of each frame (t,) [m], 0 without one."""

    @property
    def times(self) -> Floats:
        """Simulated times of the frames (t,) [s]."""

    def __len__(self) -> int: ...

def record(
    shapes: list[Shape],
    places: list[Any],
    contacts: bool,
    fps: float,
    title: str,
    up: ArrayLike,
) -> Recording:
    """A recording of shapes in given places: a pose for each, or as many poses for each as there are frames."""

class Assembly:
    """Parts at their places, which may move: what ``palpate.assembly`` looks at. Equal meshes are kept once.

    ``add`` puts parts together one by one; ``read`` takes a folder or a scene.
    """

    def __init__(self) -> None: ...

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str],
        unit: str | float | None = None,
        threads: int = 0,
        progress: bool | Callable[[str, int, int], None] | None = None,
    ) -> Assembly:
        """The assembly in a folder, or in a glTF or GLB file. In a folder every mesh file is a part in its place, or ``assembly.json`` or
        ``assembly.csv`` says which part is where, and how it moves. ``unit`` is the files', by name ("mm") or in metres; metres unless
        said otherwise. Parts that cannot be read are among ``failures``. ``progress(stage, done, steps)`` is told how far it is."""

    @classmethod
    def sample(cls, parts: int, seed: int = 1) -> Assembly:
        """An assembly made up, with clashes and clearances at known places: see ``planted``. For a clearance of 0.5 mm."""

    def add(
        self,
        name: str,
        vertices: ArrayLike,
        faces: ArrayLike,
        pose: PoseLike | None = None,
        to: PoseLike | None = None,
    ) -> bool:
        """Adds a part of ``vertices`` (n, 3) [m] and ``faces`` (m, 3) at ``pose``, ``w_from_part``; one that moves is at ``to`` in the end: its origin goes
        straight, and it turns the shortest way. Names that come again get a number. Arrays that are no mesh are noted in ``failures``,
        and the others go on; then the result is false."""

    def write(self, folder: str | os.PathLike[str]) -> None:
        """Writes a PLY file for each mesh and an ``assembly.json`` to a folder, which is made; ``read`` gives the same to the last bit."""

    @property
    def names(self) -> list[str]:
        """Names of the instances, each once."""

    @property
    def poses(self) -> list[Floats]:
        """Places at the start, ``w_from_part``: a list of (4, 4)."""

    @property
    def parts(self) -> list[int]:
        """For each instance the number of its mesh."""

    @property
    def meshes(self) -> int:
        """How many meshes there are."""

    def mesh(self, number: int) -> tuple[Floats, npt.NDArray[np.uint32]]:
        """A mesh by its number, as it was given: vertices (n, 3) [m] and faces (m, 3); copies."""

    @property
    def failures(self) -> list[tuple[str, str]]:
        """What cannot be used: pairs of a name and what is wrong with it."""

    @property
    def planted(self) -> list[tuple[str, str, str, float | None]]:
        """What must be found in a sample, and nothing else: of each the two names, what it is, and its distance [m] where there is a formula."""

    def __len__(self) -> int: ...

class Region:
    """Where two parts overlap, in the assembly's frame."""

    @property
    def aabb(self) -> Floats:
        """The box around it: its smallest and its largest corner (2, 3) [m]."""

    @property
    def centroid(self) -> Floats:
        """Centre of the volume (3,) [m]."""

    @property
    def volume(self) -> float:
        """Estimated volume [m³]."""

    @property
    def volume_error(self) -> float:
        """How far off that can be, as far as the grid of the estimate tells [m³]."""

class Finding:
    """Two parts that clash, come too near, or touch by design. Points are in the assembly's frame."""

    @property
    def a(self) -> str:
        """The first part's name."""

    @property
    def b(self) -> str:
        """The second part's name."""

    @property
    def kind(self) -> Literal["clash", "clearance", "contact"]:
        """What it is."""

    @property
    def pair(self) -> tuple[int, int]:
        """Numbers of the two instances, the smaller first."""

    @property
    def distance(self) -> float:
        """Apart: the distance of the surfaces. Overlapping: minus the depth of the deepest point; of parts whose surfaces coincide, minus the
        length of the way out [m]."""

    @property
    def depth(self) -> float:
        """How deep they overlap: 0 where they do not [m]."""

    @property
    def point_a(self) -> Floats:
        """Where the distance is measured on the first part (3,) [m]."""

    @property
    def point_b(self) -> Floats:
        """Where it is measured on the second (3,) [m]."""

    @property
    def place(self) -> Floats:
        """The place to look at (3,) [m]."""

    @property
    def way(self) -> Floats:
        """A short translation of the second part that frees it (3,) [m]; zero where they do not overlap."""

    @property
    def region(self) -> Region | None:
        """Where they overlap; None unless they clash."""

    @property
    def time(self) -> float | None:
        """When, from 0 to 1 of the motion: the beginning of the clash, else the time of the least distance. None where neither moves."""

class AssemblyReport:
    """What was found in an assembly. Findings come the worst first: clashes by depth, then the smallest clearances."""

    @property
    def findings(self) -> list[Finding]:
        """Clashes and clearances."""

    @property
    def clashes(self) -> list[Finding]:
        """Pairs that overlap by more than the tolerance."""

    @property
    def clearances(self) -> list[Finding]:
        """Pairs that are nearer than the clearance."""

    @property
    def contacts(self) -> list[Finding]:
        """Pairs that touch by design."""

    @property
    def failures(self) -> list[tuple[str, str]]:
        """Parts that could not be used: pairs of a name and what is wrong with it."""

    @property
    def pairs(self) -> int:
        """How many pairs were near enough to look at."""

    @property
    def known(self) -> int:
        """How many of these were known from an earlier run."""

    @property
    def shapes(self) -> tuple[int, int, int]:
        """Shapes that were built, that were found built, and that the disk could not keep."""

    def csv(self, contacts: bool = False) -> str:
        """A table, one row for each finding; lengths in metres. The same text as the program's ``findings.csv``."""

    def json(self, contacts: bool = False) -> str:
        """One JSON object: ``findings``, ``failures`` and how many of what; lengths in metres."""

    def html(
        self,
        title: str = "Assembly",
        contacts: bool = False,
        pictures: int = 200,
        progress: bool | Callable[[str, int, int], None] | None = None,
    ) -> str:
        """A page with a table and a picture of each finding: one HTML document that asks for nothing from a network. ``pictures`` is how many
        are pictured at most, the worst first. Shapes that are not in a cache are built again. ``progress(stage, done, steps)`` is told how far it is."""

    def lines(self, contacts: bool = False) -> list[str]:
        """Findings in words, one a line."""

class AssemblySteps:
    """A look at an assembly in steps, for schedulers: what is left to do, what a worker must be given, and what was found.

    First ``AssemblyWorker.look`` at ``todo``; then ``AssemblyWorker.build`` the parts of each of the ``batches`` of pairs that need shapes, and
    ``AssemblyWorker.measure`` these. In any order, anywhere: the report is the same. ``settle`` keeps each answer in the journal at once.
    """

    def __init__(
        self,
        assembly: Assembly,
        clearance: float,
        tolerance: float | None = None,
        voxel: float | None = None,
        max_memory: int = 2147483648,
        output: str | os.PathLike[str] | None = None,
        cache: str | os.PathLike[str] | None = None,
        threads: int = 0,
    ) -> None: ...

    def recipe(self) -> tuple[float, float | None, float | None, int, str]:
        """What a worker is made with: clearance, tolerance, voxel, memory, and the version of this package."""

    def todo(self) -> list[int]:
        """Numbers of the pairs of which nothing is known yet."""

    def left(self) -> int:
        """How many of these are not settled."""

    def weights(self, pairs: list[int]) -> list[int]:
        """About how much work pairs are: triangles of both parts, times 64 where one moves."""

    def task(self, pairs: list[int]) -> tuple[list[int], npt.NDArray[np.uint32], Floats]:
        """What a worker needs to look at pairs: numbers of the parts; for each pair the two places of its parts in that list, (n, 2); and poses (n, 28)."""

    def mesh(self, part: int) -> tuple[bytes, str, Floats, npt.NDArray[np.uint32]]:
        """A part as workers take it: key, name, vertices (n, 3) and faces (m, 3)."""

    def batches(self, deep: list[int], memory: int) -> list[tuple[list[int], list[int]]]:
        """Cuts pairs that need shapes into batches that fit ``memory`` [bytes]: of each the pairs and the parts."""

    def held(self, part: int) -> str | None:
        """The file of a part's shape, if the cache has it."""

    def keep(self, part: int, shape: npt.NDArray[np.uint8] | None) -> None:
        """Notes that a shape was built, and keeps it in the cache if there is one: whole, or not at all."""

    @property
    def keeps(self) -> bool:
        """Whether there is a cache."""

    def settle(self, pair: int, answer: bytes) -> None:
        """Keeps what a worker found of a pair."""

    def fail(self, part: int, problem: str) -> None:
        """Notes a part whose shape cannot be built; its pairs are left out."""

    def fail_pair(self, pair: int, problem: str) -> None:
        """Notes a pair that cannot be looked at; it is left out."""

    def finish(self) -> AssemblyReport:
        """The report. Nothing can be asked afterwards."""

class AssemblyWorker:
    """Looks at pairs of an assembly that ``AssemblySteps`` has elsewhere, on the calling thread. Keeps meshes and shapes, as far as
    ``max_memory`` [bytes] goes, for the next call. One made by another version of this package is refused.
    """

    def __init__(
        self,
        clearance: float,
        tolerance: float | None,
        voxel: float | None,
        max_memory: int,
        version: str,
    ) -> None: ...

    def build(self, part: tuple[bytes, str, ArrayLike, ArrayLike]) -> npt.NDArray[np.uint8]:
        """Builds the shape of a part: the bytes of a ``.palp`` file, the same wherever it is built."""

    def look(
        self,
        parts: list[tuple[bytes, str, ArrayLike, ArrayLike]],
        which: npt.NDArray[np.uint32],
        poses: ArrayLike,
    ) -> list[bytes | None]:
        """Looks at pairs by their triangles alone; None where shapes are needed. See ``AssemblySteps.task``."""

    def measure(
        self,
        parts: list[tuple[bytes, str, ArrayLike, ArrayLike]],
        shapes: list[npt.NDArray[np.uint8] | None],
        which: npt.NDArray[np.uint32],
        poses: ArrayLike,
    ) -> list[bytes | None]:
        """Measures pairs whose shapes are given, in the order of the parts; None for a part without one: then there is no answer."""

def look_at_assembly(
    assembly: Assembly,
    clearance: float,
    tolerance: float | None = None,
    voxel: float | None = None,
    max_memory: int = 2147483648,
    output: str | os.PathLike[str] | None = None,
    cache: str | os.PathLike[str] | None = None,
    threads: int = 0,
    progress: bool | Callable[[str, int, int], None] | None = None,
) -> AssemblyReport:
    """Looks at an assembly on this machine: as ``palpate.assembly``, which also writes files. ``output`` is the folder of the journal and
    ``cache`` that of built shapes; both must be there."""

def gpus() -> list[GpuInfo]:
    """The graphics processors of this machine, in the order in which ``Gpu()`` prefers them; an empty list where there are none. Opens none."""

def contacts(
    a: Shape,
    b: Shape,
    pose_a: PoseLike | None = None,
    pose_b: PoseLike | None = None,
    margin: float = 0.0,
    points_of: Literal["a", "b"] | None = None,
    origin: ArrayLike | None = None,
) -> Contacts:
    """Every point of one shape that is inside the other, or at most ``margin`` [m] outside: an array of dtype ``palpate.CONTACT``.

    ``pose_a`` and ``pose_b`` are ``w_from_a`` and ``w_from_b``: 4x4 matrices, seven numbers ``x y z qx qy qz qw``, or tuples ``(position,
    quaternion)``; none is the identity. Results are in the frame ``w``, which without ``pose_a`` is A's own.

    Fields: ``point`` [m], relative to ``origin`` (by default the origin of the frame; give a place nearby where coordinates are large,
    as they are in single precision); ``distance`` [m], negative inside, with the error bounds of the shape whose field it is; ``normal``,
    unit, from A to B; ``id`` of the point; ``shell_normal``, outward of the shape that gave the point; ``area`` [m²] it stands for.
    In the order of ids. ``points_of`` is "a" or "b"; none: the shape with fewer points.
    """

def intersects(a: Shape, b: Shape, pose_a: PoseLike | None = None, pose_b: PoseLike | None = None) -> bool:
    """Whether a point of either shape is in the other.

    ``pose_a`` and ``pose_b`` are ``w_from_a`` and ``w_from_b``: 4x4 matrices, seven numbers ``x y z qx qy qz qw``, or tuples ``(position,
    quaternion)``; none is the identity. Results are in the frame ``w``, which without ``pose_a`` is A's own.

    Overlaps smaller than the spacing of points and the error of fields may go unnoticed: see ``distance`` for a bound.
    """

def distance(
    a: Shape,
    b: Shape,
    pose_a: PoseLike | None = None,
    pose_b: PoseLike | None = None,
    exact: bool = False,
) -> Distance:
    """Signed distance of two shapes, negative where they overlap, with the points it is measured between and a bound on its error.

    ``pose_a`` and ``pose_b`` are ``w_from_a`` and ``w_from_b``: 4x4 matrices, seven numbers ``x y z qx qy qz qw``, or tuples ``(position,
    quaternion)``; none is the identity. Results are in the frame ``w``, which without ``pose_a`` is A's own.

    With ``exact=True`` all triangles decide whether they overlap, and how far apart they are, up to rounding and with a bound of 0: milliseconds for
    detailed shapes. Depths stay those of points.
    """

def penetration(
    a: Shape,
    b: Shape,
    pose_a: PoseLike | None = None,
    pose_b: PoseLike | None = None,
    directions: int = 128,
) -> Penetration:
    """The shortest translation of B found that separates it from A, settled by all triangles.

    ``pose_a`` and ``pose_b`` are ``w_from_a`` and ``w_from_b``: 4x4 matrices, seven numbers ``x y z qx qy qz qw``, or tuples ``(position,
    quaternion)``; none is the identity. Results are in the frame ``w``, which without ``pose_a`` is A's own.

    ``directions`` is how many are tried over the whole sphere.
    """

def time_of_impact(
    a: Shape,
    b: Shape,
    start: PoseLike,
    end: PoseLike,
    pose_a: PoseLike | None = None,
    tolerance: float | None = None,
    max_steps: int = 4000,
) -> Impact:
    """When B first meets A on its way from ``start`` to ``end``, both ``w_from_b``: straight, turning evenly the shortest way.

    A stands still at ``pose_a``, ``w_from_a``; results are in the frame ``w``. Times are 0 to 1 and never after the true impact.
    ``tolerance`` [m] is how much earlier than touch an impact may be reported, besides the radius that points cover.
    """

def wrench(
    a: Shape,
    b: Shape,
    pose_a: PoseLike | None = None,
    pose_b: PoseLike | None = None,
    *,
    stiffness: float,
    law: Literal["integrated", "averaged"] = 'integrated',
    direction: Literal["field", "shell"] = 'field',
    damping: float = 0.0,
    friction: float | tuple[float, float] | list[float] | None = None,
    velocity: tuple[ArrayLike, ArrayLike] | None = None,
    points_of: Literal["a", "b"] | None = None,
) -> Wrench:
    """The penalty force and torque that contacts give B, about B's origin; A receives the opposite [N, N m].

    ``pose_a`` and ``pose_b`` are ``w_from_a`` and ``w_from_b``: 4x4 matrices, seven numbers ``x y z qx qy qz qw``, or tuples ``(position,
    quaternion)``; none is the identity. Results are in the frame ``w``, which without ``pose_a`` is A's own.

    ``stiffness`` is in N/m³ with ``law="integrated"`` (pressure is stiffness times depth) and in N/m with ``"averaged"``; ``damping`` the same
    per m/s, and never makes a contact pull. ``direction`` is "field" (along its gradient) or "shell" (against the points' normals).
    ``friction`` is a Coulomb coefficient, or a pair of static and dynamic; without memory nothing sticks, see ``Pair``. ``velocity`` is that of
    B as A sees it, in the frame ``w``: a pair of linear, at B's origin [m/s], and angular [rad/s].
    """

def contacts_batch(
    a: Shape,
    b: Shape,
    poses: PosesLike,
    pose_a: PoseLike | None = None,
    margin: float = 0.0,
    full: bool = False,
    points_of: Literal["a", "b"] | None = None,
    threads: int = 0,
    gpu: Gpu | None = None,
) -> ContactsBatch:
    """Contacts of each of many poses: ``count`` (n,), ``deepest`` (n,) of dtype ``palpate.CONTACT``, and on request all of them.

    ``poses`` are n poses ``w_from_b``: an array (n, 4, 4) or (n, 7), or a tuple of positions (n, 3) and quaternions (n, 4), x y z w. ``pose_a`` is the
    one ``w_from_a``; results are in the frame ``w``, which without it is A's own. The interpreter's lock is released; ``threads=0`` is all cores.

    ``deepest`` has NaN as its distance, and the largest id there is, where a pose has no contact. With ``full=True`` the contacts of pose i are
    ``contacts[offsets[i]:offsets[i + 1]]``, as ``palpate.contacts`` gives them, 48 bytes each; ``MemoryError`` as soon as they take more than half
    of the memory that is free.

    With ``gpu`` that device answers, with the same fields: points nearer to the margin than two thousandths of a voxel may count on one side and
    not on the other, and distances differ by as much. Any number of poses goes there in pieces.
    """

def wrench_batch(
    a: Shape,
    b: Shape,
    poses: PosesLike,
    pose_a: PoseLike | None = None,
    *,
    stiffness: float,
    law: Literal["integrated", "averaged"] = 'integrated',
    direction: Literal["field", "shell"] = 'field',
    full: bool = False,
    points_of: Literal["a", "b"] | None = None,
    threads: int = 0,
    gpu: Gpu | None = None,
) -> WrenchBatch:
    """Contacts and wrench of each of many poses: also ``force`` (n, 3) [N], ``torque`` (n, 3) [N m] on B about its origin, and ``area`` (n,) [m²].

    ``poses`` are n poses ``w_from_b``: an array (n, 4, 4) or (n, 7), or a tuple of positions (n, 3) and quaternions (n, 4), x y z w. ``pose_a`` is the
    one ``w_from_a``; results are in the frame ``w``, which without it is A's own. The interpreter's lock is released; ``threads=0`` is all cores.

    ``stiffness``, ``law`` and ``direction`` as in ``palpate.wrench``; ``full`` and ``gpu`` as in ``contacts_batch``; forces of a device differ by at most
    that depth times stiffness and area, and a hundredth of the sum of normal forces.
    """

def intersects_batch(
    a: Shape,
    b: Shape,
    poses: PosesLike,
    pose_a: PoseLike | None = None,
    threads: int = 0,
    gpu: Gpu | None = None,
) -> npt.NDArray[np.bool_]:
    """Whether shapes meet, for each of many poses: (n,) bool.

    ``poses`` are n poses ``w_from_b``: an array (n, 4, 4) or (n, 7), or a tuple of positions (n, 3) and quaternions (n, 4), x y z w. ``pose_a`` is the
    one ``w_from_a``; results are in the frame ``w``, which without it is A's own. The interpreter's lock is released; ``threads=0`` is all cores. ``gpu`` as in
    ``contacts_batch``.
    """

def distance_batch(
    a: Shape,
    b: Shape,
    poses: PosesLike,
    pose_a: PoseLike | None = None,
    threads: int = 0,
) -> DistanceBatch:
    """Signed distance for each of many poses, negative inside: ``distance`` and ``bound`` (n,), ``witness_a`` and ``witness_b`` (n, 3) [m].

    ``poses`` are n poses ``w_from_b``: an array (n, 4, 4) or (n, 7), or a tuple of positions (n, 3) and quaternions (n, 4), x y z w. ``pose_a`` is the
    one ``w_from_a``; results are in the frame ``w``, which without it is A's own. The interpreter's lock is released; ``threads=0`` is all cores.
    """

def penetration_batch(
    a: Shape,
    b: Shape,
    poses: PosesLike,
    pose_a: PoseLike | None = None,
    directions: int = 128,
    threads: int = 0,
) -> PenetrationBatch:
    """The shortest translation of B found that separates it from A, for each of many poses: ``translation`` (n, 3), ``depth`` (n,) and more [m].

    ``poses`` are n poses ``w_from_b``: an array (n, 4, 4) or (n, 7), or a tuple of positions (n, 3) and quaternions (n, 4), x y z w. ``pose_a`` is the
    one ``w_from_a``; results are in the frame ``w``, which without it is A's own. The interpreter's lock is released; ``threads=0`` is all cores.

    ``directions`` as in ``palpate.penetration``: a millisecond or more for each pose of detailed shapes.
    """

def time_of_impact_batch(
    a: Shape,
    b: Shape,
    starts: PosesLike,
    ends: PosesLike,
    pose_a: PoseLike | None = None,
    tolerance: float | None = None,
    max_steps: int = 4000,
    threads: int = 0,
) -> ImpactBatch:
    """When B first meets A on each of many motions, from ``starts[i]`` to ``ends[i]``: ``time`` (n,), NaN where they do not meet, ``point`` (n, 3) and more.

    Both are n poses ``w_from_b``: an array (n, 4, 4) or (n, 7), or a tuple of positions (n, 3) and quaternions (n, 4), x y z w. ``pose_a`` is the one
    ``w_from_a``; results are in the frame ``w``, which without it is A's own. The interpreter's lock is released; ``threads=0`` is all cores.

    ``tolerance`` and ``max_steps`` as in ``palpate.time_of_impact``.
    """
