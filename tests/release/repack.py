# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""``python tests/release/repack.py TARBALL SECONDS``: the collection that ansible-galaxy built, in reproducible bytes.

ansible-galaxy lists files in the order of their directory on disk and stores when they were written, so two builds of
one commit differ. Here files are in the order of their names and have one time, ``SECONDS`` since 1970. The checksums
in ``FILES.json`` stay; that of ``FILES.json`` in ``MANIFEST.json`` is made anew.

Two machines get the same bytes if their zlib compresses alike; the tar file in it is the same everywhere.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import sys
import tarfile
from pathlib import Path
from typing import Any

_MANIFEST, _FILES = "MANIFEST.json", "FILES.json"


def _bytes(document: dict[str, Any]) -> bytes:
    return json.dumps(document, indent=1).encode()


def _plain(member: tarfile.TarInfo, seconds: int) -> tarfile.TarInfo:
    """The member without what depends on the machine that built it."""
    plain = tarfile.TarInfo(member.name)
    plain.type, plain.linkname, plain.size, plain.mtime = member.type, member.linkname, member.size, seconds
    plain.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
    return plain


def repacked(built: bytes, seconds: int) -> bytes:
    """The tarball again, with what it has in one order, with one time and without users."""
    with tarfile.open(fileobj=io.BytesIO(built), mode="r:gz") as archive:
        members = archive.getmembers()
        content = {member.name: archive.extractfile(member).read() for member in members if member.isreg()}  # type: ignore[union-attr]
    listed, manifest = json.loads(content[_FILES]), json.loads(content[_MANIFEST])
    listed["files"].sort(key=lambda entry: entry["name"])
    content[_FILES] = _bytes(listed)
    manifest["file_manifest_file"]["chksum_sha256"] = hashlib.sha256(content[_FILES]).hexdigest()
    content[_MANIFEST] = _bytes(manifest)

    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        # Galaxy reads the manifests first.
        for member in sorted(members, key=lambda member: (member.name not in (_MANIFEST, _FILES), member.name)):
            plain = _plain(member, seconds)
            if member.isreg():
                plain.size = len(content[member.name])
            archive.addfile(plain, io.BytesIO(content[member.name]) if member.isreg() else None)
    return gzip.compress(packed.getvalue(), compresslevel=9, mtime=seconds)


if __name__ == "__main__":
    tarball = Path(sys.argv[1])
    written = tarball.with_name(f".{tarball.name}")
    written.write_bytes(repacked(tarball.read_bytes(), int(sys.argv[2])))
    os.replace(written, tarball)
