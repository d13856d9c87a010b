# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""``python tests/release/content.py TARBALL``: the tarball has what users need, and nothing else.

A file that is new at the top of the checkout is in the tarball unless ``build_ignore`` in ``galaxy.yml`` names it, so
what may be there is listed here once more.
"""

from __future__ import annotations

import fnmatch
import json
import re
import sys
import tarfile
from pathlib import Path
from typing import Iterable

_NEEDED = (
    "CONTRIBUTING.md",
    "FILES.json",
    "LICENSE",
    "MANIFEST.json",
    "README.md",
    "changelogs/changelog.yaml",
    "docs/*.md",
    "inventory/hosts.yml",
    "meta/ee-bindep.txt",
    "meta/ee-requirements.txt",
    "meta/execution-environment.yml",
    "meta/runtime.yml",
    "playbooks/site.yml",
    "plugins/modules/*.py",
    "requirements.txt",
    "roles/*/README.md",
)
# Of a release.
_CHANGELOG = "CHANGELOG.md"
_ALLOWED = (*_NEEDED, _CHANGELOG, "requirements.yml")
_DIRECTORIES = {name.partition("/")[0] for name in _ALLOWED if "/" in name}
# Ansible reads no other directories of a collection's plugins; the last two are for what these import.
_PLUGINS = {"action", "doc_fragments", "filter", "modules", "module_utils", "plugin_utils"}
_STRAY = re.compile(r"(^|/)(\.[^/]*|__pycache__|tests|build)(/|$)|\.(pyc|orig|rej|swp|log|gz)$|~$")
# Galaxy takes 20 MB.
_MOST_BYTES = 5_000_000


def wrong(names: Iterable[str], released: bool) -> list[str]:
    """What is there and should not be, or should be and is not.

    :arg names: of all files, relative to the collection.
    :arg released: the changelog has this version.
    """
    names = sorted(names)
    wanted = (*_NEEDED, _CHANGELOG) if released else _NEEDED
    found = [f"{pattern} is missing" for pattern in wanted if not fnmatch.filter(names, pattern)]
    for name in names:
        top, _slash, rest = name.partition("/")
        if rest:
            allowed = top in _DIRECTORIES and (top != "plugins" or rest.partition("/")[0] in _PLUGINS)
        else:
            allowed = name in _ALLOWED
        if not allowed or _STRAY.search(name):
            found.append(f"{name} is not for users: add it to build_ignore in galaxy.yml, or to {Path(__file__).name}")
    return found


def main(tarball: Path) -> list[str]:
    with tarfile.open(tarball) as archive:
        names = [member.name for member in archive.getmembers() if not member.isdir()]
        manifest, changelog = (
            archive.extractfile(name).read().decode()  # type: ignore[union-attr]
            for name in ("MANIFEST.json", "changelogs/changelog.yaml")
        )
    version = json.loads(manifest)["collection_info"]["version"]
    found = wrong(names, released=re.search(rf"^  {re.escape(version)}:", changelog, re.MULTILINE) is not None)
    size = tarball.stat().st_size
    return found + ([f"{size} bytes are more than {_MOST_BYTES}"] if size > _MOST_BYTES else [])


if __name__ == "__main__":
    found = main(Path(sys.argv[1]))
    sys.exit("\n".join([f"{sys.argv[1]}:", *found]) if found else 0)
