# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What does not belong into a tarball is found, and what is missing in it."""

from __future__ import annotations

import pytest

from ansible_collections.zerocopy.rdma.tests.release.content import _NEEDED, wrong

GOOD = [name.replace("*", "x") for name in _NEEDED]


def test_what_users_need_is_enough():
    assert wrong(GOOD, released=False) == []
    assert wrong([*GOOD, "CHANGELOG.md"], released=True) == []


def test_a_release_needs_its_changelog():
    assert wrong(GOOD, released=True) == ["CHANGELOG.md is missing"]


@pytest.mark.parametrize("name", GOOD)
def test_each_is_missed(name):
    assert len(wrong([other for other in GOOD if other != name], released=False)) == 1


@pytest.mark.parametrize(
    "name",
    [
        "Makefile",
        "tests/unit/test_x.py",
        ".gitignore",
        "docs/.draft.md",
        "roles/x/tests/test.yml",
        "plugins/lookup/x.py",
        "plugins/modules/x.pyc",
        "docs/notes.md~",
        "zerocopy-rdma-0.1.0.tar.gz",
        "build/log/x",
    ],
)
def test_each_is_too_much(name):
    (only,) = wrong([*GOOD, name], released=False)
    assert only.startswith(f"{name} is not for users")
