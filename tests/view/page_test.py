#!/usr/bin/env python3
"""page_test.py GLINT GLINT-SERVER GLINT-SCENE

The live view in a headless Chromium: it draws what the server finds, pauses, takes sliders, survives the server's end and
says what is wrong meanwhile; tracks, disparities and paths have pages, too. Skipped without Chromium.
"""
import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile

import devtools

PATIENCE = devtools.PATIENCE
SIZE = ("--width", "320", "--height", "240")
# Pixels of the picture that have the colour of a keypoint, and so are not of the grey picture below it.
COLOURED = """(() => {
  const canvas = document.getElementById('%s');
  const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
  let count = 0;
  for (let i = 0; i < data.length; i += 4) {
    if (Math.max(data[i], data[i + 1], data[i + 2]) - Math.min(data[i], data[i + 1], data[i + 2]) > 100) ++count;
  }
  return count;
})()"""
# Sum and number of different greys of a row in the middle, to see that there is a picture at all.
GREYS = """(() => {
  const canvas = document.getElementById('picture');
  const data = canvas.getContext('2d').getImageData(0, canvas.height / 2, canvas.width, 1).data;
  return new Set(data).size;
})()"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def server_at(program, port):
    process = subprocess.Popen([program, f"--listen=127.0.0.1:{port}", "--backend=cpu", "--lanes=1", "--metrics-listen="],
                               stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def view_of(*command):
    """A glint that shows something; yields the page's address and the process."""
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    try:
        said = iter(process.stderr.readline, "")  # warnings may come first
        found = next(filter(None, (re.search(r"live view at (http://\S+)", line) for line in said)), None)
        assert found, "it ended without an address"
        yield found.group(1), process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.stderr.close()
        process.wait(PATIENCE)


def click(browser, name):
    browser.value(f"document.getElementById('{name}').click()")


def move(browser, name, value):
    browser.value(f"(() => {{ const slider = document.getElementById('{name}'); slider.value = {value}; "
                  "slider.dispatchEvent(new Event('change')); })()")


NOTICE = "(document.getElementById('notice').hidden ? '' : document.getElementById('notice').textContent)"


def test_view(browser, glint, server, folder):
    port = free_port()
    command = (glint, "view", "--server", f"127.0.0.1:{port}", "--view", "127.0.0.1:0")
    with view_of(*command, folder) as (url, process):
        browser.open(url)
        browser.wait(f"{NOTICE}.includes('no server at 127.0.0.1:{port}')", "a notice without a server")
        assert "start glint-server" in browser.value(NOTICE)
        with server_at(server, port):
            browser.wait_frames(5)
            browser.wait(f"{NOTICE} === ''", "the notice goes")
            assert browser.value("document.getElementById('picture').width") == 320
            assert browser.value(GREYS) > 20, "no picture"
            many = browser.value(COLOURED % "picture")
            assert many > 500, f"{many} pixels of keypoints"
            assert "keypoints" in browser.value("document.getElementById('figures').textContent")
            assert browser.value(COLOURED % "chart") > 20, "no bars in the chart"
            assert "detect" in browser.value("document.getElementById('legend').textContent")

            click(browser, "pause")
            browser.wait("document.getElementById('pause').textContent === 'Go on'")
            browser.value("new Promise((done) => setTimeout(done, 500))")  # frames on their way
            before = browser.value("document.body.dataset.frames")
            browser.value("new Promise((done) => setTimeout(done, 1000))")
            assert browser.value("document.body.dataset.frames") == before, "it goes on though it is paused"
            move(browser, "features", 50)  # the picture comes again, with fewer keypoints
            browser.wait(f"document.body.dataset.frames > {before}", "the paused picture with new options")
            browser.wait(f"{COLOURED % 'picture'} < {many} / 2", "fewer keypoints")
            click(browser, "pause")
            browser.wait_frames(3)
        browser.wait(f"{NOTICE}.includes('no server')", "a notice when the server has gone")
        with server_at(server, port):
            browser.wait_frames(3)
            browser.wait(f"{NOTICE} === ''", "the notice goes again")
        process.send_signal(signal.SIGINT)
        browser.wait(f"{NOTICE}.includes('Not connected')", "a notice when glint has ended")
        assert process.wait(PATIENCE) == 130
    print("view: drawn, paused, changed, server ended and came back")


