#!/usr/bin/env python3
"""fleet_test.py GLINT-SERVER GLINT FLEET-CLIENT [haproxy|grpc]

Three servers in network namespaces of their own, behind HAProxy with the delivered configuration, and then without it,
balanced by gRPC in the client. Under load one is killed, another drained, and at last all are restarted in turn. Every
frame must be answered once, in order and correctly, and the load be even within 20 % before and after. The latencies
are reported, not judged.
"""

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

from stack import PATIENCE, ROOT, need, skip, wait_for

STREAMS, RATE, MAX_AGE = 12, 5, 2  # streams, frames a second of each, seconds until a stream moves
PORT, METRICS_PORT = 50051, 9464
NETWORK = "10.209.78"
UNEVEN = 0.20
CLONE_NEWNET = 0x40000000


def ip(*words):
    subprocess.run(["ip", *words], check=True)


class Hub:
    """A network namespace with a bridge, which this process moves into. Clients and the proxy are in it."""

    def __init__(self, cleanup):
        self.name = f"glint-hub-{os.getpid()}"
        self.cleanup = cleanup
        self.add_namespace(self.name)
        libc = ctypes.CDLL(None, use_errno=True)
        with open(f"/run/netns/{self.name}") as namespace:
            if libc.setns(namespace.fileno(), CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), "setns")
        ip("link", "set", "lo", "up")
        ip("link", "add", "fleet", "type", "bridge")
        ip("addr", "add", f"{NETWORK}.1/24", "dev", "fleet")
        ip("link", "set", "fleet", "up")

    def add_namespace(self, name):
        ip("netns", "add", name)
        self.cleanup.callback(lambda: ip("netns", "delete", name))

    def attach(self, name, address):
        self.add_namespace(name)
        port = f"p{address.split('.')[-1]}"
        ip("link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", name)
        ip("link", "set", port, "master", "fleet", "up")
        ip("-n", name, "addr", "add", f"{address}/24", "dev", "eth0")
        ip("-n", name, "link", "set", "eth0", "up")
        ip("-n", name, "link", "set", "lo", "up")


class Member:
    """One server of the fleet."""

    def __init__(self, hub, number, server, glint):
        self.address = f"{NETWORK}.{10 + number}"
        self.namespace = f"glint-s{number}-{os.getpid()}"
        hub.attach(self.namespace, self.address)
        self.command = ["ip", "netns", "exec", self.namespace, server, "--backend", "cpu", "--lanes", "1", "--listen",
                        f"{self.address}:{PORT}", "--metrics-listen", f"{self.address}:{METRICS_PORT}",
                        "--max-sessions", str(2 * STREAMS), "--max-sessions-per-peer", str(2 * STREAMS)]
        self.glint = glint
        self.start()
        hub.cleanup.callback(self.kill)

    def start(self):
        self.process = subprocess.Popen(self.command, stderr=subprocess.DEVNULL)
        subprocess.run([self.glint, "health", "--server", f"{self.address}:{PORT}", "--wait", str(PATIENCE)],
                       check=True, stdout=subprocess.DEVNULL)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def drain(self):
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(timeout=PATIENCE)
        assert status == 0, f"{self.address} ended with status {status} after SIGTERM"

    def frames(self):
        with urllib.request.urlopen(f"http://{self.address}:{METRICS_PORT}/metrics", timeout=10) as page:
            return sum(float(line.split()[-1]) for line in page.read().decode().splitlines()
                       if line.startswith("glint_frames_total{") and 'result="OK"' in line)


class Proxy:
    """HAProxy with the delivered configuration."""

    def __init__(self, members, cleanup):
        self.address = f"127.0.0.1:{PORT}"
        settings = {"LISTEN": self.address, "STATS": "127.0.0.1:8404", "METRICS_PORT": str(METRICS_PORT)}
        for i, member in enumerate(members):
            settings[f"SERVER{i + 1}"] = f"{member.address}:{PORT}"
        self.process = subprocess.Popen(["haproxy", "-f", os.path.join(ROOT, "deploy/haproxy/haproxy.cfg")],
                                        env={**os.environ, **settings}, stderr=subprocess.DEVNULL)
        cleanup.callback(self.process.kill)
        wait_for("HAProxy has all servers", lambda: self.up() == len(members))

    @staticmethod
    def up():
        try:
            with urllib.request.urlopen("http://127.0.0.1:8404/metrics", timeout=5) as page:
                return sum(line.endswith(" 1") for line in page.read().decode().splitlines()
                           if line.startswith('haproxy_server_status{proxy="glint"') and 'state="UP"' in line)
        except OSError:
            return 0


