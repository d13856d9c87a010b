# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What the kernel's part plans for a running node, and that a killed run is completed and taken back."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Tuple

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.kernel.config import ModprobeConfig, ModuleOption
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.kernel.converge import carry_out
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.kernel.initramfs import Initramfs
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.kernel.live import Loaded
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.kernel.plan import KernelPlan, KernelState, plan
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.kernel.request import KernelIntent, intent
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger.ledger import FileChange
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.command import Completed
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files, Stored

EXCLUSIVE = intent(netns_mode="exclusive")
IMAGE = Initramfs("6.8", "/boot/initrd.img-6.8", built=100, size=1)
KEY = "ib_core.netns_mode"


def node(**changes: Any) -> KernelState:
    """A node where ib_core is loaded and shared, and a pod has a network namespace."""
    have: Dict[str, Any] = {
        "boot": "first",
        "release": "6.8",
        "loaded": {"ib_core": Loaded()},
        "parameters": {KEY: "Y"},
        "namespaces": lambda: ["/run/netns/pod"],
        **changes,
    }
    return KernelState(**have)


def written(wanted: KernelIntent) -> List[FileChange]:
    files = [(file.path, (file.content or "").encode()) for file in wanted.files]
    return [FileChange(path, None, Stored(content, 0o644, 0, 0)) for path, content in files]


def removed(wanted: KernelIntent) -> List[FileChange]:
    return [FileChange(change.path, change.after, None, keep=False) for change in written(wanted)]


def summary(result: KernelPlan) -> Dict[str, Any]:
    return {
        "live": result.netns_mode,
        "reboot": bool(result.reboot_reasons),
        "not_effective": sorted(result.not_effective),
        "pending": {key: value["boot"] for key, value in result.notes.get("pending", {}).items()},
    }


ASKED = {"pending": {KEY: {"value": "0", "boot": "first"}}, "before": {KEY: "Y"}}
LINE = {"forced": ModprobeConfig(options=[ModuleOption(KEY, "1", "/proc/cmdline", (1, ""))])}


def test_a_reboot_is_asked_for_once() -> None:
    cases: List[Tuple[KernelState, Dict[str, Any], Optional[str], bool, List[str], Dict[str, str]]] = [
        # No other namespace: changed now, whatever an earlier run asked for.
        (node(namespaces=list), {}, "exclusive", False, [], {}),
        (node(namespaces=list, boot="second"), ASKED, "exclusive", False, [], {}),
        # It is as wanted, or ib_core is not there and will read the option.
        (node(parameters={KEY: "N"}), ASKED, None, False, [], {}),
        (node(parameters={}, loaded={}), {}, None, False, [], {}),
        # A reboot is asked for until there was one, and not again after it.
        (node(), {}, None, True, [], {KEY: "first"}),
        (node(), ASKED, None, True, [], {KEY: "first"}),
        (node(boot="second"), ASKED, None, False, [KEY], {KEY: "first"}),
        # Asked for another value: that is a new question.
        (node(boot="second"), {"pending": {KEY: {"value": "1", "boot": "first"}}}, None, True, [], {KEY: "second"}),
        # A reboot would not help.
        (node(config=LINE["forced"]), {}, None, False, [KEY], {}),
        (node(loaded={}, builtin=frozenset(["ib_core"])), {}, None, False, [KEY], {}),
    ]
    for have, notes, live, reboot, not_effective, pending in cases:
        expected = {"live": live, "reboot": reboot, "not_effective": not_effective, "pending": pending}
        assert summary(plan(EXCLUSIVE, have, notes, [])) == expected, have


def test_never_a_reboot_loop() -> None:
    notes: Dict[str, Any] = {}
    asked = []
    for boot in ("first", "second", "third", "fourth"):
        for _run in range(2):
            result = plan(EXCLUSIVE, node(boot=boot), notes, [] if notes else written(EXCLUSIVE))
            notes = result.notes
            asked.append(bool(result.reboot_reasons))
    assert asked == [True, True, False, False, False, False, False, False]


