#!/usr/bin/env python3
"""carry.py PREFIX [--sysroot FOLDER] [--system NAME] [--license NAME=FILE]... [--check]

Makes the programs in PREFIX/bin want nothing of a machine but the C and C++ runtime and CUDA's driver: copies every other
shared library that they load into PREFIX/lib/glint, where they then look for it, with the versions of its package
(PREFIX/lib/glint/packages) and its license (PREFIX/lib/glint/copyright). Then checks, and with --check does nothing else,
that no program or library there wants another library, or a symbol that the system NAME lacks. Prints what a package has to
depend on.

  --sysroot  where the libraries are, with the file `owners` of scripts/aarch64/sysroot.sh; default: this machine
  --system   the oldest system that the programs have to run on: ubuntu22.04, debian12 (default), ubuntu24.04 or debian13
  --license  a license of what is linked statically, for PREFIX/lib/glint/copyright/NAME
"""

import argparse
import os
import re
import shutil
import subprocess
import sys

# What a machine has: the C and C++ runtime, and what comes with NVIDIA's driver.
SYSTEM = re.compile(r"(ld-linux.*|lib(c|m|mvec|pthread|dl|rt|resolv|util|anl|stdc\+\+|gcc_s|cuda|nvidia.*))\.so(\..*)?$")
# The newest symbols of the C library, of libstdc++ and of libgcc.
NEWEST = {
    "ubuntu22.04": {"GLIBC": "2.35", "GLIBCXX": "3.4.30", "CXXABI": "1.3.13", "GCC": "12.0.0"},
    "debian12": {"GLIBC": "2.36", "GLIBCXX": "3.4.30", "CXXABI": "1.3.13", "GCC": "12.0.0"},
    "ubuntu24.04": {"GLIBC": "2.39", "GLIBCXX": "3.4.33", "CXXABI": "1.3.15", "GCC": "14.0.0"},
    "debian13": {"GLIBC": "2.41", "GLIBCXX": "3.4.33", "CXXABI": "1.3.15", "GCC": "14.0.0"}}
# The release of GCC that brought a version of libstdc++, which names its package.
GCC_RELEASES = (("3.4.28", "9"), ("3.4.29", "11"), ("3.4.30", "12"), ("3.4.32", "13"), ("3.4.33", "14"))


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def number(version):
    return [int(part) for part in version.split(".")]


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def files(folder):
    """The programs and libraries of a folder; links are left out."""
    paths = [os.path.join(folder, name) for name in sorted(os.listdir(folder))] if os.path.isdir(folder) else []
    return [path for path in paths if os.path.isfile(path) and not os.path.islink(path) and is_elf(path)]


