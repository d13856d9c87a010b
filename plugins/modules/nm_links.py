#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: nm_links
short_description: Configure addresses, MTU and routes of RDMA ports persistently with NetworkManager
version_added: 0.1.0
description:
  - Writes NetworkManager profiles for RDMA ports and activates them. Ports are selected by HCA, PCI address or MAC
    address, never by interface name. Profiles match the MAC address (for IPoIB, the port GUID), so NetworkManager gives
    a port that comes back from a pod its address and MTU again, without Ansible.
  - O(links) is the complete list. A profile that an earlier call wrote for a link that is no longer listed is removed,
    and what was active on its port before is activated again.
  - Changes are made inside a NetworkManager checkpoint. If a link does not come up, all changes are rolled back at once
    and the module fails with NetworkManager's reason. If all links come up, NetworkManager still rolls back by itself
    after O(rollback_seconds), unless O(confirm) shows that the node is reachable. A rollback also removes profiles that
    others have added in the meantime.
  - Rejects ports that carry the default route, one of its next hops, or this Ansible connection (also below a bond,
    VLAN or bridge), bonds, members of bonds and bridges, networks that contain the controller or the default gateway,
    and ports that are configured by systemd-networkd, ifupdown or by hand.
  - NetworkManager's address conflict detection (RFC 5227) rejects an address that another station uses, now and at
    every boot. It does not work on IPoIB.
  - For a port that is in a pod at the moment, only its profile is written, see RV(in_pod).
  - The module queries NetworkManager through C(busctl), and only if there is something to change.
author:
  - The zerocopy.rdma authors (!UNKNOWN)
extends_documentation_fragment:
  - zerocopy.rdma._attributes
  - zerocopy.rdma._attributes.state_module
options:
  links:
    description: All links of the node that this module manages.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description:
          - Name of the connection, unique on the node. Connections of its partitions and VLANs have this name with
            their number appended.
        type: str
        required: true
      hca:
        description:
          - RDMA device of the port, for example V(mlx5_0). Exactly one of O(links[].hca), O(links[].pci) and
            O(links[].mac) is required.
        type: str
      port:
        description: Port number of the HCA. The default is 1.
        type: int
      pci:
        description: PCI address of a NIC with one port, for example V(0000:1a:00.0).
        type: str
      mac:
        description: Permanent MAC address of the port. For IPoIB 20 octets, of which the last 8 (the port GUID) count.
        type: str
      type:
        description: Expected type of the port. With V(auto), any type is accepted.
        type: str
        choices: [auto, ethernet, infiniband]
        default: auto
      addresses:
        description:
          - IPv4 and IPv6 addresses with prefix length. Without IPv6 addresses the port keeps its link-local address,
            which RDMA-CM uses and which equals the default GID. Router advertisements are never accepted.
        type: list
        elements: str
        default: []
      mtu:
        description:
          - MTU in bytes, at least 1280. At most what the driver supports, and 9216 on Ethernet, 4092 on IPoIB in
            datagram mode, 65520 in connected mode. By default unchanged.
        type: int
      transport_mode:
        description: IPoIB transport mode. The default is V(datagram), the only one that ConnectX-4 and newer support.
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
              - P_Key, for example V(0x8001). The full membership bit is added. NetworkManager creates partitions only
                by the name of their parent interface; if the port is renamed, the next run corrects the profile.
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
            description: VLAN ID.
            type: int
            required: true
          addresses:
            description: Addresses with prefix length.
            type: list
            elements: str
            default: []
          mtu:
            description: MTU in bytes, at most that of the link.
            type: int
      routes:
        description: Routes through this link. A default route must be in a table other than the main one.
        type: list
        elements: dict
        default: []
        suboptions:
          to:
            description: Destination network.
            type: str
            required: true
          via:
            description: Next hop. Omit it for a destination on the link itself.
            type: str
          metric:
            description: Metric of the route.
            type: int
          table:
            description: Routing table. The default is the main table.
            type: int
      rail_table:
        description:
          - Number of a routing table for this link alone, for several ports in one subnet. The table gets the connected
            routes, and for each address a rule routes packets from it through the table. The connected routes also stay
            in the main table, with this number as metric. Without O(links[].rail_table) their metric is 1000.
          - Also sets C(arp_ignore=1), C(arp_announce=2) and C(rp_filter=2) on the netdev, so that each port answers
            for its own address only, and persistently in C(/etc/sysctl.d/90-zerocopy-rdma-links.conf).
        type: int
      vfs:
        description:
          - Number of SR-IOV virtual functions (VFs) of this port. If omitted or V(0), a port that got VFs from an
            earlier call gets back the number that it had before; other ports are not changed.
          - The VFs are for pods, so NetworkManager leaves them unmanaged, as those in O(unmanaged). They get the MTU of
            the link, also when they come back from a pod.
          - NetworkManager creates the VFs of an Ethernet port at boot, because of C(sriov-num-vfs) in
            C(/etc/NetworkManager/conf.d/90-zerocopy-rdma-vfs.conf). The profile has no C([sriov]) section, because with
            one NetworkManager would remove all VFs, also those in pods, whenever the profile goes down. A rollback of
            the checkpoint does not change the VFs.
          - NetworkManager cannot set GUIDs. The VFs of an InfiniBand port are created by the script
            C(/etc/zerocopy-rdma/ib-vfs.sh), which the systemd unit C(zerocopy-rdma-ib-vfs@.service) runs when the IPoIB
            netdev of the port appears, thus also at boot. The script creates the VFs without their driver, sets the
            GUIDs with C(ip link), and binds the driver. If the port has VFs already, the script changes nothing, and
            fails if there are more or fewer of them.
          - The module fails if the firmware allows fewer VFs. It also fails if the number would change while a VF is in
            a pod or otherwise in use, because the kernel removes all VFs of a port when their number changes.
        type: int
      vf_guids:
        description:
          - GUIDs of the O(links[].vfs) VFs of an InfiniBand port, one for each, in their order. Node and port of a VF
            have the same GUID. Only the driver C(mlx5_core) supports this. If omitted while a pod has the port, the
            GUIDs of the last call are used.
          - VFs that have other GUIDs are removed and created anew, unless one of them is in a pod or otherwise in use.
            O(state=absent) restores their number; the driver may keep the GUIDs until it is loaded again.
        type: list
        elements: str
        default: []
  unmanaged:
    description:
      - Ports that NetworkManager must not manage, such as VFs for pods. A udev rule is written for them. With a PCI
        address, it also applies to a VF that is created later or again with another MAC address.
      - The module fails if NetworkManager has configured an address on such a port, or on a VLAN of the port, because
        the address would be lost. Bring that connection down first.
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
    description: Seconds after which NetworkManager rolls back unless the change is confirmed, 10 to 600.
    type: int
    default: 60
  confirm:
    description:
      - With V(auto), the change is confirmed in the same task, over a new connection to the node. This is nearly always
        the right choice. If the node cannot be reached, the task ends with the host unreachable.
      - Any other value is the RV(checkpoint) of an earlier call, whose changes are confirmed. The module then does
        nothing else and ignores O(links). Note that with several hosts per batch, this second task begins only when the
        first one has ended on all of them, which may take longer than O(rollback_seconds).
    type: str
  root:
    description:
      - Root directory of the node's files. With a value other than V(/), only files below it are written; the running
        system is neither inspected nor changed.
    type: path
    default: /
  state:
    description:
      - With V(absent), all changes of this module are reverted. The ports come down, and what was active on them before
        is activated again. This needs no checkpoint, because ports on which the node depends were never accepted.
    type: str
    choices: [present, absent]
    default: present
