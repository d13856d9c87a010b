# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The bill of materials of a release, as SPDX 2.3 in JSON: the collection, and all that it installs or asks for.

Everything is read from the files that pin it: the defaults of roles (images, charts), ``galaxy.yml``,
``meta/ee-requirements.txt`` and the Containerfiles. What an image contains is not listed: its registry says that.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import yaml

_COLLECTION = "SPDXRef-collection"
_NOTHING = "NOASSERTION"
_PIP = re.compile(r"\b([a-z][a-z0-9-]+)==([0-9][\w.]*)")


@dataclass(frozen=True)
class Part:
    """Something beside the collection.

    :arg name: of an image without tag, a chart or a package.
    :arg version: as its registry has it, or empty if none is pinned.
    :arg kind: ``oci``, ``pypi`` or ``galaxy``, the type of its package URL.
    :arg digest: SHA-256 in hexadecimal, or empty if it is not pinned.
    :arg needed: ``DEPENDS_ON`` what the collection needs, ``OPTIONAL_DEPENDENCY_OF`` what variables can turn on.
    :arg source: the file that pins it.
    """

    name: str
    version: str
    kind: str
    source: str
    digest: str = ""
    needed: bool = False

    def url(self) -> str:
        """The package URL, or for what has no type of its own where it is."""
        if self.kind == "pypi":
            return f"pkg:pypi/{self.name}" + (f"@{self.version}" if self.version else "")
        if self.kind == "galaxy":
            return f"pkg:generic/ansible-collection/{self.name}"
        last = self.name.rpartition("/")[2]
        at = f"@sha256%3A{self.digest}" if self.digest else ""
        tag = f"&tag={self.version}" if self.version else ""
        return f"pkg:oci/{last}{at}?repository_url={self.name}{tag}"


def _digest(text: str) -> str:
    return text.rpartition("sha256:")[2]


def _of_role(path: Path, source: str) -> Iterator[Part]:
    """Images and charts of a role's defaults. Those of examples have their tag in the variable."""
    values = yaml.safe_load(path.read_text("utf-8")) or {}
    for variable, value in values.items():
        if not isinstance(value, str) or not value:
            continue
        if variable.endswith("_image"):
            image, _colon, tag = value.partition(":")
            # The names of DRANET's variables are not those of its image.
            versions = (variable[: -len("image")] + "version", "rdma_driver_dranet_version")
            version = tag or next((f"v{values[name]}" for name in versions if values.get(name)), "")
            yield Part(image, version, "oci", source, _digest(values.get(variable[: -len("image")] + "digest", "")))
        elif variable.endswith("_chart") and value.startswith("oci://"):
            version = values.get(variable[: -len("chart")] + "version", "")
            yield Part(value[len("oci://") :], str(version), "oci", source)


def parts(checkout: Path) -> list[Part]:
    """In the order of their sources."""
    found: list[Part] = []
    for path in sorted(checkout.glob("roles/*/defaults/main.yml")):
        found += _of_role(path, str(path.relative_to(checkout)))
    for path in sorted(checkout.glob("roles/*/files/Containerfile")):
        source, text = str(path.relative_to(checkout)), path.read_text("utf-8")
        for image, tag in re.findall(r"^FROM ([^:\s]+):(\S+)", text, re.MULTILINE):
            found.append(Part(image, tag, "oci", source))
        found += [Part(name, version, "pypi", source) for name, version in _PIP.findall(text)]
    for line in (checkout / "meta/ee-requirements.txt").read_text("utf-8").splitlines():
        found.append(Part(re.split(r"[<>=]", line)[0], "", "pypi", "meta/ee-requirements.txt", needed=True))
    for name in yaml.safe_load((checkout / "galaxy.yml").read_text("utf-8"))["dependencies"]:
        found.append(Part(name, "", "galaxy", "galaxy.yml", needed=True))
    return found


def _package(identity: str, part: Part) -> dict[str, Any]:
    package: dict[str, Any] = {
        "SPDXID": identity,
        "name": part.name,
        "downloadLocation": _NOTHING,
        "filesAnalyzed": False,
        "licenseConcluded": _NOTHING,
        "licenseDeclared": _NOTHING,
        "copyrightText": _NOTHING,
        "primaryPackagePurpose": "CONTAINER" if part.kind == "oci" else "LIBRARY",
        "comment": f"Named in {part.source}." + ("" if part.digest or part.kind != "oci" else " No digest is pinned."),
        "externalRefs": [
            {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": part.url()}
        ],
    }
    if part.version:
        package["versionInfo"] = part.version
    if part.digest:
        package["checksums"] = [{"algorithm": "SHA256", "checksumValue": part.digest}]
    return package


def document(checkout: Path, tarball: Path, seconds: int) -> dict[str, Any]:
    """The whole document, the same at each call.

    :arg checkout: that of the release, from which the tarball was built.
    :arg seconds: when it was released, since 1970.
    """
    metadata = yaml.safe_load((checkout / "galaxy.yml").read_text("utf-8"))
    checksum = hashlib.sha256(tarball.read_bytes()).hexdigest()
    found = parts(checkout)
    identities = [f"SPDXRef-{index}-{re.sub(r'[^A-Za-z0-9.-]', '-', part.name)}" for index, part in enumerate(found, 1)]
    collection = {
        "SPDXID": _COLLECTION,
        "name": "zerocopy.rdma",
        "versionInfo": metadata["version"],
        "packageFileName": tarball.name,
        "supplier": "Organization: the zerocopy.rdma authors",
        "downloadLocation": f"git+{metadata['repository']}@{metadata['version']}",
        "filesAnalyzed": False,
        "checksums": [{"algorithm": "SHA256", "checksumValue": checksum}],
        "licenseConcluded": "GPL-3.0-or-later",
        "licenseDeclared": "GPL-3.0-or-later",
        "copyrightText": "2026 the zerocopy.rdma authors",
        "primaryPackagePurpose": "APPLICATION",
    }
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"zerocopy.rdma {metadata['version']}",
        "documentNamespace": f"{metadata['repository']}/spdx/{metadata['version']}-{checksum[:12]}",
        "creationInfo": {
            "created": datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creators": ["Organization: the zerocopy.rdma authors"],
        },
        "packages": [collection, *(_package(*both) for both in zip(identities, found))],
        "relationships": [
            {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": _COLLECTION},
            *(
                {"spdxElementId": _COLLECTION, "relationshipType": "DEPENDS_ON", "relatedSpdxElement": identity}
                if part.needed
                else {
                    "spdxElementId": identity,
                    "relationshipType": "OPTIONAL_DEPENDENCY_OF",
                    "relatedSpdxElement": _COLLECTION,
                }
                for identity, part in zip(identities, found)
            ),
        ],
    }
