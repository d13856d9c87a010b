# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!


"""From what is wanted of a node's kernel modules and what there is to what has to be done. Nothing here acts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable, Dict, FrozenSet, List, Mapping, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.kernel.config import (
    ModprobeConfig,
    assignments,
    parse,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.kernel.live import Loaded, unloading
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.kernel.request import (
    NETNS_MODE,
    NETNS_VALUES,
    KernelIntent,
    same,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger.ledger import FileChange
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.changes import Change
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Stored
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.kernel_module import canonical
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import joined

if TYPE_CHECKING:
    from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.kernel.initramfs import Initramfs


@dataclass
class KernelState:
    """A running node. The callables are asked only where it matters, since their answers cost."""

    boot: str
    release: str = ""
    loaded: Dict[str, Loaded] = field(default_factory=dict)
    builtin: FrozenSet[str] = frozenset()
    parameters: Dict[str, Optional[str]] = field(default_factory=dict)
    config: ModprobeConfig = field(default_factory=ModprobeConfig)
    modprobe_written: Optional[int] = None
    closure: Callable[[Sequence[str]], List[str]] = lambda modules: []
    requested: Callable[[], List[str]] = list
    occupied: Callable[[str], Optional[str]] = lambda module: None
    namespaces: Callable[[], List[str]] = list
    images: Callable[[], List[Initramfs]] = list
    contained: Callable[[Initramfs, Sequence[str]], FrozenSet[str]] = lambda image, modules: frozenset()


@dataclass
class KernelPlan:
    """What to do, in the order of the fields, and what to say. ``record`` is noted before, ``notes`` afterwards."""

    files: List[FileChange] = field(default_factory=list)
    unload: List[str] = field(default_factory=list)
    load: List[str] = field(default_factory=list)
    netns_mode: Optional[str] = None
    rebuild: List[Initramfs] = field(default_factory=list)
    changes: List[Change] = field(default_factory=list)
    warnings: List[str] = field(default_factory=list)
    reboot_reasons: List[str] = field(default_factory=list)
    not_effective: Dict[str, str] = field(default_factory=dict)
    initramfs_outdated: bool = False
    record: Dict[str, Any] = field(default_factory=dict)
    notes: Dict[str, Any] = field(default_factory=dict)


def mode_word(value: Optional[str]) -> Optional[str]:
    """``shared`` or ``exclusive`` for a value of ib_core's parameter."""
    return next((word for word, known in NETNS_VALUES.items() if value is not None and same(value, known)), None)


def _configured(file: Optional[Stored]) -> Dict[str, Dict[str, str]]:
    found: Dict[str, Dict[str, str]] = {}
    for words in parse("" if file is None else file.content.decode("utf-8", "replace")):
        if words[0] == "options" and len(words) > 1:
            found.setdefault(canonical(words[1]), {}).update(assignments(words[2:]))
        elif words[0] == "blacklist" and len(words) > 1:
            found.setdefault(canonical(words[1]), {})["blacklist"] = ""
    return found


def plan(intent: KernelIntent, have: KernelState, notes: Mapping[str, Any], files: Sequence[FileChange]) -> KernelPlan:
    """The plan for a running node. ``notes`` are what an earlier run left:

    ``wanted`` and ``loaded``, the modules asked for and those that were loaded for them; ``before``, parameters as they
    were; ``pending``, value and boot in which a reboot was asked for; ``images``, what was found in an initramfs;
    ``rebuild``, images that a run was about to build anew, as they were, and the modules for whose sake.
    """
    result = KernelPlan(files=list(files), changes=[change.change for change in files])
    result.warnings = have.config.conflicts(intent)
    _KernelPlanner(intent, have, notes, result).run()
    return result


