#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: container_runtime
short_description: Prepare the container runtime for RDMA (NRI, CDI, locked memory)
version_added: 0.1.0
description:
  - Enables NRI (node resource interface) with sufficiently long timeouts, NRI's default validator and CDI (container
    device interface), and raises the limit of locked memory. Supports containerd 1.7 and 2.x (configuration versions 2,
    3 and 4), k3s, RKE2 and CRI-O. With the runtime's default timeout, an NRI plugin has two seconds; if it takes
    longer, its pod runs without a NIC and no event says so.
  - Only settings that are not in effect yet are written, to a drop-in file of this collection. If containerd's main
    file does not read the drop-in, one entry is added to its C(imports). containerd 1.7 takes a plugin's section from a
    single file, so marked lines are added to that file if it exists. On k3s and RKE2 the drop-in directory is used or,
    on releases without one, the template. Everything that users wrote is kept.
  - If the command line of the running daemon names other files (C(--config), and C(--config-dir) of CRI-O), these are
    used. The same holds for C(CONTAINER_CONFIG) and C(CONTAINER_CONFIG_DIR) in the environment of CRI-O. A daemon that
    is installed but does not run is assumed to use the default files.
  - The new configuration is checked with the installed containerd (C(containerd config dump)) before it is written.
    Apart from these settings, it must be equivalent to the present one. Otherwise, or if the present configuration is
    broken, nothing is changed and the runtime keeps running.
  - The runtime is restarted only if its effective configuration changes, or if an earlier run was interrupted before
    the restart. Running containers are not affected. After the restart the CRI must answer and the NRI socket must
    accept connections; otherwise the files are restored, the runtime is restarted again and the module fails with the
    reason.
  - The module looks for sandbox records left behind by failed NRI attaches (containerd issue 13609, fixed in 2.2.6,
    2.3.3 and 2.4.0). They can prevent containerd from starting, for example after a reboot, or come back as pods
    without a NIC.
  - The module owns only the files in its ledger (C(/var/lib/zerocopy-rdma/runtime)). It does not remove a file to which
    other configuration still refers, and does not replace a file of the same name that it did not write.
  - Credentials are redacted in the C(diff).
author:
  - The zerocopy.rdma authors (!UNKNOWN)
extends_documentation_fragment:
  - zerocopy.rdma._attributes
  - zerocopy.rdma._runtime
  - zerocopy.rdma._attributes.state_module
options:
  request_timeout:
    description: Time an NRI plugin may take for one request, as a Go duration from one second to one hour.
    type: str
    default: 30s
  registration_timeout:
    description: Time an NRI plugin may take to register and synchronise, as a Go duration from one second to one hour.
    type: str
    default: 30s
  cdi:
    description:
      - Whether to enable CDI where it is disabled by default (containerd 1.7). V(false) leaves it unchanged.
    type: bool
    default: true
  validator:
    description:
      - Whether to enable NRI's default validator, which rejects a pod that requires a plugin (annotation
        C(required-plugins.noderesource.dev)) if that plugin is missing.
      - V(auto) enables it where containerd has it (2.2 and later), V(true) fails where it does not, V(false) leaves it
        unchanged.
    type: str
    choices: [auto, "true", "false"]
    default: auto
  memlock:
    description:
      - Limit of locked memory for containers, V(unlimited) or a number of bytes. RDMA registers memory, which locks it;
        with the usual limit of 8 MiB small tests pass and large buffers fail. C(limits.conf) does not apply to
        containers, and the capability C(IPC_LOCK) helps only processes that run as root.
      - With containerd, every runtime handler gets a base runtime specification with this limit. It is derived from the
        handler's present specification or from the runtime's default (C(ctr oci spec)), and derived again after a
        containerd upgrade. A higher limit in a specification is kept.
      - With CRI-O, the limit is added to C(default_ulimits), unless that allows as much already.
      - C(LimitMEMLOCK) of the runtime's systemd unit is raised as well, and a higher one is kept. A warning names a
        drop-in of the unit that is read later and sets a lower one. On k3s and RKE2 releases without a drop-in
        directory (containerd 1.7), this is the only limit that can be raised, and a warning says so. It is sufficient
        unless a handler has its own base specification.
      - With an empty string, the limit is not changed, and one that an earlier call set is reverted.
    type: str
    default: unlimited
  memlock_handlers:
    description: Runtime handlers to which O(memlock) applies. By default all.
    type: list
    elements: str
    default: []
  restart:
    description:
      - Whether to restart the runtime if necessary. With V(false), RV(restart_pending) reports that a restart is
        needed, and the next call with V(true) restarts it.
    type: bool
    default: true
  recover_sandboxes:
    description:
      - Whether to remove sandbox records left behind by failed NRI attaches, and processes that still belong to them.
        With V(false), the module warns about such records and fails instead of restarting the runtime. Pods are not
        affected.
      - If such records already prevent containerd from starting, it is started once without its CRI to remove them.
    type: bool
    default: false
  await_plugins:
    description: Seconds to wait after a restart for the NRI plugins that were connected before.
    type: int
    default: 30
  root:
    description:
      - Root directory of the node's files. If it is not V(/), files are read and written but nothing is run, so the
        configuration is not checked with containerd and built-in defaults are unknown. Base specifications are derived
        from that of containerd 1.7.24, and again by the next run on the node itself.
    type: path
    default: /
  state:
    description: V(absent) reverts the changes made by this module.
    type: str
    choices: [present, absent]
    default: present
