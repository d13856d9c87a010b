# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The life of a control plane: up, down."""

from __future__ import annotations

import json
import re
import shutil
import ssl
import subprocess
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from vmlab.progress import LabError, await_condition, step, tail

from . import pins, processes, programs
from .certificates import Authority
from .components import ADMIN, Components, free_ports
from .paths import STATE

# Ready after some six seconds on an idle machine; many times that beside a build.
_READY_SECONDS = 180
_REQUEST_SECONDS = 10
_PROGRAMS = ("etcd", *pins.PROGRAMS)
_APISERVER = "kube-apiserver"


@dataclass(frozen=True)
class ControlPlane:
    """One that runs.

    ``kubeconfig`` is an administrator's. ``audit`` is a file of audit.k8s.io/v1 events, one JSON object per line, of
    what was asked by others than the control plane itself; None without audit log.
    """

    name: str
    kubeconfig: Path
    kubectl: Path
    audit: Optional[Path]


def up(
    name: str,
    *,
    version: str = pins.WANTED,
    api: str = "v1",
    audit: bool = False,
    tied: bool = False,
    address: Optional[str] = None,
) -> ControlPlane:
    """Start a control plane of that name and wait until it does its work.

    :arg version: of Kubernetes, such as ``1.35.4``.
    :arg api: the version of resource.k8s.io that is served, or ``off``. Claims are allocated with ``v1`` only.
    :arg tied: the kernel ends the programs with the thread that called this.
    :arg address: of this network namespace, where real nodes reach the API server, on port 443. Without it nodes are
        objects only.
    """
    binaries = programs.build(version)
    directory = _directory(name)
    if processes.working_on(directory, _PROGRAMS):
        raise LabError(f"a control plane named {name} runs already")
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(mode=0o700, parents=True)
    try:
        with step(f"control plane {name}: Kubernetes {version}, resource.k8s.io {api}"), free_ports() as ports:
            components = Components(directory, binaries, ports, address)
            log = directory / "audit.log" if audit else None
            _start(directory, components, api, log, tied)
        kubeconfig = components.kubeconfig(directory / "kubeconfig", components.admin)
    except BaseException:
        down(name)
        raise
    return ControlPlane(name, kubeconfig, binaries["kubectl"], log)


def kubeconfig_of(name: str, user: str, groups: Sequence[str]) -> Path:
    """Make another user of a running control plane, such as ``system:node:n1`` in ``system:nodes``."""
    directory = _directory(name)
    issuer = authority(name)
    label = user.replace(":", "-")
    server = json.loads((directory / "kubeconfig").read_text())["clusters"][0]["cluster"]["server"]
    return issuer.kubeconfig(directory / f"{label}.kubeconfig", server, issuer.issue(label, user, groups))


def authority(name: str) -> Authority:
    """Who issues the certificates of a running control plane."""
    return Authority(_directory(name) / "pki")


def down(name: str) -> None:
    """Stop the control plane of that name, however much of it there is, and remove what it leaves."""
    directory = _directory(name)
    processes.end(directory, _PROGRAMS)
    shutil.rmtree(directory, ignore_errors=True)


def kill_apiserver(name: str) -> list[str]:
    """Kill the API server of a running control plane; all else goes on. Returns what starts it again."""
    directory = _directory(name)
    (pid,) = processes.working_on(directory, [_APISERVER])
    command = Path(f"/proc/{pid}/cmdline").read_text().rstrip("\0").split("\0")
    processes.end(directory, [_APISERVER])
    return command


def start_apiserver(name: str, command: Sequence[str]) -> None:
    """Start it again, tied to the calling thread, and wait until it answers."""
    directory = _directory(name)
    log = directory / f"{_APISERVER}.log"
    server = json.loads((directory / "kubeconfig").read_text())["clusters"][0]["cluster"]["server"]
    context = _administrator(directory)
    processes.spawn(command, log, tied=True)
    ready = f"{server}/readyz"
    await_condition(ready, lambda: _answers(ready, context), seconds=_READY_SECONDS, note=lambda: tail(log))


def names() -> list[str]:
    """Names of the control planes that run, or that were killed and left something."""
    return sorted(path.name for path in STATE.glob("*"))


@contextmanager
def running(name: str, *, version: str = pins.WANTED, api: str = "v1", audit: bool = False) -> Iterator[ControlPlane]:
    """A control plane that does not outlive the caller, however that ends."""
    plane = up(name, version=version, api=api, audit=audit, tied=True)
    try:
        yield plane
    finally:
        down(name)


def _directory(name: str) -> Path:
    """Where all of it is, and is removed from: so no name may lead elsewhere."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", name):
        raise LabError(f"{name!r} is no name of a control plane; right would be small letters, digits and dashes")
    return STATE / name


def _start(directory: Path, components: Components, api: str, audit: Optional[Path], tied: bool) -> None:
    """Start the programs in the order in which they need each other."""
    context = _administrator(directory)
    started: dict[str, subprocess.Popen[bytes]] = {}

    def start(*commands: list[str]) -> None:
        for command in commands:
            program = Path(command[0]).name
            started[program] = processes.spawn(command, directory / f"{program}.log", tied=tied)

    def until_answered(program: str, address: str) -> None:
        def answered() -> bool:
            for other, process in started.items():
                if process.poll() is not None:
                    raise LabError(f"{other} ended; the end of its log:\n{tail(directory / f'{other}.log')}")
            return _answers(address, context)

        note = directory / f"{program}.log"
        await_condition(f"{program}: {address}", answered, seconds=_READY_SECONDS, note=lambda: tail(note))

    health = components.health()
    start(components.etcd(), components.apiserver(api, audit))
    for address in health.pop("kube-apiserver"):
        until_answered("kube-apiserver", address)
    start(components.scheduler(api), components.controller_manager(api))
    for program, addresses in health.items():
        for address in addresses:
            until_answered(program, address)
    # Without it no pod is admitted. Controllers make it, so it also says that they work.
    account = f"{components.url}/api/v1/namespaces/default/serviceaccounts/default"
    until_answered("kube-controller-manager", account)


def _administrator(directory: Path) -> ssl.SSLContext:
    authority = Authority(directory / "pki")
    admin = authority.pair(ADMIN)
    context = ssl.create_default_context(cafile=str(authority.ca.certificate))
    context.load_cert_chain(admin.certificate, admin.key)
    return context


def _answers(address: str, context: ssl.SSLContext) -> bool:
    try:
        with urllib.request.urlopen(address, context=context, timeout=_REQUEST_SECONDS):
            return True
    except OSError:
        return False
