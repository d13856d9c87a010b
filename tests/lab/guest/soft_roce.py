# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Runs on a guest: brings its NICs to what a node with Soft-RoCE looks like, then tries the links to the peer.

    python3 soft_roce.py prepare    addresses (NetworkManager), VFs, a bond, a VLAN, rxe devices
    python3 soft_roce.py ping       every fabric address of the other node answers

Running it again changes nothing. Prints "changed" when it did change something.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple

NUMBER = int(Path("/proc/sys/kernel/hostname").read_text().strip()[len("node") :])
PEER = 3 - NUMBER
PROFILES = Path("/etc/NetworkManager/system-connections")
MODULES = ("ib_uverbs", "ib_umad", "rdma_ucm", "rdma_rxe", "bonding", "8021q")
SUBNETS = {"rail0": 1, "rail1": 2, "bond0": 3, "rail4": 5, "vf0": 6, "vlan": 102}
changes: List[str] = []


def run(*argv: str) -> str:
    """Run a command that has to succeed."""
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(argv)}: exit code {done.returncode}\n{done.stdout}")
    return done.stdout


def await_condition(what: str, met: Callable[[], bool], seconds: float = 90) -> None:
    """Poll until it holds, or end with what is missing."""
    end = time.monotonic() + seconds
    while not met():
        if time.monotonic() > end:
            sys.exit(f"{what}: not within {seconds:.0f} s\n{run('nmcli', 'device')}{run('ip', '-br', 'address')}")
        time.sleep(0.3)


def mac(nic: int) -> str:
    """MAC address of this node's fabric NIC, as the lab hands them out."""
    return f"52:54:00:77:{nic:02x}:{NUMBER:02x}"


def netdevs() -> Dict[str, str]:
    """Map each permanent MAC address of a PCI NIC to its netdev: under a bond the current address is the bond's."""
    found = {}
    for link in json.loads(run("ip", "-j", "-d", "link")):
        if Path("/sys/class/net", link["ifname"], "device").exists():
            found[link.get("permaddr", link["address"])] = link["ifname"]
    return found


def write(path: Path, text: str) -> None:
    """Write a root-only file unless it says so already."""
    if not path.exists() or path.read_text() != text:
        path.touch(mode=0o600)
        path.write_text(text)
        changes.append(str(path))


def profile(name: str, kind: str, settings: str, subnet: int = 0) -> None:
    """Write a NetworkManager profile; with a subnet it gets this node's addresses there."""
    text = f"[connection]\nid={name}\ntype={kind}\nautoconnect=true\n{settings}\n"
    if subnet:
        text += f"\n[ipv4]\nmethod=manual\naddress1=10.78.{subnet}.{NUMBER}/24\nnever-default=true\n"
        text += f"\n[ipv6]\nmethod=manual\naddress1=fd78:0:0:{subnet}::{NUMBER}/64\nnever-default=true\n"
    write(PROFILES / f"{name}.nmconnection", text)


def make_vfs(pf: str, count: int) -> List[str]:
    """Create VFs and return their netdevs in VF order."""
    device = Path("/sys/class/net", pf, "device")
    if int((device / "sriov_numvfs").read_text()) != count:
        (device / "sriov_numvfs").write_text(str(count))
        changes.append(f"{count} VFs on {pf}")

    def names() -> List[str]:
        return [entry.name for number in range(count) for entry in (device / f"virtfn{number}" / "net").glob("*")]

    await_condition(f"VFs of {pf}", lambda: len(names()) == count)
    run("udevadm", "settle")
    return names()


def fabric_netdevs() -> Dict[str, str]:
    """Map the roles of the fabric NICs to their netdevs."""
    by_mac = netdevs()
    return {f"rail{nic - 1}": by_mac[mac(nic)] for nic in range(1, 6)}


