# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Labels of leaves in the plan of the cluster, from the file in which ``cabling`` has left what it found."""

from __future__ import annotations

from typing import Any, Dict, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric.leaf_groups import LeafGroups
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.value_rules import LEAF_LABEL
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan import leaf_labels
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.cluster_plan import ClusterPlan
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.strategy import ClusterState
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _cabling_file
from ansible_collections.zerocopy.rdma.plugins.plugin_utils._fleet import Fleet


def look(run_of: Fleet) -> Dict[str, Any]:
    """What one look at the cluster has to ask for: whether it has Kueue, and our set of objects."""
    own = leaf_labels.topology_set(run_of.values)
    return {"kinds": [leaf_labels.KIND], "sets": [{"name": own.name, "namespace": own.namespace}]}


def add(run_of: Fleet, plan: ClusterPlan, state: ClusterState, present: bool) -> None:
    """Add the steps to a plan of all strategies, unless something is wrong with it."""
    if plan.problems:
        return
    if not present:
        plan.steps += leaf_labels.removal(state, run_of.values)
        return
    values = run_of.values
    groups: Optional[LeafGroups] = None
    try:
        if values[LEAF_LABEL]:
            groups = _cabling_file.groups(values, run_of.context)
    except OSError as error:
        plan.warnings.append(leaf_labels.unknown(values[LEAF_LABEL], str(error)))
    except ValueError as error:
        plan.problems.append(f"{leaf_labels.CABLING} is {values[leaf_labels.CABLING]}, which cannot be used: {error}")
        return
    found = leaf_labels.plan([host.name for host in run_of.hosts], state, values, groups, run_of.failed)
    plan.steps += found.steps
    plan.manifests += found.manifests
    plan.warnings += found.warnings
