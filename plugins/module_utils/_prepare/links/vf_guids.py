# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""VFs of InfiniBand ports: a script that makes them with their GUIDs, and what starts it. Text and reads only.

NetworkManager knows no GUIDs, and without one a VF's port stays down and RDMA-CM does not work. mlx5 takes them for a
VF from netlink on the IPoIB netdev of its PF (drivers/infiniband/hw/mlx5/ib_virt.c), and a driver reads them when it
is bound to the VF. So VFs are made without their driver, which is bound once all have GUIDs. Until then a file has what
the kernel was to do with VFs, so that what a killed script has left is known for half made.
"""

from __future__ import annotations

from typing import List, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import pci
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.keyfile import HEADER, starting_rule
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import guid

SCRIPT_PATH = "/etc/zerocopy-rdma/ib-vfs.sh"
UNIT_PATH = "/etc/systemd/system/zerocopy-rdma-ib-vfs@.service"
# With the PF's PCI address; has its former sriov_drivers_autoprobe.
_HALF = "zerocopy-rdma-ib-vfs-"

_SCRIPT = """\
# Makes the VFs of an InfiniBand port, given by its PCI address, with GUIDs: at boot and when its netdev appears.
set -eu
pf=$1
case $pf in
{cases}
*) exit 0 ;;
esac
device={sysfs}/bus/pci/devices/$pf
half={run}/{half}$pf

# Half made, they have no driver, so nothing uses them.
[ ! -s "$half" ] || echo 0 >"$device/sriov_numvfs"

# They may be in pods.
there=$(cat "$device/sriov_numvfs")
if [ "$there" != 0 ] && [ "$there" != $# ]; then
  echo "$pf has $there VFs already, not $#, so something else has created them" >&2
  exit 1
fi
[ "$there" = 0 ] || exit 0

netdev=
for path in "$device"/net/*; do
  # Only partitions have a parent.
  if [ -e "$path/type" ] && [ ! -e "$path/parent" ]; then netdev=${path##*/}; fi
done
if [ -z "$netdev" ]; then
  echo "$pf has no netdev on the host, through which the GUIDs of its VFs are set" >&2
  exit 1
fi

[ -s "$half" ] || cat "$device/sriov_drivers_autoprobe" >"$half"
probe=$(cat "$half")
# VFs without GUIDs would look as if they could be used.
undo() {
  status=$?
  trap - EXIT
  if echo 0 >"$device/sriov_numvfs" && echo "$probe" >"$device/sriov_drivers_autoprobe"; then rm -f "$half"; fi
  exit "$status"
}
trap undo EXIT
trap 'exit 1' HUP INT TERM
echo 0 >"$device/sriov_drivers_autoprobe"
echo $# >"$device/sriov_numvfs"
number=0
for guid; do
  ip link set dev "$netdev" vf "$number" node_guid "$guid" port_guid "$guid" state auto
  number=$((number + 1))
done
echo "$probe" >"$device/sriov_drivers_autoprobe"
trap - EXIT HUP INT TERM

status=0
for path in "$device"/virtfn*; do
  [ "$probe" = 1 ] && [ ! -e "$path/driver" ] || continue
  vf=$(readlink -f "$path")
  echo "${vf##*/}" >{sysfs}/bus/pci/drivers_probe || status=1
done
rm -f "$half"
exit "$status"
"""

# Some device plugins see only VFs that are there when kubelet starts them.
_UNIT = f"""\
[Unit]
Description=VFs of the InfiniBand port %i, with GUIDs
Before=kubelet.service k3s.service k3s-agent.service rke2-server.service rke2-agent.service

[Service]
Type=oneshot
ExecStart=/bin/sh {SCRIPT_PATH} %i
TimeoutStartSec=300
"""


def script_text(pfs: Mapping[str, Sequence[str]], sysfs: str = "/sys", run: str = "/run") -> Optional[str]:
    """The script for PFs by PCI address, each with the GUIDs of its VFs in their order."""
    if not pfs:
        return None
    cases = "\n".join(f"{pf}) set -- {' '.join(guids)} ;;" for pf, guids in sorted(pfs.items()))
    body = _SCRIPT.replace("{cases}", cases).replace("{sysfs}", sysfs).replace("{run}", run).replace("{half}", _HALF)
    return f"#!/bin/sh\n{HEADER}{body}"


def unit_text(pfs: Mapping[str, Sequence[str]]) -> Optional[str]:
    """The unit that runs the script for the PF in its instance's name."""
    return HEADER + _UNIT if pfs else None


def udev_rule(pf: str) -> str:
    """What starts the unit for the IPoIB netdev of a PF."""
    return starting_rule(f'KERNELS=="{pf}", ATTR{{type}}=="32"', UNIT_PATH, pf)


def half_made(pf: str) -> str:
    """Path of the file that is there while the PF's VFs are being made."""
    return f"run/{_HALF}{pf}"


def differing(tree: Tree, pf: str, guids: Sequence[str]) -> List[Tuple[str, str, str]]:
    """PCI address, GUID and right GUID of VFs that have another one.

    One without a visible RDMA device is told only if a killed script has left it.
    """
    found = []
    is_half = tree.exists(half_made(pf))
    for index, right in enumerate(guids):
        address = tree.target_name(f"{pci.DEVICES}/{pf}/virtfn{index}")
        directory = f"{pci.DEVICES}/{address}/infiniband"
        names = tree.names(directory) if address else []
        if address and not names and is_half:
            found.append((address, "none", right))
        for name in names:
            text = tree.text(f"{directory}/{name}/node_guid")
            now = guid.read(text) if text and guid.is_guid(text) else "none"
            if text and now != right:
                found.append((address or "", now, right))
    return found
