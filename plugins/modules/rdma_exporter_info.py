#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: rdma_exporter_info
short_description: Read the figures of the exporter of metrics on a node
version_added: 1.0.0
description:
  - Reads what the exporter of the role P(zerocopy.rdma.rdma_exporter#role) has last written, or what it answers where
    it listens, as far as it says whether a NIC is sick. The figures of NICs in pods are to be had only there.
  - Does not fail if the exporter gives none; RV(reason) says why.
author:
  - The zerocopy.rdma authors (!UNKNOWN)
extends_documentation_fragment:
  - zerocopy.rdma._attributes
  - zerocopy.rdma._attributes.facts_module
options:
  root:
    description: Directory to read instead of C(/), for recorded nodes.
    type: path
    default: /
seealso:
  - module: zerocopy.rdma.health
"""

EXAMPLES = r"""
- name: Read the figures of the exporter
  zerocopy.rdma.rdma_exporter_info:
  register: exporter

- name: Show the ports that are not active
  ansible.builtin.debug:
    msg: "{{ exporter.figures.ports | dict2items | rejectattr('value.state_id', 'eq', 4) | map(attribute='key') }}"
  when: exporter.figures is not none
"""

RETURN = r"""
figures:
  description:
    - The figures, V(null) without an exporter or an answer of it. C(age) is how old they are in seconds; C(devices)
      are HCAs with C(pci_address), C(pf_address) (of a VF), C(driver), C(board_id), C(place) (V(host) or V(pod)),
      C(present), and current and maximum speed (in transfers per second) and width of their PCIe link, C(faults) (how
      often the kernel has reported each kind of fault) and C(active_faults) (which are not over); C(ports) are ports
      such as C(mlx5_0/1) with C(state_id), C(physical_state_id), C(rate_bytes_per_second), C(link_layer), C(rail),
      C(lid), C(sm_lid), C(flaps) and the error C(counters).
  returned: success
  type: dict
reason:
  description: Why there are no figures although the exporter is installed, empty otherwise.
  returned: success
  type: str
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter import figures


def main() -> None:
    module = AnsibleModule(argument_spec={"root": {"type": "path", "default": "/"}}, supports_check_mode=True)
    found, reason = None, ""
    try:
        found = figures.figures(module.params["root"])
    except figures.FiguresError as error:
        reason = str(error)
    module.exit_json(changed=False, figures=found, reason=reason)


if __name__ == "__main__":
    main()