def test_others(browser, glint, folder):
    right = str(pathlib.Path(folder, "right"))
    calibration = str(pathlib.Path(folder, "..", "calib.txt"))
    common = ("--server", "inproc", "--backend", "cpu", "--view", "127.0.0.1:0")
    for command, element, least in (
            (("stream", *common, "--loop", folder), "picture", 500),
            (("track", *common, "--format", "none", folder), "picture", 200),
            (("stereo", *common, "--format", "none", folder, right), "picture", 200),
            (("localize", *common, "--format", "none", "--calibration", calibration, folder, right), "path", 20)):
        with view_of(glint, *command) as (url, process):
            browser.open(url)
            browser.wait(f"{COLOURED % element} > {least}", f"{command[0]}: pixels drawn")
            click(browser, "pause")
            browser.wait("document.getElementById('pause').textContent === 'Go on'")
            assert process.poll() is None, "ended while it was paused"
        print(f"{command[0]}: drawn")


def write_calibration(scene, folder):
    """As KITTI has it, of the renderer's camera."""
    with tempfile.TemporaryDirectory() as one:
        subprocess.run([scene, "--out", one, "--layout", "room", *SIZE, "--frames", "1", "--truth"], check=True,
                       stdout=subprocess.DEVNULL)
        (truth,) = pathlib.Path(one).glob("truth/*.json")
        camera = json.loads(truth.read_text())
    left = [camera["focal"], 0, camera["cx"], 0, 0, camera["focal"], camera["cy"], 0, 0, 0, 1, 0]
    right = [*left[:3], -camera["focal"] * camera["baseline"], *left[4:]]
    rows = (f"P{eye}: " + " ".join(map(str, numbers)) for eye, numbers in enumerate((left, right)))
    pathlib.Path(folder, "calib.txt").write_text("\n".join(rows) + "\n")


def make_longer(folder, there_and_back):
    """Links to the pictures of a folder, there and back again, so that a command is still at it when a page looks."""
    for eye in ("", "right"):
        long = pathlib.Path(folder, "long", eye)
        long.mkdir(parents=True, exist_ok=True)
        pictures = sorted(pathlib.Path(folder, eye).glob("*.png"))
        pictures = (pictures + pictures[-2:0:-1]) * there_and_back
        for i, picture in enumerate(pictures):
            (long / f"{i:06}.png").symlink_to(picture)
    return str(long.parent)


def test_port_in_use(glint, folder):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = subprocess.run([glint, "view", "--server", "inproc", "--view", address, folder], capture_output=True,
                              text=True, timeout=PATIENCE)
    assert done.returncode == 2, done
    assert f"another program listens at {address}; give another port" in done.stderr, done.stderr


def main(glint, server, scene):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([scene, "--out", folder, "--layout", "room", "--motion", "walk", "--stereo", *SIZE, "--frames", "90"], check=True, stdout=subprocess.DEVNULL)
        test_port_in_use(glint, folder)
        if devtools.chromium() is None:
            print("GLINT_SKIP_ALL: chromium is not installed")
            return
        with devtools.Browser() as browser:
            test_view(browser, glint, server, folder)
            write_calibration(scene, folder)
            test_others(browser, glint, make_longer(folder, 40))
            mine = [p for p in browser.problems if "WebSocket" not in str(p) and "ERR_CONNECTION" not in str(p)]
            assert not mine, mine
    print("the page works")


if __name__ == "__main__":
    main(*(os.path.abspath(program) for program in sys.argv[1:4]))
