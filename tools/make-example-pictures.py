#!/usr/bin/env python3
"""Makes the pictures of docs/examples from scenes of the project's own renderer.

    tools/make-example-pictures.py GLINT-SCENE [FOLDER]

GLINT-SCENE  the program: build/dev/tests/scene/glint-scene
FOLDER       where to write; default: docs/examples

Needs OpenCV's Python module. The notebook there has the scenes' numbers: turn, focal length, baseline.
"""
import pathlib
import subprocess
import sys
import tempfile

import cv2

SIZE = ("--width", "320", "--height", "240")
# Flags of the renderer, and which of its pictures are called what.
SCENES = (
    (("--layout", "room", "--stereo", "--frames", "1"), {"000000.png": "left", "right/000000.png": "right"}),
    (("--layout", "plane", "--motion", "roll", "--frames", "9"), {"000000.png": "wall", "000008.png": "wall-turned"}),
)


def main(program, folder):
    for flags, names in SCENES:
        with tempfile.TemporaryDirectory() as scene:
            subprocess.run([program, "--out", scene, *SIZE, *flags], check=True)
            for source, name in names.items():
                picture = cv2.imread(str(pathlib.Path(scene, source)), cv2.IMREAD_GRAYSCALE)
                cv2.imwrite(str(pathlib.Path(folder, name + ".jpg")), picture, [cv2.IMWRITE_JPEG_QUALITY, 60])


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3) or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2] if len(sys.argv) == 3 else pathlib.Path(__file__).parent.parent / "docs/examples")
