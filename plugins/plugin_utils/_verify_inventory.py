# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The hosts of the inventory as the host ring of verify takes them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, List, Mapping, Optional, Sequence, Type

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import read
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables as plan_variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import answers
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host.evidence import HostEvidence
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host.plan import PREFIX
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _groups, _inventory

_HOST = "ansible_host"


@dataclass
class _Sent:
    """What tasks have registered of one host: what can be used of it, and what is wrong with the rest."""

    variables: Mapping[str, Any]
    unusable: List[str] = field(default_factory=list)

    def answer(self, what: str, name: str, kind: Type[Any]) -> Optional[Mapping[str, Any]]:
        value = _inventory.raw(self.variables, name)
        wrong = "" if value is None else answers.fault(kind, value)
        if wrong:
            self.unusable.append(f"what this host answered to {what} cannot be used: {wrong}")
        return None if wrong else value

    def rounds(self) -> List[Mapping[str, Any]]:
        value = _inventory.raw(self.variables, "__rdma_verify_results")
        wrong = "" if value is None else answers.fault(answers.Rounds, {"rounds": value})
        if wrong:
            self.unusable.append(f"what this host measured with others cannot be used: {wrong}")
        return [] if wrong else value or []

    def comparison(self) -> Mapping[str, Any]:
        value = _inventory.raw(self.variables, "rdma_drift_result") or {}
        wrong = answers.fault_of_comparison(value)
        if wrong:
            self.unusable.append(f"the comparison of this host with its plan cannot be used: {wrong}")
        return {} if wrong else dict(value)


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
    sent = _Sent(variables)
    compared = sent.comparison()
    first = _inventory.raw(variables, "__rdma_verify_first") or {}
    return HostEvidence(
        host=host,
        group=_groups.of(hostvars, host, {**own, "group_names": variables.get("group_names")}),
        facts=facts,
        malformed=malformed,
        sent=(plan_variables.sent(variables) or {}) if facts else {},
        values={**verify, **values},
        address=str(own.get(_HOST) or host),
        drift=compared.get("concerns") or {},
        uncompared=str(compared["msg"]) if compared.get("failed") and "msg" in compared else "",
        reached=sent.answer("the tests of paths and addresses", "__rdma_verify_reached", answers.Reached),
        loopback=sent.answer("the measurement of each port to itself", "__rdma_verify_loopback", answers.Runs),
        rounds=sent.rounds(),
        earlier=_earlier(first, _inventory.raw(variables, "__rdma_verify_again")),
        # A text with ansible-core 2.18.
        began=float(first["at"]) if first else None,
        unusable=sent.unusable,
    )


def _earlier(first: Mapping[str, Any], again: Any) -> Optional[Facts]:
    """The first facts, where there are others now."""
    try:
        return read.facts(first["facts"]) if isinstance(again, Mapping) and "ansible_facts" in again else None
    except (KeyError, read.FactsError):
        return None


def nodes(context: Mapping[str, Any], hosts: Sequence[str], hostvars: _inventory.Hostvars) -> List[HostEvidence]:
    """These hosts with their variables, facts and what tasks have registered. ``context`` is Jinja's."""
    options = plan_variables.options_of()
    play = _inventory.of_play(context, hostvars)
    return [_node(host, hostvars, play, options) for host in hosts]