def test_an_initramfs_with_the_module() -> None:
    with_module = {"images": lambda: [IMAGE], "contained": lambda image, modules: frozenset(modules) & {"ib_core"}}
    rebuilding = intent(netns_mode="exclusive", update_initramfs=True)
    cases = [
        # Options are new, or newer than the image: outdated until rebuilt, which asks for one more reboot.
        (EXCLUSIVE, written(EXCLUSIVE), node(**with_module), {}, True, 0, True),
        (EXCLUSIVE, [], node(**with_module, modprobe_written=200, boot="second"), ASKED, True, 0, False),
        (rebuilding, [], node(**with_module, modprobe_written=200, boot="second"), ASKED, False, 1, True),
        (rebuilding, [], node(**with_module, modprobe_written=50, boot="second"), ASKED, False, 0, False),
        # Without the module in it, an image is as good as new.
        (rebuilding, written(EXCLUSIVE), node(images=lambda: [IMAGE]), {}, False, 0, True),
        # Taken back: the image has the options only if it was built after them.
        (intent(), removed(EXCLUSIVE), node(**with_module, modprobe_written=50), ASKED, True, 0, False),
        (intent(), removed(EXCLUSIVE), node(**with_module, modprobe_written=200), ASKED, False, 0, False),
    ]
    for wanted, files, have, notes, outdated, rebuilt, reboot in cases:
        result = plan(wanted, have, notes, files)
        kinds = [change.kind for change in result.changes]
        found = (result.initramfs_outdated, len(result.rebuild), kinds.count("initramfs"), bool(result.reboot_reasons))
        assert found == (outdated, rebuilt, rebuilt, reboot), (wanted, have)


def test_what_was_changed_live_is_put_back() -> None:
    have = node(parameters={KEY: "N"}, namespaces=list)
    result = plan(intent(), have, {"before": {KEY: "Y"}}, removed(EXCLUSIVE))
    assert (result.netns_mode, result.notes, result.reboot_reasons) == ("shared", {}, [])
    result = plan(intent(), node(parameters={KEY: "N"}), {"before": {KEY: "Y"}}, removed(EXCLUSIVE))
    assert (result.netns_mode, result.notes, len(result.reboot_reasons)) == (None, {}, 1)
    # ib_core goes, and its mode with it.
    result = plan(intent(), have, {"before": {KEY: "Y"}, "loaded": ["ib_core"], "wanted": ["ib_core"]}, [])
    assert (result.netns_mode, result.unload) == (None, ["ib_core"])


def test_other_options() -> None:
    wanted = intent(options={"mlx5_core": {"prof_sel": 3, "hidden": 1}}, blacklist=["irdma"])
    loaded = {"mlx5_core": Loaded(), "irdma": Loaded()}
    live = {"mlx5_core.prof_sel": "2", "mlx5_core.hidden": None}
    result = plan(wanted, node(loaded=loaded, parameters=live), {}, written(wanted))
    assert sorted(result.notes["pending"]) == ["blacklist irdma", "mlx5_core.hidden", "mlx5_core.prof_sel"]
    assert result.notes["before"] == {"mlx5_core.prof_sel": "2"}
    # A value that the kernel does not show counts as read after the reboot; the others did not help.
    again = plan(wanted, node(loaded=loaded, parameters=live, boot="second"), result.notes, [])
    assert (again.reboot_reasons, sorted(again.not_effective)) == ([], ["blacklist irdma", "mlx5_core.prof_sel"])


class Killed(BaseException):
    """What SIGKILL is to the process: nothing is cleaned up after it."""


