#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: container_memlock
short_description: Raise the limit of locked memory where containers get it
version_added: 0.1.0
description:
  - RDMA needs memory that stays in place. With the usual limit of 8 MiB small tests pass and large buffers fail.
    C(limits.conf) does not reach containers, and the capability C(IPC_LOCK) helps only those that run as root.
  - With containerd, gives every runtime handler a base runtime specification with the limit raised. It is derived from
    the runtime's own (C(ctr oci spec)) without the parts that containerd's CRI leaves out of it (1024 open files among
    them), or from the one that the handler has already. It is derived again when containerd changes.
  - With CRI-O, adds the limit to C(default_ulimits).
  - Raises C(LimitMEMLOCK) of the runtime's systemd unit as well, which processes without such a specification inherit.
  - On k3s and RKE2 without a drop-in directory (containerd 1.7) only the unit's limit can be raised, and a warning says
    so. It is enough there unless a handler has a base specification of its own.
  - Files, validation, restart, sandbox records and restoring are as in M(zerocopy.rdma.containerd_nri).
author:
  - The zerocopy.rdma authors (!UNKNOWN)
extends_documentation_fragment:
  - zerocopy.rdma._attributes
  - zerocopy.rdma._attributes.state_module
  - zerocopy.rdma._runtime
options:
  memlock:
    description: The limit, V(unlimited) or a number of bytes. A higher one in a specification stays.
    type: str
    default: unlimited
  handlers:
    description: Runtime handlers whose base specification is raised, such as V(runc). All of them by default.
    type: list
    elements: str
    default: []
  root:
    description:
      - Directory below which the node's files are. With another value than V(/) only files are read and written, and a
        specification is derived from the one of containerd 1.7.24. A later run on the node itself derives it again.
    type: path
    default: /
seealso:
  - module: zerocopy.rdma.containerd_nri
"""

EXAMPLES = r"""
- name: Let containers lock as much memory as they want
  zerocopy.rdma.container_memlock:

- name: Allow 64 GiB in one handler and leave the restart to the next task
  zerocopy.rdma.container_memlock:
    memlock: "68719476736"
    handlers: [nvidia]
    restart: false
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
    - {kind: file, name: /etc/containerd/zerocopy-rdma-base-spec.json, before: absent, after: present}
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
handlers:
  description: Runtime handlers whose base specification is raised.
  returned: O(state=present)
  type: list
  elements: str
  sample: [runc]
running_pods_keep_old_limit:
  description:
    - How many running pods (CRI-O, containers) were started with a lower limit. They keep it until they are started
      again.
  returned: O(state=present) and O(root=/)
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
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.options import COMMON, memlock


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            **COMMON,
            "memlock": {"type": "str", "default": "unlimited"},
            "handlers": {"type": "list", "elements": "str", "default": []},
        },
        supports_check_mode=True,
    )
    params, check = module.params, module.check_mode
    answer(module, lambda: converge(memlock(params, check), Files(params["root"])).result())


if __name__ == "__main__":
    main()
