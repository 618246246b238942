#!/usr/bin/env python3
"""Opens pages that play recordings in a browser and checks that they do.

    python3 player.py PAGE.html... [--shots FOLDER]
    python3 player.py --try

Needs PyPI's playwright and a Chromium (CHROMIUM names it; /usr/bin/chromium otherwise). Pages come
from the example `player`, from `palpate drop`, `palpate soft` or `palpate touch`. Exit code 1 and a line for what failed. --try only
says whether the browser starts. `./test page` does all of this.
"""
import argparse
import os
import pathlib
import sys
import time

from playwright.sync_api import sync_playwright

FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--enable-unsafe-swiftshader"]
# Of a small copy of the view: how many colours, and a sum that moves when a pixel does.
LOOK = """() => {
  const c = document.createElement('canvas'), v = document.getElementById('view');
  c.width = 160; c.height = 100;
  const g = c.getContext('2d');
  // Drawn and read in one go: afterwards the browser forgets the pixels.
  player.draw();
  g.drawImage(v, 0, 0, 160, 100);
  const d = g.getImageData(0, 0, 160, 100).data, seen = new Set();
  let sum = 0;
  for (let i = 0; i < d.length; i += 4) { const k = d[i] << 16 | d[i + 1] << 8 | d[i + 2]; seen.add(k); sum = (sum * 31 + k) % 2147483647; }
  return [seen.size, sum];
}"""


