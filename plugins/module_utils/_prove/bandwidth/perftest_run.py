# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""perftest on a node: servers in the background that cannot stay behind, clients of which the values are read.

Runs on nodes: Python 3.8, standard library.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from dataclasses import dataclass, replace
from typing import IO, Any, Dict, FrozenSet, Iterator, List, Mapping, Optional, Sequence, Set

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node import command
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.bandwidth import perftest_parse

TESTS = perftest_parse.BANDWIDTH + perftest_parse.LATENCY
LOOPBACK = "127.0.0.1"

_INFINIBAND = "sys/class/infiniband"
# Opening the device takes seconds on a node of many HCAs, and minutes are nothing to wait for.
_LISTEN_WITHIN = 30.0
_POLL = 0.05
_LISTENING = "0A"
_SAID_AT_MOST = 300
# Codes of runs without a value: on this node there is no such tool, or anything else.
NOT_INSTALLED, FAILED = "not_installed", "failed"
# perftest writes these to standard error although all is well.
_HARMLESS = ("Conflicting CPU frequency", "WARNING", "Warning", "---", "***", "* Waiting")


@dataclass(frozen=True)
class PerftestRun:
    """One test on one port. ``name`` tells the caller which it is, ``address`` is the server's, for the client only.

    ``size`` is that of a message in bytes. ``gid_index`` is ``None`` on InfiniBand, which routes by LID. ``ipv6`` is
    whether the address is one of IPv6, which perftest (23.07 and newer) wants to be told on both sides.
    """

    name: str
    test: str
    hca: str
    port: int
    tcp_port: int
    iterations: int
    size: Optional[int] = None
    gid_index: Optional[int] = None
    address: Optional[str] = None
    ipv6: bool = False


class PerftestTools:
    """The node's tools and files; ``root`` is another directory only in tests."""

    def __init__(self, root: str = "/") -> None:
        self._root = root
        self._helps: Dict[str, str] = {}

    def cpus(self, hca: str) -> FrozenSet[int]:
        """CPUs near the HCA that this process may use; all that it may use where there is no such thing."""
        allowed = frozenset(os.sched_getaffinity(0))
        path = os.path.join(self._root, _INFINIBAND, hca, "device/local_cpulist")
        try:
            with open(path, encoding="ascii") as file:
                near = frozenset(_ranges(file.read()))
        except (OSError, ValueError):
            return allowed
        return near & allowed or allowed

    def listening(self) -> Set[int]:
        """TCP ports on which somebody listens (proc(5), /proc/net/tcp)."""
        found = set()
        for name in ("tcp", "tcp6"):
            try:
                with open(os.path.join(self._root, "proc/net", name), encoding="ascii") as file:
                    rows = [line.split() for line in file.readlines()[1:]]
            except OSError:
                continue
            found |= {int(row[1].rpartition(":")[2], 16) for row in rows if row[3] == _LISTENING}
        return found

    def takes_json(self, tool: str) -> bool:
        """Whether this perftest was built with JSON output."""
        if tool not in self._helps:
            done = command.run([tool, "--help"])
            self._helps[tool] = done.out + done.err
        return "--out_json_file" in self._helps[tool]


def _ranges(text: str) -> Iterator[int]:
    """CPUs of a list such as ``0-15,32-47``."""
    for part in text.strip().split(","):
        first, _dash, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def arguments(run: PerftestRun, json_file: Optional[str] = None) -> List[str]:
    """The command line of a run; a server's where it has no address."""
    argv = [f"ib_{run.test}", "-d", run.hca, "-i", str(run.port), "-p", str(run.tcp_port), "-n", str(run.iterations)]
    # Frequency scaling of CPUs is no reason not to measure.
    argv.append("-F")
    if run.size is not None:
        argv += ["-s", str(run.size)]
    if run.gid_index is not None:
        argv += ["-x", str(run.gid_index)]
    if run.test in perftest_parse.BANDWIDTH:
        argv.append("--report_gbits")
    if run.ipv6:
        argv.append("--ipv6-addr")
    if json_file is not None:
        argv += ["--out_json", f"--out_json_file={json_file}"]
    return argv if run.address is None else [*argv, run.address]


def complaint(text: str) -> str:
    """What a perftest that failed said, on one line."""
    lines = [line.strip() for line in text.splitlines()]
    said = "; ".join(line for line in lines if line and not line.startswith(_HARMLESS))
    return said if len(said) <= _SAID_AT_MOST else said[:_SAID_AT_MOST] + " ..."


