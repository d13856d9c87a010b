# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Whether InfiniBand ports are full members of the partitions that their group should have.

Limited members of a partition reach its full members only (InfiniBand Architecture Specification, section 10.9.1.1).
"""

from __future__ import annotations

from typing import Iterator, List, Mapping, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._links import limits
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import Check
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host.evidence import HostEvidence
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import pkey
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import PlanError
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import joined

WHAT = "pkey"
_WHERE = "in the subnet manager (opensm's partitions.conf, or UFM)"
_ADD = f"Add the port's GUID to the partition as a full member {_WHERE}."
_RAISE = f"Make the port's GUID a full member {_WHERE}, unless this port is to reach full members only."


def wanted(values: Mapping[str, object]) -> List[str]:
    """The P_Keys of which a host's ports must be full members, none where its variables are wrong."""
    try:
        return limits.partitions(values)
    except PlanError:
        # Preflight reports the problem.
        return []


def verdict(name: str, has: Sequence[str], demanded: str) -> Tuple[str, str, str]:
    """Verdict, text and remedy of one port and one partition; ``has`` is the port's table."""
    if not has:
        return "impossible", f"the P_Keys of {name} are not known", ""
    own = [int(key, 16) for key in has]
    wanted_number = int(demanded, 16)
    if wanted_number in own:
        return "pass", f"{name} is a full member of partition {demanded}", ""
    if pkey.partition(wanted_number) in own:
        text = (
            f"{name} is only a limited member of partition {demanded} ({pkey.written(pkey.partition(wanted_number))}):"
            " it reaches full members only, not other limited ones"
        )
        return "warn", text, _RAISE
    return "fail", f"{name} is not a member of partition {demanded}: it has {joined(list(has), at_most=8)}", _ADD


def of_node(node: HostEvidence) -> Iterator[Check]:
    """Verdicts on the rails of one host that are InfiniBand."""
    demanded, rails, right = wanted(node.values), set(node.rails.values()), []
    for _hca, port, name in node.ports():
        if port.link_layer != "InfiniBand" or name not in rails:
            continue
        found = [(key, *verdict(name, port.pkeys, key)) for key in demanded]
        right += [name] if found and all(each[1] == "pass" for each in found) else []
        for key, kind, text, remedy in found:
            if kind != "pass":
                yield node.check(WHAT, kind, name, text, remedy, pkey=key, pkeys=port.pkeys)
    if right:
        yield node.check(
            WHAT, "pass", "", f"full members of partition {joined(demanded)}: {joined(right)}", ports=right
        )
