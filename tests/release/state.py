# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What a checkout says of versions and addresses, and why it cannot be released."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

_ADDRESS = re.compile(r"https://[a-z0-9][a-z0-9.-]*(?::[0-9]+)?(?:/[\w.~-]+)+")
_VERSION = re.compile(r"(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)")
_ADDED = re.compile(r"^ *version_added: *[\"']?([\w.]+)", re.MULTILINE)
# As commands name it: zerocopy.rdma:==1.0.0, zerocopy-rdma-1.0.0.tar.gz.
_INSTALLED = re.compile(r"zerocopy(?:\.rdma:[=<>!]*|-rdma-)([0-9]+\.[0-9]+\.[0-9]+)")


def numbers(version: str) -> tuple[int, ...]:
    """:raises ValueError: it is none of semantic versioning, without a suffix."""
    if not _VERSION.fullmatch(version):
        raise ValueError(version)
    return tuple(int(part) for part in version.split("."))


def git(checkout: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=checkout, capture_output=True, text=True, check=False)
    return done.stdout.rstrip() if done.returncode == 0 else ""


@dataclass(frozen=True)
class State:
    """``version`` is that in galaxy.yml, the next one until there is a release of that name.

    ``fragments`` are the changes since the last release. ``named`` are the versions that files name, by "file:line".
    """

    metadata: dict[str, Any]
    changed: tuple[str, ...]
    tags: frozenset[str]
    released: tuple[str, ...]
    fragments: tuple[str, ...]
    added: dict[str, str]
    installed: dict[str, str]
    identity: bool

    @property
    def version(self) -> str:
        return str(self.metadata["version"])


def _named(checkout: Path, pattern: re.Pattern[str], files: Iterator[Path]) -> dict[str, str]:
    found = {}
    for path in sorted(files):
        text = path.read_text("utf-8")
        for match in pattern.finditer(text):
            line = text.count("\n", 0, match.start(1)) + 1
            found[f"{path.relative_to(checkout)}:{line}"] = match[1]
    return found


def documented(checkout: Path) -> Iterator[Path]:
    """The files that have a version_added."""
    for pattern in ("plugins/**/*.py", "plugins/**/*.yml", "roles/*/meta/argument_specs.yml"):
        yield from checkout.glob(pattern)


def read(checkout: Path) -> State:
    changelog = yaml.safe_load((checkout / "changelogs/changelog.yaml").read_text("utf-8"))
    fragments = [path.name for path in (checkout / "changelogs/fragments").glob("[!.]*.y*ml")]
    pages = [*checkout.glob("*.md"), *checkout.glob("docs/**/*.md")]
    return State(
        metadata=yaml.safe_load((checkout / "galaxy.yml").read_text("utf-8")),
        changed=tuple(git(checkout, "status", "--porcelain").splitlines()),
        tags=frozenset(git(checkout, "tag", "--list").split()),
        released=tuple(changelog["releases"]),
        fragments=tuple(sorted(fragments)),
        added=_named(checkout, _ADDED, documented(checkout)),
        installed=_named(checkout, _INSTALLED, (page for page in pages if page.name != "CHANGELOG.md")),
        identity=bool(git(checkout, "config", "user.name") and git(checkout, "config", "user.email")),
    )


def address_problem(variable: str, value: str, required: bool = False) -> Iterator[str]:
    if not value and required:
        yield f"{variable} is missing: it must be the address of the public repository, https://<host>/<path>"
    elif value and not _ADDRESS.fullmatch(value):
        yield f"{variable}={value}: it must be an address like https://<host>/<path>, without a slash at its end"
    elif value.endswith(".git"):
        yield f"{variable}={value}: it must be the address that people open, without .git"


def rebuilt(state: State, version: str) -> bool:
    """The checkout is a release already, whose tarball is only built once more."""
    return version in state.released and version == state.version and not state.fragments


def problems(state: State, repository: str, version: str) -> Iterator[str]:
    """Why this checkout cannot become that version, each in a sentence.

    :arg version: the one asked for.
    """
    yield from address_problem("REPOSITORY", repository, required=True)
    if state.changed:
        yield f"the checkout has changes that are not committed: {', '.join(line[3:] for line in state.changed[:5])}"
    try:
        wanted = numbers(version)
    except ValueError:
        yield f"VERSION={version}: it must be three numbers, like 1.0.0"
        return
    if rebuilt(state, version):
        if state.metadata.get("repository") != repository:
            yield (
                f"REPOSITORY={repository}: {version} is released already, and its galaxy.yml says "
                f"{state.metadata.get('repository')}"
            )
    else:
        newest = max((numbers(each) for each in state.released), default=())
        if wanted <= newest:
            last = ".".join(map(str, newest))
            yield f"VERSION={version}: it must be newer than {last}, the last release in changelogs/changelog.yaml"
        if not state.fragments:
            yield "changelogs/fragments is empty, so the release would have no notes: describe what changes for users"
        if version in state.tags or f"v{version}" in state.tags:
            yield f"VERSION={version}: there is a tag of that name already"
        if not state.identity:
            yield "the release is a commit, and git does not know whose: set user.name and user.email"
    for place, added in state.added.items():
        if added != state.version and (not _VERSION.fullmatch(added) or numbers(added) > wanted):
            yield f"{place}: version_added is {added}, but the release is {version}"
    for place, installed in state.installed.items():
        if installed != version:
            yield f"{place}: names version {installed} of the collection, but the release is {version}"