class _KernelPlanner:
    def __init__(self, intent: KernelIntent, have: KernelState, notes: Mapping[str, Any], result: KernelPlan) -> None:
        self.intent, self.have, self.notes, self.result = intent, have, notes, result
        self.before: Dict[str, str] = dict(notes.get("before", {}))
        self.pending: Dict[str, Dict[str, str]] = {}
        self.loaded: List[str] = list(notes.get("loaded", []))
        self.owed: Dict[str, Dict[str, Any]] = {}
        modprobe = [change for change in result.files if change.path == intent.modprobe_path]
        self.rewritten = modprobe[0] if modprobe else None

    def run(self) -> None:
        self._modules()
        stale = self._initramfs()
        self._options(stale)
        self._blacklist()
        result, images = self.result, self.notes.get("images", {})
        for image in result.rebuild:
            result.changes.append(Change("initramfs", image.path, "outdated", "current"))
        kept: Dict[str, Any] = {
            "wanted": self.intent.modules,
            "loaded": self.loaded,
            "before": {key: value for key, value in self.before.items() if key in self.intent.values},
            "pending": self.pending,
            "images": images if self.intent.options or self.intent.blacklist else {},
        }
        if not self.intent.files:
            kept = {}
        kept["rebuild"] = {} if self.intent.update_initramfs else self.owed
        result.notes = {key: value for key, value in kept.items() if value}
        # Until it is done, what was asked for is still the old.
        loaded = sorted({*self.loaded, *self.notes.get("loaded", [])})
        before = {**self.notes.get("before", {}), **self.before}
        recorded = {**self.notes, "loaded": loaded, "before": before, "rebuild": self.owed}
        result.record = {key: value for key, value in recorded.items() if value}

    def _modules(self) -> None:
        have, result = self.have, self.result
        missing = [name for name in self.intent.modules if name not in have.loaded and name not in have.builtin]
        result.load = missing
        coming = [name for name in have.closure(missing) if name not in have.loaded] if missing else []
        for module in [*coming, *(name for name in missing if name not in coming)]:
            result.changes.append(Change("module", module, "unloaded", "loaded"))
        # Without a change of the list, all that was loaded is still needed, and modules.dep need not be read.
        if self.loaded and self.notes.get("wanted", []) != self.intent.modules:
            named = [*self.intent.modules, *have.requested()]
            needed = {*named, *have.closure(named)} if named else set()
            dropped = [module for module in self.loaded if module not in needed]
            result.unload, kept = unloading(dropped, have.loaded, have.occupied)
            result.changes += [Change("module", module, "loaded", "unloaded") for module in result.unload]
            result.warnings += [f"{module} stays loaded: {reason}" for module, reason in sorted(kept.items())]
            self.loaded = [module for module in self.loaded if module not in result.unload]
        self.loaded = sorted({*self.loaded, *coming, *missing})

    def _initramfs(self) -> Dict[str, Initramfs]:
        """Modules with an option or blacklisting that an initramfs does not know as it should, and the image."""
        change, have = self.rewritten, self.have
        affected = {*self.intent.options, *self.intent.blacklist}
        if change is not None:
            before, after = _configured(change.before), _configured(change.after)
            affected = {name for name in {*before, *after} if before.get(name) != after.get(name)}
        stale: Dict[str, Initramfs] = {}
        noted = self.notes.get("rebuild", {})
        if not affected and not noted:
            return stale
        for image in have.images():
            # Without its file of options, nothing else tells that an image has them still.
            owed = noted.get(image.path, {})
            left = owed["modules"] if owed and owed["built"] == image.built else []
            knows = have.modprobe_written is not None and image.built >= have.modprobe_written
            right = (knows and change is None) or (not knows and change is not None and change.after is None)
            found = sorted({*left, *(have.contained(image, sorted(affected)) if affected and not right else ())})
            if found:
                if left or self.intent.update_initramfs:
                    self.owed[image.path] = {"built": image.built, "modules": found}
                self.result.initramfs_outdated = not self.intent.update_initramfs
                self.result.rebuild += [image] if self.intent.update_initramfs else []
                stale.update((name, image) for name in found if image.release == have.release or name not in stale)
        if stale and not self.intent.update_initramfs:
            paths = sorted({image.path for image in stale.values()})
            self.result.warnings.append(
                "{} contains {} with outdated options: set update_initramfs, or a reboot will not put new ones into "
                "effect".format(", ".join(paths), ", ".join(sorted(stale)))
            )
        return stale

    def _options(self, stale: Mapping[str, Initramfs]) -> None:
        goals = {**self.before, **self.intent.values}
        for key in sorted(goals):
            module, goal = key.split(".", 1)[0], goals[key]
            if key == NETNS_MODE and key in self.intent.values and module not in self.have.loaded:
                # The kernel's own default, should ib_core still be in use when this is undone.
                self.before.setdefault(key, NETNS_VALUES["shared"])
            if module in self.result.unload or key not in self.have.parameters:
                continue
            live = self.have.parameters[key]
            if live is None:
                self._unreadable(key, goal)
            elif not same(live, goal):
                self.before.setdefault(key, live)
                self._differs(key, goal, live, stale)

    def _unreadable(self, key: str, goal: str) -> None:
        module, parameter = key.split(".", 1)
        rewritten = self.rewritten
        written = {} if rewritten is None else _configured(rewritten.before).get(module, {})
        changed = rewritten is not None and written.get(parameter) != self.intent.values.get(key)
        known = self.notes.get("pending", {}).get(key)
        if changed or (known is not None and known["boot"] == self.have.boot):
            self._ask(key, goal, f"{key}: the kernel does not show its value; {goal} takes effect at the next boot")

    def _differs(self, key: str, goal: str, live: str, stale: Mapping[str, Initramfs]) -> None:
        module = key.split(".", 1)[0]
        argument = f"set it with the kernel argument {key}={goal}"
        stronger = self.have.config.stronger(key, goal, self.intent)
        built_in = module in self.have.builtin and module not in self.have.loaded
        others: List[str] = []
        if key == NETNS_MODE and mode_word(goal):
            others = self.have.namespaces()
            if not others:
                self.result.netns_mode = mode_word(goal)
                self.result.changes.append(Change("rdma_netns_mode", "ib_core", mode_word(live), mode_word(goal)))
                if stronger is not None or built_in:
                    self.result.warnings.append(f"{key} will be {live} again after a reboot: {argument}")
                return
        if stronger is not None:
            # The conflict itself is a warning already.
            self.result.not_effective[key] = (
                f"it is {live}: {stronger.source} sets {stronger.value}, which takes precedence"
            )
        elif built_in:
            self._never(key, f"it is {live}: {module} is built into the kernel, which reads no modprobe.d; {argument}")
        elif self._rebooted(key, goal):
            early = f"{stale[module].path} loads" if module in stale else "something changes it or loads"
            why = f"although the node was rebooted for {goal}: {early} {module} without it"
            self._never(key, f"it is {live}, {why}; {argument}")
        else:
            why = "it is read when the module is loaded"
            if others:
                why = f"other network namespaces exist ({joined(others, 3)})"
            self._ask(key, goal, f"{key} is {live}, {goal} takes effect at the next boot: {why}")

    def _rebooted(self, key: str, goal: str) -> bool:
        """Whether the node has been restarted for this value already, and nothing has been done about it since."""
        known = self.notes.get("pending", {}).get(key)
        waits = known is not None and known["value"] == goal and known["boot"] != self.have.boot
        if waits and not self.result.rebuild:
            self.pending[key] = known
            return True
        return False

    def _ask(self, key: str, goal: str, reason: str) -> None:
        self.result.reboot_reasons.append(reason)
        self.pending[key] = {"value": goal, "boot": self.have.boot}

    def _never(self, key: str, reason: str) -> None:
        self.result.not_effective[key] = reason
        self.result.warnings.append(f"{key} is not effective: {reason}")

    def _blacklist(self) -> None:
        for module in self.intent.blacklist:
            key = f"blacklist {module}"
            if module not in self.have.loaded:
                continue
            if self._rebooted(key, ""):
                self._never(key, f"{module} is loaded, although the node was rebooted: something loads it by name")
            else:
                self._ask(key, "", f"{module} is blacklisted but loaded, until the next boot")
