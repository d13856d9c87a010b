# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple

from ansible_collections.zerocopy.rdma.plugins.modules import container_memlock, containerd_nri

Run = Callable[..., Dict[str, Any]]


def test_an_image(run_module: Run, tmp_path: Path) -> None:
    main = tmp_path / "etc/containerd/config.toml"
    main.parent.mkdir(parents=True)
    main.write_text("version = 2\n")
    (tmp_path / "var/lib").mkdir(parents=True)
    root = str(tmp_path)
    for module in (container_memlock, containerd_nri):
        predicted = run_module(module, root=root, _ansible_check_mode=True)
        done = run_module(module, root=root)
        assert done == predicted
        assert (done["changed"], done["restarted"], done["restart_pending"]) == (True, False, False)
        assert (done["runtime"], done["unit"], done["config_version"]) == ("containerd", "containerd.service", 2)
        assert run_module(module, root=root)["changed"] is False
    assert done["nri"]["enabled"] is True
    assert run_module(container_memlock, root=root)["handlers"] == ["runc"]
    changed = run_module(containerd_nri, root=root, request_timeout="1m", _ansible_diff=True)
    assert [change["name"] for change in changed["changes"]] == ["/etc/containerd/conf.d/90-zerocopy-rdma-nri.toml"]
    assert 'plugin_request_timeout = "1m"' in changed["diff"][0]["after"]
    for module in (containerd_nri, container_memlock):
        assert run_module(module, root=root, state="absent")["changed"] is True
    assert main.read_text() == "version = 2\n"
    assert [path.name for path in main.parent.iterdir()] == ["config.toml"]


def test_bad_input_is_named(run_module: Run, tmp_path: Path) -> None:
    rows: List[Tuple[Any, Dict[str, Any], str]] = [
        (containerd_nri, {"request_timeout": "soon"}, "request_timeout: 'soon' must be a duration"),
        (containerd_nri, {"runtime": "docker"}, "value of runtime must be one of: auto, containerd, k3s, rke2, crio"),
        (container_memlock, {"memlock": "8M"}, "memlock: '8M' must be 'unlimited' or a number of bytes"),
        (
            container_memlock,
            {"handlers": ["kata"], "runtime": "containerd"},
            "handlers: the runtime has no handler kata",
        ),
        (containerd_nri, {}, "runtime: no container runtime found"),
    ]
    for module, options, said in rows:
        failed = run_module(module, root=str(tmp_path), **options)
        assert failed["failed"] is True
        assert said in failed["msg"]
