# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The hosts of the inventory as the host ring of verify takes them."""

from __future__ import annotations

from typing import Any, List, Mapping, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import read
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables as plan_variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host.evidence import HostEvidence
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host.plan import PREFIX
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _groups, _inventory

_HOST = "ansible_host"


def _node(
    host: str, hostvars: _inventory.Hostvars, play: Mapping[str, Any], options: plan_variables.Options
) -> HostEvidence:
    variables = hostvars[host]
    # What playbooks have set is of the whole fleet, and as large as it.
    wanted = {_HOST, *options} - set(plan_variables.of_playbooks())
    own, _broken = _inventory.of_host(variables, play, lambda name: name in wanted)
    # What is wrong is for preflight to tell.
    values, _problems = plan_variables.converted(own, options)
    verify = plan_variables.defaults(plan_variables.with_prefix(PREFIX, options))
    facts, malformed = _inventory.facts_of(variables)
    first = _inventory.raw(variables, "__rdma_verify_first") or {}
    return HostEvidence(
        host=host,
        group=_groups.of(hostvars, host, {**own, "group_names": variables.get("group_names")}),
        facts=facts,
        malformed=malformed,
        sent=(plan_variables.sent(variables) or {}) if facts else {},
        values={**verify, **values},
        address=str(own.get(_HOST) or host),
        drift=(_inventory.raw(variables, "rdma_drift_result") or {}).get("concerns") or {},
        reached=_inventory.raw(variables, "__rdma_verify_reached"),
        loopback=_inventory.raw(variables, "__rdma_verify_loopback"),
        rounds=_inventory.raw(variables, "__rdma_verify_results") or [],
        earlier=_earlier(first, _inventory.raw(variables, "__rdma_verify_again") or {}),
        # A text with ansible-core 2.18.
        began=float(first["at"]) if first else None,
    )


def _earlier(first: Mapping[str, Any], again: Mapping[str, Any]) -> Optional[Facts]:
    """The first facts, where there are others now."""
    try:
        return read.facts(first["facts"]) if "ansible_facts" in again else None
    except (KeyError, read.FactsError):
        return None


def nodes(context: Mapping[str, Any], hosts: Sequence[str], hostvars: _inventory.Hostvars) -> List[HostEvidence]:
    """These hosts with their variables, facts and what tasks have registered. ``context`` is Jinja's."""
    options = plan_variables.options_of()
    play = _inventory.of_play(context, hostvars)
    return [_node(host, hostvars, play, options) for host in hosts]
