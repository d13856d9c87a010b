# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Runs in the machine: what the library hears of a real lldpd, whose neighbours are other real ones behind veths.

rail0 and rail1 are connected to two switches that speak LLDP, rail2 to something that is silent.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any, Dict, List

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import lldp

_SWITCHES = {"rail0": ("leaf-1", "Ethernet1/12"), "rail1": ("\u001b[31m=leaf,2<b>", "Ethernet1/12")}


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
    daemon = ["lldpd", "-d", "-u", socket, "-I", "swp1"]
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


def main() -> None:
    found: Dict[str, Any] = {"before": lldp.ask()}
    for netdev, (name, port) in _SWITCHES.items():
        _switch(netdev, name, port)
    _switch("rail2", "", "")
    subprocess.Popen(["lldpd", "-d", "-r"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _until(lambda: os.path.exists("/run/lldpd.socket"))

    def heard() -> List[Dict[str, Any]]:
        answer = lldp.ask()
        return answer["neighbours"] if {each["name"] for each in answer["neighbours"]} == _NAMES else []

    found["heard"] = _until(heard)
    found["nobody"] = _as_nobody()
    json.dump(found, sys.stdout)


_NAMES = {name for name, _port in _SWITCHES.values()}

if __name__ == "__main__":
    main()
