"""One client's RTSP server (RFC 2326) for a test: an H.264 stream (Annex B) as RTP (RFC 6184) inside the connection."""
import base64
import re
import socket
import struct
import threading
import time

PAYLOAD = 96
LARGEST = 1200  # bytes of a packet


def nal_units(stream):
    """The units of an Annex B stream, without start codes."""
    marks = [(m.start(), m.end()) for m in re.finditer(b"\0\0\x01", stream)]
    ends = [start for start, _ in marks[1:]] + [len(stream)]
    return [stream[begin:end].rstrip(b"\0") for (_, begin), end in zip(marks, ends)]


def access_units(units):
    """Lists of units, each with one picture (all slices of the test's pictures are their first)."""
    pictures, current = [], []
    for unit in units:
        current.append(unit)
        if unit[0] & 31 in (1, 5):
            pictures.append(current)
            current = []
    return pictures


class RtspServer:
    """Serves `stream` to one client at `rate` frames a second; answers nothing at all if `stream` is None."""

    def __init__(self, stream, rate):
        self._rate = rate
        self._pictures = access_units(nal_units(stream)) if stream is not None else None
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = "rtsp://127.0.0.1:%d/camera" % self._listener.getsockname()[1]
        self._sequence = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._ended.set()
        self._listener.close()
        self._thread.join(10)

    def _serve(self):
        connection = self._listener.accept()[0]
        with connection:
            if self._pictures is None:
                self._ended.wait(60)
                return
            try:
                if self._agree(connection):
                    for number, units in enumerate(self._pictures):
                        self._send_picture(connection, number, units)
                        time.sleep(1 / self._rate)
            except OSError:  # the client has gone
                pass

    def _agree(self, connection):
        """Answers requests. True: to PLAY."""
        requests = connection.makefile("rb")
        while True:
            line, headers = requests.readline().decode().split(), {}
            if not line:
                return False
            for header in iter(lambda: requests.readline().strip().decode(), ""):
                name, _, value = header.partition(":")
                headers[name.lower()] = value.strip()
            body, more = "", {"CSeq": headers["cseq"]}
            if line[0] == "OPTIONS":
                more["Public"] = "DESCRIBE, SETUP, PLAY, TEARDOWN"
            elif line[0] == "DESCRIBE":
                sets = [u for u in sum(self._pictures, []) if u[0] & 31 in (7, 8)][:2]
                body = ("v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=test\r\nt=0 0\r\n"
                        f"m=video 0 RTP/AVP {PAYLOAD}\r\na=rtpmap:{PAYLOAD} H264/90000\r\na=framerate:{self._rate}\r\n"
                        f"a=fmtp:{PAYLOAD} packetization-mode=1;sprop-parameter-sets="
                        f"{','.join(base64.b64encode(s).decode() for s in sets)}\r\na=control:track0\r\n")
                more["Content-Type"] = "application/sdp"
                more["Content-Base"] = line[1] + "/"
                more["Content-Length"] = str(len(body))
            elif line[0] == "SETUP":
                more["Transport"] = "RTP/AVP/TCP;unicast;interleaved=0-1"
                more["Session"] = "1"
            elif line[0] == "PLAY":
                more["Session"] = "1"
            head = "".join(f"{name}: {value}\r\n" for name, value in more.items())
            connection.sendall(f"RTSP/1.0 200 OK\r\n{head}\r\n{body}".encode())
            if line[0] == "PLAY":
                return True

    def _send_picture(self, connection, number, units):
        for unit in units:
            last = unit is units[-1]
            if len(unit) <= LARGEST:
                self._send(connection, number, unit, last)
                continue
            kind, rest = unit[0], unit[1:]  # FU-A
            for at in range(0, len(rest), LARGEST):
                ends = at + LARGEST >= len(rest)
                mark = (0x80 if at == 0 else 0) | (0x40 if ends else 0) | (kind & 31)
                self._send(connection, number, bytes([(kind & 0xe0) | 28, mark]) + rest[at:at + LARGEST], last and ends)

    def _send(self, connection, number, payload, marker):
        header = struct.pack(">BBHII", 0x80, PAYLOAD | (0x80 if marker else 0), self._sequence & 0xffff,
                             number * 90000 // self._rate, 1)
        self._sequence += 1
        connection.sendall(struct.pack(">BBH", 0x24, 0, len(header) + len(payload)) + header + payload)
