# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What one way of asking for RDMA adds to a pod, such as ``rdma-env.sh`` before its command, and pods that have it."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.strategy import PodRequest

Manifest = Dict[str, Any]

SCRIPT = "rdma-env.sh"
CONFIG_MAP = "zerocopy-rdma-env"
_DIRECTORY = "/opt/zerocopy-rdma"
# Runs a command with what it has to know about the pod's RDMA devices.
WITH_RDMA = ("/bin/sh", f"{_DIRECTORY}/{SCRIPT}")
# When the pod's devices are compared with what the plan expects: by the script's own checks only, as it starts the
# command, or before that in an init container.
NO_CHECK, AT_START, IN_INIT = CHECKS = ("none", "start", "init")
CHECK_VARIABLE = "rdma_workloads_check"
_INIT_CONTAINER = "rdma-check"
_MTU, _LIBRARIES, _RAILS = "ZEROCOPY_RDMA_MTU", "ZEROCOPY_RDMA_LIBRARIES", "ZEROCOPY_RDMA_RAILS"
# The script reads these, and those of the dynamic linker if it is in the same image.
_READ_BY_SCRIPT = ("ZEROCOPY_RDMA", "NCCL_", "UCX_", "NVSHMEM_", "MOONCAKE_")
_READ_IN_IMAGE = ("LD_LIBRARY_PATH", "LD_PRELOAD", "VIRTUAL_ENV", "CONDA_PREFIX")
# Of the claim in the pod, a DNS label.
_CLAIM = "rdma"
_AMD_GPU = "amd.com/gpu"


@dataclass(frozen=True)
class GroupAsk:
    """A request of a group with what its claim, if any, consists of.

    ``claim`` is the name of the object with its hash, ``gpus`` are those of the claim, ``nics`` the RDMA devices that a
    container gets (0: not known). ``namespace`` is where the pod has to be, empty where it may be in any, and
    ``namespaces`` are all those that the claim is in. ``mtu`` is what the netdevs of these devices have at least (0:
    not known).
    """

    request: PodRequest
    claim: str = ""
    gpus: int = 0
    nics: int = 0
    namespace: str = ""
    mtu: int = 0
    namespaces: Sequence[str] = ()


@dataclass(frozen=True)
class Settings:
    """What a site chooses: ``images`` by framework, ``model``, ``namespace`` of pods that may be in any.

    ``gpus`` of a pod whose claim has none are requested as ``gpu_resource``: by default one for each of its NICs, but
    no more than a node has (``of_node``). ``gpu_resources`` are other names that somebody's own manifests may have.
    ``shm`` is the size of /dev/shm, ``environment`` is added to all containers and takes precedence. ``amd_images``
    take the place of ``images`` in groups whose GPUs are AMD's (``amd``). ``check`` is one of ``CHECKS``,
    ``check_image`` the image of its init container, by default that of the container itself. ``rails`` says which rails
    reach each other (:mod:`expected`), empty if nobody does.
    """

    images: Mapping[str, str]
    model: str
    namespace: str = "default"
    gpus: Optional[int] = None
    of_node: Optional[int] = None
    gpu_resource: str = "nvidia.com/gpu"
    gpu_resources: Sequence[str] = ()
    shm: str = "16Gi"
    environment: Mapping[str, str] = field(default_factory=dict)
    amd_images: Mapping[str, str] = field(default_factory=dict)
    amd: bool = False
    check: str = NO_CHECK
    check_image: str = ""
    rails: str = ""

    def of_amd(self) -> Settings:
        """The same for a group whose GPUs are AMD's: NVIDIA's resource is none that its nodes have."""
        resource = _AMD_GPU if self.gpu_resource.startswith("nvidia.com/") else self.gpu_resource
        return replace(self, images={**self.images, **self.amd_images}, gpu_resource=resource, amd=True)


@dataclass(frozen=True)
class PodContainer:
    """The container that uses RDMA. ``ports`` by name; ``fields`` are further ones of the container."""

    name: str
    image: str
    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    ports: Mapping[str, int] = field(default_factory=dict)
    fields: Mapping[str, Any] = field(default_factory=dict)


