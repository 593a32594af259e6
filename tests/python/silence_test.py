"""Clients whose server falls silent, timeouts of streams, and clients after fork()."""
import asyncio
import contextlib
import os
import socket
import threading
import time
import unittest

import glint
import glint.aio
from support import Server, columns, picture

SMALL = picture(1, 64, 64)


def setUpModule():
    global server
    server = Server()


def tearDownModule():
    server.stop()


class Silent:
    """A server that takes all bytes and sends HTTP/2's first frame alone, as one behind a network that has died then.
    Its context is its address."""

    def __enter__(self):
        self._connections = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()
        return "127.0.0.1:%d" % self._listener.getsockname()[1]

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in self._connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection = self._listener.accept()[0]
                self._connections.append(connection)
                connection.sendall(b"\0\0\0\4\0\0\0\0\0")
                threading.Thread(target=self._drain, args=(connection,), daemon=True).start()

    @staticmethod
    def _drain(connection):
        with connection, contextlib.suppress(OSError):
            while connection.recv(1 << 16):
                pass


class SilentTest(unittest.TestCase):
    def test_keepalive_ends_calls_and_streams(self):
        keepalive = {"keepalive_time": 5, "keepalive_timeout": 0.5}
        raised = {}

        def note(name, work):
            try:
                work()
            except glint.GlintError as error:
                raised[name] = error

        async def both(address):
            async with glint.aio.Client(address, **keepalive) as client:

                async def stream():
                    return [result async for result in client.stream([SMALL] * 3)]

                return await asyncio.gather(client.detect(SMALL, timeout=None), stream(), return_exceptions=True)

        with Silent() as address, glint.Client(address, **keepalive) as client:
            threads = [
                threading.Thread(target=note, args=("call", lambda: client.detect(SMALL, timeout=None))),
                threading.Thread(target=note, args=("stream", lambda: list(client.stream([SMALL] * 3)))),
            ]
            for thread in threads:
                thread.start()
            raised["aio call"], raised["aio stream"] = asyncio.run(both(address))
            for thread in threads:
                thread.join()
        self.assertEqual(len(raised), 4)
        for name, error in raised.items():
            self.assertIsInstance(error, glint.Unavailable, name)

    def test_keepalive_has_a_range(self):
        for kind in (glint.Client, glint.aio.Client):
            with self.assertRaisesRegex(glint.InvalidArgument, r"keepalive_time: 1 is not in 5\.\.86400"):
                kind("127.0.0.1:1", keepalive_time=1)
            with self.assertRaisesRegex(glint.InvalidArgument, r"keepalive_timeout: 0 is not in 0\.1\.\.86400"):
                kind("127.0.0.1:1", keepalive_timeout=0)

    def test_timeouts_end_calls_and_streams(self):
        async def aio(address):
            async with glint.aio.Client(address) as client:
                async for _ in client.stream([SMALL] * 3, timeout=0.3):
                    pass

        with Silent() as address, glint.Client(address) as client:
            with self.assertRaises(glint.DeadlineExceeded):
                client.detect(SMALL, timeout=0.3)
            with self.assertRaisesRegex(glint.DeadlineExceeded, "no answer from the server for 0.3 s"):
                list(client.stream([SMALL] * 3, timeout=0.3))
            with self.assertRaisesRegex(glint.DeadlineExceeded, "no answer from the server for 0.3 s"):
                asyncio.run(aio(address))


class HealthyTest(unittest.TestCase):
    """A timeout is the wait for an answer, not the length of the stream."""

    def test_a_slow_camera_and_a_slow_caller(self):
        def frames():
            for _ in range(3):
                yield SMALL
                time.sleep(0.8)

        with glint.Client(server.address) as client:
            self.assertEqual(len(list(client.stream(frames(), window=1, timeout=1.5))), 3)
            count = 0
            for _ in client.stream([SMALL] * 3, timeout=1.5):
                time.sleep(1.7)
                count += 1
            self.assertEqual(count, 3)

    def test_asyncio(self):
        async def frames():
            for _ in range(3):
                yield SMALL
                await asyncio.sleep(0.8)

        async def run():
            async with glint.aio.Client(server.address) as client:
                return [result async for result in client.stream(frames(), window=1, timeout=1.5)]

        self.assertEqual(len(asyncio.run(run())), 3)


class ForkTest(unittest.TestCase):
    def in_child(self, work):
        """What `work` returns in a child of fork(), as text."""
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            said = b""
            try:
                said = work().encode()
            except BaseException as error:  # of the child alone
                said = repr(error).encode()
            finally:
                os.write(writing, said)
                os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as file:
            said = file.read().decode()
        os.waitpid(child, 0)
        return said

    def test_a_client_connects_anew(self):
        with glint.Client(server.address) as client:
            want = columns(client.detect(picture()))
            same = lambda: str(columns(client.detect(picture())) == want)  # noqa: E731
            self.assertEqual(self.in_child(same), "True")
            self.assertEqual(self.in_child(lambda: str(len(list(client.stream([picture()] * 3))))), "3")
            self.assertEqual(same(), "True")

    def test_streams_stay_with_their_process(self):
        with glint.Client(server.address) as client:
            stream = client.stream([SMALL] * 3)
            next(stream)
            time.sleep(0.2)  # its threads wait
            said = self.in_child(lambda: str(next(stream)))
            self.assertRegex(said, rf"FailedPrecondition.*it belongs to process {os.getpid()}, and this is process \d+, "
                             r"after fork\(\); open a stream in each process")
            self.assertEqual(len(list(stream)), 2)

    def test_asyncio_says_so(self):
        async def run():
            async with glint.aio.Client(server.address) as client:
                await client.detect(SMALL)

                def use():
                    client.detect(SMALL).send(None)
                    return "no error"

                return self.in_child(use)

        self.assertRegex(asyncio.run(run()), r"FailedPrecondition.*after fork\(\); make a client in each process")


if __name__ == "__main__":
    unittest.main()
