"""Features of folders of images and of videos, as HDF5 that hloc reads; alone, or spread over a Dask cluster.

    python -m glint.extract photos/ drive.mp4 --output features.h5 --scheduler tcp://HOST:8786
"""
from __future__ import annotations

import argparse
import itertools
import pathlib
import sys
import time
from typing import Any, Iterable, Iterator, Optional, Sequence

from glint import extraction, options
from glint.client import Client
from glint.errors import GlintError, InvalidArgument, invalid, out_of_range
from glint.extraction import Chunk, Work
from glint.extraction_files import CannotWrite, Parts, hdf5

_AHEAD = 4  # chunks for each thread of the cluster, submitted and not yet received
_RETRIES = 3  # of a chunk, on other workers


def _arguments(argv: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m glint.extract",
        description="Finds features in images and video frames, and writes them as HDF5 in the layout that hloc reads.",
        epilog="What is finished is kept: run the same command again after an interruption. Exit status: 0, 1 if "
        "some files failed or the run broke off, 2 for wrong arguments, 74 if FILE.h5 cannot be written.",
    )
    parser.add_argument("source", nargs="+", metavar="SOURCE", help="a folder, a picture, or a video (by OpenCV)")
    parser.add_argument("--output", required=True, metavar="FILE.h5", type=pathlib.Path)
    parser.add_argument("--overwrite", action="store_true", help="replace FILE.h5 if it is there")
    parser.add_argument("--preset", default="orb", help="of the detector (default: orb)")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="of the detector: max_features=2000 ..."
    )
    parser.add_argument(
        "--server", metavar="ADDRESS", help="default: GLINT_SERVER where the work is done, else 127.0.0.1:50051"
    )
    parser.add_argument(
        "--range", metavar="LOW..HIGH", help="of grey samples of 16 bits, that use a part of them: 0..4095 for 12 bits"
    )
    parser.add_argument("--scheduler", metavar="ADDRESS", help="of a Dask cluster, whose workers see the same files")
    parser.add_argument("--chunk", type=int, default=64, metavar="N", help="images of a chunk (default: 64)")
    parser.add_argument("--window", type=int, default=8, metavar="N", help="images in flight to a server (default: 8)")
    return parser.parse_intermixed_args(argv)


