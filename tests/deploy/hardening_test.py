#!/usr/bin/env python3
"""hardening_test.py --compiler on|off PROGRAM...

Each program has what cmake/GlintHarden.cmake asks for, by what readelf says of it: position-independent, relocations
read-only and bound at the start, no executable stack, no search path of its own. With `--compiler on` also what the compiler
leaves behind: stack protectors, checked versions of C functions, and landing pads at the entries of functions. Without it
those are not looked for, and the output says so.
"""

import re
import subprocess
import sys

ENDBR64 = bytes.fromhex("f30f1efa")  # x86-64 with -fcf-protection
BTI_C = bytes.fromhex("5f2403d5")  # AArch64 with -mbranch-protection
MANY = 100  # entries of functions that can be called through a pointer; a program of Glint has thousands


def readelf(*arguments):
    return subprocess.run(["readelf", "--wide", *arguments], check=True, capture_output=True, text=True).stdout


def text_section(program):
    section = re.search(r" \.text\s+PROGBITS\s+[0-9a-f]+\s+([0-9a-f]+)\s+([0-9a-f]+)", readelf("--sections", program))
    offset, size = (int(number, 16) for number in section.groups())
    with open(program, "rb") as file:
        file.seek(offset)
        return file.read(size)


def complaints_of_linker(program):
    header, segments, dynamic = readelf("--file-header", program), readelf("--segments", program), readelf("--dynamic", program)
    if not re.search(r"Type:\s+DYN", header):
        yield "is at a fixed address (no PIE)"
    if "GNU_RELRO" not in segments:
        yield "has no read-only relocations (no RELRO)"
    if not re.search(r"\(FLAGS_1\).*\bNOW\b|\(FLAGS\).*\bBIND_NOW\b", dynamic):
        yield "binds functions lazily (RELRO is partial)"
    stack = re.search(r"GNU_STACK.* (R\w*) +0x", segments)
    if not stack or "E" in stack.group(1):
        yield "has an executable stack"
    if re.search(r"\((RPATH|RUNPATH)\)", dynamic):
        yield "looks for libraries where it was built"
    if "(TEXTREL)" in dynamic:
        yield "changes its code when it starts"
    if re.search(r"LOAD .* RWE ", segments):
        yield "has memory that can be written and run"


def complaints_of_compiler(program):
    symbols = readelf("--dyn-syms", program)
    if "__stack_chk_fail" not in symbols:
        yield "has no stack protector"
    if not re.search(r" __(memcpy|memset|memmove|snprintf|vsnprintf|read|recv|strncpy|strcpy)_chk", symbols):
        yield "has no checked C functions (no FORTIFY)"
    machine = re.search(r"Machine:\s+(.*)", readelf("--file-header", program)).group(1)
    mark = {"Advanced Micro Devices X86-64": ENDBR64, "AArch64": BTI_C}.get(machine)
    if mark and text_section(program).count(mark) < MANY:
        yield "has no landing pads (no CET or BTI)"


def main():
    assert sys.argv[1] == "--compiler" and sys.argv[2] in ("on", "off"), __doc__
    hardened, programs = sys.argv[2] == "on", sys.argv[3:]
    wrong = []
    for program in programs:
        wrong += [f"{program} {what}" for what in complaints_of_linker(program)]
        if hardened:
            wrong += [f"{program} {what}" for what in complaints_of_compiler(program)]
    print(f"{len(programs)} programs" + ("" if hardened else "; built without GLINT_HARDEN: the linker's part only"))
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
