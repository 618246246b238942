#!/usr/bin/env python3
"""Opens the page of `palpate serve` in a browser and touches shapes on it.

    python3 live.py PALPATE [--mock MOCK_HAPLY] [--shots FOLDER] [--scenes NAME,NAME...]

PALPATE is the program; it is started here, on free ports, and ended. MOCK_HAPLY is palpate-haptic's example of that name: a device to be
lost and found again. Needs PyPI's playwright and a Chromium
(CHROMIUM names it; /usr/bin/chromium otherwise). Prints the rates it saw; exits with 1 if something is not as it should be.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from playwright.sync_api import sync_playwright

FLAGS = [
    "--no-sandbox",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--ignore-gpu-blocklist",
    # On a busy machine drawing in software takes longer than a graphics card may.
    "--disable-gpu-watchdog",
]
# A machine without a graphics card draws slowly, and two cores may be busy.
PATIENCE = 90_000
TETRA = "v 0 0 0\nv 60 0 0\nv 0 60 0\nv 0 0 60\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n"


def differ(a, b):
    """Share of pixels that are different."""
    pixels = len(a) // 4
    return sum(1 for i in range(0, len(a), 4) if max(abs(a[i + k] - b[i + k]) for k in range(4)) > 24) / pixels


class Check:
    def __init__(self, page, address, shots):
        self.page, self.address, self.shots = page, address, shots
        self.failed, self.said = [], []
        page.on("console", self.heard)
        page.on("pageerror", lambda e: self.said.append(str(e)))
        page.on("request", self.asked)

    def heard(self, message):
        # The browser's own remark that reading pixels is slow.
        if message.type in ("error", "warning") and "ReadPixels" not in message.text:
            self.said.append(message.text)

    def asked(self, request):
        if not request.url.startswith((self.address, "blob:", "data:")):
            self.said.append("asks for " + request.url[:90])

    def expect(self, what, truth):
        if not truth:
            self.failed.append(what)

    def wait(self, what, condition, patience=PATIENCE):
        # The page's policy forbids scripts made of text, which the driver's own waiting needs.
        end = time.monotonic() + patience / 1000
        while time.monotonic() < end:
            if self.page.evaluate(f"!!({condition})"):
                return True
            self.page.wait_for_timeout(60)
        self.failed.append(what)
        return False

    def look(self):
        self.page.evaluate("palpate.settled()")
        return self.page.evaluate("palpate.look()")

    def shot(self, name, full=False):
        if self.shots:
            self.page.screenshot(path=f"{self.shots}/live-{name}.png", full_page=full, animations="disabled")

    def ready(self, scene=None):
        wanted = f"palpate.info?.id === '{scene}' && " if scene else ""
        ok = self.wait(f"the scene {scene or ''} does not come", f"window.palpate && {wanted}palpate.last && palpate.last.now.generation === palpate.info.generation && palpate.view.bodies.length > 0")
        if ok:
            self.page.evaluate("palpate.settled()")
        return ok

    def open(self, scene):
        """Chooses a scene as people do."""
        self.page.select_option("#scene", scene)
        return self.ready(scene)

    def tool(self):
        """Where the tool is seen, and the touched body: pixels of the page."""
        return self.page.evaluate("""() => {
            const box = palpate.view.canvas.getBoundingClientRect();
            const seen = (p) => {
                const v = palpate.view.camera.position.clone().set(p[0], p[1], p[2]).multiplyScalar(palpate.view.scale).project(palpate.view.camera);
                return [box.left + (v.x + 1) / 2 * box.width, box.top + (1 - v.y) / 2 * box.height];
            };
            const b = palpate.info.bodies[0];
            return { tool: seen(palpate.last.now.centre), body: seen(b.min.map((v, i) => (v + b.max[i]) / 2)), box: [box.left, box.top, box.width, box.height] };
        }""")

    def grab(self):
        """A place of the view where the tool is in front; None where there is none."""
        return self.page.evaluate("""() => {
            const box = palpate.view.canvas.getBoundingClientRect();
            const drawn = palpate.view.bodies[palpate.info.tool];
            for (let r = 0; r < 0.5; r += 0.01) for (let a = 0; a < 12; a++) {
                const c = palpate.view.camera.position.clone().fromArray(palpate.last.now.centre).multiplyScalar(palpate.view.scale).project(palpate.view.camera);
                const x = box.left + (c.x + 1) / 2 * box.width + r * box.height * Math.cos(a), y = box.top + (1 - c.y) / 2 * box.height + r * box.height * Math.sin(a);
                if (document.elementFromPoint(x, y) !== palpate.view.canvas) continue;
                const surfaces = palpate.view.bodies.map((b) => b.surface).filter((s) => s && s.visible);
                const hit = palpate.hand.ray({ clientX: x, clientY: y }).intersectObjects(surfaces, false)[0];
                if (hit && hit.object === drawn.surface) return [x, y];
            }
            return null;
        }""")


def rigid(c):
    """The first scene: dragged, looked into, recorded."""
    page = c.page
    if not c.ready():
        return
    free = c.look()
    c.expect("the view is blank", len({tuple(free[i:i + 4]) for i in range(0, len(free), 4)}) > 60)
    c.expect("it begins with a force", page.evaluate("palpate.last.now.most.force") == 0)
    c.shot("start")

    # Dragged into the other body: the tool stops, contacts and a force appear, the hand is drawn apart.
    at, seen = c.grab(), c.tool()
    c.expect("the tool cannot be grabbed", at is not None)
    if at is None:
        return
    page.mouse.move(*at)
    page.mouse.down()
    way = [seen["body"][k] - seen["tool"][k] for k in range(2)]
    for k in range(1, 21):
        page.mouse.move(at[0] + way[0] * 0.55 * k / 20, at[1] + way[1] * 0.55 * k / 20)
    c.wait("no contacts appear", "palpate.last.now.contacts > 0")
    c.wait("no force is felt", "palpate.last.now.most.force > 0.5")
    c.wait("the force plot does not move", "palpate.plots.force.most > 0.5 && document.getElementById('out-force').textContent !== '0.00 N'")
    page.wait_for_timeout(300)
    drawn = page.evaluate("""() => {
        const b = palpate.view.bodies[palpate.info.tool];
        return { ghost: b.ghost.visible, apart: b.ghost.position.distanceTo(b.group.position) };
    }""")
    c.expect("the hand is not drawn apart from the tool", drawn["ghost"] and drawn["apart"] > 0.02)
    inside = page.evaluate("Math.max(0, ...Array.from({ length: palpate.last.now.marks }, (_, i) => palpate.last.marks[7 * i + 6]))")
    voxel = page.evaluate("palpate.info.bodies[0].voxel")
    c.expect(f"the tool is drawn {inside / voxel:.2f} voxels inside", inside < 0.6 * voxel)
    touching = c.look()
    c.expect("touching changes no pixel", differ(free, touching) > 0.02)
    c.shot("touching")
    page.emulate_media(color_scheme="dark")
    c.shot("touching-dark")
    page.emulate_media(color_scheme="light")
    plot = page.evaluate("""() => { const c = document.getElementById('plot-force'); const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; let n = 0; for (let i = 3; i < d.length; i += 4) n += d[i] > 0; return n; }""")
    c.expect("the force plot is empty", plot > 50)
    for box in ("show-contacts", "show-force", "show-hand"):
        before = c.look()
        page.evaluate(f"document.getElementById('{box}').click()")
        c.expect(f"{box} changes no pixel", differ(before, c.look()) > 0.0002)
        page.evaluate(f"document.getElementById('{box}').click()")

    # Every way to look is another picture. The tool is held, so nothing moves.
    pictures = {"mesh": c.look()}
    for mode in page.evaluate("Array.from(document.getElementById('mode').options, (o) => o.value)")[1:]:
        page.evaluate("m => { const s = document.getElementById('mode'); s.value = m; s.dispatchEvent(new Event('change')); }", mode)
        page.evaluate("palpate.settled()")
        slide = "v => { const s = document.getElementById('tune-value'); s.value = v; s.dispatchEvent(new Event('input')); }"
        most = float(page.locator("#tune-value").get_attribute("max"))
        cut = mode in ("layers", "slice")
        first, second = (0.5, 0.32) if cut else (most, most - 1) if mode == "nodes" else (2, 1)
        if page.locator("#tune").is_visible():
            page.evaluate(slide, first)
            page.evaluate("palpate.settled()")
        if mode == "nodes":
            c.wait("no nodes are told", "palpate.last.now.nodes > 0")
            page.wait_for_timeout(300)
        picture = c.look()
        for other, pixels in pictures.items():
            c.expect(f"{mode} looks like {other}", differ(picture, pixels) > 0.01)
        pictures[mode] = picture
        c.shot(f"mode-{mode}")
        if page.locator("#tune").is_visible():
            nodes = page.evaluate("palpate.last.now.nodes")
            page.evaluate(slide, second)
            page.evaluate("palpate.settled()")
            if mode == "nodes":
                c.wait("another level has as many nodes", f"palpate.last.now.nodes !== {nodes}")
            c.expect(f"the slider of {mode} changes no pixel", differ(picture, c.look()) > 0.002)
    visited(c)
    page.evaluate("() => { const s = document.getElementById('mode'); s.value = 'mesh'; s.dispatchEvent(new Event('change')); }")
    c.expect("the mesh does not come back", differ(c.look(), pictures["mesh"]) < 0.01)
    print(f"  {len(pictures)} ways to look, all different")

    # A tool that gives enters; one that stops does not.
    deepest = "Math.max(0, ...Array.from({ length: palpate.last.now.marks }, (_, i) => palpate.last.marks[7 * i + 6]))"
    page.evaluate("document.querySelector('input[name=feel][value=soft]').click()")
    c.wait("a tool that gives does not enter", f"{deepest} > {0.05 * voxel} && palpate.last.now.most.force > 0.5")
    c.shot("gives")
    page.evaluate("() => { const f = document.getElementById('friction'); f.value = 0.4; f.dispatchEvent(new Event('input')); f.dispatchEvent(new Event('change')); }")
    c.wait("friction is not told", "document.getElementById('friction-text').textContent === '0.40'")
    page.evaluate("document.querySelector('input[name=feel][value=held]').click()")
    c.wait("a tool that stops stays inside", f"{deepest} < {1e-3 * voxel} && palpate.last.now.contacts > 0 && palpate.last.now.most.force > 0.5")
    page.evaluate("() => { const f = document.getElementById('friction'); f.value = 0; f.dispatchEvent(new Event('change')); }")
    health = page.text_content("#health")
    c.expect(f"the loop's health is not told: {health}", "missed by us" in health and "longest tick" in health and "bad readings" not in health)
    c.wait("no energy is told", "palpate.plots.energy.most > 1e-5")

    # Let go: the force is gone.
    page.mouse.up()
    c.wait("the force stays after letting go", "palpate.last.now.most.force < 0.3")

    # Recorded, and played again: the tool goes the same way.
    page.click("#reset")
    page.wait_for_timeout(400)
    page.click("#record")
    page.focus("#view")
    page.keyboard.down("ArrowRight")
    page.wait_for_timeout(500)
    page.keyboard.up("ArrowRight")
    page.keyboard.down("u")
    page.wait_for_timeout(300)
    page.keyboard.up("u")
    page.wait_for_timeout(200)
    page.click("#record")
    end = page.evaluate("palpate.hand.pose")
    start = page.evaluate("palpate.info.hand")
    c.expect("keys do not move the hand", max(abs(end[k] - start[k]) for k in range(3)) > 1e-3)
    c.expect("keys do not turn the hand", max(abs(end[k] - start[k]) for k in range(3, 7)) > 0.02)
    page.click("#reset")
    c.wait("starting again does not bring the tool back", "Math.abs(palpate.last.now.bodies[1][0] - palpate.info.hand[0]) < 1e-5")
    page.click("#replay")
    c.wait("the replay does not end", "palpate.recorder.state === null")
    page.wait_for_timeout(300)
    again = page.evaluate("palpate.last.now.bodies[1]")
    c.expect("the replay ends elsewhere", max(abs(again[k] - end[k]) for k in range(7)) < 2e-3)
    with page.expect_download() as saved:
        page.click("#save")
    motion = json.loads(pathlib.Path(saved.value.path()).read_text())
    c.expect("the saved motion is empty", motion["palpate"] == "hand" and len(motion["samples"]) > 5)
    with page.expect_download() as saved:
        page.click("#picture")
    c.expect("the picture is no PNG", pathlib.Path(saved.value.path()).read_bytes().startswith(b"\x89PNG"))
    page.click("#reset")


def visited(c):
    """The nodes of all levels together are those that the query says it visited."""
    page = c.page
    slide = "v => { const s = document.getElementById('tune-value'); s.value = v; s.dispatchEvent(new Event('input')); }"
    low, high = (int(page.locator("#tune-value").get_attribute(k)) for k in ("min", "max"))
    nodes, near = 0, 0
    for level in range(low, high + 1):
        page.evaluate(slide, level)
        c.wait(f"level {level} is not told", f"document.getElementById('legend-counts')?.textContent.startsWith('level {level}: ')")
        # A snapshot that was asked for with the level.
        page.wait_for_timeout(400)
        page.evaluate("palpate.settled()")
        told = page.evaluate("(() => { const l = palpate.last; let near = 0; for (let i = 0; i < l.now.nodes; i++) near += l.nodes[6 * i + 4]; return [l.now.nodes, near, l.now.visited]; })()")
        if level > low:
            c.expect(f"level {level} has nodes, and none above it is near", near > 0 or told[0] == 0)
        nodes, near = nodes + told[0], told[1]
    c.expect(f"{nodes} nodes are drawn, {told[2]} were visited", abs(nodes - told[2]) <= 0.03 * told[2])
    print(f"  {nodes} nodes drawn, {told[2]} visited")


def device(c):
    """A device moves the tool: nobody touches the mouse. The mouse turns the view."""
    page = c.page
    if not c.ready():
        return
    c.wait("the device does not answer", "palpate.last.now.device?.state === 'here'")
    c.wait("the device does not move the tool", "Math.hypot(...[0, 1, 2].map((k) => palpate.last.now.bodies[1][k] - palpate.info.hand[k])) > 2e-3")
    c.wait("the device touches nothing", "palpate.last.now.contacts > 0 && palpate.last.now.most.force > 0.3")
    c.wait("the hand is not where the device is", "palpate.view.bodies[1].ghost.visible && palpate.last.now.target.every((v, k) => Math.abs(v - palpate.hand.pose[k]) < 1e-3)")
    c.expect("no health of the device", "bad readings" in page.text_content("#health"))
    c.expect("a lost device is told of", page.locator("#lost").is_hidden())
    c.expect("the device has no name", "simulated device moves the tool" in page.text_content("#device"))
    c.expect("drags move a tool that a device has", page.locator("#drag").is_hidden())
    c.shot("device")
    # The mouse turns the view, keys do nothing.
    at, before = c.grab(), page.evaluate("palpate.view.camera.position.toArray()")
    if at:
        page.mouse.move(*at)
        page.mouse.down()
        for k in range(1, 9):
            page.mouse.move(at[0] + 12 * k, at[1] + 4 * k)
        page.mouse.up()
    after = page.evaluate("palpate.view.camera.position.toArray()")
    c.expect("the mouse does not turn the view", max(abs(a - b) for a, b in zip(before, after)) > 0.05)
    page.focus("#view")
    page.keyboard.down("ArrowUp")
    page.wait_for_timeout(300)
    page.keyboard.up("ArrowUp")
    c.expect("the mouse holds the tool", not page.evaluate("palpate.hand.gripping"))
    # It gives, and begins anew.
    page.evaluate("document.querySelector('input[name=feel][value=soft]').click()")
    c.wait("it does not give", "Array.from({ length: palpate.last.now.marks }, (_, i) => palpate.last.marks[7 * i + 6]).some((d) => d > 1e-5) && palpate.last.now.most.force > 0.3")
    page.evaluate("document.querySelector('input[name=feel][value=held]').click()")
    page.click("#reset")
    c.wait("its motion does not begin anew", "Math.hypot(...[0, 1, 2].map((k) => palpate.last.now.bodies[1][k] - palpate.info.hand[k])) < 1e-3")
    # Scenes of more than two rigid shapes are the mouse's.
    if c.open("cloud"):
        c.expect("it is not said that the device rests", "rests in this scene" in page.text_content("#device"))
        c.expect("the mouse cannot drag", page.locator("#drag").is_visible())
        c.expect("a cloud has a tool that gives", page.locator("#feel").is_hidden())


def absent(c):
    """A device that is not there: the page says so, and nothing is felt."""
    if not c.ready():
        return
    c.wait("a device that is not there is not told of", "!document.getElementById('lost').hidden && document.getElementById('lost').textContent.includes('does not answer')")
    c.expect("there is a force without a device", c.page.evaluate("palpate.last.now.most.force") == 0)
    c.shot("absent")


def found(c, mock, port):
    """A device that is lost and comes back."""
    if not c.ready():
        return
    c.wait("the device does not answer", "palpate.last.now.device?.state === 'here'")
    mock.end()
    c.wait("a lost device is not told of", "!document.getElementById('lost').hidden && palpate.last.now.most.force === 0")
    print("  lost:", c.page.text_content("#lost"))
    c.shot("lost")
    mock.begin(port)
    c.wait("a device that answers again is not taken", "document.getElementById('lost').hidden && palpate.last.now.device?.state === 'here'")


class Mock:
    """A service that pretends to be Haply's."""

    def __init__(self, program):
        self.program, self.process = program, None

    def begin(self, port=0):
        self.process = subprocess.Popen([self.program, str(port), "600"], stdout=subprocess.PIPE, text=True)
        return int(self.process.stdout.readline().split("//")[1].split("/")[0].rsplit(":", 1)[1])

    def end(self):
        if self.process:
            self.process.kill()
            self.process.wait(20)


