# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""What a pod template asks for, before anything of it is changed: GPUs and NICs, container by container."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Callable, Dict, List, Mapping, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.extended_resources import (
    WHOLE,
    Names,
    gpu,
    is_gpu,
    is_rdma,
    may_be_gpu,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate import findings
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.pods import ContainerShape, PodShape
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.quantity import quantity
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import counted

_NO_CLAIMS: Mapping[str, Optional[int]] = MappingProxyType({})


@dataclass(frozen=True)
class ContainerNeed:
    """What a container that is to request RDMA asks for.

    ``nics`` are those of extended resources and HCAs that are named, ``gpus`` the whole GPUs by resource, and
    ``claimed`` the number of those that it has by a claim of its own. ``init`` ones run before the others.
    """

    name: str
    nics: int = 0
    gpus: Mapping[str, int] = field(default_factory=dict)
    init: bool = False
    claimed: int = 0

    @property
    def whole(self) -> int:
        return sum(self.gpus.values())

    @property
    def sharing(self) -> int:
        """The GPUs that have a share in the NICs of a node."""
        return self.whole + self.claimed


@dataclass(frozen=True)
class TemplateNeed:
    """What a pod template asks for: its ``containers`` that are to request RDMA, and the ``parts`` of GPUs that these
    have, in words.

    ``hardware`` are the resources of all its containers that may be GPUs or parts of some. ``unclear`` says whose
    number is not known, empty without one.
    """

    containers: Sequence[ContainerNeed] = ()
    parts: Sequence[str] = ()
    hardware: Sequence[str] = ()
    unclear: str = ""

    @property
    def gpus(self) -> Dict[str, int]:
        """The whole GPUs that its pods have at the same time, by resource."""
        names = dict.fromkeys(name for each in self.containers for name in each.gpus)
        return {name: self._of(name) for name in names}

    @property
    def whole(self) -> int:
        return at_once(self.containers, lambda each: each.whole)

    def _of(self, name: str) -> int:
        return at_once(self.containers, lambda each: each.gpus.get(name, 0))

    def __str__(self) -> str:
        if self.whole and set(self.gpus) != {"nvidia.com/gpu"}:
            return f"with {written(self.gpus)}"
        if self.whole:
            return f"with {counted(self.whole, 'GPU')}"
        claimed = at_once(self.containers, lambda each: each.claimed)
        if claimed and not self.parts:
            return f"with {counted(claimed, 'GPU')} of a claim"
        return f"with {self.parts[0]}" if self.parts else "without GPUs"


def at_once(containers: Sequence[ContainerNeed], number: Callable[[ContainerNeed], int]) -> int:
    """What a pod has of something: init containers end before the others begin, so that the larger of both counts."""
    first = max((number(each) for each in containers if each.init), default=0)
    return max(first, sum(number(each) for each in containers if not each.init))


def written(limits: Mapping[str, int]) -> str:
    return " and ".join(f"{name}: {number}" for name, number in limits.items())


def requesting(pod: PodShape, site: Names) -> List[ContainerShape]:
    """The containers that get RDMA in the old way and are to request it.

    Not those that only name HCAs in a variable: a launcher does so for others.
    """
    return [
        container
        for container in pod.containers
        if findings.rdma_resources(container, site)
        or findings.injected(pod, container, site)
        or (pod.host_network and findings.has_gpu(container, site))
        or any("infiniband" in pod.host_paths.get(name, "") for name in container.mounts)
    ]


def needed(pod: PodShape, site: Names, claims: Mapping[str, Optional[int]] = _NO_CLAIMS) -> TemplateNeed:
    """``claims`` are the GPUs of the pod's claims, by its names for them."""
    using = requesting(pod, site)
    every = sorted({name for container in pod.containers for name in container.resources if may_be_gpu(name, site)})
    mine = sorted({name for container in using for name in container.resources})
    found = [(name, gpu(name, site)) for name in mine]
    unclear = [
        f"{name}: {value} is not a number of devices"
        for container in using
        for name, value in container.resources.items()
        if (is_rdma(name, site) or is_gpu(name, site)) and _number(value) is None
    ]
    # A claim that several containers share has its GPUs once.
    of_claims: Dict[str, int] = {}
    for name, claimed in [(name, claims[name]) for container in using for name in container.claims if name in claims]:
        if claimed is None:
            unclear.append(f"the pod has the claim {name}, and how many GPUs it has is not in these manifests")
        of_claims[name] = claimed or 0
    unclear += [
        f"container {container.name} has GPUs by {findings.VISIBLE_GPUS}, and how many is not in the manifest"
        for container in using
        if findings.sees_gpus(container.environment.get(findings.VISIBLE_GPUS, ""))
        and not findings.has_gpu(container, site)
        and not any(claims.get(name) != 0 for name in container.claims)
    ]
    return TemplateNeed(
        [_container(pod, container, site, of_claims) for container in using],
        [f"{name}, a {kind.part} of a GPU" for name, kind in found if kind and kind.part != WHOLE],
        every,
        unclear[0] if unclear else "",
    )


def _container(pod: PodShape, container: ContainerShape, site: Names, claims: Dict[str, int]) -> ContainerNeed:
    """``claims`` has those that no container had before."""
    numbers = {name: _number(value) or 0 for name, value in container.resources.items()}
    requested = sum(numbers[name] for name in findings.rdma_resources(container, site))
    kinds = {name: gpu(name, site) for name in numbers}
    return ContainerNeed(
        container.name,
        max(requested, findings.hcas_injected(pod, container, site), findings.hcas_chosen(pod, container)),
        {name: numbers[name] for name, kind in kinds.items() if kind and kind.part == WHOLE},
        container.init,
        sum(claims.pop(name, 0) for name in container.claims),
    )


def _number(value: str) -> Optional[int]:
    """``None`` for what is no number yet, such as a variable that a pipeline replaces."""
    found = quantity(value)
    return None if found is None or found.denominator != 1 else int(found)
