# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""Setting RoCE's quality of service on ports of the running node."""

from __future__ import annotations

import contextlib
import os
from typing import Any, Callable, Dict, Iterable, List, Mapping, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import infiniband, netdev
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import qos as discover_qos
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.qos import Ets
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links import qos, qos_unit
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.state import QosChange
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.command import Runner, must
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import writing

CONFIGFS = "/sys/kernel/config/rdma_cm"


def _dcb(run: Runner, netdev: str, what: str, now: Any, value: Any) -> None:
    if what == qos.DSCP and not value:
        words = ["app", "flush", "dev", netdev, "dscp-prio"]
    elif what == qos.DSCP:
        # What is right already would be written again.
        pairs = [word for word in qos_unit.dscp_words(value) if word not in qos_unit.dscp_words(now)]
        words = ["app", "replace", "dev", netdev, "dscp-prio", *pairs]
    elif what == qos.ETS:
        words = ["ets", "set", "dev", netdev, *qos_unit.ets_words(Ets(**value))]
    else:
        words = ["pfc", "set", "dev", netdev, "prio-pfc", *qos_unit.pfc_words(value)]
    must(run(["dcb", *words]), " ".join(["dcb", *words[:4]]))


def _attribute(name: str) -> str:
    hca, _slash, port = name.partition("/")
    return f"{CONFIGFS}/{hca}/ports/{port}/default_roce_tos"


def _make(run: Runner, name: str, note: Dict[str, Any], save: Callable[[], None]) -> None:
    """The directory in which RDMA-CM shows the type of service, and what that was before. Raises HostError."""
    directory = f"{CONFIGFS}/{name.partition('/')[0]}"
    if not os.path.isdir(CONFIGFS):
        run(["modprobe", "rdma_cm"])
    if not os.path.isdir(CONFIGFS):
        raise HostError(f"qos: {CONFIGFS} does not exist: rdma_cm is not loaded, or configfs is not mounted")
    if not os.path.isdir(directory):
        note["made"] = True
        save()
        try:
            writing.make_directories(directory)
        except OSError as error:
            text = f"qos: {directory}, in which RDMA-CM's type of service is, cannot be made: {error.strerror}"
            raise HostError(text) from error
    if qos.TOS not in note["before"]:
        with contextlib.suppress(OSError, ValueError), open(_attribute(name), encoding="ascii") as file:
            note["before"][qos.TOS] = int(file.read())
            save()


def _write_tos(name: str, value: int) -> None:
    try:
        with open(_attribute(name), "w", encoding="ascii") as file:
            file.write(f"{value}\n")
    except OSError as error:
        raise HostError(f"qos: {_attribute(name)} does not take {value}: {error.strerror}") from error


def apply(run: Runner, change: QosChange, note: Dict[str, Any], save: Callable[[], None]) -> None:
    """Make one change. ``note`` is the port's in the ledger, which ``save`` writes. Raises HostError."""
    if change.what != qos.TOS:
        _dcb(run, change.netdev, change.what, change.before, change.after)
        return
    _make(run, change.name, note, save)
    _write_tos(change.name, change.after)


def undo(run: Runner, change: QosChange, note: Dict[str, Any]) -> None:
    """Take one change back. Raises HostError."""
    if change.what != qos.TOS:
        _dcb(run, change.netdev, change.what, change.after, change.before)
    elif os.path.exists(_attribute(change.name)):
        before = note["before"].get(qos.TOS, 0) if change.before is None else change.before
        _write_tos(change.name, before)


def made(tree: Tree, notes: Mapping[str, Mapping[str, Any]]) -> List[str]:
    """Paths of the directories that are there for these ports. Each keeps rdma_cm, and so the driver's modules, loaded.

    Another driver may give an RDMA device another name, under which the script at boot has made it then.
    """
    ours = {name: note["mac"] for name, note in notes.items() if note["made"]}
    hcas = {name.partition("/")[0] for name in ours}
    for hca in tree.names(infiniband.CLASS):
        for port in tree.names(f"{infiniband.CLASS}/{hca}/ports"):
            name = tree.text(f"{infiniband.CLASS}/{hca}/ports/{port}/gid_attrs/ndevs/0")
            if name and tree.text(f"{netdev.CLASS}/{name}/address") in ours.values():
                hcas.add(hca)
    paths = [f"{discover_qos.RDMA_CM}/{hca}" for hca in sorted(hcas)]
    return [os.path.join(tree.root, path) for path in paths if tree.exists(path)]


def forget(notes: Iterable[Tuple[str, Mapping[str, Any]]]) -> None:
    """Remove the directories that were made for these ports; one that is in use stays."""
    for name, note in notes:
        if note["made"]:
            with contextlib.suppress(OSError):
                os.rmdir(f"{CONFIGFS}/{name.partition('/')[0]}")
