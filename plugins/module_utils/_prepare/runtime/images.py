# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""The concern ``images``: imports images from archives on nodes without a registry.

Present images are read from the CRI, as by the kubelet. The CRI cannot import, so containerd's ``ctr`` does. k3s and
RKE2 also import archives from their directory ``agent/images``, but some versions only at startup; through the socket
the image is available at once, without a restart.
"""

from __future__ import annotations

import copy
import platform
import time
from typing import Any, Dict, List, Mapping, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger.document import by_name, text
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger.ledger import Ledger
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.changes import Change, as_result
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.command import Runner, must, run
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime import cri
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.base.interface import RuntimeLayout
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.image_options import ImageRequest
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.registry import (
    configured,
    daemon,
    detect,
    of,
)

CONCERN = "images"
# What was imported: identities by name.
_NOTES = {"images": by_name(text)}
# Go's names.
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
# The CRI is notified of images by containerd's events.
_DEADLINE = 10.0
_INTERVAL = 0.2


def converge(wanted: ImageRequest, files: Files, execute: Runner = run) -> Dict[str, Any]:
    """Bring the node to the requested state, or in check mode report the differences; returns the module's result.

    :raises HostError: it cannot be done.
    """
    return _present(wanted, files, execute) if wanted.name else _absent(wanted, files)


def layout_of(files: Files, runtime: str) -> RuntimeLayout:
    """The layout of the runtime, as it is running.

    :raises HostError: there is none, or more than one.
    """
    layout = detect(files, runtime)
    return configured(layout, daemon(files, layout))


def _present(request: ImageRequest, files: Files, execute: Runner) -> Dict[str, Any]:
    layout = layout_of(files, request.runtime)
    wanted = _wanted(request)
    known = cri.image(layout.socket, request.name)
    before = known.identity if known else None
    facts = {"id": wanted, "runtime": layout.runtime}
    if before == wanted:
        return {**as_result([], []), **facts}
    runtime = of(layout)
    if runtime.other_import:
        raise HostError(
            f"name: {request.name} is {'a different image' if known else 'missing'} on this node, and {runtime.title}"
            f" cannot import archives: {runtime.other_import}, or use a registry that has it"
        )
    if request.archive and not request.check:
        ledger = Ledger(files, CONCERN, _NOTES)
        with ledger.locked():
            former = copy.deepcopy(ledger.notes)
            if cri.image(layout.socket, wanted) is None:
                ledger.notes.setdefault("images", {})[request.name] = wanted
                ledger.save()
            command = runtime.import_command(layout, request.archive)
            try:
                must(execute(command, timeout=600), f"{request.name} cannot be imported")
            except HostError:
                if not _imported(layout.socket, request.name, wanted):
                    # Whoever brings the image now, it is not ours.
                    ledger.notes = former
                    ledger.save()
                raise
            _await(layout.socket, request.name, wanted)
    return {**as_result([Change("image", request.name, before, wanted)], []), **facts}


def _wanted(request: ImageRequest) -> str:
    machine = platform.machine()
    architecture = _ARCHITECTURES.get(machine, machine)
    if architecture not in request.identities:
        listed = " and ".join(sorted(request.identities)) or "no architecture"
        raise HostError(f"archive: {request.name} is available for {listed}, but this node is {architecture}")
    return request.identities[architecture]


def _imported(socket: str, name: str, wanted: str) -> bool:
    try:
        known = cri.image(socket, name)
    except HostError:
        return False
    return known is not None and known.identity == wanted


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


def _absent(request: ImageRequest, files: Files) -> Dict[str, Any]:
    """Remove what earlier calls imported and nobody has renamed or replaced since."""
    ledger = Ledger(files, CONCERN, _NOTES)
    if not ledger.notes:
        if not request.check:
            ledger.clear()
        return {**as_result([], []), "warnings": []}
    if request.check:
        return ledger.steady(lambda: _removed(request, files, ledger))
    with ledger.locked():
        return _removed(request, files, ledger)


def _removed(request: ImageRequest, files: Files, ledger: Ledger) -> Dict[str, Any]:
    imported = ledger.notes.get("images", {})
    try:
        socket = layout_of(files, request.runtime).socket
        changes, warnings = _ours(socket, imported)
    except HostError as error:
        # The node is given back all the same: with a runtime that is gone, its images are of no use to anybody.
        changes, socket = [], ""
        warnings = [f"{name} is not removed: {error}" for name in sorted(imported)]
    if not request.check:
        for change in changes:
            cri.remove_image(socket, change.name)
        ledger.notes.clear()
        ledger.save()
    return {**as_result(changes, []), "warnings": warnings}


def _ours(socket: str, imported: Mapping[str, str]) -> Tuple[List[Change], List[str]]:
    """The images to remove, and warnings about those that are no longer ours alone."""
    changes: List[Change] = []
    warnings: List[str] = []
    for name, identity in sorted(imported.items()):
        known = cri.image(socket, name)
        if known is None or known.identity != identity:
            continue
        if known.names != (name,):
            also = ", ".join(other for other in known.names if other != name)
            warnings.append(f"{name} has been given other names ({also}), so it is not removed")
            continue
        changes.append(Change("image", name, identity, None))
    return changes, warnings
