#!/usr/bin/env python3
"""Runs the cells of a notebook by plain Python, without Jupyter, and compares or writes their outputs.

    tools/run-notebook.py NOTEBOOK [--write]

The cells run in the notebook's folder, in one namespace. Outputs of a cell are what it prints and the value of its last
line: a picture if the value has _repr_jpeg_(), else text. Without --write the text is compared with that in the
notebook, and every picture must be one again; the exit status is 1 if they differ.

What the cells need must be there: the package glint, OpenCV's Python module, a server at GLINT_SERVER.
"""
import argparse
import ast
import base64
import contextlib
import io
import json
import os
import pathlib
import sys


def run_cell(source, space, count):
    """The outputs of one cell, as notebooks have them."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, f"cell {count}", "exec"), space)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), f"cell {count}", "eval"), space)
    outputs = []
    if printed.getvalue():
        text = printed.getvalue().splitlines(keepends=True)
        outputs.append({"name": "stdout", "output_type": "stream", "text": text})
    if value is not None:
        data = {"text/plain": [repr(value)]}
        if hasattr(value, "_repr_jpeg_"):
            data = {"image/jpeg": base64.b64encode(value._repr_jpeg_()).decode(), "text/plain": ["<a picture>"]}
        result = {"data": data, "execution_count": count, "metadata": {}, "output_type": "execute_result"}
        outputs.append(result)
    return outputs


def text_of(outputs):
    """What of outputs must be the same on every machine: the text, and that there is a picture."""
    pictures = ["image/jpeg" in output.get("data", {}) for output in outputs]
    return [output.get("text") or output["data"]["text/plain"] for output in outputs], pictures


def run(path):
    """The notebook with the outputs of this run, and a line for each cell whose text is another one now."""
    notebook = json.loads(path.read_text())
    space, count, changes = {"__name__": "__main__"}, 0, []
    before = os.getcwd()
    os.chdir(path.parent)
    try:
        for cell in notebook["cells"]:
            if cell["cell_type"] != "code":
                continue
            count += 1
            outputs = run_cell("".join(cell["source"]), space, count)
            if text_of(outputs) != text_of(cell["outputs"]):
                changes.append(f"cell {count}: {text_of(outputs)}, but the notebook has {text_of(cell['outputs'])}")
            cell["outputs"], cell["execution_count"] = outputs, count
    finally:
        os.chdir(before)
    return notebook, changes


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("notebook", type=pathlib.Path)
    arguments.add_argument("--write", action="store_true", help="put the outputs into the notebook")
    chosen = arguments.parse_args()
    notebook, changes = run(chosen.notebook)
    if chosen.write:
        chosen.notebook.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")
    else:
        print("\n".join(changes), end="\n" if changes else "")
    return 1 if changes and not chosen.write else 0


if __name__ == "__main__":
    sys.exit(main())
