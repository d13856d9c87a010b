# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Prints as JSON all that prepare may change on a node: files with digests, and what is live.

Taken before site.yml and after teardown.yml, the two must be equal.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from typing import Any, Callable, Dict, List

TREES = ("/etc", "/usr/lib/modules-load.d", "/usr/lib/modprobe.d", "/usr/lib/sysctl.d", "/var/lib/zerocopy-rdma")
# They change by themselves.
IGNORED = ("/etc/resolv.conf", "/etc/adjtime", "/etc/mtab", "/etc/.pwd.lock")
SYSCTLS = ("arp_ignore", "arp_announce", "rp_filter")
UNITS = ("containerd", "NetworkManager")
# A bridge, and the host's ends of what the pods' network plugin makes.
OF_PODS = re.compile(r"\b(cni0|veth[0-9a-f]{8})\b")


def files() -> Dict[str, str]:
    found: Dict[str, str] = {}
    for top in TREES:
        for directory, directories, names in os.walk(top):
            directories.sort()
            for name in [*names, *directories]:
                path = os.path.join(directory, name)
                status = os.lstat(path)
                if path in IGNORED:
                    continue
                if os.path.islink(path):
                    content = os.readlink(path)
                elif os.path.isfile(path):
                    with open(path, "rb") as handle:
                        content = hashlib.sha256(handle.read()).hexdigest()
                else:
                    content = "directory"
                found[path] = f"{status.st_mode:o} {status.st_uid}:{status.st_gid} {content}"
    return found


def output(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else f"failed: {done.stderr.strip()}"


def links() -> Dict[str, Any]:
    found: Dict[str, Any] = {}
    for link in json.loads(output("ip", "-j", "addr")):
        addresses = sorted(
            f"{entry['local']}/{entry['prefixlen']}" for entry in link["addr_info"] if entry["scope"] != "link"
        )
        found[link["ifname"]] = {"mtu": link["mtu"], "addresses": addresses}
        for name in SYSCTLS:
            path = f"/proc/sys/net/ipv4/conf/{link['ifname']}/{name}"
            if os.path.exists(path):
                with open(path) as handle:
                    found[link["ifname"]][name] = handle.read().strip()
    return found


def modules() -> List[str]:
    with open("/proc/modules") as handle:
        return sorted(line.split()[0] for line in handle)


def routes() -> List[str]:
    """All but link-local ones: a bond makes itself a new MAC address at each boot."""
    return sorted(line for line in output("ip", "route", "show", "table", "all").splitlines() if "fe80:" not in line)


def connections() -> List[str]:
    """All but that of lo, which gets another UUID at each boot."""
    lines = output("nmcli", "-t", "-f", "NAME,UUID,DEVICE", "connection").splitlines()
    return sorted(line for line in lines if not line.startswith("lo:"))


def containerd() -> List[str]:
    """What is in effect; containerd lists its imports in any order."""
    return [line for line in output("containerd", "config", "dump").splitlines() if not line.startswith("imports")]


def network() -> Dict[str, Any]:
    """What pods give back, unlike kernel modules, which a driver in a pod may make the kernel load."""
    return {
        "links": {name: link for name, link in links().items() if not OF_PODS.search(name)},
        "routes": _not_of_pods(routes()),
        "rules": output("ip", "rule").splitlines(),
        "connections": _not_of_pods(connections()),
        "devices": _not_of_pods(sorted(output("nmcli", "-t", "-f", "DEVICE,STATE", "device").splitlines())),
    }


def _not_of_pods(lines: List[str]) -> List[str]:
    return [line for line in lines if not OF_PODS.search(line)]


def live() -> Dict[str, Any]:
    return {
        **network(),
        "modules": modules(),
        "netns_mode": output("rdma", "system").split(" copy")[0].strip(),
        "containerd": containerd(),
        "limits": {unit: output("systemctl", "show", "-p", "LimitMEMLOCK", unit).strip() for unit in UNITS},
    }


def started() -> Dict[str, Any]:
    """When each unit was started, by its monotonic clock and the boot."""
    with open("/proc/sys/kernel/random/boot_id") as handle:
        found = {"boot": handle.read().strip()}
    for unit in UNITS:
        found[unit] = output("systemctl", "show", "-p", "ExecMainStartTimestampMonotonic", unit).strip()
    return found


if __name__ == "__main__":
    known: Dict[str, Callable[[], Dict[str, Any]]]
    known = {"files": files, "live": live, "network": network, "started": started}
    print(json.dumps({name: known[name]() for name in sys.argv[1:]}, indent=1, sort_keys=True))
