# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Runs on a guest: brings its NICs to what a node with Soft-RoCE looks like, then tries the links to the peer.

    python3 soft_roce.py prepare    addresses (NetworkManager), VFs, a bond, a VLAN, rxe devices
    python3 soft_roce.py prepare HCA ...    only these rxe devices
    python3 soft_roce.py restore    VFs and rxe devices of the netdevs that are there, and rxe devices of those in pods
    python3 soft_roce.py ready      waits until all of them are there and active
    python3 soft_roce.py ping       every lab address of the other node answers

Running it again changes nothing. Prints "changed" when it did change something.

An HCA is there by itself when the node boots, goes with its netdev into a pod and comes back; Soft-RoCE does not.
"prepare" therefore leaves a copy of this file, a udev rule and units behind: whenever a netdev appears or leaves,
"restore" runs. It loads no module but rdma_rxe, so what the collection does for a boot can be seen after one.
"""

from __future__ import annotations

import fcntl
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Callable, Dict, List

NUMBER = int(Path("/proc/sys/kernel/hostname").read_text().strip()[len("node") :])
PEER = 3 - NUMBER
NICS = 7
PROFILES = Path("/etc/NetworkManager/system-connections")
MODULES = ("ib_uverbs", "ib_umad", "rdma_ucm", "rdma_rxe", "bonding", "8021q")
# rail5 and rail6 are not here: they have Soft-RoCE and no profile, for the collection to set up.
SUBNETS = {"rail0": 1, "rail1": 2, "bond0": 3, "rail4": 5, "vf0": 6, "vlan": 102}
HCAS = {
    "rxe0": "rail0",
    "rxe1": "rail1",
    "rxe4": "rail4",
    "rxe5": "rail5",
    "rxe6": "rail6",
    "rxe_bond": "bond0",
    "rxe_slave": "rail2",
    "rxe_vf0": "vf0",
    "rxe_down": "vf1",
    "rxe_mgmt": "management",
}
# On VFs that something else makes, by the role of their PF and their number; only those that "prepare" is asked for.
VF_HCAS = {"rxe4_vf0": ("rail4", 0), "rxe4_vf1": ("rail4", 1)}
INSTALLED = Path("/usr/local/lib/zerocopy-lab/soft_roce.py")
# Those that "prepare" was asked for.
WANTED = INSTALLED.with_name("hcas.json")
RULE = Path("/etc/udev/rules.d/90-zerocopy-lab.rules")
UNITS = Path("/etc/systemd/system")
UNMANAGED = Path("/etc/NetworkManager/conf.d/lab-unmanaged.conf")
APPEARED = Path("/run/zerocopy-lab-netdev-appeared")
# What each device had when it was last seen, so that it gets it again: a pod was given that number.
NUMBERS = Path("/run/zerocopy-lab-uverbs.json")
# MAC addresses of those VFs: in a pod nothing else tells them apart.
VF_MACS = Path("/run/zerocopy-lab-vfs.json")
NAMESPACES = Path("/run/netns")
RULE_TEXT = f"""\
ACTION=="add|remove", SUBSYSTEM=="net", KERNEL!="lo|veth*", RUN+="/usr/bin/touch {APPEARED}"
"""
# Many netdevs appear at once at boot. A path unit starts its service again only when that has ended and the file is
# there once more, so one run does for many of them and none is missed.
PATH_TEXT = f"""\
[Unit]
Description=Netdevs of the lab that appear or leave
[Path]
PathExists={APPEARED}
[Install]
WantedBy=paths.target
"""
SERVICE_TEXT = f"""\
[Unit]
Description=Soft-RoCE of the lab on netdevs that appeared or left
StartLimitIntervalSec=0
[Service]
Type=oneshot
ExecStart=/usr/bin/python3 {INSTALLED} restore
"""
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


def write(path: Path, text: str, mode: int = 0o644) -> bool:
    """Write a file unless it says so already; say whether it was written."""
    if path.exists() and path.read_text() == text:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=mode)
    path.write_text(text)
    changes.append(str(path))
    return True


def profile(name: str, kind: str, settings: str, subnet: int = 0) -> None:
    """Write a NetworkManager profile; with a subnet it gets this node's addresses there."""
    text = f"[connection]\nid={name}\ntype={kind}\nautoconnect=true\n{settings}\n"
    # With metrics of their own, or that of the management NIC would depend on which comes up first.
    common = f"never-default=true\nroute-metric={200 + subnet}\n"
    if subnet:
        text += f"\n[ipv4]\nmethod=manual\naddress1=10.78.{subnet}.{NUMBER}/24\n{common}"
        text += f"\n[ipv6]\nmethod=manual\naddress1=fd78:0:0:{subnet}::{NUMBER}/64\n{common}"
    write(PROFILES / f"{name}.nmconnection", text, mode=0o600)


