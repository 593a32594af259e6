"""The notebook of docs/examples: its cells give the text that stands in it, and its pictures are the renderer's."""
import base64
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import numpy as np

from support import Server

try:
    import cv2
except ImportError:
    cv2 = None

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "docs" / "examples" / "matching.ipynb"
LIMIT_BYTES = 100_000


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem.replace("-", "_"), path)
    module = importlib.util.module_from_spec(spec)
    with mock.patch.object(sys, "dont_write_bytecode", True):
        spec.loader.exec_module(module)
    return module


runner = load(ROOT / "tools" / "run-notebook.py")


class CellTest(unittest.TestCase):
    def test_outputs_of_a_cell(self):
        space = {}
        outputs = runner.run_cell("x = 2\nprint('two')\nx + 1", space, 7)
        self.assertEqual(runner.text_of(outputs), ([["two\n"], ["3"]], [False, False]))
        self.assertEqual(runner.run_cell("x += 1", space, 8), [])
        with self.assertRaises(NameError):
            runner.run_cell("y", space, 9)

    def test_changes_are_found(self):
        source = '{"cell_type": "code", "source": ["1 + 1"], "outputs": [%s]}'
        old = '{"output_type": "execute_result", "data": {"text/plain": ["%d"]}}'
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "one.ipynb")
            for value, changes in ((2, 0), (3, 1)):
                path.write_text('{"cells": [%s]}' % (source % (old % value)))
                self.assertEqual(len(runner.run(path)[1]), changes)


@unittest.skipIf(cv2 is None, "python3-opencv is not installed")
class NotebookTest(unittest.TestCase):
    def test_the_text_is_that_of_today(self):
        server = Server()
        try:
            with mock.patch.dict(os.environ, {"GLINT_SERVER": server.address}):
                notebook, changes = runner.run(NOTEBOOK)
        finally:
            server.stop()
        self.assertEqual(changes, [])
        pictures = [o["data"]["image/jpeg"] for c in notebook["cells"] for o in c.get("outputs", []) if "data" in o]
        self.assertEqual(len(pictures), 3)
        shapes = [cv2.imdecode(np.frombuffer(base64.b64decode(p), np.uint8), 1).shape for p in pictures]
        self.assertEqual(shapes, [(240, 320, 3), (240, 640, 3), (240, 320, 3)])
        stored = sum(len(base64.b64decode(p)) for p in pictures) + sum(p.stat().st_size for p in self.inputs())
        self.assertLess(stored, LIMIT_BYTES)

    @staticmethod
    def inputs():
        return sorted(NOTEBOOK.parent.glob("*.jpg"))

    @unittest.skipUnless("GLINT_SCENE_TOOL" in os.environ, "GLINT_SCENE_TOOL is not set")
    def test_the_pictures_are_rendered(self):
        script = ROOT / "tools" / "make-example-pictures.py"
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, script, os.environ["GLINT_SCENE_TOOL"], folder], check=True)
            names = sorted(p.name for p in pathlib.Path(folder).iterdir())
            self.assertEqual([p.name for p in self.inputs()], names)
            for path in self.inputs():
                one, other = (cv2.imread(str(p), cv2.IMREAD_GRAYSCALE) for p in (path, pathlib.Path(folder, path.name)))
                self.assertLess(cv2.absdiff(one, other).mean(), 2, path.name)


if __name__ == "__main__":
    unittest.main()
