#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: container_image
short_description: Give the container runtime an image from an archive, for nodes without a registry
version_added: 0.1.0
description:
  - Imports an image from a tar archive on the controller into the image store that the kubelet uses, of containerd, k3s
    and RKE2. CRI-O imports no archives. There the module only makes sure that the image was loaded in another way.
  - The CRI is asked whether the runtime has the image under that name and with that content. Only a node that has not
    gets the archive, and keeps no copy of it.
  - The image is known by its tag then, not by a registry's digest, so pods have to name it without one.
  - O(state=absent) removes the images that this module brought, under whatever names, unless they were replaced or got
    other names since.
author:
  - The zerocopy.rdma authors (!UNKNOWN)
extends_documentation_fragment:
  - zerocopy.rdma._attributes
  - zerocopy.rdma._attributes.state_module
options:
  name:
    description:
      - Name of the image with its tag, as pods have it. Needed with O(state=present).
      - The archive has to hold an image of exactly this name. Further images in it are imported too, and stay.
    type: str
  archive:
    description:
      - Path of the archive on the controller, an OCI image layout or what C(docker save) writes, not compressed.
    type: path
  ids:
    description:
      - IDs of the image by architecture, which are the digests of its configurations. By default those in O(archive).
      - Without O(archive) nothing is imported, and the result says whether the image is missing.
    type: dict
  runtime:
    description:
      - Container runtime that runs the pods. V(auto) takes the one that runs or, if none does, the one that is
        installed, and fails if there are several.
    type: str
    choices: [auto, containerd, k3s, rke2, crio]
    default: auto
  state:
    description: V(absent) takes back what this module did.
    type: str
    choices: [present, absent]
    default: present
"""

EXAMPLES = r"""
- name: Put the driver's image on the node
  zerocopy.rdma.container_image:
    name: registry.k8s.io/networking/dranet:v1.4.0
    archive: "{{ inventory_dir }}/images/dranet-1.4.0.tar"

- name: Take it away again
  zerocopy.rdma.container_image:
    state: absent
"""

RETURN = r"""
changes:
  description: The images that were or, in check mode, would be imported or removed, with their IDs before and after.
  returned: success
  type: list
  elements: dict
  sample:
    - {kind: image, name: "registry.k8s.io/networking/dranet:v1.4.0", before: null, after: "sha256:6f0e..."}
id:
  description: ID of the image for this node, the digest of its configuration.
  returned: O(state=present)
  type: str
  sample: sha256:6f0e9d3c6f6d7b7e2b0f6e9d3c6f6d7b7e2b0f6e9d3c6f6d7b7e2b0f6e9d3c6f
runtime:
  description: The runtime that has it.
  returned: O(state=present)
  type: str
  sample: containerd
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare import images
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.files import Files
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.module import answer


def main() -> None:
    module = AnsibleModule(argument_spec=images.ARGUMENTS, required_if=images.REQUIRED_IF, supports_check_mode=True)
    params, check = module.params, module.check_mode
    answer(module, lambda: images.converge(images.request(params, check), Files()))


if __name__ == "__main__":
    main()
