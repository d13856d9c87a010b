# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""The concern ``images`` of a node: images that its runtime has from an archive instead of a registry.

What is there is asked of the CRI, as the kubelet does. The CRI itself imports nothing, so that is done by containerd's
``ctr``. k3s and RKE2 import what lies in their directory ``agent/images`` too, but some versions only when they start;
through the socket the image is there at once, and no pod has to wait for a restart.
"""

from __future__ import annotations

import platform
import time
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.command import Runner, must, run
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.files import Files
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger.ledger import Ledger
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.report import Change, as_result
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime import cri
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.flavour import (
    Layout,
    configured,
    daemon,
    detect,
)

CONCERN = "images"
# As Go calls them.
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
# The CRI learns of an image from containerd's events.
_DEADLINE = 10.0
_INTERVAL = 0.2


@dataclass(frozen=True)
class Request:
    """``identities`` are IDs by architecture; without ``archive``, a path on the node, nothing is imported."""

    name: str
    identities: Mapping[str, str]
    archive: str = ""
    check: bool = False


def layout_of(files: Files, runtime: str) -> Layout:
    """The runtime as it runs. Raises HostError."""
    layout = detect(files, runtime)
    return configured(layout, daemon(files, layout))


def present(request: Request, files: Files, layout: Layout, execute: Runner = run) -> Dict[str, Any]:
    """Have the runtime know this very image under this name, or say that it does not.

    :raises HostError: the archive is not for this node, or the runtime does not take it.
    """
    wanted = _wanted(request)
    known = cri.image(layout.socket, request.name)
    before = known.identity if known else None
    facts = {"id": wanted, "runtime": layout.flavour}
    if before == wanted:
        return {**as_result([], []), **facts}
    if not layout.ctr:
        raise HostError(
            f"name: {request.name} is {'another image' if known else 'missing'} on this node, and CRI-O imports no"
            " archives: load it with 'podman load' into the storage that CRI-O uses, or give a registry that has it"
        )
    if request.archive and not request.check:
        ledger = Ledger(files, CONCERN)
        with ledger.locked():
            if cri.image(layout.socket, wanted) is None:
                ledger.notes[request.name] = wanted
                ledger.save()
            arguments = ["-a", layout.socket, "-n", "k8s.io", "images", "import", request.archive]
            must(execute([*layout.ctr, *arguments], timeout=600), f"{request.name} cannot be imported")
            _await(layout.socket, request.name, wanted)
    return {**as_result([Change("image", request.name, before, wanted)], []), **facts}


def _wanted(request: Request) -> str:
    machine = platform.machine()
    architecture = _ARCHITECTURES.get(machine, machine)
    if architecture not in request.identities:
        listed = " and ".join(sorted(request.identities)) or "no architecture"
        raise HostError(f"archive: {request.name} is for {listed} there, and this node is {architecture}")
    return request.identities[architecture]


def _await(socket: str, name: str, wanted: str) -> None:
    end = time.monotonic() + _DEADLINE
    while True:
        known = cri.image(socket, name)
        if known and known.identity == wanted:
            return
        if time.monotonic() > end:
            has = f"has {known.identity} under this name" if known else "does not know it"
            raise HostError(f"{name} was imported as {wanted}, but the runtime {has}")
        time.sleep(_INTERVAL)


def absent(files: Files, runtime: str, check: bool) -> Dict[str, Any]:
    """Remove what ``present`` brought and nobody has named or replaced since.

    :raises HostError: the runtime does not answer.
    """
    ledger = Ledger(files, CONCERN)
    if not ledger.notes:
        return {**as_result([], []), "warnings": []}
    socket = layout_of(files, runtime).socket
    changes: List[Change] = []
    warnings: List[str] = []
    for name, identity in sorted(ledger.notes.items()):
        known = cri.image(socket, name)
        if known is None or known.identity != identity:
            continue
        if known.names != (name,):
            also = ", ".join(other for other in known.names if other != name)
            warnings.append(f"{name} has other names by now ({also}), so it is left as it is")
            continue
        changes.append(Change("image", name, identity, None))
    if not check:
        with ledger.locked():
            for change in changes:
                cri.remove_image(socket, change.name)
            ledger.notes.clear()
            ledger.save()
    return {**as_result(changes, []), "warnings": warnings}