def make_vfs(pf: str, count: int) -> List[str]:
    """Create VFs and return their netdevs in VF order."""
    # The PCI function, which keeps its place when udev renames the netdev.
    device = Path("/sys/class/net", pf, "device").resolve()
    if int((device / "sriov_numvfs").read_text()) != count:
        (device / "sriov_numvfs").write_text(str(count))
        changes.append(f"{count} VFs on {pf}")

    def names() -> List[str]:
        return [entry.name for number in range(count) for entry in (device / f"virtfn{number}" / "net").glob("*")]

    await_condition(f"VFs of {pf}", lambda: len(names()) == count)
    run("udevadm", "settle")
    return names()


def rails() -> Dict[str, str]:
    """Map the roles of the fabric NICs that are there to their netdevs; a pod may have some of them."""
    by_mac = netdevs()
    return {f"rail{nic - 1}": by_mac[mac(nic)] for nic in range(1, NICS + 1) if mac(nic) in by_mac}


def write_profiles(rail: Dict[str, str], vf: str) -> List[str]:
    """Write every profile and return the names in the order to activate them."""
    for nic, role in ((1, "rail0"), (2, "rail1"), (5, "rail4")):
        mtu = "mtu=4200\n" if role == "rail1" else ""
        profile(role, "ethernet", f"\n[ethernet]\nmac-address={mac(nic)}\n{mtu}", SUBNETS[role])
    vlan = f"interface-name=vlan102\n\n[vlan]\nid=102\nparent={rail['rail1']}\nflags=1\n"
    profile("vlan102", "vlan", vlan, SUBNETS["vlan"])
    # Without a primary each node would choose a slave of its own, and the two need not be on one wire.
    bond = f"interface-name=bond0\n\n[bond]\nmode=active-backup\nmiimon=100\nprimary={rail['rail2']}\n"
    profile("bond0", "bond", bond, SUBNETS["bond0"])
    for nic in (3, 4):
        name = f"bond0-rail{nic - 1}"
        profile(name, "ethernet", f"controller=bond0\nport-type=bond\n\n[ethernet]\nmac-address={mac(nic)}\n")
    profile("vf0", "ethernet", f"interface-name={vf}\n", SUBNETS["vf0"])
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


def load(*modules: str) -> None:
    """Load the modules that are missing."""
    for module in modules:
        if not Path("/sys/module", module).exists():
            run("modprobe", module)
            changes.append(module)


def software_hcas(rail: Dict[str, str], vfs: List[str]) -> Dict[str, str]:
    """Map each Soft-RoCE device to its netdev, of the netdevs that are there."""
    there = {**rail, "bond0": "bond0", "management": netdevs()[mac(0)]}
    there.update((f"vf{number}", name) for number, name in enumerate(vfs))
    wanted = {name: there.get(role, "") for name, role in hcas().items()}
    wanted.update(vf_hcas(rail))
    return {name: netdev for name, netdev in wanted.items() if netdev and Path("/sys/class/net", netdev).exists()}


def vf_macs() -> Dict[str, str]:
    """Map each Soft-RoCE device of a VF to the MAC address that the VF had when it was last seen."""
    found: Dict[str, str] = json.loads(VF_MACS.read_text()) if VF_MACS.exists() else {}
    return found


def vf_hcas(rail: Dict[str, str]) -> Dict[str, str]:
    """Map each Soft-RoCE device that a VF is to have to its netdev, of the VFs that are there."""
    found, macs = {}, vf_macs()
    for name in asked():
        role, number = VF_HCAS.get(name, ("", 0))
        for entry in Path("/sys/class/net", rail.get(role) or "-", "device", f"virtfn{number}", "net").glob("*"):
            found[name] = entry.name
            macs[name] = (entry / "address").read_text().strip()
    VF_MACS.write_text(json.dumps(macs))
    return found


def in_pods() -> Dict[str, List[str]]:
    """Map each Soft-RoCE device whose netdev is in another network namespace to that namespace and the netdev."""
    roles = {mac(nic): f"rail{nic - 1}" for nic in range(1, NICS + 1)}
    by_role = {role: name for name, role in hcas().items()}
    devices = {address: by_role[role] for address, role in roles.items() if role in by_role}
    devices.update((address, name) for name, address in vf_macs().items())
    found = {}
    for namespace in sorted(path.name for path in NAMESPACES.glob("*")):
        # A pod may end at any moment, and its namespace with it.
        done = subprocess.run(["ip", "-n", namespace, "-j", "link"], capture_output=True, text=True, check=False)
        for link in json.loads(done.stdout or "[]"):
            name = devices.get(link.get("address", ""))
            if name:
                found[name] = [namespace, link["ifname"]]
    return found


def numbers() -> Dict[str, int]:
    """Map each RDMA device to the number of its uverbs device; of one that is away, to the last it had."""
    found: Dict[str, int] = json.loads(NUMBERS.read_text()) if NUMBERS.exists() else {}
    for entry in Path("/sys/class/infiniband_verbs").glob("uverbs*"):
        found[(entry / "ibdev").read_text().strip()] = int(entry.name[len("uverbs") :])
    NUMBERS.write_text(json.dumps(found))
    return found


