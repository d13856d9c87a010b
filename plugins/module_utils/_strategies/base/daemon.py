# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What a strategy says of a daemon that its nodes need, which :mod:`_prepare.daemons` installs and removes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, Mapping, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts

Values = Mapping[str, Any]


@dataclass(frozen=True)
class NodeKnown:
    """What is known of a node: its facts where there are any, the ports of its rails, and its leaf group.

    ``leaf`` is empty where the node is in no leaf group, and ``None`` where nobody can tell now.
    """

    facts: Optional[Facts] = None
    rails: Sequence[Mapping[str, Any]] = ()
    leaf: Optional[str] = None

    @property
    def may_lack_nics(self) -> bool:
        """Whether the facts may not have a NIC, or not its place, because a pod has it."""
        facts = self.facts
        return facts is None or facts.system.netns_mode == "exclusive" or bool(facts.unplaced_in_pods)


Options = Callable[[Values, NodeKnown], Dict[str, Any]]


def always(values: Values) -> bool:
    """Whether a host of a strategy that does not work without its daemon has it."""
    return True


@dataclass(frozen=True)
class StrategyDaemon:
    """``name`` is that among :mod:`_prepare.daemons.every`.

    ``options`` are those of a host with the daemon, ``removal`` those of one without it, by the host's variables in
    their types, defaults included. ``program`` is the file that runs on the node. ``wanted`` says whether a host with
    the strategy has the daemon, ``by_leaf`` that it needs to know the leaf group.
    """

    name: str
    options: Options
    removal: Callable[[Values], Dict[str, Any]]
    program: Callable[[], bytes]
    wanted: Callable[[Values], bool] = always
    by_leaf: bool = False
