# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A real Prometheus and Alertmanager on loopback, which ask a running exporter and tell this process of alerts."""

from __future__ import annotations

import http
import http.server
import json
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any, Callable, TypeVar

from ansible_collections.zerocopy.rdma.plugins.module_utils._payload import program as payload
from ansible_collections.zerocopy.rdma.tests.monitoring.programs import in_its_place, program

_LOOPBACK = "127.0.0.1"
# Far above what a slow machine needs: until then a test waits for what does not come.
_SECONDS = 180
# The least that the exporter takes.
_INTERVAL = 5

_T = TypeVar("_T")


def awaited(what: Callable[[], _T], known: Callable[[], str]) -> _T:
    """What is there in the end; ``known`` is said if it does not come."""
    end = time.monotonic() + _SECONDS
    while not (found := what()):
        assert time.monotonic() < end, known()
        time.sleep(0.1)
    return found


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as found:
        found.bind((_LOOPBACK, 0))
        return int(found.getsockname()[1])


class Pages:
    """Serves pages that are made when they are asked for, and keeps what is sent to it."""

    def __init__(self, pages: dict[str, Callable[[], str]]) -> None:
        self.sent: list[dict[str, Any]] = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer(pages[self.path]() if self.path in pages else None)

            def do_POST(self) -> None:
                outer.sent.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self._answer("")

            def _answer(self, text: str | None) -> None:
                body = (text or "").encode()
                self.send_response(404 if text is None else 200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_arguments: Any) -> None:
                """Nobody reads it."""

        self._server = http.server.ThreadingHTTPServer((_LOOPBACK, 0), Handler)
        self.address = f"{_LOOPBACK}:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class Stack:
    """Exporter, Prometheus and Alertmanager; ``pages`` also have metrics, and get Alertmanager's messages."""

    def __init__(self, scratch: Path, rules: str, exporter: dict[str, Any], root: Path, pages: Pages) -> None:
        self._scratch, self._pages = scratch, pages
        self._running: list[subprocess.Popen[bytes]] = []
        self._exporter, self._prometheus, self._alertmanager = (f"{_LOOPBACK}:{free_port()}" for _each in range(3))
        (scratch / "rules.yml").write_text(rules)
        self._run_exporter(root, exporter)
        self._run_alertmanager()
        self._run_prometheus()

    def _run(self, name: str, *command: str) -> None:
        with (self._scratch / f"{name}.log").open("wb") as log:
            self._running.append(subprocess.Popen(command, stdout=log, stderr=log, cwd=self._scratch))

    def _write(self, name: str, content: Any) -> str:
        # YAML has all of JSON.
        path = self._scratch / name
        path.write_text(json.dumps(content))
        return str(path)

    def _run_exporter(self, root: Path, own: dict[str, Any]) -> None:
        pyz = self._scratch / "exporter.pyz"
        pyz.write_bytes(payload.build("_exporter.main"))
        config = self._write("exporter.json", {"listen": self._exporter, "interval": _INTERVAL, **own})
        self._run("exporter", sys.executable, "-I", str(pyz), "--config", config, "--root", str(root))

    def _run_alertmanager(self) -> None:
        webhook = {"url": f"http://{self._pages.address}/", "send_resolved": True}
        config = {
            "route": {"receiver": "test", "group_by": ["..."], "group_wait": "0s", "group_interval": "1s"},
            "receivers": [{"name": "test", "webhook_configs": [webhook]}],
        }
        self._run(
            "alertmanager",
            *in_its_place("prometheus-alertmanager"),
            f"--config.file={self._write('alertmanager.yml', config)}",
            "--storage.path=alerts",
            f"--web.listen-address={self._alertmanager}",
            # It talks to no other one.
            "--cluster.listen-address=",
        )

    def _run_prometheus(self) -> None:
        def job(name: str, address: str, path: str = "/metrics") -> dict[str, Any]:
            return {"job_name": name, "metrics_path": path, "static_configs": [{"targets": [address]}]}

        config = {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": ["rules.yml"],
            "alerting": {"alertmanagers": [{"static_configs": [{"targets": [self._alertmanager]}]}]},
            "scrape_configs": [
                job("exporter", self._exporter),
                job("recorded", self._pages.address, "/recorded"),
                job("health", self._pages.address, "/health"),
            ],
        }
        self._run(
            "prometheus",
            program("prometheus"),
            f"--config.file={self._write('prometheus.yml', config)}",
            "--storage.tsdb.path=data",
            f"--web.listen-address={self._prometheus}",
        )

    def asked(self, expression: str) -> list[Any]:
        """What Prometheus answers to a query, nothing while it does not answer at all."""
        query = urllib.parse.urlencode({"query": expression})
        try:
            with urllib.request.urlopen(f"http://{self._prometheus}/api/v1/query?{query}") as answer:
                found = json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code != http.HTTPStatus.SERVICE_UNAVAILABLE:
                raise AssertionError(f"{expression}: {error.read().decode()}") from error
            return []
        except OSError:
            return []
        result: list[Any] = found["data"]["result"]
        return result

    def told(self, name: str, status: str) -> dict[str, Any]:
        """The first message about an alert of this name, once there is one."""

        def find() -> list[dict[str, Any]]:
            every = (alert for message in list(self._pages.sent) for alert in message["alerts"])
            wanted = {"alertname": name, "job": "exporter"}
            return [each for each in every if each["status"] == status and wanted.items() <= each["labels"].items()]

        return awaited(find, self.log)[0]

    def log(self) -> str:
        """The end of what each program has said."""
        said = [f"{path.name}:\n{path.read_text()[-2000:]}" for path in sorted(self._scratch.glob("*.log"))]
        return "\n".join(said)

    def close(self) -> None:
        for each in self._running:
            each.kill()
            each.wait()
