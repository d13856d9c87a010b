# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What a node has for a support bundle: logs, and what the collection has left there."""

from __future__ import annotations

import os
from typing import List

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.daemons.exporter import DAEMON as EXPORTER
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.daemons.inject import DAEMON as INJECT
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger.ledger import STATE
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.support import journal
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.support.gathered import Gathered
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import writing

# Container runtimes, kubelets, what configures links, and our daemons.
UNITS = (
    "containerd",
    "crio",
    "kubelet",
    "k3s",
    "k3s-agent",
    "rke2-server",
    "rke2-agent",
    "NetworkManager",
    "nvidia-fabricmanager",
    "opensm",
    EXPORTER.unit,
    INJECT.unit,
)
_KERNEL = "kernel"


def gather(root: str, hours: int, most: int) -> Gathered:
    """Files of together at most ``most`` characters, of logs those of the last hours."""
    found = Gathered()
    _logs(found, root, hours, most)
    _ledgers(found, root)
    status = str(INJECT.status)
    if os.path.lexists(_below(root, status)):
        _file(found, root, status, "inject.json")
    found.bound(most)
    return found


def _below(root: str, path: str) -> str:
    return os.path.join(root, path.lstrip("/"))


def _logs(found: Gathered, root: str, hours: int, most: int) -> None:
    silent: List[str] = []
    sources = {unit.partition(".")[0]: f"--unit={unit}" for unit in UNITS}
    for name, match in {_KERNEL: "_TRANSPORT=kernel", **sources}.items():
        file = f"journal/{name}.log"
        try:
            text, cut = journal.newest(journal.arguments(root, hours, [match]), most)
        except (journal.JournalError, OSError) as error:
            found.missing[file] = str(error)
            continue
        if text:
            found.add(file, text)
        else:
            silent.append(name)
        if cut:
            found.cut[file] = cut
    reasons = set(found.missing.values())
    if len(reasons) == 1 and not found.files and not silent:
        # All for the same reason.
        found.missing = {"journal": reasons.pop()}
    if silent:
        found.missing["journal"] = f"no messages in the last {hours} h of {', '.join(silent)}"


def _ledgers(found: Gathered, root: str) -> None:
    """The records of changes, without the originals of changed files."""
    state = _below(root, STATE)
    try:
        concerns = sorted(entry.name for entry in os.scandir(state) if entry.is_dir(follow_symlinks=False))
    except (FileNotFoundError, NotADirectoryError):
        concerns = []
    except OSError as error:
        found.missing["ledger"] = f"{error.strerror}"
        return
    if not concerns:
        found.missing["ledger"] = "the collection has changed nothing on this node"
    for concern in concerns:
        _file(found, root, f"{STATE}/{concern}/ledger.json", f"ledger/{concern}.json")


def _file(found: Gathered, root: str, path: str, name: str) -> None:
    try:
        text = writing.read(_below(root, path)).decode("utf-8", "replace")
    except OSError as error:
        found.missing[name] = f"{path}: {error.strerror}"
        return
    found.add_file(name, text)
