#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: rdma_facts
short_description: Gather RDMA facts of a node with GPU-NIC affinity
version_added: 0.1.0
description:
  - Reads which HCAs, ports and GPUs a node has, how they sit in the PCIe tree, which ports are fit for RDMA traffic
    of workloads and why the others are not.
  - Needs nothing but Python on the node. Where C(pyroute2) is installed, RDMA netlink tells the netdev of each port
    and the RDMA network namespace mode, and rtnetlink the addresses and maximum MTU; else sysfs and procfs do.
    RV(ansible_facts.rdma.sources) says which it was.
  - Works as an ordinary user. What that user may not read is listed in RV(ansible_facts.rdma.unreadable).
  - A device that vanishes while it is read, or an attribute the kernel refuses, never makes the module fail.
author:
  - The zerocopy.rdma authors (!UNKNOWN)
extends_documentation_fragment:
  - zerocopy.rdma._attributes
  - zerocopy.rdma._attributes.facts_module
options:
  root:
    description:
      - Directory that holds the node's C(/sys), C(/proc), C(/dev) and C(/lib/modules).
      - With another value than V(/) nothing of the running machine is asked, so images and recorded nodes can be read.
    type: path
    default: /
  gather_subset:
    description:
      - Which parts to return. A name preceded by V(!) leaves that part out.
      - RV(ansible_facts.rdma.usable), RV(ansible_facts.rdma.excluded), RV(ansible_facts.rdma.warnings) and
        RV(ansible_facts.rdma.signature) are always returned.
      - Possible names are V(all), V(hcas), V(counters) (error counters of the ports), V(gpus), V(affinity) and
        V(system).
    type: list
    elements: str
    default: [all]
  gpu_vendors:
    description: PCI vendors whose display and accelerator functions count as GPUs, 4 hexadecimal digits each, quoted.
    type: list
    elements: str
    default: ["10de", "1002"]
  gpu_classes:
    description:
      - PCI classes that count as GPUs, 4 hexadecimal digits each (base class and subclass), quoted.
      - The default has VGA and 3D controllers, other display controllers and processing accelerators.
    type: list
    elements: str
    default: ["0300", "0302", "0380", "1200"]
  drivers:
    description:
      - PCI drivers whose HCAs may carry RDMA traffic of workloads.
      - Drivers of LAN ports that happen to offer RDMA, such as C(ice), are left out on purpose.
    type: list
    elements: str
    default: [mlx5_core, mlx4_core, bnxt_en, ionic, efa]
  allow_software:
    description: Whether software devices (C(rxe), C(siw)) are usable, as in a lab without RDMA hardware.
    type: bool
    default: false
seealso:
  - name: ABI of the InfiniBand class in sysfs
    description: What the kernel promises about the files this module reads.
    link: https://docs.kernel.org/admin-guide/abi-stable.html
"""

EXAMPLES = r"""
- name: Gather RDMA facts
  zerocopy.rdma.rdma_facts:

- name: Use the ports that are fit for workloads
  ansible.builtin.debug:
    msg: "{{ ansible_facts.rdma.usable | map(attribute='hca') | join(',') }}"

- name: Gather quickly what a plan needs, from a recorded node
  zerocopy.rdma.rdma_facts:
    root: build/demo/nodes/a100-01
    gather_subset: [hcas, gpus, affinity]

