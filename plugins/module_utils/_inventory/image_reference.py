# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The reference of an image from the four variables that each image has."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Mapping

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import image_archive as archive
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables as plan_variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import image as values_image
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import PlanError, checked, wrong


@dataclass(frozen=True)
class ImageVariables:
    """Names of the variables: image without tag, version (a tag without ``v``), digest, and path of an archive."""

    image: str
    version: str
    digest: str
    archive: str


def tagged(names: ImageVariables, values: Mapping[str, Any]) -> str:
    """The image with its tag, as an archive has it."""
    return f"{values[names.image]}:v{str(values[names.version]).lstrip('v')}"


def reference(names: ImageVariables, values: Mapping[str, Any], known: plan_variables.Options) -> str:
    """The image as pods name it: by digest, if it is pulled and there is one. Raises PlanError."""
    checked(names.image, values[names.image], values_image.repository)
    version, digest = values[names.version], values[names.digest]
    checked(names.version, version, values_image.version)
    image = tagged(names, values)
    if values[names.archive]:
        # Of an imported image the runtime knows no digest of a registry.
        _check_archive(names, values[names.archive], image)
        return image
    if not digest:
        return image
    checked(names.digest, digest, values_image.digest)
    default = known[names.version]["default"]
    if digest == known[names.digest]["default"] and version.lstrip("v") != default:
        right = f"which is the digest of {default}, not of {version}: set the digest of {version}, or none"
        raise PlanError(wrong(names.digest, digest, right))
    return f"{image}@{digest}"


def _check_archive(names: ImageVariables, path: str, image: str) -> None:
    """:raises PlanError: the archive does not contain the image."""
    if not os.path.isabs(path):
        raise PlanError(wrong(names.archive, path, "it must be an absolute path where Ansible runs"))
    try:
        found = archive.images(path)
    except archive.ArchiveError as error:
        raise PlanError(wrong(names.archive, path, f"which {error}")) from error
    if image not in found:
        listed = ", ".join(sorted(found)) or "no image with a name"
        right = f"it must contain {image} ({names.image} and {names.version})"
        raise PlanError(wrong(names.archive, path, f"which contains {listed}: {right}"))
