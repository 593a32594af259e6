"""Turns of a client's calls of detect() and match(): some are under way at once, the others wait in their order."""
from __future__ import annotations

import asyncio
import bisect
import math
import threading
import time
from typing import Any, Awaitable, Callable, Optional, TypeVar

from glint.errors import Cancelled, DeadlineExceeded, GlintError, ResourceExhausted, out_of_range

CALLS_AT_ONCE = 32
PATIENCE = 30  # seconds
_MAX_CALLS_AT_ONCE = 4096
_DAY = 86400
_LONGEST_SLEEP = 3600
_COUNTS = ("--max-detect-calls", "--max-frames-per-client")  # the server's limits on how many calls there are at once

Found = TypeVar("Found")


class _Turn:
    """A call's place. wake() is called when it is worth asking again."""

    def __init__(self, number: int, timeout: Optional[float], wake: Callable[[], Any]):
        self.number, self.wake = number, wake
        self.begun = time.monotonic()
        self.deadline = math.inf if timeout is None else self.begun + timeout
        self.under_way = False

    def __lt__(self, other: "_Turn") -> bool:
        return self.number < other.number

    def time_left(self) -> Optional[float]:
        return None if self.deadline == math.inf else self.deadline - time.monotonic()


class CallGate:
    """At most `calls_at_once` calls are under way, fewer once a refusal has named the server's limit. The others are in
    a line. Whatever changes wakes the first one of it.

    A call that the server refuses for now goes back to its place in the line. Until the time that the server named, no
    more calls are under way than the server has taken: the next one begins when one of them ends.

    A call leaves the line at its deadline, and when no call of the client has been answered for `patience` seconds.
    """

    def __init__(self, calls_at_once: int, patience: float):
        if not isinstance(calls_at_once, int) or not 1 <= calls_at_once <= _MAX_CALLS_AT_ONCE:
            raise out_of_range("calls_at_once", calls_at_once, 1, _MAX_CALLS_AT_ONCE)
        if not 0 <= patience <= _DAY:
            raise out_of_range("patience", patience, 0, _DAY)
        self._lock = threading.Lock()
        self._line: "list[_Turn]" = []  # by number
        self._joined = self._under_way = 0
        self._most, self._limit_of = calls_at_once, ""  # the flag of the server's limit; empty: it has named none
        self._patience, self._answered = patience, -math.inf
        self._pause_end, self._taken = -math.inf, 0  # until then, no more than these are under way
        self._refused, self._refusal = -math.inf, ""  # when the server refused a call last, and its text
        self._closed = False

    def run(self, timeout: Optional[float], send: Callable[[Optional[float]], Found]) -> Found:
        """What `send` returns, which is called with the seconds that are left when it is the call's turn."""
        woken = threading.Event()
        turn = self._join(timeout, woken.set)
        try:
            while True:
                while (seconds := self._enter(turn)) is not None:
                    woken.wait(seconds)
                    woken.clear()
                try:
                    return send(turn.time_left())
                except ResourceExhausted as error:
                    if not self._go_back(turn, error):
                        raise
        finally:
            self._leave(turn)

    async def run_async(self, timeout: Optional[float], send: Callable[[Optional[float]], Awaitable[Found]]) -> Found:
        """The same for calls of one event loop."""
        turn = self._join(timeout, lambda: None)
        try:
            while True:
                while (seconds := self._enter(turn)) is not None:
                    await _sleep(turn, seconds)
                try:
                    return await send(turn.time_left())
                except ResourceExhausted as error:
                    if not self._go_back(turn, error):
                        raise
        finally:
            self._leave(turn)

    def close(self) -> None:
        """Ends what waits, and later calls: Cancelled. Without the lock, which a child of fork() may find taken."""
        self._closed = True
        for turn in list(self._line):
            turn.wake()

    def _join(self, timeout: Optional[float], wake: Callable[[], Any]) -> _Turn:
        with self._lock:
            turn = _Turn(self._joined, timeout, wake)
            self._joined += 1
            self._line.append(turn)
        return turn

    def _enter(self, turn: _Turn) -> Optional[float]:
        """None: the call is under way. Otherwise the seconds after which to ask again, unless woken before."""
        with self._lock:
            if self._closed:
                raise Cancelled("client: it was closed")
            now = time.monotonic()
            is_first, paused = self._line[0] is turn, now < self._pause_end
            if is_first and self._under_way < (self._taken if paused else self._most):
                del self._line[0]
                self._under_way += 1
                turn.under_way = True
                self._wake_first()
                return None
            end = min(turn.deadline, max(turn.begun, self._answered) + self._patience)
            if now >= end:
                raise self._no_turn(turn, now)
            until = min(end, self._pause_end) if is_first and paused else end
            return min(until - now, _LONGEST_SLEEP)

    def _go_back(self, turn: _Turn, error: ResourceExhausted) -> bool:
        """Whether the call is to be made again: the refusal says when, so it is not about what was sent."""
        if error.retry_after is None or self._patience == 0:
            return False
        with self._lock:
            self._under_way -= 1
            turn.under_way = False
            bisect.insort(self._line, turn)
            self._refused, self._refusal = time.monotonic(), error.message
            self._pause_end, self._taken = self._refused + error.retry_after, self._under_way
            if error.flag in _COUNTS and error.limit is not None and 1 <= error.limit <= self._most:
                self._most, self._limit_of = error.limit, error.flag
            self._wake_first()
        return True

    def _leave(self, turn: _Turn) -> None:
        with self._lock:
            if turn.under_way:
                self._under_way -= 1
                self._answered = time.monotonic()
            else:
                self._line.remove(turn)
            self._wake_first()

    def _wake_first(self) -> None:
        if self._line:
            self._line[0].wake()

    def _no_turn(self, turn: _Turn, now: float) -> GlintError:
        whose = f"this server's limit ({self._limit_of})" if self._limit_of else "this client's calls_at_once"
        waited = f"no turn within {now - turn.begun:.1f} s, with {self._under_way} under way"
        text = f"calls: {waited}; {whose} is {self._most}"
        if self._refused >= turn.begun:
            text += f"; the last refusal: {self._refusal}"
        kind = DeadlineExceeded if now >= turn.deadline else ResourceExhausted
        if not self._limit_of:
            return kind(text, field="calls")
        return kind(text, field="calls", limit=self._most, flag=self._limit_of)


async def _sleep(turn: _Turn, seconds: float) -> None:
    """Until `turn` is woken, `seconds` at most."""
    loop = asyncio.get_running_loop()
    woken = loop.create_future()
    turn.wake = lambda: None if woken.done() else woken.set_result(None)
    timer = loop.call_later(seconds, turn.wake)
    try:
        await woken
    finally:
        timer.cancel()
