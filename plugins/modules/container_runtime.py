#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: container_runtime
short_description: Prepare the container runtime for RDMA (NRI, CDI, locked memory)
version_added: 0.1.0
description:
  - Sets NRI (node resource interface) with its timeouts, CDI (container device interface) and NRI's default validator
    in the configuration that is in effect, of containerd 1.7 and 2.x (configuration versions 2, 3 and 4), k3s, RKE2
    and CRI-O. A plugin that takes longer than the timeout is cut off; its pod runs without a NIC and without an event.
  - Only what is not in effect already is written. It goes into a drop-in file of this collection; containerd's main
    file gets one line in C(imports) where it does not read the drop-in yet. containerd 1.7 takes a plugin's section
    from one file only, so if a file has it, marked lines are added there. k3s and RKE2 use their drop-in directory or,
    where there is none, their template, and what a user put into it stays.
  - The new configuration is given to the real containerd before it is installed (C(containerd config dump)). It must
    mean what the present one does plus these keys and nothing else; otherwise, and when the present one is broken,
    nothing is changed and the runtime keeps running.
  - The runtime is restarted only when what is in effect changes, or when an earlier run was stopped before its restart.
    Containers keep running. After a restart the CRI must answer and a connection to the NRI socket be accepted, else
    the files are put back, the runtime is restarted with them and the module fails with the reason.
  - It looks for sandbox records that failed NRI attaches left behind (containerd issue 13609, solved in 2.2.6, 2.3.3
    and 2.4.0). They would keep containerd from starting the next time, at a reboot for example, or come back as pods
    without their NIC.
  - O(state=absent) takes back what this module set, and restarts if that changes what is in effect.
author:
  - The zerocopy.rdma authors (!UNKNOWN)
extends_documentation_fragment:
  - zerocopy.rdma._attributes
  - zerocopy.rdma._attributes.state_module
options:
  runtime:
    description:
      - Container runtime that runs the pods. V(auto) takes the one that runs or, if none does, the one that is
        installed, and fails if there are several.
    type: str
    choices: [auto, containerd, k3s, rke2, crio]
    default: auto
  request_timeout:
    description: How long a plugin may take for one request, as a Go duration of at least one second.
    type: str
    default: 30s
  registration_timeout:
    description: How long a plugin may take to register and synchronise, as a Go duration of at least one second.
    type: str
    default: 30s
  cdi:
    description:
      - Whether to switch on CDI where it is off (containerd 1.7). V(false) leaves it as it is.
    type: bool
    default: true
  validator:
    description:
      - Whether to enable NRI's default validator, so that a pod that demands a plugin (annotation
        C(required-plugins.noderesource.dev)) is not started without it.
      - V(auto) enables it where containerd has one (2.2 and newer), V(true) fails where it has none, V(false) leaves it
        as it is.
    type: str
    choices: [auto, "true", "false"]
    default: auto
  memlock:
    description:
      - Limit of locked memory for containers, V(unlimited) or a number of bytes. RDMA needs memory that stays in place,
        and with the usual limit of 8 MiB small tests pass while large buffers fail. C(limits.conf) does not reach
        containers, and the capability C(IPC_LOCK) helps only those that run as root.
      - With containerd, every runtime handler gets a base runtime specification with this limit. The specification is
        derived from the one the handler has or from the runtime's own (C(ctr oci spec)), and again when containerd
        changes. A higher limit in a specification stays.
      - With CRI-O, the limit is added to C(default_ulimits).
      - C(LimitMEMLOCK) of the runtime's systemd unit is raised as well. On k3s and RKE2 without a drop-in directory
        (containerd 1.7) only that is possible, and a warning says so; it is enough unless a handler has a base
        specification of its own.
      - An empty string leaves the limit alone, and takes back one that an earlier call set.
    type: str
    default: unlimited
  memlock_handlers:
    description: Runtime handlers that O(memlock) is for. All of them by default.
    type: list
    elements: str
    default: []
  restart:
    description:
      - Whether to restart the runtime when that is needed. Otherwise RV(ignore:restart_pending) says so, and the next
        call with V(true) does it.
    type: bool
    default: true
  recover_sandboxes:
    description:
      - Whether to remove sandbox records that failed NRI attaches left behind, with the processes that some still have.
        Otherwise the module warns of them, and fails instead of restarting the runtime. Pods are not touched.
      - If such records already keep containerd from starting, it is started once without its CRI to remove them.
    type: bool
    default: false
  await_plugins:
    description: Seconds to wait after a restart for the NRI plugins that were connected before it.
    type: int
    default: 30
  root:
    description:
      - Directory below which the node's files are. With another value than V(/) only files are read and written, so the
        configuration is not given to containerd, and built-in defaults are not known. A base specification is then
        derived from that of containerd 1.7.24, and again by a later run on the node itself.
    type: path
    default: /
  state:
    description: V(absent) takes back what this module did.
    type: str
    choices: [present, absent]
    default: present
