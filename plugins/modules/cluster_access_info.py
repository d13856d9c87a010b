#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_access_info
short_description: Find which cluster is meant
version_added: 1.0.0
description:
  - Finds, in C(kubectl)'s order, which API server is meant, so that all later tasks can be given the same answer. These
    are O(kubeconfig) and O(context), or the environment variables C(K8S_AUTH_KUBECONFIG) and C(K8S_AUTH_CONTEXT); else
    the files that C(KUBECONFIG) names; else C(~/.kube/config); and last, in a pod, its service account.
  - Modules of C(kubernetes.core) have another order. In a pod, they take the service account before C(KUBECONFIG).
  - Sends no request. If no cluster is found, this is told in RV(text), and RV(access) has what was looked for, with
    which later tasks fail.
  - Fails if environment variables such as C(K8S_AUTH_HOST) are set beside O(kubeconfig) or O(context).
author:
  - The zerocopy.rdma authors (!UNKNOWN)
extends_documentation_fragment:
  - zerocopy.rdma._attributes
  - zerocopy.rdma._attributes.facts_module
attributes:
  platform:
    support: full
    details:
      - Runs on the controller.
options:
  kubeconfig:
    description: Path of a kubeconfig, or several paths as in C(KUBECONFIG). Empty means none.
    type: str
    default: ""
  context:
    description: Name of a context of the kubeconfig. Empty means the current one.
    type: str
    default: ""
seealso:
  - module: zerocopy.rdma.cluster_info
"""

EXAMPLES = r"""
- name: Find which cluster is meant
  zerocopy.rdma.cluster_access_info:
    context: lab
  register: found
  run_once: true

- name: Look at the cluster
  zerocopy.rdma.cluster_info:
    kubeconfig: "{{ found.access.kubeconfig | default(omit) }}"
    context: "{{ found.access.context | default(omit) }}"
  delegate_to: localhost
  run_once: true
"""

RETURN = r"""
access:
  description:
    - Values of the options C(kubeconfig) (one file; several are merged into one that lasts as long as the run) and
      C(context), for every module that talks to the cluster. Empty if they need no options.
  returned: success
  type: dict
  sample: {kubeconfig: /home/alice/.kube/config, context: lab}
text:
  description: The server and whose credentials are used, or why there are none.
  returned: success
  type: str
  sample: https://10.0.0.1:6443 with user alice (context lab) of kubeconfig /home/alice/.kube/config
"""
