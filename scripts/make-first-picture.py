#!/usr/bin/env python3
"""Makes the picture of the README from a scene of the project's own renderer: keypoints, tracks, disparity.

    scripts/make-first-picture.py GLINT-SCENE GLINT-SERVER [FILE]

GLINT-SCENE   the program: build/dev/tests/scene/glint-scene
GLINT-SERVER  the program: build/dev/server/glint-server
FILE          where to write; default: docs/pictures/first.jpg

Needs the package glint and OpenCV's Python module.
"""
import pathlib
import subprocess
import sys
import tempfile

import cv2
import glint
import numpy as np

WIDTH, HEIGHT, FRAMES = 560, 420, 30
LINE = 30  # of the captions, pixels
SCENE = ("--layout", "room", "--motion", "walk", "--stereo", "--color")


def render(program, folder):
    """Left and right pictures of a walk through a room."""
    size = ("--width", str(WIDTH), "--height", str(HEIGHT), "--frames", str(FRAMES))
    subprocess.run([program, "--out", folder, *SCENE, *size], check=True, stdout=subprocess.DEVNULL)
    names = [f"{i:06}.png" for i in range(FRAMES)]
    return [[cv2.imread(str(pathlib.Path(folder, eye, name))) for name in names] for eye in ("", "right")]


def panels(client, lefts, rights):
    """(caption, picture) of each kind of result."""
    last = lefts[-1]
    found = client.detect(last, "pyca", levels=3, max_features=250)
    yield f"detect: {len(found)} keypoints", found.draw(last)
    trails = glint.Trails(length=FRAMES)
    for result in client.track_stream(lefts, target=250):
        trails.add(result.tracks)
    yield f"track: {len(trails)} tracks, {FRAMES} frames", trails.draw(last)
    (pair,) = client.stereo_stream([(last, rights[-1])], max_features=1500)
    yield f"stereo: {len(pair.matches)} disparities, near is red", pair.matches.draw(last)


def with_caption(text, picture):
    canvas = np.full((LINE + HEIGHT, WIDTH, 3), 255, np.uint8)
    canvas[LINE:] = picture
    cv2.putText(canvas, text, (4, LINE - 10), cv2.FONT_HERSHEY_DUPLEX, 0.55, (30, 30, 30), 1, cv2.LINE_AA)
    return canvas


def main(scene, server, file):
    with tempfile.TemporaryDirectory() as folder:
        lefts, rights = render(scene, folder)
        address = f"unix:{folder}/socket"
        process = subprocess.Popen([server, f"--listen={address}", "--backend=cpu", "--metrics-listen="])
        try:
            with glint.Client(address, wait=60) as client:
                columns = [with_caption(*panel) for panel in panels(client, lefts, rights)]
        finally:
            process.terminate()
            process.wait()
    gap = np.full((LINE + HEIGHT, 8, 3), 255, np.uint8)
    row = np.hstack([part for column in columns for part in (gap, column)][1:])
    pathlib.Path(file).parent.mkdir(exist_ok=True)
    cv2.imwrite(str(file), row, [cv2.IMWRITE_JPEG_QUALITY, 72])


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4) or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    default = pathlib.Path(__file__).parents[1] / "docs/pictures/first.jpg"
    main(*sys.argv[1:3], sys.argv[3] if len(sys.argv) == 4 else default)
