#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: node_drift
short_description: Compare a whole node with its desired state in one call
version_added: 0.1.0
description:
  - Compares packages, kernel, links, container runtime, NRI plugin and images of a node with their desired state, and
    changes nothing. In the following, each of these is called a concern.
  - The result of each concern is what its own module returns in check mode, computed by the same code. One call
    replaces one per concern, so a fleet without differences needs only two module calls per node (the other one is
    M(zerocopy.rdma.rdma_facts)).
  - If a concern cannot be compared, its C(error) says why, and the others are still compared. The module fails only if
    its own options are invalid.
author:
  - The zerocopy.rdma authors (!UNKNOWN)
extends_documentation_fragment:
  - zerocopy.rdma._attributes
  - zerocopy.rdma._attributes.facts_module
attributes:
  diff_mode:
    support: full
    details:
      - With C(--diff), each concern has its own C(diff), so that identical diffs of many nodes can be shown once.
options:
  packages:
    description:
      - Packages that should be installed, by their names in the distribution. A name may include a version as in C(apt)
        or C(rpm). A package that is installed under another name counts as missing.
      - If omitted, packages are not compared. The same applies to the other options.
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
  inject:
    description: Options of M(zerocopy.rdma.inject_plugin). The program itself is not sent to the node, only its digest.
    type: dict
  images:
    description:
      - Options of M(zerocopy.rdma.container_image) for each image. Archives are read on the controller and not sent to
        the node.
    type: list
    elements: dict
seealso:
  - module: zerocopy.rdma.kernel_modules
  - module: zerocopy.rdma.nm_links
  - module: zerocopy.rdma.container_runtime
  - module: zerocopy.rdma.inject_plugin
  - module: zerocopy.rdma.container_image
"""

EXAMPLES = r"""
- name: Compare a node with its desired state
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
    - Result of each requested concern (C(packages), C(kernel), C(links), C(runtime), C(inject), C(images)). It contains
      everything that the concern's module returns in check mode, and at least the following keys.
  returned: success
  type: dict
  contains:
    changed:
      description: Whether the concern's module would change anything.
      type: bool
    changes:
      description:
        - What would be changed, with C(kind), C(name), C(before) and C(after). For packages, C(kind) is V(package).
      type: list
      elements: dict
    unknown:
      description:
        - Whether the packages cannot be compared, as on a node with neither dpkg nor rpm. They then count as equal.
      returned: for packages
      type: bool
    unfinished:
      description:
        - Whether an earlier run was interrupted and has to be completed, although nothing differs. For example, a run
          was killed before it confirmed its links to NetworkManager, which will roll them back.
      type: bool
    diff:
      description: The changed files with their text before and after.
      returned: with C(--diff)
      type: list
      elements: dict
    warnings:
      description: What needs attention.
      type: list
      elements: str
    reboot_reasons:
      description: What takes effect only after a reboot of the node.
      type: list
      elements: str
    error:
      description: Why the concern could not be compared, V(null) if it was.
      type: str
    exception:
      description: Traceback of the error, if it is a bug of this collection.
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

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare import drift
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.daemons import inject as inject_options
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.kernel import request as kernel_options
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links import request as links_options
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.module import answer, read
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime import image_options
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime import options as runtime_options

_SPECS: Mapping[str, Mapping[str, Any]] = {
    "kernel": kernel_options.SPEC,
    "links": links_options.SPEC,
    "runtime": runtime_options.ARGUMENTS,
    "inject": inject_options.SPEC,
}


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "packages": {"type": "list", "elements": "str"},
            **{concern: {"type": "dict"} for concern in _SPECS},
            "images": {"type": "list", "elements": "dict"},
        },
        supports_check_mode=True,
    )
    given = {name: options for name, options in module.params.items() if name in _SPECS and options is not None}
    wanted: Dict[str, Callable[[], drift.Options]]
    wanted = {name: partial(read, _SPECS[name], options) for name, options in given.items()}
    packages = module.params["packages"]
    if packages is not None:
        wanted["packages"] = lambda: {"name": packages}
    images = module.params["images"]
    if images is not None:
        wanted["images"] = lambda: {"images": [read(image_options.ARGUMENTS, options) for options in images]}
    answer(module, lambda: drift.compare(wanted, module._diff))


if __name__ == "__main__":
    main()