seealso:
  - name: NRI in containerd
    description: Options and defaults of the NRI plugin.
    link: https://github.com/containerd/containerd/blob/main/docs/NRI.md
"""

EXAMPLES = r"""
- name: Switch on NRI and CDI, and let containers lock as much memory as they want
  zerocopy.rdma.container_runtime:

- name: Wait for a slow driver, and clear what failed attaches left behind
  zerocopy.rdma.container_runtime:
    request_timeout: 1m30s
    recover_sandboxes: true
    await_plugins: 120

- name: Allow 64 GiB in one handler and leave the restart to a later call
  zerocopy.rdma.container_runtime:
    memlock: "68719476736"
    memlock_handlers: [nvidia]
    restart: false

- name: Take it back
  zerocopy.rdma.container_runtime:
    state: absent
"""

RETURN = r"""
changes:
  description:
    - Everything that was or, in check mode, would be changed.
    - O(ignore:kind) is V(file), V(service) or V(sandbox_record).
  returned: success
  type: list
  elements: dict
  sample:
    - {kind: file, name: /etc/containerd/conf.d/90-zerocopy-rdma-nri.toml, before: absent, after: present}
    - {kind: service, name: containerd.service, before: running, after: restarted}
runtime:
  description: The runtime that was configured.
  returned: O(state=present)
  type: str
  sample: containerd
unit:
  description: Its systemd unit.
  returned: O(state=present)
  type: str
  sample: containerd.service
config_version:
  description: Version of its configuration; none for CRI-O.
  returned: O(state=present)
  type: int
  sample: 3
nri:
  description:
    - What is in effect with the changes, as C(enabled), C(socket), C(request_timeout), C(registration_timeout) and
      C(validator).
  returned: O(state=present)
  type: dict
  sample:
    enabled: true
    socket: /var/run/nri/nri.sock
    request_timeout: 30s
    registration_timeout: 30s
    validator: false
handlers:
  description: Runtime handlers whose base specification is raised.
  returned: O(state=present) and O(memlock) is not empty
  type: list
  elements: str
  sample: [runc]
running_pods_keep_old_limit:
  description:
    - How many running pods (CRI-O, containers) were started with a lower limit. They keep it until they are started
      again.
  returned: O(state=present), O(root=/) and O(memlock) is not empty
  type: int
  sample: 0
restarted:
  description: Whether the runtime was or would be restarted.
  returned: success
  type: bool
restart_pending:
  description: Whether a restart is needed and was left to a later call.
  returned: success
  type: bool
version:
  description: Name and version of the runtime, as its CRI says after the restart.
  returned: when restarted
  type: str
  sample: containerd 2.1.9
sandbox_records:
  description:
    - Sandbox records that failed NRI attaches left behind, with their sandbox's name. They are still there.
  returned: when there are any and O(recover_sandboxes=false)
  type: list
  elements: str
  sample: [bad_lab_uid-bad_0 (0f38942f46b9)]
sandbox_records_removed:
  description:
    - Sandbox records that failed NRI attaches had left behind, with their sandbox's name. Those that kept the runtime
      from starting cannot be asked for beforehand, so they are not in RV(changes).
  returned: when there were any and O(recover_sandboxes=true)
  type: list
  elements: str
  sample: [bad_lab_uid-bad_0 (0f38942f46b9)]
plugins_missing:
  description: How many NRI plugins that were connected before the restart are not connected again.
  returned: when restarted
  type: int
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.files import Files
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.module import answer
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.converge import converge
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.options import ARGUMENTS, request


def main() -> None:
    module = AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    params, check = module.params, module.check_mode
    answer(module, lambda: converge(request(params, check), Files(params["root"])).result())


if __name__ == "__main__":
    main()
