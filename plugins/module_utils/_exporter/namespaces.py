# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Other network namespaces, as a short-lived process sees them that may end in one of them.

Sources: setns(2), mount(2); include/uapi/linux/if_link.h for what a netdev says of itself.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
from typing import Iterator, List, NamedTuple, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import netlink, nldev
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter import ethtool_stats
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.pci import is_address

_NEW_NET, _NEW_MOUNTS = 0x40000000, 0x00020000
_READ_ONLY, _NO_SUID, _NO_DEVICES, _NO_PROGRAMS = 1, 2, 4, 8
_RECURSIVE, _PRIVATE, _DETACHED = 0x4000, 1 << 18, 2
_ROUTE, _GET_LINK = 0, 18
# include/uapi/rdma/rdma_netlink.h.
_RDMA, _DEVICE_NAME = 20, 2
_HEAD = struct.Struct("=16xxxHiI4x")
_SKIP_STATS = struct.pack("=HHI", 8, 29, 8)
_NAME, _LINK, _INFO, _CHANGES, _NETNS, _DOWNS, _PARENT = 3, 5, 18, 35, 37, 48, 56
_KIND = 1
_UP = 1
# Kinds of netdevs that share the port of another one (drivers/net/ipvlan, macvlan, net/8021q, ulp/ipoib).
CHILDREN = ("ipvlan", "macvlan", "vlan", "ipoib")

_libc = ctypes.CDLL(None, use_errno=True)


class Link(NamedTuple):
    """A netdev. ``number`` is its index, ``parent`` that of the one below it, ``outside`` whether that is elsewhere.

    ``downs`` says how often it lost its carrier, as far as the kernel counts that (Linux 4.16), else ``None``.
    """

    name: str
    number: int
    up: bool
    kind: str
    pci: str
    parent: Optional[int]
    outside: bool
    downs: Optional[int]


def _call(function: str, *arguments: object) -> None:
    if getattr(_libc, function)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), function)


def inode(path: str) -> int:
    """The number by which the kernel knows a namespace. Raises OSError."""
    return os.stat(path).st_ino


class Namespaces:
    """Of one process, which has no other threads: what it enters, it leaves again."""

    def __init__(self) -> None:
        self._host = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        self._private = False

    @contextlib.contextmanager
    def inside(self, path: str) -> Iterator[None]:
        """The network namespace with this path. Raises OSError where there is none, or it cannot be entered."""
        # What is no namespace may be a FIFO.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            _call("setns", descriptor, _NEW_NET)
        finally:
            os.close(descriptor)
        try:
            yield
        finally:
            _call("setns", self._host, _NEW_NET)

    @contextlib.contextmanager
    def sysfs(self) -> Iterator[None]:
        """``/sys`` as the network namespace that this process is in has it. Raises OSError."""
        if not self._private:
            _call("unshare", _NEW_MOUNTS)
            _call("mount", None, b"/", None, ctypes.c_ulong(_RECURSIVE | _PRIVATE), None)
            self._private = True
        flags = _READ_ONLY | _NO_SUID | _NO_DEVICES | _NO_PROGRAMS
        _call("mount", b"sysfs", b"/sys", b"sysfs", ctypes.c_ulong(flags), None)
        try:
            yield
        finally:
            _call("umount2", b"/sys", _DETACHED)


def _interpret(raw: bytes) -> Link:
    _type, index, flags = _HEAD.unpack_from(raw)
    found = netlink.attributes(raw, 16)
    info = netlink.attributes_at(found.get(_INFO, b""), 0)
    address = netlink.text(found.get(_PARENT))
    changes = netlink.number(found.get(_CHANGES))
    downs = netlink.number(found.get(_DOWNS))
    return Link(
        name=netlink.text(found.get(_NAME)),
        number=index,
        up=bool(flags & _UP),
        kind=netlink.text(info.get(_KIND)),
        pci=address if is_address(address) else "",
        parent=netlink.number(found.get(_LINK)),
        outside=_NETNS in found,
        # Without the count, two changes are once down and once up.
        downs=downs if downs is not None else None if changes is None else changes // 2,
    )


def links() -> List[Link]:
    """The netdevs of the network namespace that this process is in. Raises OSError."""
    with netlink.open_socket(_ROUTE) as sock:
        answers = netlink.ask(sock, netlink.request(_GET_LINK, netlink.NLM_F_DUMP, bytes(16) + _SKIP_STATS))
    found = [_interpret(raw) for raw in answers]
    # Before Linux 5.14 only the driver says what device it is.
    return [
        link._replace(pci=ethtool_stats.bus_address(link.name))
        if not link.kind and not link.pci and link.number > 1
        else link
        for link in found
    ]


def hcas() -> List[str]:
    """The HCAs that this process's network namespace has; in netns mode shared, all of them. Raises OSError."""
    with netlink.open_socket(_RDMA) as sock:
        answers = netlink.ask(sock, nldev.request(nldev.CMD_GET, dump=True))
    return [netlink.text(netlink.attributes(raw).get(_DEVICE_NAME)) for raw in answers]
