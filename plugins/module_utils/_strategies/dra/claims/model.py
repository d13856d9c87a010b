# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What a host's variables ask for, checked and in their types."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices.versions import Numbers
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import Problem


@dataclass(frozen=True)
class GpuPick:
    """Which GPUs a request wants."""

    product: Optional[str] = None
    min_memory: Optional[str] = None
    selectors: Tuple[str, ...] = ()


@dataclass(frozen=True)
class NicPick:
    """Which NICs a request wants; ``min_rate`` in Gb/s, ``vf`` whether it wants VFs (and nothing else).

    ``named``: somebody has named the NIC, of whatever kind it is.
    """

    link_layer: Optional[str] = None
    min_rate: Optional[float] = None
    vf: bool = False
    selectors: Tuple[str, ...] = ()
    named: bool = False


@dataclass
class Template:
    """One entry of ``rdma_claims_templates``; ``at`` is where it stands. ``nics`` is ``None`` for all of a node.

    With ``rails`` a pod gets one NIC of each of them, and ``nics`` is their number.
    With ``resource`` it is one of ``rdma_claims_extended_resources`` instead: for pods that request as many NICs of it
    as they like, one by one, in their limits.
    """

    at: str
    name: str
    gpus: int = 0
    nics: Optional[int] = 0
    rails: Tuple[int, ...] = ()
    align: str = "auto"
    gpu: Tuple[GpuPick, ...] = (GpuPick(),)
    nic: Tuple[NicPick, ...] = (NicPick(),)
    parameters: Dict[str, Any] = field(default_factory=dict)
    resource: str = ""

    @property
    def first_available(self) -> bool:
        return len(self.gpu) > 1 or len(self.nic) > 1


@dataclass
class Claim:
    """One entry of ``rdma_claims_claims``. The NIC is named by at most one of ``rail``, ``hca`` and ``pci``.

    ``address_at`` is where the addresses of its parameters stand.
    """

    at: str
    name: str
    host: Optional[str] = None
    rail: Optional[int] = None
    hca: Optional[str] = None
    pci: Optional[str] = None
    parameters: Dict[str, Any] = field(default_factory=dict)
    address_at: str = ""

    @property
    def addresses(self) -> List[str]:
        return list((self.parameters.get("interface") or {}).get("addresses") or [])


@dataclass
class ClaimIntent:
    """Everything that one host's variables say about claims, and what they say about the driver that matters here.

    ``warnings`` are parameters that DRANET may refuse.
    """

    templates: List[Template]
    claims: List[Claim]
    namespaces: Tuple[str, ...]
    nic_class: str
    gpu_class: str
    dranet: Numbers
    gpu: Numbers
    move_ib: bool = True
    exclude: Tuple[str, ...] = ()
    warnings: Tuple[Problem, ...] = ()
