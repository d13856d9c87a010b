# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The IDs of an image in an archive on the controller, which nodes compare with what they have."""

from __future__ import annotations

from typing import Any, Dict, Mapping

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import images


class UnusableError(Exception):
    """An archive that is none, or has another image."""


def with_ids(options: Mapping[str, Any]) -> Dict[str, Any]:
    """Options of ``container_image`` for a node: ``ids`` instead of ``archive``, unless they are given.

    :raises UnusableError: the archive cannot be read, or does not hold the image.
    """
    arguments = dict(options)
    archive = arguments.pop("archive", None)
    if archive and "ids" not in arguments:
        path, name = str(archive), str(arguments.get("name"))
        try:
            found = images.images(path)
        except images.ArchiveError as error:
            raise UnusableError(f"archive is {path!r}, which {error}") from error
        if name not in found:
            listed = ", ".join(sorted(found)) or "no image with a name"
            raise UnusableError(f"archive is {path!r}, which contains {listed}, not {name}")
        arguments["ids"] = found[name]
    return arguments
