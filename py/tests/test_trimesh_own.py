"""trimesh's own tests of collisions, on the compatibility layer. Only what they import is another.

They are taken from trimesh's source package, of the version that is installed, and kept in the environment; nothing of it is part of this
repository. The package has neither the tests' common module nor their models: the few names of that module are given here, the unit cube
is made, and PALPATE_TRIMESH_MODELS may name a folder with the models.
"""

import importlib.util
import logging
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import types
import unittest

import numpy as np
import pytest

import palpate.collision_manager

trimesh = pytest.importorskip("trimesh")

#: What trimesh 5.2.0 tests; later versions may test more, which then runs too.
KNOWN = ["test_collision", "test_collision_batch", "test_distance", "test_random_spheres", "test_scene"]
#: The line of a test that tells where the one contact of two cubes in the same place is.
PLACE = re.compile(r"^ *assert .*\bc\.point\b.*\n", re.MULTILINE)
NO_PLACE = (
    "test_collision asks for the one contact of two cubes in the same place at a corner that follows from the order of vertices in a model "
    "that trimesh's package lacks; ours is in the middle, and FCL's at another corner for another order"
)


def source_package() -> pathlib.Path:
    """The archive, from the environment or by pip; the test is skipped where there is none."""
    kept = sys.prefix if sys.prefix != sys.base_prefix else tempfile.gettempdir()
    folder = pathlib.Path(kept) / f"trimesh-source-{trimesh.__version__}"
    if not list(folder.glob("*.tar.gz")):
        wanted = ["--no-deps", "--no-binary", "trimesh", f"trimesh=={trimesh.__version__}"]
        try:
            subprocess.run([sys.executable, "-m", "pip", "download", "-q", "-d", folder, *wanted], check=True, capture_output=True, timeout=180)
        except (OSError, subprocess.SubprocessError) as error:
            pytest.skip(f"trimesh's source package cannot be had: {type(error).__name__}")
    return next(folder.glob("*.tar.gz"))


@pytest.fixture(scope="module")
def source():
    with tarfile.open(source_package()) as archive:
        for name in archive.getnames():
            if name.endswith("/tests/test_collision.py"):
                return archive.extractfile(name).read().decode()
    pytest.skip("trimesh's source package has no tests of collisions")


def get_mesh(name):
    folder = os.environ.get("PALPATE_TRIMESH_MODELS")
    if folder and (pathlib.Path(folder) / name).exists():
        return trimesh.load(pathlib.Path(folder) / name)
    if name == "unit_cube.STL":
        return trimesh.creation.box((1, 1, 1))
    pytest.skip(f"trimesh's package lacks the model {name}; PALPATE_TRIMESH_MODELS may name a folder that has it")


def case(text, collision, monkeypatch):
    """The tests of this text, with this module as `trimesh.collision`."""
    theirs = types.SimpleNamespace(collision=collision, creation=trimesh.creation, Scene=trimesh.Scene, util=trimesh.util)
    common = types.ModuleType("generic")
    random = np.random.default_rng(7).random
    vars(common).update(trimesh=theirs, np=np, unittest=unittest, log=logging.getLogger(), random=random, get_mesh=get_mesh)
    monkeypatch.setitem(sys.modules, "generic", common)
    # Tests that find no FCL pass without having tested.
    if importlib.util.find_spec("fcl") is None:
        monkeypatch.setitem(sys.modules, "fcl", types.ModuleType("fcl"))
    space = {"__name__": "test_collision"}
    exec(compile(text, "test_collision.py", "exec"), space)
    return space["CollisionTest"]


def run(case, name):
    getattr(case(name), name)()


@pytest.mark.parametrize("name", KNOWN)
def test_as_it_is(source, name, monkeypatch):
    tests = case(source, palpate.collision_manager, monkeypatch)
    if not hasattr(tests, name):
        pytest.skip(f"this trimesh has no {name}")
    try:
        run(tests, name)
    except AssertionError as error:
        trace = error.__traceback__
        while trace.tb_next:
            trace = trace.tb_next
        line = source.splitlines(keepends=True)[trace.tb_lineno - 1]
        if not PLACE.match(line):
            raise
        pytest.skip(NO_PLACE)


def test_others_that_are_new(source, monkeypatch):
    tests = case(source, palpate.collision_manager, monkeypatch)
    for name in sorted(set(unittest.TestLoader().getTestCaseNames(tests)) - set(KNOWN)):
        run(tests, name)


def test_all_but_the_place_of_one_contact(source, monkeypatch):
    """What is left of test_collision without that line: booleans, names, the depth and the normal of that contact."""
    rest, lines = PLACE.subn("", source)
    assert lines == 1
    run(case(rest, palpate.collision_manager, monkeypatch), "test_collision")


def test_the_place_is_not_that_of_fcl_either(source, monkeypatch):
    """With a cube whose vertices have another order trimesh and FCL fail in the same line, and in no other."""
    pytest.importorskip("fcl", reason="python-fcl is not installed")
    if os.environ.get("PALPATE_TRIMESH_MODELS"):
        pytest.skip("with trimesh's own model the place is as it expects")
    with pytest.raises(AssertionError):
        run(case(source, trimesh.collision, monkeypatch), "test_collision")
    run(case(PLACE.sub("", source), trimesh.collision, monkeypatch), "test_collision")
