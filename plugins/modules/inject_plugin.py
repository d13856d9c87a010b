#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: inject_plugin
short_description: Install the NRI plugin that gives containers the RDMA devices next to their GPUs
version_added: 0.1.0
description:
  - Installs a plugin for NRI (node resource interface), which containerd and CRI-O implement. When a container that
    requests RDMA devices is created, the plugin adds the device nodes of the NICs that are nearest to the container's
    GPUs.
  - The plugin is one file (C(/usr/local/libexec/zerocopy-rdma/inject.pyz)), which is built on the controller from files
    of this collection. It needs only Python on the node. It runs as the systemd unit C(zerocopy-rdma-inject.service),
    which may do little more than read the system and connect to the runtime's socket.
  - The plugin is restarted only if it does not run, or if its program, its unit, O(socket) or O(metrics) changed. It
    reads all other changes of its configuration (C(/etc/zerocopy-rdma/inject.json)) without a restart. A restart does
    not affect running containers.
  - After a start, the plugin must be registered with the runtime within O(await_seconds). Otherwise the module fails
    with the reason. If nothing listens at O(socket), the module warns instead of failing, because the plugin registers
    as soon as NRI is enabled (M(zerocopy.rdma.container_runtime)).
  - The module owns only the files in its ledger (C(/var/lib/zerocopy-rdma/inject)).
author:
  - The zerocopy.rdma authors (!UNKNOWN)
extends_documentation_fragment:
  - zerocopy.rdma._attributes
  - zerocopy.rdma._attributes.state_module
