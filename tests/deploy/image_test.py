#!/usr/bin/env python3
"""The Dockerfile, as far as can be said without building it: every variant has all arguments and the same stages, the
shell in it is sound, the context holds what is built, a package is installed without what compiles, and the runtime stage is
as it should be. tools/test-image.sh builds it."""

import os
import re
import shutil
import subprocess
import tempfile

from stack import ROOT

INSTRUCTIONS = {"ARG", "FROM", "ENV", "RUN", "COPY", "LABEL", "USER", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT",
                "CMD", "SHELL", "WORKDIR"}
BASES = {"BASE_BUILD", "BASE_RUN"}
INSTALLED = "install_${PACKAGE:+package}"  # the stage before the last, with a package and without


def read(path):
    with open(os.path.join(ROOT, path)) as f:
        return f.read()


def parse(text):
    """(instruction, words) with continued lines joined and comments left out."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    joined = re.sub(r"\\\n", " ", "\n".join(lines))
    for line in joined.splitlines():
        instruction, _, rest = line.partition(" ")
        assert instruction in INSTRUCTIONS, f"{instruction} is no instruction"
        yield instruction, rest.strip()


def stages(instructions):
    """{stage: (what it comes from, its instructions)}, and the arguments before the first."""
    found, arguments, current = {}, {}, None
    for instruction, rest in instructions:
        if instruction == "FROM":
            base, name = re.fullmatch(r"(\S+) AS (\w+)", rest).groups()
            current = found[name] = (base, [])
        elif current is None:
            assert instruction == "ARG", f"{instruction} before the first stage"
            name, _, default = rest.partition("=")
            arguments[name] = default
        else:
            current[1].append((instruction, rest))
    return found, arguments


def check_stages(found, arguments):
    assert list(found) == ["tools", "grpc", "build", "install_", "given", "install_package", "ros2", "run"], list(found)
    assert set(arguments) == BASES | {"PACKAGE"} and all(arguments[base] for base in BASES) and arguments["PACKAGE"] == '""'
    for name, (base, instructions) in found.items():
        assert base in ("${BASE_BUILD}", "${BASE_RUN}", "scratch", INSTALLED) or base in found, f"stage {name} comes from {base}"
        declared = {rest.partition("=")[0] for instruction, rest in instructions if instruction == "ARG"}
        for instruction, rest in instructions:
            if instruction in ("RUN", "LABEL", "COPY"):
                used = set(re.findall(r"\$\{([A-Z_]+)(?::[^}]*)?\}", rest))
                assert used <= declared, f"stage {name} uses {used - declared} without ARG"
            if "--from=" in rest or ",from=" in rest:
                assert re.search(r"[-,]from=(\w+)", rest)[1] in found
    assert found["build"][0] == "grpc" and found["grpc"][0] == "tools" and found["tools"][0] == "${BASE_BUILD}"


def check_package(found):
    """The last stage is on what PACKAGE chooses, and no stage that a package needs comes from one that compiles."""
    assert found["run"][0] == INSTALLED
    assert found["install_"][0] == found["install_package"][0] == "${BASE_RUN}" and found["given"][0] == "scratch"
    assert [rest for instruction, rest in found["given"][1] if instruction == "COPY"] == ["${PACKAGE} /glint.deb"]
    for instruction, rest in found["install_"][1]:
        assert instruction != "COPY" or "--from=build" in rest, "sources go into the runtime stages"
        assert not re.search(r"cmake|g\+\+|git|-dev", rest), f"what compiles goes into the runtime stages: {rest}"
    (run,) = [rest for _, rest in found["install_package"][1]]
    assert run == "--mount=type=bind,from=given,target=/given dpkg --install /given/glint.deb", run


def by_name_of(instructions):
    by_name = {}
    for instruction, rest in instructions:
        by_name.setdefault(instruction, []).append(rest)
    return by_name


def check_ros2(stage):
    """glint-ros2 from its package, which is the one thing that is not the distribution's."""
    base, instructions = stage
    by_name = by_name_of(instructions)
    assert base == "${BASE_RUN}" and "COPY" not in by_name
    (run,) = by_name["RUN"]
    assert run.startswith("--mount=type=bind,from=given,target=/given") and "/given/glint.deb" in run, run
    assert "--no-install-recommends" in run and "rm -rf /var/lib/apt/lists/*" in run, run
    assert by_name["USER"] == ["65532:65532"] and by_name["STOPSIGNAL"] == ["SIGTERM"]
    assert by_name["ENTRYPOINT"] == ['["/usr/bin/glint-ros2"]']
    assert by_name["CMD"] == ['["--config", "/etc/glint/glint-ros2.yaml"]']


