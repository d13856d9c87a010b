# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""One pod template: from the host's network and a device plugin's resource to the requests of a strategy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterator, List, Mapping, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.extended_resources import (
    NVIDIA,
    WELL_KNOWN,
    Names,
    gpu,
    is_gpu,
    is_rdma,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.unstructured import at, entries, text, texts
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate import findings
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.manifests import choice, need, required
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.manifests.choice import NamedRequest
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.manifests.need import TemplateNeed
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.pods import ContainerShape, PodShape
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.strategy import REQUIRED
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import counted

_CLAIM = "rdma"
# Capabilities with which a container changes the network that it is in.
_NETWORK_ADMIN = {"NET_ADMIN", "CAP_NET_ADMIN", "SYS_ADMIN", "CAP_SYS_ADMIN", "ALL"}
# With hostNetwork they have the address of the pod; others may be meant for an agent of the node.
OWN_ADDRESS = ("VLLM_NIXL_SIDE_CHANNEL_HOST", "VLLM_HOST_IP")
# github.com/kserve/kserve v0.17.0, pkg/apis/serving/v1alpha1/servingruntime_types.go: not the whole spec of a pod.
_WITHOUT_CLAIMS = ("ServingRuntime", "ClusterServingRuntime")
_TO_POD = {"status.hostIP": "status.podIP", "status.hostIPs": "status.podIPs"}


@dataclass
class RewrittenTemplate:
    """A pod template of an object that may be changed: ``holder`` has its metadata, ``spec`` its containers.

    ``holder`` is ``None`` where the template has no metadata of its own; ``networks`` is what names its networks for
    Multus. ``pods`` is the number of pods, ``None`` where it is not known.
    """

    pod: PodShape
    need: TemplateNeed
    spec: Dict[str, Any]
    holder: Any
    networks: Any
    kind: str
    pods: Any = None
    namespace: str = ""
    volcano: bool = False
    site: Names = WELL_KNOWN


def _beside_gpu(container: ContainerShape, request: NamedRequest, site: Names) -> bool:
    """Whether it has a GPU that the strategy inject, which knows those of NVIDIA, finds NICs for."""
    found = [gpu(name, site) for name in container.resources]
    return request.gpu_resource in container.resources or any(kind and kind.vendor in (NVIDIA, "") for kind in found)


def obstacles(template: RewrittenTemplate, requests: Sequence[NamedRequest]) -> Iterator[str]:
    """Why the template cannot be changed, in the words of its manifest."""
    pod, using = template.pod, need.requesting(template.pod, template.site)
    stays = any(request.host_network for request in requests)
    if template.kind == "DaemonSet":
        why = "hostNetwork may have another reason: " if pod.host_network else ""
        yield f"{why}a DaemonSet serves the node it is on"
    if pod.host_network and not stays:
        yield from _host_network(template)
    if stays and not pod.host_network:
        yield "with RoCE, pods of this group get RDMA only on the host network: set hostNetwork"
    if template.volcano and any(request.templates for request in requests):
        yield "its scheduler is Volcano, which fails on pods with ResourceClaimTemplates (volcano#5119)"
    for request in requests:
        if request.claims and template.pods != 1:
            many = "several" if template.pods is None else str(template.pods)
            pods = f"this workload has {many} pods"
            yield f"{request.name} is one NIC of one host, but {pods}: use a ResourceClaimTemplate"
        if request.namespace and template.namespace not in ("", request.namespace):
            yield f"{request.name} can be requested in namespace {request.namespace} only, not in {template.namespace}"
        if request.claimed and template.kind in _WITHOUT_CLAIMS:
            yield f"{request.name} is a claim, and a {template.kind} has no field for claims: use its InferenceServices"
        without = [
            container.name
            for container in using
            if request.gpu_resource and not _beside_gpu(container, request, template.site)
        ]
        if without:
            nearest = f"the NICs nearest to {request.gpu_resource}"
            yield f"{request.name} gives {nearest}, but container {without[0]} requests no GPU"
        if request.annotations and template.holder is None:
            yield f"{request.name} needs an annotation on the pods, which this {template.kind} cannot have"
    yield from _other_gpus(template, sum(request.gpus for request in requests))
    networks = pod.annotations.get(findings.NETWORKS, "")
    if ("," in networks or networks.startswith("[")) and any(
        findings.rdma_resources(container, template.site) for container in using
    ):
        yield f"{findings.NETWORKS} names several networks, and which of them moves the NIC is unknown"


