# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""DeviceClasses, ResourceClaimTemplates and ResourceClaims (``resource.k8s.io/v1``), and limits on them: the API's, and
those of Kueue, where a cluster has it (``pkg/dra`` of kubernetes-sigs/kueue).
"""

from __future__ import annotations

from typing import Any, Collection, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims import selectors
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims.intent import LONGEST_EXPRESSION
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims.layout import Ask, ClaimLayout
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims.model import ClaimIntent
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import model

_API_VERSION = "resource.k8s.io/v1"
# DeviceRequestsMaxSize, DeviceConstraintsMaxSize and DeviceSelectorsMaxSize of the API.
_MOST = 32


def _selectors(expressions: Sequence[str]) -> List[Dict[str, Any]]:
    return [{"cel": {"expression": expression}} for expression in expressions]


def device_class(name: str) -> Dict[str, Any]:
    """The class of RDMA NICs. Network configuration in it would shadow that of the claims, so there is none."""
    spec = {"selectors": _selectors(selectors.NIC_CLASS)}
    return {"apiVersion": _API_VERSION, "kind": "DeviceClass", "metadata": {"name": name}, "spec": spec}


def resource_class(
    name: str, resource: str, expressions: Sequence[str], parameters: Mapping[str, Any]
) -> Dict[str, Any]:
    """The class of NICs that pods request as an extended resource (KEP-5004).

    The scheduler makes the claims of such pods, so that the network configuration can only be that of the class.
    """
    made = device_class(name)
    made["spec"]["extendedResourceName"] = resource
    made["spec"]["selectors"] += _selectors(expressions)
    if parameters:
        made["spec"]["config"] = [{"opaque": {"driver": model.DRANET, "parameters": dict(parameters)}}]
    return made


def _exactly(ask: Ask, device_class_name: str, expressions: Sequence[str]) -> Dict[str, Any]:
    found: Dict[str, Any] = {"deviceClassName": device_class_name}
    if expressions:
        found["selectors"] = _selectors(expressions)
    if ask.count is None:
        return {**found, "allocationMode": "All"}
    return {**found, "allocationMode": "ExactCount", "count": ask.count}


def _request(ask: Ask, device_class_name: str, alternatives: Sequence[Sequence[str]]) -> Dict[str, Any]:
    every = [_exactly(ask, device_class_name, [*own, *ask.expressions]) for own in alternatives]
    if len(every) == 1:
        return {"name": ask.name, "exactly": every[0]}
    named = [{"name": f"option-{number}", **option} for number, option in enumerate(every)]
    return {"name": ask.name, "firstAvailable": named}


def claim_spec(
    layout: ClaimLayout,
    wanted: ClaimIntent,
    gpu: Sequence[Sequence[str]],
    nic: Sequence[Sequence[str]],
    parameters: Dict[str, Any],
) -> Dict[str, Any]:
    """``spec`` of a claim. ``gpu`` and ``nic`` are the expressions of each alternative."""
    requests = [
        _request(ask, wanted.gpu_class if ask.is_gpu else wanted.nic_class, gpu if ask.is_gpu else nic)
        for ask in layout.requests
    ]
    devices: Dict[str, Any] = {"requests": requests}
    if layout.together:
        devices["constraints"] = [
            {"requests": list(together.requests), "matchAttribute": together.attribute} for together in layout.together
        ]
    if parameters:
        names = [ask.name for ask in layout.requests if not ask.is_gpu]
        opaque = {"driver": model.DRANET, "parameters": parameters}
        devices["config"] = [{"requests": names, "opaque": opaque}]
    return {"devices": devices}


def _of_kind(kind: str, name: str, namespaces: Sequence[str], spec: Dict[str, Any]) -> List[Dict[str, Any]]:
    return [
        {"apiVersion": _API_VERSION, "kind": kind, "metadata": {"name": name, "namespace": namespace}, "spec": spec}
        for namespace in namespaces
    ]


def templates(name: str, namespaces: Sequence[str], spec: Dict[str, Any]) -> List[Dict[str, Any]]:
    """A ResourceClaimTemplate in each namespace."""
    return _of_kind("ResourceClaimTemplate", name, namespaces, {"spec": spec})


def claims(name: str, namespaces: Sequence[str], spec: Dict[str, Any]) -> List[Dict[str, Any]]:
    """A ResourceClaim in each namespace."""
    return _of_kind("ResourceClaim", name, namespaces, spec)


def _bodies(request: Dict[str, Any]) -> Iterator[Tuple[str, Dict[str, Any]]]:
    if "exactly" in request:
        yield request["name"], request["exactly"]
    for alternative in request.get("firstAvailable", []):
        yield f"{request['name']}/{alternative['name']}", alternative


def _beyond(place: str, body: Mapping[str, Any]) -> Optional[str]:
    expressions = [selector["cel"]["expression"] for selector in body.get("selectors", [])]
    if len(expressions) > _MOST:
        return f"needs {len(expressions)} selectors in {place}, the API allows at most {_MOST}"
    longest = max((len(expression.encode()) for expression in expressions), default=0)
    if longest > LONGEST_EXPRESSION:
        return f"needs a selector of {longest} bytes in {place}, the API allows {LONGEST_EXPRESSION}"
    return None


def beyond_limits(spec: Mapping[str, Any]) -> Optional[str]:
    """The API limit that the spec of a claim or a DeviceClass exceeds, if any."""
    if "devices" not in spec:
        return _beyond("the DeviceClass", spec)
    devices = spec["devices"]
    for what in ("requests", "constraints"):
        number = len(devices.get(what, []))
        if number > _MOST:
            return f"needs {number} {what}, the API allows at most {_MOST}"
    for request in devices["requests"]:
        for name, body in _bodies(request):
            beyond = _beyond(f"request {name}", body)
            if beyond is not None:
                return beyond
    return None


def _classes(spec: Mapping[str, Any]) -> Iterator[str]:
    for request in spec["devices"]["requests"]:
        for body in [request["exactly"]] if "exactly" in request else request["firstAvailable"]:
            yield body["deviceClassName"]


def unmapped(objects: Sequence[Mapping[str, Any]], mapped: Optional[Collection[str]]) -> Iterator[str]:
    """A warning of DeviceClasses in templates for which Kueue has no quota.

    ``mapped`` are those of its ``deviceClassMappings``, ``None`` if they are not known or there is no Kueue. Extended
    resources need no mapping, and single claims have no quota.
    """
    if mapped is None:
        return
    found: Dict[str, None] = {}
    for item in objects:
        if item["kind"] == "ResourceClaimTemplate":
            found.update(dict.fromkeys(name for name in _classes(item["spec"]["spec"]) if name not in mapped))
    if found:
        entries = ", ".join(f"{{name: {name.replace('.', '-')}, deviceClassNames: [{name}]}}" for name in found)
        what = "Kueue 0.18 and newer admit no workload with these templates until its configuration has"
        yield f"{what} resources.deviceClassMappings: [{entries}] and its ClusterQueues have quotas for these names"
