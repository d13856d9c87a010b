#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: inject_plugin
short_description: Install the NRI plugin that gives containers the RDMA devices beside their GPUs
version_added: 0.1.0
description:
  - Installs a plugin for NRI (node resource interface), which containerd and CRI-O implement. When a container is
    created that asks for it, the plugin adds the device nodes of the NICs that are nearest to the container's GPUs.
  - The plugin is one file (C(/usr/local/libexec/zerocopy-rdma/inject.pyz)), made on the controller of this collection's
    own files. It needs the node's Python and nothing else. It runs as the systemd unit
    C(zerocopy-rdma-inject.service), which may read the system, talk to the runtime's socket, and little more.
  - The plugin is restarted only if its program or its unit changed. It reads a changed configuration
    (C(/etc/zerocopy-rdma/inject.json)) without a restart. Running containers are not affected by either.
  - After a start, the plugin must be registered with the runtime. Otherwise the module fails with the reason. If nobody
    listens at O(socket), it warns instead, because the plugin registers as soon as NRI is enabled
    (M(zerocopy.rdma.container_runtime)).
  - The module owns only the files in its ledger (C(/var/lib/zerocopy-rdma/inject)).
author:
  - The zerocopy.rdma authors (!UNKNOWN)
extends_documentation_fragment:
  - zerocopy.rdma._attributes
  - zerocopy.rdma._attributes.state_module
options:
  policy:
    description:
      - Which containers get devices. With V(annotated), those of pods with the annotation C(rdma.zerocopy.io/nics), and
        those with a GPU in O(namespaces). With V(gpu_containers), every container with a GPU.
    type: str
    choices: [annotated, gpu_containers]
    default: annotated
  namespaces:
    description: Names of namespaces whose containers with a GPU get devices without an annotation.
    type: list
    elements: str
    default: []
  missing:
    description: Whether a container that asks while no NIC is usable for it is refused, or started without devices.
    type: str
    choices: [refuse, start]
    default: refuse
  exclude:
    description: HCAs that no container gets, by name or PCI address.
    type: list
    elements: str
    default: []
  umad:
    description: Whether containers get C(umad) and C(issm) device nodes as well.
    type: bool
    default: false
  memlock:
    description:
      - Limit of locked memory of containers that get devices, V(unlimited) or a number of bytes. V(0) leaves it
        unchanged.
    type: str
    default: unlimited
  environment:
    description: Whether to set the variables of NCCL, UCX and vLLM that a container does not set itself.
    type: bool
    default: true
  metrics:
    description: File for metrics, in the directory of node_exporter's textfile collector. If empty, there are none.
    type: str
    default: ''
  log_level:
    description: Least level of messages in the journal.
    type: str
    choices: [debug, info, warning, error]
    default: info
  drivers:
    description: Drivers of HCAs that containers may get, as with M(zerocopy.rdma.rdma_facts).
    type: list
    elements: str
    default: [mlx5_core, mlx4_core, bnxt_en, ionic, efa]
  gpu_vendors:
    description: PCI vendors of GPUs, as with M(zerocopy.rdma.rdma_facts).
    type: list
    elements: str
    default: ["10de", "1002"]
  gpu_classes:
    description: PCI classes of GPUs, as with M(zerocopy.rdma.rdma_facts).
    type: list
    elements: str
    default: ["0300", "0302", "0380", "1200"]
  allow_software:
    description: Whether software devices (Soft-RoCE) count as HCAs.
    type: bool
    default: false
  socket:
    description: NRI socket of the container runtime.
    type: str
    default: /var/run/nri/nri.sock
  interpreter:
    description: Python that runs the plugin, 3.8 or newer. By default, the one that runs this module.
    type: str
  digest:
    description: SHA-256 digest of the program. It is added on the controller.
    type: str
  program:
    description: The program as base64. It is added on the controller.
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
    description: V(absent) stops and removes the plugin.
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
- name: Give containers that ask for it the NICs beside their GPUs
  zerocopy.rdma.inject_plugin:

- name: Give them to all GPU containers, and keep one HCA for the host
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
    - V(runtime) if the plugin says that it is registered and the runtime holds a connection with it, V(plugin) if only
      the plugin says so because the kernel does not show connections, or empty. NRI has no list of plugins to ask for.
  returned: O(state=present) and O(root=/)
  type: str
  sample: runtime
runtime:
  description: Name and version of the runtime, as it told the plugin.
  returned: O(state=present) and O(root=/)
  type: dict
  sample: {name: containerd, version: v2.1.9}
config_error:
  description: Why the plugin still runs with an older configuration, V(null) if it does not.
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
  description: Why a container was last refused, V(null) if none was.
  returned: O(state=present) and O(root=/)
  type: str
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.inject.converge import converge
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.inject.options import SPEC
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.module import answer


def main() -> None:
    module = AnsibleModule(argument_spec=SPEC, supports_check_mode=True)
    answer(module, lambda: converge(module.params, module.check_mode))


if __name__ == "__main__":
    main()
