# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""Which of a group's requests (:class:`_strategies.base.strategy.PodRequest`) a pod template is to have."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Set

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.extended_resources import (
    NVIDIA,
    OTHER,
    PARTITION,
    WELL_KNOWN,
    WHOLE,
    GpuResource,
    Names,
    gpu,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.workloads import ObjectRef
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.manifests.need import (
    ContainerNeed,
    TemplateNeed,
    at_once,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import counted


@dataclass(frozen=True)
class NamedRequest:
    """A request with the names that objects have in the cluster.

    ``templates`` and ``claims`` are names of ResourceClaimTemplates and ResourceClaims by namespace; a request has one
    of the two or neither. ``gpus`` is the number of GPUs that its claim has beside the NICs, 0 for none, ``nics`` that
    of the NICs, 0 for all that a container could use of its node. With ``gpus_only`` it has none.
    With ``host_network`` a pod has to be on the network of its node. With ``gpu_resource`` a container needs one of
    this resource beside, and gets the NICs near to its GPUs.

    ``gpu_vendors`` and ``gpu_models`` are those of the nodes that it is for, which have ``node_gpus`` GPUs and beside
    them ``node_nics`` NICs; empty and 0 where that is not known. ``gpu_resources`` are names by which the site knows
    that these are meant.
    """

    name: str
    limits: Mapping[str, int] = field(default_factory=dict)
    templates: Mapping[str, str] = field(default_factory=dict)
    claims: Mapping[str, str] = field(default_factory=dict)
    gpus: int = 0
    nics: int = 0
    annotations: Mapping[str, str] = field(default_factory=dict)
    capabilities: Sequence[str] = ("IPC_LOCK",)
    environment: Mapping[str, str] = field(default_factory=dict)
    namespace: str = ""
    host_network: bool = False
    gpu_resource: str = ""
    gpus_only: bool = False
    gpu_vendors: Sequence[str] = ()
    gpu_models: Sequence[str] = ()
    gpu_resources: Sequence[str] = ()
    node_gpus: int = 0
    node_nics: int = 0

    @property
    def claimed(self) -> Mapping[str, str]:
        return self.templates or self.claims

    @property
    def all_of_node(self) -> bool:
        return not (self.nics or self.gpus_only or self.claims or self.gpu_resource)

    @property
    def adds_up(self) -> bool:
        """Whether a pod that has it twice has more: not of one claim, of all NICs, or of those near its GPUs."""
        return not (self.claims or self.all_of_node or self.gpu_resource)

    def nics_beside(self, gpus: int) -> int:
        """The NICs that this many GPUs of a node have a share in, and never more than one each."""
        if not self.node_gpus or not self.node_nics:
            return gpus
        return min(gpus, -(-gpus * self.node_nics // self.node_gpus))

    def nics_given(self, need: ContainerNeed) -> int:
        """The NICs that its claim has, or that it gives a container; not for those that have all."""
        if self.gpus_only:
            return 0
        if self.nics or not self.gpu_resource:
            return self.nics or 1
        nearest = need.sharing * self.node_nics // self.node_gpus if self.node_gpus else 0
        return max(1, nearest, self.nics_beside(need.sharing))

    def other_hardware(self, resources: Sequence[str], site: Names) -> str:
        """The first of these resources that is not known to be a GPU of its nodes, empty if there is none."""
        vendors = self.gpu_vendors or (NVIDIA,)
        # Where no driver tells the model, people write it into the names of their templates.
        models = _words(*(self.gpu_models or [self.name]))
        for name in resources:
            kind = gpu(name, site) or GpuResource(OTHER, WHOLE)
            if name in (self.gpu_resource, *self.gpu_resources):
                continue
            named = _models(name) if kind.vendor == NVIDIA and kind.part != PARTITION else set()
            if kind.vendor not in vendors or (named and (self.gpus or self.gpu_models) and not named & models):
                return name
        return ""


def _words(*names: str) -> Set[str]:
    return {word for name in names for word in re.findall("[a-z0-9]+", name.lower())}


# Not the form of the board, and not the size of the memory.
_MODEL = re.compile(r"(?!(?:gpu|sxm|hbm|pcie)[0-9])(?:[a-z]+[0-9]+[a-z]*|[0-9]{4})")


def _models(resource: str) -> Set[str]:
    """The model in the name of a GPU's resource (``a100`` of ``nvidia.com/A100-SXM4-40GB``), nothing without one."""
    return {word for word in _words(resource.partition("/")[2]) if _MODEL.fullmatch(word)}


class Shortage(NamedTuple):
    """NICs that containers ask for, and those that they get."""

    wanted: int
    given: int


def shortage(needs: Sequence[ContainerNeed], requests: Sequence[NamedRequest]) -> Optional[Shortage]:
    """Whether containers get fewer NICs with these requests than they ask for.

    A container asks for those of its resources, or for the share of its GPUs in those of the node. A claim is one for
    all containers of the pod, an extended resource is for each of them.
    """
    if not requests or any(request.all_of_node for request in requests):
        return None
    claim = sum(request.nics_given(ContainerNeed("")) for request in requests if request.claimed)

    def wanted(need: ContainerNeed) -> int:
        return max(need.nics, min(request.nics_beside(need.sharing) for request in requests))

    def beyond(need: ContainerNeed) -> int:
        own = sum(request.nics_given(need) for request in requests if not request.claimed)
        return max(0, wanted(need) - own)

    asked = max(1, at_once(needs, wanted))
    lacking = asked if all(request.gpus_only for request in requests) else at_once(needs, beyond) - claim
    return Shortage(asked, max(0, asked - lacking)) if lacking > 0 else None


@dataclass(frozen=True)
class RewriteOptions:
    """What a rewrite is to do.

    ``requests`` are those of the group. ``choices`` are names of requests by workload: its ``namespace/name``, or
    its name. ``site`` has the names of the site's own resources. ``namespace`` is that of manifests without one.
    """

    requests: Sequence[NamedRequest] = ()
    choices: Mapping[str, Sequence[str]] = field(default_factory=dict)
    site: Names = WELL_KNOWN
    namespace: str = ""


class ChoiceError(Exception):
    """No request matches, or several do; the text says why, and what to do."""


def _named(ref: ObjectRef, options: RewriteOptions) -> Sequence[str]:
    return options.choices.get(f"{ref.namespace}/{ref.name}") or options.choices.get(ref.name) or ()


def chosen(ref: ObjectRef, need: TemplateNeed, options: RewriteOptions) -> List[NamedRequest]:
    """The requests for a pod template that asks for this. Raises ChoiceError."""
    known: Dict[str, NamedRequest] = {request.name: request for request in options.requests}
    names = _named(ref, options)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ChoiceError(f"{unknown[0]} is not a request of the group, which has {', '.join(known) or 'none'}")
    if names:
        return [known[name] for place, name in enumerate(names) if known[name].adds_up or name not in names[:place]]
    if not options.requests:
        raise ChoiceError("pods of the group cannot request anything: see rdma_strategy and rdma_claims_templates")
    if need.unclear:
        raise ChoiceError(f"{need.unclear}: choose in rdma_migrate_requests")
    # A single claim is for one NIC of one host: that is for people to choose. Beside templates, extended resources are
    # for manifests that stay as they are.
    free = [request for request in options.requests if request.templates and not request.gpus_only]
    free = free or [request for request in options.requests if not request.claimed]
    alike = [request for request in free if not request.other_hardware(need.hardware, options.site)]
    enough = [request for request in alike if not shortage(need.containers, [request])]
    fitting = [request for request in enough if need.whole and request.gpus == need.whole]
    fitting = fitting or [request for request in enough if not request.gpus]
    if len(fitting) == 1:
        return fitting
    if not fitting:
        raise ChoiceError(f"no request of the group fits a pod {need}{_why_none(need, free, alike, options)}")
    several = ", ".join(request.name for request in fitting)
    raise ChoiceError(f"several requests fit a pod {need} ({several}): choose in rdma_migrate_requests")


def _why_none(
    need: TemplateNeed, free: Sequence[NamedRequest], alike: Sequence[NamedRequest], options: RewriteOptions
) -> str:
    few = {request.name: shortage(need.containers, [request]) for request in alike if request.gpus in (0, need.whole)}
    having = [f"{name} has {counted(lack.given, 'NIC')}" for name, lack in few.items() if lack]
    wanted = max((lack.wanted for lack in few.values() if lack), default=0)
    if having:
        return f", which asks for {counted(wanted, 'NIC')} ({', '.join(having)}): choose in rdma_migrate_requests"
    others = [request.other_hardware(need.hardware, options.site) for request in free if request not in alike]
    if others:
        there = ", ".join(request.name for request in free)
        return f": {others[0]} is not known to be a GPU of the nodes of {there}; choose in rdma_migrate_requests"
    return f"; it has {', '.join(request.name for request in options.requests)}"


def object_name(request: NamedRequest, namespace: str) -> Dict[str, Any]:
    """How an entry of ``resourceClaims`` names the object, empty without one. Raises ChoiceError."""
    if not request.claimed:
        return {}
    if namespace and namespace not in request.claimed:
        there = ", ".join(request.claimed)
        raise ChoiceError(
            f"{request.name} is in the namespaces {there} only: add {namespace} to rdma_claims_namespaces"
        )
    name = request.claimed[namespace] if namespace else next(iter(request.claimed.values()))
    return {"resourceClaimTemplateName" if request.templates else "resourceClaimName": name}
