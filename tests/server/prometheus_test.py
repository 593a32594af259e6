#!/usr/bin/env python3
"""A real Prometheus scrapes a real glint-server, and promtool accepts its page.

Usage: prometheus_test.py GLINT_SERVER BLACKBOX_TEST

Needs Debian's or Ubuntu's package `prometheus`; without it the test says so and is skipped.
"""
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse
import urllib.request

SERVER, BLACKBOX = sys.argv[1:3]
PATIENCE_S = 60  # before something that should happen has not


def fetch(url):
    with urllib.request.urlopen(url, timeout=10) as response:
        return response.read().decode()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def eventually(what, attempt):
    give_up = time.monotonic() + PATIENCE_S
    while True:
        try:
            result = attempt()
        except (OSError, ValueError):
            result = None
        if result:
            return result
        if time.monotonic() > give_up:
            raise AssertionError("not after %d s: %s" % (PATIENCE_S, what))
        time.sleep(0.1)


class PrometheusTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.log = open(os.path.join(self.folder.name, "server.log"), "w+")
        self.addCleanup(self.log.close)
        self.start([SERVER, "--backend=cpu", "--listen=127.0.0.1:0", "--metrics-listen=127.0.0.1:0"], self.log)
        line = eventually("the server serves", self.startup_line)
        self.address = re.search(r" listen=(\S+)", line).group(1)
        self.metrics = re.search(r" metrics=(\S+)", line).group(1)
        eventually("the server is ready", lambda: fetch("http://%s/readyz" % self.metrics))
        # Frames, good and bad, to have something to count.
        subprocess.run([BLACKBOX, "--gtest_filter=*FindsFeatures*:*ErrorsName*:*AStreamAnswers*"], check=True,
                       env=dict(os.environ, GLINT_BLACKBOX_ADDRESS=self.address), stdout=subprocess.DEVNULL)

    def start(self, command, log):
        process = subprocess.Popen(command, stdout=log, stderr=log)

        def stop():
            process.terminate()
            process.wait()

        self.addCleanup(stop)

    def startup_line(self):
        with open(self.log.name) as log:
            return next((line for line in log if " serving " in line and line.endswith("\n")), None)

    def test_promtool_accepts_the_page(self):
        page = fetch("http://%s/metrics" % self.metrics)
        result = subprocess.run(["promtool", "check", "metrics"], input=page, text=True, capture_output=True)
        self.assertEqual((result.returncode, result.stdout + result.stderr), (0, ""))

    def test_prometheus_scrapes_it(self):
        config = os.path.join(self.folder.name, "prometheus.yml")
        with open(config, "w") as out:
            out.write("global: {scrape_interval: 1s}\n"
                      "scrape_configs:\n- job_name: glint\n  static_configs:\n  - targets: ['%s']\n" % self.metrics)
        port = free_port()
        with open(os.path.join(self.folder.name, "prometheus.log"), "w") as log:
            self.start(["prometheus", "--config.file=" + config,
                        "--storage.tsdb.path=" + os.path.join(self.folder.name, "data"),
                        "--web.listen-address=127.0.0.1:%d" % port], log)

        def query(expression):
            url = "http://127.0.0.1:%d/api/v1/query?%s" % (port, urllib.parse.urlencode({"query": expression}))
            result = json.loads(fetch(url))["data"]["result"]
            return float(result[0]["value"][1]) if result else None

        self.assertEqual(eventually("Prometheus has scraped", lambda: query("up{job='glint'}")), 1)
        self.assertGreaterEqual(query("glint_lanes"), 1)
        self.assertEqual(query("glint_frames_total{operation='detect',result='OK'}"), 29)
        self.assertEqual(query("sum(grpc_server_handled_total{grpc_code='INVALID_ARGUMENT'})"), 2)
        self.assertEqual(query("count(glint_build_info)"), 1)
        self.assertEqual(query("glint_sessions"), 0)
        self.assertGreater(query("histogram_quantile(0.5, glint_frame_duration_seconds_bucket{operation='detect'})"), 0)
        self.assertGreater(query("process_resident_memory_bytes"), 0)


if __name__ == "__main__":
    missing = [tool for tool in ("prometheus", "promtool") if shutil.which(tool) is None]
    if missing:
        print("GLINT_SKIP_ALL: %s is not installed" % missing[0])
        sys.exit(0)
    unittest.main(argv=sys.argv[:1])
