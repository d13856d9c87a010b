# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The concern ``links`` as one call. Loads what changes a node only where something has to change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Mapping, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import netdev
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger.ledger import Ledger
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links import guard
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links import plan as links_plan
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.request import LinkRequest, request
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.state import (
    CONCERN,
    NOTES,
    LinkChanges,
    LinkState,
    interfaces,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.changes import as_result
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.command import Runner, run
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files

if TYPE_CHECKING:
    from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Hca
    from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.bus import Snapshot


class _Asked:
    """NetworkManager's snapshot, taken when it is first wanted."""

    def __init__(self, run: Runner) -> None:
        self._run = run
        self._snapshot: Optional[Snapshot] = None

    def __call__(self) -> Snapshot:
        from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.bus import NetworkManager

        if self._snapshot is None:
            self._snapshot = NetworkManager(self._run).snapshot()
        return self._snapshot


def _hcas(tree: Tree) -> Sequence[Hca]:
    from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import infiniband, port_netdev

    found = infiniband.hcas(tree, counters=False)
    port_netdev.attach(tree, found, None, None)
    return found


def _node(ledger: Ledger, wanted: LinkRequest, runner: Runner) -> LinkState:
    tree = Tree(ledger.files.root)
    netdevs = interfaces(tree)
    by_hca = any(link.selector.kind == "hca" for link in wanted.links)
    return LinkState(
        tree=tree,
        ledger=ledger,
        interfaces=netdevs,
        hcas=_hcas(tree) if by_hca or wanted.qos or ledger.notes.get("qos") else (),
        routes=netdev.default_routes(tree),
        session=guard.session(tree, netdevs, guard.ssh_connection(tree)) if tree.live else None,
        snapshot=_Asked(runner) if tree.live else None,
    )


def _result(plan: LinkChanges) -> Dict[str, Any]:
    result = as_result(plan.changes, [entry.texts for entry in plan.files if entry.before != entry.after])
    result["links"] = plan.links
    result["in_pod"] = [entry["name"] for entry in plan.links if entry["state"] == "in_pod"]
    result["warnings"] = plan.warnings
    return result


def converge(options: Mapping[str, Any], check: bool, runner: Runner = run) -> Dict[str, Any]:
    """Bring the node to these options (read as ``options.SPEC`` says), or report the differences.

    Returns the module's result.

    :raises HostError: an option is wrong or impossible (nothing was changed then), or it failed (the message says
        whether everything was put back).
    """
    files = Files(options["root"])
    if options["confirm"] == "auto":
        raise HostError("confirm: auto works only from the Ansible controller, which confirms over a new connection")
    if options["confirm"] is not None:
        return _confirm(files, options["confirm"], runner, check)
    return _converge(files, request(options), runner, check)


def _planned(node: LinkState, wanted: LinkRequest) -> LinkChanges:
    return links_plan.build(node, wanted.links, wanted.unmanaged, wanted.qos)


def _converge(files: Files, wanted: LinkRequest, runner: Runner, check: bool) -> Dict[str, Any]:
    ledger = Ledger(files, CONCERN, NOTES)
    unconfirmed = files.live and "checkpoint" in ledger.notes
    plan = None
    if check or not unconfirmed:
        plan = ledger.steady(lambda: _planned(_node(ledger, wanted, runner), wanted))
        known = (ledger.notes.get("links", {}), ledger.notes.get("qos", {}))
        todo = plan.changes or plan.pending or plan.files or plan.left or (plan.remembered, plan.qos.notes) != known
        if check or not todo:
            if not check:
                ledger.clear()
            # An unconfirmed checkpoint will roll back the node, even if nothing differs now.
            return {**_result(plan), "unfinished": unconfirmed or bool(todo and not plan.changes)}
    from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links import apply, checkpoint

    with ledger.locked():
        if unconfirmed:
            checkpoint.finish_earlier(ledger, runner)
        # Again: another run may have changed the node while this one waited for the lock.
        node = _node(ledger, wanted, runner)
        plan = _planned(node, wanted)
        seconds = wanted.rollback_seconds if wanted.transaction else None
        opened = apply.LinkTransaction(node, plan, runner, seconds, wanted.qos).apply()
    result = {**_result(plan), "unfinished": False}
    if opened:
        result.update(checkpoint=opened, rollback_seconds=seconds)
    return result


def _confirm(files: Files, path: str, runner: Runner, check: bool) -> Dict[str, Any]:
    if not files.live:
        raise HostError("confirm: there is no checkpoint with a root other than /")
    if not check:
        from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links import checkpoint

        checkpoint.confirm(Ledger(files, CONCERN, NOTES), runner, path)
    return {"changed": False, "changes": [], "diff": [], "links": [], "in_pod": [], "unfinished": False}
