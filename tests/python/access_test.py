"""A server that wants bearer tokens, and clients with and without one."""
import hashlib
import tempfile
import unittest

import glint
from support import Server, picture

TOKEN = "camera-secret"


class AccessTest(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        self.file = tempfile.NamedTemporaryFile("w", suffix=".access")
        self.file.write(f"camera token={hashlib.sha256(TOKEN.encode()).hexdigest()}\n")
        self.file.flush()
        self.server = Server(f"--access-file={self.file.name}")

    def tearDown(self):
        self.server.stop()
        self.file.close()

    def test_all_calls_show_the_token(self):
        with glint.Client(self.server.address, token=TOKEN) as client:
            self.assertEqual(client.info().backend, "cpu")
            self.assertGreater(len(client.detect(picture())), 0)
            self.assertEqual(len(list(client.stream([picture()] * 3))), 3)
            with client.share_memory(slots=2):
                pass
        # The server's socket is a unix one: without a token it knows the user, who is none of its identities.
        for token, refusal in ((None, glint.PermissionDenied), ("thief's", glint.Unauthenticated)):
            with glint.Client(self.server.address, token=token) as stranger:
                self.assertEqual(stranger.health(), "serving")
                for call in (stranger.info, lambda: stranger.detect(picture()),
                             lambda: list(stranger.stream([picture()]))):
                    with self.assertRaises(refusal):
                        call()
        with self.assertRaises(glint.InvalidArgument):
            glint.Client(self.server.address, token="a b")

    async def test_asyncio(self):
        async with glint.aio.Client(self.server.address, token=TOKEN) as client:
            self.assertEqual((await client.info()).backend, "cpu")
            self.assertGreater(len(await client.detect(picture())), 0)
            self.assertEqual(len([r async for r in client.stream([picture()] * 3)]), 3)
        async with glint.aio.Client(self.server.address) as stranger:
            with self.assertRaises(glint.PermissionDenied):
                await stranger.detect(picture())


if __name__ == "__main__":
    unittest.main()