def wanted(path):
    """The libraries that a file names, and where it looks for them."""
    text = output("readelf", "--wide", "--dynamic", path)
    search = re.search(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", text)
    names = [name for name in re.findall(r"\(NEEDED\).*\[(.*)\]", text) if not SYSTEM.match(name)]
    return names, search.group(1) if search else ""


def set_search(path, search):
    # RPATH, not RUNPATH: a program's is the one of the libraries that it loads, too, which so stay the distribution's.
    subprocess.run(["patchelf", "--force-rpath", "--set-rpath", search, path], check=True)


class Sources:
    """Where libraries come from: a sysroot, or this machine."""

    def __init__(self, sysroot, program):
        machine = re.search(r"Machine: +(.*)", output("readelf", "--file-header", program)).group(1)
        triplet = {"AArch64": "aarch64-linux-gnu"}.get(machine, "x86_64-linux-gnu")
        self.root = sysroot or ""
        self.folders = [self.root + folder for folder in (f"/usr/lib/{triplet}", f"/lib/{triplet}", "/usr/lib", "/lib")]
        self.owners = {}
        if sysroot:
            with open(f"{sysroot}/owners", encoding="utf-8") as file:
                self.owners = {path: (package, version) for path, package, version in map(str.split, file)}

    def find(self, name, search):
        own = [self.root + folder for folder in search.split(":") if folder.startswith("/")]
        return next((os.path.join(folder, name) for folder in own + self.folders
                     if os.path.exists(os.path.join(folder, name))), None)

    def owner(self, path):
        """(package, version) that a library is from."""
        path = os.path.realpath(path)
        if self.root:
            names = [path[len(self.root):], path[len(self.root) + len("/usr"):]]
            return next((self.owners[name] for name in names if name in self.owners), None)
        for name in (path, path[len("/usr"):]):
            done = subprocess.run(["dpkg-query", "-S", name], capture_output=True, text=True)
            if done.returncode == 0:
                package = done.stdout.split(":")[0].split(",")[0]
                version = output("dpkg-query", "-W", "-f", "${Version}\n", package).split()[0]
                return package, version
        return None

    def license(self, package):
        path = f"{self.root}/usr/share/doc/{package}/copyright"
        return path if os.path.exists(path) else None


def carry(prefix, sysroot, licenses):
    """Complaints about what cannot be carried."""
    programs, carried = files(f"{prefix}/bin"), f"{prefix}/lib/glint"
    sources = Sources(sysroot, programs[0])
    os.makedirs(f"{carried}/copyright", exist_ok=True)
    packages, left, seen = {}, list(programs), set()
    while left:
        path = left.pop()
        names, search = wanted(path)
        for name in names:
            if name in seen:
                continue
            seen.add(name)
            found = sources.find(name, search)
            owner = found and sources.owner(found)
            if not owner or not sources.license(owner[0]):
                yield f"{os.path.basename(path)} wants {name}: " + (
                    "not found" if not found else f"{found} belongs to no package" if not owner else
                    f"no license in /usr/share/doc/{owner[0]}/copyright")
                continue
            packages[owner[0]] = owner[1]
            shutil.copy(os.path.realpath(found), f"{carried}/{name}")
            os.chmod(f"{carried}/{name}", 0o644)
            left.append(f"{carried}/{name}")
        if path not in programs and search:
            set_search(path, "$ORIGIN")
    for program in programs:
        set_search(program, "$ORIGIN/../lib/glint")
    for package in packages:
        shutil.copy(sources.license(package), f"{carried}/copyright/{package}")
    for name, path in licenses:
        shutil.copy(path, f"{carried}/copyright/{name}")
    for name in os.listdir(f"{carried}/copyright"):
        os.chmod(f"{carried}/copyright/{name}", 0o644)
    with open(f"{carried}/packages", "w", encoding="utf-8") as file:
        file.writelines(f"{package} {version}\n" for package, version in sorted(packages.items()))


def symbols(paths):
    """(file, symbol, library, version) of every symbol with a version that comes from elsewhere."""
    file = ""
    for line in output("readelf", "--wide", "--dyn-syms", *paths).splitlines():
        if line.startswith("File: "):
            file = os.path.basename(line[len("File: "):])
        found = re.search(r" UND (\S+?)@+(GLIBC|GLIBCXX|CXXABI|GCC)_(\S+)", line)
        if found:
            yield (file or os.path.basename(paths[0]), *found.groups())


def check(prefix, system):
    """Complaints, and the newest version of each library that is used."""
    carried = f"{prefix}/lib/glint"
    paths, complaints, newest = files(f"{prefix}/bin") + files(carried), [], {}
    have = set(os.listdir(carried)) if os.path.isdir(carried) else set()
    for path in paths:
        names, search = wanted(path)
        complaints += [f"{os.path.basename(path)} wants {name}, which the package lacks" for name in names if name not in have]
        # No search path is the program's.
        if search not in ("$ORIGIN/../lib/glint",) if path.startswith(f"{prefix}/bin/") else search not in ("", "$ORIGIN"):
            complaints.append(f"{os.path.basename(path)} looks for libraries in {search or 'no folder of the package'}")
    for file, symbol, library, version in symbols(paths):
        limit = NEWEST[system][library]
        if not re.fullmatch(r"[\d.]+", version) or number(version) > number(limit):
            complaints.append(f"{file} wants {symbol} of {library}_{version}; {system} has {library}_{limit}")
        else:
            newest[library] = max(newest.get(library, "0"), version, key=number)
    return complaints, newest


def depends(newest):
    gcc = next(release for version, release in GCC_RELEASES if number(newest.get("GLIBCXX", "0")) <= number(version))
    return f"libc6 (>= {newest.get('GLIBC', '2.17')}), libgcc-s1 (>= 3.0), libstdc++6 (>= {gcc})"


def main():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument("prefix")
    parser.add_argument("--sysroot", type=os.path.realpath)
    parser.add_argument("--system", choices=NEWEST, default="debian12")
    parser.add_argument("--license", action="append", default=[], type=lambda text: text.partition("=")[::2])
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    complaints = [] if arguments.check else list(carry(arguments.prefix, arguments.sysroot, arguments.license))
    if not complaints:
        complaints, newest = check(arguments.prefix, arguments.system)
    if complaints:
        sys.exit("\n".join(f"carry.py: {complaint}" for complaint in complaints))
    print(depends(newest))


if __name__ == "__main__":
    main()
