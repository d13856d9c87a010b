# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What is asked of ``kernel_modules``: its options, checked, and the files that say so."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.kernel import limits
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger.ledger import File
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import kernel_module
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import names as rules

DEFAULT_NAME = "zerocopy-rdma"
NETNS_MODE = "ib_core.netns_mode"
# The values of ib_core's parameter (drivers/infiniband/core/device.c).
NETNS_VALUES = {"shared": "1", "exclusive": "0"}

_HEADING = "# Written by zerocopy.rdma.kernel_modules, which overwrites it; state absent removes it.\n"


@dataclass(frozen=True)
class KernelIntent:
    """Names have underscores only, as in /proc/modules and /sys/module; option values are what the kernel is to read.

    ``user_memlock`` is in KiB or ``unlimited``. An empty intent is that of ``state: absent``.
    """

    name: str = DEFAULT_NAME
    modules: List[str] = field(default_factory=list)
    options: Dict[str, Dict[str, str]] = field(default_factory=dict)
    blacklist: List[str] = field(default_factory=list)
    update_initramfs: bool = False
    user_memlock: Optional[str] = None

    @property
    def concern(self) -> str:
        """Name of this intent's ledger: one for each file name."""
        return "kernel_modules" if self.name == DEFAULT_NAME else f"kernel_modules.{self.name}"

    @property
    def load_path(self) -> str:
        return f"/etc/modules-load.d/{self.name}.conf"

    @property
    def modprobe_path(self) -> str:
        return f"/etc/modprobe.d/{self.name}.conf"

    @property
    def limits_path(self) -> str:
        return f"/etc/security/limits.d/90-{self.name}.conf"

    @property
    def values(self) -> Dict[str, str]:
        """Option values by ``module.parameter``, as kernel arguments are written."""
        return {f"{module}.{key}": value for module, keys in self.options.items() for key, value in keys.items()}

    @property
    def files(self) -> List[File]:
        """modules-load.d(5) and modprobe.d(5); no file where it would say nothing."""
        options = [
            "options {} {}".format(module, " ".join(_written(key, keys[key]) for key in sorted(keys)))
            for module, keys in sorted(self.options.items())
            if keys
        ]
        lines = options + [f"blacklist {module}" for module in sorted(self.blacklist)]
        wanted = []
        if self.modules:
            text = _HEADING + "".join(f"{module}\n" for module in self.modules)
            wanted.append(File(self.load_path, text, lines=True))
        if lines:
            wanted.append(File(self.modprobe_path, _HEADING + "".join(line + "\n" for line in lines), lines=True))
        return wanted


def _written(key: str, value: str) -> str:
    return f'{key}="{value}"' if " " in value or "\t" in value else f"{key}={value}"


def _names(option: str, given: Sequence[Any]) -> List[str]:
    names: List[str] = []
    for name in given:
        if not kernel_module.is_name(str(name)):
            raise HostError(f"{option}: {name!r} is not the name of a kernel module (letters, digits, '_' and '-')")
        if kernel_module.canonical(str(name)) not in names:
            names.append(kernel_module.canonical(str(name)))
    return names


def _value(where: str, value: Any) -> str:
    # YAML turns yes and no into booleans; the kernel reads 1 and 0 for bool and int parameters alike.
    if isinstance(value, bool):
        return str(int(value))
    if not isinstance(value, (str, int, float)):
        raise HostError(f"{where}: {value!r} is neither text nor a number; write an array as '1,2'")
    text = str(value)
    if not kernel_module.is_parameter_value(text):
        raise HostError(f"{where}: {text!r} must be text without quotes, '#', backslash and line break, and not empty")
    return text


def _options(given: Mapping[Any, Any]) -> Dict[str, Dict[str, str]]:
    options: Dict[str, Dict[str, str]] = {}
    for module, keys in given.items():
        (name,) = _names("options", [module])
        if not isinstance(keys, Mapping):
            raise HostError(f"options: {module}: {keys!r} is not a dictionary of parameter and value")
        for key, value in keys.items():
            if not kernel_module.is_parameter(str(key)):
                raise HostError(f"options: {module}: {key!r} is not the name of a parameter")
            text = _value(f"options: {module}: {key}", value)
            other = options.setdefault(name, {}).setdefault(kernel_module.canonical(str(key)), text)
            if text != other:
                raise HostError(f"options: {module}: {key}: {text!r} contradicts {other!r}, another value for it")
    return options


def intent(
    name: str = DEFAULT_NAME,
    modules: Sequence[Any] = (),
    options: Optional[Mapping[Any, Any]] = None,
    blacklist: Sequence[Any] = (),
    netns_mode: Optional[str] = None,
    update_initramfs: bool = False,
    user_memlock: Optional[str] = None,
) -> KernelIntent:
    """A checked intent. ``netns_mode`` is ``shared`` or ``exclusive`` and becomes an option of ib_core.

    :raises HostError: a value is not what it should be, or two of them contradict each other.
    """
    if not rules.is_file(name) or name.endswith(".conf"):
        raise HostError(f"name: {name!r} is not the base of a file name (letters, digits, '_', '-', '.'; no '.conf')")
    wanted, refused, keys = _names("modules", modules), _names("blacklist", blacklist), _options(options or {})
    both = [module for module in wanted if module in refused]
    if both:
        raise HostError(f"blacklist: {both[0]!r} is also in modules; it can only be in one of them")
    if netns_mode is not None:
        value, other = NETNS_VALUES[netns_mode], keys.get("ib_core", {}).get("netns_mode")
        if other is not None and not same(value, other):
            raise HostError(f"options: ib_core: netns_mode: {other!r} contradicts netns_mode {netns_mode!r} ({value})")
        keys.setdefault("ib_core", {})["netns_mode"] = value
    return KernelIntent(name, wanted, keys, refused, update_initramfs, limits.checked(user_memlock))


def _truth(text: str) -> Optional[bool]:
    # kstrtobool() of the kernel.
    if text[:1] in ("y", "Y", "t", "T", "1") or text[:2].lower() == "on":
        return True
    if text[:1] in ("n", "N", "f", "F", "0") or text[:2].lower() == "of":
        return False
    return None


def _part(text: str) -> str:
    try:
        return str(int(text, 0))
    except ValueError:
        return text


def same(value: str, other: str) -> bool:
    """Whether two spellings of a parameter mean the same to the kernel.

    The kernel shows a bool as ``Y`` or ``N``, a number in decimal, an array with commas.
    """
    if value == other:
        return True
    if value in ("Y", "N") or other in ("Y", "N"):
        return _truth(value) is not None and _truth(value) == _truth(other)
    return [_part(part) for part in value.split(",")] == [_part(part) for part in other.split(",")]


SPEC: Dict[str, Any] = {
    "modules": {"type": "list", "elements": "str", "default": []},
    "options": {"type": "dict", "default": {}},
    "blacklist": {"type": "list", "elements": "str", "default": []},
    "netns_mode": {"type": "str", "choices": ["shared", "exclusive"]},
    "user_memlock": {"type": "str"},
    "update_initramfs": {"type": "bool", "default": False},
    "name": {"type": "str", "default": DEFAULT_NAME},
    "root": {"type": "path", "default": "/"},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
}
_WANTED = ("modules", "options", "blacklist", "netns_mode", "user_memlock")


def request(options: Mapping[str, Any]) -> KernelIntent:
    """What the options, read as SPEC says, ask for.

    :raises HostError: one of them is wrong.
    """
    names = ["name", "update_initramfs"]
    if options["state"] == "present":
        names += _WANTED
    return intent(**{name: options[name] for name in names})
