# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Claims of this node's containers, as the kubelet tells monitoring (PodResources, v1).

The numbers of fields are those of k8s.io/kubelet 0.37, pkg/apis/podresources/v1/api.proto. Claims are among them by
default since Kubernetes 1.34 (KubeletPodResourcesDynamicResources); a kubelet without the feature tells of none.
"""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import grpc, unix_file
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import protobuf
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.protobuf import ProtobufError

SOCKET = "/var/lib/kubelet/pod-resources/kubelet.sock"
_LIST = "/v1.PodResourcesLister/List"
_SECONDS = 2.0


class Claimed(NamedTuple):
    """A device of a claim."""

    claim: str
    driver: str
    pool: str
    device: str


# Namespace and name of the pod, and name of the container.
Key = Tuple[str, str, str]
Claims = Dict[Key, List[Claimed]]


class KubeletSilentError(Exception):
    """The kubelet does not answer, or not as its API says."""


def _claimed(resource: bytes) -> List[Claimed]:
    whole = protobuf.grouped(resource)
    claim = b"".join(whole.get(2, [])[-1:]).decode("utf-8", "replace")
    return [
        Claimed(claim, protobuf.text(device, 2), protobuf.text(device, 3), protobuf.text(device, 4))
        for device in whole.get(4, [])
    ]


def interpret(answer: bytes) -> Claims:
    """The claims in an answer. Raises ProtobufError."""
    found: Claims = {}
    for pod in protobuf.submessages(answer, 1):
        parts = protobuf.grouped(pod)
        name, namespace = protobuf.text(pod, 1), protobuf.text(pod, 2)
        for container in parts.get(3, []):
            devices = [device for each in protobuf.submessages(container, 5) for device in _claimed(each)]
            if devices:
                found[namespace, name, protobuf.text(container, 1)] = devices
    return found


def read(path: str = SOCKET) -> Claims:
    """The claims of all containers. Raises KubeletSilentError."""
    try:
        if not unix_file.is_roots(path):
            raise OSError("nothing listens on it, or it is not root's")
        return interpret(grpc.call(path, _LIST, timeout=_SECONDS))
    except (OSError, ProtobufError, grpc.RejectedError) as error:
        raise KubeletSilentError(f"{path}: {error}") from error
