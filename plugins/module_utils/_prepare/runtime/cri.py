# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What the container runtime says of itself, its pods and its images: CRI, and containerd's own services."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Dict, List, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import grpc
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import protobuf

_NAMESPACE = [("containerd-namespace", "k8s.io")]


@dataclass(frozen=True)
class CriImage:
    """``identity`` is the digest of the image's configuration, ``sha256:`` and 64 digits; ``names`` have a tag each."""

    identity: str
    names: Tuple[str, ...]


def call(
    path: str, method: str, message: bytes = b"", metadata: Sequence[Tuple[str, str]] = (), timeout: float = 10
) -> bytes:
    """The service's answer, which has to be whole within ``timeout`` seconds.

    :raises HostError: nobody listens, or the service answers with an error.
    """
    try:
        return grpc.call(path, method, message, metadata, timeout)
    except OSError as error:
        raise HostError(f"{path} does not answer: {error.strerror or error}") from error
    except grpc.RejectedError as error:
        raise HostError(str(error)) from error


def version(path: str) -> str:
    """Name and version of the runtime, as reported by its CRI.

    :raises HostError: the CRI does not answer (yet).
    """
    answer = call(path, "/runtime.v1.RuntimeService/Version", timeout=5)
    return f"{protobuf.text(answer, 2)} {protobuf.text(answer, 3)}"


def sandboxes(path: str) -> List[str]:
    """IDs of all pod sandboxes that the CRI knows, in any state.

    :raises HostError: the CRI does not answer.
    """
    answer = call(path, "/runtime.v1.RuntimeService/ListPodSandbox")
    return [protobuf.text(item, 1) for item in protobuf.submessages(answer, 1)]


def stored_sandboxes(path: str) -> List[str]:
    """IDs in the sandbox store of containerd 2; 1.7 stores none.

    :raises HostError: containerd does not answer.
    """
    answer = call(path, "/containerd.services.sandbox.v1.Store/List", metadata=_NAMESPACE)
    return [protobuf.text(item, 1) for item in protobuf.submessages(answer, 1)]


def sandbox_records(path: str) -> Dict[str, str]:
    """Id and sandbox name of every sandbox record in containerd's own store, whether the CRI knows it or not.

    Numbers of fields are those of containerd's ``api/services/containers/v1``; the name is in the JSON that the CRI
    plugin keeps as an extension of the record.

    :raises HostError: containerd does not answer.
    """
    request = protobuf.text_field(1, 'labels."io.cri-containerd.kind"==sandbox')
    answer = call(path, "/containerd.services.containers.v1.Containers/List", request, _NAMESPACE)
    records = {}
    for container in protobuf.submessages(answer, 1):
        for extension in protobuf.submessages(container, 10):
            if protobuf.text(extension, 1) != "io.cri-containerd.sandbox.metadata":
                continue
            try:
                kept = json.loads(protobuf.text(next(protobuf.submessages(extension, 2)), 2))
                records[protobuf.text(container, 1)] = str(kept["Metadata"]["Name"])
            except (ValueError, KeyError, TypeError, StopIteration):
                continue
    return records


def image(path: str, name: str) -> Optional[CriImage]:
    """The image of that name or identity, or ``None`` when the CRI has none.

    :raises HostError: the CRI does not answer.
    """
    answer = call(path, "/runtime.v1.ImageService/ImageStatus", _image_spec(name))
    for found in protobuf.submessages(answer, 1):
        names = tuple(value.decode("utf-8", "replace") for value in protobuf.submessages(found, 2))
        # CRI-O leaves the algorithm out.
        return CriImage("sha256:" + protobuf.text(found, 1).rpartition(":")[2], names)
    return None


def remove_image(path: str, name: str) -> None:
    """Remove the image under all its names; fine when there is none.

    :raises HostError: the CRI does not answer, or refuses.
    """
    call(path, "/runtime.v1.ImageService/RemoveImage", _image_spec(name), timeout=60)


def _image_spec(name: str) -> bytes:
    """A request with an ``ImageSpec`` as its first field, whose first field is the name."""
    return protobuf.bytes_field(1, protobuf.bytes_field(1, name.encode()))
