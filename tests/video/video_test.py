#!/usr/bin/env python3
"""video_test.py GLINT

Videos as SOURCE: y4m from files and standard input, a decoder that does what the test wants, and real ones (FFmpeg,
GStreamer) where they are installed, on H.264 and H.265 without losses: the keypoints are those of the frames as PNG files.
"""
import contextlib
import functools
import http.server
import os
import pathlib
import re
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import pictures
import rtsp_server

GLINT = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else ""
PATIENCE = 60
WIDTH, HEIGHT, FRAMES = 320, 176, 6  # a width and a height that GStreamer's y4menc writes without gaps
HAS_FFMPEG = shutil.which("ffmpeg") is not None
HAS_GSTREAMER = shutil.which("gst-launch-1.0") is not None
INPROC = ("--server", "inproc", "--backend", "cpu")


def listens(port):
    """Whether somebody takes connections to 127.0.0.1:`port`, without one."""
    sockets = pathlib.Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]
    return any(fields[1].endswith(f":{port:04X}") and fields[3] == "0A" for fields in map(str.split, sockets))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def command(source, *options, name="stream"):
    return [GLINT, name, *INPROC, *options, "--", source]


def glint(source, *options, name="stream", **how):
    return subprocess.run(command(source, *options, name=name), capture_output=True, timeout=PATIENCE, check=False, **how)


def csv(source, *options, **how):
    """{frame's number: its rows without the name}, and fails on any error."""
    done = glint(source, "--format", "csv", *options, **how)
    assert done.returncode == 0, done.stderr.decode()
    return rows_of(done)


def rows_of(done):
    """The same of an output that is there."""
    frames = {}
    for row in done.stdout.decode().splitlines()[1:]:
        picture, _, rest = row.partition(",")
        frames.setdefault(int(re.search(r"(\d+)(\.png)?$", picture).group(1)), []).append(rest)
    return frames


def gone_soon(pid):
    for _ in range(500):
        try:
            state = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z" and os.getppid() != pid:  # nobody's child in a container without an init
            return True
        time.sleep(0.01)
    return False


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class VideoTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="glint-video-"))
        cls.frames = pictures.grey_frames(FRAMES, WIDTH, HEIGHT)
        (cls.folder / "png").mkdir()
        for number, frame in enumerate(cls.frames):
            (cls.folder / "png" / f"{number:06d}.png").write_bytes(pictures.png(frame, WIDTH, HEIGHT))
        (cls.folder / "video.y4m").write_bytes(pictures.y4m(cls.frames, WIDTH, HEIGHT))
        cls.expected = csv(str(cls.folder / "png"))
        assert len(cls.expected) == FRAMES and all(len(rows) > 20 for rows in cls.expected.values())

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def path(self, name):
        return str(self.folder / name)


def seconds_of(test, left, right, *options, count=FRAMES, **how):
    """The times of all frames of a stereo camera by glint localize, and what was said."""
    calibration = test.folder / "calib.txt"
    calibration.write_text("P0: 100 0 80 0 0 100 48 0 0 0 1 0\nP1: 100 0 80 -50 0 100 48 0 0 0 1 0\n", encoding="utf-8")
    done = subprocess.run([GLINT, "localize", *INPROC, "--calibration", str(calibration), "--format", "csv", *options, left,
                           right], capture_output=True, timeout=PATIENCE, check=False, **how)
    test.assertEqual(done.returncode, 0, done.stderr)
    seconds = [float(row.split(",")[1]) for row in done.stdout.decode().splitlines()[1:]]
    test.assertEqual(len(seconds), count, done.stderr)
    return seconds, done.stderr.decode()


