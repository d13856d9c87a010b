# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Builds of the same files have the same bytes, and are what ansible-galaxy installs."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile

import pytest

from ansible_collections.zerocopy.rdma.tests.release.repack import repacked

CONTENT = {"README.md": b"# x\n", "plugins/run.sh": b"#!/bin/sh\n", "meta/runtime.yml": b"---\n"}


def _built(order: list[str], mtime: int, umask: int) -> bytes:
    """A tarball as ansible-galaxy makes it, with files in the order of the directory."""
    listed = [{"name": ".", "ftype": "dir", "format": 1}]
    listed += [{"name": name, "chksum_sha256": hashlib.sha256(CONTENT[name]).hexdigest()} for name in order]
    files = json.dumps({"files": listed, "format": 1}, indent=True).encode()
    manifest = {"collection_info": {"version": "1.0.0"}, "file_manifest_file": {}}
    manifest["file_manifest_file"] = {"name": "FILES.json", "chksum_sha256": hashlib.sha256(files).hexdigest()}
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        everything = {"MANIFEST.json": json.dumps(manifest, indent=True).encode(), "FILES.json": files}
        for name, content in {**everything, **{name: CONTENT[name] for name in order}}.items():
            member = tarfile.TarInfo(name)
            member.size, member.mtime, member.uid, member.uname = len(content), mtime, umask, "me"
            member.mode = (0o755 if name.endswith(".sh") else 0o644) & ~umask
            archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()


@pytest.fixture
def once() -> bytes:
    return repacked(_built(sorted(CONTENT), 1_700_000_000, 0o022), 1_600_000_000)


def test_order_time_mode_and_user_make_no_difference(once):
    assert repacked(_built(sorted(CONTENT, reverse=True), 1_800_000_000, 0o077), 1_600_000_000) == once


def test_content_and_checksums_are_right(once):
    with tarfile.open(fileobj=io.BytesIO(once)) as archive:
        content = {member.name: file.read() for member in archive.getmembers() if (file := archive.extractfile(member))}
        modes = {member.name: member.mode for member in archive.getmembers()}
    manifest, listed = json.loads(content.pop("MANIFEST.json")), json.loads(files := content.pop("FILES.json"))
    assert content == CONTENT
    assert manifest["file_manifest_file"]["chksum_sha256"] == hashlib.sha256(files).hexdigest()
    assert manifest["collection_info"] == {"version": "1.0.0"}
    assert {entry["name"]: entry.get("chksum_sha256") for entry in listed["files"]} == {
        ".": None,
        **{name: hashlib.sha256(text).hexdigest() for name, text in CONTENT.items()},
    }
    assert modes["plugins/run.sh"] == 0o755
    assert modes["README.md"] == 0o644


def test_the_time_is_the_one_asked_for(once):
    with tarfile.open(fileobj=io.BytesIO(once)) as archive:
        assert {member.mtime for member in archive.getmembers()} == {1_600_000_000}