options:
  policy:
    description:
      - Which containers get devices. With V(annotated), those that an annotation of their pod selects, such as
        C(rdma.zerocopy.io/nics=nearest), and those with a GPU in O(namespaces).
      - With V(gpu_containers), every container with a GPU.
    type: str
    choices: [annotated, gpu_containers]
    default: annotated
  namespaces:
    description: Names of namespaces whose containers with a GPU get devices without an annotation.
    type: list
    elements: str
    default: []
  missing:
    description:
      - What happens to a container that cannot get the devices it requests. With V(refuse), the container is not
        created, and the pod's events say why. With V(start), the container is created without devices, and the plugin's
        log says why.
    type: str
    choices: [refuse, start]
    default: refuse
  exclude:
    description: Names or PCI addresses of HCAs that no container gets.
    type: list
    elements: str
    default: []
  link_layer:
    description: Link layer of the HCAs that containers may get. Those of a storage network may have the other one.
    type: str
    choices: [any, InfiniBand, Ethernet]
    default: any
  umad:
    description:
      - Whether containers also get the C(umad) and C(issm) device nodes. With them, a container can send management
        packets to the whole InfiniBand fabric.
    type: bool
    default: false
  memlock:
    description:
      - Limit of locked memory for containers that get devices, V(unlimited) or a number of bytes. V(0) leaves the limit
        unchanged.
    type: str
    default: unlimited
  environment:
    description:
      - Whether to set C(NCCL_IB_HCA), C(UCX_NET_DEVICES), C(NVSHMEM_HCA_LIST) and, on RoCE, the variables for the GID
        index. Variables that a container sets itself are kept.
    type: bool
    default: true
  metrics:
    description:
      - File for metrics, in the directory of node_exporter's textfile collector, which reads only files whose names end
        with C(.prom). If empty, no metrics are written.
      - The module fails if this file already exists and contains anything other than these metrics.
    type: str
    default: ''
  log_level:
    description: Minimum level of the plugin's messages in the journal.
    type: str
    choices: [debug, info, warning, error]
    default: info
  drivers:
    description: PCI drivers of the HCAs that containers may get, as O(zerocopy.rdma.rdma_facts#module:drivers).
    type: list
    elements: str
    default: [mlx5_core, mlx4_core, bnxt_en, ionic, efa]
  gpu_vendors:
    description: PCI vendor IDs of GPUs, as O(zerocopy.rdma.rdma_facts#module:gpu_vendors).
    type: list
    elements: str
    default: ["10de", "1002"]
  gpu_classes:
    description: PCI classes of GPUs, as O(zerocopy.rdma.rdma_facts#module:gpu_classes).
    type: list
    elements: str
    default: ["0300", "0302", "0380", "1200"]
  allow_software:
    description: Whether containers may get software devices (Soft-RoCE).
    type: bool
    default: false
  socket:
    description: NRI socket of the container runtime.
    type: str
    default: /var/run/nri/nri.sock
  interpreter:
    description:
      - Path of the Python that runs the plugin, version 3.8 or newer. By default, the Python that runs this module or,
        if the unit cannot see that one or O(root) is not V(/), C(/usr/bin/python3).
    type: str
  digest:
    description: SHA-256 digest of the program. Do not set it; the controller adds it.
    type: str
  program:
    description: The program as base64. Do not set it; the controller adds it.
    type: str
  await_seconds:
    description: Seconds to wait after a start until the plugin is registered.
    type: int
    default: 30
  root:
    description:
      - Root directory of the node's files. If it is not V(/), files are read and written but nothing is run.
    type: path
    default: /
  state:
    description: V(absent) stops and removes the plugin. Running containers keep their devices.
    type: str
    choices: [present, absent]
    default: present
seealso:
  - module: zerocopy.rdma.container_runtime
  - name: NRI
    description: The interface between container runtimes and their plugins.
    link: https://github.com/containerd/nri
"""

EXAMPLES = r"""
- name: Give containers that request it the NICs next to their GPUs
  zerocopy.rdma.inject_plugin:

- name: Give the NICs to all GPU containers, and keep one HCA for the host
  zerocopy.rdma.inject_plugin:
    policy: gpu_containers
    exclude: [mlx5_bond_0]

- name: Remove the plugin
  zerocopy.rdma.inject_plugin:
    state: absent
"""

RETURN = r"""
changes:
  description:
    - Everything that was changed or, in check mode, would be changed.
    - O(ignore:kind) is V(file), V(unit) or V(service).
  returned: success
  type: list
  elements: dict
  sample:
    - {kind: file, name: /etc/zerocopy-rdma/inject.json, before: present, after: present}
    - {kind: service, name: zerocopy-rdma-inject.service, before: running, after: reloaded}
service:
  description: State of the unit, as systemd calls it.
  returned: O(state=present) and O(root=/)
  type: str
  sample: active
registered:
  description: Whether the plugin is registered with the runtime.
  returned: O(state=present) and O(root=/)
  type: bool
registered_by:
  description:
    - V(runtime) if the plugin says that it is registered and the runtime holds a connection with it. V(plugin) if only
      the plugin says so because the kernel does not show connections. Empty if the plugin is not registered.
    - NRI has no list of plugins to query.
  returned: O(state=present) and O(root=/)
  type: str
  sample: runtime
runtime:
  description: Name and version that the runtime sent to the plugin.
  returned: O(state=present) and O(root=/)
  type: dict
  sample: {name: containerd, version: v2.1.9}
config_error:
  description: Why the plugin still uses an older configuration. V(null) if it uses the current one.
  returned: O(state=present) and O(root=/)
  type: str
injected:
  description: Number of containers that got devices since the plugin started.
  returned: O(state=present) and O(root=/)
  type: int
refused:
  description: Number of containers that were refused since the plugin started.
  returned: O(state=present) and O(root=/)
  type: int
last_refusal:
  description: Why the last refused container was refused. V(null) if none was refused.
  returned: O(state=present) and O(root=/)
  type: str
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.daemons.inject import SPEC, converge
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.module import answer


def main() -> None:
    module = AnsibleModule(argument_spec=SPEC, supports_check_mode=True)
    answer(module, lambda: converge(module.params, module.check_mode))


if __name__ == "__main__":
    main()
