#!/usr/bin/env python3
"""sbom_test.py BUILD-FOLDER GLINT-SERVER

The bill of materials of a build: valid as SPDX 2.3 has it, complete (every library that the program loads), with the versions
that are installed, and the same each time.
"""

import json
import os
import re
import subprocess
import sys

from stack import ROOT, need

PACKAGE_FIELDS = {"SPDXID", "name", "versionInfo", "downloadLocation", "licenseConcluded", "licenseDeclared", "copyrightText"}


def bill(build, program):
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
    command = [sys.executable, os.path.join(ROOT, "scripts/sbom.py"), build, os.path.basename(program)]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout


def check_form(document):
    assert document["spdxVersion"] == "SPDX-2.3" and document["dataLicense"] == "CC0-1.0"
    assert document["SPDXID"] == "SPDXRef-DOCUMENT" and document["documentNamespace"].startswith("https://")
    assert document["creationInfo"]["created"] == "2023-11-14T22:13:20Z"
    idents = [package["SPDXID"] for package in document["packages"]]
    assert len(set(idents)) == len(idents), "an identifier is there twice"
    for package in document["packages"]:
        assert PACKAGE_FIELDS <= set(package), package
        assert re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", package["SPDXID"]), package["SPDXID"]
    extracted = {info["licenseId"] for info in document["hasExtractedLicensingInfos"]}
    for package in document["packages"]:
        for term in re.split(r" AND | OR ", package["licenseDeclared"].replace("(", "").replace(")", "")):
            known = term in extracted if term.startswith("LicenseRef-") else re.fullmatch(r"[A-Z][A-Za-z0-9.-]+", term)
            assert known, f"{package['name']}: license {term}"
    known = set(idents) | {"SPDXRef-DOCUMENT"}
    for relation in document["relationships"]:
        assert {relation["spdxElementId"], relation["relatedSpdxElement"]} <= known, relation


def check_libraries(document, program):
    related = {r["relatedSpdxElement"] for r in document["relationships"] if r["relationshipType"] == "DYNAMIC_LINK"}
    loaded = [p for p in document["packages"] if p["SPDXID"] in related]
    names = {p["name"] for p in loaded}
    for part in ("libc6", "libgrpc++", "libprotobuf", "libspng0", "libjpeg", "libstdc++6"):
        assert any(name.startswith(part) for name in names), f"{part} is missing among {sorted(names)}"
    libraries = re.findall(r"=> (/\S+)", subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout)
    for library in libraries:
        path = os.path.realpath(library)
        candidates = [path, path[len("/usr"):]] if path.startswith("/usr/lib") else [path]
        found = subprocess.run(["dpkg-query", "-S", *candidates], capture_output=True, text=True).stdout
        owner = re.match(r"[^:,]+", found)
        assert (owner.group(0) in names) if owner else any(path == name for name in names), f"{path} is not in the bill"
    for package in loaded:
        if package["SPDXID"].startswith("SPDXRef-Package"):
            installed = subprocess.run(["dpkg-query", "-W", "-f", "${Version}\n", package["name"]], check=True,
                                       capture_output=True, text=True).stdout.splitlines()
            assert package["versionInfo"] in installed, package
    licenses = {p["name"]: p["licenseDeclared"] for p in loaded}
    assert "Apache-2.0" in next(text for name, text in licenses.items() if name.startswith("libgrpc++"))
    print(f"{len(libraries)} libraries of {len(loaded)} packages")


def main():
    build, program = sys.argv[1:]
    need("dpkg-query", "ninja", "ldd")
    text = bill(build, program)
    document = json.loads(text)
    check_form(document)
    check_libraries(document, program)
    assert bill(build, program) == text, "the bill differs from one run to the next"


if __name__ == "__main__":
    main()
