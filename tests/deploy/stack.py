"""A Glint server, a Prometheus that watches it, and load, for the tests here. Standard library only."""

import ctypes
import json
import os
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
import urllib.parse
import urllib.request
import zlib

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PATIENCE = 90  # seconds that a condition may take on a busy machine


def skip(reason):
    print("GLINT_SKIP_ALL:", reason)
    sys.exit(0)


def need(*commands):
    for command in commands:
        if shutil.which(command) is None:
            skip(command + " is not installed")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_for(what, condition, patience=PATIENCE):
    """The first true value of condition(); fails after a while."""
    deadline = time.monotonic() + patience
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError("never happened: " + what)
        time.sleep(0.1)


def shortened(rules, factor):
    """The text of a rule file with every duration divided by factor, so that hours pass in minutes."""
    unit = {"s": 1, "m": 60, "h": 3600, "d": 86400}

    def scale(match):
        milliseconds = int(match[2]) * unit[match[3]] * 1000 // factor
        return f"{match[1]}{milliseconds}ms{match[4]}"

    return re.sub(r"(\[|for: )(\d+)([smhd])(\]|$)", scale, rules, flags=re.MULTILINE)


def rectangles(width, height, seed):
    """Rows of a grey picture of overlapping rectangles: many corners, the same for the same seed."""
    rng = random.Random(seed)
    rows = [bytearray(width) for _ in range(height)]
    for _ in range(width * height // 1500):
        x, y, w, h = (rng.randrange(width), rng.randrange(height), rng.randrange(4, 60), rng.randrange(4, 60))
        fill = bytes([rng.randrange(256)]) * min(w, width - x)
        for row in rows[y:y + h]:
            row[x:x + len(fill)] = fill
    return rows


def write_rows(path, rows):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 0, 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\0" + bytes(row) for row in rows), 1)
    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b""))


def write_png(path, width, height, seed):
    write_rows(path, rectangles(width, height, seed))


def write_drive(folder, frames):
    """Pictures of a stereo camera that moves to the right, 10 cm a frame, 10 m before a wall, and its calib.txt."""
    width, step, disparity = 640, 5, 25
    wall = rectangles(width + disparity + step * frames, 480, 1)
    for i in range(frames):
        for eye, first in (("left", step * i), ("right", step * i + disparity)):
            write_rows(f"{folder}/{eye}{i}.png", [row[first:first + width] for row in wall])
    with open(f"{folder}/calib.txt", "w") as f:
        f.write("P0: 500 0 320 0 0 500 240 0 0 0 1 0\nP1: 500 0 320 -250 0 500 240 0 0 0 1 0\n")


class Server:
    """glint-server with the given flags, on ports that stay the same over restarts."""

    def __init__(self, binary, glint, flags, max_files=None):
        self.binary, self.glint = binary, glint
        self.command = [binary, *flags]
        self.port, self.metrics_port = free_port(), free_port()
        self.command += ["--listen", self.address, "--metrics-listen", self.metrics_address]
        if max_files is not None:
            self.command = ["prlimit", f"--nofile={max_files}", *self.command]
        self.process = None

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    @property
    def metrics_address(self):
        return f"127.0.0.1:{self.metrics_port}"

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.kill()

    def start(self):
        self.process = subprocess.Popen(self.command)
        self.wait_until_serving()

    def wait_until_serving(self):
        subprocess.run([self.glint, "health", "--server", self.address, "--wait", str(PATIENCE)], check=True,
                       stdout=subprocess.DEVNULL)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        """By SIGTERM; the exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=PATIENCE)

    def metric(self, name):
        with urllib.request.urlopen(f"http://{self.metrics_address}/metrics", timeout=10) as page:
            for line in page.read().decode().splitlines():
                if line.startswith(name + " "):
                    return float(line.split()[-1])
        raise KeyError(name)


class Prometheus:
    """Watches the targets in its file; intervals are a quarter of a second."""

    def __init__(self, folder, rules, targets):
        self.url = f"http://127.0.0.1:{free_port()}"
        self.targets_file = os.path.join(folder, "targets.json")
        self.watch(targets)
        with open(os.path.join(folder, "glint.rules.yml"), "w") as f:
            f.write(rules)
        with open(os.path.join(folder, "prometheus.yml"), "w") as f:
            json.dump({"global": {"scrape_interval": "250ms", "scrape_timeout": "250ms",
                                  "evaluation_interval": "250ms"},
                       "rule_files": ["glint.rules.yml"],
                       "scrape_configs": [{"job_name": "glint", "file_sd_configs": [
                           {"files": [self.targets_file], "refresh_interval": "1s"}]}]}, f)
        self.log = open(os.path.join(folder, "prometheus.log"), "w")
        self.process = subprocess.Popen(
            ["prometheus", "--config.file", os.path.join(folder, "prometheus.yml"), "--storage.tsdb.path",
             os.path.join(folder, "data"), "--web.listen-address", self.url[len("http://"):]],
            stdout=self.log, stderr=self.log)
        wait_for("Prometheus is ready", self.ready)

    def watch(self, targets):
        temporary = self.targets_file + ".new"
        with open(temporary, "w") as f:
            json.dump([{"targets": targets}] if targets else [], f)
        os.replace(temporary, self.targets_file)

    def ready(self):
        assert self.process.poll() is None, "Prometheus has ended"
        try:
            return urllib.request.urlopen(self.url + "/-/ready", timeout=5).status == 200
        except OSError:
            return False

    def get(self, path, **parameters):
        with urllib.request.urlopen(f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(parameters)}",
                                    timeout=30) as reply:
            return json.load(reply)["data"]

    def query(self, expression):
        return self.get("query", query=expression)["result"]

    def firing(self):
        return {alert["labels"]["alertname"] for alert in self.get("alerts")["alerts"] if alert["state"] == "firing"}

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.log.close()


class Load:
    """Copies of one shell command, started again whenever it ends, until the block is left."""

    def __init__(self, *command, copies=1, pause=0.05):
        quoted = " ".join("'" + word.replace("'", "'\\''") + "'" for word in command)
        self.loop = f"while :; do {quoted}; sleep {pause}; done >/dev/null 2>&1"
        self.copies = copies

    def __enter__(self):
        self.processes = [subprocess.Popen(["sh", "-c", self.loop], start_new_session=True)
                          for _ in range(self.copies)]
        return self

    def __exit__(self, *_):
        for process in self.processes:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


class FrozenThread:
    """Holds still the thread of a process that has used the most processor time: a lane, once there is load."""

    SEIZE, INTERRUPT, DETACH, WALL = 0x4206, 0x4207, 17, 0x40000000

    def __init__(self, pid):
        def ticks(tid):
            with open(f"/proc/{pid}/task/{tid}/stat") as f:
                fields = f.read().rsplit(")", 1)[1].split()
            return int(fields[11]) + int(fields[12])

        self.tid = max(map(int, os.listdir(f"/proc/{pid}/task")), key=ticks)
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]

    def ptrace(self, request):
        if self.libc.ptrace(request, self.tid, None, None) != 0:
            raise OSError(ctypes.get_errno(), "ptrace")

    def __enter__(self):
        self.ptrace(self.SEIZE)
        self.ptrace(self.INTERRUPT)
        os.waitpid(self.tid, self.WALL)
        return self

    def __exit__(self, *_):
        self.ptrace(self.DETACH)
