"""Many calls at once: threads, asyncio and several clients wait for their turn; and the event loops of a client."""
import asyncio
import itertools
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

import grpc
import numpy as np
from google.protobuf.duration_pb2 import Duration
from google.protobuf.wrappers_pb2 import BytesValue

import glint
import glint.aio
from glint.call_gate import CallGate
from glint.v1 import envelope_pb2
from support import Server, as_lists, columns, picture, rows

try:
    import cv2
except ImportError:
    cv2 = None

SMALL = [np.roll(picture(), 5 * i, axis=1) for i in range(12)]
CALLS = 96
PLACES = 2


def setUpModule():
    global server, wanted
    server = Server(f"--max-detect-calls={PLACES}")
    with glint.Client(server.address) as client:
        wanted = [columns(client.detect(image, max_features=200)) for image in SMALL]


def tearDownModule():
    server.stop()


class Busy:
    """A server that refuses all calls, to be made again after 20 ms; or says that their content is over a limit. Its
    context is its address."""

    def __init__(self, for_now=True):
        metadata = {"field": "calls", "highest": "2", "flag": "--max-detect-calls"}
        self._status = envelope_pb2.StatusDetails(code=8)
        self._add("ErrorInfo", envelope_pb2.ErrorInfo(reason="OVER_LIMIT", domain="glint", metadata=metadata))
        if for_now:
            self._add("RetryInfo", BytesValue(value=Duration(nanos=20_000_000).SerializeToString()))
        self.tries = 0
        self.may_answer = threading.Event()
        self.may_answer.set()

    def _add(self, name, message):
        self._status.details.add(type_url=f"type.googleapis.com/google.rpc.{name}", value=message.SerializeToString())

    def __enter__(self):
        self._server = grpc.server(ThreadPoolExecutor(1))
        self._server.add_generic_rpc_handlers((self,))
        port = self._server.add_insecure_port("127.0.0.1:0")
        self._server.start()
        return f"127.0.0.1:{port}"

    def __exit__(self, *_):
        self._server.stop(0).wait()

    def service(self, _):
        return grpc.unary_unary_rpc_method_handler(self._refuse)

    def _refuse(self, _, context):
        self.tries += 1
        self.may_answer.wait(30)
        context.set_trailing_metadata((("grpc-status-details-bin", self._status.SerializeToString()),))
        context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "calls: too many")


def until(condition):
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


class GateTest(unittest.TestCase):
    def test_threads_have_their_turns_in_order(self):
        gate, end, order = CallGate(1, 60), threading.Event(), []
        threads = [threading.Thread(target=gate.run, args=(None, lambda _: end.wait(30)))]
        threads += [threading.Thread(target=gate.run, args=(None, lambda _, i=i: order.append(i))) for i in range(5)]
        for i, thread in enumerate(threads):
            thread.start()
            until(lambda i=i: gate._joined == i + 1)
        end.set()
        for thread in threads:
            thread.join()
        self.assertEqual(order, list(range(5)))

    def test_a_refused_call_keeps_its_place(self):
        async def run():
            gate, order, tries = CallGate(2, 60), [], []
            refuse, end = asyncio.Event(), asyncio.Event()

            async def first(_):
                await end.wait()
                order.append("first")

            async def second(_):
                tries.append(time.monotonic())
                if len(tries) == 1:
                    await refuse.wait()
                    raise glint.ResourceExhausted("busy", retry_after=3600)
                order.append("second")

            async def third(_):
                order.append("third")

            calls = [asyncio.ensure_future(gate.run_async(None, call)) for call in (first, second, third)]
            await asyncio.sleep(0.01)
            refuse.set()
            await asyncio.sleep(0.05)
            self.assertEqual((order, len(tries)), ([], 1))
            end.set()  # of a call that the server has taken: so it may take another one
            await asyncio.wait_for(asyncio.gather(*calls), 30)
            self.assertEqual((order, len(tries)), (["first", "second", "third"], 2))

        asyncio.run(run())

    def test_cancelled_and_late_calls_leave_the_line(self):
        async def run():
            gate, end, order = CallGate(1, 60), asyncio.Event(), []

            async def note(_):
                order.append("called")

            calls = [asyncio.ensure_future(gate.run_async(None, lambda _: end.wait()))]
            await asyncio.sleep(0)
            calls += [asyncio.ensure_future(gate.run_async(timeout, note)) for timeout in (None, 0.01, None)]
            await asyncio.sleep(0)
            calls[1].cancel()
            with self.assertRaisesRegex(glint.DeadlineExceeded, r"no turn within \d+\.\d s, with 1 under way; .*is 1"):
                await calls[2]
            end.set()
            await asyncio.wait_for(asyncio.gather(calls[0], calls[3]), 30)
            self.assertTrue(calls[1].cancelled())
            self.assertEqual(order, ["called"])

        asyncio.run(run())

    def test_answers_renew_the_patience(self):
        async def run():
            gate = CallGate(1, 2)
            calls = (gate.run_async(None, lambda _: asyncio.sleep(0.4, 1)) for _ in range(7))
            self.assertEqual(sum(await asyncio.gather(*calls)), 7)  # the last one begins after 2.4 s

        asyncio.run(run())

    def test_ranges(self):
        for kind in (glint.Client, glint.aio.Client):
            with self.assertRaisesRegex(glint.InvalidArgument, r"calls_at_once: 0 is not in 1\.\.4096"):
                kind("127.0.0.1:1", calls_at_once=0)
            with self.assertRaisesRegex(glint.InvalidArgument, r"patience: -1 is not in 0\.\.86400"):
                kind("127.0.0.1:1", patience=-1)


