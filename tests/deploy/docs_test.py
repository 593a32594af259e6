#!/usr/bin/env python3
"""docs_test.py GLINT-SERVER GLINT

The documents match the programs: docs/server.md has exactly the flags of --help and the metrics of the metrics page. Every
command of the README, the guides and docs/operations is run by a test or says why not; those marked "run: here" run here, with
a server at the default addresses, in a network of their own. Links lead somewhere, lines are at most 120 columns wide, and
every page begins with a sentence.
"""

import glob
import os
import re
import subprocess
import sys
import tempfile
import urllib.request

from doc_commands import blocks
from stack import PATIENCE, ROOT, need, skip, write_png

METRIC = re.compile(r"\b(?:glint|grpc_server|process)_[a-z0-9_]+\b")
# Where the commands of a document can be run, and the test that does it.
PLACES = {"here": "tests/deploy/docs_test.py", "install": "tools/test-systemd.sh", "machine": "tools/test-systemd.sh",
          "package": "tools/time-first-steps.sh", "source": "tools/time-first-steps.sh",
          "python": "tools/time-first-steps.sh"}


def read(path):
    with open(os.path.join(ROOT, path)) as f:
        return f.read()


def check_flags(server):
    text = subprocess.run([server, "--help"], check=True, capture_output=True, text=True).stdout
    there = set(re.findall(r"^  --([a-z-]+)", text, re.MULTILINE))
    assert len(there) > 15, there
    table = set(re.findall(r"^\| `--([a-z-]+)`", read("docs/server.md"), re.MULTILINE))
    table |= set(re.findall(r"^\| `--help`, `--(version)`", read("docs/server.md"), re.MULTILINE))
    assert there - table == set(), f"docs/server.md lacks the flags {sorted(there - table)}"
    assert table - there == set(), f"docs/server.md has flags that are none: {sorted(table - there)}"
    defaults = dict(re.findall(r"^  --([a-z-]+)=\S+ \((.*)\)$", text, re.MULTILINE))
    for name, shown in re.findall(r"^\| `--([a-z-]+)` \| `([^`]*)`", read("docs/server.md"), re.MULTILINE):
        assert defaults[name] == shown, f"docs/server.md: --{name} is {defaults[name]} by default, not {shown}"
    print(f"{len(there)} flags")


def check_metrics():
    with urllib.request.urlopen("http://127.0.0.1:9464/metrics", timeout=10) as page:
        there = set(re.findall(r"^# TYPE (\S+)", page.read().decode(), re.MULTILINE))
    assert len(there) > 20, there
    table = set()
    for line in read("docs/server.md").splitlines():
        if line.startswith("| `") and METRIC.search(line.split("|")[1]):
            table |= set(METRIC.findall(line.split("|")[1]))
    assert there - table == set(), f"docs/server.md lacks the metrics {sorted(there - table)}"
    names = set(re.findall(r'"((?:glint|grpc_server|process)_[a-z0-9_]+)"', read("server/base/names.h")))
    assert table - names == set(), f"docs/server.md has metrics that are none: {sorted(table - names)}"
    print(f"{len(there)} metrics")


def documents():
    guides = ["README.md", "CONTRIBUTING.md", "docs/server.md", "docs/client.md"]
    return guides + sorted(os.path.relpath(path, ROOT) for path in glob.glob(os.path.join(ROOT, "docs/operations/*.md")))


def run_commands(environment, folder):
    """Runs what is to be run here, and complains about every block of commands that nobody runs."""
    complaints, count = [], 0
    for path in documents():
        text = read(path)
        assert not re.search(r"\n\n    [a-z./]", text), f"{path}: commands belong into fences"
        for marker, language, block, line in blocks(text):
            if language != "sh":
                continue
            kind, _, argument = (marker or "").partition(": ")
            if kind == "not run" and argument:
                continue
            if kind != "run" or argument not in PLACES:
                complaints.append(f"{path}:{line}: neither run by a test nor marked as not run: {marker}")
            elif argument == "here":
                count += 1
                done = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", block], cwd=folder, env=environment,
                                      capture_output=True, text=True, timeout=PATIENCE)
                if done.returncode != 0:
                    complaints.append(f"{path}:{line}: status {done.returncode}\n{done.stdout}{done.stderr}")
    assert not complaints, "\n".join(complaints)
    print(f"{count} blocks of commands run, in {len(documents())} documents")


def pages():
    """All documents, whether their commands are run or not."""
    found = glob.glob(os.path.join(ROOT, "*.md")) + glob.glob(os.path.join(ROOT, "docs/**/*.md"), recursive=True)
    return sorted(os.path.relpath(path, ROOT) for path in found)


def anchors(path):
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", read(path), flags=re.MULTILINE | re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def check_links():
    for path in pages():
        for target, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", read(path)):
            name = os.path.normpath(os.path.join(os.path.dirname(path), target)) if target else path
            assert os.path.exists(os.path.join(ROOT, name)), f"{path}: no {target}"
            assert not anchor or anchor in anchors(name), f"{path}: {target} has no heading for #{anchor}"


def check_layout():
    """Lines are at most 120 columns wide, but for rows of tables and code; text follows the title."""
    complaints = []
    for path in pages():
        lines = read(path).splitlines()
        first = next(line for line in lines[1:] if line)
        if not lines[0].startswith("# ") or re.match(r"[|#*`<!-]", first):
            complaints.append(f"{path}: begins with no title and a sentence for whom it is")
        in_code = False
        for number, line in enumerate(lines, 1):
            in_code ^= line.startswith("```")
            if len(line) > 120 and not in_code and not line.startswith("|"):
                complaints.append(f"{path}:{number}: {len(line)} columns")
    assert not complaints, "\n".join(complaints)
    print(f"{len(pages())} pages")


def main():
    server, glint = map(os.path.realpath, sys.argv[1:3])
    check_flags(server)
    check_links()
    check_layout()
    need("unshare", "ip", "curl", "bash", "ffmpeg")  # ffmpeg: for the examples with a video
    if "--inside" not in sys.argv:
        if os.geteuid() != 0 or subprocess.run(["unshare", "--net", "true"], stderr=subprocess.DEVNULL).returncode != 0:
            skip("a network of its own needs root")
        os.execvp("unshare", ["unshare", "--net", sys.executable, __file__, server, glint, "--inside"])
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(f"{folder}/bin")
        for program in (server, glint):
            os.symlink(program, f"{folder}/bin/{os.path.basename(program)}")
        for name in ("deploy", "docker", "scripts", "tests", "cmake", "CMakeLists.txt"):
            os.symlink(os.path.join(ROOT, name), f"{folder}/{name}")
        os.mkdir(f"{folder}/frames")
        for name in ("picture.png", "frames/0.png", "frames/1.png"):
            write_png(f"{folder}/{name}", 640, 480, 1)
        environment = {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}:/usr/sbin", "HOME": folder}
        process = subprocess.Popen([server, "--backend", "cpu"], stderr=subprocess.DEVNULL)
        try:
            subprocess.run([glint, "health", "--wait", str(PATIENCE)], check=True, stdout=subprocess.DEVNULL)
            for command in (["detect", "picture.png", "--draw", "photo.jpg"], ["stream", "frames", "--draw", "video.mp4"]):
                subprocess.run([glint, *command], cwd=folder, check=True, stdout=subprocess.DEVNULL)
            check_metrics()
            run_commands(environment, folder)
        finally:
            process.kill()
            process.wait()


if __name__ == "__main__":
    main()
