# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The commit of a release: version, addresses and changelog, in a clone of the checkout."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from . import state

# It is skipped until there is a repository to name.
_SKIPPED = re.compile(r"^skip_list:\n(?:  #.*\n)*  - galaxy\[no-repository\]\n", re.MULTILINE)
# The parents of sets of objects state the version of the collection.
_STATED = Path("plugins/module_utils/_provision/applyset/parent.py")


def _set(text: str, key: str, value: str) -> str:
    """galaxy.yml with a value of one line."""
    line = f"{key}: {value}"
    if re.search(rf"^{key}:", text, re.MULTILINE):
        return re.sub(rf"^{key}:.*$", lambda _match: line, text, flags=re.MULTILINE)
    return text.replace("\ndependencies:", f"\n{line}\ndependencies:")


def _replace(path: Path, pattern: str, by: str) -> None:
    old = path.read_text("utf-8")
    if (new := re.sub(pattern, by, old, flags=re.MULTILINE)) != old:
        path.write_text(new, "utf-8")


def prepare(clone: Path, version: str, addresses: Mapping[str, str]) -> None:
    """Write all but the changelog. What is new since the last release gets its version.

    :arg addresses: of galaxy.yml, by key.
    """
    before = state.read(clone).version
    galaxy = clone / "galaxy.yml"
    text = galaxy.read_text("utf-8")
    for key, value in {"version": version, **addresses}.items():
        text = _set(text, key, value)
    galaxy.write_text(text, "utf-8")
    lint = clone / ".ansible-lint"
    lint.write_text(_SKIPPED.sub("", lint.read_text("utf-8")), "utf-8")
    added = rf"^( *version_added: ){re.escape(before)}$"
    for path in state.documented(clone):
        _replace(path, added, rf"\g<1>{version}")
    _replace(clone / _STATED, rf'^VERSION = "v{re.escape(before)}"$', f'VERSION = "v{version}"')


def commit(clone: Path, version: str, seconds: int) -> None:
    """The changelog of the fragments, then the commit with its tag, all with the time of the commit below."""
    date = subprocess.run(["date", "-u", f"-d@{seconds}", "+%F"], capture_output=True, text=True, check=True)
    release = ["antsibull-changelog", "release", "--version", version, "--date", date.stdout.strip()]
    # What modules are new, it asks Ansible, which finds the collection below such directories only.
    subprocess.run([*release, "--reload-plugins"], cwd=clone, check=True)
    (clone / "changelogs/.plugin-cache.yaml").unlink(missing_ok=True)
    time = f"@{seconds} +0000"
    environment = {**os.environ, "GIT_AUTHOR_DATE": time, "GIT_COMMITTER_DATE": time}
    for command in (
        ["add", "--all"],
        ["commit", "--quiet", "--message", f"build: release {version}"],
        ["tag", "--annotate", version, "--message", f"zerocopy.rdma {version}"],
    ):
        subprocess.run(["git", *command], cwd=clone, env=environment, check=True)
