# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Workloads with their pod templates, as far as a migration looks at them, and who owns their manifests.

Objects of others may be anything; nothing in them raises an error.

Sources for owners: ``metadata.managedFields`` with the managers of helm (``helm``), Argo CD (``argocd-controller``,
ArgoCDSSAManager of its common/common.go), Flux (``kustomize-controller``, ``helm-controller``) and kubectl
(``kubectl-client-side-apply`` and others), and the labels and annotations with which they mark what is theirs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Dict, FrozenSet, Iterator, List, Mapping, Optional, Set, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube import workloads
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.unstructured import (
    at,
    entries,
    integer,
    strings,
    table,
    text,
    texts,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.workloads import Kind, ObjectRef


@dataclass(frozen=True)
class ManifestOwner:
    """Who would have to change a manifest, or would change it back.

    ``tool`` is ``operator``, ``argocd``, ``flux``, ``helm``, ``kubectl`` or ``other``, ``name`` what the tool calls the
    manifest (release, application ...), ``manager`` the name in ``metadata.managedFields``. Both may be empty.
    """

    tool: str
    name: str = ""
    manager: str = ""


@dataclass(frozen=True)
class ContainerShape:
    """What an audit reads of a container.

    ``environment`` has the values that are written there, in ``command`` also those that its shell sets, and options of
    the server that name NICs;
    ``from_fields`` has the field paths of those that Kubernetes fills in. ``resources`` are limits and requests,
    ``claims`` what the pod calls its claims.
    """

    name: str
    image: str
    init: bool
    privileged: bool
    capabilities: FrozenSet[str]
    resources: Mapping[str, str]
    ports: Tuple[int, ...]
    environment: Mapping[str, str]
    from_fields: Mapping[str, str]
    command: str
    mounts: FrozenSet[str]
    claims: Tuple[str, ...] = ()


@dataclass(frozen=True)
class PodShape:
    """What an audit reads of a pod template; ``place`` is its path in the object.

    ``host_paths`` are by the volume's name. ``claims`` says whether it has any ``resourceClaims``, ``node_labels`` are
    those that its nodes must have.
    """

    place: str
    host_network: bool
    dns_policy: str
    scheduler: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    host_paths: Mapping[str, str]
    claims: bool
    node_labels: FrozenSet[str]
    containers: Tuple[ContainerShape, ...]


@dataclass(frozen=True)
class WorkloadObject:
    """An object that makes pods; ``owner`` is what made it, ``node`` is set for pods only."""

    ref: ObjectRef
    owner: Optional[ObjectRef]
    owners: Tuple[ManifestOwner, ...]
    pods: Tuple[PodShape, ...]
    node: str = ""


@dataclass(frozen=True)
class Pool:
    """An InferencePool: its target ports, and the labels of its pods."""

    ref: ObjectRef
    ports: Tuple[int, ...]
    selector: Mapping[str, str]


# A server's port in a command: --port 8000, --port=8000.
_PORT = re.compile(r"(?:^|\s)--port[=\s]\s*['\"]?([0-9]{1,5})\b")
_EXPORT = re.compile(r"(?:^|[\s;&(\"'])([A-Z][A-Z0-9_]{2,60})=(\"[^\"]*\"|'[^']*'|[^\s;&\"']*)")
# Options of servers that name NICs (python/sglang/srt/server_args.py of SGLang).
_OPTION = re.compile(
    r"(?:^|[\s\"'\[,])(--(?:disaggregation|mooncake)-ib-device)(?:[=\s]|[\"'],)\s*['\"]?(\{[^}]{0,300}\}|[^\s'\"\]]+)"
)
# Operators of a NodeSelectorRequirement that a node without the label does not meet.
_NEEDING = ("In", "Exists", "Gt", "Lt")
POOLS = (Kind("inference.networking.k8s.io", "InferencePool"), Kind("inference.networking.x-k8s.io", "InferencePool"))


def read(kind: Kind, item: Any) -> WorkloadObject:
    """An object of a kind that has pod templates."""
    meta = table(at(item, "metadata"))
    ref = ObjectRef(kind, text(meta.get("namespace")), text(meta.get("name")))
    return WorkloadObject(
        ref=ref,
        owner=_owner(meta, ref.namespace),
        owners=owners(meta),
        pods=tuple(_pod(template) for template in workloads.templates(kind, table(item))),
        node=text(at(item, "spec", "nodeName")) if kind == ("", "Pod") else "",
    )


def _owner(meta: Mapping[str, Any], namespace: str) -> Optional[ObjectRef]:
    """What made the object: the owner that controls it, or else the first."""
    found = sorted(entries(meta.get("ownerReferences")), key=lambda owner: owner.get("controller") is not True)
    for owner in found[:1]:
        group, slash, _version = text(owner.get("apiVersion")).rpartition("/")
        return ObjectRef(Kind(group if slash else "", text(owner.get("kind"))), namespace, text(owner.get("name")))
    return None


def _pod(template: workloads.PodTemplate) -> PodShape:
    spec = template.spec
    return PodShape(
        place=template.place,
        host_network=spec.get("hostNetwork") is True,
        dns_policy=text(spec.get("dnsPolicy")),
        scheduler=text(spec.get("schedulerName")),
        labels=strings(template.metadata.get("labels")),
        annotations=strings(template.metadata.get("annotations")),
        host_paths={
            text(volume.get("name")): text(at(volume, "hostPath", "path"))
            for volume in entries(spec.get("volumes"))
            if at(volume, "hostPath", "path")
        },
        claims=bool(entries(spec.get("resourceClaims"))),
        node_labels=frozenset(node_labels(spec)),
        containers=tuple(_containers(spec)),
    )


def node_labels(spec: Mapping[str, Any]) -> Set[str]:
    """The labels without which a node is none for pods with this spec.

    Of a DaemonSet's pods only ``nodeSelector`` tells: its controller replaces the terms of their affinity by the node.
    """
    required = at(spec, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    # One of the terms is enough.
    terms = [
        {
            text(expression.get("key"))
            for expression in entries(term.get("matchExpressions"))
            if expression.get("operator") in _NEEDING
        }
        for term in entries(at(required, "nodeSelectorTerms"))
    ]
    return {*strings(spec.get("nodeSelector")), *(set.intersection(*terms) if terms else ())}


def _containers(spec: Mapping[str, Any]) -> Iterator[ContainerShape]:
    for container in entries(spec.get("containers")):
        yield _container(container, text(container.get("name")), False)
    # KServe's predictors have a container of this name instead.
    if isinstance(spec.get("model"), dict):
        yield _container(spec["model"], "model", False)
    for container in entries(spec.get("initContainers")):
        yield _container(container, text(container.get("name")), container.get("restartPolicy") != "Always")


def _container(container: Mapping[str, Any], name: str, init: bool) -> ContainerShape:
    command = " ".join([*texts(container.get("command")), *texts(container.get("args"))])
    security = table(container.get("securityContext"))
    variables = entries(container.get("env"))
    # The shell of the command comes later, so its value counts.
    set_there = {found[1]: found[2].strip("\"'") for found in _EXPORT.finditer(command)}
    return ContainerShape(
        name=name,
        image=text(container.get("image")),
        init=init,
        privileged=security.get("privileged") is True,
        capabilities=frozenset(texts(at(security, "capabilities", "add"))),
        resources=_resources(table(container.get("resources"))),
        ports=_ports(container, command),
        environment={
            **{
                text(variable.get("name")): text(variable.get("value")) for variable in variables if "value" in variable
            },
            **set_there,
            **options(command),
        },
        from_fields={
            text(variable.get("name")): text(at(variable, "valueFrom", "fieldRef", "fieldPath"))
            for variable in variables
            if at(variable, "valueFrom", "fieldRef", "fieldPath")
        },
        command=command,
        mounts=frozenset(text(mount.get("name")) for mount in entries(container.get("volumeMounts"))),
        claims=tuple(text(claim.get("name")) for claim in entries(at(container, "resources", "claims"))),
    )


def options(command: str) -> Dict[str, str]:
    """The options of a command that name NICs."""
    return {found[1]: found[2] for found in _OPTION.finditer(command)}


def _resources(resources: Mapping[str, Any]) -> Dict[str, str]:
    both = {**strings(resources.get("requests")), **strings(resources.get("limits"))}
    return {name: number for name, number in both.items() if "/" in name and number not in ("", "0")}


def _ports(container: Mapping[str, Any], command: str) -> Tuple[int, ...]:
    """Those that the command sets, or else those that are declared."""
    found: List[Optional[int]] = [int(port) for port in _PORT.findall(command)]
    if not found:
        found = [integer(port.get("containerPort")) for port in entries(container.get("ports"))]
    return tuple(sorted({port for port in found if port is not None and 0 < port < 65536}))


def pool(kind: Kind, item: Any) -> Pool:
    """An InferencePool. Version v1 has a list of ports and a label selector, v1alpha2 one port and a map of labels."""
    spec, meta = table(at(item, "spec")), table(at(item, "metadata"))
    several = [integer(port.get("number")) for port in entries(spec.get("targetPorts"))]
    ports = several or [integer(spec.get("targetPortNumber"))]
    selector = table(spec.get("selector"))
    labels = selector.get("matchLabels") if "matchLabels" in selector else selector
    ref = ObjectRef(kind, text(meta.get("namespace")), text(meta.get("name")))
    return Pool(ref, tuple(sorted({port for port in ports if port is not None})), strings(labels))


# Who changes it back comes before who is changed back.
_ORDER = ("argocd", "flux", "helm", "other", "kubectl")
# They scale, default and report; none of them has a manifest.
_CONTROLLERS = ("kube-controller-manager", "kube-scheduler", "kubelet", "k3s", "rke2", "vpa-recommender")
_KUSTOMIZE, _HELM_RELEASE = "kustomize.toolkit.fluxcd.io", "helm.toolkit.fluxcd.io"


def _tool(manager: str) -> str:
    if manager.startswith("argocd"):
        return "argocd"
    if manager in ("kustomize-controller", "helm-controller"):
        return "flux"
    if manager.lower() == "helm":
        return "helm"
    return "kubectl" if manager.startswith("kubectl") else "other"


def _qualified(marks: Mapping[str, str], namespace: str, name: str) -> str:
    parts = [marks[key] for key in (namespace, name) if marks.get(key)]
    return "/".join(parts) if marks.get(name) else ""


def _names(meta: Mapping[str, Any]) -> Dict[str, str]:
    """What each tool calls the manifest, by its own marks."""
    labels, annotations = strings(meta.get("labels")), strings(meta.get("annotations"))
    found = {
        "argocd": annotations.get("argocd.argoproj.io/tracking-id", "").partition(":")[0]
        or labels.get("argocd.argoproj.io/instance", ""),
        "flux": _qualified(labels, f"{_HELM_RELEASE}/namespace", f"{_HELM_RELEASE}/name")
        or _qualified(labels, f"{_KUSTOMIZE}/namespace", f"{_KUSTOMIZE}/name"),
        "helm": _qualified(annotations, "meta.helm.sh/release-namespace", "meta.helm.sh/release-name"),
    }
    return {tool: name for tool, name in found.items() if name}


def owners(meta: Mapping[str, Any]) -> Tuple[ManifestOwner, ...]:
    """Those who manage the spec of an object with this metadata, the one whose change lasts first."""
    found: Dict[str, ManifestOwner] = {}
    names = _names(meta)
    for entry in entries(meta.get("managedFields")):
        manager = text(entry.get("manager"))
        whole = not text(entry.get("subresource")) and "f:spec" in table(at(entry, "fieldsV1"))
        if manager and whole and manager not in _CONTROLLERS:
            tool = _tool(manager)
            key = manager if tool == "other" else tool
            found.setdefault(key, ManifestOwner(tool, names.get(tool, ""), manager))
    for tool, name in names.items():
        # Flux runs helm itself, and Argo CD renders charts: the release is theirs.
        if tool not in found and not (tool == "helm" and {"flux", "argocd"} & {*found, *names}):
            found[tool] = ManifestOwner(tool, name)
    return tuple(sorted(found.values(), key=lambda owner: (_ORDER.index(owner.tool), owner.manager)))
