# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The hosts of the inventory as the plan of claims takes them."""

from __future__ import annotations

from typing import Any, List, Mapping, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._plan import variables as plan_variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.claims.hosts import Host
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import Problem
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _inventory

_PREFIXES = ("rdma_claims", "rdma_driver_", "rdma_links_", "rdma_discover_expect_")


def _host(name: str, variables: Mapping[str, Any], play: Mapping[str, Any]) -> Host:
    own, broken = _inventory.of_host(variables, play, lambda variable: variable.startswith(_PREFIXES))
    facts, malformed = _inventory.facts_of(variables)
    whole = facts is not None and {"hcas", "gpus"} <= set(facts.sent)
    problems = [Problem(variable, f"cannot be worked out: {why}") for variable, why in broken.items()]
    return Host(name, plan_variables.group_of(variables), own, facts if whole else None, problems, malformed)


def hosts(context: Mapping[str, Any], names: Sequence[str], hostvars: _inventory.Hostvars) -> List[Host]:
    """These hosts with their variables and facts. ``context`` is Jinja's."""
    play = _inventory.of_play(context, hostvars)
    return [_host(name, hostvars[name], play) for name in names]
