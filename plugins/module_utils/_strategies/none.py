# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The strategy ``none``: nothing is provisioned for a group, and what was is removed."""

from __future__ import annotations

from typing import Any, List, Mapping, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.questions import Answers
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.strategy import (
    ClusterState,
    Strategy,
    StrategyImage,
    StrategyPlan,
)


class NoStrategy(Strategy):
    name = "none"
    roles: Tuple[str, ...] = ()
    label = ""
    netns_modes: Tuple[str, ...] = ()
    slices = False

    def plan(self, hosts: Sequence[InventoryHost], cluster: ClusterState, known: variables.Options) -> StrategyPlan:
        return StrategyPlan()

    def asked(self, values: Mapping[str, Any]) -> bool:
        return False

    def doubt(self, word: str, found: Answers) -> str:
        return ""

    def images(self, values: Mapping[str, Any]) -> List[StrategyImage]:
        return []

    def resources(self, hosts: Sequence[InventoryHost], known: variables.Options) -> List[str]:
        return []
