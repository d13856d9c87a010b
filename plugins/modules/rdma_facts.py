#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: rdma_facts
short_description: Gather RDMA facts of a node with GPU-NIC affinity
version_added: 1.0.0
description:
  - Finds the HCAs, ports and GPUs of a node and their place in the PCIe tree, and decides which ports workloads can use
    for RDMA. For every other port it gives the reasons.
  - Needs only Python on the node. Netdevs, addresses, MTU and the RDMA network namespace mode are read over netlink,
    or from sysfs and procfs where netlink does not answer and on recorded nodes. RV(ansible_facts.rdma.sources) has the
    source of each.
  - Works without root. Files that the user may not read are listed in RV(ansible_facts.rdma.unreadable). Only root can
    read the Vital Product Data that identifies the NVSwitch management functions of HGX B200 and B300 for certain, and
    with C(kernel.dmesg_restrict) only root can read the kernel log.
  - Does not fail when a device disappears during a run or the kernel refuses to return an attribute.
author:
  - The zerocopy.rdma authors (!UNKNOWN)
extends_documentation_fragment:
  - zerocopy.rdma._attributes
  - zerocopy.rdma._attributes.facts_module
options:
  root:
    description:
      - Directory that contains the node's C(/sys), C(/proc), C(/dev) and C(/lib/modules).
      - Set it to read an image or a recorded node. With any value other than V(/), the running machine is not queried.
    type: path
    default: /
  gather_subset:
    description:
      - Subsets of facts to return. V(!) before a name leaves that subset out.
      - RV(ansible_facts.rdma.usable), RV(ansible_facts.rdma.excluded), RV(ansible_facts.rdma.warnings) and
        RV(ansible_facts.rdma.signature) are always returned.
      - The names are V(all), V(hcas), V(counters) (error counters of the ports), V(qos)
        (quality of service of Ethernet ports), V(kernel_log) (warnings about faults
        of HCAs that the kernel has reported since boot), V(gpus), V(affinity) and V(system).
    type: list
    elements: str
    default: [all]
  gpu_vendors:
    description: PCI vendor IDs of GPUs, 4 hexadecimal digits each, quoted.
    type: list
    elements: str
    default: ["10de", "1002"]
  gpu_classes:
    description:
      - PCI classes of GPUs (base class and subclass), 4 hexadecimal digits each, quoted.
      - The default covers VGA, 3D and other display controllers, and processing accelerators.
      - A VGA controller of AMD without a PCI Express link is not a GPU unless C(amdgpu) drives it. The display adapters
        of some BMCs have AMD's vendor ID.
    type: list
    elements: str
    default: ["0300", "0302", "0380", "1200"]
  drivers:
    description:
      - PCI drivers of the HCAs that workloads may use.
      - The default leaves out drivers of LAN ports that also support RDMA, such as C(ice).
    type: list
    elements: str
    default: [mlx5_core, mlx4_core, bnxt_en, ionic, efa]
  allow_software:
    description: Whether workloads may use software devices (C(rxe), C(siw)), as in a lab without RDMA hardware.
    type: bool
    default: false
seealso:
  - name: ABI of the InfiniBand class in sysfs
    description: Kernel documentation of the files that this module reads.
    link: https://docs.kernel.org/admin-guide/abi-stable.html
"""

EXAMPLES = r"""
- name: Gather RDMA facts
  zerocopy.rdma.rdma_facts:

- name: Show the HCAs that workloads can use
  ansible.builtin.debug:
    msg: "{{ ansible_facts.rdma.usable | map(attribute='hca') | join(',') }}"

- name: Gather only some subsets, from a recorded node
  zerocopy.rdma.rdma_facts:
    root: build/demo/nodes/a100-01
    gather_subset: [hcas, gpus, affinity]

- name: Use Soft-RoCE in a virtual machine, with display devices in place of GPUs
  zerocopy.rdma.rdma_facts:
    allow_software: true
    gpu_vendors: ["1234"]
