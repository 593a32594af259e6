#!/usr/bin/env python3
"""alerts_test.py GLINT-SERVER GLINT load|faults

A real Prometheus with the delivered rules watches a real server. Load or faults are applied to it; every alert fires,
and clears when the fault is over; every query of the dashboard finds data. The rules' durations are shortened sixtyfold.
Load needs the machine to itself; faults are mostly waited for.
"""

import contextlib
import http.server
import json
import os
import socket
import sys
import tempfile
import threading
import time

from stack import ROOT, FrozenThread, Load, Prometheus, Server, need, shortened, wait_for, write_png
from tls import Authority, TlsServer, replace

FASTER = 60
# Pictures so large that those in the queue take longer than the latency alerts allow, however fast the machine.
LARGE = 4000, 3000
# What each part must make fire.
ALERTS = {
    "load": {"GlintBadInput", "GlintQueueSaturated", "GlintLanesExhausted", "GlintLatencyBudgetBurnsFast",
             "GlintLatencyBudgetBurnsSlowly", "GlintDeviceStalled", "GlintErrors", "GlintRefusing", "GlintDropping",
             "GlintPoolExhausted"},
    "faults": {"GlintGpuHot", "GlintFileDescriptorsLow", "GlintCertificateExpiring", "GlintAbsent", "GlintDown",
               "GlintRestarting"},
}


class HotGpu:
    """The page of a server whose GPU has the given temperature; there may be no GPU here to heat."""

    def __enter__(self):
        page = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.end_headers()
                self.wfile.write(b'glint_gpu_temperature_celsius{device="cuda:0"} %d\n' % page.celsius)

            def log_message(self, *_):
                pass

        self.celsius = 93
        self.httpd = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.httpd.serve_forever)
        self.thread.start()
        self.address = f"127.0.0.1:{self.httpd.server_port}"
        return self

    def __exit__(self, *_):
        self.httpd.shutdown()
        self.thread.join()
        self.httpd.server_close()


def panels():
    """(title, query, unit) of each query of the dashboard, as Grafana would send them."""
    with open(os.path.join(ROOT, "deploy/grafana/glint.json")) as f:
        dashboard = json.load(f)
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            query = target["expr"].replace("$__rate_interval", "5s").replace("$instance", ".*")
            assert "$" not in query, query
            yield panel["title"], query


