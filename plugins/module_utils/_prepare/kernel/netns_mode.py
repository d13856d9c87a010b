# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!


"""The RDMA network namespace mode of the running kernel: whether and how it can be changed now."""

from __future__ import annotations

import contextlib
import os
import struct
from typing import Dict, List

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import netlink

# include/uapi/rdma/rdma_netlink.h
_NETLINK_RDMA = 20
_RDMA_NL_NLDEV = 5
_CMD_SYS_SET = 7
_ATTR_NETNS_MODE = 66
_MODES = {"exclusive": 0, "shared": 1}


def change(mode: str) -> None:
    """Ask the kernel for ``shared`` or ``exclusive``, as ``rdma system set netns`` does.

    ib_core must be loaded, or asking would load it. Raises OSError when the kernel refuses, EBUSY while any other
    network namespace exists (rdma_compatdev_set in drivers/infiniband/core/device.c).
    """
    attribute = struct.pack("=HHB3x", 5, _ATTR_NETNS_MODE, _MODES[mode])
    message = netlink.request((_RDMA_NL_NLDEV << 10) | _CMD_SYS_SET, netlink.NLM_F_ACK, attribute)
    with netlink.open_socket(_NETLINK_RDMA) as sock:
        netlink.ask(sock, message)


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def mounted(mountinfo: str) -> Dict[str, str]:
    """Mount point by network namespace (``net:[4026532000]``) in the text of /proc/self/mountinfo."""
    found: Dict[str, str] = {}
    for line in mountinfo.splitlines():
        words = line.split(" ")
        if len(words) > 4 and words[3].startswith("net:["):
            found.setdefault(words[3], words[4])
    return found


def _open_files(pid: str) -> List[str]:
    directory = f"/proc/{pid}/fd"
    with contextlib.suppress(OSError):
        return [_link(f"{directory}/{name}") for name in os.listdir(directory)]
    return []


def other_namespaces() -> List[str]:
    """What shows that there are other network namespaces than the host's: mount points, processes, open files.

    One that only the kernel holds, or a thread of a process, is not found; the kernel then says EBUSY.
    """
    host = _link("/proc/1/ns/net") or _link("/proc/self/ns/net")
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as handle:
        found = mounted(handle.read())
    for name in filter(str.isdigit, os.listdir("/proc")):
        for target in [_link(f"/proc/{name}/ns/net"), *_open_files(name)]:
            if target.startswith("net:["):
                found.setdefault(target, f"process {name}")
    found.pop(host, None)
    return sorted(found.values())
