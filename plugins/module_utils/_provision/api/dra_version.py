# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Which version of resource.k8s.io to speak, and our objects in it.

Sources: kubernetes/api, resource/{v1,v1beta2,v1beta1}/types.go (v1beta1 has the fields of ``exactly`` in the request
itself) and the release notes: v1 since 1.34, v1beta2 since 1.33, v1beta1 since 1.32; on by default since 1.34.
"""

from __future__ import annotations

import copy
import re
from typing import Any, Callable, Dict, Mapping, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import Object

GROUP = "resource.k8s.io"
VERSIONS = ("v1", "v1beta2", "v1beta1")

_COMPONENTS = "kube-apiserver, kube-controller-manager, kube-scheduler and kubelet"


def negotiate(served: Sequence[str], ask_version: Callable[[], Mapping[str, Any]]) -> str:
    """The newest of :data:`VERSIONS` that is served.

    ``ask_version`` gives the answer of ``/version``; it is called only for the error. Raises ClusterError with what to
    switch on when there is none.
    """
    for version in VERSIONS:
        if version in served:
            return version
    release = ask_version()
    major, minor = (int(re.sub("[^0-9].*", "", str(release.get(part, ""))) or 0) for part in ("major", "minor"))
    offered = f"only {GROUP}/{', '.join(served)}" if served else f"no {GROUP} at all"
    said = f"Dynamic Resource Allocation is off: the API server (Kubernetes {major}.{minor}) serves {offered}."
    if (major, minor) >= (1, 34):
        raise ClusterError(
            f"{said} It is on by default since 1.34: remove {GROUP} from kube-apiserver's --runtime-config, and "
            f"DynamicResourceAllocation=false, if it is there, from the --feature-gates of {_COMPONENTS}"
        )
    if (major, minor) < (1, 32):
        raise ClusterError(f"{said} Kubernetes 1.32 is the oldest version with an API that current DRA drivers use")
    betas = VERSIONS[1:] if minor == 33 else VERSIONS[2:]
    switches = ",".join(f"{GROUP}/{version}=true" for version in betas)
    raise ClusterError(
        f"{said} Start kube-apiserver with --runtime-config={switches}, "
        f"and {_COMPONENTS} with --feature-gates=DynamicResourceAllocation=true"
    )


def converted(item: Object, version: str) -> Object:
    """An object of resource.k8s.io/v1 in another version of the API. Others are returned as they are."""
    if item["apiVersion"] != f"{GROUP}/v1" or version == "v1":
        return item
    done: Object = {**copy.deepcopy(item), "apiVersion": f"{GROUP}/{version}"}
    if version == "v1beta1":
        spec = done.get("spec") or {}
        _flatten(spec if done["kind"] == "ResourceClaim" else spec.get("spec"))
    return done


def _flatten(spec: Any) -> None:
    """Move what is in ``exactly`` to the request. What has not the right form is left to the API server to refuse."""
    devices: Any = spec.get("devices") if isinstance(spec, dict) else None
    requests: Any = devices.get("requests") if isinstance(devices, dict) else None
    for request in requests if isinstance(requests, list) else []:
        if isinstance(request, dict) and isinstance(request.get("exactly"), dict):
            exactly: Dict[str, Any] = request.pop("exactly")
            request.update(exactly)
