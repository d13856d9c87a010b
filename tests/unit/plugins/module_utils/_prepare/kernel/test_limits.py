# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Whose limit of locked memory is lower than ours: what pam_limits makes of other lines of limits.conf(5)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, List

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.kernel.converge import converge
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.kernel.request import SPEC

MINE = "/etc/security/limits.d/90-zerocopy-rdma.conf"
WINS = "takes precedence over '{} - memlock unlimited' in " + MINE + ", so users of the domain '{}' can lock {} KiB"
BOTH = f"takes precedence over '* - memlock unlimited' in {MINE}, so the hard limit is not set for users of the domain"


def made(root: Path, files: Dict[str, str]) -> Dict[Path, str]:
    """These files below /etc/security, or where their names say."""
    (root / "var/lib").mkdir(parents=True)
    found = {}
    for name, text in files.items():
        parent = "" if "/" in name else "etc/security/" if name == "limits.conf" else "etc/security/limits.d/"
        path = root / f"{parent}{name}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        found[path] = text
    return found


def call(root: Path, check: bool = False, **options: Any) -> Dict[str, Any]:
    defaults = {name: spec.get("default") for name, spec in SPEC.items()}
    return converge({**defaults, "root": str(root), **options}, check)


@pytest.mark.parametrize(
    ("files", "told"),
    [
        # A later file, in the order of names.
        (
            {"95-site.conf": "# Ours\n\n\t*  HARD\tmemlock 64 # low\n"},
            [f"/etc/security/limits.d/95-site.conf, line 3: '*  HARD\\tmemlock 64' {WINS.format('*', '*', 64)}"],
        ),
        ({"89-site.conf": "* - memlock 64\nroot - memlock 64\n", "limits.conf": "* - memlock 64\n"}, []),
        (
            {"limits.conf": "* - memlock 1\n", "95.conf": "* soft memlock 64\n", "96.conf": "* soft memlock 8192\n"},
            [f"/etc/security/limits.d/96.conf, line 1: '* soft memlock 8192' {WINS.format('*', '*', 8192)}"],
        ),
        ({"95-site.conf": "* - memlock 64\n* - memlock unlimited\n"}, []),
        # A user counts more than a group, and a group more than everybody, in any file.
        (
            {"limits.conf": "@hpc - memlock 65536\nalice soft memlock 64\n"},
            [
                f"/etc/security/limits.conf, line 1: '@hpc - memlock 65536' {WINS.format('*', '@hpc', 65536)}",
                f"/etc/security/limits.conf, line 2: 'alice soft memlock 64' {WINS.format('*', 'alice', 64)}",
            ],
        ),
        ({"limits.conf": "@hpc - memlock 64\n", "10.conf": "@hpc - memlock -1\n", "99.conf": "@hpc - nproc 9\n"}, []),
        ({"limits.conf": "@hpc - memlock unlimited\nalice - memlock infinity\n1000: hard memlock -\n"}, []),
        # What counts more for the soft limit keeps a later line for both from setting the hard one.
        (
            {"limits.conf": "@hpc soft memlock unlimited\nalice soft memlock 64\n"},
            [
                f"/etc/security/limits.conf, line 1: '@hpc soft memlock unlimited' {BOTH} '@hpc' either",
                f"/etc/security/limits.conf, line 2: 'alice soft memlock 64' {WINS.format('*', 'alice', 64)}",
            ],
        ),
        ({"limits.conf": "@hpc hard memlock unlimited\n", "95.conf": "bob soft memlock unlimited\n"}, []),
        # The soft limit is at most the hard one.
        (
            {"limits.conf": "1000: soft memlock unlimited\n1000: hard memlock 128\n"},
            [f"/etc/security/limits.conf, line 2: '1000: hard memlock 128' {WINS.format('*', '1000:', 128)}"],
        ),
        # Root has a line of its own, so that what counts less or was read before is nothing to it.
        ({"limits.conf": "root - memlock 64\n", "80.conf": "@root - memlock unlimited\n"}, []),
        (
            {"95-site.conf": "root hard memlock 64\n"},
            [f"/etc/security/limits.d/95-site.conf, line 1: 'root hard memlock 64' {WINS.format('root', 'root', 64)}"],
        ),
        (
            {"95-site.conf": "0:99 - memlock 64\n"},
            [
                f"/etc/security/limits.d/95-site.conf, line 1: '0:99 - memlock 64' {WINS.format(*domain, 64)}"
                for domain in (("root", "root"), ("*", "0:99"))
            ],
        ),
        # Without item and value, nothing is set.
        (
            {"limits.conf": "* -\n@hpc - memlock\nalice -\n"},
            [
                "/etc/security/limits.conf, line 3: 'alice -' exempts users of the domain 'alice' from all limits, so"
                f" that {MINE} has no effect on them"
            ],
        ),
        # What pam_limits passes over or does not read.
        (
            {
                "95-site.conf": "* - memlock lots\n* both memlock 64\n% - memlock 64\n%hpc - memlock 64\n"
                ": - memlock 64\n1:x - memlock 64\n* - memlock\n* - memlock -2\n",
                "96-site.conf.bak": "* - memlock 64\n",
                ".97-site.conf": "* - memlock 64\n",
                "etc/security/limits.d/99-site.conf/file": "",
            },
            [],
        ),
        (
            {"95-site.conf": "* - memlock 64 KiB\r\n"},
            [f"/etc/security/limits.d/95-site.conf, line 1: '* - memlock 64 KiB\\r' {WINS.format('*', '*', 64)}"],
        ),
        # Those of the distribution, unless there is one of the same name.
        (
            {
                "usr/etc/security/limits.conf": "bob - memlock 1\n",
                "usr/etc/security/limits.d/99.conf": "* - memlock 0\n",
            },
            [
                f"/usr/etc/security/limits.d/99.conf, line 1: '* - memlock 0' {WINS.format('*', '*', 0)}",
                f"/usr/etc/security/limits.conf, line 1: 'bob - memlock 1' {WINS.format('*', 'bob', 1)}",
            ],
        ),
        (
            {
                "limits.conf": "",
                "99.conf": "",
                "usr/etc/security/limits.conf": "bob - memlock 1\n",
                "usr/etc/security/limits.d/99.conf": "* - memlock 0\n",
            },
            [],
        ),
        # Somebody else's lines in the file that we write to.
        (
            {"90-zerocopy-rdma.conf": "* - memlock 64\nalice - memlock 64\n"},
            [f"{MINE}, line 2: 'alice - memlock 64' {WINS.format('*', 'alice', 64)}"],
        ),
    ],
)
def test_lines_that_leave_less_than_the_limit_are_told(tmp_path: Path, files: Dict[str, str], told: List[str]) -> None:
    others = made(tmp_path, files)
    for check in (True, False, False):
        assert call(tmp_path, check, user_memlock="unlimited")["warnings"] == told
    assert call(tmp_path, user_memlock="unlimited")["changed"] is False
    others.pop(Path(f"{tmp_path}{MINE}"), None)
    assert {path: path.read_bytes().decode() for path in others} == others


