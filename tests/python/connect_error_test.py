"""What exceptions say where no connection comes about: TLS at one end, names, authorities, forms of addresses."""
import asyncio
import contextlib
import pathlib
import shutil
import subprocess
import tempfile
import unittest
from concurrent import futures

import grpc

import glint
import glint.aio


class Authority:
    """Of certificates that the program openssl makes."""

    def __init__(self, folder, name):
        self._folder, self._name = pathlib.Path(folder), name
        self._openssl("req", "-x509", *self._new_key(name), "-days", "2", "-out", f"{name}.pem")
        self.pem = self._read(f"{name}.pem")

    def issue(self, name, names):
        """A key, and a certificate of it for these names."""
        (self._folder / "names").write_text(f"subjectAltName={names}\n")
        self._openssl("req", *self._new_key(name), "-out", f"{name}.csr")
        self._openssl("x509", "-req", "-in", f"{name}.csr", "-CA", f"{self._name}.pem", "-CAkey", f"{self._name}.key",
                      "-CAcreateserial", "-days", "2", "-extfile", "names", "-out", f"{name}.pem")
        return self._read(f"{name}.key"), self._read(f"{name}.pem")

    @staticmethod
    def _new_key(name):
        return ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}", "-keyout",
                f"{name}.key")

    def _openssl(self, *words):
        subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=self._folder)

    def _read(self, name):
        return (self._folder / name).read_bytes()


@contextlib.contextmanager
def serve(*pair, clients=None):
    """A gRPC server without methods; `pair`: its key and certificate, `clients`: whose certificates clients need."""
    server = grpc.server(futures.ThreadPoolExecutor(1))
    if pair:
        credentials = grpc.ssl_server_credentials([pair], clients, clients is not None)
        port = server.add_secure_port("127.0.0.1:0", credentials)
    else:
        port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop(0).wait()


def said(address, tls=None):
    """What both clients say of a call; glint.Unimplemented where the server was reached."""
    texts = []
    with glint.Client(address, tls=tls) as client:
        try:
            client.info(timeout=30)
        except glint.GlintError as error:
            texts.append((type(error), str(error)))

    async def ask():
        async with glint.aio.Client(address, tls=tls) as client:
            try:
                await client.info(timeout=30)
            except glint.GlintError as error:
                texts.append((type(error), str(error)))

    asyncio.run(ask())
    assert len(texts) == 2 and texts[0] == texts[1], texts
    return texts[0]


@unittest.skipUnless(shutil.which("openssl"), "openssl is not installed")
class TlsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.authority, cls.stranger = Authority(folder.name, "authority"), Authority(folder.name, "stranger")
        cls.pair = cls.authority.issue("server", "IP:127.0.0.1")
        cls.other = cls.authority.issue("other", "DNS:elsewhere.example")
        cls.believe = glint.Tls(ca=cls.authority.pem)

    def check(self, address, tls, text):
        kind, message = said(address, tls)
        self.assertIs(kind, glint.Unavailable, message)
        self.assertIn(f"cannot connect to the Glint server at {address}: {text}", message)

    def test_tls_at_one_end(self):
        with serve(*self.pair) as address:
            self.assertIs(said(address, self.believe)[0], glint.Unimplemented)
            self.check(address, None, "the server has TLS there")
            with self.assertRaisesRegex(glint.Unavailable, "the server has TLS there"):
                glint.Client(address, wait=0.5)
        with serve() as address:
            self.assertIs(said(address)[0], glint.Unimplemented)
            self.check(address, self.believe, "the server has no TLS there")

    def test_names_and_authorities(self):
        with serve(*self.other) as address:
            self.check(address, self.believe, 'the server\'s certificate is not for "127.0.0.1"')
        with serve(*self.pair) as address:
            strangers = glint.Tls(ca=self.stranger.pem)
            self.check(address, strangers, "the server's certificate is of no authority that this client believes")

    def test_certificates_of_clients(self):
        key, certificate = self.other
        with serve(*self.pair, clients=self.authority.pem) as address:
            own = glint.Tls(ca=self.authority.pem, certificate=certificate, key=key)
            self.assertIs(said(address, own)[0], glint.Unimplemented)
            kind, message = said(address, self.believe)
            self.assertIs(kind, glint.Unavailable)
            self.assertIn("a certificate of the client", message)
        with self.assertRaisesRegex(glint.InvalidArgument, "tls: certificate and key cannot be used"):
            glint.Client("127.0.0.1:1", tls=glint.Tls(certificate=certificate, key=self.pair[0]))


class AddressTest(unittest.TestCase):
    def test_nobody_there(self):
        kind, message = said("127.0.0.1:1")
        self.assertIs(kind, glint.Unavailable)
        self.assertRegex(message, r"no Glint server answers at 127\.0\.0\.1:1 \(Connection refused\)\. Start one")
        with self.assertRaisesRegex(glint.Unavailable, r"\(No such file or directory\)"):
            glint.Client("unix:/no/such/socket", wait=0.2)

    def test_forms(self):
        for address in ("localhost:1", "127.0.0.1:65535", "[::1]:50051", "unix:a", "unix:///a", "dns:///a:1",
                        "ipv4:1.2.3.4:5,1.2.3.5:5"):
            glint.Client(address).close()
        for address, hint in (("http://localhost:50051", 'leave "http://" out'),
                              ("https://localhost", 'leave "https://" out; TLS'), ("::1:50051", "brackets"),
                              ("localhost:0", "a port in 1..65535"), ("localhost:http", "a port in 1..65535"),
                              ("localhost:50051/", "a port in 1..65535"), ("localhost", ""), (":50051", ""),
                              ("unix:", ""), ("user@host:1", ""), ("a b:1", "")):
            for kind in (glint.Client, glint.aio.Client):
                with self.assertRaises(glint.InvalidArgument) as caught:
                    kind(address)
                self.assertEqual((caught.exception.field, caught.exception.value), ("address", address))
                self.assertIn(f'address: "{address}" is not HOST:PORT or unix:PATH', str(caught.exception))
                self.assertIn(hint, str(caught.exception))


if __name__ == "__main__":
    unittest.main()
