#!/usr/bin/env python3
"""transport_attack_test.py GLINT-SERVER [--seconds S] [--only NAME]

Attacks on HTTP/2 and TLS themselves, which need no credentials, against a glint-server of its own. During each of them
the server may take 200 MiB more and a good client must be answered within a second; afterwards the server serves as
before. Frames are made by hand: the headers of a call are a few fixed bytes of HPACK.
"""

import argparse
import multiprocessing
import os
import re
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.request

GROWTH_MIB = 200
WAIT_S = 1.0
RETRIES = 2
PATIENCE_S = 60  # for the server to start, and for what a loaded machine delays
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RESET, SETTINGS, PING, WINDOW_UPDATE, CONTINUATION = 0, 1, 2, 3, 4, 6, 8, 9
END_STREAM, ACK, END_HEADERS = 1, 1, 4
INFO = b"/glint.v1.Server/GetServerInfo"


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def block(path, scheme):
    """Header lines of a call: POST, scheme, path, authority, te, content type, none of them to be remembered."""
    def literal(name, value):
        return name + bytes([len(value)]) + value
    return (b"\x83" + (b"\x87" if scheme == "https" else b"\x86") + literal(b"\x04", path) + literal(b"\x01", b"x") +
            literal(b"\x00\x02te", b"trailers") + literal(b"\x0f\x10", b"application/grpc"))


class Target:
    def __init__(self, address, tls):
        self.host, self.port = address.rsplit(":", 1)
        self.tls = tls
        self.scheme = "https" if tls else "http"

    def connect_only(self):
        return socket.create_connection((self.host, int(self.port)), timeout=10)

    def connect(self):
        connection = self.connect_only()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            context.set_alpn_protocols(["h2"])
            connection = context.wrap_socket(connection)
        connection.sendall(PREFACE + frame(SETTINGS, 0, 0))
        return connection

    def call(self, stream, path=INFO, flags=END_HEADERS):
        return frame(HEADERS, flags, stream, block(path, self.scheme))

    def whole_call(self, stream, path=INFO):
        return self.call(stream, path) + frame(DATA, END_STREAM, stream, bytes(5))