def literal(value: str) -> str:
    """A value of a site in a command: there, Kubernetes replaces ``$(NAME)`` by a variable."""
    return value.replace("$(", "$$(")


def gpus_of(ask: GroupAsk, settings: Settings, ranks: int = 1) -> int:
    """GPUs of a pod that asks so ``ranks`` times. One at least where it gets the NICs beside its GPUs."""
    fitting = max(1, min(ask.nics, settings.of_node or ask.nics))
    own = fitting if settings.gpus is None else settings.gpus
    return ask.gpus * ranks or max(own, 1 if ask.request.gpu_resource else 0)


def ranks_of(ask: GroupAsk, settings: Settings, ranks: int = 1) -> int:
    """Processes of a pod that asks so ``ranks`` times: one for each GPU, and one without."""
    return max(1, gpus_of(ask, settings, ranks))


def namespace_of(ask: GroupAsk, settings: Settings) -> str:
    return ask.namespace or settings.namespace


def _claims(ask: GroupAsk, ranks: int) -> List[Manifest]:
    if not ask.claim:
        return []
    reference = "resourceClaimName" if ask.request.claim else "resourceClaimTemplateName"
    names = [_CLAIM] if ranks == 1 else [f"{_CLAIM}-{rank}" for rank in range(ranks)]
    return [{"name": name, reference: ask.claim} for name in names]


def _variables(values: Mapping[str, str]) -> List[Manifest]:
    return [{"name": name, "value": value} for name, value in values.items()]


def adds(ask: GroupAsk, settings: Settings, ranks: int = 1) -> Manifest:
    """What is added to a pod: its ``annotations``, to the ``pod``'s spec, and to the ``container``.

    ``ranks`` is how often a claim template is claimed, each time for a process of its own.
    """
    claims = _claims(ask, ranks)
    limits: Manifest = {name: str(number) for name, number in ask.request.limits.items()}
    if not ask.gpus and gpus_of(ask, settings):
        limits[ask.request.gpu_resource or settings.gpu_resource] = str(gpus_of(ask, settings))
    resources: Manifest = {}
    if limits:
        resources["limits"] = limits
    if claims:
        resources["claims"] = [{"name": claim["name"]} for claim in claims]
    wanted = {"ZEROCOPY_RDMA_DEVICES": str(ask.nics * ranks)} if ask.nics * ranks > 1 else {}
    if ask.mtu and settings.check != NO_CHECK:
        wanted[_MTU] = str(ask.mtu)
    if settings.rails:
        wanted[_RAILS] = settings.rails
    environment = {**wanted, **ask.request.environment, **settings.environment}
    added = list(ask.request.capabilities)
    container: Manifest = {
        **({"securityContext": {"capabilities": {"add": added}}} if added else {}),
        "env": _variables(environment),
        "resources": resources,
        "volumeMounts": [
            # Not a directory of this machine.
            {"name": "dshm", "mountPath": "/dev/shm"},  # noqa: S108  (of a container)
            {"name": CONFIG_MAP, "mountPath": _DIRECTORY, "readOnly": True},
        ],
    }
    pod: Manifest = {
        "volumes": [
            {"name": "dshm", "emptyDir": {"medium": "Memory", "sizeLimit": settings.shm}},
            {"name": CONFIG_MAP, "configMap": {"name": CONFIG_MAP}},
        ],
    }
    if ask.request.host_network:
        pod.update(hostNetwork=True, dnsPolicy="ClusterFirstWithHostNet")
    if claims:
        pod["resourceClaims"] = claims
    if settings.check == IN_INIT:
        pod["initContainers"] = [init_container(container, settings.check_image)]
    return {"annotations": dict(ask.request.annotations), "pod": pod, "container": container}


def _merged(environment: Mapping[str, str], own: Sequence[Mapping[str, str]]) -> List[Manifest]:
    """The framework's variables with those of the request and the site, which take precedence."""
    return _variables({**environment, **{entry["name"]: entry["value"] for entry in own}})


