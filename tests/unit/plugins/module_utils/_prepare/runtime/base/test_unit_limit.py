# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Limits that a unit gets from drop-ins that are not its own (systemd.unit(5))."""

from __future__ import annotations

from pathlib import Path
from typing import Dict, List, Tuple

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.base import unit_limit
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.base.keys import RuntimePlan
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils._prepare.runtime.test_files import (
    NODES,
    call,
    make,
)

UNIT = "rke2-server.service"
WANTED = 64 * 2**30
ETC, RUN, USR = "etc/systemd/system", "run/systemd/system", "usr/lib/systemd/system"


def limited(root: Path, values: Dict[str, str]) -> Tuple[str, List[str], RuntimePlan]:
    for path, value in values.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(f"[Service]\nLimitMEMLOCK={value}\n" if value else "")
    plan = RuntimePlan()
    unit_limit.add(Files(str(root)), UNIT, WANTED, plan)
    (file,) = plan.wanted
    assert file.path == f"/{ETC}/{UNIT}.d/90-zerocopy-rdma-memlock.conf"
    said = [warning.partition(" is read after ")[0] for warning in plan.warnings]
    return (file.content or "").rpartition("LimitMEMLOCK=")[2].strip(), said, plan


@pytest.mark.parametrize(
    "place", [f"{ETC}/service.d", f"{RUN}/service.d", f"{USR}/service.d", f"{ETC}/rke2-.service.d"]
)
def test_what_all_services_get(tmp_path: Path, place: str) -> None:
    limit, said, plan = limited(tmp_path, {f"{place}/10-hpc.conf": "infinity"})
    assert (limit, said) == ("infinity", [])
    assert f"/{place}/*.conf" in plan.globs
    limit, said, _plan = limited(tmp_path, {f"{place}/10-hpc.conf": "8M", f"{place}/zz-limits.conf": "8M"})
    assert (limit, said) == (str(WANTED), [f"/{place}/zz-limits.conf"])


@pytest.mark.parametrize(
    ("values", "limit"),
    [
        # By name, wherever they are.
        ({f"{ETC}/service.d/20.conf": "infinity", f"{ETC}/{UNIT}.d/10.conf": "8M"}, "infinity"),
        ({f"{ETC}/service.d/10.conf": "infinity", f"{USR}/{UNIT}.d/20.conf": "8M"}, str(WANTED)),
        # Those of all services come after the others of the same name, in whatever directory, also after an empty one.
        ({f"{ETC}/service.d/10.conf": "infinity", f"{USR}/{UNIT}.d/10.conf": "8M"}, str(WANTED)),
        ({f"{ETC}/service.d/10.conf": "infinity", f"{USR}/rke2-.service.d/10.conf": ""}, str(WANTED)),
        # Between a unit and its prefix, the directory comes first.
        ({f"{ETC}/rke2-.service.d/10.conf": "infinity", f"{USR}/{UNIT}.d/10.conf": "8M"}, "infinity"),
        ({f"{ETC}/rke2-.service.d/10.conf": "infinity", f"{ETC}/{UNIT}.d/10.conf": "8M"}, str(WANTED)),
        # Of other units.
        (
            {f"{ETC}/rke2.service.d/10.conf": "infinity", f"{ETC}/rke2-server-.service.d/1.conf": "infinity"},
            str(WANTED),
        ),
        ({f"{ETC}/socket.d/10.conf": "infinity", f"{ETC}/rke2-agent.service.d/10.conf": "infinity"}, str(WANTED)),
    ],
)
def test_which_file_of_a_name_counts(tmp_path: Path, values: Dict[str, str], limit: str) -> None:
    assert limited(tmp_path, values)[:2] == (limit, [])


def test_a_limit_for_all_services_that_comes_later_is_seen(tmp_path: Path) -> None:
    root = make(tmp_path, NODES["containerd 2"])
    assert call(root, memlock=str(WANTED)).changes != []
    late = tmp_path / ETC / "service.d/zz.conf"
    late.parent.mkdir(parents=True)
    late.write_text("[Service]\nLimitMEMLOCK=8M\n")
    (warning,) = call(root, memlock=str(WANTED)).warnings
    assert warning.startswith(f"/{ETC}/service.d/zz.conf is read after ")
