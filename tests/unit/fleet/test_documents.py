# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What documents list and link, held against what there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ansible_collections.zerocopy.rdma.tests import links
from ansible_collections.zerocopy.rdma.tests.docsite import build

CHECKOUT = Path(__file__).resolve().parents[3]
README, CONTRIBUTING, INDEX = (
    (CHECKOUT / name).read_text("utf-8") for name in ("README.md", "CONTRIBUTING.md", "docs/README.md")
)
# Of more than one room: each other's parts, and what is imported by others.
COMPOSED = {
    "site",
    "teardown",
    "compare",
    "images",
    "plan",
    "provision_cluster",
    "provision_result",
    "summary",
    "migrate_nodes",
    "access",
    "matched_hosts",
}


def quoted(text: str) -> set[str]:
    return set(re.findall(r"`([\w.]+)`", text))


def stems(pattern: str) -> set[str]:
    return {path.stem for path in CHECKOUT.glob(pattern)}


def rooms() -> list[list[str]]:
    """The cells of CONTRIBUTING's table of rooms, by its heading."""
    rows = [line.strip("|").split("|") for line in CONTRIBUTING.splitlines() if line.startswith("|")]
    heading = next(index for index, row in enumerate(rows) if row[0].strip() == "room")
    return rows[heading + 2 : heading + 8]


@pytest.mark.parametrize(
    ("column", "there"),
    [
        (2, stems("plugins/modules/*.py")),
        (3, stems("roles/*")),
        (4, {f"{name}.yml" for name in stems("playbooks/*.yml") - COMPOSED}),
    ],
)
def test_contributing_has_all_parts_of_each_room(column: int, there: set[str]) -> None:
    named = [quoted(row[column]) for row in rooms()]
    assert set().union(*named) == there
    # Each is in one room.
    assert sum(map(len, named)) == len(there)


# Those that Red Hat's certification and Ansible's inclusion ask for.
SECTIONS = [
    "Description",
    "Use cases",
    "Requirements",
    "Installation",
    "Testing",
    "Contributing",
    "Support",
    "Release notes",
    "Related information",
    "License",
]


def test_readme_has_all_sections_and_can_be_read_at_once() -> None:
    headings = re.findall(r"^## (.+)$", README, re.MULTILINE)
    assert [heading for heading in headings if heading in SECTIONS] == SECTIONS
    assert len(README.split()) <= 1500


def test_the_index_has_every_page_once() -> None:
    pages = [page for _heading, pages in build.sections(INDEX) for page in pages]
    assert sorted([*pages, "README"]) == sorted(stems("docs/*.md"))


def test_readme_leads_to_the_index_and_to_each_task() -> None:
    linked = set(re.findall(r"\(docs/([\w-]+)\.md", README))
    tasks = {"see-my-fleet", "prepare", "claims", "prove", "migrating", "operate", "uninstall"}
    assert {"README", *tasks} <= linked


def test_every_target_that_contributing_names_is_one_of_make() -> None:
    makefile = (CHECKOUT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    assert set(re.findall(r"(?:`|^)make ([a-z-]+)", CONTRIBUTING + README, re.MULTILINE)) <= targets


@pytest.mark.parametrize(
    "page", ["README.md", "CONTRIBUTING.md", *(f"docs/{name}.md" for name in sorted(stems("docs/*.md")))]
)
def test_what_a_page_links_exists(page: str) -> None:
    text = (CHECKOUT / page).read_text("utf-8")
    links = {link.partition("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link}
    assert {link for link in links if not ((CHECKOUT / page).parent / link).exists()} == set()


def test_what_a_tarball_lacks_is_named() -> None:
    page = "[a](docs/a.md#the-first-one) [b](tests/b.md) [c](#none) [d](https://example.org/d) <collection>/roles/e"
    files = {"README.md": page, "docs/a.md": "## The *first* one\n[up](../README.md) [e](#first)"}
    gone = [
        "README.md: #none",
        "README.md: <collection>/roles/e",
        "README.md: tests/b.md",
        "docs/a.md: #first",
    ]
    assert links.missing(files) == gone


def test_the_files_that_the_architecture_names_exist() -> None:
    """In diagrams, the end of a path stands for the file."""
    text = (CHECKOUT / "docs/architecture.md").read_text("utf-8")
    every = [path for top in ("plugins", "roles", "playbooks", "tests") for path in (CHECKOUT / top).rglob("*.*")]
    named = set(re.findall(r"[\w/]+\.(?:py|yml)\b", re.sub(r"\]\([^)]*\)", "", text)))
    assert {name for name in named if not any(path.as_posix().endswith(f"/{name}") for path in every)} == set()
    assert len(named) > 20
