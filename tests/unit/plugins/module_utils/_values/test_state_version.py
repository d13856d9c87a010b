# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The rule for versions of what a run leaves behind."""

from __future__ import annotations

from typing import Any, Optional

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._values.state_version import (
    NewerVersionError,
    VersionError,
    known,
    major,
)


@pytest.mark.parametrize(("stated", "unstated", "version"), [(1, None, 1), (3, None, 3), (None, 1, 1), (2, 1, 2)])
def test_all_versions_until_the_newest_are_known(stated: Any, unstated: Optional[int], version: int) -> None:
    assert known(stated, 3, unstated) == version


def test_a_newer_one_is_refused_with_what_to_do() -> None:
    with pytest.raises(NewerVersionError) as caught:
        known(4, 3)
    assert str(caught.value) == (
        "has version 4, which a newer version of this collection wrote; this one reads versions up to 3: "
        "update the collection"
    )


@pytest.mark.parametrize("stated", [None, 0, -1, True, "1", 1.0, [1], {}])
def test_what_is_no_version_is_told_from_a_newer_one(stated: Any) -> None:
    with pytest.raises(VersionError):
        known(stated, 3)


@pytest.mark.parametrize(
    ("release", "version"),
    [
        ("v0.1.0", 1),
        ("v1.0.0", 1),
        ("1.12.3-rc.1", 1),
        ("v2.0.0", 2),
        ("v10", 10),
        ("", None),
        ("v", None),
        ("1x", None),
        ("01.2", None),
        ("v-1.0", None),
    ],
)
def test_of_a_release_the_first_number_counts(release: str, version: Optional[int]) -> None:
    assert major(release) == version
