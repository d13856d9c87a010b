# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The reference of an image from the four variables that each image has, and what an archive of images holds."""

from __future__ import annotations

import hashlib
import io
import json
import os
import posixpath
import tarfile
from dataclasses import dataclass
from typing import Any, Dict, Iterator, Mapping, Optional, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import image as values_image
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import PlanError, checked, wrong

Images = Dict[str, Dict[str, str]]

# What no archive of images has; reading on would fill the memory. Registries refuse manifests of more than 4 MiB. Of
# files, an archive has some for each layer.
_LARGEST = 8 << 20
_MOST_MEMBERS = 100000
# Bytes of all documents that are read, with what reading one costs anyway.
_ALL, _EACH = 64 << 20, 4096
_NAME, _REFERENCE = "io.containerd.image.name", "org.opencontainers.image.ref.name"


class ArchiveError(Exception):
    """The file is not what it should be. The text follows a "which"."""


def images(path: str) -> Images:
    """By name and architecture (Go's: ``amd64``, ``arm64``) the ID of each image for Linux that is complete.

    The ID is the digest of the image's configuration, as ``id`` in the CRI.

    :raises ArchiveError: there is no such file, or it is none of this kind.
    """
    found: Images = {}
    try:
        with _File(path) as file, tarfile.open(fileobj=file, mode="r:") as tar:
            archive = _Archive(tar)
            for name, architecture, identity in archive.images():
                found.setdefault(name, {})[architecture] = identity
    except OSError as error:
        raise ArchiveError(f"cannot be read: {error.strerror or error}") from error
    except (tarfile.TarError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ArchiveError("is not an uncompressed tar archive of container images") from error
    return found


class _File(io.FileIO):
    """A file that is not read in large pieces: tarfile reads the names of a member whole, whatever size they claim."""

    def read(self, size: Optional[int] = -1) -> bytes:
        if size is None or not 0 <= size <= _LARGEST:
            raise ArchiveError(f"has a header of more than {_LARGEST} bytes")
        return super().read(size) or b""


class _Archive:
    def __init__(self, tar: tarfile.TarFile) -> None:
        self._tar = tar
        self._left = _ALL
        self._members: Dict[str, tarfile.TarInfo] = {}
        for count, member in enumerate(tar):
            if count >= _MOST_MEMBERS:
                raise ArchiveError(f"has more than {_MOST_MEMBERS} files")
            if member.isfile():
                self._members[posixpath.normpath(member.name)] = member

    def images(self) -> Iterator[Tuple[str, str, str]]:
        if "oci-layout" not in self._members:
            for entry in self._json("manifest.json"):
                config, identity = self._json(entry["Config"]), self._digest(entry["Config"])
                for name in entry.get("RepoTags") or []:
                    yield name, config["architecture"], identity
            return
        for entry in self._json("index.json")["manifests"]:
            name = _name(entry.get("annotations") or {})
            for architecture, identity in self._platforms(entry) if name else ():
                yield name, architecture, identity

    def _platforms(self, descriptor: Mapping[str, Any]) -> Iterator[Tuple[str, str]]:
        """Architecture and ID of everything below an index or a manifest."""
        document = self._blob(descriptor) or {}
        for entry in document.get("manifests") or []:
            yield from self._platforms(entry)
        config = self._blob(document["config"]) if "config" in document else None
        # An archive of one platform can have the index of all platforms, and attestations besides images.
        if config and config.get("os") == "linux" and all(map(self._has, document["layers"])):
            yield config["architecture"], document["config"]["digest"]

    def _has(self, descriptor: Mapping[str, Any]) -> bool:
        return _path(descriptor) in self._members

    def _blob(self, descriptor: Mapping[str, Any]) -> Optional[Dict[str, Any]]:
        return self._json(_path(descriptor)) if self._has(descriptor) else None

    def _json(self, path: str) -> Any:
        return json.loads(self._content(path))

    def _digest(self, path: str) -> str:
        return "sha256:" + hashlib.sha256(self._content(path)).hexdigest()

    def _content(self, path: str) -> bytes:
        member = self._members[posixpath.normpath(path)]
        # A sparse one can be of any size in an archive of some bytes.
        if member.size > _LARGEST:
            raise ArchiveError(f"has a {path} of more than {_LARGEST} bytes")
        # An index can name itself, or ten others that each name ten others.
        self._left -= member.size + _EACH
        if self._left < 0:
            raise ArchiveError("has more indexes, manifests and configurations than any archive of images")
        handle = self._tar.extractfile(member)
        return handle.read() if handle else b""


def _path(descriptor: Mapping[str, Any]) -> str:
    algorithm, _colon, digits = descriptor["digest"].partition(":")
    return f"blobs/{algorithm}/{digits}"


def _name(annotations: Mapping[str, str]) -> str:
    """The name that containerd gives it, or none: a tag alone says nothing of the repository."""
    reference = annotations.get(_NAME) or annotations.get(_REFERENCE, "")
    return reference if set(reference) & set("/:@") else ""


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


def reference(names: ImageVariables, values: Mapping[str, Any], known: variables.Options) -> str:
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
        found = images(path)
    except ArchiveError as error:
        raise PlanError(wrong(names.archive, path, f"which {error}")) from error
    if image not in found:
        listed = ", ".join(sorted(found)) or "no image with a name"
        right = f"it must contain {image} ({names.image} and {names.version})"
        raise PlanError(wrong(names.archive, path, f"which contains {listed}: {right}"))