class ManyTest(unittest.TestCase):
    def check(self, call, threads):
        want = [columns(call(image)) for image in SMALL]
        with ThreadPoolExecutor(threads) as pool:
            answers = list(pool.map(lambda i: columns(call(SMALL[i % len(SMALL)])), range(CALLS)))
        for i, answer in enumerate(answers):
            self.assertEqual(answer, want[i % len(SMALL)])

    def test_threads(self):
        with glint.Client(server.address) as client:
            self.check(lambda image: client.detect(image, max_features=200, timeout=None), 48)

    def test_matches(self):
        one, two = rows(60, 1), rows(50, 2)
        with glint.Client(server.address) as client, ThreadPoolExecutor(32) as pool:
            want = as_lists(client.match(one, two))
            for found in pool.map(lambda _: client.match(one, two, timeout=None), range(CALLS)):
                self.assertEqual(as_lists(found), want)

    def test_several_clients(self):
        clients = [glint.Client(server.address, patience=300) for _ in range(3)]
        turns = itertools.count()
        self.check(lambda image: clients[next(turns) % 3].detect(image, max_features=200, timeout=None), 24)
        for client in clients:
            client.close()

    def test_asyncio(self):
        async def run():
            async with glint.aio.Client(server.address) as client:
                images = [SMALL[i % len(SMALL)] for i in range(200)]
                calls = (client.detect(image, max_features=200, timeout=None) for image in images)
                return [columns(found) for found in await asyncio.gather(*calls)]

        for i, answer in enumerate(asyncio.run(run())):
            self.assertEqual(answer, wanted[i % len(SMALL)])

    @unittest.skipIf(cv2 is None, "python3-opencv is not installed")
    def test_orb(self):
        orb = glint.ORB(200, address=server.address)
        self.check(orb.features, 32)
        orb._client.close()

    def test_close_ends_what_waits(self):
        busy = Busy()
        busy.may_answer.clear()
        with busy as address, ThreadPoolExecutor(4) as pool:
            client = glint.Client(address, calls_at_once=1)
            calls = [pool.submit(client.detect, SMALL[0]) for _ in range(4)]
            until(lambda: busy.tries == 1 and client._gate._joined == 4)
            client.close()
            busy.may_answer.set()
            for call in calls:
                self.assertIsInstance(call.exception(30), glint.Cancelled)


class BusyTest(unittest.TestCase):
    def errors(self, for_now=True, timeout=60, **options):
        """What a call to a server that refuses all ends with, of both kinds of clients, and how often it was tried."""

        async def run(address):
            async with glint.aio.Client(address, **options) as client:
                await client.detect(SMALL[0], timeout=timeout)

        for one in ("threads", "asyncio"):
            busy = Busy(for_now)
            with busy as address, self.assertRaises(glint.GlintError) as caught:
                if one == "asyncio":
                    asyncio.run(run(address))
                else:
                    with glint.Client(address, **options) as client:
                        client.detect(SMALL[0], timeout=timeout)
            yield caught.exception, busy.tries

    def test_patience(self):
        for error, tries in self.errors(patience=1):
            self.assertIsInstance(error, glint.ResourceExhausted)
            self.assertRegex(str(error), r"calls: no turn within \d+\.\d s, with 0 under way; this server's limit "
                             r"\(--max-detect-calls\) is 2; the last refusal: calls: too many")
            self.assertEqual((error.field, error.limit, error.flag), ("calls", 2, "--max-detect-calls"))
            self.assertGreater(tries, 1)

    def test_timeout(self):
        for error, _ in self.errors(timeout=1):
            self.assertIsInstance(error, glint.DeadlineExceeded)

    def test_without_patience(self):
        for error, tries in self.errors(patience=0):
            self.assertEqual((str(error), error.retry_after, tries), ("calls: too many", 0.02, 1))

    def test_limits_of_what_is_sent_are_final(self):
        for error, tries in self.errors(for_now=False):
            self.assertEqual((str(error), error.retry_after, tries), ("calls: too many", None, 1))


class LoopTest(unittest.TestCase):
    def test_a_client_may_be_made_before_the_loop(self):
        client = glint.aio.Client(server.address)

        async def use():
            results = [result async for result in client.stream(SMALL[:2], max_features=200)]
            return [columns(await client.detect(SMALL[0], max_features=200)), *(columns(r.features) for r in results)]

        for _ in range(2):  # and connects anew in the next loop
            self.assertEqual(asyncio.run(use()), [wanted[0], *wanted[:2]])
        asyncio.run(client.close())

    def test_another_loop(self):
        client, loop = glint.aio.Client(server.address), asyncio.new_event_loop()
        try:
            loop.run_until_complete(client.info())
            with self.assertRaisesRegex(glint.FailedPrecondition, "another event loop.*make a client in each"):
                asyncio.run(client.info())
            self.assertEqual(loop.run_until_complete(client.health()), "serving")
            loop.run_until_complete(client.close())
        finally:
            loop.close()


if __name__ == "__main__":
    unittest.main()
