# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Runs in the machine: what the library hears of a real lldpd, whose neighbours are other real ones behind veths.

rail0, rail1 and mgmt0 are connected to switches that speak LLDP, rail2 to something that is silent. rail3, with another
switch, is away when lldpd starts, as a NIC in a pod is.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any, Container, Dict, List

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.daemons import lldpd
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import lldp

_SWITCHES = {
    "rail0": ("leaf-1", "Ethernet1/12"),
    "rail1": ("\u001b[31m=leaf,2<b>", "Ethernet1/12"),
    "rail3": ("leaf-4", "Ethernet1/12"),
}
_MANAGEMENT = "mgmt0"
_NETDEVS = ("rail0", "rail1", "rail2", "rail3")


def _run(*command: str) -> None:
    subprocess.run(command, check=True, stdout=sys.stderr)


def _until(done: Any) -> Any:
    """The caller ends this if it never comes."""
    while True:
        found = done()
        if found:
            return found
        time.sleep(0.1)


def _switch(netdev: str, name: str, port: str) -> None:
    # A network namespace lives as long as a process in it, and needs no mounts then.
    holder = subprocess.Popen(["unshare", "--net", "sleep", "1000"])
    own = os.readlink("/proc/self/ns/net")
    _until(lambda: os.readlink(f"/proc/{holder.pid}/ns/net") != own)
    _run("ip", "link", "add", netdev, "type", "veth", "peer", "name", "swp1", "netns", str(holder.pid))
    _run("ip", "link", "set", netdev, "up")
    enter = ["nsenter", f"--target={holder.pid}", "--net"]
    _run(*enter, "ip", "link", "set", "swp1", "up")
    if not name:
        return
    socket = f"/run/{netdev}.socket"
    # A switch has no configuration in files; those here are the node's.
    daemon = ["lldpd", "-d", "-u", socket, "-I", "swp1", "-O", "/dev/null"]
    subprocess.Popen([*enter, *daemon], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _until(lambda: os.path.exists(socket))
    # It speaks every second, and what it says holds for longer than a slow machine takes to hear it.
    often = (["lldp", "tx-hold", "100"], ["lldp", "tx-interval", "1"])
    for words in (["system", "hostname", name], ["lldp", "portidsubtype", "local", port], *often):
        _run("lldpcli", "-u", socket, "configure", *words)


def _as_nobody() -> Dict[str, Any]:
    """What a user without rights is told."""
    code = "import json; from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import lldp; "
    code += "print(json.dumps(lldp.ask()))"
    argv = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "python3", "-c", code]
    found: Dict[str, Any] = json.loads(subprocess.run(argv, check=True, stdout=subprocess.PIPE).stdout)
    return found


def _daemon() -> subprocess.Popen[bytes]:
    """lldpd as its unit starts it, with the configuration that there is."""
    daemon = subprocess.Popen(["lldpd", "-d"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _until(lambda: os.path.exists("/run/lldpd.socket"))
    return daemon


def _heard_by(switch: str) -> int:
    """How many frames a switch has got."""
    argv = ["lldpcli", "-u", f"/run/{switch}.socket", "-f", "json", "show", "statistics"]
    said = json.loads(subprocess.run(argv, check=True, stdout=subprocess.PIPE).stdout)
    return int(said["lldp"]["interface"]["swp1"]["rx"]["rx"])


def _heard_from(netdevs: Container[str]) -> List[Dict[str, Any]]:
    """The neighbours, once all switches at these netdevs are among them."""
    wanted = {name for netdev, (name, _port) in _SWITCHES.items() if netdev in netdevs}
    found: List[Dict[str, Any]] = lldp.ask()["neighbours"]
    return found if wanted <= {each["name"] for each in found} else []


def main() -> None:
    found: Dict[str, Any] = {"before": lldp.ask()}
    for netdev in ("rail0", "rail1"):
        _switch(netdev, *_SWITCHES[netdev])
    _switch("rail2", "", "")
    _switch(_MANAGEMENT, "mgmt", "1")
    with open(lldpd.DAEMON.config, "w", encoding="ascii") as file:
        file.write(lldpd.text(_NETDEVS))
    daemon = _daemon()
    _until(lambda: _heard_from(("rail0", "rail1")))
    _switch("rail3", *_SWITCHES["rail3"])
    found["heard"] = _until(lambda: _heard_from(_NETDEVS))
    found["nobody"] = _as_nobody()
    daemon.terminate()
    daemon.wait()
    # Also at its end, of which others are told.
    speaking = (*_SWITCHES, _MANAGEMENT)
    found["sent"] = {switch: _heard_by(switch) for switch in speaking}
    os.unlink(lldpd.DAEMON.config)
    _daemon()
    # Without the file it sends, so that the numbers above could have been others.
    _until(lambda: all(_heard_by(switch) for switch in speaking))
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