class Machine(Files):
    """A directory in the place of the running node's root, and the kmod tools that work on it."""

    def __init__(self, root: str, budget: int = 10**6) -> None:
        super().__init__(root)
        self.live = True
        self.budget = budget

    def full(self, path: str) -> str:
        return Files(self.root).full(path)

    def spend(self) -> None:
        self.budget -= 1
        if self.budget < 0:
            raise Killed

    def write(self, path: str, stored: Stored) -> None:
        self.spend()
        super().write(path, stored)

    def remove(self, path: str) -> None:
        self.spend()
        super().remove(path)

    def modules(self) -> List[str]:
        return [line.split()[0] for line in (self.text("/proc/modules") or "").splitlines()]

    def _set(self, modules: Sequence[str]) -> None:
        holders = {"ib_core": ["ib_cm", "ib_umad"], "ib_cm": ["rdma_cm"]}
        lines = []
        for module in modules:
            users = [user for user in holders.get(module, []) if user in modules]
            listed = "".join(f"{user}," for user in users) or "-"
            lines.append(f"{module} 4096 {len(users)} {listed} Live 0x0\n")
        Path(self.full("/proc/modules")).write_text("".join(lines))

    def __call__(self, argv: Sequence[str], timeout: float = 60, stdin: Optional[str] = None) -> Completed:
        self.spend()
        tool, names = argv[0], [word for word in argv[1:] if not word.startswith("-")]
        modules = self.modules()
        if tool == "modprobe":
            needs = {"rdma_cm": ["ib_core", "ib_cm", "rdma_cm"], "ib_umad": ["ib_core", "ib_umad"]}
            for name in names:
                if name == "broken":
                    reason = "modprobe: ERROR: could not insert 'broken': Key was rejected by service"
                    return Completed(1, "", reason + "\n")
                for module in needs[name]:
                    self.spend()
                    modules += [module] if module not in modules else []
                    self._set(modules)
        elif tool == "rmmod":
            self._set([module for module in modules if module not in names])
        elif tool == "modinfo":
            return Completed(0, "netns_mode:Share device among net namespaces (bool)\n", "")
        return Completed(0, "", "")


def machine(root: Path, budget: int = 10**6) -> Machine:
    if not (root / "proc").exists():
        directory = root / "lib/modules/6.8"
        for made in (directory, root / "proc/sys/kernel/random", root / "etc/modprobe.d", root / "var/lib"):
            made.mkdir(parents=True)
        core = "kernel/drivers/infiniband/core/"
        (directory / "modules.dep").write_text(
            f"{core}ib_core.ko:\n{core}ib_cm.ko: {core}ib_core.ko\n{core}ib_umad.ko: {core}ib_core.ko\n"
            f"{core}rdma_cm.ko: {core}ib_cm.ko {core}ib_core.ko\nextra/broken.ko:\nkernel/fs/ext4.ko:\n"
        )
        (directory / "modules.builtin").write_text("kernel/net/tls.ko\n")
        (root / "proc/modules").write_text("ext4 4096 0 - Live 0x0\n")
        (root / "proc/sys/kernel/osrelease").write_text("6.8\n")
        (root / "proc/sys/kernel/random/boot_id").write_text("first\n")
        (root / "etc/modprobe.d/zerocopy-rdma.conf").write_text("# a stranger's file of this name\n")
    return Machine(str(root), budget)


def tree(root: Path) -> Dict[str, Any]:
    found: Dict[str, Any] = {}
    for directory, _names, names in os.walk(str(root)):
        found[directory] = None
        found.update((os.path.join(directory, name), Path(directory, name).read_bytes()) for name in names)
    return found


WANTED = intent(modules=["rdma_cm", "ib_umad", "tls", "ext4"], options={"ib_core": {"netns_mode": 0}})


