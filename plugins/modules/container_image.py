#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: container_image
short_description: Import a container image from an archive, for nodes that cannot reach a registry
version_added: 1.0.0
description:
  - Imports an image from a tar archive on the controller into the image store that the kubelet uses, with containerd,
    k3s and RKE2. CRI-O cannot import archives. There the module fails unless the image was loaded in another way.
  - Asks the runtime, through its CRI, whether it has the image under this name and with this content. The archive is
    sent only to nodes that lack the image, and is deleted after the import.
  - An imported image is known by its tag, not by a registry's digest, so pods must refer to it without a digest.
  - O(state=absent) removes the images that this module imported, under any name, unless they have been replaced or
    given other names since.
author:
  - The zerocopy.rdma authors (!UNKNOWN)
extends_documentation_fragment:
  - zerocopy.rdma._attributes
  - zerocopy.rdma._attributes.state_module
options:
  name:
    description:
      - Name of the image with its tag, as pods refer to it. Required with O(state=present).
      - The archive must contain an image with exactly this name. Other images in it are imported as well, but not
        removed by O(state=absent).
    type: str
  archive:
    description:
      - Path of the archive on the controller, an uncompressed OCI image layout or the output of C(docker save).
      - O(state=present) requires O(archive) or O(ids).
    type: path
  ids:
    description:
      - IDs of the image by architecture (digests of the image configurations). Read from O(archive) by default.
      - With O(ids) and without O(archive), nothing is imported, and the task is changed if the image is missing.
    type: dict
  runtime:
    description:
      - Container runtime that runs the pods. V(auto) selects the running one or, if none is running, the installed
        one. It fails if there are several.
      - If it is V(none), gone or broken, V(state=absent) forgets the images and warns about those that stay.
    type: str
    choices: [auto, containerd, k3s, rke2, crio, none]
    default: auto
  state:
    description: V(absent) removes the images that this module imported.
    type: str
    choices: [present, absent]
    default: present
"""

EXAMPLES = r"""
- name: Import the driver's image
  zerocopy.rdma.container_image:
    name: registry.k8s.io/networking/dranet:v1.4.0
    archive: "{{ inventory_dir }}/images/dranet-1.4.0.tar"

- name: Remove the imported images
  zerocopy.rdma.container_image:
    state: absent
"""

RETURN = r"""
changes:
  description: Images that were imported or removed or, in check mode, would be, with their IDs before and after.
  returned: success
  type: list
  elements: dict
  sample:
    - {kind: image, name: "registry.k8s.io/networking/dranet:v1.4.0", before: null, after: "sha256:6f0e..."}
id:
  description: ID of the image for this node (digest of the image configuration).
  returned: O(state=present)
  type: str
  sample: sha256:6f0e9d3c6f6d7b7e2b0f6e9d3c6f6d7b7e2b0f6e9d3c6f6d7b7e2b0f6e9d3c6f
runtime:
  description: Container runtime of the node.
  returned: O(state=present)
  type: str
  sample: containerd
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.module import answer
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime import image_options, images


def main() -> None:
    module = AnsibleModule(
        argument_spec=image_options.ARGUMENTS, required_if=image_options.REQUIRED_IF, supports_check_mode=True
    )
    params, check = module.params, module.check_mode
    answer(module, lambda: images.converge(image_options.request(params, check), Files()))


if __name__ == "__main__":
    main()