def test_less_than_what_is_asked_for(tmp_path: Path) -> None:
    made(tmp_path, {"95-site.conf": "* - memlock 64\n"})
    assert call(tmp_path)["warnings"] == []
    (warning,) = call(tmp_path, user_memlock="65")["warnings"]
    assert "takes precedence over '* - memlock 65' in" in warning
    assert call(tmp_path, user_memlock="64")["warnings"] == []


def test_a_login_whose_limits_are_read_elsewhere(tmp_path: Path) -> None:
    vendor = "session required pam_limits.so conf=/srv/vendor.conf noaudit\n"
    made(
        tmp_path,
        {
            "etc/pam.d/sshd": "# session required pam_limits.so conf=/a\n-session\t[default=ignore] \\\n pam_limits.so"
            " debug conf=/srv/own.conf # x\n",
            "etc/pam.d/login": "session required pam_limits.so\n",
            "etc/pam.d/vsftpd": vendor,
            "usr/lib/pam.d/login": vendor,
            "usr/lib/pam.d/systemd-user": "session required pam_env.so conf=/x\n" + vendor,
        },
    )
    assert call(tmp_path, user_memlock="unlimited")["warnings"] == [
        "/etc/pam.d/sshd: '-session [default=ignore] pam_limits.so debug conf=/srv/own.conf' reads /srv/own.conf only,"
        f" so that {MINE} has no effect there",
        "/usr/lib/pam.d/systemd-user: 'session required pam_limits.so conf=/srv/vendor.conf noaudit' reads"
        f" /srv/vendor.conf only, so that {MINE} has no effect there",
    ]
