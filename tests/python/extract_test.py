"""python -m glint.extract against a real server: alone, killed, and on a Dask cluster that loses a worker."""
import contextlib
import io
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

import numpy as np

import glint
from glint import extract, extraction, extraction_files
from glint.names import path_of, text_of
from support import Server, picture

try:
    import cv2
    import h5py
except ImportError:
    h5py = None
try:
    import distributed
except ImportError:
    distributed = None

IMAGES, PATIENCE = 60, 120


def setUpModule():
    global server, photos, folder
    if h5py is None:
        raise unittest.SkipTest("python3-h5py or python3-opencv is not installed")
    server = Server()
    folder = tempfile.TemporaryDirectory()
    photos = pathlib.Path(folder.name, "photos")
    (photos / "more").mkdir(parents=True)
    for i in range(IMAGES):
        suffix = ("png", "jpg", "pgm")[i % 3]
        cv2.imwrite(str(photos / ("more" if i % 2 else "") / f"{i:03}.{suffix}"), picture(i))


def tearDownModule():
    server.stop()
    folder.cleanup()


def command(output, *more):
    options = ("--chunk=4", "--set=max_features=200")
    return [str(photos), f"--output={output}", f"--server={server.address}", *options, *more]


def run(*arguments):
    """Exit status and what was said."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        status = extract.main(list(map(str, arguments)))
    return status, said.getvalue()


def start(*arguments):
    return subprocess.Popen([sys.executable, "-m", "glint.extract", *arguments], stderr=subprocess.PIPE, text=True)


def wait_for(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.01)


def parts(output):
    return list(pathlib.Path(f"{output}.parts").glob("*.npz"))


class AloneTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.output = pathlib.Path(self.folder.name, "features.h5")

    def test_hloc_s_layout(self):
        status, said = run(*command(self.output))
        self.assertEqual(status, 0, said)
        self.assertRegex(said, r"15/15 chunks, [\d.]+ images/s, 0 s left\n")
        self.assertFalse(parts(self.output))
        with h5py.File(self.output) as file, glint.Client(server.address) as client:
            names = []
            file.visititems(lambda name, item: names.append(name))
            paths = [p for p in photos.rglob("*") if p.is_file()]
            names = [name[: -len("/scores")] for name in names if name.endswith("/scores")]
            self.assertEqual(sorted(names), sorted(str(p.relative_to(photos)) for p in paths))
            for path in paths[:7]:
                image = path.read_bytes() if path.suffix != ".pgm" else cv2.imread(str(path), cv2.IMREAD_UNCHANGED)
                want = client.detect(image, max_features=200)
                group = file[str(path.relative_to(photos))]
                self.assertEqual(group["keypoints"][()].tolist(), want.points.tolist())
                self.assertEqual(group["scores"][()].tolist(), want.response.tolist())
                self.assertEqual(group["descriptors"][()].tolist(), want.descriptors.T.tolist())
                self.assertEqual(group["image_size"][()].tolist(), [320, 240])

    def test_killed_and_started_again(self):
        whole = pathlib.Path(self.folder.name, "whole.h5")
        self.assertEqual(run(*command(whole))[0], 0)
        process = start(*command(self.output))
        try:
            wait_for(lambda: len(parts(self.output)) >= 3 or process.poll() is not None)
        finally:
            process.kill()
            process.communicate()
        self.assertFalse(self.output.exists())
        before = {p: p.stat().st_mtime_ns for p in parts(self.output)}
        self.assertGreaterEqual(len(before), 3)
        done = []
        work = extraction.extract
        with mock.patch.object(extraction, "extract", lambda c, w: done.append(c) or work(c, w)):
            status, said = run(*command(self.output))
        self.assertEqual((status, len(done)), (0, 15 - len(before)), said)
        self.assertIn(f"{len(before)} of 15 chunks are finished already", said)
        self.assertEqual(self.output.read_bytes(), whole.read_bytes())

    def test_a_damaged_chunk_is_found(self):
        output = self.output
        with mock.patch.object(extraction_files.Merger, "finish", side_effect=OSError("disk full")):
            self.assertEqual(run(*command(output))[0], 1)
        self.assertFalse(output.exists())
        parts(output)[3].write_bytes(parts(output)[3].read_bytes()[:-400])
        status, said = run(*command(output))
        self.assertEqual(status, 1)
        self.assertIn("damaged", said)
        self.assertEqual(run(*command(output))[0], 0)

    def test_errors_by_file(self):
        bad = pathlib.Path(self.folder.name, "bad")
        bad.mkdir()
        cv2.imwrite(str(bad / "good.png"), picture())
        (bad / "empty.jpg").write_bytes(b"")
        (bad / "text.png").write_bytes(b"no picture")
        (bad / "short.png").write_bytes((bad / "good.png").read_bytes()[:2000])
        cv2.imwrite(str(bad / "float.tiff"), picture().astype(np.float32))
        (bad / "broken.mp4").write_bytes(b"no video")
        (bad / "two.pgm").write_bytes((b"P5 64 48 255\n" + bytes(64 * 48)) * 2)
        (bad / "readme.txt").write_text("is passed over")
        status, said = run(bad, f"--output={self.output}", f"--server={server.address}")
        self.assertEqual(status, 1)
        failed = [line.split(":")[0] for line in said.splitlines() if ": " in line]
        self.assertEqual(failed, ["glint.extract", "broken.mp4", "empty.jpg", "float.tiff", "short.png", "text.png",
                                  "two.pgm", "glint.extract"])
        self.assertIn("glint.extract: no pictures or videos by their names, left out: readme.txt\n", said)
        self.assertIn("two.pgm: has 2 pictures (PNM), of which the first alone would be read", said)
        self.assertIn("6 files failed", said)
        with h5py.File(self.output) as file:
            self.assertEqual(list(file), ["good.png"])

    def test_names_need_not_be_utf8(self):
        odd, png = pathlib.Path(self.folder.name, "odd"), cv2.imencode(".png", picture(3))[1].tobytes()
        odd.mkdir()
        names = {b"a.png": "a.png", "gr\u00fcn.png".encode(): "gr\u00fcn.png", b"gr\xfcn.png": r"gr\xfcn.png",
                 rb"gr\xfcn.png": r"gr\x5cxfcn.png"}
        for name in names:
            (odd / os.fsdecode(name)).write_bytes(png)
        (odd / os.fsdecode(b"stra\xdfe.png")).write_bytes(b"no picture")
        writer = cv2.VideoWriter(f"{self.folder.name}/plain.avi", cv2.VideoWriter_fourcc(*"MJPG"), 10, (320, 240))
        for i in range(3):
            writer.write(np.stack([picture(i)] * 3, axis=2))
        writer.release()
        os.rename(f"{self.folder.name}/plain.avi", odd / os.fsdecode(b"fahrt\xe4.avi"))
        arguments = (odd, f"--output={self.output}", f"--server={server.address}", "--chunk=2")
        with mock.patch.object(extraction_files.Merger, "finish", side_effect=OSError("interrupted")):
            self.assertEqual(run(*arguments)[0], 1)
        status, said = run(*arguments)
        self.assertEqual(status, 1)
        self.assertIn("5 of 5 chunks are finished already", said)
        self.assertRegex(said, r"(?m)^stra\\xdfe\.png: ")
        self.assertIn("1 files failed", said)
        with h5py.File(self.output) as file:
            self.assertEqual(sorted(file), sorted([*names.values(), r"fahrt\xe4.avi"]))
            self.assertEqual(list(file[r"fahrt\xe4.avi"]), ["000000", "000001", "000002"])
        for name, text in names.items():
            self.assertEqual((text_of(os.fsdecode(name)), path_of(text)), (text, os.fsdecode(name)))

    def test_an_output_that_cannot_be_written(self):
        afile = pathlib.Path(self.folder.name, "afile")
        afile.write_bytes(b"")
        status, said = run(photos, f"--output={afile}/features.h5", f"--server={server.address}")
        self.assertEqual(status, 74)
        self.assertIn(f"{afile}/features.h5.parts: cannot be written: ", said)
        # In a process that may write files of so many bytes: a chunk has more, or the output alone.
        for limit in (1000, 40000):
            limited = [sys.executable, "-c", "import resource, signal, sys; from glint import extract; "
                       "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
                       f"resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit})); "
                       "sys.exit(extract.main(sys.argv[1:]))", *command(self.output), "--chunk=2"]
            done = subprocess.run(limited, capture_output=True, text=True, timeout=PATIENCE, check=False)
            self.assertEqual(done.returncode, 74, done.stderr)
            self.assertIn(f"{self.output}.parts", done.stderr)
            self.assertIn("cannot be written: ", done.stderr)
            self.assertNotIn("Traceback", done.stderr)
            self.assertFalse(self.output.exists())
        status, said = run(*command(self.output), "--chunk=2")
        self.assertEqual(status, 0, said)

    def test_files_are_what_is_in_them(self):
        photos, grey = pathlib.Path(self.folder.name, "names"), picture(5)
        colour = np.stack([grey, grey[::-1], grey], axis=2)
        coded = {kind: cv2.imencode(kind, grey, [cv2.IMWRITE_WEBP_QUALITY, 101] if kind == ".webp" else [])[1].tobytes()
                 for kind in (".jpg", ".png", ".webp", ".bmp")}
        deep = cv2.imencode(".tiff", colour.astype(np.uint16) * 257)[1].tobytes()
        jpeg = coded[".jpg"]  # its first segment ends at 20
        files = {"bmp.jpg": coded[".bmp"], "fill.jpg": jpeg[:20] + b"\0\x17" + jpeg[20:], "jpeg.png": jpeg,
                 "no-end.jpg": jpeg[:-2], "no-end-zeros.jpg": jpeg[:-2] + bytes(64), "png.jpg": coded[".png"],
                 "rgb16.tiff": deep, "stray.jpg": jpeg[:-2] + b"\0\x17\x2a" + jpeg[-2:], "webp.jpg": coded[".webp"],
                 "zeros.jpg": jpeg + bytes(64), "._zeros.jpg": b"\0\5\x16\7", ".hidden/a.png": coded[".png"]}
        (photos / ".hidden").mkdir(parents=True)
        for name, data in files.items():
            (photos / name).write_bytes(data)
        status, said = run(photos, f"--output={self.output}", f"--server={server.address}")
        self.assertEqual(status, 0, said)
        self.assertEqual([line.split(":")[0] for line in said.splitlines() if ": warning: " in line],
                         ["no-end-zeros.jpg", "no-end.jpg"])
        grey_of_deep = cv2.imdecode(np.frombuffer(deep, np.uint8), cv2.IMREAD_GRAYSCALE)
        with h5py.File(self.output) as file, glint.Client(server.address) as client:
            self.assertEqual(sorted(file), sorted(name for name in files if not name.startswith(".")))
            for name in file:
                image = grey_of_deep if name == "rgb16.tiff" else grey
                if jpeg[:500] in files[name] or name == "fill.jpg" or "no-end" in name:
                    image = jpeg
                self.assertEqual(file[name]["keypoints"][()].tolist(), client.detect(image).points.tolist(), name)
        (photos / "half.jpg").write_bytes(jpeg[: len(jpeg) // 2])
        status, said = run(photos, f"--output={self.output}", f"--server={server.address}", "--overwrite")
        self.assertEqual(status, 1)
        self.assertIn("half.jpg: ", said)
        self.assertIn("1 files failed", said)

    def test_ranges_of_sixteen_bits(self):
        photos, grey = pathlib.Path(self.folder.name, "deep"), picture(6)
        photos.mkdir()
        deep = ((grey.astype(np.uint32) * 4095 + 127) // 255).astype(np.uint16)
        for name in ("a.png", "b.tiff"):
            cv2.imwrite(str(photos / name), deep)
        given = (photos, f"--output={self.output}", f"--server={server.address}")
        status, said = run(*given)
        self.assertEqual(status, 0, said)
        for name in ("a.png", "b.tiff"):
            self.assertRegex(said, f"{name}: warning: .*narrow range")
        status, said = run(*given, "--overwrite", "--range=0..4095")
        self.assertEqual(status, 0, said)
        self.assertNotIn("warning", said)
        with h5py.File(self.output) as file, glint.Client(server.address) as client:
            want = client.detect(grey).points.tolist()
            for name in file:
                self.assertEqual(file[name]["keypoints"][()].tolist(), want, name)

    def test_videos(self):
        video = pathlib.Path(self.folder.name, "drive.avi")
        writer = cv2.VideoWriter(str(video), cv2.VideoWriter_fourcc(*"MJPG"), 10, (320, 240))
        for i in range(11):
            writer.write(np.stack([picture(i)] * 3, axis=2))
        writer.release()
        capture = cv2.VideoCapture(str(video))
        with glint.Client(server.address) as client:
            want = [client.detect(capture.read()[1]).points.tolist() for _ in range(11)]
        for size in (4, 50):
            more = (f"--chunk={size}", "--overwrite")
            status, said = run(video, f"--output={self.output}", f"--server={server.address}", *more)
            self.assertEqual(status, 0, said)
            with h5py.File(self.output) as file:
                self.assertEqual(list(file["drive.avi"]), [f"{i:06}" for i in range(11)])
                found = [group["keypoints"][()].tolist() for group in file["drive.avi"].values()]
            self.assertEqual(found, want)
            self.assertNotIn("warning", said.replace("GStreamer warning", ""))
        video.write_bytes(video.read_bytes()[: video.stat().st_size // 2])
        status, said = run(video, f"--output={self.output}", f"--server={server.address}", "--overwrite")
        with h5py.File(self.output) as file:
            left = len(file["drive.avi"])
        self.assertRegex(said, rf"drive.avi: warning: ends at frame {left}, and says that it has 11: ")

    def test_wrong_arguments(self):
        good = [photos, f"--output={self.output}", f"--server={server.address}"]
        taken = pathlib.Path(self.folder.name, "taken.h5")
        taken.write_bytes(b"")
        for text, arguments in (
            ('source: "/nowhere" is not there', ["/nowhere", *good[1:]]),
            ("has no picture or video", [self.folder.name, *good[1:]]),
            ('source: "000.png" is in two sources', [*good, photos / "000.png"]),
            ('--set: "levels" is not', [*good, "--set=levels"]),
            ("lvels: not a field", [*good, "--set=lvels=3"]),
            ("levels: 13 is not in 1..12", [*good, "--set=levels=13"]),
            ("--chunk: 0 is not in", [*good, "--chunk=0"]),
            ('--range: "4095" is not LOW..HIGH', [*good, "--range=4095"]),
            ("gray_range.highest: 7 is not in 8..65535", [*good, "--range=7..7"]),
            ('taken.h5" is there already', [photos, f"--output={taken}"]),
            ("is no file", [photos, "--output=/dev/full", "--overwrite"]),
        ):
            status, said = run(*arguments)
            self.assertEqual(status, 2, said)
            self.assertIn(text, said)
        status, said = run(photos, f"--output={self.output}", "--server=127.0.0.1:1")
        self.assertEqual(status, 1)
        self.assertIn("no Glint server answers at 127.0.0.1:1", said)


class PackTest(unittest.TestCase):
    def test_is_unpacked_as_it_was(self):
        arrays = {"a\nb": {"x": np.arange(6, dtype=np.float32).reshape(2, 3), "empty": np.zeros((4, 0), np.uint8)}, "c": {}}
        arrays["d"] = {"n": np.array([3, 4])}
        found = extraction.Found(arrays=arrays, errors={"e": "no picture"}, warnings={"d": "cut off"})
        packed = found.pack()
        again = extraction.Found.unpack(packed)
        self.assertEqual((again.errors, again.warnings), (found.errors, found.warnings))
        self.assertEqual(sorted(again.arrays), ["a\nb", "d"])
        for image in again.arrays:
            for name, array in found.arrays[image].items():
                self.assertEqual(again.arrays[image][name].dtype, array.dtype)
                self.assertEqual(again.arrays[image][name].tolist(), array.tolist())
        damaged = bytearray(packed)
        damaged[len(packed) // 2] ^= 1
        for wrong in (b"", packed[:100], packed[:-50], bytes(damaged)):
            with self.assertRaises(ValueError):
                extraction.Found.unpack(wrong)


class ServerAwayTest(unittest.TestCase):
    def test_a_restart_in_the_middle_is_waited_for(self):
        mortal = Server()
        with tempfile.TemporaryDirectory() as out:
            output = pathlib.Path(out, "features.h5")
            arguments = [str(photos), f"--output={output}", f"--server={mortal.address}", "--chunk=4"]
            process = start(*arguments)
            wait_for(lambda: len(parts(output)) >= 2 or process.poll() is not None)
            mortal.kill()
            mortal.path.unlink(missing_ok=True)
            time.sleep(0.5)
            mortal.start()
            said = process.communicate(timeout=PATIENCE)[1]
            mortal.stop()
            self.assertEqual(process.returncode, 0, said)
            with h5py.File(output) as file:
                self.assertEqual(len(file) - 1 + len(file["more"]), IMAGES)


@unittest.skipIf(distributed is None, "Dask's distributed is not installed")
class ClusterTest(unittest.TestCase):
    def worker(self, name):
        environment = {**os.environ, "GLINT_SERVER": server.address}
        command = [sys.executable, "-m", "distributed.cli.dask_worker", "--scheduler-file", self.file, "--name", name]
        more = ["--nthreads=1", "--no-nanny", "--no-dashboard", f"--local-directory={self.folder.name}"]
        process = subprocess.Popen([*command, *more], env=environment, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def test_three_workers_one_of_which_is_killed(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.file = f"{self.folder.name}/scheduler.json"
        command_line = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port=0", "--no-dashboard"]
        scheduler = subprocess.Popen([*command_line, "--scheduler-file", self.file], stderr=subprocess.DEVNULL)
        self.addCleanup(scheduler.wait)
        self.addCleanup(scheduler.kill)
        wait_for(lambda: os.path.exists(self.file))
        workers = [self.worker(str(i)) for i in range(3)]
        with distributed.Client(scheduler_file=self.file) as cluster:
            address = cluster.scheduler.address
            cluster.wait_for_workers(3, timeout=PATIENCE)
            alone, spread = (pathlib.Path(self.folder.name, f"{name}.h5") for name in ("alone", "spread"))
            self.assertEqual(run(*command(alone))[0], 0)
            arguments = [a for a in command(spread, f"--scheduler={address}") if not a.startswith("--server")]
            process = start(*arguments)
            wait_for(lambda: len(parts(spread)) >= 2 or process.poll() is not None)
            workers[0].send_signal(signal.SIGKILL)
            said = process.communicate(timeout=PATIENCE)[1]
            self.assertEqual(process.returncode, 0, said)
            self.assertEqual(len(cluster.scheduler_info()["workers"]), 2)
        self.assertEqual(spread.read_bytes(), alone.read_bytes())

    def test_no_scheduler(self):
        soon = mock.patch.dict(os.environ, DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT="1")
        with tempfile.TemporaryDirectory() as out, soon:
            process = start(*command(pathlib.Path(out, "f.h5"), "--scheduler=tcp://127.0.0.1:1"))
            said = process.communicate(timeout=PATIENCE)[1]
            self.assertEqual(process.returncode, 1)
            self.assertIn("127.0.0.1:1", said)


if __name__ == "__main__":
    unittest.main()
