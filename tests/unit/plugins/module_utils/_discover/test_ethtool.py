# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Loading pyroute2, each time in a fresh Python."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

LOADER = "from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import ethtool\n"


def run(code: str, *first: Path) -> None:
    path = [str(entry) for entry in first] + sys.path
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(path))
    done = subprocess.run(
        [sys.executable, "-c", LOADER + code], env=environment, stderr=subprocess.PIPE, check=False, text=True
    )
    assert done.returncode == 0, done.stderr


def test_only_the_needed_parts_are_loaded_and_the_rest_stays_usable() -> None:
    run(
        "import sys\n"
        "assert 'pyroute2.ethtool.ioctl' not in sys.modules\n"
        "assert ethtool.ethtool().IoctlEthtool\n"
        "assert 'pyroute2' not in sys.modules and 'asyncio' not in sys.modules\n"
        "from pyroute2 import IPRoute\n"
        "from pyroute2.ethtool import ioctl\n"
        "assert ioctl is ethtool.ethtool() and IPRoute().close() is None\n"
    )


@pytest.mark.parametrize("error", ["ImportError", "TypeError", "AttributeError"])
def test_a_broken_installation_counts_as_none(tmp_path: Path, error: str) -> None:
    for package in ("pyroute2", "pyroute2/ethtool"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text(f"raise {error}('broken')\n")
    run("assert ethtool.ethtool() is None\n", tmp_path)


def test_a_version_whose_parts_need_the_whole_is_loaded_as_a_whole(tmp_path: Path) -> None:
    for package in ("pyroute2", "pyroute2/ethtool"):
        (tmp_path / package).mkdir()
    (tmp_path / "pyroute2/__init__.py").write_text("whole = True\n")
    (tmp_path / "pyroute2/ethtool/__init__.py").write_text("")
    (tmp_path / "pyroute2/ethtool/ioctl.py").write_text("from pyroute2 import whole\n")
    run("import pyroute2\nassert ethtool.ethtool().whole and pyroute2.whole\n", tmp_path)
