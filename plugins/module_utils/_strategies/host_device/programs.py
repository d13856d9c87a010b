# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The programs of this strategy: the device plugin, Multus and whereabouts, with the variables that each image has."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Any, Callable, Dict, Iterator, List, Mapping, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import images as image_reference
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.images import ImageVariables
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube import manifests
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.device_plugin import network_operator
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.host_device.objects import LABEL
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import directory
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import PlanError, checked, wrong

Object = Dict[str, Any]
Schema = Mapping[str, Any]

MULTUS_OBJECTS, WHEREABOUTS_OBJECTS = "rdma-multus", "rdma-whereabouts"
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
    container = _container(MULTUS_OBJECTS, own, ["cni", "programs"])
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
    return (
        found
        + _account(namespace, MULTUS_OBJECTS, rules)
        + [_daemon_set(namespace, MULTUS_OBJECTS, own, container, [])]
    )


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
    container = _container(WHEREABOUTS_OBJECTS, own, ["cni", "programs", "schedule"])
    container["command"] = ["/bin/sh", "-c"]
    # The second frees the addresses of pods that are gone without CNI having been told.
    container["args"] = ["SLEEP=false /install-cni.sh && exec /ip-control-loop"]
    container["env"] = [_field("NODENAME", "spec.nodeName"), _field("WHEREABOUTS_NAMESPACE", "metadata.namespace")]
    schedule = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": WHEREABOUTS_OBJECTS, "namespace": namespace},
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
    volumes = [{"name": "schedule", "configMap": {"name": WHEREABOUTS_OBJECTS}}]
    daemon_set = _daemon_set(namespace, WHEREABOUTS_OBJECTS, own, container, volumes)
    return [*definitions, schedule, *_account(namespace, WHEREABOUTS_OBJECTS, rules), daemon_set]


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


PREFIX = "rdma_host_device_"
PROVIDER = PREFIX + "provider"
CONFIGURATIONS, PROGRAMS = PREFIX + "cni_config", PREFIX + "cni_bin"
PULL_SECRETS = PREFIX + "pull_secrets"


def _variables(program: str) -> ImageVariables:
    own = PREFIX + program
    return ImageVariables(own + "image", own + "version", own + "digest", own + "archive")


PLUGIN, MULTUS, WHEREABOUTS = _variables(""), _variables("multus_"), _variables("whereabouts_")
# Those that a site may have already, with the variable that says whether it is to be deployed.
_Make = Callable[[str, CniProgram], List[Dict[str, Any]]]
_MULTUS_DEPLOY = PREFIX + "multus_deploy"
_OF_CNI: Tuple[Tuple[str, ImageVariables, _Make, str], ...] = (
    (_MULTUS_DEPLOY, MULTUS, multus, MULTUS_OBJECTS),
    (PREFIX + "whereabouts_deploy", WHEREABOUTS, whereabouts, WHEREABOUTS_OBJECTS),
)
# Variables with one value for the whole fleet: there is one Multus and one whereabouts.
FLEET_WIDE = (
    PROGRAMS,
    CONFIGURATIONS,
    PULL_SECRETS,
    *(name for deploy, image, _objects, _name in _OF_CNI for name in (deploy, *astuple(image))),
)


def operated(values: Mapping[str, Any]) -> bool:
    """Whether the Network Operator runs the device plugin and Multus."""
    return bool(values[PROVIDER] == network_operator.NETWORK_OPERATOR)


def multus_component(values: Mapping[str, Any], known: variables.Options) -> Dict[str, Any]:
    """What of the operator's policy makes it run Multus, if it is to be deployed. Raises PlanError."""
    if not (operated(values) and values[_MULTUS_DEPLOY]):
        return {}
    own = network_operator.component(reference(MULTUS, values, known), values[PULL_SECRETS])
    return {"secondaryNetwork": {"multus": own}}


def images(values: Mapping[str, Any]) -> List[ImageVariables]:
    """The images that a node needs of us."""
    plugin = [] if values[PROVIDER] == "sriov_operator" else [PLUGIN]
    return [*plugin, *(image for deploy, image, _objects, _name in _OF_CNI if values[deploy])]


def daemon_sets(values: Mapping[str, Any]) -> List[str]:
    """The DaemonSets that run beside the plugin."""
    return [name for _image, _objects, name in _ours(values)]


def _ours(values: Mapping[str, Any]) -> Iterator[Tuple[ImageVariables, _Make, str]]:
    """Those that run as our own DaemonSets."""
    for deploy, image, make, name in _OF_CNI:
        if values[deploy] and not (operated(values) and image is MULTUS):
            yield image, make, name


def imported(image: ImageVariables, values: Mapping[str, Any]) -> bool:
    """Whether the image is on the nodes and nowhere else."""
    return bool(values[image.archive])


def reference(image: ImageVariables, values: Mapping[str, Any], known: variables.Options) -> str:
    """The image as pods name it. Raises PlanError."""
    if operated(values):
        network_operator.check_image(image.image, values[image.image])
    if values[image.version].endswith("-thick"):
        right = "which is the thick plugin of Multus: it must be the thin plugin, such as 4.2.2"
        raise PlanError(wrong(image.version, values[image.version], right))
    return image_reference.reference(image, values, known)


def objects(
    namespace: str, values: Mapping[str, Any], known: variables.Options, defined: bool = False
) -> List[Dict[str, Any]]:
    """What puts NICs into pods, as far as it is to be deployed. Raises PlanError.

    With ``defined`` somebody else brings the definition of NetworkAttachmentDefinitions.
    """
    configurations = checked(CONFIGURATIONS, values[CONFIGURATIONS], directory.below_root)
    binaries = checked(PROGRAMS, values[PROGRAMS], directory.below_root)
    found: List[Dict[str, Any]] = []
    for image, make, _name in _ours(values):
        own = CniProgram(
            image=reference(image, values, known),
            configurations=configurations,
            programs=binaries,
            imported=imported(image, values),
            pull_secrets=tuple(values[PULL_SECRETS]),
            max_unavailable=values[variables.MAX_UNAVAILABLE],
        )
        made = make(namespace, own)
        if defined and image is MULTUS:
            made = [item for item in made if item["kind"] != "CustomResourceDefinition"]
        found += made
    return found