"""

RETURN = r"""
ansible_facts:
  description: Facts to add to C(ansible_facts).
  returned: always
  type: dict
  contains:
    rdma:
      description: RDMA facts of the node. V(null) means that the value is unknown.
      returned: always
      type: dict
      contains:
        hcas:
          description: All RDMA devices, sorted by name.
          returned: when O(gather_subset) has V(hcas)
          type: list
          elements: dict
          contains:
            name:
              description: Name of the RDMA device.
              type: str
              sample: mlx5_0
            driver:
              description: PCI driver, or V(rxe) or V(siw) for a software device.
              type: str
              sample: mlx5_core
            software:
              description: Whether this is a software device on top of an ordinary netdev.
              type: bool
            node_type:
              description: C(CA), or C(RNIC) for iWARP.
              type: str
              sample: CA
            node_guid:
              description: Node GUID.
              type: str
              sample: "b859:9f03:00d4:1a2e"
            firmware:
              description: Firmware version.
              type: str
              sample: "20.38.1002"
            board_id:
              description: Board ID (PSID).
              type: str
              sample: MT_0000000223
            pci:
              description:
                - C(address), C(vendor_id), C(device_id), C(class_id), C(driver), C(numa_node), C(pcie_root) (the value
                  of the Kubernetes attribute C(resource.kubernetes.io/pcieRoot)) and C(pcie_path) (PCI addresses from
                  the root port to the function).
                - For a software device, these are of the NIC below its netdev. V(null) if there is no single one.
              type: dict
            pcie_link:
              description:
                - Current and maximum speed in GT/s per lane (C(speed_gts), C(max_speed_gts)), width in lanes (C(width),
                  C(max_width)) and bandwidth after line coding in Gb/s (C(gbps), C(max_gbps)), and whether the link is
                  C(degraded), that is, slower or narrower than it could be. The maximum is that of card and slot.
                - In a virtual machine with an emulated root port, only the current speed and width are known.
              type: dict
            sriov:
              description:
                - C(role) (V(pf), V(vf), V(none)), C(total_vfs), C(num_vfs), and C(pf_address) of a VF. C(vf_offset) and
                  C(vf_stride) of a PF determine the PCI addresses of its VFs, also before they are created.
              type: dict
            subdevice:
              description:
                - V(sf) is a sub-function, V(smi) the management interface of one plane of a multi-plane HCA. Both are
                  part of the HCA at the PCI address C(parent), have no C(pci), and are never usable. V(null) for all
                  others.
              type: str
            parent:
              description: PCI address of the function that a C(subdevice) is part of.
              type: str
              sample: '0000:13:00.0'
            uverbs:
              description: Character device for verbs, with C(name), C(path), C(number) and whether it is C(present).
              type: dict
            ucm:
              description: Character device of the old connection manager, on kernels that still have it.
              type: dict
            ports:
              description: Ports of the device.
              type: list
              elements: dict
              contains:
                number:
                  description: Port number, from 1.
                  type: int
                state:
                  description: Logical state.
                  type: str
                  sample: ACTIVE
                physical_state:
                  description: Physical state.
                  type: str
                  sample: LinkUp
                link_layer:
                  description: V(InfiniBand) or V(Ethernet).
                  type: str
                rate_gbps:
                  description: Active rate in Gb/s.
                  type: float
                max_rate_gbps:
                  description:
                    - Highest rate the netdev's driver supports, in Gb/s. V(null) without C(pyroute2) on the node.
                  type: float
                lanes:
                  description: Active lanes.
                  type: int
                lid:
                  description: LID of the port.
                  type: int
                sm_lid:
                  description: LID of the subnet manager; 0 if there is none.
                  type: int
                pkeys:
                  description: Partition keys in use.
                  type: list
                  elements: str
                gids:
                  description: Used entries of the GID table, with C(index), C(gid), C(type) and C(netdev).
                  type: list
                  elements: dict
                roce_v2_gid_index:
                  description: GID index to use for RoCE v2.
                  type: int
                netdev:
                  description:
                    - The port's network device with C(name), C(source) of this value, C(present), C(state),
                      C(carrier), C(mac), C(mtu), C(max_mtu), C(master), C(bond), C(slave), C(slaves), C(addresses),
                      C(routes) without a gateway (C(to), C(table), C(source)), and C(rules) for what these addresses
                      send (C(source), C(table)).
                    - C(slaves) are those of a bond, each with C(name) and C(carrier), and C(slave) is the name of the
                      one that is on the HCA's own function.
                    - C(routes) and C(rules) are V(null) for recorded nodes.
                    - C(present) is V(false) while a pod holds the network device.
                  type: dict
                umad:
                  description: Character device for management datagrams, with the same keys as C(uverbs).
                  type: dict
                issm:
                  description: Character device for a subnet manager, with the same keys as C(uverbs).
                  type: dict
                error_counters:
                  description:
                    - Error counters since the card was last reset. A counter that the device does not keep is absent.
                  type: dict
                qos:
                  description:
                    - Quality of service of an Ethernet port. V(null) for InfiniBand. A value that the driver does not
                      offer is V(null) too.
                    - C(netdev) is what was asked, a slave if the port's own is a bond. C(dcb) says whether its driver
                      offers Data Center Bridging (DCB), V(offered) or V(not_offered), or why that is unknown, V(away)
                      (a pod may have it), V(not_asked) (a recorded node) or V(refused).
                    - From DCB netlink, C(managed_by) is V(host) or V(firmware). C(trust) is V(dscp), V(pcp) or V(none).
                      C(dscp) has the priority of each of the 64 DSCPs, and C(pfc) the priorities with priority flow
                      control. C(ets) has C(traffic_classes) by priority, and C(algorithms) and C(bandwidth) (percent)
                      by traffic class. C(buffers) has the buffer of each priority (C(of_priorities)) and C(sizes) in
                      bytes. C(pauses_sent) and C(pauses_received) count pause frames of each priority.
                    - C(congestion) has the priorities for which the port sends congestion notification packets (CNPs,
                      C(notify)) and slows down when it receives some (C(react)), and the C(cnp_dscp) and
                      C(cnp_priority) of those that it sends, as far as drivers of NVIDIA show them; those of the kernel
                      show them to root only.
                    - C(roce_tos) is the default type of service of RDMA-CM. It is V(null) as long as nobody has created
                      the port's directory in configfs, since this module creates none.
                    - C(cnp_sent), C(cnp_handled) and C(ecn_marked) count packets.
                  type: dict
        gpus:
          description:
            - GPUs with C(index), C(pci) and C(pcie_link) as above, and the C(model) and C(uuid) that the driver
              reports. An idle GPU lowers the speed of its link.
            - C(index) counts GPUs in PCI order, as C(nvidia-smi) does. The warning C(gpu_index) reports where they
              differ, for example when a GPU is not bound to the NVIDIA driver.
          returned: when O(gather_subset) has V(gpus)
          type: list
          elements: dict
        affinity:
          description:
            - For each GPU, the path class to every HCA (C(paths)) as in C(nvidia-smi topo -m), and the HCAs to use
              (C(nearest)).
            - GPUs with equally near HCAs share them evenly. A GPU without an HCA of its own gets an unused one first.
          returned: when O(gather_subset) has V(affinity)
          type: list
          elements: dict
          sample:
            - gpu: 0
              address: "0000:1b:00.0"
              paths: {mlx5_0: PIX, mlx5_1: SYS}
              nearest: [mlx5_0]
        usable:
          description: Ports that workloads can use.
          returned: always
          type: list
          elements: dict
          sample: [{hca: mlx5_0, port: 1}]
        excluded:
          description: All other ports, each with all reasons.
          returned: always
          type: list
          elements: dict
          sample:
            - hca: mlx5_bond_0
              port: 1
              reasons:
                - code: bond
                  text: bond0 is a bond of eno1, eno2
                  fields: {netdev: bond0, slaves: [eno1, eno2]}
        system:
          description:
            - C(kernel) release, RDMA network namespace mode (C(netns_mode)), C(rdma_cm) device, C(numa_nodes), and
              whether a container runtime listens on NRI's socket, one of root (C(nri)).
            - C(gpudirect) has the state of C(nvidia_peermem) (C(peermem)), and whether dma-buf can be used (C(dmabuf))
              and why (C(dmabuf_reason)).
            - C(memlock) has the C(soft) and C(hard) limit of locked memory of the container C(runtime), in bytes or
              V(unlimited), and the C(pid) of the runtime.
            - C(versions) of C(rdma-core) and of kernel modules that report their own version, such as C(mlx5_core) of
              OFED and C(nvidia). Modules of the kernel itself do not.
            - C(modules) has the state of each kernel module that the hardware needs, V(loaded), V(builtin),
              V(available), V(missing) or V(unknown).
            - C(iommu) is V(off), V(passthrough), V(translated) or V(mixed) for the GPUs and HCAs. C(acs) has, for each
              bridge between a GPU and its nearest HCAs, whether ACS redirects their traffic to the root complex, and
              C(acs_flags) the bits that do, as C(lspci) names them. Both need the subset V(affinity).
            - C(iommu_modes) has the mode of each GPU and its nearest HCAs, C(relaxed_ordering) whether such an HCA may
              use PCIe relaxed ordering, both by PCI address. Root only can read the latter.
            - C(kernel_parameters) are the words of the kernel's command line about IOMMU and PCI, C(arch) is the
              processor's architecture as C(uname -m) names it, and C(virtual) whether the node is a virtual machine.
          returned: when O(gather_subset) has V(system)
          type: dict
        warnings:
          description:
            - Possible problems, each with C(code), C(subject), C(text) and the C(fields) that make up the text.
          returned: always
          type: list
          elements: dict
        signature:
          description: Hash of the hardware. Nodes with the same hardware have the same hash.
          returned: always
          type: str
          sample: 3f2a9c01d4be
        sources:
          description: Source of each section.
          returned: always
          type: dict
        unreadable:
          description: Files that the user may not read.
          returned: always
          type: list
          elements: str
