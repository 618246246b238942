"""What the READMEs and the guide show runs as it stands: their programs are taken from there, in files of the names that they have."""

import pathlib
import re
import struct

import numpy as np
import pytest

import palpate
from conftest import CUBE_FACES, CUBE_VERTICES, matrix, quaternion

ROOT = pathlib.Path(__file__).resolve().parents[2]

if not (ROOT / "docs" / "guide").is_dir():
    pytest.skip("the guide is not here: this is no clone of the repository", allow_module_level=True)


def programs(path):
    """The Python programs of a page, each after the heading it is under."""
    text = (ROOT / path).read_text(encoding="utf-8")
    for section in re.split(r"^(?=#+ )", text, flags=re.MULTILINE):
        heading = section.partition("\n")[0].lstrip("# ")
        for code in re.findall(r"^```python\n(.*?)^```", section, re.DOTALL | re.MULTILINE):
            yield pytest.param(code, id=f"{path}: {heading}")


def stl(path, shape, unit):
    """A text file with the triangles of a shape."""
    corners = shape.vertices[shape.faces] / unit
    lines = (f"facet normal 0 0 0\nouter loop\n{''.join('vertex %.9g %.9g %.9g' % tuple(p) + chr(10) for p in t)}endloop\nendfacet\n" for t in corners)
    path.write_text("solid part\n" + "".join(lines) + "endsolid part\n")


def las(path, points, step=1e-4):
    """LAS 1.2, points of format 0."""
    low, high = points.min(axis=0), points.max(axis=0)
    bounds = [v for pair in zip(high, low) for v in pair]
    counts = (len(points), len(points), 0, 0, 0, 0)
    head = struct.pack("<4s4x16x2B64x3HIIBH6I", b"LASF", 1, 2, 1, 2024, 227, 227, 0, 0, 20, *counts)
    head += struct.pack("<12d", step, step, step, *low, *bounds)
    rows = np.zeros(len(points), dtype=[("at", "<i4", 3), ("rest", "<u1", 8)])
    rows["at"] = np.round((points - low) / step)
    path.write_bytes(head + rows.tobytes())


@pytest.fixture
def place(tmp_path, monkeypatch, gear, rng):
    """A folder with the files that the guide names, and the names that its programs begin with."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("webbrowser.open", lambda *_, **__: pytest.fail("a program of the guide opened a browser"))
    part = palpate.Shape.sample("torus", resolution=64)
    stl(tmp_path / "housing.stl", part, 1e-3)
    gear.save("gear.palp")
    palpate.Assembly.sample(24, seed=2).write(tmp_path / "gearbox")
    las(tmp_path / "vase.las", rng.normal(size=(500, 3)))
    n = 40
    pose = matrix([0.02, 0, 0], quaternion(rng))
    start, end = matrix([0.3, 0, 0], [0, 0, 0, 1]), matrix([0.02, 0, 0], [0, 0, 0, 1])
    return {
        "np": np,
        "palpate": palpate,
        "part": part,
        "gear": gear,
        "points": rng.uniform(*part.aabb, (1000, 3)),
        "places": rng.normal(size=(50, 3)),
        "vertices": 0.05 * CUBE_VERTICES,
        "faces": CUBE_FACES,
        "moved": 0.06 * CUBE_VERTICES,
        "mesh": part,
        "hole": part,
        "peg": gear,
        "pose": pose,
        "start": start,
        "end": end,
        "linear": [0.1, 0, 0],
        "angular": [0, 0, 1.0],
        "poses": (rng.uniform(-0.02, 0.02, (n, 3)), quaternion(rng, n)),
        "positions": rng.uniform(-0.02, 0.02, (n, 3)),
        "quaternions": quaternion(rng, n),
        "ends": (rng.uniform(0.3, 0.4, (n, 3)), quaternion(rng, n)),
    }


PAGES = ["README.md", "py/README.md", "docs/guide/python.md", "docs/guide/assembly.md"]


@pytest.mark.parametrize("code", [p for page in PAGES for p in programs(page)])
def test_programs_run_as_they_stand(code, place, capsys):
    if "cluster=" in code:
        # Whose addresses are nobody's; test_ray.py joins some.
        compile(code, "guide", "exec")
        return
    place = dict(place)
    exec(compile(code, "guide", "exec"), place)
    printed = capsys.readouterr().out
    assert ("print(" in code) == bool(printed.strip())
    if "sim.run" in code:
        assert "</html>" in pathlib.Path("fall.html").read_text(encoding="utf-8")


def test_the_five_lines_of_the_readme(monkeypatch, tmp_path, capsys):
    """They stand alone, and say that two gears meet and push each other apart."""
    monkeypatch.chdir(tmp_path)
    (code,) = (p.values[0] for p in programs("README.md"))
    assert len(code.splitlines()) == 5
    names = {}
    exec(compile(code, "README", "exec"), names)
    distance, force = capsys.readouterr().out.splitlines()
    assert re.match(r"<palpate\.Distance: -?[0-9.e-]+ m, bound [0-9.e-]+ m>$", distance)
    force = np.array(force.strip("[]").split(), dtype=float)
    assert force.shape == (3,) and np.linalg.norm(force) > 0
    assert palpate.intersects(names["gear"], names["gear"], pose_b=names["pose"])