def _value(text: str) -> Any:
    """A number or a choice, as text."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return {"true": True, "false": False}.get(text.lower(), text)


def _range(text: str) -> "tuple[int, int]":
    """LOW..HIGH. Ranges by percentile are of a stream, and chunks are in several."""
    try:
        lowest, highest = (int(limit) for limit in text.split(".."))
    except ValueError:
        raise invalid("--range", text, "is not LOW..HIGH") from None
    options.gray_range((lowest, highest))  # raises where they are no range
    return lowest, highest


def _work(arguments: argparse.Namespace) -> Work:
    fields = {}
    for setting in arguments.set:
        name, equals, value = setting.partition("=")
        if not equals:
            raise invalid("--set", setting, "is not NAME=VALUE")
        fields[name] = _value(value)
    options.detector(arguments.preset, **fields)  # raises where names or choices are wrong
    if arguments.range is not None:
        fields["gray_range"] = _range(arguments.range)
    for name in ("chunk", "window"):
        if not 1 <= getattr(arguments, name) <= 4096:
            raise out_of_range(f"--{name}", getattr(arguments, name), 1, 4096)
    if arguments.output.exists() and not arguments.overwrite:
        raise invalid("--output", str(arguments.output), "is there already: --overwrite replaces it")
    if arguments.output.exists() and not arguments.output.is_file():
        raise invalid("--output", str(arguments.output), "is no file")
    return Work(arguments.preset, tuple(fields.items()), arguments.server, arguments.window)


Keyed = Iterable["tuple[str, Chunk]"]


def _alone(chunks: Keyed, work: Work) -> "Iterator[tuple[str, int, bytes]]":
    with Client(work.server) as client:
        client.health()  # without a server it is better to say so than to wait for one
    for key, chunk in chunks:
        yield (key, *extraction.extract_packed(chunk, work))


def _on_cluster(address: str, chunks: Keyed, work: Work) -> "Iterator[tuple[str, int, bytes]]":
    """Each chunk once, as they are finished: those of workers that went away are done by others."""
    try:
        import distributed
    except ImportError as error:
        raise ImportError(f"{error}: --scheduler needs Dask's distributed (Debian: python3-distributed)") from None
    left = iter(chunks)
    with distributed.Client(address) as cluster:

        def submit(count: int) -> list:
            taken = itertools.islice(left, count)
            run = extraction.extract_packed
            return [cluster.submit(run, c, work, key=k, retries=_RETRIES, pure=False) for k, c in taken]

        threads = sum(cluster.nthreads().values())
        done = distributed.as_completed(submit(_AHEAD * max(threads, 1)))
        for future in done:
            key, found = future.key, future.result()
            future.release()
            done.update(submit(1))
            yield (key, *found)


class _Progress:
    """Rate and time left: a line that is written over on a terminal, a line every ten seconds elsewhere."""

    def __init__(self, total: int):
        self._total, self._done, self._images, self._start = total, 0, 0, time.monotonic()
        self._terminal = sys.stderr.isatty()
        self._next = self._start

    def add(self, images: int) -> None:
        """After each chunk."""
        self._done += 1
        self._images += images
        now = time.monotonic()
        if now < self._next and self._done < self._total:
            return
        self._next = now + (0.5 if self._terminal else 10)
        took = max(now - self._start, 1e-6)
        left = took / self._done * (self._total - self._done)
        line = f"{self._done}/{self._total} chunks, {self._images / took:.1f} images/s, {left:.0f} s left"
        last = self._done == self._total
        print(("\r" if self._terminal else "") + line, end="\n" if last or not self._terminal else "", file=sys.stderr)


def run(arguments: argparse.Namespace) -> int:
    """All of it; the number of files that failed."""
    work = _work(arguments)
    hdf5()
    chunks = extraction.chunks_of(extraction.files_of(arguments.source), arguments.chunk)
    if others := extraction.others_in(arguments.source):
        more = f" and {len(others) - 3} more" if len(others) > 3 else ""
        print(f"glint.extract: no pictures or videos by their names, left out: {', '.join(others[:3])}{more}",
              file=sys.stderr)
    keys = [chunk.key(work) for chunk in chunks]
    parts = Parts(arguments.output)
    todo = [(key, chunk) for key, chunk in zip(keys, chunks) if not parts.has(key)]
    if len(todo) < len(chunks):
        print(f"{len(chunks) - len(todo)} of {len(chunks)} chunks are finished already", file=sys.stderr)
    progress = _Progress(len(todo))
    work_on = _on_cluster(arguments.scheduler, todo, work) if arguments.scheduler else _alone(todo, work)
    attributes = {"preset": work.preset, "options": repr(sorted(work.fields))}
    with parts.merger(keys, attributes) as merger:
        for key, images, packed in work_on:
            parts.write(key, packed)
            merger.advance()
            progress.add(images)
        errors, warnings = merger.finish()
    for name, warning in sorted(warnings.items()):
        print(f"{name}: warning: {warning}", file=sys.stderr)
    for name, error in sorted(errors.items()):
        print(f"{name}: {error}", file=sys.stderr)
    return len(errors)


def main(argv: Optional[Sequence[str]] = None) -> int:
    arguments = _arguments(argv)
    try:
        failed = run(arguments)
    except InvalidArgument as error:
        print(f"glint.extract: {error}", file=sys.stderr)
        return 2
    except (GlintError, ImportError, OSError) as error:
        print(f"glint.extract: {error}\nWhat is finished is kept: run the same command again.", file=sys.stderr)
        return 74 if isinstance(error, CannotWrite) else 1  # sysexits.h's EX_IOERR, as of the command line
    if failed:
        print(f"glint.extract: {failed} files failed", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
