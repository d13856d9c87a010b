# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The lists of Python packages agree: for users, for Execution Environments, and with versions, for a checkout."""

from __future__ import annotations

import re

from ansible_collections.zerocopy.rdma.plugins.module_utils._values.packages import PACKAGES
from ansible_collections.zerocopy.rdma.tests.docsite.examples import text


def packages(file: str) -> dict[str, str]:
    """Name and version, or bound, of each package in a file."""
    return dict(re.findall(r"^([a-z][\w-]*)([<>=].*)?$", text(file), re.MULTILINE))


def test_users_choose_versions_and_a_checkout_has_one_of_each() -> None:
    """Red Hat's certification refuses versions, and Ansible itself, in what a collection requires."""
    users, pinned = packages("requirements.txt"), packages("requirements-pinned.txt")
    assert set(pinned) == {*users, "ansible-core"}
    assert all(version.startswith("==") for version in pinned.values())
    assert not any("==" in version for version in users.values())
    assert not {"ansible", "ansible-core"} & set(users)
    assert set(PACKAGES.values()) == set(users)


def test_an_execution_environment_has_the_same() -> None:
    assert packages("meta/ee-requirements.txt") == packages("requirements.txt")
