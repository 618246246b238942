"""Exceptions. All are :class:`PalpateError`, and also what Python has for such trouble."""


class PalpateError(Exception):
    """Any error of this package."""


class InputError(PalpateError, ValueError):
    """An argument that cannot be used: a shape, a dtype, a pose, a number out of its range."""


class MeshError(PalpateError, ValueError):
    """Triangles that cannot become a mesh."""


class BuildError(PalpateError, ValueError):
    """A shape or a cloud that cannot be built: a voxel too small, too many points."""


class FileError(PalpateError, OSError):
    """A file that cannot be read or written, or is damaged."""


class SimulationError(PalpateError, RuntimeError):
    """A scene that does not run."""


class GpuError(PalpateError, RuntimeError):
    """A graphics processor that is not there, cannot hold what it is given, or was lost."""


class InternalError(PalpateError, RuntimeError):
    """A fault of ours."""


for _class in (PalpateError, InputError, MeshError, BuildError, FileError, SimulationError, GpuError, InternalError):
    _class.__module__ = "palpate"
