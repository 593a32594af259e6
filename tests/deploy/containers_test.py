#!/usr/bin/env python3
"""containers_test.py GLINT-SERVER GLINT FLEET-CLIENT [PART...]

What is delivered for containers, run by podman in a network of its own: the image's settings alone, with limits, health
and restarts (alone); the Compose file for podman with a Prometheus (compose); the Deployment of Kubernetes with its
probes (kube); three containers behind HAProxy, one of which is killed and one drained, without a lost frame (fleet). The
image has the programs given, and the settings of docker/Dockerfile's last stage. Parts: those named; default: all.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

from fleet_test import METRICS_PORT, PORT, Proxy, run
from podman import Container, Podman, last_stage
from stack import PATIENCE, ROOT, need, wait_for, write_png

IMAGE = "localhost/glint:package"
NETWORK, SUBNET = "glint-test", "10.209.79"
CONFINED = ("--read-only", "--cap-drop=all", "--security-opt=no-new-privileges")
SERVE = ("--listen=0.0.0.0:50051", "--metrics-listen=0.0.0.0:9464", "--backend=cpu", "--lanes=1")

# All streams come from one address.
BEHIND_PROXY = ("--max-sessions=16", "--max-sessions-per-peer=16", "--max-image-pixels=76800")


def get(url):
    """Status and text of a page; 0 without an answer."""
    try:
        with urllib.request.urlopen(url, timeout=10) as page:
            return page.status, page.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, ""
    except OSError:
        return 0, ""


class Member(Container):
    """A container of the fleet; what Episode of fleet_test does with its servers."""

    def __init__(self, podman, glint, number, *more, flags=()):
        self.glint = glint
        address = f"{SUBNET}.{10 + number}"
        place = (f"--network={NETWORK}", f"--ip={address}")
        super().__init__(podman, f"glint{number}", address, *place, *CONFINED, "--memory=1g", *more, IMAGE, *SERVE,
                         *flags)
        self.wait_until_serving()

    def wait_until_serving(self):
        command = [self.glint, "health", "--server", f"{self.address}:{PORT}", "--wait", str(PATIENCE)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    def start(self):
        self.podman("start", self.name)
        self.wait_until_serving()

    def drain(self):
        status = self.stop()
        assert status == 0, f"{self.name} ended with status {status} after SIGTERM"

    def frames(self):
        lines = get(f"http://{self.address}:{METRICS_PORT}/metrics")[1].splitlines()
        return sum(float(line.split()[-1]) for line in lines
                   if line.startswith("glint_frames_total{") and 'result="OK"' in line)


class Suite:
    def __init__(self, podman, glint, fleet_client, folder):
        self.podman, self.glint, self.fleet_client, self.folder = podman, glint, fleet_client, folder

    def stream(self, address, frames):
        files = f"{self.folder}/*.png"
        subprocess.run([self.glint, "stream", "--server", address, "--loop", "--max-frames", str(frames), files],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def alone(self):
        """Limits, user, health, a crash, a stop."""
        member = Member(self.podman, self.glint, 9, "--cpus=1", "--restart=on-failure", "--health-start-period=1s")
        state = self.podman.inspect(member.name)
        assert state["Config"]["User"] == "65532:65532" and not state["EffectiveCaps"], state["Config"]["User"]
        with open(f"/proc/{state['State']['Pid']}/status") as f:
            uids = next(line for line in f if line.startswith("Uid:")).split()[1:]
        assert set(uids) == {"65532"}, uids
        log = self.podman.logs(member.name)
        assert "usable_memory_mib=1024" in log, f"the server does not see its limit:\n{log}"
        before = member.frames()
        self.stream(f"{member.address}:{PORT}", 200)
        assert member.frames() == before + 200

        assert self.podman.status("healthcheck", "run", member.name) == 0
        member.send_signal(signal.SIGSTOP)
        # 1, or 125 where the check took as long as it may.
        assert self.podman.status("healthcheck", "run", member.name) != 0, "a server that hangs is called healthy"
        member.send_signal(signal.SIGCONT)
        wait_for("healthy again", lambda: self.podman.status("healthcheck", "run", member.name) == 0)

        pid = state["State"]["Pid"]
        os.kill(pid, signal.SIGKILL)  # not by podman, which would not start it again
        wait_for("another process", lambda: self.podman.inspect(member.name)["State"]["Pid"] not in (0, pid))
        member.wait_until_serving()
        self.stream(f"{member.address}:{PORT}", 20)
        member.drain()

    def compose(self):
        """Compose starts both services, and Prometheus sees the server come and go."""
        need("podman-compose", "prometheus")
        prometheus = ['ENTRYPOINT ["/bin/prometheus"]', "USER 65534:65534", "VOLUME /prometheus", "WORKDIR /prometheus",
                      'CMD ["--config.file=/etc/prometheus/prometheus.yml", "--storage.tsdb.path=/prometheus"]']
        with open(f"{ROOT}/deploy/compose/compose.yaml") as f:
            name = next(line.split()[1] for line in f if "prom/prometheus" in line)
        self.podman.build(name, [("/bin/prometheus", "/usr/bin/prometheus")], prometheus)
        command = ["podman-compose", "-f", f"{ROOT}/deploy/compose/podman.yaml"]
        said = {"env": self.podman.environment, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run([*command, "up", "-d", "--no-build"], check=True, **said)
        self.stream_when_serving("127.0.0.1:50051")
        state = self.podman.inspect("glint")["HostConfig"]
        assert state["ReadonlyRootfs"] and state["Memory"] == 6 << 30, state["Memory"]
        wait_for("Prometheus sees the server", lambda: self.is_up("1"))
        rules = json.loads(get("http://127.0.0.1:9090/api/v1/rules")[1])["data"]["groups"]
        assert any(rule["name"] == "GlintDown" for group in rules for rule in group["rules"])
        self.podman("stop", "glint")
        assert self.podman.inspect("glint")["State"]["ExitCode"] == 0
        wait_for("Prometheus misses the server", lambda: self.is_up("0"))
        subprocess.run([*command, "down"], check=True, **said)

    @staticmethod
    def is_up(value):
        status, text = get("http://127.0.0.1:9090/api/v1/query?query=up%7Bjob%3D%22glint%22%7D")
        return status == 200 and [r["value"][1] for r in json.loads(text)["data"]["result"]] == [value]

    def stream_when_serving(self, address):
        subprocess.run([self.glint, "health", "--server", address, "--wait", str(PATIENCE)], check=True,
                       stdout=subprocess.DEVNULL)
        self.stream(address, 20)

    def kube(self):
        """One pod of the rendered Deployment. The probes are asked here: podman 4.3 knows neither kind of port."""
        need("kubectl")
        import yaml
        rendered = subprocess.run(["kubectl", "kustomize", f"{ROOT}/deploy/kubernetes/overlays/cpu"], check=True,
                                  capture_output=True, text=True).stdout
        deployment = next(d for d in yaml.safe_load_all(rendered) if d["kind"] == "Deployment")
        deployment["spec"]["replicas"] = 1
        file = f"{self.folder}/deployment.yaml"
        with open(file, "w") as f:
            yaml.safe_dump(deployment, f)
        address = f"{SUBNET}.21"
        self.podman("play", "kube", f"--network={NETWORK}", f"--ip={address}", file)
        name = next(n for n in self.podman("ps", "--format={{.Names}}").split() if n.endswith("-glint"))
        container = deployment["spec"]["template"]["spec"]["containers"][0]
        ports = {port["name"]: port["containerPort"] for port in container["ports"]}
        self.stream_when_serving(f"{address}:{container['startupProbe']['grpc']['port']}")
        ready = f"127.0.0.1:{container['readinessProbe']['grpc']['port']}"
        assert self.podman.status("exec", name, "/usr/bin/glint", "health", "--server", ready) == 0, "not ready"
        live = container["livenessProbe"]["httpGet"]
        assert get(f"http://{address}:{ports[live['port']]}{live['path']}")[0] == 200, "not alive"
        state = self.podman.inspect(name)
        assert state["HostConfig"]["ReadonlyRootfs"] and state["HostConfig"]["Memory"] == 6 << 30
        assert state["Config"]["User"].startswith("65532") and not state["EffectiveCaps"]
        assert self.podman.status("exec", name, *container["lifecycle"]["preStop"]["exec"]["command"]) == 0
        self.podman("stop", name)
        assert self.podman.inspect(name)["State"]["ExitCode"] == 0
        self.podman("play", "kube", "--down", file)

    def fleet(self):
        """Three containers behind HAProxy; fleet_test has what happens to them."""
        need("haproxy")
        members = [Member(self.podman, self.glint, 1 + i, flags=BEHIND_PROXY) for i in range(3)]
        with contextlib.ExitStack() as cleanup:
            proxy = Proxy(members, cleanup)
            run("podman", proxy.address, "proxy", members, proxy, self.fleet_client, self.folder)
        for member in members:
            member.drain()


def main():
    server, glint, fleet_client, *parts = sys.argv[1:]
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    need("unshare", "ip", "iptables", "podman")
    if "--inside" not in parts:
        os.execvp("unshare", ["unshare", "--net", sys.executable, *sys.argv, "--inside"])
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    with tempfile.TemporaryDirectory() as folder, contextlib.closing(Podman(folder)) as podman:
        began = time.monotonic()
        programs = [("/usr/bin/glint-server", server), ("/usr/bin/glint", glint), ("/bin/sleep", "/bin/sleep")]
        podman.build(IMAGE, programs, last_stage())
        podman("network", "create", f"--subnet={SUBNET}.0/24", NETWORK)
        for i in range(4):
            write_png(f"{folder}/{i}.png", 320, 240, i)
        suite = Suite(podman, glint, fleet_client, folder)
        for part in [p for p in parts if p != "--inside"] or ["alone", "compose", "kube", "fleet"]:
            getattr(suite, part)()
            print(f"{time.monotonic() - began:5.1f} s  {part}: passed", flush=True)


if __name__ == "__main__":
    main()
