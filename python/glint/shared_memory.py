"""Memory that a server on the same machine reads pixels from in place.

    with client.share_memory(slots=5, slot_bytes=1920 * 1080) as memory:
        slot = memory.acquire()
        pixels = slot.array((1080, 1920))       # a numpy view of the slot: write into it
        camera.read_into(pixels)
        features = client.detect(glint.Shared(slot, 1920, 1080))
        slot.release()

A stream releases the slot of a frame when the frame's result is delivered. Whoever writes to a slot before that makes
the features of that frame unspecified, and nothing else.
"""
from __future__ import annotations

import fcntl
import mmap
import os
import secrets
import socket
import struct
import threading
import time
from typing import Callable, Optional, Sequence

import numpy as np

from glint.errors import InvalidArgument, Unavailable, from_code, invalid, out_of_range
from glint.v1 import server_pb2 as pb

# proto/handoff.h
_MAGIC = b"GlintSM1"
_SUFFIX = ".shm"
_REQUEST = struct.Struct("=8sQ")
_REPLY = struct.Struct("=8si16s228s")
_SECONDS = 5
_MAX_SLOTS = 4096
_MAX_SLOT_BYTES = 1 << 40


class Slot:
    """A part of shared memory, made by SharedMemory.acquire(). Free again after release()."""

    def __init__(self, memory: "SharedMemory", index: int):
        self._memory = memory
        self._index: Optional[int] = index
        self.nbytes = memory.slot_bytes
        self.offset = index * memory.slot_bytes
        self.region = memory.region

    def array(self, shape, dtype=np.uint8) -> np.ndarray:
        """A view of the slot as an array, rows without gaps. InvalidArgument if the slot is too small."""
        if self._index is None:
            raise InvalidArgument("slot: released", field="slot")
        count = int(np.prod(shape))
        wanted = count * np.dtype(dtype).itemsize
        if wanted > self.nbytes:
            raise invalid("shape", tuple(shape), f"of {np.dtype(dtype)} has {wanted} bytes, the slot {self.nbytes}")
        return np.frombuffer(self._memory._map, dtype, count, self.offset).reshape(shape)

    def release(self) -> None:
        """Gives the slot back. Nothing happens the second time."""
        index, self._index = self._index, None
        if index is not None:
            self._memory._give_back(index)

    def __enter__(self) -> "Slot":
        return self

    def __exit__(self, *_) -> None:
        self.release()


class OtherSlot:
    """A part of memory that another client has, and shares with this one. Only the server reads it.

    region  its SharedMemory.shared_name
    offset  its Slot.offset, bytes
    nbytes  how many from there on may be meant
    """

    def __init__(self, region: str, offset: int, nbytes: int):
        self.region = region
        self.offset = offset
        self.nbytes = nbytes

    def release(self) -> None:
        """Nothing: the slot is the other client's."""


class SharedMemory:
    """A ring of slots, made by Client.share_memory(). Thread-safe. The server forgets it after close().

    shared_name is the region's name for those that it is shared with.
    """

    def __init__(
        self,
        path: str,
        slots: int,
        slot_bytes: int,
        shared_with: Sequence[str],
        register: Callable[[pb.RegisterSharedMemoryRequest], Optional[str]],
    ):
        """register gives the memory its name and returns the owner; None: set_owner() follows."""
        if not 1 <= slots <= _MAX_SLOTS:
            raise out_of_range("slots", slots, 1, _MAX_SLOTS)
        if not 1 <= slot_bytes <= _MAX_SLOT_BYTES:
            raise out_of_range("slot_bytes", slot_bytes, 1, _MAX_SLOT_BYTES)
        page = mmap.PAGESIZE
        self.slots = slots
        self.slot_bytes = (slot_bytes + page - 1) // page * page
        self.region = "ring-" + secrets.token_hex(16)
        self._free = list(range(slots))
        self._freed = threading.Condition()
        size = self.slot_bytes * slots
        fd = -1
        try:
            fd = os.memfd_create("glint-ring", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
            os.ftruncate(fd, size)
            fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
            self._map = mmap.mmap(fd, size, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
            self._connection, token = _hand_over(path, fd, size)
        except OSError as error:
            raise Unavailable(f"shared memory: {size} bytes at {path}: {error.strerror or error}") from None
        finally:
            if fd >= 0:
                os.close(fd)
        try:
            self.set_owner(
                register(pb.RegisterSharedMemoryRequest(token=token, name=self.region, shared_with=shared_with))
            )
        except BaseException:
            self._connection.close()
            raise

    def set_owner(self, owner: Optional[str]) -> None:
        """For clients: who the server says the memory belongs to."""
        self.shared_name = f"{owner}/{self.region}"

    def acquire(self, timeout: Optional[float] = None) -> Slot:
        """A free slot, with whatever is in it; waits for one. TimeoutError after `timeout` seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._freed:
            while not self._free:
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    raise TimeoutError(f"shared memory: none of the {self.slots} slots became free in {timeout} s")
                self._freed.wait(left)
            return Slot(self, self._free.pop())

    def close(self) -> None:
        """Tells the server to forget the memory. Frames that it has taken are still answered."""
        self._connection.close()

    def _give_back(self, index: int) -> None:
        with self._freed:
            self._free.append(index)
            self._freed.notify()

    def __enter__(self) -> "SharedMemory":
        return self

    def __exit__(self, *_) -> None:
        self.close()


def socket_path(address: str, path: Optional[str]) -> str:
    """Where the server at `address` takes memory: `path`, or what follows from unix:PATH."""
    if path:
        return path
    if not address.startswith("unix:"):
        why = "is not a unix socket: memory is shared on one machine, through unix:PATH"
        raise invalid("address", address, f"{why} of a server with --shared-memory")
    return address[len("unix:"):] + _SUFFIX


def _hand_over(path: str, fd: int, size: int) -> tuple[socket.socket, bytes]:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        connection.settimeout(_SECONDS)
        connection.connect(path)
        try:
            socket.send_fds(connection, [_REQUEST.pack(_MAGIC, size)], [fd])
        except BrokenPipeError:
            pass  # a server that has no room answers and closes without reading
        reply = connection.recv(_REPLY.size)
        if len(reply) != _REPLY.size or not reply.startswith(_MAGIC):
            raise Unavailable(f"shared memory: no answer from the server at {path}")
        _, code, token, message = _REPLY.unpack(reply)
        if code != 0:
            raise from_code(code, message.split(b"\0", 1)[0].decode(errors="replace"))
        return connection, token
    except BaseException:
        connection.close()
        raise