class Y4m(VideoTest):
    def test_files_have_the_keypoints_of_their_frames(self):
        for chroma in ("420jpeg", "422", "444", "mono"):
            path = self.folder / f"{chroma}.y4m"
            path.write_bytes(pictures.y4m(self.frames, WIDTH, HEIGHT, chroma))
            self.assertEqual(csv(str(path)), self.expected, chroma)
        self.assertEqual(csv(self.path("video.y4m"), "--send", "color"), self.expected)
        self.assertEqual(len(csv(self.path("video.y4m"), "--loop", "--max-frames", "20")), FRAMES)

    def test_standard_input(self):
        video = (self.folder / "video.y4m").read_bytes()
        self.assertEqual(csv("-", input=video), self.expected)
        done = glint("-", input=video[:-100])
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"glint stream: standard input: y4m.frame 5: is cut off\n", done.stderr)
        self.assertRegex(done.stdout, b"^6 frames.* 1 failed")
        done = glint("-", input=b"not a video")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b'standard input: y4m: begins with "not a vide" instead of "YUV4MPEG2 "', done.stderr)

    def test_colour_needs_420_and_even_sides(self):
        odd = self.folder / "odd.y4m"
        odd.write_bytes(pictures.y4m(pictures.grey_frames(1, 33, 40), 33, 40))
        (self.folder / "422.y4m").write_bytes(pictures.y4m(self.frames, WIDTH, HEIGHT, "422"))
        for name in ("odd.y4m", "422.y4m"):
            done = glint(self.path(name), "--send", "color")
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr.decode(), r"x\d+ has odd sides or is not 4:2:0, which --send color needs\n$")

    def test_times_of_y4m_follow_from_the_frame_rate(self):
        for options, step in (((), 1 / pictures.RATE), (("--rate", "8"), 1 / 8)):
            seconds, _ = seconds_of(self, self.path("video.y4m"), self.path("video.y4m"), *options)
            for number, second in enumerate(seconds):
                self.assertAlmostEqual(second, number * step, delta=1e-8)

    def test_names_are_times(self):
        begin, numbers = 1403715273262142976, (0, 1, 3, 4)  # of the left camera one is missing, of the right one another
        for eye, offset, missing in (("cam0", 0, 2), ("cam1", 1234, 5)):
            (self.folder / eye).mkdir()
            for number in set(range(FRAMES)) - {missing}:
                name = begin + 50_000_000 * number + offset
                shutil.copy(self.folder / f"png/{number:06d}.png", self.folder / f"{eye}/{name}.png")
        seconds, said = seconds_of(self, self.path("cam0"), self.path("cam1"), count=len(numbers))
        self.assertIn("glint localize: 2 pictures have no partner and are left out: ", said)
        for number, second in zip(numbers, seconds):
            self.assertLess(abs(second - begin / 1e9 - 0.05 * number), 1e-6)

    def test_videos_belong_together_by_time(self):
        """The second one has a third of the first one's frames in a second, and ends before it."""
        (self.folder / "slow.y4m").write_bytes(pictures.y4m(self.frames[:1] * 2, WIDTH, HEIGHT, rate="25:3"))
        done = subprocess.run([GLINT, "match", *INPROC, self.path("video.y4m"), self.path("slow.y4m")], capture_output=True,
                              timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        pairs = re.findall(r"video.y4m#(\d+) \S+slow.y4m#(\d+): ", done.stdout.decode())
        self.assertEqual(pairs, [("000000", "000000"), ("000003", "000001")])
        self.assertRegex(done.stderr.decode(),
                         r"(?m)2 pictures have no partner and are left out: \S+#000001, \S+#000002; \S+video.y4m#000004 and "
                         r"what follows it have no partner: another source has ended$")


class FakeDecoder(VideoTest):
    """A program named ffmpeg that does what a test wants."""

    # Of more frames than a test has, as FFmpeg's filter writes them.
    TIMES = f"for t in $(seq 0 99); do echo frame:$t pts:$((t * {10**9 // pictures.RATE})) pts_time:0; done >&3\n"

    def setUp(self):
        self.programs = self.folder / "programs"
        self.programs.mkdir(exist_ok=True)

    def install(self, script):
        program = self.programs / "ffmpeg"
        program.write_text(f"#!/bin/sh\nexport PATH={os.environ['PATH']}\ncd '{self.folder}'\n{self.TIMES}{script}\n",
                           encoding="utf-8")
        program.chmod(0o755)

    def run_with(self, script, *options, source="rtsp://user:secret@camera/x", name="stream"):
        self.install(script)
        return glint(source, *options, name=name, env={**os.environ, "PATH": str(self.programs)})

    def fails_with(self, script, text, *options):
        done = self.run_with(script, *options)
        self.assertEqual(done.returncode, 1, done)
        lines = [line for line in done.stderr.decode().splitlines() if line.startswith("glint")]
        self.assertEqual(len(lines), 1, done.stderr)
        self.assertIn(text, lines[0])
        self.assertNotIn("secret", done.stderr.decode())
        return done

    def test_arguments_and_frames(self):
        done = self.run_with('for a; do printf "%s\\n" "$a"; done >arguments; cat video.y4m', "--no-live", "--format", "csv",
                             "--max-frames", str(FRAMES))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("rtsp://camera/x#000005,", done.stdout.decode())
        arguments = (self.folder / "arguments").read_text(encoding="utf-8").splitlines()
        self.assertEqual(arguments[arguments.index("-i") + 1], "rtsp://user:secret@camera/x")
        for option in ("-protocol_whitelist", "-hwaccel", "-rtsp_transport", "-timeout"):
            self.assertIn(option, arguments)

    def test_times_are_the_decoders(self):
        """They begin anywhere. One that is missing or goes back follows from the frame rate, and that is said once."""
        self.TIMES = ""
        cases = {"5000 5001 5100 5100.5 7000 9000": (0, 0.001, 0.1, 0.1005, 2, 4),
                 "-80 -40 NOPTS 300 100 500": (0, 0.04, 0.08, 0.38, 0.42, 0.58),
                 "NOPTS 9000 9100 9101 9102 9200": (0, 0.04, 0.14, 0.141, 0.142, 0.24),
                 "0 100 200": (0, 0.1, 0.2, 0.24, 0.28, 0.32)}
        for number, (times, expected) in enumerate(cases.items()):
            lines = "".join(f"frame:{n}    pts:{t if t == 'NOPTS' else round(float(t) * 1e6)} pts_time:0\nglint=1\n"
                            for n, t in enumerate(times.split()))
            (self.folder / "times").write_text(lines, encoding="utf-8")
            self.install("cat times >&3; exec 3>&-; cat video.y4m")
            address = "http://user:secret@camera/x"
            got, said = seconds_of(self, address, address, env={**os.environ, "PATH": str(self.programs)})
            for second, wanted in zip(got, expected):
                self.assertAlmostEqual(second, wanted, delta=1e-8, msg=times)
            self.assertEqual(said.count("follow from the frame rate"), 0 if number == 0 else 2, said)  # of each camera
            self.assertNotIn("secret", said)
        self.assertIn("http://camera/x#000003: warning: the decoder gives no time of it; the times of such frames", said)

    def test_damage_is_told_of_files_and_not_of_live_sources(self):
        script = "cat video.y4m; echo '[h264 @ 0x5f] [error] error while decoding MB 1 3' >&2"
        self.assertNotIn(b"damaged", self.run_with(script, "--no-live").stderr)
        done = self.run_with(script, source="http://user:secret@camera/x")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"http://camera/x: ends at frame 6: cut off or damaged (ffmpeg: [h264] error while decoding MB 1 3)\n",
                      done.stderr)

    def test_failures_are_one_line(self):
        self.fails_with("echo noise >&2; echo no route to rtsp://user:secret@camera/x >&2; exit 7",
                        "rtsp://camera/x: exit status 7 of ffmpeg: no route to rtsp://camera/x")
        self.fails_with("exit 0", "rtsp://camera/x: y4m: no bytes (ffmpeg)")
        self.fails_with("echo garbage and more", 'begins with "garbage an"')
        self.fails_with("kill -9 $$", "ended by signal 9 of ffmpeg")
        self.fails_with("head -c 100000 video.y4m; echo disk on fire >&2; exit 1", "exit status 1 of ffmpeg: disk on fire",
                        "--no-live")
        self.fails_with("head -c 100000 video.y4m", "y4m.frame 1: is cut off (ffmpeg)", "--no-live")
        done = self.fails_with("cat video.y4m; echo late >&2; exit 1", "exit status 1 of ffmpeg: late", "--no-live")
        self.assertRegex(done.stdout, b"^7 frames.* 1 failed")
        self.fails_with("printf 'YUV4MPEG2 W100000 H2\\n'", "y4m.W: 100000 is not in 1..16384")
        bigger = self.folder / "bigger.y4m"
        bigger.write_bytes(pictures.y4m(pictures.grey_frames(1, 640, 96), 640, 96))
        self.fails_with("cat video.y4m bigger.y4m", "y4m.frame 6: size, format or rate changes: 320x176 before, then \"W640",
                        "--no-live")

    def test_no_program(self):
        shutil.rmtree(self.programs)
        done = glint(self.path("x.mp4"), env={**os.environ, "PATH": str(self.programs)})
        self.assertIn(b"no folder, image, video", done.stderr)
        (self.folder / "x.mp4").write_bytes(b"\0" * 100)
        done = glint(self.path("x.mp4"), env={**os.environ, "PATH": str(self.programs)})
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"neither ffmpeg nor gst-launch-1.0 in PATH", done.stderr)

    def start(self, script, *options):
        """A glint whose decoder has begun; the process and the decoder's id."""
        self.install(f"echo $$ >pid; {script}")
        (self.folder / "pid").unlink(missing_ok=True)
        process = subprocess.Popen(command("rtsp://camera/x", *options), env={**os.environ, "PATH": str(self.programs)},
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for _ in range(1000):
            with contextlib.suppress(FileNotFoundError, ValueError):
                return process, int((self.folder / "pid").read_text(encoding="utf-8"))
            time.sleep(0.01)
        self.fail("the decoder was not started")

    def test_interrupts_end_both(self):
        for options in ((), ("--no-live",)):
            for script in ("cat video.y4m; exec sleep 600", "exec sleep 600"):
                process, decoder = self.start(script, *options)
                time.sleep(0.3)
                process.send_signal(signal.SIGINT)
                error = process.communicate(timeout=20)[1]
                self.assertEqual(process.returncode, 130, error)
                self.assertTrue(gone_soon(decoder), script)

    def test_a_killed_reader_leaves_no_decoder(self):
        process, decoder = self.start("while cat video.y4m; do :; done", "--no-live")
        time.sleep(0.3)
        process.kill()
        process.communicate(timeout=20)
        self.assertTrue(gone_soon(decoder))

    def test_an_address_that_says_nothing_is_given_up(self):
        begun = time.monotonic()
        self.fails_with("echo waiting >&2; exec sleep 600", "no bytes for 10s, and given up (ffmpeg: waiting)")
        self.assertLess(time.monotonic() - begun, 40)

    def test_the_newest_frame_is_next(self):
        count, width, height = 60, 1280, 720
        frame = pictures.grey_frames(1, width, height)[0]
        (self.folder / "fast.y4m").write_bytes(pictures.y4m([frame] * count, width, height))
        done = self.fails_with("cat fast.y4m", "the live source ended after", "--in-flight", "1", "--format", "csv")
        numbers = [int(n) for n in dict.fromkeys(re.findall(r"^rtsp://camera/x#(\d+),", done.stdout.decode(), re.M))]
        self.assertEqual(numbers, sorted(numbers))
        self.assertEqual(numbers[-1], count - 1)
        self.assertLess(len(numbers), count)
        done = self.run_with("cat fast.y4m", "--in-flight", "1", "--no-live", "--max-frames", str(count))
        self.assertTrue(done.stdout.decode().startswith(f"{count} frames"), done.stdout)

    # Counts its runs in a file.
    COUNT = "n=$(cat runs 2>/dev/null); n=$((n + 1)); echo $n >runs\n"

    def forget_runs(self):
        (self.folder / "runs").unlink(missing_ok=True)

    def test_a_lost_live_source_is_an_error(self):
        for options in (("--no-live",), ()):
            done = self.fails_with("cat video.y4m", "glint stream: rtsp://camera/x: the live source ended after", *options)
            self.assertRegex(done.stdout, b" 1 failed")
        # As commands with other loops say it.
        for name in ("track", "match"):
            done = self.run_with("cat video.y4m", "--no-live", "--format", "none", name=name)
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"glint {name}: rtsp://camera/x: the live source ended after 6 frames\n", done.stderr.decode())

    def test_a_lost_live_source_is_opened_again(self):
        self.forget_runs()
        script = self.COUNT + "case $n in 1|4) cat video.y4m;; 2) echo refused >&2; exit 1;; 3) ;; esac"
        done = self.run_with(script, "--no-live", "--format", "csv", "--retry", "30", "--max-frames", str(2 * FRAMES))
        self.assertEqual(done.returncode, 0, done.stderr)
        said = done.stderr.decode()
        self.assertIn("glint: rtsp://camera/x: the live source ended after 6 frames; opening it again for 30s (loss 1)\n", said)
        self.assertRegex(said, r"glint: rtsp://camera/x: is back after \d+\.\d s\n")
        twice = {number + FRAMES * half: rows for half in (0, 1) for number, rows in self.expected.items()}
        self.assertEqual(rows_of(done), twice)

    def test_a_live_source_that_stays_away_is_given_up(self):
        self.forget_runs()
        done = self.run_with(self.COUNT + "[ $n = 1 ] && cat video.y4m || { echo refused >&2; exit 1; }", "--retry", "1",
                             name="track")
        self.assertEqual(done.returncode, 1)
        self.assertIn("rtsp://camera/x: exit status 1 of ffmpeg: refused; given up after 1s\n", done.stderr.decode())
        self.assertGreater(int((self.folder / "runs").read_text(encoding="utf-8")), 2)

    def test_an_interrupt_ends_the_attempts(self):
        self.forget_runs()
        self.install(self.COUNT + "[ $n = 1 ] && cat video.y4m || exit 1")
        process = subprocess.Popen(command("rtsp://camera/x", "--retry", "600"),
                                   env={**os.environ, "PATH": str(self.programs)}, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE)
        while not (self.folder / "runs").exists() or (self.folder / "runs").read_text(encoding="utf-8") < "2":
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        said = process.communicate(timeout=20)[1]
        self.assertEqual(process.returncode, 130, said)