def dropped(c, folder):
    """A file that is dropped on the page is built and touched; one that is no mesh is refused in words."""
    page = c.page
    tetra = pathlib.Path(folder) / "tetra.obj"
    tetra.write_text(TETRA)
    page.evaluate("""() => { window.stages = new Set(); new MutationObserver(() => { const t = document.getElementById('building-stage').textContent; if (!document.getElementById('building').hidden && t) stages.add(t); }).observe(document.getElementById('building'), { subtree: true, childList: true, attributes: true, characterData: true }); }""")
    # Dropped, not chosen: as a hand would.
    page.evaluate("""text => {
        const data = new DataTransfer();
        data.items.add(new File([text], 'tetra.obj'));
        document.body.dispatchEvent(new DragEvent('dragover', { dataTransfer: data, bubbles: true, cancelable: true }));
        document.body.dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }));
    }""", TETRA)
    if not c.ready("dropped"):
        return
    c.expect("no progress is shown", page.evaluate("stages.size") > 0)
    c.expect("the file's name is not shown", page.text_content("#title") == "tetra.obj")
    c.expect("the unit is ignored", abs(page.evaluate("palpate.info.bodies[0].max[0]") - 0.06) < 1e-6)
    c.shot("dropped")
    page.focus("#view")
    page.keyboard.down("ArrowDown")
    c.wait("a dropped file cannot be touched", "palpate.last.now.contacts > 0 && palpate.last.now.most.force > 0")
    page.keyboard.up("ArrowDown")
    page.keyboard.press("Escape")
    page.set_input_files("#file", {"name": "hello.obj", "mimeType": "text/plain", "buffer": b"this is no mesh"})
    c.wait("a file that is no mesh is not refused", "!document.getElementById('error').hidden && document.getElementById('error-text').textContent.length > 15")
    c.shot("refused")
    page.click("#error-close")


