#!/usr/bin/env python3
"""tls_test.py GLINT-SERVER GLINT

TLS with certificates that openssl makes: who gets in and who does not, the end of the certificate as a metric, renewal
while a stream is open, one file after the other, SIGHUP, and what server and clients say about what does not fit.
"""

import signal
import subprocess
import sys
import tempfile
import time

from stack import need, wait_for, write_png
from tls import Authority, TlsServer, replace

METRIC = "glint_tls_certificate_expiry_timestamp_seconds"


def end_of(certificate):
    text = subprocess.run(["openssl", "x509", "-in", certificate, "-noout", "-enddate"], check=True,
                          capture_output=True, text=True).stdout
    date = text.strip().split("=", 1)[1]
    return float(subprocess.run(["date", "-d", date, "+%s"], check=True, capture_output=True, text=True).stdout)


def served_certificate(server):
    """The end of the certificate that a new connection is shown."""
    shown = subprocess.run(["openssl", "s_client", "-connect", server.address, "-alpn", "h2"], input=b"",
                           capture_output=True, timeout=30).stdout
    with tempfile.NamedTemporaryFile(suffix=".pem") as f:
        f.write(shown)
        f.flush()
        return end_of(f.name)


def refused(server, *flags):
    """What a client says that cannot connect."""
    done = subprocess.run([server.glint, "health", "--server", server.address, *flags], capture_output=True, text=True)
    assert done.returncode == 69, done
    return done.stderr


def refuses_bad_files(binary, authority, certificate, key):
    def error(*flags):
        done = subprocess.run([binary, "--listen", "127.0.0.1:0", "--metrics-listen", "", "--backend", "cpu", *flags],
                              capture_output=True, text=True, timeout=60)
        assert done.returncode in (1, 2), done
        return done.stderr

    assert "neither goes without the other" in error("--tls-certificate", certificate)
    assert "tls-client-ca: needs tls-certificate" in error("--tls-client-ca", certificate)
    assert "cannot read /nowhere" in error("--tls-certificate", "/nowhere", "--tls-key", key)
    assert "tls-certificate: " in error("--tls-certificate", key, "--tls-key", key)
    assert "PRIVATE KEY" in error("--tls-certificate", certificate, "--tls-key", certificate)
    other, other_key = authority.issue("other-server", 10)
    assert f"tls-key: {other_key}: is not the key of" in error("--tls-certificate", certificate, "--tls-key", other_key)
    locked = key + ".locked"
    authority.openssl("pkey", "-in", key, "-aes128", "-passout", "pass:secret", "-out", locked)
    assert f"tls-key: {locked}: the key has a password" in error("--tls-certificate", certificate, "--tls-key", locked)
    upside_down = certificate + ".chain"
    with open(upside_down, "wb") as chain:
        for name in (authority.certificate, certificate):
            with open(name, "rb") as f:
                chain.write(f.read())
    said = error("--tls-certificate", upside_down, "--tls-key", key)
    assert f"tls-certificate: {upside_down}: the key in" in said and "certificate 2" in said, said
    old, old_key = authority.issue("old", 0)  # OpenSSL 3.5 makes none that end before they begin
    time.sleep(1.1)
    assert "has expired" in error("--tls-certificate", old, "--tls-key", old_key)


def check(binary, glint, folder):
    authority, stranger = Authority(folder, "authority"), Authority(folder, "stranger")
    certificate, key = authority.issue("server", 10)
    flags_file = f"{folder}/flags"
    with open(flags_file, "w") as f:
        f.write(f"--tls-certificate={certificate}\n--tls-key={key}\n--backend=cpu\n--lanes=1\n")
    server = TlsServer(binary, glint, ["--flagfile", flags_file])
    log = open(f"{folder}/log", "w+")

    def logged(*words):
        with open(log.name) as f:
            return any(all(word in line for word in words) for line in f)

    server.process = subprocess.Popen(server.command, stderr=log)
    try:
        server.wait_until_serving()
        assert server.health("--tls-ca", authority.certificate).returncode == 0
        assert "the server has TLS there" in refused(server)
        assert "no authority that this client believes" in refused(server, "--tls-ca", stranger.certificate)
        assert server.metric(METRIC) == end_of(certificate)
        print("encrypted, for those who believe the authority")

        write_png(f"{folder}/a.png", 64, 48, 1)
        stream = subprocess.Popen([glint, "stream", "--server", server.address, "--tls-ca", authority.certificate,
                                   "--loop", f"{folder}/a.png"], stdout=subprocess.DEVNULL)
        renewed, renewed_key = authority.issue("renewed", 20)
        old_end = end_of(certificate)
        replace(renewed, certificate)
        wait_for("a certificate without its key is reported", lambda: (
            server.metric(METRIC) == old_end and logged("certificate not renewed", "is not the key of")))
        assert served_certificate(server) == old_end
        assert server.health("--tls-ca", authority.certificate).returncode == 0
        replace(renewed_key, key)
        wait_for("the renewed certificate is shown", lambda: served_certificate(server) == end_of(renewed))
        assert server.metric(METRIC) == end_of(renewed)
        assert server.health("--tls-ca", authority.certificate).returncode == 0
        assert stream.poll() is None, "the stream has ended"
        stream.send_signal(signal.SIGINT)
        assert stream.wait(timeout=60) == 130
        wait_for("the renewal is logged", lambda: logged(" info certificate renewed", "certificate_ends="))
        print("renewed, while a stream went on")

        def reload(extra):
            with open(flags_file, "a") as f:
                f.write(extra)
            server.process.send_signal(signal.SIGHUP)

        reload("")
        wait_for("it says when the certificate ends", lambda: logged(" info reloaded", "certificate_ends="))
        reload("--drain-timeout=3s\n--lanes=2\n")
        wait_for("it names what needs a restart", lambda: logged("reloaded drain_timeout=3s", "needs_restart=lanes"))
        reload("--lanes=many\n")
        wait_for("bad flags are refused", lambda: logged("not reloaded", "lanes"))
        assert server.health("--tls-ca", authority.certificate).returncode == 0
        print("reloaded by SIGHUP")
        assert server.stop() == 0
    finally:
        server.kill()
        log.close()

    mutual = TlsServer(binary, glint, ["--tls-certificate", certificate, "--tls-key", key, "--tls-client-ca",
                                       authority.certificate, "--backend", "cpu", "--lanes", "1"])
    mutual.process = subprocess.Popen(mutual.command, stderr=subprocess.DEVNULL)
    try:
        mutual.wait_until_serving()
        believe = ("--tls-ca", authority.certificate)
        mine, my_key = authority.issue("client", 10)
        theirs, their_key = stranger.issue("other", 10)
        assert mutual.health(*believe, "--tls-certificate", mine, "--tls-key", my_key).returncode == 0
        assert "the server wants a certificate of the client" in refused(mutual, *believe)
        assert mutual.health(*believe, "--tls-certificate", theirs, "--tls-key", their_key).returncode != 0
        print("clients without a certificate of the authority stay outside")
    finally:
        mutual.kill()
    refuses_bad_files(binary, authority, certificate, key)
    print("bad files are refused by name")


def main():
    need("openssl", "date")
    with tempfile.TemporaryDirectory() as folder:
        check(*sys.argv[1:3], folder)


if __name__ == "__main__":
    main()