class Started:
    """A perftest that runs, near its HCA and with its output in files that have no name.

    ``timeout`` of coreutils ends it after ``seconds``, whatever becomes of this process.
    """

    def __init__(self, run: PerftestRun, node: PerftestTools, seconds: int, json_file: Optional[str] = None) -> None:
        self.run = run
        self.cpus = node.cpus(run.hca)
        self.json_file = json_file
        # Open until the program has ended.
        self._out: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self._err: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        before = os.sched_getaffinity(0)
        # A child inherits it, and its memory is then taken from the same NUMA node.
        os.sched_setaffinity(0, self.cpus)
        try:
            self.process = subprocess.Popen(  # noqa: S603  (a list, so no shell)
                ["timeout", "--kill-after=5", str(seconds), *arguments(run, json_file)],  # noqa: S607  (on PATH, like perftest itself)
                env=command.environment(),
                stdin=subprocess.DEVNULL,
                stdout=self._out,
                stderr=self._err,
                start_new_session=True,
            )
        finally:
            os.sched_setaffinity(0, before)

    def said(self) -> str:
        """Its standard output."""
        return _content(self._out)

    def failure(self, seconds: int) -> Dict[str, Any]:
        """The result where it ended without success: by the exit status of timeout(1), and by what perftest said."""
        tool = f"ib_{self.run.test}"
        if self.process.returncode in (124, 137):
            return _failed(self.run, f"{tool} did not end within {seconds} s")
        if self.process.returncode in (126, 127):
            return _failed(self.run, f"{tool} is not installed (package perftest)", NOT_INSTALLED)
        said = complaint(_content(self._err)) or complaint(self.said()[-_SAID_AT_MOST:])
        return _failed(self.run, f"{tool} failed: {said or 'exit status ' + str(self.process.returncode)}")


def _content(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace")


def serve(runs: Sequence[PerftestRun], node: PerftestTools, seconds: int) -> List[Dict[str, Any]]:
    """Start a server for each run and wait until it listens. Those that do are left running for ``seconds``."""
    results = []
    taken = node.listening()
    started: List[Started] = []
    for run in runs:
        if run.tcp_port in taken:
            results.append(_failed(run, f"TCP port {run.tcp_port} is in use on this node"))
        else:
            started.append(Started(run, node, seconds))
    deadline = time.monotonic() + _LISTEN_WITHIN
    waiting = list(started)
    while waiting and time.monotonic() < deadline:
        open_ports = node.listening()
        for server in list(waiting):
            if server.process.poll() is not None:
                results.append(server.failure(seconds))
                waiting.remove(server)
            elif server.run.tcp_port in open_ports:
                results.append({"name": server.run.name, "ok": True, "code": "", "error": ""})
                waiting.remove(server)
        if waiting:
            time.sleep(_POLL)
    for server in waiting:
        server.process.terminate()
        server.process.wait()
        results.append(_failed(server.run, f"ib_{server.run.test} did not listen within {_LISTEN_WITHIN:g} s"))
    return results


def _failed(run: PerftestRun, error: str, code: str = FAILED) -> Dict[str, Any]:
    return {"name": run.name, "ok": False, "code": code, "error": error}


def _measured(client: Started, seconds: int) -> Dict[str, Any]:
    result: Dict[str, Any] = {"command": arguments(client.run), "cpus": len(client.cpus)}
    if client.process.returncode != 0:
        return {**client.failure(seconds), **result}
    rows: List[perftest_parse.PerftestRow] = []
    if client.json_file is not None:
        try:
            with open(client.json_file, encoding="utf-8", errors="replace") as file:
                rows = perftest_parse.of_json(file.read())
        except OSError:
            pass
    source = "json" if rows else "text"
    rows = rows or perftest_parse.of_text(client.said())
    if not rows:
        return {**_failed(client.run, f"ib_{client.run.test} returned no result: {complaint(client.said())}"), **result}
    row = rows[-1]
    values = {"value": row.value, "peak": row.peak, "size": row.size, "iterations": row.iterations}
    return {"name": client.run.name, "ok": True, "code": "", "error": "", **values, "source": source, **result}


def _wave(runs: Sequence[PerftestRun], node: PerftestTools, seconds: int, directory: str) -> Iterator[Dict[str, Any]]:
    clients = []
    for place, run in enumerate(runs):
        file = os.path.join(directory, f"{run.test}-{place}.json") if node.takes_json(f"ib_{run.test}") else None
        clients.append(Started(run, node, seconds, file))
    for client in clients:
        client.process.wait()
        yield _measured(client, seconds)


def measure(runs: Sequence[PerftestRun], node: PerftestTools, seconds: int) -> List[Dict[str, Any]]:
    """Run the clients, those of one test at the same time, one test after another; each ends within ``seconds``."""
    results: List[Dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="rdma-bandwidth-") as directory:
        for test in dict.fromkeys(run.test for run in runs):
            wave = [run for run in runs if run.test == test]
            results += _wave(wave, node, seconds, directory)
    return results


def loopback(runs: Sequence[PerftestRun], node: PerftestTools, seconds: int) -> List[Dict[str, Any]]:
    """Server and client of each run on this node, one test after another."""
    results = []
    for test in dict.fromkeys(run.test for run in runs):
        wave = [run for run in runs if run.test == test]
        served = {result["name"]: result for result in serve(wave, node, seconds)}
        ready = [replace(run, address=LOOPBACK) for run in wave if served[run.name]["ok"]]
        results += [result for result in served.values() if not result["ok"]]
        results += measure(ready, node, seconds)
    return results


def runs_of(values: Sequence[Mapping[str, Any]]) -> List[PerftestRun]:
    """Runs from module options."""
    return [PerftestRun(**value) for value in values]