class GoodClient:
    """One connection that lives as long as the test, and a call every now and then."""

    def __init__(self, target):
        self.target, self.connection, self.stream, self.input = target, target.connect(), 1, b""

    def answer_s(self):
        """Seconds until GetServerInfo was answered; a refusal, as of one call too many, is followed by another try."""
        began = time.monotonic()
        while self.answers(1) == 0:
            assert time.monotonic() < began + PATIENCE_S, "the good client was always refused"
            time.sleep(0.02)
        return time.monotonic() - began

    def answers(self, calls):
        """Makes calls at the same time, waits until all have ended, and returns how many had an answer."""
        first, last = self.stream, self.stream + 2 * calls
        self.connection.sendall(b"".join(self.target.whole_call(s) for s in range(first, last, 2)))
        self.connection.settimeout(PATIENCE_S)
        self.stream, ended, answered = last, set(), set()
        while len(ended) < calls:
            kind, flags, stream, payload = self.next_frame()
            if kind == SETTINGS and not flags & ACK:
                self.connection.sendall(frame(SETTINGS, ACK, 0))
            if kind == PING and not flags & ACK:
                self.connection.sendall(frame(PING, ACK, 0, payload))
            if stream < first:
                continue
            if kind == DATA and payload:
                answered.add(stream)
                self.connection.sendall(frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", len(payload))))
            if kind == RESET or kind == HEADERS and flags & END_STREAM:
                ended.add(stream)
        return len(answered)

    def next_frame(self):
        while len(self.input) < 9 or len(self.input) < 9 + int.from_bytes(self.input[:3], "big"):
            received = self.connection.recv(1 << 16)
            assert received, "the good client's connection was closed"
            self.input += received
        length, kind, flags = int.from_bytes(self.input[:3], "big"), self.input[3], self.input[4]
        stream, payload = int.from_bytes(self.input[5:9], "big"), self.input[9:9 + length]
        self.input = self.input[9 + length:]
        return kind, flags, stream, payload


def sent_all(connection, data, read):
    """Sends without waiting for answers; reads what is there if `read`. False if the server has closed."""
    view = memoryview(data)
    connection.settimeout(0.05)
    while len(view):
        try:
            view = view[connection.send(view[:1 << 16]):]
        except (TimeoutError, ssl.SSLWantWriteError):
            if not read:
                return False
        except OSError:
            return False
        if read:
            try:
                connection.settimeout(0)
                while connection.recv(1 << 18):
                    pass
                return False
            except (BlockingIOError, ssl.SSLWantReadError, TimeoutError):
                connection.settimeout(0.05)
            except OSError:
                return False
    return True


def flood(target, until, chunk_of, read=True):
    """Sends chunk_of(n) for n = 0, 1, ... on connections that are made anew when the server ends them."""
    while time.monotonic() < until:
        try:
            with target.connect() as connection:
                n = 0
                while time.monotonic() < until and sent_all(connection, chunk_of(n), read):
                    n += 1
                if not read:  # the rest of the answers is not taken, and the connection is held
                    time.sleep(max(0, min(0.2, until - time.monotonic())))
        except OSError:
            time.sleep(0.01)


def streams(n, per_chunk):
    return range(2 * n * per_chunk + 1, 2 * (n + 1) * per_chunk + 1, 2)


def rapid_reset(target, until):
    reset = bytes([0, 0, 0, 8])
    flood(target, until, lambda n: b"".join(target.call(s) + frame(RESET, 0, s, reset) for s in streams(n, 2000)))


def open_calls(target, until):
    flood(target, until, lambda n: b"".join(target.call(s) for s in streams(n, 2000)))


def open_calls_of_detect(target, until):
    path = b"/glint.v1.FeatureDetection/Detect"
    flood(target, until, lambda n: b"".join(target.call(s, path) for s in streams(n, 2000)))


def unknown_methods(target, until):
    flood(target, until, lambda n: b"".join(target.whole_call(s, b"/no.Such/Method") for s in streams(n, 2000)))


def whole_calls(target, until):
    flood(target, until, lambda n: b"".join(target.whole_call(s) for s in streams(n, 500)))


def whole_calls_unread(target, until):
    flood(target, until, lambda n: b"".join(target.whole_call(s) for s in streams(n, 500)), read=False)


def endless_lines(target, until):
    def chunk(n):
        if n == 0:
            return target.call(1, flags=0)
        line = b"\x00\x01a\x7f\x81\x06" + b"v" * 896  # of 1 KiB less its name
        return frame(CONTINUATION, 0, 1, (line * 18)[:16384])
    flood(target, until, chunk)


def long_blocks(target, until):
    """As long as is allowed, of lines of one byte, which gRPC stores as lines of 64."""
    lines = b"\x82" * 16000
    flood(target, until, lambda n: b"".join(
        frame(HEADERS, 0, s, lines) + frame(CONTINUATION, END_HEADERS, s, lines) for s in streams(n, 20)))


def long_trailers(target, until):
    piece = frame(CONTINUATION, 0, 1, b"\x00\x01a\x01b" * 3276)
    def chunk(n):
        if n == 0:
            return target.call(1) + frame(HEADERS, END_STREAM, 1, b"\x00\x01a\x01b")
        return piece * 8
    flood(target, until, chunk)


def long_literal(target, until):
    def chunk(n):
        if n == 0:
            return frame(HEADERS, 0, 1, b"\x83\x86\x00\x01a\x7f" + b"\x81\xff\xff\x7f")  # a value of 256 MiB is coming
        return frame(CONTINUATION, 0, 1, b"v" * 16384) * 16
    flood(target, until, chunk)


def pings_unread(target, until):
    chunk = frame(PING, 0, 0, b"12345678") * 4000
    flood(target, until, lambda n: chunk, read=False)


def settings_unread(target, until):
    chunk = frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 65535) * 8) * 2000
    flood(target, until, lambda n: chunk, read=False)


def empty_data(target, until):
    chunk = frame(DATA, 0, 1) * 6000
    flood(target, until, lambda n: target.call(1) if n == 0 else chunk)


def small_data(target, until):
    chunk = frame(DATA, 0, 1, b"\0") * 6000
    flood(target, until, lambda n: target.call(1) if n == 0 else chunk)


def other_frames(target, until):
    chunk = (frame(PRIORITY, 0, 1, b"\0\0\0\0\0") + frame(200, 0, 0) + frame(WINDOW_UPDATE, 0, 0, b"\0\0\0\1")) * 2000
    flood(target, until, lambda n: chunk)


def held(target, until, connect):
    """More connections than there are places, all silent."""
    connections = []
    while time.monotonic() < until:
        try:
            if len(connections) < 700:
                connections.append(connect())
                continue
        except OSError:
            pass
        time.sleep(0.02)
    for connection in connections:
        connection.close()


def idle_connections(target, until):
    held(target, until, target.connect)


def half_handshakes(target, until):
    # The record and the beginning of a ClientHello of TLS, whose rest never comes; nothing where there is no TLS.
    def connect():
        connection = target.connect_only()
        connection.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" if target.tls else PREFACE[:5])
        return connection
    held(target, until, connect)


def busy(target, until):
    """No attack: many calls at a time, each round when the last one has been answered. Fails if it is cut off."""
    client, rounds = GoodClient(target), 0
    while time.monotonic() < until:
        client.answers(60)
        rounds += 1
    assert rounds > 1


ATTACKS = [busy, rapid_reset, open_calls, open_calls_of_detect, unknown_methods, whole_calls, whole_calls_unread,
           endless_lines, long_blocks, long_trailers, long_literal, pings_unread, settings_unread, empty_data,
           small_data, other_frames, idle_connections, half_handshakes]
TLS_ATTACKS = [busy, rapid_reset, open_calls, endless_lines, pings_unread, idle_connections, half_handshakes]
CONNECTIONS = [idle_connections, half_handshakes]
ATTACKERS = 4