def narrow(c):
    """A phone: nothing is cut off, and a finger moves the tool."""
    page = c.page
    if not c.ready():
        return
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    c.expect(f"the page is {wide} pixels wider than the screen", wide <= 0)
    small = page.evaluate("""() => Array.from(document.querySelectorAll('button, select, .switch label')).filter((e) => e.offsetParent && e.getBoundingClientRect().height < 32).map((e) => e.id || e.textContent)""")
    c.expect(f"too small for a finger: {small}", not small)
    at = c.grab()
    c.expect("the tool cannot be touched", at is not None)
    if at:
        session = page.context.new_cdp_session(page)
        point = lambda dx, dy: [{"x": at[0] + dx, "y": at[1] + dy}]  # noqa: E731
        session.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": point(0, 0)})
        for k in range(1, 9):
            session.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": point(3 * k, -2 * k)})
        start = page.evaluate("palpate.info.hand[0]")
        c.wait("a finger does not move the tool", f"Math.abs(palpate.last.now.bodies[1][0] - {start}) > 1e-4")
        for k in range(1, 13):
            session.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": point(24 - 2 * k, -16 + 9 * k)})
        c.wait("a finger does not press", "palpate.last.now.most.force > 0.5")
        page.wait_for_timeout(500)
        page.evaluate("palpate.settled()")
        c.shot("phone-touching")
        session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    c.shot("phone", full=True)


