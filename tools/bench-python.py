#!/usr/bin/env python3
"""Frames per second of the Python client beside the C++ client, and Python's own time for a frame.

    tools/bench-python.py [--build DIR] [--package DIR] [--seconds N] [--rounds N]

--build    a build tree with glint-server and glint; default: build/release
--package  the built package; default: DIR/tests/python/package/lib, which python_test leaves behind
--seconds  of each measurement; default 4
--rounds   measurements of each client, in turns; default 3; the best of each counts

One CPU lane, 1920x1080 grey, preset orb with 2000 features and descriptors, 4 frames in flight. Then 2000 descriptors
with 2000, with cross check: glint.Client.match(), glint.BFMatcher and cv2.BFMatcher in turns.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

ARGUMENTS = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
ARGUMENTS.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/release"))
ARGUMENTS.add_argument("--package", type=pathlib.Path)
ARGUMENTS.add_argument("--seconds", type=int, default=4)
ARGUMENTS.add_argument("--rounds", type=int, default=3)
arguments = ARGUMENTS.parse_args()
sys.path.insert(0, str(arguments.package or arguments.build / "tests/python/package/lib"))
import numpy as np  # noqa: E402

import glint  # noqa: E402
from glint import matching_messages, wire  # noqa: E402

WIDTH, HEIGHT, FEATURES, WINDOW = 1920, 1080, 2000, 4


def picture():
    random = np.random.default_rng(1)
    image = np.full((HEIGHT, WIDTH), 90, np.uint8)
    for _ in range(4000):
        x, y = random.integers(0, WIDTH - 8), random.integers(0, HEIGHT - 8)
        image[y : y + random.integers(5, 60), x : x + random.integers(5, 60)] = random.integers(0, 255)
    return image


def rate(client, image, memory=None):
    def frames():
        until = time.perf_counter() + arguments.seconds
        while time.perf_counter() < until:
            if memory is None:
                yield image
                continue
            slot = memory.acquire()
            slot.array(image.shape)[:] = image
            yield glint.Shared(slot, WIDTH, HEIGHT)

    begun = time.perf_counter()
    answered = 0
    for result in client.stream(frames(), window=WINDOW, max_features=FEATURES, descriptor="rbrief"):
        answered += len(result.features) >= FEATURES
    return answered / (time.perf_counter() - begun)


def peer(address, file, *flags):
    """Frames per second of `glint bench` with the same picture, options and window."""
    command = [arguments.build / "client/glint", "bench", "--server", address, file, "--streams=1"]
    command += [f"--in-flight={WINDOW}", f"--features={FEATURES}", "--descriptors", f"--duration={arguments.seconds}"]
    report = subprocess.run([*command, "--json", *flags], check=True, capture_output=True, text=True)
    return json.loads(report.stdout)["server"]["frames_per_s"]


def own_time(call, count):
    times = []
    for _ in range(count):
        begun = time.thread_time_ns()
        call()
        times.append(time.thread_time_ns() - begun)
    return sorted(times)[count // 2] / 1000


def matching(client, stub):
    """Milliseconds of matching in three ways, the best of each, and Python's own time for a call."""
    import cv2

    one, two = np.random.default_rng(1).integers(0, 256, (2, FEATURES, 32), np.uint8)
    ours, theirs = glint.BFMatcher(crossCheck=True, client=client), cv2.BFMatcher(cv2.NORM_HAMMING, crossCheck=True)
    best = {}
    for _ in range(5):
        for name, call in (
            ("Client.match", lambda: client.match(one, two, cross_check=True)),
            ("glint.BFMatcher", lambda: ours.match(one, two)),
            ("cv2.BFMatcher", lambda: theirs.match(one, two)),
        ):
            for _ in range(4):
                begun = time.perf_counter()
                call()
                best[name] = min(best.get(name, 1e9), 1000 * (time.perf_counter() - begun))
    print("matching:", ", ".join(f"{name} {ms:.2f} ms" for name, ms in best.items()))
    options = matching_messages.pb.MatchOptions()
    request = matching_messages.match_request(glint.detector(), options, one, two)
    answer = stub(request)
    making = own_time(lambda: matching_messages.match_request(glint.detector(), options, one, two), 200)
    reading = own_time(lambda: matching_messages.parse_match(answer, one, two), 500)
    matches = len(matching_messages.parse_match(answer, one, two))
    print(f"own time: answer of {matches} matches {reading:.0f} us, request {making:.0f} us")


def main():
    with tempfile.TemporaryDirectory() as folder:
        address, tcp = f"unix:{folder}/socket", "127.0.0.1:50098"
        command = [arguments.build / "server/glint-server", f"--listen={address},{tcp}", "--metrics-listen="]
        command += ["--backend=cpu", "--lanes=1", "--shared-memory"]
        server = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            image, file = picture(), pathlib.Path(folder) / "picture.pgm"
            file.write_bytes(f"P5 {WIDTH} {HEIGHT} 255\n".encode() + image.tobytes())
            near, far = glint.Client(address, wait=60), glint.Client(tcp, wait=60)
            best = {"tcp": [0, 0], "shared memory": [0, 0]}
            with near.share_memory(WINDOW + 1, image.size) as memory:
                for _ in range(arguments.rounds):
                    for name, python, cpp in (
                        ("tcp", (far, image), (tcp, file)),
                        ("shared memory", (near, image, memory), (address, file, "--shared-memory")),
                    ):
                        best[name] = [max(best[name][0], rate(*python)), max(best[name][1], peer(*cpp))]
            for name, (python, cpp) in best.items():
                print(f"{name}: Python {python:.1f} frames/s, C++ {cpp:.1f}, ratio {python / cpp:.2f}")
            stub = glint.Client(address)._channel.unary_unary("/glint.v1.FeatureDetection/Detect")
            options = glint.detector("orb", max_features=FEATURES, descriptor="rbrief")
            answer = stub(wire.detect_request(options, image))
            found = wire.parse_detect(answer)
            parsing = own_time(lambda: wire.parse_detect(answer), 500)
            making = own_time(lambda: wire.stream_frame(1, image), 100)
            print(f"own time: answer of {len(found)} keypoints {parsing:.0f} us, frame over TCP {making:.0f} us")
            matching(near, near._channel.unary_unary("/glint.v1.FeatureMatching/Match"))
        finally:
            server.terminate()
            server.wait()


main()