def attacker(attack, target, seconds):
    os.nice(10)  # what is measured is what the attack does to the server, not to the machine
    try:
        attack(target, time.monotonic() + seconds)
    except Exception:  # of the attacker, whose end must be seen
        traceback.print_exc()
        os._exit(1)


def start_attackers(attack, target, seconds):
    processes = [multiprocessing.Process(target=attacker, args=(attack, target, seconds), daemon=True)
                 for _ in range(ATTACKERS)]
    for process in processes:
        process.start()
    return processes


class Server:
    def __init__(self, binary, folder, flags):
        self.log = open(f"{folder}/log", "w+")
        self.process = subprocess.Popen(
            [binary, "--listen=127.0.0.1:0", "--metrics-listen=127.0.0.1:0", "--backend=cpu", "--lanes=1", *flags],
            stderr=self.log, env={k: v for k, v in os.environ.items() if not k.startswith("GLINT_")})
        give_up = time.monotonic() + PATIENCE_S
        while not (found := re.search(r" listen=(\S+).* metrics=(\S+)", self.text())):
            assert self.process.poll() is None and time.monotonic() < give_up, self.text()
            time.sleep(0.05)
        self.address, self.metrics = found.groups()

    def text(self):
        with open(self.log.name) as log:
            return log.read()

    def resident_mib(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            return int(re.search(r"VmRSS:\s+(\d+)", status.read()).group(1)) / 1024

    def closed(self, reason):
        """Connections that the server has closed for this reason."""
        with urllib.request.urlopen(f"http://{self.metrics}/metrics", timeout=PATIENCE_S) as page:
            found = re.search(rf'glint_connections_closed_total{{reason="{reason}"}} (\d+)', page.read().decode())
        return int(found[1])

    def end(self):
        self.process.terminate()
        status = self.process.wait(PATIENCE_S)
        assert status == 0, (status, self.text()[-2000:])


def certificate(folder):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1",
                    "-keyout", f"{folder}/key", "-out", f"{folder}/pem"], check=True, capture_output=True)
    return [f"--tls-certificate={folder}/pem", f"--tls-key={folder}/key"]


def calm_answer_s(client):
    """The best of a few, so that the measure is not what else the machine does."""
    return min(client.answer_s() for _ in range(3))


def measure(server, attack, target, seconds):
    client = GoodClient(target)
    for _ in range(50):
        client.answer_s()
    before = peak = server.resident_mib()
    processes = start_attackers(attack, target, seconds)
    waits, until = [0], time.monotonic() + seconds
    errors = []
    while time.monotonic() < until and not errors:
        try:
            waits.append(client.answer_s())
        except (OSError, AssertionError) as error:
            errors.append(str(error))
        peak = max(peak, server.resident_mib())
        time.sleep(0.02)
    for process in processes:
        process.join(PATIENCE_S)
    errors += ["an attacker failed" for process in processes if process.exitcode != 0]
    peak = max(peak, server.resident_mib())
    if peak - before >= GROWTH_MIB:
        errors.append(f"{peak - before:.0f} MiB more")
    if max(waits) >= WAIT_S:
        errors.append(f"the good client waited {max(waits):.2f} s")
    if calm_answer_s(GoodClient(target)) >= WAIT_S:
        errors.append("a new client waits afterwards")
    closed = {reason: server.closed(reason) for reason in ("flood", "limit", "displaced")}
    if attack is busy and any(closed.values()):
        errors.append(f"honest clients were cut off: {closed}")
    if attack in CONNECTIONS and not closed["limit"] + closed["displaced"]:
        errors.append("there was no limit of connections")
    if attack not in (busy, whole_calls, *CONNECTIONS) and not closed["flood"]:
        errors.append("nobody was cut off")
    if "NOT_SERVING" in server.text():
        errors.append("NOT_SERVING")
    return errors, f"+{peak - before:5.0f} MiB, waits of {len(waits):4} answers up to {max(waits) * 1e3:6.1f} ms"


def run(binary, attack, tls, seconds):
    """Errors of one attack."""
    with tempfile.TemporaryDirectory() as folder:
        flags = certificate(folder) if tls else []
        if attack in CONNECTIONS:  # so few that a busy machine gets there in time
            flags.append("--max-connections=64")
        server = Server(binary, folder, flags)
        try:
            errors, seen = measure(server, attack, Target(server.address, tls), seconds)
        finally:
            server.end()
        failed = "FAILED: " + ", ".join(errors) if errors else ""
        print(f"{attack.__name__:20} {'TLS' if tls else '   '} {seen} {failed}", flush=True)
        if errors:
            print(server.text()[-1500:], flush=True)
        return errors


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("server")
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    failed = 0
    for tls, attacks in ((False, ATTACKS), (True, TLS_ATTACKS)):
        for attack in attacks:
            if options.only in ("", attack.__name__):
                # Waiting may be due to what else the machine does: then it is tried again.
                errors = run(options.server, attack, tls, options.seconds)
                for _ in range(RETRIES):
                    if not errors or any("waited" not in error for error in errors):
                        break
                    errors = run(options.server, attack, tls, options.seconds)
                failed += bool(errors)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
