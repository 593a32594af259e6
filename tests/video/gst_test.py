#!/usr/bin/env python3
"""gst_test.py GLINT

gst:PIPELINE as SOURCE, with GStreamer's own elements: formats and strides, what is refused, capture times and pairs,
sources that end, stutter, say nothing or are not there.
"""
import csv
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import pictures

GLINT = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else ""
PATIENCE = 60
WIDTH, HEIGHT, FRAMES = 322, 176, 4  # rows that GStreamer pads to a multiple of 4
INPROC = ("--server", "inproc", "--backend", "cpu")
LAUNCH = shutil.which("gst-launch-1.0")


def glint(*operands, name="stream", **how):
    return subprocess.run([GLINT, name, *INPROC, *operands], capture_output=True, timeout=PATIENCE, check=False, **how)


def live(frames=1000, rate=10, begin="videotestsrc"):
    return (f"gst:{begin} is-live=true num-buffers={frames} pattern=snow ! "
            f"video/x-raw,format=GRAY8,width=160,height=96,framerate={rate}/1")


def padded(rows, width, fill=b"\xee"):
    return b"".join(row + fill * (-width % 4) for row in rows)


def raw(frame, kind):
    """A grey frame as GStreamer has it in memory, with 0xee in the gaps."""
    rows = [frame[y * WIDTH:(y + 1) * WIDTH] for y in range(HEIGHT)]
    if kind == "bgrx":
        return b"".join(bytes([grey, grey, grey, 0xee]) for grey in frame)
    luma = padded(rows, WIDTH)
    if kind == "nv12":
        return luma + padded([bytes([128]) * WIDTH] * (HEIGHT // 2), WIDTH)
    if kind == "i420":
        return luma + padded([bytes([128]) * (WIDTH // 2)] * HEIGHT, WIDTH // 2)
    return luma


class Pipelines(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="glint-gst-"))
        cls.frames = pictures.grey_frames(FRAMES, WIDTH, HEIGHT)
        (cls.folder / "png").mkdir()
        for number, frame in enumerate(cls.frames):
            (cls.folder / "png" / f"{number:06d}.png").write_bytes(pictures.png(frame, WIDTH, HEIGHT))
        cls.expected = cls.rows(str(cls.folder / "png"))
        assert len(cls.expected) == FRAMES and all(len(rows) > 20 for rows in cls.expected.values())
        (cls.folder / "calib.txt").write_text(
            "P0: 100 0 80 0 0 100 48 0 0 0 1 0\nP1: 100 0 80 -50 0 100 48 0 0 0 1 0\n", encoding="utf-8")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    @classmethod
    def rows(cls, source, *options):
        """{frame's number: its rows without the name}, and fails on any error."""
        done = glint("--format", "csv", *options, "--", source)
        assert done.returncode == 0, done.stderr.decode()
        frames = {}
        for row in done.stdout.decode().splitlines()[1:]:
            number, _, rest = re.fullmatch(r".*[/#](\d{6})(\.\w+)?(\"?,.*)", row).groups()
            frames.setdefault(int(number), []).append(rest.lstrip('"'))
        return frames

    def png(self):
        return f'multifilesrc location="{self.folder}/png/%06d.png" caps=image/png,framerate=25/1 ! pngdec'

    def refused(self, source, *words, options=(), env=None):
        done = glint(*options, "--", source, env=env)
        said = done.stderr.decode()
        self.assertEqual(done.returncode, 1, said)
        for word in words:
            self.assertIn(word, said)
        return said

    def seconds(self, left, right, *options):
        """The times of the left pictures by glint localize, and what was said."""
        done = glint("--calibration", str(self.folder / "calib.txt"), "--format", "csv", *options, left, right,
                     name="localize")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = list(csv.reader(done.stdout.decode().splitlines()))[1:]
        return [float(row[1]) for row in rows], done.stderr.decode()

    def test_formats_have_the_keypoints_of_their_frames(self):
        for kind in ("gray8", "nv12", "i420", "bgrx"):
            path = self.folder / f"video.{kind}"
            path.write_bytes(b"".join(raw(frame, kind) for frame in self.frames))
            source = (f"gst:filesrc location={path} ! rawvideoparse format={kind} width={WIDTH} height={HEIGHT} "
                      "framerate=25/1")
            self.assertEqual(self.rows(source), self.expected, kind)
            self.assertEqual(self.rows(source + " ! appsink drop=true", "--send", "color"), self.expected, kind)

    def test_jpeg_stays_as_it_is(self):
        coded = f"{self.png()} ! jpegenc"
        (self.folder / "jpg").mkdir()
        subprocess.run(["gst-launch-1.0", "-q", *coded.split(" "), "!", "multifilesink",
                        f"location={self.folder}/jpg/%06d.jpg"], check=True, timeout=PATIENCE)
        self.assertEqual(self.rows("gst:" + coded), self.rows(str(self.folder / "jpg")))

    @unittest.skipUnless(shutil.which("ffmpeg"), "no ffmpeg (scripts/setup.sh video)")
    def test_a_file_has_ffmpegs_keypoints(self):
        (self.folder / "video.y4m").write_bytes(pictures.y4m(self.frames, WIDTH, HEIGHT))
        video = str(self.folder / "video.mkv")
        subprocess.run(["ffmpeg", "-v", "error", "-i", str(self.folder / "video.y4m"), "-c:v", "ffv1", video],
                       check=True, timeout=PATIENCE)
        self.assertEqual(self.rows(f"gst:filesrc location={video} ! matroskademux ! avdec_ffv1"),
                         self.rows(video, "--video-decoder", "ffmpeg"))

    def test_what_is_refused_is_named(self):
        sides = "width=64,height=48"
        self.refused(f"gst:videotestsrc ! video/x-raw,format=YUY2,{sides}", "glint stream: gst:videotestsrc: caps: ",
                     "video/x-raw,format=YUY2,width=64,height=48 is not taken, but", "GRAY8, NV12, I420 or BGRx",
                     "end the pipeline with videoconvert ! video/x-raw,format=NV12")
        self.refused("gst:videotestsrc ! video/x-raw,format=NV12,width=63,height=48", "63x48 has odd sides",
                     options=("--send", "color"))
        (self.folder / "short").write_bytes(bytes(100))
        self.refused(f"gst:multifilesrc location={self.folder}/short caps=video/x-raw,format=GRAY8,{sides}",
                     "frame: has 100 bytes, where 64x48 has 3072")

    def test_the_elements_words_are_told(self):
        self.refused("gst:filesrc location=/no/such.jpg ! jpegparse", "exit status", 'No such file "/no/such.jpg"')
        self.refused("gst:nvarguscamerasrc sensor-id=0 ! nvvidconv", 'no element "nvarguscamerasrc"',
                     "package nvidia-l4t-gstreamer")
        self.refused("gst:nosuchsrc", 'no element "nosuchsrc"', "gstreamer1.0-plugins-base")
        self.refused("gst:", "glint stream: gst:: ")
        self.refused("gst:videotestsrc num-buffers=0 ! video/x-raw,format=GRAY8", "ended without a frame")
        said = self.refused("gst:rtspsrc location=rtsp://me:secret@127.0.0.1:1/x user-pw=hidden ! rtpjpegdepay",
                            "gst:rtspsrc location=rtsp://127.0.0.1:1/x")
        self.assertNotRegex(said, "secret|hidden")
        self.refused("gst:videotestsrc", "no gst-launch-1.0 in PATH (Debian: package gstreamer1.0-tools)",
                     env={**os.environ, "PATH": str(self.folder)})

    def test_an_error_after_frames_has_its_place(self):
        said = self.refused("gst:videotestsrc ! video/x-raw,format=GRAY8 ! identity error-after=4",
                            "Failed after iterations as requested.")
        self.assertRegex(said, r"gst:videotestsrc: ends at frame \d: exit status \d+ of gst-launch-1.0: ERROR")

    def test_a_live_pipeline_that_ends_is_lost(self):
        done = glint("--no-live", "--format", "none", live(3))
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr.decode(), r"glint stream: gst:videotestsrc is-live=true \S+ pattern=snow: "
                                               r"the live source ended after 3 frames\n")
        done = glint("--no-live", "--retry", "30", "--max-frames", "7", "--format", "none", live(3))
        self.assertEqual(done.returncode, 0, done.stderr)
        for words in ("ended after 3 frames; opening it again for 30s (loss 1)", "ended after 6 frames; opening it "
                      "again for 30s (loss 2)", "is back after"):
            self.assertIn(words, done.stderr.decode())

    def test_silence_has_an_end(self):
        self.refused("gst:videotestsrc is-live=true ! valve drop=true ! video/x-raw,format=GRAY8",
                     "no frame came for 10s, and given up (gst-launch-1.0")

    def test_frames_that_are_missing_leave_gaps_in_time(self):
        source = ("gst:videotestsrc pattern=snow num-buffers=60 ! video/x-raw,format=GRAY8,width=160,height=96,"
                  "framerate=10/1 ! identity drop-probability=0.5")
        seconds, said = self.seconds(source, source)
        steps = [round(10 * (b - a), 6) for a, b in zip(seconds, seconds[1:])]
        self.assertTrue(all(step >= 1 and step == int(step) for step in steps), steps)
        self.assertNotIn("warning: it", said)

    def test_frames_without_times_follow_the_rate(self):
        (self.folder / "frame").write_bytes(raw(self.frames[0], "gray8"))
        source = (f"gst:multifilesrc location={self.folder}/frame loop=true num-buffers=4 "
                  f"caps=video/x-raw,format=GRAY8,width={WIDTH},height={HEIGHT}")
        seconds, said = self.seconds(source, source)
        for number, second in enumerate(seconds):
            self.assertAlmostEqual(second, number / 30, places=6)
        self.assertEqual(said.count("it has no time; such frames have the time that follows from the frame rate"), 2)

    def test_live_pairs_are_of_one_time(self):
        """The right camera starts a second later, so that frames of one number are a second apart."""
        tools = self.folder / "late"
        tools.mkdir()
        script = f'#!/bin/sh\ncase "$*" in *name=right*) sleep 1;; esac\nexec {LAUNCH} "$@"\n'
        (tools / "gst-launch-1.0").write_text(script, encoding="utf-8")
        (tools / "gst-launch-1.0").chmod(0o755)
        done = glint("--no-live", "--format", "csv", live(90), live(25, begin="videotestsrc name=right"), name="match",
                     env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"})
        said = done.stderr.decode()
        pairs = {tuple(map(int, re.findall(r"#(\d{6})", row))) for row in done.stdout.decode().splitlines()[1:]}
        self.assertGreaterEqual(len(pairs), 3, said)
        apart = {left - right for left, right in pairs}
        self.assertEqual(len(apart), 1, pairs)
        self.assertGreaterEqual(apart.pop(), 9, pairs)
        self.assertIn("pictures have no partner and are left out: gst:videotestsrc is-live=true", said)

    def test_live_times_are_those_of_capture(self):
        seconds, said = self.seconds(live(60), live(60), "--no-live", "--max-frames", "4")
        self.assertEqual(len(seconds), 4, said)
        for before, after in zip(seconds, seconds[1:]):
            self.assertAlmostEqual(after - before, 0.1, delta=1e-6)
        self.assertGreater(seconds[0], 0)

    def test_live_pairs_need_a_rate(self):
        source = "gst:videotestsrc is-live=true ! video/x-raw,format=GRAY8,width=160,height=96,framerate=0/1"
        done = glint(source, source, name="match")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"caps: of a pair of live pipelines have no framerate", done.stderr)


if __name__ == "__main__":
    if LAUNCH is None:
        print("GLINT_SKIP_ALL: gst-launch-1.0 is not installed (scripts/setup.sh ci)")
        sys.exit(0)
    unittest.main()