class NamedPipes(VideoTest):
    def pipe(self, writers):
        """A pipe into which the video is written `writers` times, each time by another one."""
        path = self.folder / "pipe"
        path.unlink(missing_ok=True)
        os.mkfifo(path)
        video = (self.folder / "video.y4m").read_bytes()

        def write():
            for _ in range(writers):
                path.write_bytes(video)
                time.sleep(0.5)

        thread = threading.Thread(target=write, daemon=True)
        thread.start()
        self.addCleanup(thread.join, PATIENCE)
        return str(path)

    def test_it_is_read_like_standard_input(self):
        self.assertEqual(csv(self.pipe(1)), self.expected)
        link = self.folder / "link to a pipe"
        link.symlink_to(self.pipe(1))
        self.assertEqual(csv(str(link)), self.expected)

    def test_pipes_of_a_shell(self):
        """<(...) is a name in /dev/fd; a writer that ended before it is opened is none that is to come."""
        done = subprocess.run(["bash", "-c", '"$@" <(cat video.y4m)', "bash", *command("x", "--format", "csv")[:-1]],
                              cwd=self.folder, capture_output=True, timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(rows_of(done), self.expected)
        read, write = os.pipe()
        short = pictures.y4m(pictures.grey_frames(1, 160, 96), 160, 96, "mono")
        self.assertEqual(os.write(write, short), len(short))
        os.close(write)
        done = glint(f"/dev/fd/{read}", pass_fds=[read])
        os.close(read)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stdout.startswith(b"1 frame"), done.stdout)

    def test_one_writer_fills_two_pipes(self):
        """Either one first, and as much as it likes before it goes to the other one."""
        def counts(*sources):
            done = subprocess.run([GLINT, "match", *INPROC, *map(str, sources)], capture_output=True, timeout=PATIENCE,
                                  check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            return re.findall(rb"#(\d+) \S+#(\d+): .* (\d+) matches", done.stdout)

        expected = counts(self.path("video.y4m"), self.path("video.y4m"))
        self.assertEqual(len(expected), FRAMES)
        video = (self.folder / "video.y4m").read_bytes()
        for order in ((0, 1), (1, 0)):
            pipes = [self.folder / f"{eye}{order[0]}" for eye in ("left", "right")]
            for pipe in pipes:
                os.mkfifo(pipe)

            def write(one, other):
                with open(one, "wb") as first, open(other, "wb") as second:
                    first.write(video)
                    second.write(video)

            writer = threading.Thread(target=write, args=[pipes[eye] for eye in order], daemon=True)
            writer.start()
            self.assertEqual(counts(*pipes), expected)
            writer.join(PATIENCE)

    def test_the_next_writer_goes_on(self):
        done = glint(self.pipe(2), "--format", "csv", "--retry", "30", "--max-frames", str(2 * FRAMES))
        self.assertEqual(done.returncode, 0, done.stderr)
        twice = {number + FRAMES * half: rows for half in (0, 1) for number, rows in self.expected.items()}
        self.assertEqual(rows_of(done), twice)
        self.assertIn(b"is back after", done.stderr)
        done = glint(self.pipe(1), "--retry", "0.5")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"given up after 500ms\n", done.stderr)


