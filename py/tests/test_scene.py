"""Bodies that fall and lie; recordings; pages."""

import numpy as np
import pytest

import palpate
from conftest import CUBE_FACES, CUBE_VERTICES


@pytest.fixture(scope="module")
def small():
    """A cube of 10 cm."""
    return palpate.Shape(0.1 * CUBE_VERTICES, CUBE_FACES, resolution=32)


def up(z):
    return ([0, 0, z], [0, 0, 0, 1])


@pytest.mark.parametrize("engine", ["rapier", "own"])
def test_a_cube_falls_and_rests(small, engine):
    scene = palpate.Scene()
    ground = scene.add_plane()
    body = scene.add(small, up(0.2), name="cube")
    assert (ground, body) == (0, 1) and len(scene) == 2 and scene.names[1] == "cube"
    sim = scene.start(engine, rate=240)
    sim.step(24)
    # Free fall for a tenth of a second; steps are 1/240 s long, and engines differ by one.
    fallen = 0.2 - sim.poses[body][2, 3]
    assert fallen == pytest.approx(0.5 * 9.81 * 0.1**2, abs=9.81 * 0.1 / 240 + 1e-4)
    assert sim.linear_velocities[body][2] == pytest.approx(-0.981, abs=0.05)
    sim.step(480)
    assert sim.time == pytest.approx(504 / 240)
    # It lies on its face: half its edge above the ground, but for what contacts give way.
    assert sim.poses[body][2, 3] == pytest.approx(0.05, abs=2e-3)
    assert np.abs(sim.linear_velocities[body]).max() < 0.02
    assert np.abs(sim.angular_velocities[body]).max() < 0.2
    np.testing.assert_array_equal(sim.poses[ground], np.eye(4))


def test_engines_have_contacts(small):
    scene = palpate.Scene()
    scene.add_box([1, 1, 0.2], up(-0.1))
    body = scene.add(small, up(0.051), mass=2.0)
    sim = scene.start("own")
    sim.step(240)
    contacts = sim.contacts
    assert len(contacts.depth) > 0 and contacts.point.shape == contacts.normal.shape
    assert set(contacts.bodies.ravel()) == {0, body}


def test_gravity_velocity_and_push(small):
    scene = palpate.Scene(gravity=[0, 0, 0])
    body = scene.add(small, mass=2.0, velocity=([1, 0, 0], [0, 0, 0]))
    sim = scene.start("rapier", rate=100)
    sim.step(100)
    np.testing.assert_allclose(sim.poses[body][:3, 3], [1, 0, 0], atol=1e-3)
    try:
        sim.push(body, [0, 4, 0], [0, 0, 0])
    except palpate.InputError:
        return
    sim.step(100)
    # 2 m/s² for a second.
    assert sim.linear_velocities[body][1] == pytest.approx(2, abs=0.05)


def test_recording(small, tmp_path):
    scene = palpate.Scene()
    scene.add_plane()
    scene.add(small, up(0.1), name="falling <cube>")
    scene.add(small, up(0.3))
    recording = scene.start().run(0.5, fps=60, title="Two cubes")
    assert len(recording) == 31 and recording.names == ["falling <cube>", "body 2"]
    assert recording.poses.shape == (31, 2, 4, 4)
    assert recording.times[0] == 0 and recording.times[-1] == pytest.approx(0.5)
    page = palpate.show(recording, path=tmp_path / "motion.html")
    text = (tmp_path / "motion.html").read_text()
    assert text == page.html and "</html>" in text and "Two cubes" in text and "<cube>" not in text
    # One file, without a network.
    assert "http://" not in text.replace("http://www.w3.org", "") and "https://" not in text


def test_the_same_scene_moves_the_same(small):
    def run():
        scene = palpate.Scene()
        scene.add_plane()
        scene.add(small, ([0, 0, 0.1], [0.3, 0.2, 0.1, 0.9]))
        return scene.start().run(0.5).poses

    np.testing.assert_array_equal(run(), run())


def test_show_shapes(gear, tmp_path):
    page = palpate.show(gear, gear, poses=[None, ([0.058, 0, 0], [0, 0, 0.0654, 0.99786])], title="Gears")
    assert "</html>" in page.html and "Gears" in page.html
    frame = page._repr_html_()
    assert frame.startswith("<iframe srcdoc=") and "<script>" not in frame and "characters" in repr(page)
    page.save(tmp_path / "gears.html")
    assert [p.name for p in tmp_path.iterdir()] == ["gears.html"]
    moving = np.tile(np.eye(4), (10, 1, 1))
    moving[:, 0, 3] = np.linspace(0.07, 0.058, 10)
    assert "</html>" in palpate.show(gear, gear, poses=[None, moving], fps=10).html


def test_what_is_for_shapes_is_refused_for_a_recording(small):
    scene = palpate.Scene()
    scene.add(small)
    recording = scene.start().run(0.05)
    given = {"poses": [None], "contacts": False, "title": "Other", "fps": 30, "up": (0, 1, 0)}
    for name, value in given.items():
        with pytest.raises(palpate.InputError, match=f"{name} is for shapes"):
            palpate.show(recording, **{name: value})
    assert palpate.show(recording, height=300).height == 300
    # Shapes have what the manual says where nothing is given.
    assert palpate.show(small, small).html == palpate.show(small, small, contacts=True, fps=60.0, up=(0, 0, 1)).html


def test_bad_pages(gear, tmp_path):
    with pytest.raises(palpate.InputError, match="nothing"):
        palpate.show()
    with pytest.raises(palpate.InputError, match="str cannot be shown"):
        palpate.show("gear")
    with pytest.raises(palpate.InputError, match="1 poses for 2 shapes"):
        palpate.show(gear, gear, poses=[None])
    with pytest.raises(palpate.InputError, match="frames"):
        palpate.show(gear, gear, poses=[np.tile(np.eye(4), (3, 1, 1)), np.tile(np.eye(4), (2, 1, 1))])
    with pytest.raises(palpate.InputError, match="fps"):
        palpate.show(gear, fps=0)
    with pytest.raises(palpate.InputError, match="fps is 'x'"):
        palpate.show(gear, fps="x")
    with pytest.raises(palpate.FileError, match="cannot write"):
        palpate.show(gear, path=tmp_path / "no" / "page.html")


def test_bad_scenes(small, cube_mesh):
    scene = palpate.Scene()
    with pytest.raises(palpate.InputError, match="engine"):
        scene.start("hooke")
    with pytest.raises(palpate.InputError, match="pose"):
        scene.add(small, [1, 2, 3])
    with pytest.raises(palpate.InputError):
        scene.add_plane(normal=[0, 0, 0])
    with pytest.raises(palpate.InputError):
        scene.add_box([1, -1, 1])
    with pytest.raises(palpate.InputError, match="gravity"):
        palpate.Scene(gravity=[0, 0])
    with pytest.raises(palpate.SimulationError, match="rate"):
        scene.start(rate=0)
    scene.add(small, mass=-1.0, name="light")
    with pytest.raises(palpate.SimulationError, match="light.*mass"):
        scene.start()
    sim = palpate.Scene().start()
    with pytest.raises(palpate.InputError, match="no body 3"):
        sim.push(3, [0, 0, 0], [0, 0, 0])
    with pytest.raises(palpate.InputError, match="seconds"):
        sim.run(float("nan"))