def asked() -> List[str]:
    """The Soft-RoCE devices that this node is to have."""
    names: List[str] = json.loads(WANTED.read_text()) if WANTED.exists() else list(HCAS)
    return names


def hcas() -> Dict[str, str]:
    """Map those that are on no VF of others to the roles of their netdevs."""
    wanted = asked()
    return {name: role for name, role in HCAS.items() if name in wanted}


def restore() -> None:
    """Make the VFs and Soft-RoCE devices that can be made now."""
    # First of all, so that a netdev that appears from here on starts this again.
    APPEARED.unlink(missing_ok=True)
    # At boot a netdev is renamed soon after it has appeared.
    run("udevadm", "settle")
    with open("/run/zerocopy-lab-rdma.lock", "w") as lock:
        # Against "prepare", while the netdevs it makes appear.
        fcntl.flock(lock, fcntl.LOCK_EX)
        load("rdma_rxe")
        present = rails()
        with_vfs = "rail0" in present and "vf0" in hcas().values()
        vfs = make_vfs(present["rail0"], 2) if with_vfs else []
        links = rdma_links()
        # A netdev can have one; under another name somebody else has made it.
        taken = {link.get("netdev") for link in links}
        missing = {
            name: ["rdma", "link", "add", name, "type", "rxe", "netdev", netdev]
            for name, netdev in software_hcas(present, vfs).items()
            if netdev not in taken
        }
        there = {link["ifname"] for link in links}
        for name, (namespace, netdev) in in_pods().items():
            if name not in there:
                add = ["rdma", "link", "add", name, "type", "rxe", "netdev", netdev]
                missing[name] = ["ip", "netns", "exec", namespace, *add]
        # The lowest free number is given, so in this order each gets its own.
        known = numbers()
        for name in sorted(missing, key=lambda name: known.get(name, len(known))):
            done = subprocess.run(missing[name], capture_output=True, text=True, check=False)
            if done.returncode and not APPEARED.exists():
                sys.exit(f"{' '.join(missing[name])}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
            # What has moved on in the meantime has started this again.
            if not done.returncode:
                changes.append(name)
        numbers()


def ready() -> None:
    """Wait until every port that should be active is. VFs that something else makes may have no link."""

    def active() -> bool:
        states = {link["ifname"]: link["state"] for link in rdma_links()}
        return all(states.get(name) == "ACTIVE" for name in wanted)

    wanted = set(hcas()) - {"rxe_down"}
    await_condition(f"all of {', '.join(sorted(wanted))} ACTIVE", active, seconds=600)
    run("udevadm", "settle")


def install(wanted: List[str]) -> None:
    """Leave behind what makes the lab's part of the node survive a reboot."""
    write(INSTALLED, Path(__file__).read_text())
    write(WANTED, json.dumps(wanted))
    texts = {
        RULE: RULE_TEXT,
        UNITS / "zerocopy-lab-rdma.path": PATH_TEXT,
        UNITS / "zerocopy-lab-rdma.service": SERVICE_TEXT,
    }
    if [path for path, text in texts.items() if write(path, text)]:
        run("systemctl", "daemon-reload")
        run("systemctl", "enable", "--now", "zerocopy-lab-rdma.path")
        run("udevadm", "control", "--reload")


def keep_down(down: str) -> None:
    """Take a NIC from NetworkManager, which would bring it up: a downed NIC gives a port that is not active."""
    if write(UNMANAGED, f"[keyfile]\nunmanaged-devices=interface-name:{down}\n"):
        run("nmcli", "general", "reload", "conf")
        run("nmcli", "device", "set", down, "managed", "no")
        run("ip", "link", "set", down, "down")


def prepare(*wanted: str) -> None:
    """Bring the node to its prepared state and wait until every port that should be active is."""
    load(*MODULES)
    install(list(wanted or HCAS))
    if not wanted:
        rail = rails()
        vfs = make_vfs(rail["rail0"], 2)
        keep_down(vfs[1])
        activate(write_profiles(rail, vfs[0]))
    restore()
    ready()


def ping() -> None:
    """Try every lab address of the peer, IPv4 and IPv6."""
    for name, subnet in SUBNETS.items():
        for address in (f"10.78.{subnet}.{PEER}", f"fd78:0:0:{subnet}::{PEER}"):

            def answers(address: str = address) -> bool:
                command = ["ping", "-qc1", "-W2", address]
                return subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode == 0

            await_condition(f"{name}: {address} answers", answers, seconds=60)


if __name__ == "__main__":
    {"prepare": prepare, "restore": restore, "ready": ready, "ping": ping}[sys.argv[1]](*sys.argv[2:])
    print("changed: " + ", ".join(changes) if changes else "unchanged")
