# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple

Run = Callable[..., Dict[str, Any]]


def test_an_image(run_part: Run, tmp_path: Path) -> None:
    main = tmp_path / "etc/containerd/config.toml"
    main.parent.mkdir(parents=True)
    main.write_text("version = 2\n")
    (tmp_path / "var/lib").mkdir(parents=True)
    root = str(tmp_path)
    predicted = run_part("runtime", root=root, _ansible_check_mode=True)
    done = run_part("runtime", root=root)
    assert done == predicted
    assert (done["changed"], done["restarted"], done["restart_pending"]) == (True, False, False)
    assert (done["runtime"], done["unit"], done["config_version"]) == ("containerd", "containerd.service", 2)
    assert (done["nri"]["enabled"], done["handlers"]) == (True, ["runc"])
    assert run_part("runtime", root=root)["changed"] is False
    changed = run_part("runtime", root=root, request_timeout="1m", _ansible_diff=True)
    assert [change["name"] for change in changed["changes"]] == ["/etc/containerd/conf.d/90-zerocopy-rdma-nri.toml"]
    assert 'plugin_request_timeout = "1m"' in changed["diff"][0]["after"]
    without = run_part("runtime", root=root, memlock="")
    assert (without["changed"], "handlers" in without) == (True, False)
    assert run_part("runtime", root=root, state="absent")["changed"] is True
    assert main.read_text() == "version = 2\n"
    assert [path.name for path in main.parent.iterdir()] == ["config.toml"]


def test_bad_input_is_named(run_part: Run, tmp_path: Path) -> None:
    rows: List[Tuple[Dict[str, Any], str]] = [
        # More nanoseconds than a signed 64-bit number, which is what Go has, and just as many.
        ({"request_timeout": "2562048h"}, "request_timeout is '2562048h', it must be a duration"),
        ({"registration_timeout": "9223372036854775807ns"}, "from 1s to 1h"),
        ({"request_timeout": "soon"}, "request_timeout is 'soon', it must be a duration"),
        ({"runtime": "docker"}, "value of runtime must be one of: auto, containerd, k3s, rke2, crio"),
        ({"memlock": "8M"}, "memlock is '8M', it must be unlimited or a number of bytes"),
        ({"memlock_handlers": ["kata"], "runtime": "containerd"}, "memlock_handlers: the runtime has no handler kata"),
        ({}, "runtime: no container runtime found"),
    ]
    for options, said in rows:
        failed = run_part("runtime", root=str(tmp_path), **options)
        assert failed["failed"] is True
        assert said in failed["msg"]