def container_of(container: PodContainer, parts: Mapping[str, Any]) -> Manifest:
    own = copy.deepcopy(dict(parts["container"]))
    found: Manifest = {"name": container.name}
    if container.image:
        found["image"] = container.image
    if container.command:
        found["command"] = [*WITH_RDMA, *container.command]
    found.update(copy.deepcopy(dict(container.fields)))
    variables = [*found.pop("env", []), *_merged(container.environment, own.pop("env"))]
    if variables:
        found["env"] = variables
    if container.ports:
        found["ports"] = [{"name": name, "containerPort": port} for name, port in container.ports.items()]
    return {**found, **own}


def init_container(container: Mapping[str, Any], image: str) -> Manifest:
    """Checks what a container will have, before it starts: with its requests, as devices and limits are per container.

    ``image`` is by default that of the container; without either there is none.
    """
    same = image in ("", container.get("image", ""))
    found: Manifest = {"name": _INIT_CONTAINER}
    if image or container.get("image"):
        found["image"] = image or container["image"]
    read = _READ_BY_SCRIPT + (_READ_IN_IMAGE if same else ())
    environment = [dict(entry) for entry in container["env"] if str(entry["name"]).startswith(read)]
    if not same:
        # What is in another image says nothing about that of the application.
        environment = [entry for entry in environment if entry["name"] != _LIBRARIES]
        environment.append({"name": _LIBRARIES, "value": "none"})
    found["command"] = [*WITH_RDMA, "--check"]
    if environment:
        found["env"] = environment
    for name in ("securityContext", "resources"):
        if container.get(name):
            found[name] = copy.deepcopy(container[name])
    found["volumeMounts"] = [{"name": CONFIG_MAP, "mountPath": _DIRECTORY, "readOnly": True}]
    return found


def pod_of(container: PodContainer, parts: Mapping[str, Any]) -> Manifest:
    """``spec`` of a pod with this container."""
    own = container_of(container, parts)
    found: Manifest = {"containers": [own], **copy.deepcopy(dict(parts["pod"]))}
    for check in found.pop("initContainers", ()):
        complete = init_container({"env": [], **own}, check.get("image", ""))
        # Where an operator has the image, only it can add one.
        if "image" in complete:
            found["initContainers"] = [complete]
    return found


def metadata_of(labels: Mapping[str, str], parts: Mapping[str, Any]) -> Manifest:
    """``metadata`` of a pod template."""
    found: Manifest = {"labels": dict(labels)} if labels else {}
    if parts["annotations"]:
        found["annotations"] = dict(parts["annotations"])
    return found


def template_of(container: PodContainer, parts: Mapping[str, Any], labels: Mapping[str, str]) -> Manifest:
    """A pod template, without empty metadata."""
    metadata = metadata_of(labels, parts)
    return {**({"metadata": metadata} if metadata else {}), "spec": pod_of(container, parts)}


def config_map(namespace: str, script: str) -> Manifest:
    """The script for pods of a namespace."""
    metadata = {"name": CONFIG_MAP, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {SCRIPT: script}}


def counts(spec: Mapping[str, Any]) -> Tuple[int, int]:
    """GPUs and NICs of a ``ResourceClaimSpec`` as the group's claims have them; 0 NICs where it takes all there are."""
    found = {"gpu": 0, "nic": 0}
    every = False
    for request in spec["devices"]["requests"]:
        kind = str(request["name"])[:3]
        bodies = [request["exactly"]] if "exactly" in request else request["firstAvailable"]
        count = bodies[0].get("count")
        every = every or (kind == "nic" and count is None)
        found[kind] = found.get(kind, 0) + (count or 0)
    return found["gpu"], 0 if every else found["nic"]


def has_nics(spec: Mapping[str, Any]) -> bool:
    """Whether a ``ResourceClaimSpec`` of the group's claims has any NICs, and not GPUs alone."""
    return any(str(request["name"]).startswith("nic") for request in spec["devices"]["requests"])
