# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""``nm_links`` as one call. Loads what changes a node only where something has to change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, NamedTuple, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import netdev
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.command import Runner
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.files import Files
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger.ledger import Ledger
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links import guard
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links import interfaces as links_interfaces
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links import plan as links_plan
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.request import Link, Selector
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.state import Node, Plan
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.report import as_result

if TYPE_CHECKING:
    from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Hca
    from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.bus import Snapshot

CONCERN = "nm_links"


class Request(NamedTuple):
    """What a module call wants. ``transaction`` is whether NetworkManager rolls back without a confirmation."""

    links: Sequence[Link] = ()
    unmanaged: Sequence[Selector] = ()
    rollback_seconds: int = 60
    transaction: bool = True


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


def _node(ledger: Ledger, request: Request, run: Runner) -> Node:
    tree = Tree(ledger.files.root)
    interfaces = links_interfaces.read(tree)
    return Node(
        tree=tree,
        ledger=ledger,
        interfaces=interfaces,
        hcas=_hcas(tree) if any(link.selector.kind == "hca" for link in request.links) else (),
        routes=netdev.default_routes(tree),
        session=guard.session(tree, interfaces, guard.ssh_connection(tree)) if tree.live else None,
        snapshot=_Asked(run) if tree.live else None,
    )


def _result(plan: Plan) -> Dict[str, Any]:
    result = as_result(plan.changes, [entry.texts for entry in plan.files if entry.before != entry.after])
    result["links"] = plan.links
    result["in_pod"] = [entry["name"] for entry in plan.links if entry["state"] == "in_pod"]
    result["warnings"] = plan.warnings
    return result


def converge(files: Files, request: Request, run: Runner, check: bool) -> Dict[str, Any]:
    """Make the node's links those requested, and no others of ours; returns the module's result.

    :raises HostError: something asked for is impossible (nothing was changed), or it failed (everything was put back).
    """
    ledger = Ledger(files, CONCERN)
    unconfirmed = files.live and "checkpoint" in ledger.notes
    plan = None
    if check or not unconfirmed:
        plan = links_plan.build(_node(ledger, request, run), request.links, request.unmanaged)
        todo = plan.changes or plan.pending or plan.files or plan.remembered != ledger.notes.get("links", {})
        if check or not todo:
            if not check:
                ledger.clear()
            return _result(plan)
    from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links import apply

    with ledger.locked():
        if unconfirmed:
            apply.finish_earlier(ledger, run)
        # Again: somebody else may have changed the node while this run waited for the lock.
        node = _node(ledger, request, run)
        plan = links_plan.build(node, request.links, request.unmanaged)
        seconds = request.rollback_seconds if request.transaction else None
        checkpoint = apply.Run(node, plan, run, seconds).apply()
    result = _result(plan)
    if checkpoint:
        result.update(checkpoint=checkpoint, rollback_seconds=seconds)
    return result


def confirm(files: Files, checkpoint: str, run: Runner, check: bool) -> Dict[str, Any]:
    """Keep what an earlier call changed: the node was reached again.

    :raises HostError: NetworkManager has rolled it back already.
    """
    if not files.live:
        raise HostError("confirm: there is no checkpoint with a root other than /")
    if not check:
        from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links import apply

        apply.confirm(Ledger(files, CONCERN), run, checkpoint)
    return {"changed": False, "changes": [], "diff": [], "links": [], "in_pod": []}
