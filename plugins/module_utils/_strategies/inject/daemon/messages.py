# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What NRI tells of pods and containers, and what a plugin may change in one that is created.

The numbers of fields are those of containerd/nri 0.12, pkg/api/api.proto; they are the same in 0.6, that of containerd
1.7.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, List, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._values import protobuf

_UNLIMITED = 0xFFFFFFFFFFFFFFFF


@dataclass(frozen=True)
class Pod:
    """A pod. ``host_network`` says whether it has no network namespace of its own."""

    name: str
    namespace: str
    annotations: Dict[str, str] = field(default_factory=dict)
    host_network: bool = False


@dataclass(frozen=True)
class Container:
    """A container that is being created.

    ``environment`` is by name; ``devices`` are paths in the container, ``cdi`` names (``nvidia.com/gpu=0``), and
    ``mounts`` destinations.
    """

    name: str
    environment: Dict[str, str] = field(default_factory=dict)
    devices: Sequence[str] = ()
    cdi: Sequence[str] = ()
    mounts: Sequence[str] = ()


@dataclass(frozen=True)
class Node:
    """A character device with its numbers."""

    path: str
    major: int
    minor: int


@dataclass
class Adjustment:
    """What a container gets. ``memlock`` is RLIMIT_MEMLOCK in bytes, -1 for unlimited, 0 to leave it."""

    devices: List[Node] = field(default_factory=list)
    environment: Dict[str, str] = field(default_factory=dict)
    memlock: int = 0

    def __bool__(self) -> bool:
        return bool(self.devices or self.environment or self.memlock)

    def encoded(self) -> bytes:
        """A ``CreateContainerResponse``."""
        if not self:
            return b""
        content = b"".join(
            protobuf.bytes_field(4, protobuf.text_field(1, name) + protobuf.text_field(2, value))
            for name, value in self.environment.items()
        )
        if self.devices:
            devices = b"".join(protobuf.bytes_field(1, _device(node)) for node in self.devices)
            content += protobuf.bytes_field(6, devices)
        if self.memlock:
            limit = _UNLIMITED if self.memlock < 0 else self.memlock
            limits = protobuf.number_field(2, limit) + protobuf.number_field(3, limit)
            content += protobuf.bytes_field(7, protobuf.text_field(1, "RLIMIT_MEMLOCK") + limits)
        return protobuf.bytes_field(1, content)


def _device(node: Node) -> bytes:
    return (
        protobuf.text_field(1, node.path)
        + protobuf.text_field(2, "c")
        + protobuf.number_field(3, node.major)
        + protobuf.number_field(4, node.minor)
        # The mode that libibverbs needs of uverbs for every user (rdma-core, 90-rdma-umad.rules and its like).
        + protobuf.bytes_field(5, protobuf.number_field(1, 0o666))
    )


def created(message: bytes) -> Tuple[Pod, Container]:
    """The pod and container of a ``CreateContainerRequest``. Raises ProtobufError."""
    whole = protobuf.grouped(message)
    return _pod(protobuf.grouped(_last(whole, 1))), _container(protobuf.grouped(_last(whole, 2)))


_Fields = Dict[int, List[bytes]]


def _last(fields: _Fields, number: int) -> bytes:
    return fields.get(number, [b""])[-1]


def _text(fields: _Fields, number: int) -> str:
    return _last(fields, number).decode("utf-8", "replace")


def _pod(fields: _Fields) -> Pod:
    # A runtime that cannot read the specification of a pod names none of its namespaces.
    namespaces = [protobuf.text(namespace, 1) for namespace in protobuf.submessages(_last(fields, 8), 5)]
    on_host = bool(namespaces) and "network" not in namespaces
    return Pod(_text(fields, 2), _text(fields, 4), protobuf.mapping(fields.get(6, ())), on_host)


def _container(fields: _Fields) -> Container:
    variables = (value.decode("utf-8", "replace") for value in fields.get(8, ()))
    return Container(
        _text(fields, 3),
        dict(entry.partition("=")[::2] for entry in variables),
        [protobuf.text(device, 1) for device in protobuf.submessages(_last(fields, 11), 2)],
        [protobuf.text(device, 1) for device in fields.get(20, ())],
        [protobuf.text(mount, 1) for mount in fields.get(9, ())],
    )