def named(c):
    """Every control has a name, and can be reached with the keyboard."""
    page = c.page
    bare = page.evaluate("""() => Array.from(document.querySelectorAll('button, select, input:not([hidden]), canvas#view')).filter((e) => !(e.labels?.length || e.getAttribute('aria-label') || e.textContent.trim())).map((e) => e.outerHTML.slice(0, 60))""")
    c.expect(f"controls without a name: {bare}", not bare)
    page.evaluate("document.activeElement.blur()")
    reached = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.name || ''"))
    for control in ("scene", "open", "unit", "view", "drag", "reset", "frame", "mode", "of", "show-contacts", "record", "picture"):
        c.expect(f"{control} is not reached by Tab", control in reached)


def other(c, scene, shots):
    """Another scene: it comes, moves and is touched."""
    page = c.page
    if not c.open(scene):
        return
    first = c.look()
    c.expect(f"{scene}: the view is blank", len({tuple(first[i:i + 4]) for i in range(0, len(first), 4)}) > 40)
    page.focus("#view")
    keys = {"nut": ["u"], "peg": ["ArrowDown", "ArrowRight"], "cloud": ["PageUp"]}.get(scene, ["ArrowDown"])
    for key in keys:
        page.keyboard.down(key)
    c.wait(f"{scene}: no contact", "palpate.last.now.contacts > 0", 60_000)
    c.wait(f"{scene}: no force", "palpate.last.now.most.force > 0.02", 60_000)
    page.wait_for_timeout(150)
    for key in keys:
        page.keyboard.up(key)
    page.wait_for_timeout(400)
    if scene == "nut":
        risen = page.evaluate("palpate.last.now.bodies[1][2]")
        c.expect(f"the nut does not rise when it is turned ({risen} m)", risen > 2e-5)
    c.expect(f"{scene}: nothing changes", differ(first, c.look()) > 0.001)
    c.shot(f"scene-{scene}")
    page.keyboard.press("Escape")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--shots")
    parser.add_argument("--mock", help="the program mock_haply")
    parser.add_argument("--scenes", default="nut,peg,terrain,cloud,soft")
    parser.add_argument("--only", help="one visit: wide, scenes, file, phone, device, absent or found")
    parser.add_argument("--dist", help="a folder with the page: to try it without building the program")
    args = parser.parse_args()
    browser_path = os.environ.get("CHROMIUM", "/usr/bin/chromium")
    failed, served = [], []

    def serve(*more):
        process = subprocess.Popen([args.program, "serve", "--port", "0", "--seconds", "1800", "--json", *more], stdout=subprocess.PIPE, text=True)
        served.append(process)
        return json.loads(process.stdout.readline())["url"]

    def stop():
        for process in served:
            process.terminate()
            process.wait(20)
        served.clear()

    mock = Mock(args.mock)
    try:
        with sync_playwright() as p, tempfile.TemporaryDirectory() as folder:
            # A page that does not come over the network may not ask this machine, unless told.
            flags = FLAGS + (["--disable-features=LocalNetworkAccessChecks"] if args.dist else [])
            browser = p.chromium.launch(executable_path=browser_path, args=flags)

            def visit(name, options, steps, *more):
                if args.only and args.only != name:
                    return
                if more or not served:
                    stop()
                    visit.address = serve(*more)
                address = visit.address
                context = browser.new_context(accept_downloads=True, **options)
                page = context.new_page()
                if args.dist:
                    tried = lambda route: route.fulfill(path=args.dist + "/" + (route.request.url.rsplit("/", 1)[1] or "index.html"))  # noqa: E731
                    page.route("**/live.*", tried)
                    page.route(address, tried)
                c = Check(page, address, args.shots)
                page.goto(address)
                try:
                    steps(c)
                except Exception as e:  # noqa: BLE001
                    c.failed.append(f"{name}: {e}")
                rates = page.evaluate("palpate.rates")
                c.failed += [f"the browser says: {s}" for s in c.said]
                print(f"live page, {name}: {rates['frames']:.0f} frames/s, {rates['messages']:.0f} messages/s, loop {page.evaluate('palpate.last?.now.rate ?? 0'):.0f} Hz: {'; '.join(c.failed) or 'as it should'}")
                failed.extend(c.failed)
                context.close()

            visit("wide", {"viewport": {"width": 1280, "height": 800}}, lambda c: (rigid(c), named(c)))
            visit("scenes", {"viewport": {"width": 1100, "height": 760}, "color_scheme": "dark"}, lambda c: [other(c, s, args.shots) for s in args.scenes.split(",") if s])
            visit("file", {"viewport": {"width": 1000, "height": 720}}, lambda c: c.ready() and dropped(c, folder))
            visit("phone", {"viewport": {"width": 360, "height": 740}, "device_scale_factor": 2, "has_touch": True, "is_mobile": True, "color_scheme": "dark"}, lambda c: c.ready() and (c.open("knot"), narrow(c)))
            visit("device", {"viewport": {"width": 1280, "height": 800}}, device, "--device", "sim", "--motion", "slide")
            visit("absent", {"viewport": {"width": 1100, "height": 760}, "color_scheme": "dark"}, absent, "--device", "haply", "--address", "127.0.0.1:1")
            if args.mock:
                port = mock.begin()
                visit("found", {"viewport": {"width": 1100, "height": 760}}, lambda c: found(c, mock, port), "--device", "haply", "--address", f"127.0.0.1:{port}")
            else:
                print("live page: without mock_haply no device is lost and found")
            browser.close()
    finally:
        stop()
        mock.end()
    for line in failed:
        print(f"failed: {line}", file=sys.stderr)
    sys.exit(1 if failed else 0)


main()
