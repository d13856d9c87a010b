#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: node_drift
short_description: Report what differs on a node from what is configured, for all concerns in one call
version_added: 0.1.0
description:
  - Compares packages, kernel, links, container runtime and image of a node with what is wanted, and changes nothing.
  - Each answer is that of the concern's own module in check mode, from the same code. One call takes the place of one
    per concern, so a fleet in which nothing has to change costs two module calls per node (with
    M(zerocopy.rdma.rdma_facts)).
  - A concern that cannot be compared says why in its C(error) and does not hide the others. The module fails only when
    its own options are wrong.
author:
  - The zerocopy.rdma authors (!UNKNOWN)
extends_documentation_fragment:
  - zerocopy.rdma._attributes
  - zerocopy.rdma._attributes.facts_module
attributes:
  diff_mode:
    support: full
    details:
      - With C(--diff) each concern has its own C(diff), so that equal ones of many nodes can be shown once.
options:
  packages:
    description:
      - Packages that are to be installed, by the names under which the distribution installs them. A package name may
        have a version as C(apt) or C(rpm) writes it. A package that is installed under another name counts as missing.
      - Not compared when not given, as with all options.
    type: list
    elements: str
  kernel:
    description: Options of M(zerocopy.rdma.kernel_modules).
    type: dict
  links:
    description: Options of M(zerocopy.rdma.nm_links).
    type: dict
  runtime:
    description: Options of M(zerocopy.rdma.container_runtime).
    type: dict
  image:
    description:
      - Options of M(zerocopy.rdma.container_image). The archive is read where Ansible runs and sent nowhere.
    type: dict
seealso:
  - module: zerocopy.rdma.kernel_modules
  - module: zerocopy.rdma.nm_links
  - module: zerocopy.rdma.container_runtime
  - module: zerocopy.rdma.container_image
"""

EXAMPLES = r"""
- name: Compare a node with what is wanted
  zerocopy.rdma.node_drift:
    packages: [rdma-core]
    kernel:
      modules: [rdma_cm, rdma_ucm, ib_uverbs, ib_umad]
    links:
      links:
        - {name: rail0, hca: mlx5_0, addresses: [10.20.0.11/16], mtu: 9000}
    runtime:
      memlock: unlimited
  register: drift

- name: Show the concerns that differ
  ansible.builtin.debug:
    msg: "{{ drift.concerns | dict2items | selectattr('value.changed') | map(attribute='key') }}"
  when: drift.differs
"""

RETURN = r"""
differs:
  description: Whether any concern differs or could not be compared.
  returned: success
  type: bool
concerns:
  description:
    - The answer of each concern that was asked for (C(packages), C(kernel), C(links), C(runtime), C(image)). It has
      everything that the concern's module returns in check mode, and at least the keys here.
  returned: success
  type: dict
  contains:
    changed:
      description: Whether its module would change something.
      type: bool
    changes:
      description:
        - What would be changed, with C(kind), C(name), C(before) and C(after). For packages C(kind) is V(package).
      type: list
      elements: dict
    unknown:
      description: Whether this cannot be told, as on a node with neither dpkg nor rpm. Nothing differs then.
      returned: for packages
      type: bool
    unfinished:
      description:
        - Whether an interrupted run has to be completed although nothing differs, such as links that were never
          confirmed to NetworkManager and would be rolled back.
      type: bool
    diff:
      description: The changed files with their text before and after.
      returned: with C(--diff)
      type: list
      elements: dict
    warnings:
      description: What a person should look at.
      type: list
      elements: str
    reboot_reasons:
      description: What is in effect only after a restart of the node.
      type: list
      elements: str
    error:
      description: Why the concern could not be compared, V(null) if it was.
      type: str
    exception:
      description: Where the error occurred, if it is a fault of this collection.
      returned: after an unexpected error
      type: str
  sample:
    links:
      changed: true
      changes: [{kind: connection, name: rdma-rail0, before: absent, after: connected as configured}]
      unfinished: false
      warnings: []
      reboot_reasons: []
      error: null
"""

from functools import partial
from typing import Any, Callable, Dict, Mapping

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare import drift, image_options
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.kernel import options as kernel_options
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links import options as links_options
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.module import answer, read
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime import options as runtime_options

_SPECS: Mapping[str, Mapping[str, Any]] = {
    "kernel": kernel_options.SPEC,
    "links": links_options.SPEC,
    "runtime": runtime_options.ARGUMENTS,
    "image": image_options.ARGUMENTS,
}


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "packages": {"type": "list", "elements": "str"},
            **{concern: {"type": "dict"} for concern in _SPECS},
        },
        supports_check_mode=True,
    )
    given = {name: options for name, options in module.params.items() if name in _SPECS and options is not None}
    wanted: Dict[str, Callable[[], drift.Options]]
    wanted = {name: partial(read, _SPECS[name], options) for name, options in given.items()}
    packages = module.params["packages"]
    if packages is not None:
        wanted["packages"] = lambda: {"name": packages}
    answer(module, lambda: drift.compare(wanted, module._diff))


if __name__ == "__main__":
    main()
