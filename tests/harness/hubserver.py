"""A small server that answers as the Hugging Face Hub does to its own client: files of pinned revisions."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

Files = dict[str, bytes]
"""Content by `datasets/owner/name@revision/path`, or without `datasets/` for a model."""


@contextmanager
def hub(files: Files) -> Iterator[str]:
    """Serve the files; gives the address for HF_ENDPOINT."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self._answer(head=True)

        def do_GET(self) -> None:
            self._answer(head=False)

        def do_POST(self) -> None:
            self._send(404, b"{}", {}, head=False)

        def log_message(self, *_: object) -> None:
            return

        def _answer(self, *, head: bool) -> None:
            path = unquote(urlsplit(self.path).path).strip("/")
            if path.startswith("api/"):
                self._api(path.removeprefix("api/"))
                return
            repository, _, rest = path.partition("/resolve/")
            revision, _, name = rest.partition("/")
            content = files.get(f"{repository}@{revision}/{name}")
            if content is None:
                known = any(key.startswith(f"{repository}@{revision}/") for key in files)
                code = "EntryNotFound" if known else "RevisionNotFound"
                self._send(404, b"", {"X-Error-Code": code, "X-Repo-Commit": revision}, head=head)
                return
            tag = hashlib.sha256(content).hexdigest()
            self._send(200, content, {"ETag": f'"{tag}"', "X-Repo-Commit": revision}, head=head)

        def _api(self, path: str) -> None:
            for mark in ("/tree/", "/revision/"):
                repository, found, rest = path.partition(mark)
                if found:
                    break
            revision = rest.split("/")[0]
            repository = repository.removeprefix("models/")
            start = f"{repository}@{revision}/"
            names = [key.removeprefix(start) for key in files if key.startswith(start)]
            if not names:
                self._send(404, b"{}", {"X-Error-Code": "RevisionNotFound"}, head=False)
                return
            entries = [
                {"type": "file", "path": n, "size": len(files[start + n]), "oid": "0" * 40} for n in names
            ]
            info = {"id": repository, "sha": revision, "siblings": [{"rfilename": n} for n in names]}
            body = json.dumps(entries if mark == "/tree/" else info).encode()
            self._send(200, body, {"Content-Type": "application/json"}, head=False)

        def _send(self, status: int, body: bytes, headers: dict[str, str], *, head: bool) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            if not head:
                self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
