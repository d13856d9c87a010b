#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: nm_links
short_description: Persistent addresses, MTU and routes of RDMA ports in NetworkManager
version_added: 0.1.0
description:
  - Writes NetworkManager profiles for RDMA ports and brings them up. Ports are selected by HCA, PCI address or MAC
    address, never by interface name, and profiles match the MAC address (IPoIB the port GUID), so a port that comes
    back from a pod gets its address and MTU again from NetworkManager, without Ansible.
  - O(links) is all there is. A profile that an earlier call wrote for a link that is no longer listed is removed, and
    what was active on its port before is active again.
  - Changes are made inside a NetworkManager checkpoint. If a link does not come up, everything is put back at once and
    the module fails with NetworkManager's reason. If it comes up, NetworkManager still puts it back by itself after
    O(rollback_seconds), unless O(confirm) shows that the node is still reachable. Profiles that somebody else adds in
    between go with it.
  - Refuses the port that carries the default route or this Ansible connection (also below a bond, VLAN or bridge),
    bonds, members of bonds and bridges, networks that cover the controller or the default gateway, and ports that
    systemd-networkd, ifupdown or somebody by hand has configured.
  - An address that somebody else on the wire has is refused, now and at every boot, by NetworkManager's address
    conflict detection (RFC 5227). It does not exist for IPoIB.
  - A port that is in a pod at the moment gets its profile and is otherwise left alone, see RV(in_pod).
  - NetworkManager is asked through C(busctl); when nothing has to change it is not asked at all.
author:
  - The zerocopy.rdma authors (!UNKNOWN)
extends_documentation_fragment:
  - zerocopy.rdma._attributes
  - zerocopy.rdma._attributes.state_module
options:
  links:
    description: The links that the node shall have.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: Name of the connection, unique on the node; P_Key and VLAN children append their number.
        type: str
        required: true
      hca:
        description: RDMA device whose port it is, for example V(mlx5_0). One of hca, pci and mac is needed.
        type: str
      port:
        description: Port of the HCA, 1 if not given.
        type: int
      pci:
        description: PCI address of a NIC with one port, for example V(0000:1a:00.0).
        type: str
      mac:
        description: Permanent MAC address of the port; 20 octets for IPoIB, of which the last 8 (port GUID) count.
        type: str
      type:
        description: What the port has to be. With V(auto) it is what the node says.
        type: str
        choices: [auto, ethernet, infiniband]
        default: auto
      addresses:
        description:
          - IPv4 and IPv6 addresses with prefix length. Without IPv6 addresses the port keeps its link-local one, which
            RDMA-CM uses and which equals the default GID; router advertisements are not accepted either way.
        type: list
        elements: str
        default: []
      mtu:
        description:
          - MTU in bytes, at least 1280. At most 9216 on Ethernet, 4092 on IPoIB in datagram mode, 65520 in connected
            mode, and what the driver can do. Left as it is when not given.
        type: int
      transport_mode:
        description: IPoIB transport mode, V(datagram) if not given. ConnectX-4 and newer know no other.
        type: str
        choices: [datagram, connected]
      pkeys:
        description: IPoIB partitions on this port.
        type: list
        elements: dict
        default: []
        suboptions:
          pkey:
            description:
              - P_Key, for example V(0x8001); the full membership bit is added. The profile names its parent interface,
                since NetworkManager makes partitions in no other way; a renamed port is corrected by the next run.
            type: str
            required: true
          addresses:
            description: Addresses with prefix length.
            type: list
            elements: str
            default: []
          mtu:
            description: MTU in bytes.
            type: int
      vlans:
        description: VLANs on this port, Ethernet only.
        type: list
        elements: dict
        default: []
        suboptions:
          id:
            description: VLAN id.
            type: int
            required: true
          addresses:
            description: Addresses with prefix length.
            type: list
            elements: str
            default: []
          mtu:
            description: MTU in bytes, not more than that of the link.
            type: int
      routes:
        description: Routes through this link. A default route needs a table of its own.
        type: list
        elements: dict
        default: []
        suboptions:
          to:
            description: Destination network.
            type: str
            required: true
          via:
            description: Next hop; none for what is on the link itself.
            type: str
          metric:
            description: Metric.
            type: int
          table:
            description: Routing table, the main one if not given.
            type: int
      rail_table:
        description:
          - Number of a routing table for this link alone, for several ports in one subnet. The table gets the connected
            routes, and for each address a rule sends what comes from it there. The connected routes in the main table
            stay, with this number as metric; without it their metric is 1000.
          - Also sets C(arp_ignore=1), C(arp_announce=2) and C(rp_filter=2) on the netdev, so that each port answers
            for its own address only; persistent in C(/etc/sysctl.d/90-zerocopy-rdma-links.conf).
        type: int
  unmanaged:
    description:
      - Ports that NetworkManager shall leave alone, such as VFs for pods, by a udev rule. By PCI address the rule also
        holds for a VF that is made anew with another MAC address, or does not exist yet.
    type: list
    elements: dict
    default: []
    suboptions:
      pci:
        description: PCI address.
        type: str
      mac:
        description: MAC address.
        type: str
  rollback_seconds:
    description: After how many seconds NetworkManager takes the change back if it is not confirmed, 10 to 600.
    type: int
    default: 60
  confirm:
    description:
      - With V(auto), the change is confirmed in the same task, over a new connection to the node. That is what is
        wanted nearly always. If the node cannot be reached, the task ends with the host unreachable.
      - Otherwise RV(checkpoint) of an earlier call, whose changes are to stay. Nothing else is done then; O(links) is
        not looked at.
      - With several hosts per batch, a second task begins only when the first one ended on all of them, which may take
        longer than O(rollback_seconds).
    type: str
  root:
    description:
      - Directory that holds the node's C(/etc), C(/sys) and C(/proc). With another value than V(/) only files are
        written, nothing of the running machine is looked at or changed.
    type: path
    default: /
  state:
    description:
      - With V(absent), everything that this module did is taken back. The ports come down and what was active on them
        before is active again. There is no checkpoint then, since ports that matter to the node were refused before.
    type: str
    choices: [present, absent]
    default: present