class Cameras(VideoTest):
    """None that can be opened: what matters is what names are taken for."""

    def check(self, name):
        done = glint(str(name))
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"glint stream: {name}: no camera can be opened there\n", done.stderr.decode())

    def test_names_without_a_camera(self):
        self.check("/dev/video63")
        self.check("/dev/v4l/by-id/usb-Maker_No_Such_Camera-video-index0")
        done = glint("/dev/null")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"/dev/null: no folder, image, video, camera, address or gst:PIPELINE", done.stderr)

    def test_devices_and_links_of_other_names(self):
        device = self.folder / "cam_left"
        try:
            os.mknod(device, 0o600 | stat.S_IFCHR, os.makedev(81, 63))
        except PermissionError:
            self.skipTest("only root can make devices")
        link = self.folder / "usb-Maker_Camera-video-index0"
        link.symlink_to("cam_left")
        self.check(device)
        self.check(link)


@unittest.skipUnless(HAS_FFMPEG, "no ffmpeg (scripts/setup.sh test)")
class RealDecoders(VideoTest):
    CODECS = {"h264.mp4": ("libx264", "-qp", "0", "-g", "3"), "h265.mkv": ("libx265", "-x265-params", "lossless=1")}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name, (codec, *options) in cls.CODECS.items():
            cls.ffmpeg("-i", "video.y4m", "-f", "lavfi", "-i", "sine=duration=0.2", "-c:v", codec, *options, name)

    @classmethod
    def ffmpeg(cls, *arguments):
        subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-y", *arguments], cwd=cls.folder, check=True,
                       stderr=subprocess.DEVNULL, timeout=PATIENCE)

    def test_files_have_the_keypoints_of_their_frames(self):
        decoders = ["auto", "ffmpeg"] + (["gstreamer"] if HAS_GSTREAMER else [])
        for name in self.CODECS:
            for decoder in decoders:
                for send in ("gray", "color"):
                    with self.subTest(name=name, decoder=decoder, send=send):
                        got = csv(self.path(name), "--video-decoder", decoder, "--send", send)
                        self.assertEqual(got, self.expected)

    def test_rgb_has_the_keypoints_of_its_frames(self):
        (self.folder / "rgb").mkdir()
        for number, frame in enumerate(pictures.coloured(self.frames, WIDTH, HEIGHT)):
            (self.folder / "rgb" / f"{number:06d}.png").write_bytes(pictures.png(frame, WIDTH, HEIGHT, 3))
        expected = csv(self.path("rgb"))
        self.assertNotEqual(expected, self.expected)
        codecs = {"a.mkv": ("ffv1", "bgr0"), "b.mov": ("png", "rgb24"), "c.mov": ("png", "rgba"), "d.avi": ("huffyuv", "rgb24"),
                  "e.mp4": ("libx264rgb", "rgb24", "-qp", "0"), "f.avi": ("utvideo", "gbrp"), "g.mov": ("qtrle", "rgb24")}
        for name, (codec, form, *options) in codecs.items():
            self.ffmpeg("-framerate", "10", "-i", "rgb/%06d.png", "-c:v", codec, "-pix_fmt", form, *options, name)
            for send in ("gray", "color") if name in ("a.mkv", "e.mp4") else ("gray",):
                with self.subTest(codec=codec, form=form, send=send):
                    self.assertEqual(csv(self.path(name), "--send", send), expected)

    def test_every_sampling_and_range_keeps_its_luma(self):
        for form, tagged in (("gray", "tv"), ("yuv410p", "pc"), ("yuv440p", "tv"), ("yuva420p", "pc"), ("yuv444p", "pc")):
            self.ffmpeg("-i", "video.y4m", "-vf", f"format={form}", "-c:v", "ffv1", "-color_range", tagged, "range.mkv")
            self.ffmpeg("-i", "range.mkv", "-vf", "extractplanes=y", "luma.y4m")
            got = csv(self.path("range.mkv"))
            self.assertEqual(len(got), FRAMES)
            self.assertEqual(got, csv(self.path("luma.y4m")), (form, tagged))

    def test_a_turned_video_is_read_as_it_is_stored(self):
        # The matrix of the track's header: FFmpeg's options for it have changed from version to version.
        video = bytearray((self.folder / "h264.mp4").read_bytes())
        matrix = video.index(b"tkhd") + 44
        video[matrix:matrix + 36] = struct.pack(">9i", 0, 1 << 16, 0, -1 << 16, 0, 0, HEIGHT << 16, 0, 1 << 30)
        (self.folder / "turned.mp4").write_bytes(video)
        for decoder in ["ffmpeg"] + (["gstreamer"] if HAS_GSTREAMER else []):
            done = glint(self.path("turned.mp4"), "--format", "csv", "--video-decoder", decoder)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(rows_of(done), self.expected, decoder)
            self.assertRegex(done.stderr.decode(), r"turned.mp4: warning: it is to be shown turned \(rotat[^)]+\), and is read")
            self.assertEqual(done.stderr.count(b"turned ("), 1)

    def test_times_are_those_of_the_file(self):
        """The rate halves where it is dark. One camera has a frame fewer than the other."""
        wanted = [0, 0.1, 0.3, 0.5, 0.7, 0.8]
        times = "settb=1/1000,setpts='if(lt(N,2),N*0.1,if(lt(N,5),0.1+(N-1)*0.2,0.8))/TB'"  # cut to 1 ms
        coding = ("-fps_mode", "passthrough", "-enc_time_base", "1:1000", "-c:v", "libx264", "-qp", "0", "-bf", "2")
        for end in ("mp4", "mkv"):
            self.ffmpeg("-i", "video.y4m", "-vf", times, *coding, f"left.{end}")
            self.ffmpeg("-i", "video.y4m", "-vf", f"{times},select='not(eq(n,3))'", *coding, f"right.{end}")
            for decoder in ["ffmpeg"] + (["gstreamer"] if HAS_GSTREAMER else []):
                with self.subTest(end=end, decoder=decoder):
                    left, right = self.path(f"left.{end}"), self.path(f"right.{end}")
                    got, said = seconds_of(self, left, left, "--video-decoder", decoder)
                    for second, true in zip(got, wanted):
                        self.assertAlmostEqual(second, true, delta=0.0021)
                    self.assertNotIn("warning: the decoder", said)
                    self.assertNotIn("warning: its time", said)
                    got, said = seconds_of(self, left, right, "--video-decoder", decoder, count=FRAMES - 1)
                    for second, true in zip(got, wanted[:3] + wanted[4:]):
                        self.assertAlmostEqual(second, true, delta=0.0021)
                    self.assertIn(f"left.{end}#000003", said)

    def test_a_file_that_ends_early_is_told_with_its_frame(self):
        codecs = {"a.mp4": ("libx264", "-movflags", "+faststart"), "b.mp4": ("libx264", "-movflags", "+frag_keyframe+empty_moov"),
                  "c.mkv": ("libx264",), "d.avi": ("mjpeg",), "e.ts": ("libx264",), "f.mjpeg": ("mjpeg",), "g.flv": ("libx264",),
                  "h.avi": ("ffv1",), "i.mp4": ("libx264",)}
        for name, (codec, *options) in codecs.items():
            with self.subTest(name=name, codec=codec):
                speed = ("-preset", "ultrafast") if codec == "libx264" else ()
                self.ffmpeg("-stream_loop", "3", "-i", "video.y4m", "-c:v", codec, "-pix_fmt", "yuvj420p" if codec == "mjpeg"
                            else "yuv420p", "-g", "4", *speed, *options, name)
                whole = (self.folder / name).read_bytes()
                done = glint(self.path(name), "--format", "json", "--no-summary")
                self.assertEqual((done.returncode, done.stderr), (0, b""))
                self.assertEqual(done.stdout.count(b"\n"), 4 * FRAMES)
                half = self.folder / f"half-{name}"
                half.write_bytes(whole[:len(whole) // 2 + 7])
                done = glint(str(half), "--format", "json", "--no-summary")
                answered = done.stdout.count(b"\n")
                self.assertEqual(done.returncode, 1, done.stderr)
                if name == "i.mp4":  # its index is at the end
                    self.assertRegex(done.stderr.decode(), r"half-i.mp4: exit status \d+ of ffmpeg: .+\n$")
                    continue
                self.assertRegex(done.stderr.decode(),
                                 rf"^glint stream: \S+half-{name}: ends at frame {answered}: cut off or damaged \(ffmpeg: .+\)\n$")
                self.assertTrue(0 < answered < 4 * FRAMES)

    def test_names_that_look_like_something_else(self):
        for name in ("-i.mp4", "concat:a b.mp4", "100%d !.mp4"):
            shutil.copy(self.folder / "h264.mp4", self.folder / name)
            self.assertEqual(csv(name, cwd=self.folder), self.expected, name)
            if HAS_GSTREAMER:
                self.assertEqual(csv(name, "--video-decoder", "gstreamer", cwd=self.folder), self.expected, name)

    def test_lists_open_no_network(self):
        (self.folder / "list.m3u8").write_text("#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nhttp://127.0.0.1:9/a.ts\n#EXT-X-ENDLIST\n",
                                               encoding="utf-8")
        done = glint(self.path("list.m3u8"), "--video-decoder", "ffmpeg")
        self.assertEqual(done.returncode, 1)
        self.assertNotIn(b"refused", done.stderr)

    def test_a_file_that_is_no_video(self):
        (self.folder / "notes.txt").write_text("not a frame", encoding="utf-8")
        for decoder in ["ffmpeg"] + (["gstreamer"] if HAS_GSTREAMER else []):
            done = glint(self.path("notes.txt"), "--video-decoder", decoder)
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr.decode(), r"^glint stream: \S+notes.txt: exit status \d+ of \S+: .+\n$")

    @unittest.skipUnless(HAS_GSTREAMER, "no gst-launch-1.0 (scripts/setup.sh ci)")
    def test_sizes_that_gstreamer_pads_are_refused(self):
        (self.folder / "98.y4m").write_bytes(pictures.y4m(pictures.grey_frames(2, 98, 64), 98, 64))
        self.ffmpeg("-i", "98.y4m", "-c:v", "libx264", "98.mkv")
        done = glint(self.path("98.mkv"), "--video-decoder", "gstreamer")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"98x64 cannot be read from GStreamer", done.stderr)

    def test_http(self):
        handler = functools.partial(QuietHandler, directory=str(self.folder))
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            try:
                self.assertEqual(csv(f"http://127.0.0.1:{server.server_port}/h265.mkv"), self.expected)
            finally:
                server.shutdown()

    def test_rtmp(self):
        port = free_port()
        address = f"rtmp://127.0.0.1:{port}/live/x"
        # Three times the video, of which the first is read: on a busy machine the one that ends with the connection
        # may lack its last frame.
        with subprocess.Popen(["ffmpeg", "-v", "error", "-nostdin", "-re", "-stream_loop", "2", "-i", "h264.mp4", "-an", "-c",
                               "copy", "-f", "flv", "-listen", "1", address], cwd=self.folder,
                              stderr=subprocess.DEVNULL) as server:
            try:
                for _ in range(600):  # a probe would be its one client
                    if listens(port):
                        break
                    time.sleep(0.05)
                self.assertEqual(csv(address, "--no-live", "--max-frames", str(FRAMES)), self.expected)
            finally:
                server.kill()

    def test_rtsp(self):
        self.ffmpeg("-i", "h264.mp4", "-an", "-c", "copy", "-bsf:v", "h264_mp4toannexb", "-f", "h264", "video.h264")
        stream = (self.folder / "video.h264").read_bytes()
        with rtsp_server.RtspServer(stream, pictures.RATE) as server:
            self.assertEqual(csv(server.address, "--no-live", "--max-frames", str(FRAMES)), self.expected)
        with rtsp_server.RtspServer(stream, pictures.RATE) as server:
            done = glint(server.address, "--format", "csv")  # until the server ends it
            self.assertEqual(done.returncode, 1)
            got = rows_of(done)
            self.assertTrue(got)
            for number, rows in got.items():
                self.assertEqual(rows, self.expected[number])

    def test_an_rtsp_server_that_does_not_answer(self):
        with rtsp_server.RtspServer(None, pictures.RATE) as server:
            done = glint(server.address)
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr.decode(), r"^glint stream: rtsp://127.0.0.1:\d+/camera: .+\n$")


if __name__ == "__main__":
    unittest.main()