- name: Accept Soft-RoCE in a virtual machine, with its display devices as stand-ins for GPUs
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
      description: The RDMA facts of the node. A value of V(null) means that the node did not say.
      returned: always
      type: dict
      contains:
        hcas:
          description: All RDMA devices, in the order of their names.
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
              description: Whether the device is software on top of an ordinary netdev.
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
              description: Board id (PSID).
              type: str
              sample: MT_0000000223
            pci:
              description:
                - Address, vendor, device and class id, driver, NUMA node, C(pcie_root) (as the Kubernetes attribute
                  C(resource.kubernetes.io/pcieRoot) has it) and C(pcie_path) (PCI addresses from the root port to the
                  function).
                - Of a software device, the NIC below its netdev.
              type: dict
            pcie_link:
              description:
                - Current and maximum speed (GT/s per lane) and width, C(gbps) and C(max_gbps) which the link carries
                  after line coding, and C(degraded).
              type: dict
            sriov:
              description: C(role) (V(pf), V(vf), V(none)), C(total_vfs), C(num_vfs), and C(pf_address) of a VF.
              type: dict
            uverbs:
              description: Character device for verbs, with C(name), C(path), C(number) and whether it is C(present).
              type: dict
            ucm:
              description: Character device of the old connection manager, where the kernel still has it.
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
                  description: Highest rate the netdev's driver supports, in Gb/s; needs C(pyroute2).
                  type: float
                lanes:
                  description: Active lanes.
                  type: int
                lid:
                  description: LID.
                  type: int
                sm_lid:
                  description: LID of the subnet manager; 0 when there is none.
                  type: int
                pkeys:
                  description: Partition keys that are set.
                  type: list
                  elements: str
                gids:
                  description: Used entries of the GID table, with C(index), C(gid), C(type) and C(netdev).
                  type: list
                  elements: dict
                roce_v2_gid_index:
                  description: GID index that RoCE v2 traffic should use.
                  type: int
                netdev:
                  description:
                    - The port's network device with C(name), C(source) of this knowledge, C(present), C(state),
                      C(carrier), C(mac), C(mtu), C(max_mtu), C(master), C(bond) and C(addresses).
                    - C(present) is V(false) while a pod holds the network device.
                  type: dict
                umad:
                  description: Character device for management datagrams.
                  type: dict
                issm:
                  description: Character device for a subnet manager.
                  type: dict
                error_counters:
                  description: Counters whose growth means loss or a bad cable.
                  type: dict
        gpus:
          description: GPUs with C(index) in PCI order, C(pci) as above, C(model) and C(uuid) where the driver tells.
          returned: when O(gather_subset) has V(gpus)
          type: list
          elements: dict
        affinity:
          description:
            - Per GPU the path class to every HCA (C(paths)) with the meaning of C(nvidia-smi topo -m), and C(nearest),
              the HCAs this GPU should use. GPUs with equally near HCAs share them evenly.
          returned: when O(gather_subset) has V(affinity)
          type: list
          elements: dict
          sample:
            - gpu: 0
              address: "0000:1b:00.0"
              paths: {mlx5_0: PIX, mlx5_1: SYS}
              nearest: [mlx5_0]
        usable:
          description: Ports that may carry RDMA traffic of workloads.
          returned: always
          type: list
          elements: dict
          sample: [{hca: mlx5_0, port: 1}]
        excluded:
          description: All other ports, each with every reason.
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
            - C(kernel) release, RDMA C(netns_mode), state of each needed kernel module in C(modules) (V(loaded),
              V(builtin), V(available), V(missing) or V(unknown)), C(rdma_cm) device, C(gpudirect) ways, C(iommu) mode,
              C(acs) per bridge between a GPU and its HCAs, C(memlock) limit of the container runtime, C(numa_nodes).
          returned: when O(gather_subset) has V(system)
          type: dict
        warnings:
          description:
            - What a person should look at, with C(code), C(subject), C(text) and the C(fields) that make up the text.
          returned: always
          type: list
          elements: dict
        signature:
          description: Hash of the node's hardware shape, equal for equal nodes.
          returned: always
          type: str
          sample: 3f2a9c01d4be
        sources:
          description: Where each section came from.
          returned: always
          type: dict
        unreadable:
          description: Files this user may not read.
          returned: always
          type: list
          elements: str
"""

import os
from typing import Optional

from ansible.module_utils.basic import AnsibleModule

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
        options = gather.Options(
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
            msg="root: {!r} has no directory 'sys', so it is not the root of a node".format(params["root"])
        )
    astray = outside(params["root"])
    if astray:
        module.fail_json(
            msg="root: 'sys' of {!r} leads to {!r}, outside of that directory; give a directory with files of its own, "
            "or '/' for the running node".format(params["root"], astray)
        )
    module.exit_json(changed=False, ansible_facts={"rdma": gather.gather(params["root"], options)})


if __name__ == "__main__":
    main()
