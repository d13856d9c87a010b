# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""A host of the inventory as preflight takes it, before and after a look at its variables by themselves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.address import Interface
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import Problem


@dataclass
class PrepareHost:
    """One inventory host. ``variables`` are those whose names matter here, untyped as the inventory has them.

    ``chosen`` are the hosts of this run, of which all problems are told; of the others only what concerns a chosen one.
    ``broken`` are problems found while the variables were read, ``malformed`` is what is wrong with the facts it sent.
    """

    name: str
    group: str = "ungrouped"
    variables: Mapping[str, Any] = field(default_factory=dict)
    facts: Optional[Facts] = None
    chosen: bool = True
    broken: List[Problem] = field(default_factory=list)
    malformed: str = ""


@dataclass
class CheckedHost:
    """A host with its variables in their types and, where they allow it (not ``blind``), its addresses by rail."""

    host: PrepareHost
    values: Dict[str, Any]
    problems: List[Problem]
    planned: Dict[int, Interface] = field(default_factory=dict)
    blind: bool = False