"""

EXAMPLES = r"""
- name: Two rails in one subnet
  zerocopy.rdma.nm_links:
    links:
      - {name: rail0, hca: mlx5_0, addresses: [10.20.0.11/16], mtu: 9000, rail_table: 1000}
      - {name: rail1, hca: mlx5_1, addresses: [10.20.1.11/16], mtu: 9000, rail_table: 1001}
    confirm: auto

- name: IPoIB with a partition
  zerocopy.rdma.nm_links:
    links:
      - name: ib0
        hca: mlx5_0
        addresses: [10.30.0.11/16]
        mtu: 4092
        pkeys:
          - {pkey: "0x8001", addresses: [10.31.0.11/16]}

- name: Leave two VFs to their pods
  zerocopy.rdma.nm_links:
    unmanaged: [{pci: "0000:1a:00.2"}, {pci: "0000:1a:00.3"}]

- name: Take everything back
  zerocopy.rdma.nm_links:
    state: absent
"""

RETURN = r"""
changes:
  description: What was changed, or would be in check mode, in the order in which it is done.
  returned: success
  type: list
  elements: dict
  contains:
    kind:
      description: V(file), V(sysctl), V(connection), V(mtu) or V(device) (whether NetworkManager manages it).
      type: str
    name:
      description: Path, sysctl, connection or netdev.
      type: str
    before:
      description: What it was.
      type: raw
    after:
      description: What it is.
      type: raw
  sample:
    - {kind: connection, name: rail0, before: disconnected, after: connected as configured}
unfinished:
  description: Whether an interrupted run has to be completed although nothing differs.
  returned: success
  type: bool
links:
  description: The links, in the order of O(links).
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: Name of the link.
      type: str
    netdev:
      description: Its netdev, or the one it had before a pod took it. V(null) if that was never seen.
      type: str
    mac:
      description: The MAC address that the profile matches. V(null) if it could not be found out.
      type: str
    type:
      description: V(ethernet) or V(infiniband).
      type: str
    state:
      description:
        - V(up); V(no_carrier), it comes up when the cable is plugged in; V(in_pod); or V(written), with a O(root) other
          than V(/). In check mode what it would be.
      type: str
    connections:
      description: Names of the profiles that were written.
      type: list
      elements: str
in_pod:
  description:
    - Names of the links whose netdev is not on the host, but in a pod, or whose driver is not loaded. Their profiles
      are written, unless the MAC address was never seen.
  returned: success
  type: list
  elements: str
checkpoint:
  description: The open NetworkManager checkpoint, to be confirmed.
  returned: when something was changed that can be rolled back, and O(confirm) is not V(auto)
  type: str
  sample: /org/freedesktop/NetworkManager/Checkpoint/1
rollback_seconds:
  description: After how many seconds from the end of this call NetworkManager rolls back.
  returned: with RV(checkpoint)
  type: int
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.converge import converge
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.options import SPEC
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.module import answer


def main() -> None:
    module = AnsibleModule(argument_spec=SPEC, supports_check_mode=True)
    answer(module, lambda: converge(module.params, module.check_mode))


if __name__ == "__main__":
    main()
