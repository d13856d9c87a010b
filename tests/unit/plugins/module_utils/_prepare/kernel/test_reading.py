# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What the kernel's part reads: options, modprobe.d, module lists, packages, listings of an initramfs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Tuple

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.kernel import config as kernel_config
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.kernel import live
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.kernel.index import Index, index_of
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.kernel.initramfs import (
    Initramfs,
    contained,
    images,
    listed,
    rebuild,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.kernel.netns_mode import mounted
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.kernel.package import package_of
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.kernel.request import intent, same
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.command import Completed
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files

# From Debian 13, kernel 6.12.117+deb13-amd64.
MODULES_DEP = """\
kernel/drivers/nvme/host/nvme-rdma.ko.xz: kernel/drivers/infiniband/core/rdma_cm.ko.xz
kernel/drivers/infiniband/core/ib_core.ko.xz:
kernel/drivers/infiniband/core/ib_cm.ko.xz: kernel/drivers/infiniband/core/ib_core.ko.xz
kernel/drivers/infiniband/core/iw_cm.ko.xz: kernel/drivers/infiniband/core/ib_core.ko.xz
kernel/drivers/infiniband/core/rdma_cm.ko.xz: kernel/drivers/infiniband/core/iw_cm.ko.xz \
kernel/drivers/infiniband/core/ib_cm.ko.xz kernel/drivers/infiniband/core/ib_core.ko.xz \
kernel/fs/configfs/configfs.ko.xz
kernel/net/mpls/mpls_iptunnel.ko.xz: kernel/net/mpls/mpls_router.ko.xz
kernel/net/mpls/mpls_router.ko.xz:
kernel/fs/configfs/configfs.ko.xz:
"""
MODULES_BUILTIN = "kernel/net/mpls/mpls_gso.ko\nkernel/arch/x86/video/video-common.ko\n"
MODULES_SOFTDEP = "softdep mpls_iptunnel post: mpls_gso\nsoftdep iw_cm pre: nowhere mpls_iptunnel\n"
MODULES_ALIAS = "alias net-pf-16-proto-20 ib_core\nalias rdma-netlink-subsys-5 ib_core\n"
RELEASE = "6.12.117+deb13-amd64"


class Running(Files):
    """A directory in the place of the running node's root."""

    def __init__(self, root: str) -> None:
        super().__init__(root)
        self.live = True

    def full(self, path: str) -> str:
        return Files(self.root).full(path)


def plant(root: Path, files: Dict[str, str]) -> Files:
    for path, text in files.items():
        full = root / path.lstrip("/")
        full.parent.mkdir(parents=True, exist_ok=True)
        full.write_text(text)
    return Files(str(root))


def test_bad_input_is_named() -> None:
    cases: List[Tuple[Dict[str, Any], str]] = [
        ({"name": "../x"}, "name: '../x' is not the base of a file name"),
        ({"name": "x.conf"}, "name: 'x.conf' is not the base of a file name"),
        ({"modules": ["rdma cm"]}, "modules: 'rdma cm' is not the name of a kernel module"),
        ({"modules": ["rdma-cm"], "blacklist": ["rdma_cm"]}, "blacklist: 'rdma_cm' is also in modules"),
        ({"options": {"ib_core": 1}}, "options: ib_core: 1 is not a dictionary"),
        ({"options": {"ib_core": {"a b": 1}}}, "options: ib_core: 'a b' is not the name of a parameter"),
        ({"options": {"ib_core": {"a": [1]}}}, "options: ib_core: a: [1] is neither text nor a number"),
        ({"options": {"ib_core": {"a": "1\noptions b c=2"}}}, "options: ib_core: a: '1\\noptions b c=2' must be text"),
        (
            {"options": {"mlx5-core": {"prof-sel": 2}, "mlx5_core": {"prof_sel": 3}}},
            "options: mlx5_core: prof_sel: '3' contradicts '2', another value for it",
        ),
        (
            {"options": {"ib-core": {"netns-mode": True}}, "netns_mode": "exclusive"},
            "options: ib_core: netns_mode: '1' contradicts netns_mode 'exclusive' (0)",
        ),
    ]
    for given, message in cases:
        with pytest.raises(HostError) as caught:
            intent(**given)
        assert message in str(caught.value)


def test_the_files_say_what_is_wanted() -> None:
    wanted = intent(
        modules=["rdma-cm", "rdma_cm", "ib_umad"],
        options={
            "b": {"text": "func x +p", "flag": True},
            "a-c": {"n-m": 3},
            "a_c": {"n_m": 3, "o": 1},
            "none": {},
        },
        blacklist=["z", "irdma"],
        netns_mode="shared",
    )
    load, modprobe = ([line for line in (file.content or "").splitlines() if line[0] != "#"] for file in wanted.files)
    assert load == ["rdma_cm", "ib_umad"]
    assert modprobe == [
        "options a_c n_m=3 o=1",
        'options b flag=1 text="func x +p"',
        "options ib_core netns_mode=1",
        "blacklist irdma",
        "blacklist z",
    ]
    assert intent().files == []


def test_spellings_of_a_parameter() -> None:
    equal = [("Y", "1"), ("N", "off"), ("y", "Y"), ("0x10", "16"), ("1,2", "1,0x2"), ("a", "a")]
    different = [("Y", "0"), ("N", "maybe"), ("1", "2"), ("1", "1,1"), ("a", "b")]
    assert all(same(one, other) for pair in equal for one, other in (pair, pair[::-1]))
    assert not any(same(one, other) for pair in different for one, other in (pair, pair[::-1]))


def test_what_others_configure(tmp_path: Path) -> None:
    files = plant(
        tmp_path,
        {
            "/etc/modprobe.d/early.conf": "# options ib_core netns_mode=9\noptions ib-core \\\n  netns_mode=1\n",
            "/usr/lib/modprobe.d/early.conf": "blacklist hidden_by_the_one_in_etc\n",
            "/run/modprobe.d/zz.conf": "blacklist rdma-cm\noptions mlx5-core prof-sel=2 flag\n"
            "softdep a pre: b-c post: d\n",
            "/etc/modprobe.d/readme": "blacklist ib_umad\n",
            "/etc/modprobe.d/zerocopy-rdma.conf": "options ib_core netns_mode=1\nblacklist ib_umad\n",
            "/lib/modprobe.d/cis.conf": "install siw /bin/true\ninstall other /sbin/modprobe -i other\noptions\n",
        },
    )
    wanted = intent(
        modules=["rdma_cm", "ib_umad"], options={"mlx5_core": {"prof_sel": 3, "flag": 1}}, netns_mode="exclusive"
    )
    config = kernel_config.read(files, wanted)
    assert config.conflicts(wanted) == [
        "/etc/modprobe.d/early.conf sets ib_core.netns_mode=1, not 0: /etc/modprobe.d/zerocopy-rdma.conf "
        "takes precedence",
        "/run/modprobe.d/zz.conf sets mlx5_core.prof_sel=2, not 3: it takes precedence",
        "/run/modprobe.d/zz.conf blacklists rdma_cm: systemd-modules-load will not load it at boot",
    ]
    assert config.stronger("ib_core.netns_mode", "0", wanted) is None
    stronger = config.stronger("mlx5_core.prof_sel", "3", wanted)
    assert stronger is not None
    assert stronger.value == "2"
    assert config.preventing("siw") == ("install siw /bin/true", "/lib/modprobe.d/cis.conf")
    assert config.preventing("other") is None
    assert config.softdeps == {"a": ["b_c", "d"]}


def test_only_the_first_install_and_softdep_line_counts(tmp_path: Path) -> None:
    files = plant(
        tmp_path,
        {
            "/etc/modprobe.d/10-site.conf": "install siw /sbin/modprobe -i siw\nsoftdep ib_core pre: first\n",
            "/etc/modprobe.d/20-cis.conf": "install siw /bin/false\ninstall rdma-* /bin/false\n"
            "softdep ib_core pre: second\n",
        },
    )
    config = kernel_config.read(files, intent())
    assert config.preventing("siw") is None
    assert config.preventing("rdma_rxe") == ("install rdma_* /bin/false", "/etc/modprobe.d/20-cis.conf")
    assert config.preventing("xrdma_cm") is None
    assert config.softdeps == {"ib_core": ["first"]}


def test_an_alias_in_the_place_of_a_module(tmp_path: Path) -> None:
    text = "alias rdma_rxe off\nalias ib0 ib_ipoib\nalias siw-* other\nalias rdma-cm rdma-cm\nalias rdma_* odd\n"
    config = kernel_config.read(plant(tmp_path, {"/etc/modprobe.d/site.conf": text}), intent())
    found = [config.preventing(name) for name in ("rdma_rxe", "ib_ipoib", "siw", "rdma_cm")]
    assert found == [("alias rdma_rxe off", "/etc/modprobe.d/site.conf"), None, None, None]


def test_a_value_that_goes_on_in_the_next_line(tmp_path: Path) -> None:
    text = "options mlx4_core port_type_array=2,\\\n1 probe_vf=0\n"
    config = kernel_config.read(plant(tmp_path, {"/etc/modprobe.d/site.conf": text}), intent())
    assert [(option.key, option.value) for option in config.options] == [
        ("mlx4_core.port_type_array", "2,1"),
        ("mlx4_core.probe_vf", "0"),
    ]


def test_what_modprobe_passes_over_counts_and_hides_nothing(tmp_path: Path) -> None:
    seen = {f"/usr/lib/modprobe.d/{name}.conf": f"blacklist {name}\n" for name in ("saved", "linked", "masked")}
    files = plant(tmp_path, {**seen, "/etc/modprobe.d/.ansible_tmp1x.conf": "install rdma_cm /bin/false\n"})
    (tmp_path / "etc/modprobe.d/saved.conf").mkdir()
    (tmp_path / "etc/modprobe.d/linked.conf").symlink_to("/nowhere")
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/null").write_text("")
    (tmp_path / "etc/modprobe.d/masked.conf").symlink_to("/dev/null")
    config = kernel_config.read(files, intent())
    assert (sorted(config.blacklisted), config.installs) == (["linked", "saved"], [])


def test_the_command_line_counts_on_the_running_node_only(tmp_path: Path) -> None:
    cmdline = 'root=/dev/vda ib-core.netns-mode=0 module_blacklist=siw,ib-umad modprobe.blacklist=smc a.b="c d" quiet\n'
    files = plant(tmp_path, {"/proc/cmdline": cmdline})
    assert kernel_config.read(files, intent()).options == []
    config = kernel_config.read(Running(str(tmp_path)), intent())
    assert [(option.key, option.value) for option in config.options] == [("ib_core.netns_mode", "0"), ("a.b", "c d")]
    assert config.stronger("ib_core.netns_mode", "1", intent(name="zzz")) is not None
    assert (sorted(config.forbidden), list(config.blacklisted)) == (["ib_umad", "siw"], ["smc"])


def test_the_lists_of_a_kernel(tmp_path: Path) -> None:
    names = {"dep": MODULES_DEP, "builtin": MODULES_BUILTIN, "softdep": MODULES_SOFTDEP, "alias": MODULES_ALIAS}
    files = plant(tmp_path, {f"/lib/modules/{RELEASE}/modules.{name}": text for name, text in names.items()})
    index = Index(files, RELEASE)
    assert index.dependencies("rdma_cm") == ["configfs", "ib_core", "ib_cm", "iw_cm"]
    assert index.dependencies("nvme_rdma") == ["rdma_cm"]
    assert (index.dependencies("rdma"), index.dependencies("cm"), index.dependencies("mpls_gso")) == (None, None, None)
    assert [index.builtin(name) for name in ("mpls_gso", "video_common", "common", "ib_core")] == [
        True,
        True,
        False,
        False,
    ]
    assert (index.alias("net_pf_16_proto_20"), index.alias("ib_core")) == ("ib_core", None)
    everything = ["configfs", "ib_core", "ib_cm", "mpls_router", "mpls_iptunnel", "iw_cm", "rdma_cm", "nvme_rdma"]
    assert index.closure(["nvme_rdma", "ib_cm"], (), {}) == everything
    assert index.closure(["ib_cm"], ("ib_core",), {"ib_cm": ["configfs", "nothing"]}) == ["configfs", "ib_cm"]


def test_which_kernel_an_image_will_run(tmp_path: Path) -> None:
    files = plant(tmp_path, {"/lib/modules/a/modules.dep": "", "/lib/modules/b/build": ""})
    found = index_of(files)
    assert found is not None
    assert found.release == "a"
    plant(tmp_path, {"/lib/modules/b/modules.builtin": ""})
    assert index_of(files) is None


def test_package(tmp_path: Path) -> None:
    cases: List[Tuple[str, str, str, Optional[str]]] = [
        ("ID=ubuntu\nID_LIKE=debian", "5.15.0-119-generic", "rdma_rxe", "linux-modules-extra-5.15.0-119-generic"),
        ('ID=linuxmint\nID_LIKE="ubuntu debian"', "6.8.0-45-generic", "siw", "linux-modules-extra-6.8.0-45-generic"),
        ("ID=ubuntu", "6.8.0-custom+", "siw", None),
        ("ID=debian", "6.12.38+deb13-amd64", "siw", None),
        ("ID=debian", "6.12.38+deb13-cloud-amd64", "ib_core", "linux-image-amd64, another kernel: the one for clouds"),
        ("ID=debian", "6.8.12-4-pve", "ib_core", None),
        (
            'ID="rocky"\nID_LIKE="rhel centos fedora"',
            "5.14.0-427.el9.x86_64",
            "ib_umad",
            "kernel-modules-5.14.0-427.el9",
        ),
        ("ID=fedora", "6.16.5-200.fc42.x86_64", "rdma_rxe", "kernel-modules-extra-6.16.5-200.fc42.x86_64"),
        ('ID="ol"\nID_LIKE="fedora"', "5.15.0-3.el9uek.x86_64", "ib_umad", None),
        ('ID="sles"\nID_LIKE="suse"', "6.4.0-150600.21-default", "ib_umad", "kernel-default (kernel-default-base"),
        ("ID=arch", "6.12.1-arch1-1", "ib_umad", None),
        ("ID=ubuntu", "5.15.0-119-generic", "nvidia_peermem", None),
        ("ID=ubuntu", "5.15.0-119-generic", "rdma_cmm", None),
    ]
    for distribution, release, module, package in cases:
        files = plant(tmp_path, {"/etc/os-release": f'NAME="x"\n{distribution}\n'})
        found = package_of(files, module, release)
        assert (found == package) if package is None or found is None else (package in found), distribution


def test_package_with_all_modules(tmp_path: Path) -> None:
    files = plant(tmp_path, {"/etc/os-release": "ID=debian\n"})
    for name in ("linux-image", "linux-modules"):
        plant(tmp_path, {f"/var/lib/dpkg/info/{name}-7.2.12+deb14-amd64.list": ""})
        assert package_of(files, "x", "7.2.12+deb14-amd64", lacking=True) == f"{name}-7.2.12+deb14-amd64"
    plant(
        tmp_path, {"/etc/os-release": "ID=ubuntu\n", "/var/lib/dpkg/info/linux-modules-extra-6.8.0-45-generic.list": ""}
    )
    assert package_of(files, "siw", "6.8.0-45-generic") is None
    assert package_of(files, "siw", "6.8.0-45-generic", lacking=True) == "linux-modules-6.8.0-45-generic"


def test_live_state(tmp_path: Path) -> None:
    files = plant(
        tmp_path,
        {
            "/proc/modules": "ib_core 528384 2 ib_uverbs,rdma_cm, Live 0x0\nib_uverbs 4096 0 - Live 0x0 (OE)\n"
            "rdma_cm 4096 1 [permanent], Live 0x0\nold 4096 - - Live 0x0\n",
            "/sys/module/ib_core/parameters/netns_mode": "Y\n",
            "/sys/module/ib_core/initstate": "live\n",
        },
    )
    loaded = live.loaded_modules(files)
    assert loaded["ib_core"] == live.Loaded(2, ("ib_uverbs", "rdma_cm"))
    assert [name for name in sorted(loaded) if loaded[name].permanent] == ["old", "rdma_cm"]
    keys = ["ib_core.netns_mode", "ib_core.hidden", "absent.x"]
    assert live.parameters(files, keys) == {"ib_core.netns_mode": "Y", "ib_core.hidden": None}


def test_what_would_be_taken_away_by_unloading(tmp_path: Path) -> None:
    files = plant(
        tmp_path,
        {
            "/sys/bus/pci/drivers/mlx5_core/bind": "",
            "/sys/devices/pci0000:00/0000:00:05.0/vendor": "0x15b3\n",
            "/sys/class/infiniband/rxe0/parent": "eth1\n",
            "/sys/class/net/ibp5s0/type": "32\n",
            "/sys/class/net/ibp5s0/flags": "0x1003\n",
            "/sys/class/net/eth0/type": "1\n",
            "/sys/class/net/eth0/flags": "0x1003\n",
            "/sys/module/ib_umad/initstate": "live\n",
        },
    )
    driver = tmp_path / "sys/bus/pci/drivers/mlx5_core"
    (driver / "0000:00:05.0").symlink_to("../../../../devices/pci0000:00/0000:00:05.0")
    (driver / "module").symlink_to("../../../../module/mlx5_core")
    (tmp_path / "sys/module/mlx5_core/drivers").mkdir(parents=True)
    (tmp_path / "sys/module/mlx5_core/drivers/pci:mlx5_core").symlink_to("../../../bus/pci/drivers/mlx5_core")
    reasons = {name: live.occupied(files, name) for name in ("mlx5_core", "rdma_rxe", "ib_ipoib", "ib_umad")}
    assert reasons == {
        "mlx5_core": "it drives 0000:00:05.0",
        "rdma_rxe": "RDMA device rxe0 exists",
        "ib_ipoib": "ibp5s0 is up",
        "ib_umad": None,
    }
    (driver / "0000:00:05.0").unlink()
    assert live.occupied(files, "mlx5_core") is None


def test_order_of_unloading() -> None:
    def modules(**counts: Any) -> Dict[str, live.Loaded]:
        return {name: live.Loaded(count, tuple(users)) for name, (count, users) in counts.items()}

    loaded = modules(core=(3, ["cm", "umad", "verbs"]), cm=(1, ["rdma"]), rdma=(0, []), umad=(0, []), verbs=(0, []))
    names: List[str] = sorted(loaded)
    order, kept = live.unloading(names, loaded, lambda module: None)
    assert (order.index("cm") > order.index("rdma"), order[-1], kept) == (True, "core", {})
    order, kept = live.unloading(names, loaded, lambda module: "rails" if module == "verbs" else None)
    assert kept == {"verbs": "rails", "core": "verbs use it"}
    # Something without a module's name, such as an open device, holds the second reference of cm.
    order, kept = live.unloading(["cm", "rdma", "gone"], {**loaded, **modules(cm=(2, ["rdma"]))}, lambda module: None)
    assert (order, kept) == (["rdma"], {"cm": "it is in use"})


def test_images_and_their_listing(tmp_path: Path) -> None:
    files = plant(
        tmp_path,
        {
            "/lib/modules/a/modules.dep": "",
            "/lib/modules/b/modules.dep": "",
            "/lib/modules/c/modules.dep": "",
            "/etc/machine-id": "0123\n",
            "/boot/initrd.img-a": "image",
            "/boot/0123/b/initrd": "",
        },
    )
    os.utime(str(tmp_path / "boot/initrd.img-a"), ns=(5, 7))
    found = images(files)
    assert [(image.release, image.path) for image in found] == [
        ("a", "/boot/initrd.img-a"),
        ("b", "/boot/0123/b/initrd"),
    ]
    assert (found[0].built, found[0].size) == (7, 5)
    # One line each of lsinitramfs (Debian 13) and lsinitrd (the long listing of dracut).
    text = (
        "usr/lib/modules/6.12.117+deb13-amd64/kernel/fs/ext4/ext4.ko.xz\n"
        "-rw-r--r--   1 root     root   17508 Jul 17  2024 usr/lib/modules/6.4/kernel/drivers/nvme/nvme-rdma.ko.zst\n"
        "usr/lib/modules/6.12.117+deb13-amd64/modules.dep\n"
    )
    assert listed(text) == {"ext4", "nvme_rdma"}


def test_an_image_is_listed_once_and_rebuilt_whole(tmp_path: Path) -> None:
    image = Initramfs("6.4", str(tmp_path / "initramfs-6.4.img"), built=1, size=3)
    Path(image.path).write_text("old")
    calls: List[str] = []
    works = True

    def dracut_only(argv: Sequence[str], timeout: float = 60, stdin: Optional[str] = None) -> Completed:
        calls.append(argv[0])
        if argv[0] == "lsinitrd":
            return Completed(0, "-rw-r--r-- 1 root root 1 Jul 17 2024 usr/lib/modules/6.4/kernel/ib_core.ko.zst\n", "")
        if argv[0] == "dracut":
            Path(argv[2]).write_text("new" if works else "ha")
            return Completed(0 if works else 1, "", "" if works else "dracut: no space left\n")
        return Completed(127, "", "")

    cache: Dict[str, Any] = {}
    assert contained(image, ["ib_core", "mlx5_core"], cache, dracut_only) == {"ib_core"}
    assert contained(image, ["mlx5_core"], cache, dracut_only) == set()
    assert calls == ["lsinitramfs", "lsinitrd"]
    contained(Initramfs("6.4", image.path, built=2, size=3), ["ib_core"], cache, dracut_only)
    assert len(calls) == 4
    works = False
    with pytest.raises(HostError) as caught:
        rebuild(image, dracut_only)
    assert "dracut: no space left" in str(caught.value)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("initramfs-6.4.img", "old")]
    works = True
    rebuild(image, dracut_only)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("initramfs-6.4.img", "new")]


def test_network_namespaces_in_mountinfo() -> None:
    # From a node with a pod.
    text = (
        "27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/root rw\n"
        "60 28 0:4 net:[4026532245] /run/netns/cni-1 rw shared:50 - nsfs nsfs rw\n"
        "61 28 0:4 uts:[4026532246] /run/utsns/x rw shared:51 - nsfs nsfs rw\n"
    )
    assert mounted(text) == {"net:[4026532245]": "/run/netns/cni-1"}
