# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Archives of container images, as skopeo, buildkit, ``ctr images export`` and ``docker save`` write them."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from pathlib import Path
from typing import Any, Dict, List, Sequence, Tuple

_OCI = "application/vnd.oci.image"


class Layout:
    """An OCI image layout to which images are added; ``files`` are those of the archive."""

    def __init__(self) -> None:
        self.files: Dict[str, bytes] = {"oci-layout": b'{"imageLayoutVersion": "1.0.0"}'}
        self._index: List[Dict[str, Any]] = []

    def blob(self, kind: str, content: bytes, stored: bool = True) -> Dict[str, Any]:
        digest = hashlib.sha256(content).hexdigest()
        if stored:
            self.files[f"blobs/sha256/{digest}"] = content
        return {"mediaType": f"{_OCI}.{kind}", "digest": f"sha256:{digest}", "size": len(content)}

    def manifest(self, architecture: str, system: str = "linux", complete: bool = True) -> Tuple[Dict[str, Any], str]:
        """Its descriptor and the image's ID; what is not complete lacks its layer."""
        layer = self.blob("layer.v1.tar", f"layer of {architecture}".encode(), complete)
        config = self.blob("config.v1+json", _config(architecture, system))
        made = {"schemaVersion": 2, "config": config, "layers": [layer]}
        return self.blob("manifest.v1+json", json.dumps(made).encode()), config["digest"]

    def index(self, manifests: Sequence[Dict[str, Any]]) -> Dict[str, Any]:
        return self.blob("index.v1+json", json.dumps({"schemaVersion": 2, "manifests": manifests}).encode())

    def add(self, descriptor: Dict[str, Any], **annotations: str) -> None:
        names = {"containerd": "io.containerd.image.name", "reference": "org.opencontainers.image.ref.name"}
        self._index.append({**descriptor, "annotations": {names[key]: name for key, name in annotations.items()}})

    def write(self, path: Path) -> Path:
        return write(path, {**self.files, "index.json": json.dumps({"manifests": self._index}).encode()})


def _config(architecture: str, system: str = "linux") -> bytes:
    return json.dumps({"architecture": architecture, "os": system, "rootfs": {}}).encode()


def docker(path: Path, name: str, architecture: str = "amd64") -> str:
    """Write what older Dockers save; returns the image's ID."""
    config = _config(architecture)
    digest = hashlib.sha256(config).hexdigest()
    listed = [{"Config": f"{digest}.json", "RepoTags": [name], "Layers": ["a/layer.tar"]}]
    write(path, {f"{digest}.json": config, "a/layer.tar": b"", "manifest.json": json.dumps(listed).encode()})
    return f"sha256:{digest}"


def oci(path: Path, name: str, architecture: str = "amd64") -> str:
    """Write a layout with one image; returns its ID."""
    layout = Layout()
    descriptor, identity = layout.manifest(architecture)
    layout.add(descriptor, reference=name)
    layout.write(path)
    return identity


def write(path: Path, files: Dict[str, bytes]) -> Path:
    with tarfile.open(str(path), "w") as out:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            out.addfile(member, io.BytesIO(content))
    return path
