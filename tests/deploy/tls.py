"""Certificates that openssl makes, and servers that use them, for the tests here."""

import os
import subprocess
import urllib.request

from stack import Server, wait_for


class Authority:
    def __init__(self, folder, name):
        self.folder, self.key, self.certificate = folder, f"{folder}/{name}.key", f"{folder}/{name}.pem"
        self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
                     "-subj", f"/CN={name}", "-keyout", self.key, "-out", self.certificate)

    @staticmethod
    def openssl(*words):
        subprocess.run(["openssl", *words], check=True, capture_output=True)

    def issue(self, name, days):
        """(certificate, key) files, for 127.0.0.1."""
        base = f"{self.folder}/{name}"
        with open(base + ".ext", "w") as f:
            f.write("subjectAltName=IP:127.0.0.1\n")
        self.openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}",
                     "-keyout", base + ".key", "-out", base + ".csr")
        self.openssl("x509", "-req", "-in", base + ".csr", "-CA", self.certificate, "-CAkey", self.key,
                     "-CAcreateserial", "-days", str(days), "-extfile", base + ".ext", "-out", base + ".pem")
        return base + ".pem", base + ".key"


class TlsServer(Server):
    """Whose readiness its metrics page tells, which needs no certificate."""

    def wait_until_serving(self):
        wait_for("the server is ready", lambda: self.process.poll() is not None or self.ready())

    def ready(self):
        try:
            return urllib.request.urlopen(f"http://{self.metrics_address}/readyz", timeout=10).status == 200
        except OSError:
            return False

    def health(self, *flags):
        return subprocess.run([self.glint, "health", "--server", self.address, "--wait", "5", *flags],
                              capture_output=True, text=True)


def replace(source, target):
    """In one step, as a tool that renews certificates does."""
    with open(source, "rb") as f, open(target + ".new", "wb") as to:
        to.write(f.read())
    os.replace(target + ".new", target)
