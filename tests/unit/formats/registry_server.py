"""A schema registry for tests: a few of Confluent's paths on loopback."""

from __future__ import annotations

import base64
import json
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


class Registry:
    """Keeps schemas and counts what it was asked."""

    def __init__(self, user: str | None = None, certificate: Path | None = None):
        self.schemas: list[str] = []
        self.subjects: dict[str, list[int]] = {}
        self.asked: list[str] = []
        self.user = user
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: Any) -> None:
                return

            def do_GET(self) -> None:
                self._answer(owner.get)

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                self._answer(lambda path: owner.post(path, body))

            def _answer(self, find: Any) -> None:
                owner.asked.append(self.path)
                code, body = 401, {"message": "who are you?"}
                if owner.lets_in(self.headers.get("Authorization")):
                    code, body = find(self.path)
                data = json.dumps(body).encode()
                self.send_response(code)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        scheme = "http" if certificate is None else "https"
        self.url = f"{scheme}://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    def __enter__(self) -> Registry:
        self._thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def lets_in(self, header: str | None) -> bool:
        if self.user is None:
            return True
        return header == f"Basic {base64.b64encode(self.user.encode()).decode()}"

    def get(self, path: str) -> tuple[int, dict[str, Any]]:
        number = int(path.rpartition("/")[2])
        if not 1 <= number <= len(self.schemas):
            return 404, {"error_code": 40403, "message": "Schema not found"}
        return 200, {"schema": self.schemas[number - 1]}

    def post(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        subject = path.split("/")[2]
        if subject == "frozen":
            return 409, {"error_code": 409, "message": "Schema being registered is incompatible"}
        if body["schema"] not in self.schemas:
            self.schemas.append(body["schema"])
        number = self.schemas.index(body["schema"]) + 1
        self.subjects.setdefault(subject, []).append(number)
        return 200, {"id": number}
