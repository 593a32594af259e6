"""Checks every #include between the project's folders against the table in docs/architecture.md.

A row of that table is: | `folder/` | what it is | `what/`, `it/`, `includes/` |. A file belongs to the longest folder
of the table that it lies in. A folder may include itself, features/, and the folders in its row's last cell, where
`a/*/` are all below a/, `a/{b,c}/` are a/b/ and a/c/, and "anything" is all. The test fails on an include that no row
allows, on a source outside of all rows, and on folders that include each other, directly or by way of others; folders
that may include anything are left out of that.
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


def cycles_in(arrows):
    """The sets of folders that reach each other by [(from, to, file)], a sorted list each."""
    reached = {}
    for origin, target, _ in arrows:
        reached.setdefault(origin, set()).add(target)
    for by_way_of, beyond in reached.items():
        for targets in reached.values():
            if by_way_of in targets:
                targets |= beyond
    return sorted({tuple(sorted(b for b in reached[a] if a in reached.get(b, ()))) for a in reached if a in reached[a]})


def describe_cycles(arrows):
    """A line for each cycle, then one for each pair of folders in it, with the files that include."""
    lines = []
    for cycle in cycles_in(arrows):
        lines.append("folders that include each other: " + " ".join(f"{folder}/" for folder in cycle))
        files = {}
        for origin, target, path in arrows:
            if origin in cycle and target in cycle:
                files.setdefault((origin, target), set()).add(path)
        lines += [f"  {origin}/ -> {target}/: {', '.join(sorted(paths))}"
                  for (origin, target), paths in sorted(files.items())]
    return lines


def check(files, table):
    """What is wrong, a line each."""
    rows, wrong = read_table(table)
    if not rows:
        return ["the table has no folders"]
    try:
        arrows = arrows_in(files, rows)
    except ValueError as error:
        return wrong + [str(error)]
    arrows = [arrow for arrow in arrows if rows[arrow[0]] is not None]
    return wrong + [f"{path}: {origin}/ may not include {target}/" for origin, target, path in arrows
                    if target not in rows[origin]] + describe_cycles(arrows)


def self_test():
    table = "| `a/` | one | `b/` |\n| `a/deep/` | two | `a/` |\n| `b/` | three | |\n"
    good = {"a/x.h": '#include "b/y.h"\n#include <vector>\n#include "absl/z.h"\n', "a/deep/d.cc": '#include "a/x.h"\n',
            "b/y.h": '#include "b/w.h"\n'}
    assert check(good, table) == [], check(good, table)
    assert check({**good, "b/y.h": '#include "a/x.h"\n'}, table) == [
        "b/y.h: b/ may not include a/", "folders that include each other: a/ b/", "  a/ -> b/: a/x.h",
        "  b/ -> a/: b/y.h"]
    assert check({**good, "a/deep/d.cc": '  # include "b/y.h"\n'}, table) == ["a/deep/d.cc: a/deep/ may not include b/"]
    assert check({**good, "t/t.cc": '#include "b/y.h"\n'}, table + "| `t/` | tests | anything |\n") == []
    assert check({**good, "c/z.cc": ""}, table) == ["c/z.cc is in no folder of the table"]
    assert check({**good, "c/z.cc": '#include "a/deep/d.h"\n#include "b/y.h"\n'},
                 table + "| `c/` | all | `a/*/`, `{a,b}/` |\n") == []
    assert check(good, table + "| `c/` | four | `nowhere/` |\n") == [
        "c/ may include nowhere/, which is no folder of the table"]
    # A cycle of three, with the folder that only leads to it left out, and one that no row forbids.
    ring = "| `a/` | 1 | `b/` |\n| `b/` | 2 | `c/` |\n| `c/` | 3 | `a/` |\n| `d/` | 4 | `a/` |\n"
    files = {"a/1.h": '#include "b/2.h"\n', "a/4.h": '#include "b/2.h"\n', "b/2.h": '#include "c/3.h"\n',
             "c/3.h": "", "d/5.h": '#include "a/1.h"\n'}
    assert check(files, ring) == [], check(files, ring)
    assert check({**files, "c/3.h": '#include "a/1.h"\n'}, ring) == [
        "folders that include each other: a/ b/ c/", "  a/ -> b/: a/1.h, a/4.h", "  b/ -> c/: b/2.h",
        "  c/ -> a/: c/3.h"]
    pairs = [("a", "b", "1"), ("b", "a", "2"), ("b", "c", "3"), ("c", "d", "4"), ("d", "c", "5")]
    assert cycles_in(pairs) == [("a", "b"), ("c", "d")], cycles_in(pairs)
    anything = "| `a/` | 1 | `t/` |\n| `t/` | tests | anything |\n"
    assert check({"a/1.h": '#include "t/2.h"\n', "t/2.h": '#include "a/1.h"\n'}, anything) == []


def main(root):
    self_test()
    files = {}
    for path in root.rglob("*"):
        name = path.relative_to(root).as_posix()
        if path.suffix in SOURCES and not name.startswith(("build", ".")):
            files[name] = path.read_text(encoding="utf-8")
    wrong = check(files, (root / "docs/architecture.md").read_text(encoding="utf-8"))
    print("\n".join(wrong) or f"{len(files)} files include what docs/architecture.md allows, without cycles")
    return 1 if wrong or not files else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
