# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Claims of this node's containers, as the kubelet tells monitoring (PodResources, v1).

The numbers of fields are those of k8s.io/kubelet 0.37, pkg/apis/podresources/v1/api.proto. Claims are among them by
default since Kubernetes 1.34 (KubeletPodResourcesDynamicResources); a kubelet without the feature tells of none.

A driver need not tell the kubelet which devices it has prepared, and DRANET 1.4.0 does not (pkg/driver/dra_hooks.go).
The kubelet then tells of a claim without devices, or with those of another driver only; that a driver has allocated
devices of the claim is in its checkpoint alone (k8s.io/kubernetes 1.37, pkg/kubelet/cm/dra/state).
"""

from __future__ import annotations

import json
from typing import Any, Dict, List, Mapping, NamedTuple, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import grpc, unix_file
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import protobuf
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.protobuf import ProtobufError

SOCKET = "/var/lib/kubelet/pod-resources/kubelet.sock"
CHECKPOINT = "/var/lib/kubelet/dra_manager_state"
# Bytes. With a hundred claims of eight devices each, it has some 200 KiB.
_LARGEST = 16 << 20
_LIST = "/v1.PodResourcesLister/List"
_SECONDS = 2.0


class Claimed(NamedTuple):
    """A device of a claim; ``pool`` and ``device`` are empty where its driver names none."""

    claim: str
    driver: str
    pool: str
    device: str


# Namespace and name of the pod, and name of the container.
Key = Tuple[str, str, str]
Claims = Dict[Key, List[Claimed]]
# By namespace and name of a claim.
Drivers = Dict[Tuple[str, str], List[str]]


class KubeletSilentError(Exception):
    """The kubelet does not answer, or not as its API says."""


def _claimed(resource: bytes, namespace: str, silent: Drivers) -> List[Claimed]:
    whole = protobuf.grouped(resource)
    claim = b"".join(whole.get(2, [])[-1:]).decode("utf-8", "replace")
    named = [
        Claimed(claim, protobuf.text(device, 2), protobuf.text(device, 3), protobuf.text(device, 4))
        for device in whole.get(4, [])
    ]
    return named + [Claimed(claim, driver, "", "") for driver in silent.get((namespace, claim), [])]


def without_devices(checkpoint: bytes) -> Drivers:
    """The drivers that have named none of their devices. Raises ValueError for what is no checkpoint of this form."""
    try:
        found: Drivers = {}
        for claim in json.loads(json.loads(checkpoint)["Data"])["ClaimInfoStateList"] or []:
            of_drivers: Mapping[str, Any] = claim["DriverState"] or {}
            silent = [driver for driver, state in of_drivers.items() if not state["Devices"]]
            found[str(claim["Namespace"]), str(claim["ClaimName"])] = silent
        return found
    except (AttributeError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"not a checkpoint of claims: {error!r}") from error


def interpret(answer: bytes, silent: Drivers) -> Claims:
    """The claims in an answer, with those of drivers that name no devices. Raises ProtobufError."""
    found: Claims = {}
    for pod in protobuf.submessages(answer, 1):
        parts = protobuf.grouped(pod)
        name, namespace = protobuf.text(pod, 1), protobuf.text(pod, 2)
        for container in parts.get(3, []):
            devices = [
                device for each in protobuf.submessages(container, 5) for device in _claimed(each, namespace, silent)
            ]
            if devices:
                found[namespace, name, protobuf.text(container, 1)] = devices
    return found


def _silent(checkpoint: str) -> Drivers:
    try:
        with open(checkpoint, "rb") as file:
            content = file.read(_LARGEST + 1)
        if len(content) > _LARGEST:
            raise OSError(f"it is larger than {_LARGEST} bytes")
        return without_devices(content)
    except FileNotFoundError:
        # A kubelet without claims has none.
        return {}


def read(path: str = SOCKET, checkpoint: str = CHECKPOINT) -> Claims:
    """The claims of all containers. Raises KubeletSilentError."""
    # Before the claims: one that is prepared in between is known with the next look.
    try:
        silent = _silent(checkpoint)
    except (OSError, ValueError) as error:
        raise KubeletSilentError(f"{checkpoint}: {error}") from error
    try:
        if not unix_file.is_roots(path):
            raise OSError("nothing listens on it, or it is not root's")
        return interpret(grpc.call(path, _LIST, timeout=_SECONDS), silent)
    except (OSError, ProtobufError, grpc.RejectedError) as error:
        raise KubeletSilentError(f"{path}: {error}") from error
