"""Checks every #include between the project's folders against the table in docs/architecture.md.

A row of that table is: | `folder/` | what it is | `what/`, `it/`, `includes/` |. A file belongs to the longest folder
of the table that it lies in. A folder may include itself, features/, and the folders in its row's last cell, where
`a/*/` are all below a/, `a/{b,c}/` are a/b/ and a/c/, and "anything" is all. The test fails on an include that no row
allows, and on a source outside of all rows.
"""
import pathlib
import re
import sys

SOURCES = {".h", ".cc", ".cu", ".cuh"}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
ROW = re.compile(r"^\|(.+)\|(.+)\|(.*)\|$")
FOLDER = re.compile(r"`([\w/.*{},-]+)/`")
FOR_ALL = "features"  # what every folder may include


def expand(name):
    """a/{b,c} -> [a/b, a/c]; other names stay."""
    braces = re.match(r"(.*){([^{}]*)}$", name)
    return [braces.group(1) + part for part in braces.group(2).split(",")] if braces else [name]


def read_table(text):
    """({folder: folders that it may include, or None for all}, names in last cells that are no folder)."""
    cells = {}
    for line in text.splitlines():
        row = ROW.match(line)
        if not row:
            continue
        for folder in FOLDER.findall(row.group(1)):
            if folder in cells:
                raise ValueError(f"{folder}/ is in the table twice")
            cells[folder] = row.group(3)
    rows, unknown = {}, []
    for folder, cell in cells.items():
        rows[folder] = None if cell.strip() == "anything" else {FOR_ALL}
        for name in (n for written in FOLDER.findall(cell) for n in expand(written)):
            below = name[:-1] if name.endswith("/*") else None
            named = [f for f in cells if f == name or (below and f.startswith(below))]
            if not named:
                unknown.append(f"{folder}/ may include {name}/, which is no folder of the table")
            rows[folder].update(named)
    return rows, unknown


def folder_of(path, folders):
    parts = path.split("/")[:-1]
    for n in range(len(parts), 0, -1):
        if "/".join(parts[:n]) in folders:
            return "/".join(parts[:n])
    return None


def arrows_in(files, folders):
    """[(from, to, file)] of a {path: text}; raises for a source that no folder of the table has."""
    arrows = []
    for path, text in sorted(files.items()):
        origin = folder_of(path, folders)
        if origin is None:
            raise ValueError(f"{path} is in no folder of the table")
        for included in INCLUDE.findall(text):
            target = folder_of(included, folders)
            if target is not None and target != origin:
                arrows.append((origin, target, path))
    return arrows


def check(files, table):
    """What is wrong, a line each."""
    rows, wrong = read_table(table)
    if not rows:
        return ["the table has no folders"]
    try:
        arrows = arrows_in(files, rows)
    except ValueError as error:
        return wrong + [str(error)]
    return wrong + [f"{path}: {origin}/ may not include {target}/" for origin, target, path in arrows
                    if rows[origin] is not None and target not in rows[origin]]


def self_test():
    table = "| `a/` | one | `b/` |\n| `a/deep/` | two | `a/` |\n| `b/` | three | |\n"
    good = {"a/x.h": '#include "b/y.h"\n#include <vector>\n#include "absl/z.h"\n', "a/deep/d.cc": '#include "a/x.h"\n',
            "b/y.h": '#include "b/w.h"\n'}
    assert check(good, table) == [], check(good, table)
    assert check({**good, "b/y.h": '#include "a/x.h"\n'}, table) == ["b/y.h: b/ may not include a/"]
    assert check({**good, "a/deep/d.cc": '  # include "b/y.h"\n'}, table) == ["a/deep/d.cc: a/deep/ may not include b/"]
    assert check({**good, "t/t.cc": '#include "b/y.h"\n'}, table + "| `t/` | tests | anything |\n") == []
    assert check({**good, "c/z.cc": ""}, table) == ["c/z.cc is in no folder of the table"]
    assert check({**good, "c/z.cc": '#include "a/deep/d.h"\n#include "b/y.h"\n'},
                 table + "| `c/` | all | `a/*/`, `{a,b}/` |\n") == []
    assert check(good, table + "| `c/` | four | `nowhere/` |\n") == [
        "c/ may include nowhere/, which is no folder of the table"]


def main(root):
    self_test()
    files = {}
    for path in root.rglob("*"):
        name = path.relative_to(root).as_posix()
        if path.suffix in SOURCES and not name.startswith(("build", ".")):
            files[name] = path.read_text(encoding="utf-8")
    wrong = check(files, (root / "docs/architecture.md").read_text(encoding="utf-8"))
    print("\n".join(wrong) or f"{len(files)} files include what docs/architecture.md allows")
    return 1 if wrong or not files else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
