# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""A short-lived pod on a given node that asks for devices: what it is, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import Object

LABEL = "zerocopy.rdma/probe"
CLAIM = "rdma"
# The phase of a probe that was not made, because others use its claim.
IN_USE = "InUse"
# With the RDMA netns mode `shared`, only there do ports have counters: what other network namespaces see of a device
# has none (ib_setup_port_attrs in drivers/infiniband/core/sysfs.c).
HOST_SYS = "/host/sys"
# They tell the script in the pod which of two it is.
_PEER, _SERVER = "ZEROCOPY_PEER", "ZEROCOPY_SERVER"


@dataclass(frozen=True)
class PodProbe:
    """``template`` is the name of a ResourceClaimTemplate in the pod's namespace, or ``claim`` that of a ResourceClaim.

    ``limits`` are extended resources with their number. Without any of the three the pod asks for nothing.
    A ``server`` waits for one peer; ``peer`` is the name of the server that this one measures against. With
    ``host_sys`` the pod sees ``/sys`` of its node, read-only, at ``HOST_SYS``.
    """

    name: str
    namespace: str
    node: str
    template: Optional[str] = None
    claim: Optional[str] = None
    server: bool = False
    peer: Optional[str] = None
    limits: Mapping[str, int] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    capabilities: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    host_network: bool = False
    host_sys: bool = False

    @property
    def claims(self) -> bool:
        return bool(self.template or self.claim)


@dataclass(frozen=True)
class Recipe:
    """What all probes have in common; ``timeout`` is in seconds, for each to come to its end."""

    image: str
    script: str
    timeout: int = 120
    tolerations: Sequence[Mapping[str, Any]] = ()
    pull_secrets: Sequence[str] = ()


@dataclass
class PodProbeResult:
    """What became of a probe.

    ``trouble`` says why it did not come to its end, ``output`` is its log. ``allocation`` are the results in the status
    of its claim (request, driver, pool, device), ``claim`` the claim's name. ``seconds`` from its creation until its
    container started, ``None`` where it never did.
    """

    name: str
    node: str
    phase: str = "Pending"
    trouble: str = ""
    output: str = ""
    seconds: Optional[float] = None
    claim: str = ""
    allocation: List[Dict[str, Any]] = field(default_factory=list)


def manifest(probe: PodProbe, recipe: Recipe, peer: str = "") -> Object:
    """The pod; ``peer`` is the address of the server, where there is one."""
    here = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [probe.node]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [here]}}
    environment = {**probe.environment, _SERVER: "1" if probe.server else "", _PEER: peer}
    resources: Dict[str, Any] = {}
    if probe.limits:
        resources["limits"] = {name: str(number) for name, number in probe.limits.items()}
    if probe.claims:
        resources["claims"] = [{"name": CLAIM}]
    container: Dict[str, Any] = {
        "name": "probe",
        "image": recipe.image,
        # By default an image with the tag latest is asked for at its registry, though the node has it.
        "imagePullPolicy": "IfNotPresent",
        "command": ["/bin/sh", "-c", recipe.script],
        "env": [{"name": name, "value": value} for name, value in environment.items()],
        "resources": resources,
    }
    if probe.capabilities:
        container["securityContext"] = {"capabilities": {"add": list(probe.capabilities)}}
    spec: Dict[str, Any] = {
        # By its name and not by a label, and left to the scheduler, without which nothing is allocated.
        "affinity": {"nodeAffinity": required},
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 1,
        # The kubelet ends it even if nobody is left who would.
        "activeDeadlineSeconds": recipe.timeout,
        "automountServiceAccountToken": False,
        "tolerations": list(recipe.tolerations),
        "containers": [container],
    }
    if probe.host_sys:
        container["volumeMounts"] = [{"name": "sys", "mountPath": HOST_SYS, "readOnly": True}]
        spec["volumes"] = [{"name": "sys", "hostPath": {"path": "/sys", "type": "Directory"}}]
    if probe.host_network:
        spec.update(hostNetwork=True, dnsPolicy="ClusterFirstWithHostNet")
    if probe.claims:
        spec["resourceClaims"] = [{"name": CLAIM, **_source(probe)}]
    if recipe.pull_secrets:
        spec["imagePullSecrets"] = [{"name": name} for name in recipe.pull_secrets]
    meta: Dict[str, Any] = {"name": probe.name, "namespace": probe.namespace, "labels": {LABEL: "pod"}}
    if probe.annotations:
        meta["annotations"] = dict(probe.annotations)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def _source(probe: PodProbe) -> Dict[str, Any]:
    """Where a pod's claim comes from (``PodResourceClaim`` of the core API)."""
    return {"resourceClaimName": probe.claim} if probe.claim else {"resourceClaimTemplateName": probe.template}


def claim_of(pod: Object) -> str:
    """The name of the pod's claim, ``""`` as long as none has been made from its template."""
    for wanted in pod["spec"].get("resourceClaims") or []:
        if wanted["name"] == CLAIM and wanted.get("resourceClaimName"):
            return str(wanted["resourceClaimName"])
    made = (pod.get("status") or {}).get("resourceClaimStatuses") or []
    return next((str(status.get("resourceClaimName") or "") for status in made if status.get("name") == CLAIM), "")


def over(pod: Object) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
