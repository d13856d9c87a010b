# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The node's part of the plan, out of variables and facts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Dict, List, Mapping, Optional

from ansible.errors import AnsibleError, AnsibleFilterError

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.read import GATHER_FIRST
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables as plan_variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._links import host_links
from ansible_collections.zerocopy.rdma.plugins.module_utils._links.host_links import LinkPlan
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan import leaf_labels, node_options
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.document import HostPlan
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies import registry
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import PlanError
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _cabling_file, _groups, _inventory
from ansible_collections.zerocopy.rdma.plugins.plugin_utils._run_variables import HostVariables, RunVariables

# What the plan of links depends on. Roles have many more variables, and templates are slow.
LINKS = ("rdma_links_", "rdma_discover_", "rdma_kernel_netns_mode")
_NODE = (
    plan_variables.STRATEGY,
    *("rdma_discover_", "rdma_kernel_", "rdma_links_", "rdma_runtime_", "rdma_exporter_"),
    "rdma_cabling_lldpd",
    leaf_labels.CABLING,
    # Images of strategies, and the plugin for injection.
    *(f"{role}_" for role in registry.roles()),
)


def facts_of(host: str, variables: Mapping[str, Any]) -> Optional[Facts]:
    """The facts of a host among its variables, ``None`` where they do not tell its HCAs. Raises AnsibleFilterError."""
    sent = plan_variables.sent(variables)
    facts = None if sent is None else _inventory.read_facts(host, sent)
    return facts if facts is not None and "hcas" in facts.sent else None


def links(host: str, values: Mapping[str, Any], variables: Mapping[str, Any]) -> LinkPlan:
    """The links of a host with these ``values``, by its facts among ``variables``. Raises AnsibleFilterError."""
    facts = facts_of(host, variables)
    if facts is None:
        if host_links.asked(values) is None:
            return LinkPlan()
        raise AnsibleFilterError(f"{host}: there are no facts about its HCAs: {GATHER_FIRST}")
    try:
        return host_links.plan(host, values, facts)
    except PlanError as error:
        raise AnsibleFilterError(f"{host}: {error}") from error


def _set(host: str, variables: HostVariables) -> Dict[str, Any]:
    """The variables of a node that are set, in their types. Raises AnsibleFilterError."""
    own, broken = _inventory.of_host(variables, {}, lambda name: name.startswith(_NODE))
    if broken:
        raise AnsibleFilterError(f"{host}: {broken[0].variable} {broken[0].text}")
    return _inventory.typed(host, own, plan_variables.options_of())


def _leaf(host: str, values: Mapping[str, Any], variables: Mapping[str, Any]) -> Optional[str]:
    """The leaf group of a host whose daemon needs it, as ``NodeKnown`` has it. Raises AnsibleFilterError."""
    if registry.by_leaf(values):
        try:
            return _cabling_file.of_host(_cabling_file.groups(values, variables), host)
        except OSError:
            # Nothing was written yet, or elsewhere: what the node has stays.
            pass
        except ValueError as error:
            text = f"{host}: {leaf_labels.CABLING} is {values[leaf_labels.CABLING]}, which cannot be used: {error}"
            raise AnsibleFilterError(text) from error
    return None


def _options(plan: HostPlan, variables: HostVariables, state: str) -> HostPlan:
    host, values = plan.host, _set(plan.host, variables)
    every = {**plan_variables.defaults(plan_variables.options_of()), **values}
    if state == node_options.ABSENT:
        return replace(plan, node=node_options.absent(every))
    names: Dict[str, Any] = {"host": host, "group": plan.group}
    try:
        found = links(host, {name: value for name, value in values.items() if name.startswith(LINKS)}, variables)
    except AnsibleFilterError as error:
        # The other parts do not depend on links.
        without = node_options.present(every, LinkPlan(), **names)
        return replace(plan, node=replace(without, links=None), problem=str(error))
    names["leaf"] = _leaf(host, every, variables)
    present = node_options.present(every, found, facts_of(host, variables), **names)
    return replace(plan, node=present, warnings=found.warnings)


def of_host(variables: HostVariables, state: str = node_options.PRESENT) -> HostPlan:
    """What one host shall be, or with ``state`` absent, what it takes to put it back."""
    plan = HostPlan(str(variables["inventory_hostname"]), "ungrouped")
    try:
        plan = replace(plan, group=_groups.of(variables.get("hostvars"), plan.host, variables))
        return _options(plan, variables, state)
    except AnsibleError as error:
        return replace(plan, problem=str(error))


def of_run(run: RunVariables, state: str) -> List[HostPlan]:
    """What each host of the run shall be."""
    return [of_host(variables, state) for variables in run.of_hosts()]
