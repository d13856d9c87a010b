# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""One host of the inventory as the plans of all strategies read it, and the name of its group in Kubernetes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, List, Mapping, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import names
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import PlanError, Problem, wrong


@dataclass
class InventoryHost:
    """One inventory host with its variables, untyped, and its facts.

    ``leaf`` is its leaf group, empty where it is in none, ``None`` where nobody can tell now.
    ``broken`` are problems found while the variables were read, ``malformed`` what is wrong with the facts it sent.
    """

    name: str
    group: str = "ungrouped"
    variables: Mapping[str, Any] = field(default_factory=dict)
    facts: Optional[Facts] = None
    broken: List[Problem] = field(default_factory=list)
    malformed: str = ""
    leaf: Optional[str] = None


# Room for the names of objects that begin with it.
_LONGEST = 42


def label_of_group(group: str) -> str:
    """A group's name as a DNS label, with room for names of objects that have it. Raises PlanError."""
    found = group.lower().replace("_", "-").strip("-")
    if not names.is_label(found, _LONGEST):
        right = "which cannot be part of a DaemonSet's name: use at most 42 letters, digits and hyphens"
        raise PlanError(wrong("rdma_group", group, right))
    return found


def same_label(group: str, other: str) -> Problem:
    """What is wrong with a group that has the label of another one."""
    return wrong("rdma_group", group, f"which has the same name in Kubernetes as {other}: rename one of them")
