# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!


"""What else on the node configures kernel modules: modprobe.d and the kernel's command line."""

from __future__ import annotations

import fnmatch
import os
import re
from dataclasses import dataclass, field
from typing import Dict, List, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.kernel.request import KernelIntent, same
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.kernel_module import canonical

# In the order of libkmod and systemd: a name found below an earlier directory hides the same name below a later one.
_DIRECTORIES = ("/etc", "/run", "/usr/local/lib", "/usr/lib", "/lib")
_CMDLINE = "/proc/cmdline"
_ARGUMENT = re.compile(r'(?:[^\s"]|"[^"]*")+')
_DISABLING = ("true", "false", "/bin/true", "/bin/false", "/usr/bin/true", "/usr/bin/false", ":")


@dataclass(frozen=True)
class ModuleOption:
    """One parameter as somebody sets it; ``order`` is the order in which modprobe passes them, the last one wins."""

    key: str
    value: str
    source: str
    order: Tuple[int, str] = (0, "")


@dataclass
class ModprobeConfig:
    """What modprobe would read, without our own file.

    ``aliases`` and ``installs`` are a pattern, what stands for the modules that it fits, and the file, in its order.
    """

    options: List[ModuleOption] = field(default_factory=list)
    blacklisted: Dict[str, str] = field(default_factory=dict)
    forbidden: Dict[str, str] = field(default_factory=dict)
    aliases: List[Tuple[str, str, str]] = field(default_factory=list)
    installs: List[Tuple[str, str, str]] = field(default_factory=list)
    softdeps: Dict[str, List[str]] = field(default_factory=dict)

    def preventing(self, module: str) -> Optional[Tuple[str, str]]:
        """The line with which modprobe does not load the module by its name, and its file; ``None`` where it does.

        Names may be patterns. All aliases count, and of install commands the first (libkmod:
        kmod_lookup_alias_from_config, kmod_module_get_install_commands).
        """
        aliases, installs = (
            [entry for entry in lines if fnmatch.fnmatchcase(module, entry[0])]
            for lines in (self.aliases, self.installs)
        )
        if aliases and all(canonical(target) != module for _pattern, target, _path in aliases):
            pattern, target, path = aliases[0]
            return f"alias {pattern} {target}", path
        if installs and installs[0][1].split()[0] in _DISABLING:
            pattern, command, path = installs[0]
            return f"install {pattern} {command}", path
        return None

    def stronger(self, key: str, value: str, intent: KernelIntent) -> Optional[ModuleOption]:
        """Somebody else's setting that comes after ours and says something else."""
        ours = (0, f"{intent.name}.conf")
        later = [option for option in self.options if option.key == key and option.order > ours]
        return later[-1] if later and not same(later[-1].value, value) else None

    def conflicts(self, intent: KernelIntent) -> List[str]:
        """Warnings about everything that contradicts the intent."""
        warnings = []
        for option in self.options:
            value = intent.values.get(option.key)
            if value is None or same(value, option.value):
                continue
            wins = option.order > (0, f"{intent.name}.conf")
            verdict = "it takes precedence" if wins else f"{intent.modprobe_path} takes precedence"
            warnings.append(f"{option.source} sets {option.key}={option.value}, not {value}: {verdict}")
        for module in intent.modules:
            if module in self.blacklisted:
                warnings.append(
                    f"{self.blacklisted[module]} blacklists {module}: systemd-modules-load will not load it at boot"
                )
            preventing = self.preventing(module)
            if preventing is not None:
                line, path = preventing
                warnings.append(f"{path} has {line!r}: systemd-modules-load will not load {module} at boot")
        return warnings


def parse(text: str) -> List[List[str]]:
    """The words of each line of a modprobe.d(5) file, continued lines joined, comments left out."""
    lines = [line.strip() for line in text.replace("\\\n", "").split("\n")]
    return [_ARGUMENT.findall(line) for line in lines if line and not line.startswith("#")]


def assignments(words: Sequence[str]) -> Dict[str, str]:
    """Parameters of an ``options`` line, ``name=value``; a bare name is a bool that is set."""
    pairs = [word.partition("=") for word in words]
    return {canonical(key): value.replace('"', "") if equals else "1" for key, equals, value in pairs}


def soft_dependencies(words: Sequence[str]) -> List[str]:
    """Modules named in a softdep line's ``pre:`` and ``post:`` parts."""
    return [canonical(word) for word in words if not word.endswith(":")]


def _paths(files: Files, own: str) -> List[str]:
    """Files in all directories of the kind that ``own`` is in, without that one."""
    found: Dict[str, str] = {}
    for parent in _DIRECTORIES:
        directory = f"{parent}/{own.split('/')[-2]}"
        for name in files.names(directory):
            path = f"{directory}/{name}"
            # The others libkmod passes over (conf_files_filter_out), so that they hide nothing either.
            if name.endswith(".conf") and name[0] != "." and files.exists(path) and not os.path.isdir(files.full(path)):
                found.setdefault(name, path)
    return [found[name] for name in sorted(found) if found[name] != own]


def requested(files: Files, own: str) -> List[str]:
    """Modules that files of modules-load.d(5) name, without the file ``own``."""
    lines = [line.strip() for path in _paths(files, own) for line in (files.text(path) or "").splitlines()]
    return [canonical(line) for line in lines if line and line[0] not in "#;"]


def _add(config: ModprobeConfig, path: str, words: Sequence[str]) -> None:
    if len(words) < 2:
        return
    directive, module = words[0], canonical(words[1])
    if directive == "options":
        for key, value in assignments(words[2:]).items():
            name = path.rsplit("/", 1)[1]
            config.options.append(ModuleOption(f"{module}.{key}", value, path, (0, name)))
    elif directive == "blacklist":
        config.blacklisted.setdefault(module, path)
    elif directive == "alias" and words[2:]:
        config.aliases.append((module, words[2], path))
    elif directive == "install" and words[2:]:
        config.installs.append((module, " ".join(words[2:]), path))
    elif directive == "softdep":
        # Here as well the first one counts.
        config.softdeps.setdefault(module, soft_dependencies(words[2:]))


def _add_argument(config: ModprobeConfig, argument: str) -> None:
    key, equals, value = argument.replace('"', "").partition("=")
    module, dot, parameter = key.partition(".")
    if key == "module_blacklist":
        config.forbidden.update((canonical(name), f"{_CMDLINE} ({key})") for name in value.split(",") if name)
    elif key == "modprobe.blacklist":
        config.blacklisted.update((canonical(name), f"{_CMDLINE} ({key})") for name in value.split(",") if name)
    elif dot and module and parameter:
        name = f"{canonical(module)}.{canonical(parameter)}"
        config.options.append(ModuleOption(name, value if equals else "1", _CMDLINE, (1, "")))


def read(files: Files, intent: KernelIntent) -> ModprobeConfig:
    """Everybody else's configuration below ``files``; the kernel's command line only of the running node."""
    config = ModprobeConfig()
    for path in _paths(files, intent.modprobe_path):
        for words in parse(files.text(path) or ""):
            _add(config, path, words)
    # libkmod adds the command line after all files (seen with kmod 34: modprobe --show-depends).
    if files.live:
        for argument in _ARGUMENT.findall(files.text(_CMDLINE) or ""):
            _add_argument(config, argument)
    return config
