# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Links of the README lead into the repository, at the version."""

from __future__ import annotations

import pytest

from ansible_collections.zerocopy.rdma.tests.release.addresses import absolute

AT = "https://example.org/x"


@pytest.mark.parametrize(
    ("relative", "full"),
    [
        ("[a](docs/a.md#b)", f"[a]({AT}/blob/1.0.0/docs/a.md#b)"),
        ("[a](LICENSE), [b](c.md)", f"[a]({AT}/blob/1.0.0/LICENSE), [b]({AT}/blob/1.0.0/c.md)"),
        ("![a](docs/a.png)", f"![a]({AT}/raw/1.0.0/docs/a.png)"),
        ('<img src="docs/a.svg" alt="x">', f'<img src="{AT}/raw/1.0.0/docs/a.svg" alt="x">'),
        ("[a]: docs/a.md", f"[a]: {AT}/blob/1.0.0/docs/a.md"),
        # These stay.
        ("[a](#b)", "[a](#b)"),
        ("[a](https://example.net/b)", "[a](https://example.net/b)"),
        ("[a](mailto:b@example.net)", "[a](mailto:b@example.net)"),
        ("```\n[a](b)\n```\n", "```\n[a](b)\n```\n"),
    ],
)
def test_links(relative, full):
    assert absolute(relative, AT, "1.0.0") == full
