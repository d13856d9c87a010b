# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The OFED driver of NVIDIA's Network Operator: which nodes get or lose it, and the policies that they need for it."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any, Dict, Mapping

from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.nodes import ofed_rollout
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.nodes import use as node_use
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan import cluster_plan
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies import registry
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.device_plugin import ofed
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import (
    _cluster_look,
    _cluster_plan,
    _fleet,
    _inventory,
    _waves,
)
from ansible_collections.zerocopy.rdma.plugins.plugin_utils._cluster_look import Ask
from ansible_collections.zerocopy.rdma.plugins.plugin_utils._cluster_plan import Planned
from ansible_collections.zerocopy.rdma.plugins.plugin_utils._fleet import Fleet

# What the module driver_watch has found on each host that is to have the driver.
_PROBE = "__rdma_ofed_probe"
_NAMES = {"label": registry.of_ofed().label, "trial": ofed.TRIAL, "waits": ofed.WAITS, "pods": ofed.PODS}


def rollout(run_of: Fleet, ramp: Any, ask: Ask) -> Planned:
    """Who gets or loses the driver, in which waves; the policies are planned of the document. Raises ValueError."""
    names, hostvars = _fleet.names(run_of), run_of.context["hostvars"]
    nodes = _cluster_look.answer(_cluster_look.USES, names, ask)["nodes"]
    uses = {name: node_use.read(node) for name, node in nodes.items()}
    probes = {host.name: _inventory.raw(hostvars[host.name], _PROBE) or {} for host in run_of.hosts}
    plan = ofed_rollout.plan(run_of.hosts, uses, probes, run_of.known, _waves.sizes(ramp), run_of.limits, run_of.failed)
    result = {
        **names,
        "names": _NAMES,
        "nodes": {name: asdict(node) for name, node in plan.nodes.items()},
        "waves": plan.waves,
        "refused": plan.refused,
        "text": plan.text,
        "problems": plan.problems,
    }
    # The plays that carry it out have some of the hosts only.
    return Planned(result, {"hosts": [host.name for host in run_of.hosts], "labels": plan.labels})


def policies(context: Mapping[str, Any], first: Mapping[str, Any], planned: bool, ask: Ask) -> Dict[str, Any]:
    """The policies of the hosts of a rollout (``first`` is its document), for the labels that their nodes have.

    With ``planned``, they are for the labels that the nodes get. Whatever else is in the way in the cluster does not
    matter. Raises ValueError.
    """
    run_of, strategies = _fleet.fleet(context, first["hosts"]), [registry.of_ofed().name]
    question = _cluster_look.question(run_of, False, False, False, ())
    answer = _cluster_plan.looked(run_of, question, strategies, ask)
    state = _cluster_look.state(answer, True)
    if planned:
        state = replace(state, labels=first["labels"])
    plan = cluster_plan.cluster_plan(
        run_of.hosts, state, run_of.known, strategies, prepared=not run_of.check, failed=run_of.failed
    )
    return {"sets": [asdict(each) for each in plan.sets], "unknown": plan.unknown, "problems": plan.problems}