seealso:
  - name: NRI in containerd
    description: Options and defaults of the NRI plugin.
    link: https://github.com/containerd/containerd/blob/main/docs/NRI.md
"""

EXAMPLES = r"""
- name: Enable NRI and CDI, and remove the limit of locked memory
  zerocopy.rdma.container_runtime:

- name: Allow more time for a slow driver, and remove sandbox records of failed attaches
  zerocopy.rdma.container_runtime:
    request_timeout: 1m30s
    recover_sandboxes: true
    await_plugins: 120

- name: Allow 64 GiB in one handler, and leave the restart to a later call
  zerocopy.rdma.container_runtime:
    memlock: "68719476736"
    memlock_handlers: [nvidia]
    restart: false

- name: Revert the changes
  zerocopy.rdma.container_runtime:
    state: absent
"""

RETURN = r"""
changes:
  description:
    - Everything that was changed or, in check mode, would be changed.
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
  description: Systemd unit of the runtime.
  returned: O(state=present)
  type: str
  sample: containerd.service
config_version:
  description: Version of containerd's configuration; none for CRI-O.
  returned: O(state=present)
  type: int
  sample: 3
nri:
  description:
    - NRI settings in effect after the changes, as C(enabled), C(socket), C(request_timeout), C(registration_timeout)
      and C(validator).
  returned: O(state=present)
  type: dict
  sample:
    enabled: true
    socket: /var/run/nri/nri.sock
    request_timeout: 30s
    registration_timeout: 30s
    validator: false
handlers:
  description: Runtime handlers with a raised limit in their base specification.
  returned: O(state=present) and O(memlock) is not empty
  type: list
  elements: str
  sample: [runc]
running_pods_keep_old_limit:
  description:
    - Number of running pods (CRI-O, containers) that were started with a lower limit, and keep it until restarted.
  returned: O(state=present), O(root=/) and O(memlock) is not empty
  type: int
  sample: 0
restarted:
  description: Whether the runtime was restarted or, in check mode, would be.
  returned: success
  type: bool
restart_pending:
  description: Whether a restart is needed but left to a later call.
  returned: success
  type: bool
version:
  description: Name and version of the runtime, reported by its CRI after the restart.
  returned: when restarted
  type: str
  sample: containerd 2.1.9
sandbox_records:
  description: Sandbox records left behind by failed NRI attaches, with the names of their sandboxes. They still exist.
  returned: when there are any and O(recover_sandboxes=false)
  type: list
  elements: str
  sample: [bad_lab_uid-bad_0 (0f38942f46b9)]
sandbox_records_removed:
  description:
    - Sandbox records left behind by failed NRI attaches that were removed, with the names of their sandboxes. Records
      that prevented the runtime from starting cannot be listed beforehand, so they are not in RV(changes).
  returned: when there were any and O(recover_sandboxes=true)
  type: list
  elements: str
  sample: [bad_lab_uid-bad_0 (0f38942f46b9)]
plugins_missing:
  description: Number of NRI plugins that were connected before the restart and have not reconnected.
  returned: when restarted
  type: int
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.module import answer
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.converge import converge
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.options import ARGUMENTS, request


def main() -> None:
    module = AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    params, check = module.params, module.check_mode
    answer(module, lambda: converge(request(params, check), Files(params["root"])).result())


if __name__ == "__main__":
    main()
