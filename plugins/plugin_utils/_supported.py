# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Which ansible-core the collection is for: Ansible itself only warns (``requires_ansible``), and goes on."""

from __future__ import annotations

from typing import List

from ansible import release

# As meta/runtime.yml and docs/compatibility.md say.
OLDEST, NEWEST = (2, 18), (2, 21)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2])


def problems(version: str = release.__version__) -> List[str]:
    """What is wrong with a version that is too old."""
    if _numbers(version) >= OLDEST:
        return []
    return [f"ansible-core {version} is too old: {_supported()} are supported. Install one of them."]


def warnings(version: str = release.__version__) -> List[str]:
    """What to say of a version that nobody has tried."""
    if _numbers(version) <= NEWEST:
        return []
    return [f"ansible-core {version} is newer than what this collection was tested with: {_supported()}"]


def _supported() -> str:
    return " to ".join(".".join(map(str, each)) for each in (OLDEST, NEWEST))
