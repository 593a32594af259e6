#!/usr/bin/env python3
"""limits_test.py GLINT-SERVER

What deploy/ allows a server in memory holds what that server's own limits allow, and the documents say the same. Each
server is started with the arguments that it is deployed with, and told its limit. The defaults allow less than 4 GiB."""

import os
import re
import subprocess
import sys

from stack import ROOT

UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "ki": 1 << 10, "mi": 1 << 20, "gi": 1 << 30}
SHARE = 0.75  # of its limit that a server's limits may allow


def read(path):
    with open(os.path.join(ROOT, path)) as f:
        return f.read()


def find(pattern, path):
    found = re.search(pattern, read(path), re.MULTILINE)
    assert found, f"{path} has no {pattern}"
    return found[1]


def in_bytes(text):
    """4Gi, 4g, or 75%: of this machine's memory."""
    if text.endswith("%"):
        return int(text[:-1]) * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 100
    number, unit = re.fullmatch(r"(\d+)(\w*)", text).groups()
    return int(number) * UNITS[unit.lower()]


def start_line(server, arguments):
    """The fields of the line that says that it serves, and all that it logged before."""
    command = [server, *arguments, "--backend=cpu", "--listen=127.0.0.1:0", "--metrics-listen="]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    log = ""
    try:
        for line in process.stderr:
            log += line
            if " serving " in line:
                return dict(re.findall(r' (\w+)=("[^"]*"|\S+)', line)), log
    finally:
        process.kill()
        process.wait()
    raise AssertionError(f"{command}: {log}")


def check(name, server, limit, arguments, share=SHARE):
    fields, log = start_line(server, [*arguments, f"--memory-limit={limit}"])
    bound = int(fields["memory_bound_mib"]) << 20
    assert bound <= share * limit, f"{name}: a bound of {bound} within a limit of {limit}"
    assert " warning " not in log, f"{name}: {log}"
    print(f"{name}: {bound >> 20} of {limit >> 20} MiB, {fields['lanes']} lanes")


def pod_arguments(overlay):
    arguments = re.findall(r"^\s+- (--\S+)$", read("deploy/kubernetes/base/deployment.yaml"), re.MULTILINE)
    overlay_text = read(f"deploy/kubernetes/overlays/{overlay}/kustomization.yaml")
    arguments += re.findall(r"args/-, value: (--[^}]+)}", overlay_text)
    return [a for a in arguments if not a.startswith(("--listen", "--metrics-listen", "--backend", "--log-format"))]


def main():
    server = sys.argv[1]
    deployment = "deploy/kubernetes/base/deployment.yaml"
    pod = in_bytes(find(r"limits: \{memory: (\w+)\}", deployment))
    assert in_bytes(find(r"requests: \{.*memory: (\w+)\}", deployment)) <= pod
    for overlay in ("cpu", "jetson"):
        check(f"pod, {overlay}", server, pod, pod_arguments(overlay))
    compose = "deploy/compose/compose.yaml"
    check("compose", server, in_bytes(find(r"mem_limit: (\w+)", compose)), [find(r"command: .*(--lanes=\d+)", compose)])
    # All of what the unit leaves to the server on this machine, with as many lanes as it has processors.
    check("unit", server, in_bytes(find(r"^MemoryMax=(\S+)", "deploy/systemd/glint-server.service")),
          re.findall(r"^(--(?!listen|metrics)\S+)", read("deploy/systemd/glint-server.flags"), re.MULTILINE), share=1)

    # A limit that what was set does not fit into is an error, and one that only the machine sets is a loud line.
    done = subprocess.run([server, "--backend=cpu", "--listen=127.0.0.1:0", "--metrics-listen=", "--max-sessions=60000",
                           f"--memory-limit={pod}"], capture_output=True, text=True)
    assert done.returncode == 1 and "memory-limit: " in done.stderr, done
    fields, log = start_line(server, ["--max-sessions=60000"])
    assert "warning more memory allowed than there is" in log, log

    # The bounds of the defaults, by lanes.
    for lanes, mib in re.findall(r"^\| (\d+) \| (\d+) MiB \|", read("docs/server.md"), re.MULTILINE):
        fields, log = start_line(server, [f"--lanes={lanes}"])
        assert fields["memory_bound_mib"] == mib and int(mib) < 4096, f"{lanes} lanes: {fields}, not {mib} MiB"

    # The documents name the same limits.
    for path, text in (("docs/operations/kubernetes.md", find(r"(limits: \{memory: \w+\})", deployment)),
                       ("docs/operations/README.md", find(r"^(MemoryMax=\S+)", "deploy/systemd/glint-server.service"))):
        assert text in read(path), f"{path} does not say {text}"


if __name__ == "__main__":
    main()
