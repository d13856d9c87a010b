# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What facts answer of the questions that lead to a strategy (``docs/choosing-a-strategy.md``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import FrozenSet, List, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts

# Of strategies that give NICs to pods.
UNMOVABLE = "RoCE LAGs over bonds cannot be moved into pods"


@dataclass(frozen=True)
class Answers:
    """The answers of nodes; where these differ, ``nics``, ``gpus`` and ``vfs`` are the least and the most.

    ``nics`` are the HCAs of a node that pods could have or share, ``vfs`` how many VFs the firmware of each allows.
    ``bonds`` says whether all of them are RoCE LAGs over bonds, ``layers`` are the link layers of their ports.
    """

    nics: Tuple[int, int]
    gpus: Tuple[int, int]
    vfs: Tuple[int, int]
    bonds: bool
    layers: FrozenSet[str]

    @property
    def ethernet(self) -> bool:
        """Whether a port is RoCE."""
        return "Ethernet" in self.layers


def answers(nodes: Sequence[Facts]) -> Answers:
    """The answers of these nodes together; there has to be one."""
    nics: List[int] = []
    vfs: List[int] = []
    layers: List[Optional[str]] = []
    bonds: List[bool] = []
    for facts in nodes:
        # Those that are in a pod at the moment as well.
        available, lags = set(facts.available), set(facts.lags)
        own = [hca for hca in facts.hcas if any((hca.name, port.number) in available for port in hca.ports)]
        nics.append(len(own))
        vfs += [hca.sriov.total_vfs for hca in own]
        layers += [port.link_layer for hca in own for port in hca.ports if (hca.name, port.number) in available]
        bonds += [port in lags for port in available]
    gpus = [len(facts.gpus) for facts in nodes]
    return Answers(
        nics=(min(nics), max(nics)),
        gpus=(min(gpus), max(gpus)),
        vfs=(min(vfs, default=0), max(vfs, default=0)),
        bonds=bool(bonds) and all(bonds),
        layers=frozenset(layer for layer in layers if layer),
    )
