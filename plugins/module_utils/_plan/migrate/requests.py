# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""Which of a group's requests (:class:`strategies.strategy.PodRequest`) a pod template is to make."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.extended_resources import WELL_KNOWN, Names
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate.model import ObjectRef
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import counted


@dataclass(frozen=True)
class PodAsk:
    """A request with the names that objects have in the cluster.

    ``templates`` and ``claims`` are names of ResourceClaimTemplates and ResourceClaims by namespace; a request has one
    of the two or neither. ``gpus`` is the number of GPUs that its claim has beside the NICs, 0 for none, ``nics`` that
    of the NICs, 0 where it is not known.
    With ``host_network`` a pod has to be on the network of its node. With ``gpu_resource`` a container needs one of
    this resource beside.
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

    @property
    def claimed(self) -> Mapping[str, str]:
        return self.templates or self.claims


@dataclass(frozen=True)
class Wish:
    """What a rewrite is to do.

    ``asks`` are the requests of the group. ``choices`` are names of requests by workload: its ``namespace/name``, or
    its name. ``more`` are resources of the site. ``namespace`` is that of manifests without one.
    """

    asks: Sequence[PodAsk] = ()
    choices: Mapping[str, Sequence[str]] = field(default_factory=dict)
    more: Names = WELL_KNOWN
    namespace: str = ""


class ChoiceError(Exception):
    """No request matches, or several do; the text says why, and what to do."""


def _named(ref: ObjectRef, wish: Wish) -> Sequence[str]:
    return wish.choices.get(f"{ref.namespace}/{ref.name}") or wish.choices.get(ref.name) or ()


def chosen(ref: ObjectRef, gpus: int, wish: Wish, parts: Sequence[str] = ()) -> List[PodAsk]:
    """The requests for a pod template with this many whole GPUs, and with ``parts`` of others. Raises ChoiceError."""
    known: Dict[str, PodAsk] = {ask.name: ask for ask in wish.asks}
    names = _named(ref, wish)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ChoiceError(f"{unknown[0]} is not a request of the group, which has {', '.join(known) or 'none'}")
    if names:
        return [known[name] for name in names]
    # A single claim is for one NIC of one host: that is for people to choose. Beside templates, extended resources are
    # for manifests that stay as they are.
    free = [ask for ask in wish.asks if ask.templates] or [ask for ask in wish.asks if not ask.claims]
    fitting = [ask for ask in free if gpus and ask.gpus == gpus] or [ask for ask in free if not ask.gpus]
    if len(fitting) == 1:
        return fitting
    has = f"with {counted(gpus, 'GPU')}" if gpus else f"with {parts[0]}" if parts else "without GPUs"
    what = f"a pod {has}"
    if not wish.asks:
        raise ChoiceError("pods of the group cannot request anything: see rdma_strategy and rdma_claims_templates")
    if not fitting:
        raise ChoiceError(f"no request of the group fits {what}; it has {', '.join(known)}")
    several = ", ".join(ask.name for ask in fitting)
    raise ChoiceError(f"several requests fit {what} ({several}): choose in rdma_migrate_requests")


def object_name(ask: PodAsk, namespace: str) -> Dict[str, Any]:
    """How an entry of ``resourceClaims`` names the object, empty without one. Raises ChoiceError."""
    if not ask.claimed:
        return {}
    if namespace and namespace not in ask.claimed:
        there = ", ".join(ask.claimed)
        raise ChoiceError(f"{ask.name} is in the namespaces {there} only: add {namespace} to rdma_claims_namespaces")
    name = ask.claimed[namespace] if namespace else next(iter(ask.claimed.values()))
    return {"resourceClaimTemplateName" if ask.templates else "resourceClaimName": name}
