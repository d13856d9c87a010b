#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: driver_watch
short_description: Watch a node while a container replaces the driver of its NICs
version_added: 1.0.0
description:
  - Without O(watch), returns at once what has to be known about a node before NVIDIA's OFED driver is loaded there.
  - With O(watch), watches the kernel log and the free space of the node until the driver is ready, and for O(watch)
    seconds after that. The watch ends early if there are too many kernel messages, if a file system has too little
    space, if the driver does not become ready in time, or if it is no longer ready.
  - The driver is ready when its container has created C(/run/mellanox/drivers/.driver-ready) and the module
    C(mlx5_core) has a version of its own.
  - Counts kernel messages by their sequence numbers in C(/dev/kmsg), so messages that the ring buffer has lost count as
    well. This needs root.
  - Changes nothing, and does the same in check mode. A watch that ends early is a result (RV(reason)), not a failure.
    The module fails only if it cannot read the kernel log.
author:
  - The zerocopy.rdma authors (!UNKNOWN)
extends_documentation_fragment:
  - zerocopy.rdma._attributes
  - zerocopy.rdma._attributes.facts_module
options:
  watch:
    description: Seconds to watch the node after the driver is ready. If unset, the node is not watched.
    type: int
  since:
    description:
      - Sequence number of the last kernel message that does not count, as RV(sequence) of an earlier call. If unset,
        only messages that are written during this call count.
    type: int
  timeout:
    description: Seconds after which the watch ends if the driver is not ready.
    type: int
    default: 1800
  messages:
    description: The watch ends if there are more kernel messages than this within a minute.
    type: int
    default: 2000
  free:
    description: The watch ends if a file system has less free space than this, in GiB.
    type: float
    default: 20
  root:
    description: Root directory of the node's files. Set it to another directory than V(/) for a recorded node.
    type: path
    default: /
"""

EXAMPLES = r"""
- name: Look at the node before the driver is loaded
  zerocopy.rdma.driver_watch:
  register: before

- name: Watch the node for ten minutes after the driver is ready
  zerocopy.rdma.driver_watch:
    watch: 600
    since: "{{ before.sequence }}"
  register: watched
  failed_when: watched is failed or watched.reason != ''
"""

RETURN = r"""
sequence:
  description: Sequence number of the newest kernel message. V(-1) if there is none.
  returned: success
  type: int
  sample: 4711
free:
  description:
    - Free space in GiB of each file system that has images, pods or logs, by a path on it. With O(watch), the smallest
      value that was seen.
  returned: success
  type: dict
  sample: {/: 61.5, /var: 210.22}
version:
  description: Version of the loaded C(mlx5_core). Empty for the kernel's own driver, which has no version.
  returned: success
  type: str
  sample: 26.07-0.7.0
ready:
  description: Whether the OFED driver is ready. With O(watch), whether it was ready when the watch ended.
  returned: success
  type: bool
modules:
  description: Loaded kernel modules, each with the number of its users.
  returned: without O(watch)
  type: dict
  sample: {nvidia_peermem: 0}
made:
  description:
    - Directories that M(zerocopy.rdma.node) has made to set RDMA-CM's type of service. Each of them keeps the module
      C(rdma_cm) loaded, so they have to be removed before the driver is replaced.
  returned: without O(watch)
  type: list
  elements: str
  sample: [/sys/kernel/config/rdma_cm/mlx5_0]
unlimited:
  description: Whether rsyslog runs and limits neither the rate of kernel messages nor the size of a file.
  returned: without O(watch)
  type: bool
reason:
  description:
    - Why the watch ended early. V(log) for too many kernel messages, V(disk) for too little space, V(timeout) if the
      driver did not become ready in time, V(gone) if the driver was ready and then was no longer ready. Empty if the
      watch did not end early.
  returned: with O(watch)
  type: str
  sample: log
text:
  description: RV(reason) in words. Empty if RV(reason) is empty.
  returned: with O(watch)
  type: str
  sample: the kernel wrote 48211 messages within a minute, more than 2000
messages:
  description: Number of kernel messages since O(since).
  returned: with O(watch)
  type: int
  sample: 48211
most:
  description: Number of kernel messages in the worst minute.
  returned: with O(watch)
  type: int
  sample: 48211
"""

from typing import Any, Dict

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import driver_watch


def _call(params: Dict[str, Any]) -> Dict[str, Any]:
    root = params["root"]
    if params["watch"] is None:
        return {**driver_watch.measure(root), "sequence": driver_watch.sequence(root)}
    limits = driver_watch.Limits(params["messages"], params["free"], params["timeout"], params["watch"])
    return driver_watch.watch(root, limits, params["since"])


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "watch": {"type": "int"},
            "since": {"type": "int"},
            "timeout": {"type": "int", "default": 1800},
            "messages": {"type": "int", "default": 2000},
            "free": {"type": "float", "default": 20},
            "root": {"type": "path", "default": "/"},
        },
        supports_check_mode=True,
    )
    try:
        module.exit_json(changed=False, **_call(module.params))
    except HostError as error:
        module.fail_json(msg=str(error))
    except OSError as error:
        module.fail_json(msg=f"the kernel log of the node cannot be read: {error.filename}: {error.strerror}")


if __name__ == "__main__":
    main()