"""

EXAMPLES = r"""
- name: Configure two rails in one subnet
  zerocopy.rdma.nm_links:
    links:
      - {name: rail0, hca: mlx5_0, addresses: [10.20.0.11/16], mtu: 9000, rail_table: 1000}
      - {name: rail1, hca: mlx5_1, addresses: [10.20.1.11/16], mtu: 9000, rail_table: 1001}
    confirm: auto

- name: Configure IPoIB with a partition
  zerocopy.rdma.nm_links:
    links:
      - name: ib0
        hca: mlx5_0
        addresses: [10.30.0.11/16]
        mtu: 4092
        pkeys:
          - {pkey: "0x8001", addresses: [10.31.0.11/16]}

- name: Create eight VFs for pods, on a port without an address
  zerocopy.rdma.nm_links:
    links: [{name: rail0, hca: mlx5_0, mtu: 9000, vfs: 8}]

- name: Create two VFs on an InfiniBand port
  zerocopy.rdma.nm_links:
    links:
      - name: rail0
        hca: mlx5_0
        vfs: 2
        vf_guids: ["ba:59:9f:00:00:c6:e4:6b", "ba:59:9f:00:01:c6:e4:6b"]

- name: Leave two VFs unmanaged, for pods
  zerocopy.rdma.nm_links:
    unmanaged: [{pci: "0000:1a:00.2"}, {pci: "0000:1a:00.3"}]

- name: Revert all changes
  zerocopy.rdma.nm_links:
    state: absent
"""

RETURN = r"""
changes:
  description: What was changed or, in check mode, would be changed, in this order.
  returned: success
  type: list
  elements: dict
  contains:
    kind:
      description:
        - V(file), V(sysctl), V(connection), V(mtu), V(vfs) (number of VFs), V(vf_guid) (GUID of a VF, which is created
          anew) or V(device) (whether NetworkManager manages it).
      type: str
    name:
      description: Path, sysctl, connection or netdev; the PCI address of the port for V(vfs), of the VF for V(vf_guid).
      type: str
    before:
      description: State before the change.
      type: raw
    after:
      description: State after the change.
      type: raw
  sample:
    - {kind: connection, name: rail0, before: disconnected, after: connected as configured}
unfinished:
  description: Whether an earlier run was interrupted and has to be completed, although nothing differs.
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
      description: Netdev of the port, or the netdev that it had before it was moved to a pod. V(null) if unknown.
      type: str
    mac:
      description: MAC address that the profile matches. V(null) if unknown.
      type: str
    type:
      description: V(ethernet) or V(infiniband).
      type: str
    state:
      description:
        - V(up), V(no_carrier) (the link comes up when a cable is plugged in), V(in_pod), or V(written) (with a O(root)
          other than V(/)). In check mode, the predicted state.
      type: str
    connections:
      description: Names of the profiles that were written.
      type: list
      elements: str
in_pod:
  description:
    - Names of the links whose netdev is not on the host, because it is in a pod or its driver is not loaded. Their
      profiles are written, unless the MAC address is unknown.
  returned: success
  type: list
  elements: str
checkpoint:
  description: The open NetworkManager checkpoint, to be confirmed.
  returned: if there are changes that can be rolled back, and O(confirm) is not V(auto)
  type: str
  sample: /org/freedesktop/NetworkManager/Checkpoint/1
rollback_seconds:
  description: Seconds from the end of this call after which NetworkManager rolls back.
  returned: with RV(checkpoint)
  type: int
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.converge import converge
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.request import SPEC
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.module import answer


def main() -> None:
    module = AnsibleModule(argument_spec=SPEC, supports_check_mode=True)
    answer(module, lambda: converge(module.params, module.check_mode))


if __name__ == "__main__":
    main()
