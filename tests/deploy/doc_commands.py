#!/usr/bin/env python3
"""doc_commands.py FILE WHERE: the commands of a document that are run there, in their order, as one shell script."""

import re
import sys

BLOCK = re.compile(r"^(?:<!-- (?P<marker>[^\n]*) -->\n)?```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(text):
    """(marker or None, language, text, line) of each fenced block."""
    for match in BLOCK.finditer(text):
        yield match["marker"], match["language"], match["text"], text.count("\n", 0, match.start()) + 1


def commands(path, where):
    with open(path) as f:
        return "".join(text for marker, _, text, _ in blocks(f.read()) if marker == "run: " + where)


if __name__ == "__main__":
    sys.stdout.write(commands(sys.argv[1], sys.argv[2]))