class AlertsTest:
    def __init__(self, server, prometheus, folder):
        self.server, self.prometheus, self.folder = server, prometheus, folder
        self.seen = set()

    def expect(self, *alerts):
        """All of these fire, sooner or later."""
        for alert in alerts:
            wait_for(alert + " fires", lambda: alert in self.prometheus.firing())
            print(f"{time.monotonic() - self.began:6.1f} s  {alert} fires")
            self.seen.add(alert)

    def expect_clear(self, *alerts):
        for alert in alerts:
            wait_for(alert + " clears", lambda: alert not in self.prometheus.firing())
            print(f"{time.monotonic() - self.began:6.1f} s  {alert} clears")

    def stream(self, source, *more):
        return (self.server.glint, "stream", "--server", self.server.address, *more, os.path.join(self.folder, source))

    def detect(self, picture, *more):
        return (self.server.glint, "detect", "--server", self.server.address, *more,
                os.path.join(self.folder, picture))

    def run(self, part):
        self.began = time.monotonic()
        getattr(self, part)()
        assert self.seen == ALERTS[part], f"not seen: {ALERTS[part] - self.seen}"

    def load(self):
        self.dashboard_finds_data()
        self.bad_input()
        self.overload_and_stall()
        self.too_many_streams()
        self.dropping()
        self.pool_exhausted()
        self.expect_clear("GlintLatencyBudgetBurnsSlowly")  # last: it takes half a minute

    def faults(self):
        self.hot_gpu()
        self.file_descriptors()
        self.certificate()
        self.no_target()
        self.down_and_restarting()

    def dashboard_finds_data(self):
        # Few frames, of which the latency alerts take account later: without --loop.
        with Load(*self.stream("good")), Load(*self.detect("good/0.png"), pause=0.5):
            queries = [(title, query) for title, query in panels() if "glint_gpu_" not in query]
            for title, query in queries:
                wait_for(f"'{title}' finds data: {query}", lambda: self.prometheus.query(query))
            print(f"{len(queries)} queries of the dashboard find data")
            assert len(queries) > 30
            quiet = {"GlintDown", "GlintAbsent", "GlintErrors", "GlintBadInput", "GlintDeviceStalled", "GlintRefusing",
                     "GlintFileDescriptorsLow"}
            assert not quiet & self.prometheus.firing(), self.prometheus.firing()

    def bad_input(self):
        with Load(*self.stream("half-bad")):
            self.expect("GlintBadInput")
        self.expect_clear("GlintBadInput")

    def overload_and_stall(self):
        crowd = ("GlintQueueSaturated", "GlintLanesExhausted", "GlintLatencyBudgetBurnsFast",
                 "GlintLatencyBudgetBurnsSlowly")
        with contextlib.ExitStack() as load:
            load.enter_context(Load(*self.stream("large", "--loop", "--in-flight", "8"), copies=3))
            self.expect(*crowd)
            self.freeze_a_busy_lane(load)
            load.enter_context(Load(*self.detect("good/0.png", "--timeout", "1"), copies=2))
            self.expect("GlintDeviceStalled", "GlintErrors")
        self.expect_clear("GlintDeviceStalled", "GlintErrors", *crowd[:-1])

    def freeze_a_busy_lane(self, stack):
        def busy():
            with contextlib.ExitStack() as attempt:
                attempt.enter_context(FrozenThread(self.server.process.pid))
                if self.server.metric("glint_lanes_busy") != 1:
                    return False
                stack.push(attempt.pop_all())
                return True

        wait_for("a lane is held while it works", busy)

    def too_many_streams(self):
        with Load(*self.stream("good", "--loop", "--in-flight", "1"), copies=6):
            self.expect("GlintRefusing")
        self.expect_clear("GlintRefusing")

    def dropping(self):
        with Load(*self.stream("large", "--loop", "--policy", "latest")):
            self.expect("GlintDropping")
        self.expect_clear("GlintDropping")

    def pool_exhausted(self):
        """A pool for eight, beside its reserve, of the frames that two streams keep sixteen of under way."""
        size = os.path.getsize(os.path.join(self.folder, "large/0.png"))
        with Server(self.server.binary, self.server.glint,
                    ["--backend", "cpu", "--lanes", "1", "--max-image-pixels", str(LARGE[0] * LARGE[1]),
                     "--max-message-bytes", str(2 * size), "--max-pending-bytes", str(10 * size + size // 4)]) as small:
            with self.also_watching(small.metrics_address):
                with Load(self.server.glint, "stream", "--server", small.address, "--loop",
                          os.path.join(self.folder, "large"), copies=2):
                    self.expect("GlintPoolExhausted")
                self.expect_clear("GlintPoolExhausted")

    def hot_gpu(self):
        with HotGpu() as gpu, self.also_watching(gpu.address):
            self.expect("GlintGpuHot")
            gpu.celsius = 60
            self.expect_clear("GlintGpuHot")

    @contextlib.contextmanager
    def also_watching(self, metrics_address):
        self.prometheus.watch([self.server.metrics_address, metrics_address])
        yield
        self.prometheus.watch([self.server.metrics_address])
        wait_for("it is forgotten", lambda: len(self.prometheus.query('up{job="glint"}')) == 1)

    def file_descriptors(self):
        limit = int(self.server.metric("process_max_fds"))
        with contextlib.ExitStack() as connections:
            for _ in range(limit * 9 // 10 - int(self.server.metric("process_open_fds"))):
                connections.enter_context(socket.create_connection(("127.0.0.1", self.server.port)))
            self.expect("GlintFileDescriptorsLow")
        self.expect_clear("GlintFileDescriptorsLow")

    def certificate(self):
        authority = Authority(self.folder, "authority")
        certificate, key = authority.issue("short", 10)
        with TlsServer(self.server.binary, self.server.glint, ["--tls-certificate", certificate, "--tls-key", key]) as tls:
            with self.also_watching(tls.metrics_address):
                self.expect("GlintCertificateExpiring")
                long, long_key = authority.issue("long", 60)
                replace(long_key, key)
                replace(long, certificate)
                self.expect_clear("GlintCertificateExpiring")

    def no_target(self):
        self.prometheus.watch([])
        self.expect("GlintAbsent")
        self.prometheus.watch([self.server.metrics_address])
        self.expect_clear("GlintAbsent")

    def down_and_restarting(self):
        self.server.kill()
        self.expect("GlintDown")
        for _ in range(2):
            self.server.start()
            wait_for("the new process is scraped", lambda: self.prometheus.query('up{job="glint"} == 1'))
            time.sleep(1)
            self.server.kill()
        self.server.start()
        self.expect_clear("GlintDown")
        self.expect("GlintRestarting")
        self.expect_clear("GlintRestarting")
        assert self.server.stop() == 0


def main():
    glint_server, glint, part = sys.argv[1:4]
    need("prometheus", "prlimit", "openssl")
    with open(os.path.join(ROOT, "deploy/prometheus/glint.rules.yml")) as f:
        rules = f.read()
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as cleanup:
        for name in ("good", "half-bad", "large"):
            os.mkdir(os.path.join(folder, name))
        write_png(os.path.join(folder, "good/0.png"), 320, 240, 1)
        write_png(os.path.join(folder, "half-bad/0.png"), 320, 240, 2)
        with open(os.path.join(folder, "half-bad/1.png"), "wb") as f:
            f.write(b"\x89PNG\r\n\x1a\nnot a picture")
        write_png(os.path.join(folder, "large/0.png"), *LARGE, 3)

        server = Server(glint_server, glint,
                        ["--backend", "cpu", "--lanes", "1", "--queue-capacity", "4", "--max-sessions", "4",
                         "--max-image-pixels", str(LARGE[0] * LARGE[1]), "--max-message-bytes", str(32 << 20)],
                        max_files=256)
        server.start()
        cleanup.callback(lambda: server.kill())
        prometheus = Prometheus(folder, shortened(rules, FASTER), [server.metrics_address])
        cleanup.callback(prometheus.stop)
        test = AlertsTest(server, prometheus, folder)
        delivered = {line.split()[-1] for line in rules.splitlines() if "- alert:" in line}
        assert delivered == ALERTS["load"] | ALERTS["faults"], delivered
        test.run(part)
    print(f"{len(test.seen)} alerts fired and cleared")


if __name__ == "__main__":
    main()
