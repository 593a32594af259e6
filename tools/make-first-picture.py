#!/usr/bin/env python3
"""Makes the picture of the README from the project's own renderer: keypoints, tracks, disparities, a trajectory.

    tools/make-first-picture.py GLINT-SCENE GLINT-SERVER [FILE]

GLINT-SCENE   the program: build/dev/tests/scene/glint-scene
GLINT-SERVER  the program: build/dev/server/glint-server
FILE          where to write; default: docs/pictures/first.jpg

Needs the package glint and OpenCV's Python module.
"""
import pathlib
import queue
import subprocess
import sys
import tempfile

import cv2
import glint
import numpy as np

WIDTH, HEIGHT, FRAMES = 560, 420, 30
LINE, GAP = 30, 8  # of the captions, and between the pictures, pixels
SCENE = ("--layout", "room", "--motion", "walk", "--color")
LAP, PER_SECOND = 200, 20  # frames
BASELINE = 0.12  # metres
ORANGE, BLUE, GREY = (40, 140, 255), (200, 80, 20), (200, 200, 200)


def render(program, folder, frames, *options):
    """Left and right pictures."""
    size = ("--width", str(WIDTH), "--height", str(HEIGHT), "--frames", str(frames), "--baseline", str(BASELINE))
    command = [program, "--out", folder, "--stereo", *size, *options]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    names = [f"{i:06}.png" for i in range(frames)]
    return [[cv2.imread(str(pathlib.Path(folder, eye, name))) for name in names] for eye in ("", "right")]


def lap():
    """Times, positions (n, 3) and quaternions (n, 4) of a camera that looks ahead on its way round an oval."""
    turn = np.linspace(0, 2 * np.pi, LAP)
    zero = np.zeros(LAP)
    positions = np.stack([5 * (1 - np.cos(turn)), 0.1 * np.sin(5 * turn), 8 * np.sin(turn)], axis=1)
    yaw = np.unwrap(np.arctan2(5 * np.sin(turn), 8 * np.cos(turn)))
    return np.arange(LAP) / PER_SECOND, positions, np.stack([zero, np.sin(yaw / 2), zero, np.cos(yaw / 2)], axis=1)


def from_above(truth, path, points):
    """The map with the path that was found over the true one; x to the right, z up."""
    low, high = truth[:, [0, 2]].min(axis=0) - 4, truth[:, [0, 2]].max(axis=0) + 4
    scale = min(WIDTH / (high - low)[0], HEIGHT / (high - low)[1])
    corner = (low + high) / 2 - np.array([WIDTH, HEIGHT]) / 2 / scale

    def pixels(places):
        flat = (np.asarray(places)[:, [0, 2]] - corner) * scale
        return np.stack([flat[:, 0], HEIGHT - flat[:, 1]], axis=1).round().astype(np.int32)

    canvas = np.full((HEIGHT, WIDTH, 3), 255, np.uint8)
    for x, y in pixels(points):
        cv2.circle(canvas, (int(x), int(y)), 1, GREY, -1)
    cv2.polylines(canvas, [pixels(truth)], False, ORANGE, 5, cv2.LINE_AA)
    cv2.polylines(canvas, [pixels(path)], False, BLUE, 2, cv2.LINE_AA)
    cv2.line(canvas, (20, HEIGHT - 20), (20 + round(scale), HEIGHT - 20), (30, 30, 30), 2)
    cv2.putText(canvas, "1 m", (24, HEIGHT - 28), cv2.FONT_HERSHEY_DUPLEX, 0.45, (30, 30, 30), 1, cv2.LINE_AA)
    return canvas


def locate(client, scene, folder):
    """(caption, picture) of a lap round a world."""
    times, truth, rotations = lap()
    file = pathlib.Path(folder, "lap.txt")
    np.savetxt(file, np.column_stack([times, truth, rotations]), fmt="%.9f")
    lefts, rights = render(scene, f"{folder}/lap", LAP, "--trajectory", str(file))
    # The renderer's own default: a focal length of 0.9 widths, the centre in the middle.
    camera = glint.StereoCamera(WIDTH, HEIGHT, 0.9 * WIDTH, (WIDTH - 1) / 2, (HEIGHT - 1) / 2, BASELINE)
    items = [glint.LocalizePair(*pair, time_ns=int(t * 1e9)) for *pair, t in zip(lefts, rights, times)]
    path, points = [], []
    next_part = queue.SimpleQueue()  # of the map; the stream's own thread takes what to send

    def requests():
        yield from items
        while (start := next_part.get()) is not None:
            yield glint.GetMap(*start)

    next_part.put(())
    for result in client.localize_stream(requests(), camera):
        if result.frame_id < LAP:
            path.append(result.location.position)
            continue
        points.extend(result.map.points)
        next_part.put((result.map.next,) if result.map.next else None)
    path = np.array(path)
    error = np.sqrt(((path - truth) ** 2).sum(axis=1).mean())
    length = np.linalg.norm(np.diff(truth, axis=0), axis=1).sum()
    caption = f"localize: {length:.0f} m, {100 * error:.1f} cm from the truth (orange)"
    return caption, from_above(truth, path, points)


def panels(client, lefts, rights):
    """(caption, picture) of each other kind of result."""
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
        lefts, rights = render(scene, f"{folder}/walk", FRAMES, *SCENE)
        address = f"unix:{folder}/socket"
        process = subprocess.Popen([server, f"--listen={address}", "--backend=cpu", "--metrics-listen="])
        try:
            with glint.Client(address, wait=60) as client:
                found = [*panels(client, lefts, rights), locate(client, scene, folder)]
        finally:
            process.terminate()
            process.wait()
    grid = np.full((2 * (LINE + HEIGHT) + GAP, 2 * WIDTH + GAP, 3), 255, np.uint8)
    for i, panel in enumerate(found):
        y, x = i // 2 * (LINE + HEIGHT + GAP), i % 2 * (WIDTH + GAP)
        grid[y : y + LINE + HEIGHT, x : x + WIDTH] = with_caption(*panel)
    pathlib.Path(file).parent.mkdir(exist_ok=True)
    cv2.imwrite(str(file), grid, [cv2.IMWRITE_JPEG_QUALITY, 72])


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4) or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    default = pathlib.Path(__file__).parents[1] / "docs/pictures/first.jpg"
    main(*sys.argv[1:3], sys.argv[3] if len(sys.argv) == 4 else default)