def test_check_mode_predicts_and_absent_restores(tmp_path: Path) -> None:
    node_ = machine(tmp_path)
    before = tree(tmp_path)
    predicted = carry_out(node_, WANTED, True, node_)
    assert tree(tmp_path) == before
    done = carry_out(node_, WANTED, False, node_)
    assert (done["changes"], done["diff"]) == (predicted["changes"], predicted["diff"])
    assert [change["name"] for change in done["changes"] if change["kind"] == "module"] == [
        "ib_core",
        "ib_cm",
        "rdma_cm",
        "ib_umad",
    ]
    assert {name: entry["state"] for name, entry in done["modules"].items()} == {
        "rdma_cm": "loaded",
        "ib_umad": "loaded",
        "tls": "builtin",
        "ext4": "loaded",
    }
    settled = tree(tmp_path)
    assert carry_out(node_, WANTED, False, node_)["changed"] is False
    assert tree(tmp_path) == settled
    # Fewer modules: what only the dropped one needed goes.
    fewer = intent(modules=["ib_umad"], options=WANTED.options)
    assert carry_out(node_, fewer, True, node_)["changes"] == carry_out(node_, fewer, False, node_)["changes"]
    assert node_.modules() == ["ext4", "ib_core", "ib_umad"]
    predicted = carry_out(node_, intent(), True, node_)
    assert carry_out(node_, intent(), False, node_)["changes"] == predicted["changes"]
    assert tree(tmp_path) == before
    assert carry_out(node_, intent(), False, node_)["changed"] is False


def test_what_others_want_loaded_stays_loaded(tmp_path: Path) -> None:
    node_ = machine(tmp_path)
    carry_out(node_, WANTED, False, node_)
    theirs = tmp_path / "etc/modules-load.d/site.conf"
    theirs.write_text("# rdma_cm\n; rdma_cm\n\n ib-umad \n")
    (tmp_path / "usr/lib/modules-load.d").mkdir(parents=True)
    (tmp_path / "usr/lib/modules-load.d/site.conf").write_text("rdma_cm\n")
    carry_out(node_, intent(), False, node_)
    assert node_.modules() == ["ext4", "ib_core", "ib_umad"]
    assert theirs.exists()


def test_another_call_of_the_module_keeps_its_modules(tmp_path: Path) -> None:
    node_ = machine(tmp_path)
    carry_out(node_, intent(modules=["rdma_cm"]), False, node_)
    carry_out(node_, intent(name="other", modules=["rdma_cm"]), False, node_)
    carry_out(node_, intent(), False, node_)
    assert node_.modules() == ["ext4", "ib_core", "ib_cm", "rdma_cm"]


def test_killed_anywhere(tmp_path: Path) -> None:
    reference = machine(tmp_path / "reference")
    carry_out(reference, WANTED, False, reference)
    for wanted_first in (True, False):
        for budget in range(100):
            root = tmp_path / f"{wanted_first}{budget}"
            node_ = machine(root)
            before = tree(root)
            if not wanted_first:
                carry_out(node_, WANTED, False, node_)
            killed = machine(root, budget)
            try:
                carry_out(killed, WANTED if wanted_first else intent(), False, killed)
            except Killed:
                pass
            else:
                assert budget > 5
                break
            carry_out(node_, WANTED, False, node_)
            assert sorted(node_.modules()) == sorted(reference.modules())
            assert carry_out(node_, WANTED, False, node_)["changed"] is False
            carry_out(node_, intent(), False, node_)
            assert tree(root) == before, budget


