# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this doc fragment is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations


class ModuleDocFragment:
    """What the modules of the container runtime have in common: ``_runtime_options.COMMON``."""

    DOCUMENTATION = r"""
options:
  runtime:
    description:
      - Container runtime that runs the pods. V(auto) takes the one that runs or, if none does, the one that is
        installed, and fails if there are several.
    type: str
    choices: [auto, containerd, k3s, rke2, crio]
    default: auto
  restart:
    description:
      - Whether to restart the runtime when that is needed. Otherwise RV(ignore:restart_pending) says so, and the next
        call with V(true), of M(zerocopy.rdma.containerd_nri) or M(zerocopy.rdma.container_memlock), does it.
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
  state:
    description: V(absent) takes back what this module did.
    type: str
    choices: [present, absent]
    default: present
"""