class Episode:
    """What happens to a fleet under load, with the times of it."""

    def __init__(self, members, proxy, say):
        self.members, self.proxy, self.say = members, proxy, say
        self.windows = []  # name, begin, end

    @contextlib.contextmanager
    def window(self, name, tail=1.0):
        begin = time.time()
        yield
        time.sleep(tail)
        self.windows.append((name, begin, time.time()))

    def back(self):
        if self.proxy:
            wait_for("HAProxy has all servers again", lambda: self.proxy.up() == len(self.members))

    def even(self, name, seconds=3 * MAX_AGE):
        with self.window(name, tail=0):
            before = [member.frames() for member in self.members]
            time.sleep(seconds)
            shares = [member.frames() - b for member, b in zip(self.members, before)]
        mean = sum(shares) / len(shares)
        worst = max(abs(share - mean) for share in shares) / mean if mean else float("inf")
        self.say(f"{name}: {' '.join(f'{share:.0f}' for share in shares)} frames, uneven by {worst:.0%}")
        assert worst <= UNEVEN, f"the load is uneven by {worst:.0%}"

    def run(self):
        first, second, _ = self.members
        time.sleep(MAX_AGE + 1)
        self.even("all three, before")
        with self.window("one killed"):
            # It holds frames when it dies: those that came after it stood still.
            first.process.send_signal(signal.SIGSTOP)
            time.sleep(0.5)
            first.kill()
            time.sleep(1.5)
            first.start()
            self.back()
        with self.window("one drained"):
            second.drain()
            time.sleep(1)
            second.start()
            self.back()
        with self.window("all restarted in turn"):
            for member in self.members:
                member.drain()
                member.start()
                self.back()
        time.sleep(2 * MAX_AGE)
        self.even("all three, after")


def percentile(values, p):
    return sorted(values)[int(p * (len(values) - 1))] if values else float("nan")


def run(title, address, balancer, members, proxy, fleet_client, folder):
    began = time.monotonic()

    def say(text):
        print(f"{title:8} {time.monotonic() - began:5.1f} s  {text}", flush=True)

    frames_file = os.path.join(folder, title)
    client = subprocess.Popen([fleet_client, address, balancer, str(STREAMS), str(RATE), str(MAX_AGE), frames_file],
                              stdout=subprocess.PIPE, text=True)
    try:
        episode = Episode(members, proxy, say)
        episode.run()
        assert client.poll() is None, "the client has ended by itself"
        client.send_signal(signal.SIGTERM)
        output, _ = client.communicate(timeout=PATIENCE)
    finally:
        client.kill()
        client.wait()
    counts = json.loads(output)
    with open(frames_file) as f:
        answers = [tuple(map(float, line.split())) for line in f]
    for name, begin, end in [*episode.windows, ("the whole run", 0, float("inf"))]:
        ms = [latency for written, latency in answers if begin <= written < end]
        say(f"{name}: {len(ms)} frames, p50 {percentile(ms, 0.5):.1f} ms, p99 {percentile(ms, 0.99):.1f} ms, "
            f"max {percentile(ms, 1):.1f} ms")
    say(f"sent {counts['sent']}, lost {counts['sent'] - counts['answered']}, wrong or out of order {counts['wrong']}, "
        f"streams reopened {counts['reopened']}")
    assert client.returncode == 0 and counts["sent"] == counts["answered"] > 0 and counts["wrong"] == 0


def main():
    server, glint, fleet_client = map(os.path.realpath, sys.argv[1:4])
    runs = sys.argv[4:] or ["haproxy", "grpc"]
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    need("ip", *(["haproxy"] if "haproxy" in runs else []))
    if os.geteuid() != 0:
        skip("network namespaces need root")
    if subprocess.run(["unshare", "--net", "true"], stderr=subprocess.DEVNULL).returncode != 0:
        skip("network namespaces cannot be made here")
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as cleanup:
        hub = Hub(cleanup)
        members = [Member(hub, i + 1, server, glint) for i in range(3)]
        if "haproxy" in runs:
            with contextlib.ExitStack() as proxy_cleanup:
                proxy = Proxy(members, proxy_cleanup)
                run("haproxy", proxy.address, "proxy", members, proxy, fleet_client, folder)
        if "grpc" in runs:
            addresses = ",".join(f"{member.address}:{PORT}" for member in members)
            run("grpc", "ipv4:" + addresses, "grpc", members, None, fleet_client, folder)
    print("no frame lost")


if __name__ == "__main__":
    main()