def _other_gpus(template: RewrittenTemplate, wanted: int) -> Iterator[str]:
    """Why a claim with this many GPUs cannot replace those of the template. Init containers have the claim before."""
    having = [each for each in template.need.containers if each.gpus]
    lasting = [each.whole for each in having if not each.init]
    first = [each.whole for each in having if each.init]
    if wanted and template.need.parts:
        yield f"the claim has whole GPUs, which cannot replace {template.need.parts[0]}"
    elif wanted and ((lasting or [max(first, default=0)]) != [wanted] or any(number > wanted for number in first)):
        told = [f"{each.name} has {need.written(each.gpus)}" for each in having]
        yield f"the claim has {wanted} GPUs for one container, but {', '.join(told) or 'no container has any'}"
    using = {each.name for each in template.need.containers}
    for container in template.pod.containers if wanted else ():
        kept = [name for name in sorted(container.resources) if is_gpu(name, template.site)]
        # A driver for claims and a device plugin do not share the GPUs of a node.
        if kept and container.name not in using:
            limit = f"{kept[0]}: {container.resources[kept[0]]}"
            yield f"container {container.name} has {limit} beside a claim with {counted(wanted, 'GPU')}"


def fewer(template: RewrittenTemplate, requests: Sequence[NamedRequest]) -> Iterator[str]:
    """What the template asked for and its requests may not have, though people chose them."""
    names = " and ".join(request.name for request in requests)
    if template.need.unclear:
        yield f"{template.need.unclear}: whether {names} has enough is not known"
    lack = choice.shortage(template.need.containers, requests)
    if lack:
        claimed = " for all containers of the pod" if any(request.claimed for request in requests) else ""
        yield f"{names} has {counted(lack.given, 'NIC')}{claimed}, which asked for {counted(lack.wanted, 'NIC')}"
    others = [request.other_hardware(template.need.hardware, template.site) for request in requests]
    for name in dict.fromkeys(filter(None, others)):
        yield f"{name} is not known to be a GPU of the nodes of {names}"


def _host_network(template: RewrittenTemplate) -> Iterator[str]:
    for name in ("hostPID", "hostIPC"):
        if template.spec.get(name) is True:
            yield f"hostNetwork may have another reason: {name} is set as well"
    for container in template.pod.containers:
        admin = sorted(container.capabilities & _NETWORK_ADMIN)
        if admin:
            yield f"hostNetwork may have another reason: container {container.name} has the capability {admin[0]}"


def change(template: RewrittenTemplate, requests: Sequence[NamedRequest], namespace: str) -> None:
    """Change the template in place; there are no obstacles. Raises ChoiceError before anything is changed."""
    names = [choice.object_name(request, namespace) for request in requests]
    containers = need.requesting(template.pod, template.site)
    using = {container.name for container in containers}
    networks = any(findings.rdma_resources(container, template.site) for container in containers)
    spec = template.spec
    if template.pod.host_network and not any(request.host_network for request in requests):
        _leave_host(spec)
    claims = _claims(spec, names)
    for container in _containers(spec):
        if container is not spec.get("model") and text(container.get("name")) not in using:
            continue
        if container is spec.get("model") and "model" not in using:
            continue
        emptied = _strip(container, template.site, any(request.gpus for request in requests))
        for claim in claims:
            _list(_map(container, "resources"), "claims").append({"name": claim})
        _add_limits(container, requests)
        for request in requests:
            _add_request(container, request)
        # Not before, so that what is asked for instead stands in the same place.
        for part in emptied:
            if not container["resources"][part]:
                del container["resources"][part]
        if container.get("resources") == {}:
            del container["resources"]
    annotations = at(template.networks, "metadata", "annotations") if networks else None
    if isinstance(annotations, dict) and annotations.get(findings.NETWORKS):
        # Another network takes its place, so that the order stays.
        annotations[findings.NETWORKS] = ""
    _not_injected(template.holder, requests)
    for request in requests:
        _annotate(template.holder, request)
    if networks:
        _drop_network(template.networks)


def _containers(spec: Mapping[str, Any]) -> List[Any]:
    model = [spec["model"]] if isinstance(spec.get("model"), dict) else []
    return [*entries(spec.get("containers")), *model, *entries(spec.get("initContainers"))]


