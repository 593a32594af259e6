"""A server of its own for a test program; the path of glint-server is in GLINT_SERVER_PROGRAM."""
import contextlib
import os
import pathlib
import subprocess
import tempfile
import threading
from concurrent import futures

import grpc
import numpy as np

import glint

PROGRAM = os.environ.get("GLINT_SERVER_PROGRAM", "glint-server")


class Server:
    """glint-server on a unix socket and a TCP port, one CPU lane, shared memory on."""

    def __init__(self, *flags):
        self._folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self._folder.name) / "socket"
        self.address = f"unix:{self.path}"
        self._flags = flags
        self.start()

    def start(self):
        command = [PROGRAM, f"--listen={self.address}", "--metrics-listen=", "--backend=cpu", "--lanes=1"]
        self.process = subprocess.Popen([*command, "--shared-memory", *self._flags], stderr=subprocess.DEVNULL)
        with glint.Client(self.address, wait=60):
            pass

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(30)
        self.kill()
        self._folder.cleanup()


class Recorder:
    """A server that answers the frames of a stream of three once it has read them all and no more comes for 0.3 s, and
    writes down what happens. Its context is its address."""

    _METHOD = "/glint.v1.FeatureDetection/DetectStream"
    _FRAMES = 3

    def __init__(self, seen):
        self._seen = seen
        self._all, self._done = threading.Event(), threading.Event()

    def __enter__(self):
        self._server = grpc.server(futures.ThreadPoolExecutor(1))
        self._server.add_generic_rpc_handlers((self,))
        port = self._server.add_insecure_port("127.0.0.1:0")
        self._server.start()
        return f"127.0.0.1:{port}"

    def __exit__(self, *_):
        self._server.stop(0).wait()

    def service(self, call):
        return grpc.stream_stream_rpc_method_handler(self._stream) if call.method == self._METHOD else None

    def _read(self, requests):
        for i, _ in enumerate(requests):
            self._seen.append("frame" if i else "options")
            if i == self._FRAMES:
                self._all.set()
        self._seen.append("done")
        self._done.set()

    def _stream(self, requests, _):
        threading.Thread(target=self._read, args=(requests,), daemon=True).start()
        self._all.wait(10)
        self._done.wait(0.3)
        for i in range(self._FRAMES):
            self._seen.append("answer")
            yield bytes((8, i)) * bool(i) + b"\x22\x00"  # frame_id, features
        self._done.wait(10)


def picture(seed=1, width=320, height=240):
    """Rectangles of random grey: corners everywhere."""
    random = np.random.default_rng(seed)
    image = np.full((height, width), 90, np.uint8)
    for _ in range(150):
        x, y = random.integers(0, width - 8), random.integers(0, height - 8)
        image[y : y + random.integers(5, 40), x : x + random.integers(5, 40)] = random.integers(0, 255)
    return image


def columns(features):
    """What must be equal where the same features were found."""
    names = ("x", "y", "size", "angle", "response", "octave")
    return [getattr(features, n).tobytes() for n in names] + [
        None if features.descriptors is None else features.descriptors.tobytes()
    ]


def rows(count, seed, width=32):
    """Descriptors of few different bytes: many distances are equal."""
    return np.random.default_rng(seed).choice(np.array([0, 1, 255], np.uint8), (count, width))


def as_lists(matches):
    return list(zip(matches.query.tolist(), matches.train.tolist(), matches.distance.tolist()))


def pinhole_rays(points, matrix):
    """float32 (n, 3): what pixels see without a lens."""
    rays = np.column_stack((points.astype(np.float64), np.ones(len(points)))) @ np.linalg.inv(matrix).T
    return (rays / np.linalg.norm(rays, axis=1)[:, None]).astype(np.float32)


def stereo_pair(disparity=12):
    wide = picture(3, 320 + disparity)
    return wide[:, :320], wide[:, disparity:]
