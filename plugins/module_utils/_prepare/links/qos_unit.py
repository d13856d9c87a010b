# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""RoCE's quality of service at boot: a script that sets it, and what starts it. Text only.

Nothing of it survives a reboot, and the kernel forgets the map of DSCPs of a netdev that leaves for a pod
(``dcbnl_netdevice_event`` in net/dcb/dcbnl.c). After both, the netdev appears to udev.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import List, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.qos import Ets
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.keyfile import HEADER, starting_rule

SCRIPT_PATH = "/etc/zerocopy-rdma/qos.sh"
UNIT_PATH = "/etc/systemd/system/zerocopy-rdma-qos@.service"
UDEV_PATH = "/etc/udev/rules.d/90-zerocopy-rdma-qos.rules"

_SCRIPT = """\
# Sets RoCE's quality of service of a port, given by its MAC address: at boot and when its netdev appears.
set -eu
dscp='' pfc='' ets='' tos=''
case $1 in
{cases}
*) exit 0 ;;
esac

netdev=
for path in {sys}/class/net/*; do
  # What is stacked on a port has its address.
  if [ -e "$path/device" ] && [ "$(cat "$path/address")" = "$1" ]; then netdev=${path##*/}; fi
done
[ -n "$netdev" ] || exit 0

# Words, so not quoted.
status=0
[ -z "$dscp" ] || dcb app replace dev "$netdev" dscp-prio $dscp || status=1
[ -z "$ets" ] || dcb ets set dev "$netdev" $ets || status=1
[ -z "$pfc" ] || dcb pfc set dev "$netdev" prio-pfc $pfc || status=1

# The RDMA device appears after its netdev, RDMA-CM learns of it after sysfs shows it, and udev may rename it then.
# On a node that is busy booting that takes more than a minute; nothing else would start this again.
modprobe -q rdma_cm || :
left=300
while [ "$left" != 0 ]; do
  for path in {sys}/class/infiniband/*/ports/*; do
    if [ "$(cat "$path/gid_attrs/ndevs/0" 2>/dev/null)" = "$netdev" ]; then
      hca=${path%/ports/*}
      directory={sys}/kernel/config/rdma_cm/${hca##*/}
      made=
      if [ ! -d "$directory" ]; then
        mkdir "$directory" || continue
        made=$directory
      fi
      if echo "$tos" >"$directory/ports/${path##*/}/default_roce_tos" &&
        [ "$(cat "$path/gid_attrs/ndevs/0" 2>/dev/null)" = "$netdev" ]; then
        exit "$status"
      fi
      # Nothing would remove one of a name that no device has.
      [ -z "$made" ] || rmdir "$made" || :
    fi
  done
  left=$((left - 1))
  sleep 1
done
echo "$netdev has no RDMA device that RDMA-CM knows, so RDMA-CM's type of service is not set" >&2
exit 1
"""

_UNIT = f"""\
[Unit]
Description=Quality of service of the RoCE port %i
Wants=sys-kernel-config.mount
After=sys-kernel-config.mount

[Service]
Type=oneshot
ExecStart=/bin/sh {SCRIPT_PATH} %i
TimeoutStartSec=600
"""


@dataclass(frozen=True)
class Port:
    """What the script sets on the port with this MAC address; ``None`` where its driver offers no DCB."""

    mac: str
    tos: int
    dscp: Optional[Tuple[int, ...]] = None
    pfc: Optional[int] = None
    ets: Optional[Ets] = None


def dscp_words(priorities: Sequence[int]) -> List[str]:
    """As ``dcb app`` takes them."""
    return [f"{dscp}:{priority}" for dscp, priority in enumerate(priorities)]


def pfc_words(priorities: Sequence[int]) -> List[str]:
    """As ``dcb pfc`` takes them."""
    return ["all:off", *(f"{priority}:on" for priority in priorities)]


def ets_words(ets: Ets) -> List[str]:
    """As ``dcb ets`` takes them."""
    names = {"cb_shaper": "cbs"}
    return [
        *("prio-tc", *(f"{priority}:{tc}" for priority, tc in enumerate(ets.traffic_classes))),
        *("tc-tsa", *(f"{tc}:{names.get(word, word)}" for tc, word in enumerate(ets.algorithms))),
        *("tc-bw", *(f"{tc}:{percent}" for tc, percent in enumerate(ets.bandwidth))),
    ]


def _case(port: Port) -> str:
    parts = [f"tos={port.tos}"]
    parts += [f"dscp='{' '.join(dscp_words(port.dscp))}'"] if port.dscp is not None else []
    parts += [f"ets='{' '.join(ets_words(port.ets))}'"] if port.ets is not None else []
    parts += [f"pfc='{' '.join(pfc_words([port.pfc]))}'"] if port.pfc is not None else []
    return f"{port.mac}) {' '.join(parts)} ;;"


def script_text(ports: Sequence[Port], sys: str = "/sys") -> Optional[str]:
    """The script for all ports, ``None`` for none."""
    if not ports:
        return None
    cases = "\n".join(_case(port) for port in sorted(ports, key=lambda port: port.mac))
    body = _SCRIPT.replace("{cases}", cases).replace("{sys}", sys)
    return f"#!/bin/sh\n{HEADER}{body}"


def unit_text(ports: Sequence[Port]) -> Optional[str]:
    """The unit that runs the script for the port in its instance's name."""
    return HEADER + _UNIT if ports else None


def udev_text(ports: Sequence[Port]) -> Optional[str]:
    """What starts the unit for each port."""
    if not ports:
        return None
    macs = sorted(port.mac for port in ports)
    return HEADER + "".join(starting_rule(f'ATTR{{address}}=="{mac}", DRIVERS=="?*"', UNIT_PATH, mac) for mac in macs)


def files(ports: Sequence[Port]) -> List[Tuple[str, Optional[str]]]:
    """Path and text of what sets it at boot; no text where there is to be no file."""
    return [(SCRIPT_PATH, script_text(ports)), (UNIT_PATH, unit_text(ports)), (UDEV_PATH, udev_text(ports))]
