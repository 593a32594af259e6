"""Podman with storage and networks of its own in a folder, and images made of programs of this machine. Needs root."""

import json
import os
import re
import shutil
import signal
import subprocess

from stack import ROOT, need, skip

STORAGE = """[storage]
driver = "vfs"
runroot = "{folder}/run"
graphroot = "{folder}/storage"
"""
# No systemd, and runc where crun refuses hybrid control groups. The hard limits may be lower than podman's own.
CONTAINERS = """[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
log_driver = "k8s-file"
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
tmp_dir = "{folder}/tmp"
[network]
network_config_dir = "{folder}/networks"
"""


class Podman:
    """In `folder`, until close(). Skips the test where podman cannot be used."""

    def __init__(self, folder):
        need("podman", "runc", "conmon", "ip")
        if os.geteuid() != 0:
            skip("containers need root")
        self.folder = folder
        for name, text in (("storage", STORAGE), ("containers", CONTAINERS)):
            with open(f"{folder}/{name}.conf", "w") as f:
                f.write(text.format(folder=folder))
        self.environment = {**os.environ, "CONTAINERS_STORAGE_CONF": f"{folder}/storage.conf",
                            "CONTAINERS_CONF": f"{folder}/containers.conf"}
        tried = subprocess.run(["podman", "info"], env=self.environment, capture_output=True, text=True)
        if tried.returncode != 0:
            skip("podman does not work here: " + tried.stderr.strip().replace("\n", " "))

    def __call__(self, *words, check=True):
        """Runs a command of podman; what it prints."""
        done = subprocess.run(["podman", *map(str, words)], env=self.environment, capture_output=True, text=True)
        if check and done.returncode != 0:
            raise AssertionError(f"podman {' '.join(map(str, words))}: status {done.returncode}: {done.stderr}")
        return done.stdout.strip()

    def logs(self, name):
        """What a container has written to either output."""
        done = subprocess.run(["podman", "logs", name], env=self.environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=True)
        return done.stdout

    def status(self, *words):
        """Exit status of a command."""
        return subprocess.run(["podman", *words], env=self.environment, capture_output=True).returncode

    def close(self):
        self("pod", "rm", "--all", "--force", "--time=0", check=False)
        self("rm", "--all", "--force", "--time=0", check=False)
        self("volume", "rm", "--all", "--force", check=False)
        self("network", "prune", "--force", check=False)

    def inspect(self, name):
        return json.loads(self("inspect", name))[0]

    def build(self, image, programs, instructions, files=()):
        """An image with nothing but programs, their libraries, some files (each: path in the image, path here), and
        what `instructions` of a Dockerfile say."""
        root = f"{self.folder}/root"
        for folder in ("etc", "tmp", "proc", "sys", "dev"):
            os.makedirs(f"{root}/{folder}")
        os.chmod(f"{root}/tmp", 0o1777)
        with open(f"{root}/etc/passwd", "w") as f:
            f.write("root:x:0:0::/:\nglint:x:65532:65532::/:\n")
        ldd = ["ldd", *(source for _, source in programs)]
        found = set(re.findall(r"(/\S+) \(0x", subprocess.run(ldd, check=True, capture_output=True, text=True).stdout))
        for target, source in [*programs, *files, *((path, path) for path in found)]:
            os.makedirs(os.path.dirname(root + target), exist_ok=True)
            shutil.copy(os.path.realpath(source), root + target)
        with open(f"{root}.containerfile", "w") as f:
            f.write("\n".join(["FROM scratch", "COPY . /", *instructions, ""]))
        self("build", "--isolation=chroot", "--format=docker", "--tag", image, "--file", f"{root}.containerfile", root)
        shutil.rmtree(root)


class Container:
    """A running container with an address. What fleet_test.Member has, and `process` to send signals to."""

    def __init__(self, podman, name, address, *words):
        self.podman, self.name, self.address = podman, name, address
        self.process = self
        podman("run", "--detach", "--name", name, *words)

    def send_signal(self, number):
        os.kill(self.podman.inspect(self.name)["State"]["Pid"], number)

    def kill(self):
        self.podman("kill", "--signal=KILL", self.name)
        self.podman("wait", self.name)

    def stop(self):
        """By SIGTERM; the exit status."""
        self.podman("kill", f"--signal={int(signal.SIGTERM)}", self.name)
        return int(self.podman("wait", self.name))


def last_stage():
    """The instructions of docker/Dockerfile's last stage that say how the image is run."""
    with open(os.path.join(ROOT, "docker/Dockerfile")) as f:
        lines = f.read().replace("\\\n", " ").splitlines()
    first = max(i for i, line in enumerate(lines) if line.startswith("FROM "))
    kinds = ("USER", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT")
    return [line for line in lines[first:] if line.startswith(kinds)]
