"""A time-stamping authority on the loopback interface, of openssl, with a certificate made on the spot."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

CONFIG = """\
[tsa]
default_tsa = config
[config]
serial = {folder}/serial
crypto_device = builtin
signer_cert = {folder}/tsa.pem
signer_key = {folder}/tsa.key
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256, sha512
accuracy = secs:2
ess_cert_id_alg = sha256
"""
EXTENSIONS = """\
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = critical, timeStamping
"""


def _openssl(*arguments: str | Path) -> None:
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


class Authority:
    """Keys, certificates and answers. `root` is the PEM of the certificate to trust."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        ca, key = folder / "ca.pem", folder / "ca.key"
        new = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
        _openssl("req", "-x509", *new, "-keyout", key, "-out", ca, "-days", "30", "-subj", "/CN=Test root")
        request = folder / "tsa.csr"
        _openssl("req", "-new", *new, "-keyout", folder / "tsa.key", "-out", request, "-subj", "/CN=Test TSA")
        (folder / "extensions").write_text(EXTENSIONS)
        _openssl("x509", "-req", "-in", request, "-CA", ca, "-CAkey", key, "-CAcreateserial",
                 "-days", "30", "-out", folder / "tsa.pem", "-extfile", folder / "extensions")  # fmt: skip
        (folder / "serial").write_text("01\n")
        (folder / "tsa.cnf").write_text(CONFIG.format(folder=folder))
        self.root = ca.read_bytes()

    def answer(self, request: bytes) -> bytes:
        """The time-stamp that was asked for."""
        query, reply = self.folder / "query.tsq", self.folder / "reply.tsr"
        query.write_bytes(request)
        _openssl("ts", "-reply", "-queryfile", query, "-config", self.folder / "tsa.cnf", "-section",
                 "config", "-out", reply)  # fmt: skip
        return reply.read_bytes()


@contextmanager
def serving(authority: Authority) -> Iterator[str]:
    """The address at which the authority answers."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            reply = authority.answer(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Type", "application/timestamp-reply")
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/tsr"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