def _leave_host(spec: Dict[str, Any]) -> None:
    del spec["hostNetwork"]
    if spec.get("dnsPolicy") == "ClusterFirstWithHostNet":
        del spec["dnsPolicy"]
    for container in _containers(spec):
        for port in entries(container.get("ports")):
            # On the host's network it is the container's port, and in its own a port of the node that is forwarded.
            if isinstance(port, dict) and port.get("hostPort") == port.get("containerPort"):
                port.pop("hostPort", None)
        for variable in entries(container.get("env")):
            reference = at(variable, "valueFrom", "fieldRef")
            path = text(at(reference, "fieldPath"))
            if variable.get("name") in OWN_ADDRESS and path in _TO_POD:
                reference["fieldPath"] = _TO_POD[path]


def _claims(spec: Dict[str, Any], names: Sequence[Mapping[str, Any]]) -> List[str]:
    """Add the claims to the pod, and return what it calls them."""
    found: List[str] = []
    for name in names:
        if not name:
            continue
        taken = {text(claim.get("name")) for claim in entries(spec.get("resourceClaims"))}
        number = 1
        while (own := _CLAIM if number == 1 else f"{_CLAIM}-{number}") in taken:
            number += 1
        _list(spec, "resourceClaims").append({"name": own, **name})
        found.append(own)
    return found


def _strip(container: Any, site: Names, with_gpus: bool) -> List[str]:
    """Remove what a device plugin hands out, and return which of limits and requests it was taken from."""
    resources = container.get("resources")
    found: List[str] = []
    if not isinstance(resources, dict):
        return found
    for part in ("limits", "requests"):
        values = resources.get(part)
        if not isinstance(values, dict):
            continue
        gone = [name for name in values if is_rdma(str(name), site) or (with_gpus and is_gpu(str(name), site))]
        for name in gone:
            del values[name]
        if gone:
            found.append(part)
    return found


def _add_limits(container: Any, requests: Sequence[NamedRequest]) -> None:
    """A request that is there twice asks for twice as many."""
    numbers: Dict[str, int] = {}
    for name, number in [each for request in requests for each in request.limits.items()]:
        numbers[name] = numbers.get(name, 0) + number
    for name, number in numbers.items():
        _map(_map(container, "resources"), "limits")[name] = str(number)


def _add_request(container: Any, request: NamedRequest) -> None:
    security = container.get("securityContext")
    there = set(texts(at(security, "capabilities", "add")))
    missing = [name for name in request.capabilities if not there & {name, f"CAP_{name}", "ALL"}]
    if missing and at(security, "privileged") is not True:
        _list(_map(_map(container, "securityContext"), "capabilities"), "add").extend(missing)
    known = {text(variable.get("name")) for variable in entries(container.get("env"))}
    for name, value in request.environment.items():
        if name not in known:
            _list(container, "env").append({"name": name, "value": value})


def _map(parent: Dict[str, Any], key: str) -> Dict[str, Any]:
    """The map below a key. People leave the value out, and templates render nothing there."""
    if not isinstance(parent.get(key), dict):
        parent[key] = {}
    found: Dict[str, Any] = parent[key]
    return found


def _list(parent: Dict[str, Any], key: str) -> List[Any]:
    """The same for a list."""
    if not isinstance(parent.get(key), list):
        parent[key] = []
    found: List[Any] = parent[key]
    return found


def _drop_network(holder: Any) -> None:
    _drop(holder, lambda name, value: name == findings.NETWORKS and value == "")


def _not_injected(holder: Any, requests: Sequence[NamedRequest]) -> None:
    _drop(holder, lambda name, _value: findings.is_ours(name))
    annotations = at(holder, "metadata", "annotations")
    if isinstance(annotations, dict) and not any(REQUIRED in request.annotations for request in requests):
        required.take_ours(annotations)
        _drop(holder, required.is_ours_alone)


def _drop(holder: Any, gone: Callable[[str, Any], bool]) -> None:
    """Remove annotations, and the maps that they were alone in."""
    annotations = at(holder, "metadata", "annotations")
    names = (
        [name for name, value in annotations.items() if gone(str(name), value)] if isinstance(annotations, dict) else []
    )
    for name in names:
        del annotations[name]
    if names and not annotations:
        del holder["metadata"]["annotations"]
        # An object has metadata, a template may have some.
        if not holder["metadata"] and "kind" not in holder:
            del holder["metadata"]


def _annotate(holder: Any, request: NamedRequest) -> None:
    for name, value in request.annotations.items():
        known = _map(_map(holder, "metadata"), "annotations")
        several = name == findings.NETWORKS and known.get(name)
        if name == REQUIRED and name in known:
            known[name] = required.joined(known[name], value)
        else:
            known[name] = f"{known[name]},{value}" if several else value
