#!/usr/bin/env python3
"""retry_test.py GLINT-SERVER GLINT

`glint stream --retry` over a server that is killed and one that drains: each frame is in the output once, in order. Without
--retry the command ends, and says so by its exit status.
"""

import json
import os
import subprocess
import sys
import tempfile
import time

from stack import PATIENCE, Server, wait_for, write_png

FRAMES = 400


def stream(server, folder, output, *more):
    return subprocess.Popen([server.glint, "stream", "--server", server.address, "--format", "json", "--output", output,
                             "--in-flight", "4", *more, folder], stdout=subprocess.DEVNULL)


def lines(path):
    try:
        with open(path) as f:
            return f.read().splitlines()
    except FileNotFoundError:
        return []


def main():
    with tempfile.TemporaryDirectory() as work:
        pictures, output = os.path.join(work, "pictures"), os.path.join(work, "output")
        os.mkdir(pictures)
        for i in range(5):
            write_png(f"{pictures}/{i}.png", 640, 480, i)
        with Server(*sys.argv[1:3], ["--backend", "cpu", "--lanes", "1"]) as server:
            patient = stream(server, pictures, output, "--retry", str(PATIENCE), "--loop", "--max-frames", str(FRAMES))
            wait_for("frames are written", lambda: len(lines(output)) > 20)
            server.kill()
            time.sleep(0.5)
            server.start()
            before = len(lines(output))
            wait_for("more frames are written", lambda: len(lines(output)) > min(before + 20, FRAMES - 1))
            assert server.stop() == 0
            server.start()
            assert patient.wait(timeout=PATIENCE) == 0
            names = [os.path.basename(json.loads(line)["image"]) for line in lines(output)]
            assert names == [f"{i % 5}.png" for i in range(FRAMES)], f"{len(names)} frames, or another order"
            print(f"{FRAMES} frames over three servers, each once")

            hasty = stream(server, pictures, os.path.join(work, "hasty"), "--loop")
            wait_for("frames are written", lambda: len(lines(os.path.join(work, "hasty"))) > 5)
            server.kill()
            assert hasty.wait(timeout=PATIENCE) == 69
            print("without --retry it ends with status 69")


if __name__ == "__main__":
    main()
