# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What a strategy says of a daemon that its nodes need, which :mod:`_prepare.daemons` installs and removes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, Mapping

Options = Callable[[Mapping[str, Any]], Dict[str, Any]]


@dataclass(frozen=True)
class StrategyDaemon:
    """``name`` is that among :mod:`_prepare.daemons.every`.

    ``options`` are those of a host with the strategy, ``removal`` those of one without it, by the host's variables in
    their types, defaults included. ``program`` is the file that runs on the node.
    """

    name: str
    options: Options
    removal: Options
    program: Callable[[], bytes]
