# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The programs that move a NIC into a pod and assign its address: Multus and whereabouts, only where needed.

What they need is read from ``deployments`` and ``cmd/thin_entrypoint`` of Multus v4.2.2, ``doc/crds``, ``script`` and
``pkg/config`` of whereabouts v0.8.0. Multus is the thin one: no daemon has to answer for a pod to start, or to end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube import manifests
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.host_device.objects import LABEL

Object = Dict[str, Any]
Schema = Mapping[str, Any]

MULTUS, WHEREABOUTS = "rdma-multus", "rdma-whereabouts"
_RBAC = "rbac.authorization.k8s.io"
_CONFIGURATIONS, _PROGRAMS = "/host/etc/cni/net.d", "/host/opt/cni/bin"
_TEXT: Schema = {"type": "string"}
_EVENTS = {"apiGroups": ["", "events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch", "update", "get"]}


@dataclass(frozen=True)
class CniProgram:
    """One of the two. ``configurations`` and ``programs`` are the directories where the node's runtime has CNI's."""

    image: str
    configurations: str
    programs: str
    imported: bool = False
    pull_secrets: Sequence[str] = ()
    max_unavailable: str = "1"


def multus(namespace: str, own: CniProgram) -> List[Object]:
    """Multus with the definition of NetworkAttachmentDefinitions, and all that it needs."""
    config = _properties({"spec": _properties({"config": _TEXT})})
    names = ("NetworkAttachmentDefinition", "network-attachment-definition")
    rules = [
        {"apiGroups": ["k8s.cni.cncf.io"], "resources": ["network-attachment-definitions"], "verbs": ["get"]},
        {"apiGroups": [""], "resources": ["pods", "pods/status"], "verbs": ["get", "update"]},
        _EVENTS,
    ]
    container = _container(MULTUS, own, ["cni", "programs"])
    container["command"] = ["/thin_entrypoint"]
    container["args"] = [
        "--multus-conf-file=auto",
        f"--multus-autoconfig-dir={_CONFIGURATIONS}",
        f"--cni-conf-dir={_CONFIGURATIONS}",
        f"--cni-bin-dir={_PROGRAMS}",
        f"--multus-kubeconfig-file-host={own.configurations}/multus.d/multus.kubeconfig",
        # Otherwise no pod would start on a node that Multus has left. It also keeps its token fresh then.
        "--cleanup-config-on-exit=true",
    ]
    found = [_definition("k8s.cni.cncf.io", "v1", *names, config, short=["net-attach-def"])]
    return found + _account(namespace, MULTUS, rules) + [_daemon_set(namespace, MULTUS, own, container, [])]


def whereabouts(namespace: str, own: CniProgram) -> List[Object]:
    """whereabouts with the definitions of its pools, and all that it needs."""
    group, every = "whereabouts.cni.cncf.io", ["get", "list", "watch", "create", "update", "patch", "delete"]
    holder = _properties({"id": _TEXT, "podref": _TEXT, "ifname": _TEXT}, ["id", "podref"])
    pool = {"allocations": {"type": "object", "additionalProperties": holder}, "range": _TEXT}
    reservation = {"containerid": _TEXT, "podref": _TEXT, "ifname": _TEXT}
    rules = [
        {"apiGroups": [group], "resources": ["ippools", "overlappingrangeipreservations"], "verbs": every},
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": every},
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "watch", "get"]},
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]},
        {
            "apiGroups": ["k8s.cni.cncf.io"],
            "resources": ["network-attachment-definitions"],
            "verbs": ["get", "list", "watch"],
        },
        _EVENTS,
    ]
    container = _container(WHEREABOUTS, own, ["cni", "programs", "schedule"])
    container["command"] = ["/bin/sh", "-c"]
    # The second frees the addresses of pods that are gone without CNI having been told.
    container["args"] = ["SLEEP=false /install-cni.sh && exec /ip-control-loop"]
    container["env"] = [_field("NODENAME", "spec.nodeName"), _field("WHEREABOUTS_NAMESPACE", "metadata.namespace")]
    schedule = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": WHEREABOUTS, "namespace": namespace},
        # A cron expression: once a day.
        "data": {"config": "30 4 * * *"},
    }
    definitions = [
        _definition(group, "v1alpha1", "IPPool", "ippool", _spec(pool, ["allocations", "range"])),
        _definition(
            group,
            "v1alpha1",
            "OverlappingRangeIPReservation",
            "overlappingrangeipreservation",
            _spec(reservation, ["podref"]),
        ),
    ]
    volumes = [{"name": "schedule", "configMap": {"name": WHEREABOUTS}}]
    daemon_set = _daemon_set(namespace, WHEREABOUTS, own, container, volumes)
    return [*definitions, schedule, *_account(namespace, WHEREABOUTS, rules), daemon_set]


def _properties(properties: Mapping[str, Any], required: Sequence[str] = ()) -> Schema:
    found = {"type": "object", "properties": dict(properties)}
    return {**found, "required": list(required)} if required else found


def _spec(properties: Mapping[str, Any], required: Sequence[str]) -> Schema:
    return _properties({"spec": _properties(properties, required)})


def _definition(
    group: str, version: str, kind: str, singular: str, schema: Schema, short: Sequence[str] = ()
) -> Object:
    names: Dict[str, Any] = {"kind": kind, "listKind": f"{kind}List", "plural": f"{singular}s", "singular": singular}
    if short:
        names["shortNames"] = list(short)
    served = {"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": dict(schema)}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{singular}s.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [served]},
    }


def _account(namespace: str, name: str, rules: Sequence[Mapping[str, Any]]) -> List[Object]:
    account = {"name": name, "namespace": namespace}
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account},
        {"apiVersion": f"{_RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": list(rules)},
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": name},
            "subjects": [{"kind": "ServiceAccount", **account}],
        },
    ]


def _field(name: str, path: str) -> Object:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def _container(name: str, own: CniProgram, mounts: Sequence[str]) -> Object:
    paths = {"cni": _CONFIGURATIONS, "programs": _PROGRAMS, "schedule": "/cron-schedule"}
    return {
        "name": name,
        "image": own.image,
        "imagePullPolicy": "Never" if own.imported else "IfNotPresent",
        "resources": {"requests": {"cpu": "50m", "memory": "50Mi"}},
        # As upstream runs it: it writes into directories of the host.
        "securityContext": {"privileged": True},
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [{"name": mount, "mountPath": paths[mount]} for mount in mounts],
    }


def _daemon_set(namespace: str, name: str, own: CniProgram, container: Object, volumes: Sequence[Object]) -> Object:
    labels = {"app.kubernetes.io/name": name}
    # Nodes of other strategies keep their CNI as it is.
    served = {"matchExpressions": [{"key": LABEL, "operator": "Exists"}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [served]}}}
    paths = [
        manifests.volume("cni", own.configurations, "Directory"),
        manifests.volume("programs", own.programs, "Directory"),
    ]
    pod = manifests.node_pod({}, container, [*paths, *volumes], own.pull_secrets)
    pod.update(serviceAccountName=name, affinity=affinity)
    return manifests.daemon_set({"name": name, "namespace": namespace, "labels": labels}, pod, own.max_unavailable, {})
