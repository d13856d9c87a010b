# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Files that a run writes on the controller, in directories of others: verify's metrics are in node_exporter's."""

from __future__ import annotations

import os

import pytest

from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _files
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils.local_user import (
    NOBODY,
    as_nobody,
    within_reach,
)


@pytest.mark.parametrize("kind", ["link", "fifo", "huge"])
def test_metrics_are_a_new_file_whatever_the_owner_of_the_directory_made(kind):
    with within_reach() as top:
        secret, theirs = top / "secret", top / "exporter"
        secret.write_text("root's\n")
        secret.chmod(0o600)
        theirs.mkdir()
        os.chown(theirs, NOBODY, NOBODY)
        path = theirs / "x.prom"

        def trap():
            if kind == "link":
                path.symlink_to(secret)
            elif kind == "fifo":
                os.mkfifo(path)
            else:
                os.truncate(os.open(path, os.O_CREAT | os.O_WRONLY), 3 << 30)

        assert as_nobody(trap) is None
        written = _files.artifact(str(path), {})
        for check in (True, False):
            (difference,) = _files.changed({written: "metric 1\n"}, check)
            # Nobody sees in a diff what the link leads to.
            assert (difference["before"], difference["after_header"]) == ("", str(path))
        assert (path.read_text(), path.lstat().st_uid, secret.read_text()) == ("metric 1\n", 0, "root's\n")
        assert _files.changed({written: "metric 1\n"}, False) == []


def test_a_link_of_ones_own_to_a_report_stays(tmp_path):
    (tmp_path / "latest.html").symlink_to("site/report.html")
    path = _files.artifact("latest.html", {_files.ARTIFACTS: str(tmp_path)})
    assert len(_files.changed({path: "page\n"}, False)) == 1
    assert (tmp_path / "latest.html").is_symlink()
    assert (tmp_path / "site/report.html").read_text() == "page\n"
