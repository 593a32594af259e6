"""A headless Chromium, driven over its DevTools WebSocket with nothing but Python's own library.

    devtools.py URL FILE.png [FRAMES [WIDTH HEIGHT]]

writes a picture of the page of a live view once it has drawn FRAMES frames (default: 30).
"""
import base64
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request

PATIENCE = 60  # seconds


def chromium():
    """The browser's path, or None."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


class WebSocket:
    """A client that sends texts. Thread-compatible. `protocol`: the subprotocol that it offers."""

    def __init__(self, host, port, path, protocol=None):
        self._socket = socket.create_connection((host, port), timeout=PATIENCE)
        key = base64.b64encode(os.urandom(16)).decode()
        self._socket.sendall((f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\n"
                              f"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n"
                              + (f"Sec-WebSocket-Protocol: {protocol}\r\n" if protocol else "") + "\r\n").encode())
        self._file = self._socket.makefile("rb")
        status = self._file.readline()
        assert b" 101 " in status, status
        while self._file.readline() not in (b"\r\n", b""):
            pass

    def send(self, text):
        data, mask = text.encode(), os.urandom(4)
        if len(data) < 126:
            head = struct.pack("!BB", 0x81, 0x80 | len(data))
        elif len(data) < 65536:
            head = struct.pack("!BBH", 0x81, 0x80 | 126, len(data))
        else:
            head = struct.pack("!BBQ", 0x81, 0x80 | 127, len(data))
        self._socket.sendall(head + mask + bytes(byte ^ mask[i % 4] for i, byte in enumerate(data)))

    def receive(self):
        """The next message: a str, or bytes if it is a binary one."""
        data, opcode = b"", 0
        while True:
            first, second = self._file.read(2)
            length = second & 0x7f
            if length == 126:
                (length,) = struct.unpack("!H", self._file.read(2))
            elif length == 127:
                (length,) = struct.unpack("!Q", self._file.read(8))
            data += self._file.read(length)
            opcode = opcode or first & 0xf
            if first & 0x80:
                return data.decode() if opcode == 1 else data

    def close(self):
        self._file.close()
        self._socket.close()


class Browser:
    """A page in a browser of its own. Use as a context."""

    def __init__(self, width=1280, height=1000):
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._process = subprocess.Popen(
            [chromium(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--hide-scrollbars", "--remote-debugging-port=0", f"--window-size={width},{height}",
             f"--user-data-dir={self._profile.name}", "about:blank"], stderr=subprocess.PIPE, text=True,
            env={**os.environ, "HOME": self._profile.name})
        port = None
        for line in self._process.stderr:
            found = re.search(r"DevTools listening on ws://127\.0\.0\.1:(\d+)/", line)
            if found:
                port = int(found.group(1))
                break
        assert port, "Chromium did not start"
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json", timeout=PATIENCE) as answer:
            page = next(target for target in json.load(answer) if target["type"] == "page")
        self._socket = WebSocket("127.0.0.1", port, re.sub(r"^ws://[^/]*", "", page["webSocketDebuggerUrl"]))
        self._id = 0
        self.problems = []  # exceptions and errors that the page had
        self.call("Runtime.enable")
        self.call("Log.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._socket.close()
        self._process.terminate()
        self._process.stderr.close()
        self._process.wait(PATIENCE)
        self._profile.cleanup()

    def call(self, method, **parameters):
        self._id += 1
        self._socket.send(json.dumps({"id": self._id, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.receive())
            if message.get("method") == "Runtime.exceptionThrown":
                self.problems.append(message["params"]["exceptionDetails"])
            if message.get("method") == "Log.entryAdded" and message["params"]["entry"]["level"] == "error":
                self.problems.append(message["params"]["entry"])
            if message.get("id") == self._id:
                assert "error" not in message, message
                return message["result"]

    def open(self, url):
        self.call("Page.navigate", url=url)
        self.wait("document.readyState === 'complete' && document.body.dataset !== undefined", f"loading {url}")

    def value(self, expression):
        """What JavaScript makes of it."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def wait(self, expression, what=None):
        """Until it is true."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if self.value(expression):
                return
            time.sleep(0.05)
        raise AssertionError(f"{what or expression}: not within {PATIENCE} s; the page says "
                             f"{self.value('document.body.innerText')!r}")

    def wait_frames(self, count):
        """Until so many more frames are drawn."""
        drawn = "Number(document.body.dataset.frames || 0)"
        self.wait(f"{drawn} >= {self.value(drawn) + count}", f"{count} frames more")

    def screenshot(self, file):
        with open(file, "wb") as out:
            out.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))


def main(url, file, frames=30, width=1280, height=1000):
    with Browser(int(width), int(height)) as browser:
        browser.open(url)
        browser.wait_frames(int(frames))
        browser.screenshot(file)


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4, 6) or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    main(*sys.argv[1:])
