#!/usr/bin/env python3
"""What a program of Glint is made of, as SPDX 2.3 in JSON (a software bill of materials), on standard output.

  scripts/sbom.py BUILD-FOLDER PROGRAM...     for example: scripts/sbom.py build/release glint-server glint

From the build itself: the shared libraries that the program loads (ldd), the static ones on its link line and the headers that
its objects include (ninja). Names and versions are those of the distribution's packages (dpkg-query), which also own their
security fixes; a file that no package owns is listed by its path. Licenses are those that the package's copyright file names,
for all files of its source package: a library may be under fewer. The time is SOURCE_DATE_EPOCH, if that is set.
"""

import datetime
import functools
import hashlib
import json
import os
import re
import subprocess
import sys
import urllib.parse

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FORMAT = "${binary:Package}\t${Version}\t${Architecture}\t${source:Package}\t${source:Version}\t${Homepage}\n"

# Debian's short names of licenses (DEP-5), lower case -> SPDX's.
SPDX_LICENSES = {
    "apache-2": "Apache-2.0", "apache-2.0": "Apache-2.0", "bsd-2-clause": "BSD-2-Clause", "bsd-3-clause": "BSD-3-Clause",
    "expat": "MIT", "mit": "MIT", "isc": "ISC", "zlib": "Zlib", "mpl-2.0": "MPL-2.0", "mpl-2": "MPL-2.0",
    "cc0-1.0": "CC0-1.0", "bsl-1.0": "BSL-1.0",
    **{f"{name}-{version}{plus}": f"{name.upper()}-{version if '.' in version else version + '.0'}-{end}"
       for name, versions in (("gpl", ("1", "2", "3", "2.0", "3.0")), ("lgpl", ("2", "2.1", "3", "2.0", "3.0")))
       for version in versions for plus, end in (("", "only"), ("+", "or-later"))}}


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def link_line(build, program):
    """The command that links the program, and the name that ninja has for it."""
    targets = output("ninja", "-C", build, "-t", "targets", "all")
    name = next((t for t in re.findall(r"^(\S+): CXX_EXECUTABLE_LINKER", targets, re.MULTILINE)
                 if os.path.basename(t) == program), None)
    if name is None:
        sys.exit(f"sbom.py: {build} has no program {program}")
    return name, output("ninja", "-C", build, "-t", "commands", "-s", name)


def included_files(build, program):
    """Files outside the tree that objects of the program were compiled from."""
    inputs = set(re.findall(r"\S+\.o\b", output("ninja", "-C", build, "-t", "commands", program)))
    files, wanted = set(), False
    for line in output("ninja", "-C", build, "-t", "deps").splitlines():
        if line and not line.startswith(" "):
            wanted = line.split(":")[0] in inputs
        elif wanted and line.strip().startswith("/usr/"):
            files.add(line.strip())
    return files


def loaded_libraries(path):
    return {os.path.realpath(library) for library in re.findall(r"(?:=> |^\t)(/\S+) \(0x", output("ldd", path), re.MULTILINE)}


def owners(files):
    """File -> the package that installed it; files that no package owns are left out."""
    # A merged /usr: packages may know a file by its path without it.
    names = sorted(files) + [f[len("/usr"):] for f in sorted(files) if f.startswith("/usr/lib")]
    found = {}
    for i in range(0, len(names), 500):
        done = subprocess.run(["dpkg-query", "-S", *names[i:i + 500]], capture_output=True, text=True)
        for package, path in re.findall(r"^([^,\n]+?)(?:, [^\n]*)?: (/\S+)$", done.stdout, re.MULTILINE):
            found[path if path in files else "/usr" + path] = package
    return found


@functools.lru_cache(maxsize=None)
def package_fields(name):
    return output("dpkg-query", "-W", "-f", FORMAT, name).splitlines()[0].split("\t")


@functools.lru_cache(maxsize=None)
def package_licenses(name):
    """(SPDX expression or NOASSERTION, {LicenseRef: text}) from the copyright file of a package, if a program can read it."""
    path = f"/usr/share/doc/{name}/copyright"
    if not os.path.exists(path):
        return "NOASSERTION", {}
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    if not text.startswith("Format:"):
        return "NOASSERTION", {}
    names = set()
    for paragraph in re.split(r"\n\s*\n", text):
        found = re.search(r"^License: *(\S.*)$", paragraph, re.MULTILINE)
        if found and re.search(r"^Files:", paragraph, re.MULTILINE):
            names.add(found.group(1).strip())
    parts, texts = set(), {}
    for license_name in names:
        choices = []
        for one in re.split(r",? +(?:and/or|or) +", license_name):
            terms = [SPDX_LICENSES.get(term.lower()) or reference(term, path, texts)
                     for term in re.split(r",? +and +", one)]
            choices.append(sorted(terms))
        if len(choices) == 1:
            parts.update(choices[0])
        else:
            parts.add("(" + " OR ".join(sorted(" AND ".join(choice) for choice in choices)) + ")")
    return " AND ".join(sorted(parts)) or "NOASSERTION", texts


