# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""One host of the inventory as the plans of all strategies read it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, List, Mapping, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import Problem


@dataclass
class InventoryHost:
    """One inventory host with its variables, untyped, and its facts.

    ``broken`` are problems found while the variables were read, ``malformed`` what is wrong with the facts it sent.
    """

    name: str
    group: str = "ungrouped"
    variables: Mapping[str, Any] = field(default_factory=dict)
    facts: Optional[Facts] = None
    broken: List[Problem] = field(default_factory=list)
    malformed: str = ""
