# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""From the facts and variables of a fleet to the objects that pods claim GPUs and NICs with.

Computed once for all hosts. Nodes that are alike are looked at once.
"""

from __future__ import annotations

from typing import Any, Collection, Iterable, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import fleet_wide, variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims import cel
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims import hosts as claims_hosts
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims.hosts import ClaimMember, Found
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims.planner import (
    ClaimPlan,
    ClaimPlanner,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.driver import deployment as drivers_plan
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import model
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.natural import natural_key
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import messages


def _planned(
    members: Sequence[ClaimMember],
    published: Sequence[model.SliceDevice],
    kubernetes: Optional[Tuple[int, ...]],
    device_classes: Optional[Collection[str]],
    tolerant: bool,
) -> Tuple[ClaimPlan, Found]:
    """The plan and its problems."""

    def attempt(odd: Collection[str] = ()) -> ClaimPlanner:
        nodes = claims_hosts.nodes(members, [device for device in published if device.node not in odd])
        for node in (nodes[name] for name in odd if name in nodes):
            # That facts may lack something is no proof that it is there.
            node.may_hide_nics = False
        planner = ClaimPlanner(members, nodes, kubernetes)
        if device_classes is not None:
            planner.gpu_classes(device_classes)
        planner.run()
        return planner

    planner = attempt()
    odd = {host for host, _problem in planner.found}
    if not tolerant or planner.invalid or odd.isdisjoint(str(device.node) for device in published):
        return planner.plan, planner.found
    by_facts = attempt(odd)
    if by_facts.found:
        return planner.plan, planner.found
    for host, problem in planner.found:
        by_facts.plan.unmet.setdefault(host, []).extend(messages([(host, problem)]))
    return by_facts.plan, []


def plan(
    hosts: Sequence[InventoryHost],
    slices: Iterable[Mapping[str, Any]] = (),
    kubernetes: Optional[Tuple[int, ...]] = None,
    device_classes: Optional[Collection[str]] = None,
    known: Optional[variables.Options] = None,
    tolerant: bool = False,
) -> ClaimPlan:
    """The claims of a fleet.

    ``slices`` are ResourceSlices of the cluster; ``kubernetes``, its version, and ``device_classes``, their names, are
    ``None`` where nothing is known of them. ``known`` are the specifications of the variables.

    ``tolerant``: claims that are right by the facts of their hosts, and wrong only by what is published there, are no
    problem but ``unmet``, so that the claims of others need not wait for these nodes.

    A CEL library that is missing is one of the problems, once. Raises ValueError for a slice that is none.
    """
    ordered = sorted(hosts, key=lambda host: natural_key(host.name))
    options = variables.options_of() if known is None else known
    members, found = claims_hosts.members(ordered, options)
    defaults = variables.defaults(options)
    every = [(member.host.name, member.values) for member in members]
    # Its set must not be that of the driver either.
    names = (*drivers_plan.one_value([values for _host, values in every]), *claims_hosts.FLEET_WIDE)
    found += fleet_wide.problems(every, defaults, names)
    if not found:
        try:
            result, found = _planned(members, model.devices(slices), kubernetes, device_classes, tolerant)
        except cel.LibraryMissingError as error:
            return ClaimPlan(problems=[str(error)])
    else:
        result = ClaimPlan()
    result.warnings += [
        f"{host.name}: its RDMA facts cannot be used: {host.malformed}" for host in ordered if host.malformed
    ]
    if found:
        result.objects, result.names, result.resources, result.problems = [], {}, {}, messages(found)
    return result
