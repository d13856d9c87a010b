# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Each reason why a checkout cannot be released, and what the commit of a release changes."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from ansible_collections.zerocopy.rdma.tests.release import commit, state

CHECKOUT = Path(__file__).resolve().parents[3]
REPOSITORY = "https://example.org/rdma"
READY = state.State(
    metadata={"version": "1.1.0", "repository": REPOSITORY},
    changed=(),
    tags=frozenset({"1.0.0"}),
    released=("1.0.0",),
    fragments=("a.yml",),
    added={"plugins/modules/a.py:5": "1.0.0", "plugins/modules/b.py:5": "1.1.0"},
    installed={"README.md:9": "1.1.0"},
    identity=True,
)
DONE = replace(READY, metadata={"version": "1.0.0", "repository": REPOSITORY}, fragments=(), added={}, installed={})


def test_what_is_ready():
    assert list(state.problems(READY, REPOSITORY, "1.1.0")) == []
    # A release is built once more from its tag, and there is nothing to commit.
    assert list(state.problems(replace(DONE, identity=False), REPOSITORY, "1.0.0")) == []
    # Another number than the one intended.
    assert list(state.problems(replace(READY, installed={}), REPOSITORY, "2.0.0")) == []


@pytest.mark.parametrize(
    ("found", "repository", "version", "said"),
    [
        (READY, "", "1.1.0", "REPOSITORY is missing"),
        (READY, "http://example.org/rdma", "1.1.0", "REPOSITORY=http://example.org/rdma: it must be an address like"),
        (READY, "https://example.org/", "1.1.0", "REPOSITORY=https://example.org/: it must be an address like"),
        (READY, REPOSITORY + ".git", "1.1.0", "without .git"),
        (replace(READY, changed=(" M README.md",)), REPOSITORY, "1.1.0", "not committed: README.md"),
        (READY, REPOSITORY, "v1.1", "VERSION=v1.1: it must be three numbers"),
        (replace(READY, installed={}), REPOSITORY, "0.9.0", "VERSION=0.9.0: it must be newer than 1.0.0"),
        (replace(READY, fragments=()), REPOSITORY, "1.1.0", "changelogs/fragments is empty"),
        (replace(READY, tags=frozenset({"v1.1.0"})), REPOSITORY, "1.1.0", "there is a tag of that name"),
        (replace(READY, identity=False), REPOSITORY, "1.1.0", "set user.name and user.email"),
        (replace(READY, added={"a.py:5": "1.2.0"}), REPOSITORY, "1.1.0", "a.py:5: version_added is 1.2.0"),
        (replace(READY, added={"a.py:5": "soon"}), REPOSITORY, "1.1.0", "a.py:5: version_added is soon"),
        (replace(READY, installed={"README.md:9": "1.0.0"}), REPOSITORY, "1.1.0", "README.md:9: names version 1.0.0"),
        (DONE, "https://example.org/other", "1.0.0", "1.0.0 is released already, and its galaxy.yml says"),
        (replace(DONE, fragments=("b.yml",)), REPOSITORY, "1.0.0", "it must be newer than 1.0.0"),
    ],
)
def test_each_refusal(found, repository, version, said):
    problems = list(state.problems(found, repository, version))
    assert [said in problem for problem in problems].count(True) == 1, problems


def test_this_checkout_names_no_version_that_is_to_come():
    found = state.read(CHECKOUT)
    assert found.added
    # Pages may name the next release already.
    committed = replace(found, changed=(), identity=True, installed={}, tags=frozenset())
    assert list(state.problems(committed, found.metadata.get("repository", REPOSITORY), found.version)) == []


PARENT = "plugins/module_utils/_provision/applyset/parent.py"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("galaxy.yml", ".ansible-lint", "changelogs/changelog.yaml", "plugins/modules/rdma_facts.py", PARENT):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text((CHECKOUT / name).read_text("utf-8"), "utf-8")
    return tmp_path


def test_the_commit_sets_version_and_addresses(tree):
    before = yaml.safe_load((tree / "galaxy.yml").read_text("utf-8"))
    for version in ("8.0.0", "9.0.0"):
        addresses = {"repository": REPOSITORY, "issues": f"{REPOSITORY}/issues"}
        commit.prepare(tree, version, addresses)
        assert yaml.safe_load((tree / "galaxy.yml").read_text("utf-8")) == {**before, **addresses, "version": version}
    added = re.findall(r"version_added: (\S+)", (tree / "plugins/modules/rdma_facts.py").read_text("utf-8"))
    old = re.findall(r"version_added: (\S+)", (CHECKOUT / "plugins/modules/rdma_facts.py").read_text("utf-8"))
    assert added == ["9.0.0" if each == before["version"] else each for each in old]
    assert '\nVERSION = "v9.0.0"\n' in (tree / PARENT).read_text("utf-8")
    # Galaxy's rule about a repository holds from the first release.
    assert "galaxy[no-repository]" not in (tree / ".ansible-lint").read_text("utf-8")