def write_profiles(rails: Dict[str, str], vfs: List[str]) -> List[str]:
    """Write every profile and return the names in the order to activate them."""
    for nic, rail in ((1, "rail0"), (2, "rail1"), (5, "rail4")):
        mtu = "mtu=4200\n" if rail == "rail1" else ""
        profile(rail, "ethernet", f"\n[ethernet]\nmac-address={mac(nic)}\n{mtu}", SUBNETS[rail])
    vlan = f"interface-name=vlan102\n\n[vlan]\nid=102\nparent={rails['rail1']}\nflags=1\n"
    profile("vlan102", "vlan", vlan, SUBNETS["vlan"])
    # Without a primary each node would choose a slave of its own, and the two need not be on one wire.
    bond = f"interface-name=bond0\n\n[bond]\nmode=active-backup\nmiimon=100\nprimary={rails['rail2']}\n"
    profile("bond0", "bond", bond, SUBNETS["bond0"])
    for nic in (3, 4):
        name = f"bond0-rail{nic - 1}"
        profile(name, "ethernet", f"controller=bond0\nport-type=bond\n\n[ethernet]\nmac-address={mac(nic)}\n")
    profile("vf0", "ethernet", f"interface-name={vfs[0]}\n", SUBNETS["vf0"])
    return ["rail0", "rail1", "rail4", "bond0", "bond0-rail2", "bond0-rail3", "vlan102", "vf0"]


def activate(names: List[str]) -> None:
    """Load the profiles and bring up those that are not active."""
    if changes:
        run("nmcli", "connection", "load", *[str(PROFILES / f"{name}.nmconnection") for name in names])
    for name in names:
        active = run("nmcli", "-g", "NAME", "connection", "show", "--active").splitlines()
        if name not in active:
            run("nmcli", "--wait", "90", "connection", "up", name)
            changes.append(f"connection {name}")


def rdma_links() -> List[Dict[str, Any]]:
    """Return what the RDMA subsystem has."""
    links: List[Dict[str, Any]] = json.loads(run("rdma", "-j", "link"))
    return links


def add_rdma(wanted: List[Tuple[str, str, str]]) -> None:
    """Add the software RDMA devices (name, type, netdev) that are missing."""
    present = {link["ifname"] for link in rdma_links()}
    for name, kind, netdev in wanted:
        if name not in present:
            run("rdma", "link", "add", name, "type", kind, "netdev", netdev)
            changes.append(name)


def prepare() -> None:
    """Bring the node to its prepared state and wait until every port that should be active is."""
    for module in MODULES:
        if not Path("/sys/module", module).exists():
            run("modprobe", module)
            changes.append(module)
    rails = fabric_netdevs()
    vfs = make_vfs(rails["rail0"], 2)
    names = write_profiles(rails, vfs)
    # An unmanaged, downed VF gives a port that is not active.
    run("nmcli", "device", "set", vfs[1], "managed", "no")
    activate(names)
    run("ip", "link", "set", vfs[1], "down")
    management = netdevs()[mac(0)]
    wanted = [
        ("rxe0", "rxe", rails["rail0"]),
        ("rxe1", "rxe", rails["rail1"]),
        ("rxe4", "rxe", rails["rail4"]),
        ("rxe_bond", "rxe", "bond0"),
        ("rxe_slave", "rxe", rails["rail2"]),
        ("rxe_vf0", "rxe", vfs[0]),
        ("rxe_down", "rxe", vfs[1]),
        ("rxe_mgmt", "rxe", management),
    ]
    add_rdma(wanted)

    def active() -> bool:
        states = {link["ifname"]: link["state"] for link in rdma_links()}
        return all(states.get(name) == "ACTIVE" for name, _kind, _netdev in wanted if name != "rxe_down")

    await_condition("every RDMA port but rxe_down ACTIVE", active)
    run("udevadm", "settle")


def ping() -> None:
    """Try every fabric address of the peer, IPv4 and IPv6."""
    for name, subnet in SUBNETS.items():
        for address in (f"10.78.{subnet}.{PEER}", f"fd78:0:0:{subnet}::{PEER}"):

            def answers(address: str = address) -> bool:
                command = ["ping", "-qc1", "-W2", address]
                return subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode == 0

            await_condition(f"{name}: {address} answers", answers, seconds=60)


if __name__ == "__main__":
    {"prepare": prepare, "ping": ping}[sys.argv[1]]()
    print("changed: " + ", ".join(changes) if changes else "unchanged")