def check_runtime(instructions):
    by_name = by_name_of(instructions)
    assert by_name["USER"] == ["65532:65532"] and by_name["STOPSIGNAL"] == ["SIGTERM"]
    assert '"/usr/bin/glint", "health"' in by_name["HEALTHCHECK"][0]
    assert by_name["ENTRYPOINT"] == ['["/usr/bin/glint-server"]'] and "CMD" not in by_name, "it opens ports unasked"
    assert not set(by_name) & {"COPY", "RUN"}, "the last stage says how it runs, and those before it what is in it"
    for label in ("title", "description", "licenses", "version", "revision"):
        assert f"org.opencontainers.image.{label}=" in by_name["LABEL"][0], label
    text = " ".join(rest for _, rest in instructions).lower()
    assert not re.search(r"password|secret|token|private", text), "a secret"


def check_variants(found):
    """Each variant gives a value to all that the file asks for; only bases and architectures may be its own."""
    asked = BASES | {rest.partition("=")[0] for _, instructions in found.values() for instruction, rest in instructions
                     if instruction == "ARG"} - {"GRPC_VERSION", "JOBS", "PACKAGE"}
    script = os.path.join(ROOT, "scripts/image-args.sh")
    names = subprocess.run([script, "--list"], check=True, capture_output=True, text=True).stdout.split()
    assert {"cpu", "cuda", "l4t-r35", "l4t-r36", "l4t-r38", "l4t-r39"} <= set(names), names
    for name in names:
        text = subprocess.run([script, name], check=True, capture_output=True, text=True).stdout
        given = dict(re.fullmatch(r"--build-arg=(\w+)=(.*)", word).groups() for word in text.split())
        assert set(given) == asked, f"{name}: {set(given) ^ asked}"
        assert given["GRPC_FROM"] in ("apt", "source"), name
        assert re.fullmatch(r"(ALL|(\d+-real(;\d+-real)*))?", given["CUDA_ARCHS"]), name
        assert bool(given["CUDA_ARCHS"]) == (name != "cpu"), name
        for base in BASES:
            assert re.fullmatch(r"[a-z0-9./-]+:[\w.-]+", given[base]), f"{name}: {given[base]}"
        ubuntu = given["GRPC_FROM"] == "source"
        assert not ubuntu or "24.04" not in given["BASE_BUILD"], f"{name}: Ubuntu 24.04 has a gRPC"
    return names


def check_context():
    """.dockerignore lets in every folder that the build reads, and nothing else."""
    allowed = {line[1:] for line in read(".dockerignore").splitlines() if line.startswith("!")}
    for path in allowed:
        assert os.path.exists(os.path.join(ROOT, path)), f".dockerignore lets in {path}, which is not there"
    built = {folder.split("/")[0] for folder in re.findall(r"^\s*add_subdirectory\(([\w/]+)\)", read("CMakeLists.txt"),
                                                           re.MULTILINE)} - {"tests"}
    assert built <= allowed, f".dockerignore keeps out {built - allowed}"
    assert {"CMakeLists.txt", "cmake", "docker", "LICENSE"} <= allowed


def check_shell(found):
    if shutil.which("shellcheck") is None:
        print("shellcheck is not installed: the shell is not looked at")
        return
    for name, (_, instructions) in found.items():
        for instruction, rest in instructions:
            if instruction != "RUN":
                continue
            with tempfile.NamedTemporaryFile("w", suffix=".sh") as f:
                # Arguments come from the engine.
                variables = set(re.findall(r"\$\{([A-Z_]+)", rest))
                f.write("#!/bin/sh\n" + "".join(f"{variable}=x\n" for variable in sorted(variables)))
                f.write(re.sub(r"^--mount=\S+\s+", "", rest) + "\n")
                f.flush()
                done = subprocess.run(["shellcheck", "--shell=sh", "--exclude=SC2086", f.name], capture_output=True,
                                      text=True)
                assert done.returncode == 0, f"stage {name}: {done.stdout}"


def check_script():
    """tools/test-image.sh names the packages that it lacks, and pipes nothing into a grep that ends early: under
    pipefail what writes into such a pipe fails."""
    done = subprocess.run(["/bin/bash", os.path.join(ROOT, "tools/test-image.sh"), "glint"],
                          env={"PATH": "/nonexistent"}, capture_output=True, text=True)
    assert done.returncode == 1, done
    for package in ("buildah", "mmdebstrap", "iproute2", "python3", "curl"):
        assert package in done.stderr, f"{package} is not named: {done.stderr}"
    assert not re.search(r"\| *grep -\w*q", read("tools/test-image.sh"))


def main():
    found, arguments = stages(parse(read("docker/Dockerfile")))
    check_stages(found, arguments)
    check_package(found)
    check_ros2(found["ros2"])
    check_runtime(found["run"][1])
    names = check_variants(found)
    check_context()
    check_shell(found)
    check_script()
    print(f"{len(names)} variants of {len(found)} stages")


if __name__ == "__main__":
    main()