"""

import os
from typing import Optional

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.zerocopy.rdma.plugins.module_utils._payload.sources import compile_once

compile_once()

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import gather, gpu, selection


def outside(root: str) -> Optional[str]:
    """Where ``sys`` below ``root`` leads when that is not below ``root``: nothing there could be read."""
    base, real = os.path.realpath(root), os.path.realpath(os.path.join(root, "sys"))
    return None if os.path.commonpath([base, real]) == base else real


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "root": {"type": "path", "default": "/"},
            "gather_subset": {"type": "list", "elements": "str", "default": ["all"]},
            "gpu_vendors": {"type": "list", "elements": "str", "default": list(gpu.DEFAULT_VENDORS)},
            "gpu_classes": {"type": "list", "elements": "str", "default": list(gpu.DEFAULT_CLASSES)},
            "drivers": {"type": "list", "elements": "str", "default": list(selection.DEFAULT_DRIVERS)},
            "allow_software": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    params = module.params
    try:
        options = gather.GatherOptions(
            gpu_vendors=gpu.identifiers("gpu_vendors", params["gpu_vendors"]),
            gpu_classes=gpu.identifiers("gpu_classes", params["gpu_classes"]),
            drivers=params["drivers"],
            allow_software=params["allow_software"],
            subsets=gather.subsets(params["gather_subset"]),
        )
    except ValueError as error:
        module.fail_json(msg=str(error))
    if not os.path.isdir(os.path.join(params["root"], "sys")):
        module.fail_json(
            msg="root: {!r} has no directory 'sys', so it is not a node's root directory".format(params["root"])
        )
    astray = outside(params["root"])
    if astray:
        module.fail_json(
            msg="root: 'sys' of {!r} leads to {!r}, outside that directory; use a directory with its own files, "
            "or '/' for the running node".format(params["root"], astray)
        )
    module.exit_json(changed=False, ansible_facts={"rdma": gather.gather(params["root"], options)})


if __name__ == "__main__":
    main()
