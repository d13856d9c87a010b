#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: driver_watch
short_description: Watch a node while a container replaces the driver of its NICs
version_added: 0.1.0
description:
  - Returns what is to be known of a node before NVIDIA's OFED driver is loaded there. With O(watch), also watches the
    kernel log and the free space of the node until the driver is ready and for some time after, and ends at once if
    either gets out of hand.
  - The driver is ready when its container has created C(/run/mellanox/drivers/.driver-ready) and the module
    C(mlx5_core) has a version of its own.
  - Counts kernel messages by their sequence numbers in C(/dev/kmsg), so that those that the ring buffer has lost count
    as well. This needs root.
  - Changes nothing, and does the same in check mode. What it finds wrong is a result, not a failure.
author:
  - The zerocopy.rdma authors (!UNKNOWN)
extends_documentation_fragment:
  - zerocopy.rdma._attributes
  - zerocopy.rdma._attributes.facts_module
options:
  watch:
    description: Seconds to watch after the driver is ready. If unset, nothing is watched.
    type: int
  since:
    description:
      - Kernel messages after this one count, as RV(sequence) of an earlier call has it. If unset, those count that come
        during this call.
    type: int
  timeout:
    description: Seconds until the driver must be ready.
    type: int
    default: 1800
  messages:
    description: Number of kernel messages within a minute that ends the watch, if there are more.
    type: int
    default: 2000
  free:
    description: Free space in GiB that ends the watch, if a file system has less.
    type: float
    default: 20
  root:
    description: Directory that is the root of the node's file system, for recorded nodes.
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
  failed_when: watched.reason != ''
"""

RETURN = r"""
sequence:
  description: Sequence number of the newest kernel message.
  returned: success
  type: int
  sample: 4711
free:
  description: Free space in GiB of each file system, by a path on it. With O(watch), the least that was seen.
  returned: success
  type: dict
  sample: {/: 61.5, /var: 210.22}
version:
  description: Version of the loaded C(mlx5_core). Empty for the kernel's own driver, which has none.
  returned: success
  type: str
  sample: 26.07-0.7.0
ready:
  description: Whether the driver's container says that it is ready.
  returned: success
  type: bool
modules:
  description: Loaded kernel modules, and how often each is in use.
  returned: without O(watch)
  type: dict
  sample: {nvidia_peermem: 0}
unlimited:
  description: Whether rsyslog runs and limits neither the rate of kernel messages nor the size of a file.
  returned: without O(watch)
  type: bool
reason:
  description:
    - Why the watch ended early. V(log) for too many kernel messages, V(disk) for too little space, V(timeout) if the
      driver did not become ready, V(gone) if it was ready and then not any more. Empty if all is well.
  returned: with O(watch)
  type: str
  sample: log
text:
  description: The reason as a sentence.
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
    except OSError as error:
        module.fail_json(msg=f"the kernel log of the node cannot be read: {error.filename}: {error.strerror}")


if __name__ == "__main__":
    main()
