#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: rdma_support_info
short_description: Read logs of a node for a support bundle
version_added: 1.0.0
description:
  - Reads from the journal of systemd what the kernel, the container runtime, the kubelet, NetworkManager and the
    daemons of this collection have logged, the ledgers of this collection without the originals of changed files, and
    the status of the daemon of the strategy C(inject). Secrets are taken out of all of it.
  - Does not fail if something cannot be read; RV(missing) says why.
author:
  - The zerocopy.rdma authors (!UNKNOWN)
extends_documentation_fragment:
  - zerocopy.rdma._attributes
  - zerocopy.rdma._attributes.facts_module
options:
  hours:
    description: Hours that logs go back.
    type: int
    default: 24
  megabytes:
    description: Size of all files together, in millions of characters. What is older is left out.
    type: int
    default: 8
  root:
    description: Directory to read instead of C(/), for recorded nodes. Its journal is in C(var/log/journal).
    type: path
    default: /
seealso:
  - module: zerocopy.rdma.support_bundle
"""

EXAMPLES = r"""
- name: Read the logs of the last hour
  zerocopy.rdma.rdma_support_info:
    hours: 1
  register: logs

- name: Show the last lines of the kubelet
  ansible.builtin.debug:
    msg: "{{ logs.files['journal/kubelet.log'].splitlines()[-20:] }}"
"""

RETURN = r"""
files:
  description: Texts by their name in a bundle, such as C(journal/containerd.log).
  returned: success
  type: dict
missing:
  description: What could not be read, with the reason.
  returned: success
  type: dict
  sample: {journal: "no messages in the last 24 h of crio, k3s"}
cut:
  description: Files that are not whole, with what is left out of them.
  returned: success
  type: dict
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.support import node


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "hours": {"type": "int", "default": 24},
            "megabytes": {"type": "int", "default": 8},
            "root": {"type": "path", "default": "/"},
        },
        supports_check_mode=True,
    )
    params = module.params
    found = node.gather(params["root"], params["hours"], params["megabytes"] * 1_000_000)
    module.exit_json(changed=False, **found.plain())


if __name__ == "__main__":
    main()