def wait(page, condition, seconds=30):
    """Asks until it is true. By evaluate: the page's own policy forbids the driver's waiting, which makes code of text."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if page.evaluate(condition):
            return True
        time.sleep(0.05)
    return False


def settle(page):
    page.evaluate("() => new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")


def check(page, name, shots):
    said = []
    # Reading pixels back, which only this test does, makes the driver speak.
    page.on("console", lambda m: said.append(m.text) if m.type in ("error", "warning") and "ReadPixels" not in m.text else None)
    page.on("pageerror", lambda e: said.append(str(e)))
    page.on("request", lambda r: said.append("asks for " + r.url[:80]) if not r.url.startswith(("file:", "data:")) else None)
    page.goto(pathlib.Path(name).resolve().as_uri())
    if not wait(page, "!!window.player && !!document.getElementById('clock').textContent"):
        return ["the page does not start"] + said
    page.evaluate("player.halt(); player.seek(0)")
    settle(page)
    failed = []

    def expect(what, truth):
        if not truth:
            failed.append(what)

    colours, at_start = page.evaluate(LOOK)
    expect(f"the view is blank ({colours} colours)", colours > 60)
    seconds = page.evaluate("player.seconds")
    page.evaluate("t => { const s = document.getElementById('slider'); s.value = t; s.dispatchEvent(new Event('input')); }", seconds / 2)
    settle(page)
    expect("the slider does not set the time", abs(page.evaluate("player.state.time") - seconds / 2) < 0.02 * seconds + 1e-6)
    expect("the slider changes no pixel", page.evaluate(LOOK)[1] != at_start)
    if shots:
        page.screenshot(path=f"{shots}-middle.png", full_page=True)
    page.evaluate("player.seek(0)")
    settle(page)
    page.keyboard.press("Space")
    expect("space does not play", wait(page, "player.state.time > 0.05"))
    expect("playing does not move the slider", float(page.evaluate("document.getElementById('slider').value")) > 0)
    expect("playing changes no pixel", page.evaluate(LOOK)[1] != at_start)
    # A slow machine may have played a short motion to its end.
    page.evaluate("player.halt(); player.seek(player.seconds / 3)")
    before = page.evaluate("player.state.time")
    page.keyboard.press("ArrowRight")
    settle(page)
    expect("the right arrow does not step", page.evaluate("player.state.time") > before)
    # A chart dragged to three quarters, and the view turned.
    page.locator(".chart svg").first.scroll_into_view_if_needed()
    box = page.locator(".chart svg").first.bounding_box()
    page.mouse.move(box["x"] + 0.75 * box["width"], box["y"] + 40)
    page.mouse.down()
    page.mouse.up()
    settle(page)
    expect("a chart does not set the time", abs(page.evaluate("player.state.time") / seconds - 0.75) < 0.05)
    _, unturned = page.evaluate(LOOK)
    page.locator("#view").scroll_into_view_if_needed()
    view = page.locator("#view").bounding_box()
    page.mouse.move(view["x"] + 100, view["y"] + 100)
    page.mouse.down()
    page.mouse.move(view["x"] + 180, view["y"] + 130)
    page.mouse.up()
    settle(page)
    expect("dragging does not turn the view", page.evaluate(LOOK)[1] != unturned)
    if page.locator(".bodies input").count():
        _, shown = page.evaluate(LOOK)
        page.locator(".bodies input").first.uncheck()
        settle(page)
        expect("hiding a body changes no pixel", page.evaluate(LOOK)[1] != shown)
        page.locator(".bodies input").first.check()
    # A probe on a scan: its path is there and can be hidden.
    if page.evaluate("player.probe"):
        _, shown = page.evaluate(LOOK)
        page.locator(".bodies input").last.uncheck()
        settle(page)
        expect("hiding the path changes no pixel", page.evaluate(LOOK)[1] != shown)
        page.locator(".bodies input").last.check()
        said_of = page.locator("#touch").text_content()
        expect(f"no word of contact in \"{said_of}\"", any(w in said_of for w in ("free", "box", "pushed")))
    # Meshes that deform: the triangles that meet are coloured.
    if page.evaluate("player.coloured(0).length > 0"):
        page.evaluate("player.seek(player.seconds)")
        settle(page)
        expect("no triangle is coloured at the end", min(page.evaluate("player.coloured(player.frames - 1)")) > 0)
        _, coloured = page.evaluate(LOOK)
        page.locator(".bodies input").last.uncheck()
        settle(page)
        expect("no pixel of a triangle that meets is coloured", page.evaluate(LOOK)[1] != coloured)
        if shots:
            page.locator(".bodies input").last.check()
            page.screenshot(path=f"{shots}-end.png", full_page=True)
    expect("the page is wider than the window", page.evaluate("document.documentElement.scrollWidth <= innerWidth"))
    failed += [f"the browser says: {s}" for s in said]
    return failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("pages", nargs="*")
    parser.add_argument("--shots")
    parser.add_argument("--try", action="store_true", dest="only_try")
    args = parser.parse_args()
    if not args.pages and not args.only_try:
        parser.error("give a page, or --try")
    program = os.environ.get("CHROMIUM", "/usr/bin/chromium")
    failed = []
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=program, args=FLAGS)
        for name in args.pages:
            for kind, options in [
                ("wide", {"viewport": {"width": 1000, "height": 620}}),
                ("dark", {"viewport": {"width": 700, "height": 500}, "color_scheme": "dark"}),
                ("phone", {"viewport": {"width": 390, "height": 800}, "has_touch": True}),
            ]:
                context = browser.new_context(**options)
                shots = f"{args.shots}/{pathlib.Path(name).stem}-{kind}" if args.shots else None
                found = check(context.new_page(), name, shots)
                print(f"{name}, {kind}: {'; '.join(found) or 'plays'}")
                failed += found
                context.close()
            # Without WebGL2 the picture stays and the page says why.
            context = browser.new_context()
            page = context.new_page()
            page.add_init_script("HTMLCanvasElement.prototype.getContext = () => null")
            page.goto(pathlib.Path(name).resolve().as_uri())
            wait(page, "!!window.player")
            if not (page.locator("#note").is_visible() and page.locator("#still").is_visible()):
                failed.append("no word about missing WebGL2")
            context.close()
        browser.close()
    for line in failed:
        print(f"failed: {line}", file=sys.stderr)
    sys.exit(1 if failed else 0)


main()
