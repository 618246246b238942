"""Shapes shared by the tests. Everything random is seeded."""

import numpy as np
import pytest

import palpate

CUBE_VERTICES = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
CUBE_FACES = np.array(
    [
        [0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1],
        [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3],
    ]
)  # fmt: skip


@pytest.fixture(scope="session")
def cube_mesh():
    return CUBE_VERTICES.copy(), CUBE_FACES.copy()


@pytest.fixture(scope="session")
def cube():
    """Of edge 1 m around the origin, in voxels of 5 cm."""
    return palpate.Shape(CUBE_VERTICES, CUBE_FACES, voxel=0.05)


@pytest.fixture(scope="session")
def gear():
    return palpate.Shape.sample("gear", resolution=64)


@pytest.fixture(scope="session")
def torus():
    return palpate.Shape.sample("torus", resolution=64)


@pytest.fixture
def rng():
    return np.random.default_rng(20240611)


def quaternion(rng, n=None):
    q = rng.normal(size=(4,) if n is None else (n, 4))
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


def rotation(q):
    """The matrix of a quaternion x y z w."""
    x, y, z, w = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def matrix(position, q):
    m = np.eye(4)
    m[:3, :3] = rotation(q)
    m[:3, 3] = position
    return m
