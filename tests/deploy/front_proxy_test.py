#!/usr/bin/env python3
"""front_proxy_test.py GLINT-SERVER GLINT haproxy|nginx

A server behind the delivered configuration for clients that are not trusted: streams of many megabytes pass, floods do
not reach the server, and it serves during and after them.
"""

import os
import subprocess
import sys
import tempfile
import time

from stack import ROOT, free_port, need, wait_for

sys.path.insert(0, os.path.join(ROOT, "tests", "server"))
import transport_attack_test as attacks

FLOODS = [attacks.rapid_reset, attacks.open_calls, attacks.endless_lines, attacks.pings_unread,
          attacks.idle_connections]
SECONDS = 2


def haproxy(folder, server, port):
    with open(f"{folder}/both", "w") as both:
        for name in ("pem", "key"):
            with open(f"{folder}/{name}") as part:
                both.write(part.read())
    environment = dict(os.environ, LISTEN=f"127.0.0.1:{port}", CERTIFICATE=f"{folder}/both", SERVER=server.address)
    return ["haproxy", "-db", "-f", f"{ROOT}/deploy/haproxy/untrusted.cfg"], environment


def nginx(folder, server, port):
    with open(f"{ROOT}/deploy/nginx/nginx.conf") as delivered:
        text = delivered.read()
    for there, here in (("127.0.0.1:50051", server.address), ("listen 50443", f"listen 127.0.0.1:{port}"),
                        ("/etc/nginx/glint/tls.pem", f"{folder}/pem"), ("/etc/nginx/glint/tls.key", f"{folder}/key"),
                        ("http {", f"pid {folder}/pid;\nerror_log {folder}/error.log;\nhttp {{")):
        assert text.count(there) == 1, there
        text = text.replace(there, here)
    with open(f"{folder}/nginx.conf", "w") as file:
        file.write(text)
    return ["nginx", "-p", folder, "-c", f"{folder}/nginx.conf", "-g", "daemon off;"], None


def stream(glint, port, folder):
    """Sends nine megabytes in one stream."""
    pictures = f"{folder}/pictures"
    os.makedirs(pictures, exist_ok=True)
    for i in range(10, 40):
        with open(f"{pictures}/{i}.pgm", "wb") as picture:
            picture.write(b"P5 640 480 255\n" + bytes(640 * 480))
    done = subprocess.run([glint, "stream", "--server", f"127.0.0.1:{port}", "--tls-ca", f"{folder}/pem", pictures],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def main():
    binary, glint, kind = sys.argv[1:4]
    os.environ["PATH"] += ":/usr/sbin"
    need(kind)
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)  # nginx's workers may have another user
        attacks.certificate(folder)
        server = attacks.Server(binary, folder, ["--max-connections-per-peer=512"])
        port = free_port()
        command, environment = {"haproxy": haproxy, "nginx": nginx}[kind](folder, server, port)
        proxy = subprocess.Popen(command, env=environment, cwd=folder)
        try:
            target = attacks.Target(f"127.0.0.1:{port}", tls=True)
            wait_for("the proxy serves", lambda: serves(target))
            stream(glint, port, folder)
            for flood in FLOODS:
                # Waiting may be due to what else the machine does: then it is tried again.
                assert any(attack(server, target, flood) for _ in range(1 + attacks.RETRIES)), flood.__name__
            stream(glint, port, folder)
        finally:
            proxy.terminate()
            proxy.wait(60)
            server.end()


def serves(target):
    try:
        return attacks.GoodClient(target).answer_s() < 10
    except (OSError, AssertionError):
        return False


def attack(server, target, flood):
    """Whether a client of the server itself did not have to wait."""
    direct = attacks.GoodClient(attacks.Target(server.address, tls=False))
    before = server.resident_mib()
    processes = attacks.start_attackers(flood, target, SECONDS)
    waits, until = [], time.monotonic() + SECONDS
    while time.monotonic() < until:
        waits.append(direct.answer_s())
        time.sleep(0.05)
    for process in processes:
        process.join(60)
        assert process.exitcode == 0, flood.__name__
    more = server.resident_mib() - before
    print(f"{flood.__name__:20} +{more:4.0f} MiB, waits up to {max(waits) * 1e3:.0f} ms", flush=True)
    assert more < attacks.GROWTH_MIB, flood.__name__
    wait_for("the proxy serves again", lambda: serves(target))
    return max(waits) < attacks.WAIT_S


if __name__ == "__main__":
    main()