@pytest.mark.parametrize("killed", [False, True])
def test_an_image_whose_rebuild_failed_is_rebuilt_by_the_next_run(tmp_path: Path, killed: bool) -> None:
    node_ = machine(tmp_path)
    image = tmp_path / "boot/initrd.img-6.8"
    image.parent.mkdir()
    image.write_text("image\n")
    before = tree(tmp_path)
    built: List[bool] = []
    works = True

    def runner(argv: Sequence[str], timeout: float = 60, stdin: Optional[str] = None) -> Completed:
        if argv[0] == "lsinitramfs":
            return Completed(0, "usr/lib/modules/6.8/ib_core.ko\n", "")
        if argv[0] == "update-initramfs":
            built.append(works)
            if killed and not works:
                raise Killed
            if not works:
                return Completed(1, "", "No space left on device")
            image.touch()
        return node_(argv, timeout, stdin)

    def rebuilt(result: Dict[str, Any]) -> List[str]:
        return [change["name"] for change in result["changes"] if change["kind"] == "initramfs"]

    gone = intent(update_initramfs=True)
    carry_out(node_, intent(options={"ib_core": {"netns_mode": 0}}, update_initramfs=True), False, runner)
    works = False
    with pytest.raises(Killed if killed else HostError):
        carry_out(node_, gone, False, runner)
    assert built == [True, False]
    # Who asks for no rebuild is told of it, and it is not forgotten.
    told = carry_out(node_, intent(), False, runner)
    assert (told["initramfs_outdated"], rebuilt(told)) == (True, [])
    works = True
    assert rebuilt(carry_out(node_, gone, True, runner)) == ["/boot/initrd.img-6.8"]
    assert rebuilt(carry_out(node_, gone, False, runner)) == ["/boot/initrd.img-6.8"]
    assert built == [True, False, True]
    assert carry_out(node_, gone, False, runner)["changed"] is False
    assert (tree(tmp_path), built) == (before, [True, False, True])


def test_an_image_that_somebody_else_has_rebuilt_since_is_left_alone() -> None:
    notes = {"rebuild": {IMAGE.path: {"built": IMAGE.built - 1, "modules": ["ib_core"]}}}
    result = plan(intent(update_initramfs=True), node(images=lambda: [IMAGE]), notes, [])
    assert (result.rebuild, result.notes, result.record) == ([], {}, {})


def test_parameters_of_every_module(tmp_path: Path) -> None:
    node_ = machine(tmp_path)
    carry_out(
        node_, intent(options={"ib_core": {"dyndbg": "func ib_register_device +p", "async_probe": 1}}), False, node_
    )
    assert (tmp_path / "etc/modprobe.d/zerocopy-rdma.conf").read_text().splitlines()[1:] == [
        'options ib_core async_probe=1 dyndbg="func ib_register_device +p"'
    ]


def test_what_makes_it_fail(tmp_path: Path) -> None:
    node_ = machine(tmp_path)
    before = tree(tmp_path)
    cases = [
        (intent(modules=["rdma_ucmm"]), "modules: 'rdma_ucmm' does not exist for the kernel 6.8; is the name right"),
        (intent(options={"ib_core": {"netns": 1}}), "options: ib_core has no parameter 'netns'; it has netns_mode"),
    ]
    for wanted, message in cases:
        for check in (True, False):
            with pytest.raises(HostError) as caught:
                carry_out(node_, wanted, check, node_)
            assert message in str(caught.value)
    assert tree(tmp_path) == before
    with pytest.raises(HostError) as caught:
        carry_out(node_, intent(modules=["broken", "ib_umad"]), False, node_)
    assert "broken" in str(caught.value)
    assert "Key was rejected by service" in str(caught.value)
    carry_out(node_, intent(), False, node_)
    assert tree(tmp_path) == before
    (tmp_path / "etc/modprobe.d/cis.conf").write_text("install rdma_cm /bin/true\n")
    with pytest.raises(HostError) as caught:
        carry_out(node_, WANTED, True, node_)
    assert "'rdma_cm' cannot be loaded: /etc/modprobe.d/cis.conf has 'install rdma_cm /bin/true'" in str(caught.value)
    (tmp_path / "etc/modprobe.d/cis.conf").write_text(
        "install ext4 /bin/true\ninstall rdma_cm /sbin/modprobe -i rdma_cm\n"
    )
    assert carry_out(node_, WANTED, True, node_)["warnings"] == [
        "/etc/modprobe.d/cis.conf has 'install ext4 /bin/true': systemd-modules-load will not load ext4 at boot"
    ]
    (tmp_path / "proc/cmdline").write_text("quiet module_blacklist=rdma_cm\n")
    with pytest.raises(HostError) as caught:
        carry_out(node_, WANTED, True, node_)
    assert "modules: 'rdma_cm' is forbidden by /proc/cmdline (module_blacklist)" in str(caught.value)