def reference(name, path, texts):
    """The identifier of a license that SPDX's list lacks, noted in `texts` with where its text is."""
    package = os.path.basename(os.path.dirname(path))
    ident = "LicenseRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", f"{package}-{name}")
    texts[ident] = f"{name}: see {path} of the package"
    return ident


def sha256(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def spdx_id(kind, name):
    return f"SPDXRef-{kind}-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


class Document:
    def __init__(self, version, programs):
        seconds = int(os.environ.get("SOURCE_DATE_EPOCH", datetime.datetime.now().timestamp()))
        created = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        digest = hashlib.sha256("".join(sha256(path) for path in programs).encode()).hexdigest()
        self.json = {
            "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"glint-{version}",
            "documentNamespace": f"https://glint.invalid/spdx/glint-{version}-{digest}",
            "creationInfo": {"created": created, "creators": ["Organization: Glint", "Tool: scripts/sbom.py"]},
            "packages": [], "relationships": [], "hasExtractedLicensingInfos": []}

    def package(self, ident, name, version, **more):
        if all(p["SPDXID"] != ident for p in self.json["packages"]):
            self.json["packages"].append({
                "SPDXID": ident, "name": name, "versionInfo": version, "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
                "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION", "copyrightText": "NOASSERTION", **more})
        return ident

    def relate(self, subject, kind, target):
        relation = {"spdxElementId": subject, "relationshipType": kind, "relatedSpdxElement": target}
        if relation not in self.json["relationships"]:
            self.json["relationships"].append(relation)

    def dpkg_package(self, name, distribution):
        package, version, architecture, source, source_version, homepage = package_fields(name)
        package = package.split(":")[0]
        reference = (f"pkg:deb/{distribution['ID']}/{package}@{urllib.parse.quote(version, safe='')}"
                     f"?arch={architecture}&distro={distribution['VERSION_CODENAME']}")
        licenses, texts = package_licenses(package)
        for ident, text in sorted(texts.items()):
            info = {"licenseId": ident, "extractedText": text}
            if info not in self.json["hasExtractedLicensingInfos"]:
                self.json["hasExtractedLicensingInfos"].append(info)
        return self.package(
            spdx_id("Package", package), package, version, licenseDeclared=licenses, supplier=f"Organization: {distribution['NAME']}",
            **({"homepage": homepage} if homepage else {}), sourceInfo=f"built from source package {source} {source_version}",
            externalRefs=[{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": reference}])


def main():
    if len(sys.argv) < 3 or sys.argv[1] in ("-h", "--help"):
        print(__doc__.strip(), file=sys.stdout if sys.argv[1:] in (["-h"], ["--help"]) else sys.stderr)
        return 0 if sys.argv[1:] in (["-h"], ["--help"]) else 2
    build, programs = sys.argv[1], sys.argv[2:]
    with open(os.path.join(ROOT, "CMakeLists.txt")) as file:
        version = re.search(r"project\(glint VERSION (\S+)", file.read()).group(1)
    with open("/etc/os-release") as file:
        distribution = dict(re.findall(r'^(\w+)="?([^"\n]*)"?$', file.read(), re.MULTILINE))

    links = {program: link_line(build, program) for program in programs}
    paths = {program: os.path.join(build, name) for program, (name, _) in links.items()}
    document = Document(version, paths.values())
    for program, (name, command) in links.items():
        ident = document.package(spdx_id("Program", program), program, version, licenseDeclared="Apache-2.0",
                                 primaryPackagePurpose="APPLICATION",
                                 checksums=[{"algorithm": "SHA256", "checksumValue": sha256(paths[program])}])
        document.relate("SPDXRef-DOCUMENT", "DESCRIBES", ident)
        kinds = {"DYNAMIC_LINK": loaded_libraries(paths[program]),
                 "STATIC_LINK": {os.path.realpath(f) for f in re.findall(r"(?:^| )(/\S+\.a)\b", command)},
                 "BUILD_DEPENDENCY_OF": included_files(build, name)}
        for kind, files in kinds.items():
            owner = owners(files)
            for file in sorted(files):
                if file in owner:
                    part = document.dpkg_package(owner[file], distribution)
                elif kind == "BUILD_DEPENDENCY_OF":
                    continue  # headers of a toolkit whose libraries are listed
                else:
                    part = document.package(spdx_id("File", file), file, "NOASSERTION",
                                            checksums=[{"algorithm": "SHA256", "checksumValue": sha256(file)}])
                document.relate(*((part, kind, ident) if kind == "BUILD_DEPENDENCY_OF" else (ident, kind, part)))
    json.dump(document.json, sys.stdout, indent=1, sort_keys=True)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
