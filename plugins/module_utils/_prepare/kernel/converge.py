# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The concern ``kernel``: what is wanted of a node's kernel modules is read, planned, done and reported."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Dict, FrozenSet, List, Mapping, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.kernel import config as kernel_config
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.kernel import limits as kernel_limits
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.kernel.index import Index, index_of
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.kernel.live import (
    boot_id,
    loaded_modules,
    occupied,
    parameters,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.kernel.plan import (
    KernelPlan,
    KernelState,
    mode_word,
    plan,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.kernel.request import (
    NETNS_MODE,
    KernelIntent,
    request,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger import document
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger.ledger import Ledger
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.changes import Change, as_result
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.command import Runner, run
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.kernel_module import canonical

if TYPE_CHECKING:
    from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.kernel.initramfs import Initramfs


# Imports inside functions are those that a node in its steady state never needs; Ansible compiles a module again on
# every run.
_LOAD_SECONDS = 300
# Parameters that the kernel takes for any module (unknown_module_param_cb in kernel/module/main.c).
_EVERY_MODULE = ("async_probe", "dyndbg")
_NOTES = {
    "wanted": document.listed(document.text),
    "loaded": document.listed(document.text),
    "before": document.by_name(document.text),
    "pending": document.by_name(document.record({"value": document.text, "boot": document.text}, {})),
    "rebuild": document.by_name(
        document.record({"built": document.number, "modules": document.listed(document.text)}, {})
    ),
    "images": document.by_name(
        document.record(
            {
                "stamp": document.listed(document.number),
                "asked": document.listed(document.text),
                "has": document.listed(document.text),
            },
            {},
        )
    ),
}
_CACHES = ("images",)


def carry_out(files: Files, intent: KernelIntent, check: bool, runner: Runner = run) -> Dict[str, Any]:
    """Bring the node below ``files`` to the intent, or only say what that would change; an empty intent undoes all.

    Below another root than ``/`` only files are read and written. Returns what the module returns.

    :raises HostError: something wanted does not exist or is forbidden (nothing was changed), or a tool failed.
    """
    ledger = Ledger(files, intent.concern, _NOTES, _CACHES)
    if check:
        return ledger.steady(lambda: _KernelRun(files, intent, runner, ledger).result())
    with ledger.locked():
        return _KernelRun(files, intent, runner, ledger).act()


class _KernelRun:
    def __init__(self, files: Files, intent: KernelIntent, runner: Runner, ledger: Ledger) -> None:
        self.files, self.intent, self.runner, self.ledger = files, intent, runner, ledger
        self.index = index_of(files)
        self.states: Dict[str, str] = {}
        self.plan = self._plan()

    def _plan(self) -> KernelPlan:
        limits = kernel_limits.wanted(self.ledger, self.intent.limits_path, self.intent.user_memlock)
        changes = self.ledger.compare([*self.intent.files, *limits])
        rewritten = any(change.path == self.intent.modprobe_path for change in changes)
        config = kernel_config.read(self.files, self.intent)
        loaded = loaded_modules(self.files) if self.files.live else {}
        builtin = self._builtin(loaded)
        self._validate(loaded, builtin, config, rewritten)
        if self.files.live:
            have = self._have(loaded, builtin, config)
            result = plan(self.intent, have, self.ledger.notes, changes)
        else:
            result = KernelPlan(files=changes, changes=[change.change for change in changes])
            result.warnings = config.conflicts(self.intent)
        result.warnings += self.ledger.warnings
        for file in limits:
            result.warnings += kernel_limits.overriding(self.files, file, self.intent.user_memlock or "")
        return result

    def _builtin(self, loaded: Dict[str, Any]) -> FrozenSet[str]:
        """Built-in ones among the modules of the intent. One without parameters is only in modules.builtin."""
        named = {*self.intent.modules, *self.intent.options} - set(loaded)
        return frozenset(name for name in named if self.index is not None and self.index.builtin(name))

    def _validate(
        self, loaded: Dict[str, Any], builtin: FrozenSet[str], config: kernel_config.ModprobeConfig, rewritten: bool
    ) -> None:
        for module in self.intent.modules:
            present = "loaded" if module in loaded else "builtin" if module in builtin else None
            self.states[module] = present or "unknown"
            if present or self.index is None:
                continue
            if self.index.dependencies(module) is None:
                raise HostError(self._missing(module, self.index))
            self.states[module] = "loaded" if self.files.live else "available"
            if module in config.forbidden:
                raise HostError(f"modules: {module!r} is forbidden by {config.forbidden[module]}")
            preventing = config.preventing(module)
            if preventing is not None:
                line, path = preventing
                raise HostError(f"modules: {module!r} cannot be loaded: {path} has {line!r}")
        if self.files.live and rewritten:
            for module, keys in self.intent.options.items():
                self._validate_parameters(module, sorted(keys))

    def _missing(self, module: str, index: Index) -> str:
        from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.kernel.package import package_of

        if not index.complete:
            package = package_of(self.files, module, index.release, lacking=True)
            return (
                f"modules: {module!r} is not loaded, and there are no modules in /lib/modules/{index.release}: was the "
                f"kernel replaced since the node was booted (then reboot), {package or 'its package'} removed, "
                "or is this a container?"
            )
        alias = index.alias(module)
        if alias is not None:
            return f"modules: {module!r} is an alias of the module {alias!r}; use that name"
        package = package_of(self.files, module, index.release)
        where = f"it is in the package {package}" if package else "is the name right, and is its driver installed?"
        return f"modules: {module!r} does not exist for the kernel {index.release}; {where}"

    def _validate_parameters(self, module: str, names: List[str]) -> None:
        done = self.runner(["modinfo", "--field", "parm", module])
        # An option may be there before the driver it is for.
        if done.rc != 0:
            return
        known = {canonical(line.partition(":")[0]): line.partition(":")[0] for line in done.out.splitlines()}
        for name in names:
            if canonical(name) not in (*known, *_EVERY_MODULE):
                has = "has {}".format(", ".join(sorted(known.values()))) if known else "has none"
                raise HostError(f"options: {module} has no parameter {name!r}; it {has}")

    def _have(
        self, loaded: Dict[str, Any], builtin: FrozenSet[str], config: kernel_config.ModprobeConfig
    ) -> KernelState:
        files, index, cache = self.files, self.index, self.ledger.notes.setdefault("images", {})
        keys = {*self.intent.values, *self.ledger.notes.get("before", {})}

        def closure(modules: Sequence[str]) -> List[str]:
            ours = set(self.ledger.notes.get("loaded", []))
            present = {module for module in loaded if module not in ours}
            return [] if index is None else index.closure(modules, present, config.softdeps)

        def within(image: Initramfs, modules: Sequence[str]) -> FrozenSet[str]:
            from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.kernel.initramfs import contained

            try:
                return contained(image, modules, cache, self.runner)
            except HostError as error:
                self.ledger.warnings.append(f"the modules in {image.path} are unknown: {error}")
                return frozenset()

        return KernelState(
            boot=boot_id(files),
            release="" if index is None else index.release,
            loaded=loaded,
            builtin=builtin,
            parameters=parameters(files, sorted(keys)),
            config=config,
            modprobe_written=self._written(),
            closure=closure,
            requested=lambda: kernel_config.requested(files, self.intent.load_path),
            occupied=lambda module: occupied(files, module),
            namespaces=_namespaces,
            images=lambda: _images(files),
            contained=within,
        )

    def _written(self) -> Optional[int]:
        try:
            return os.stat(self.files.full(self.intent.modprobe_path)).st_mtime_ns
        except OSError:
            return None

    def act(self) -> Dict[str, Any]:
        plan_, ledger = self.plan, self.ledger
        if self.files.live:
            ledger.notes = plan_.record
            ledger.save()
        ledger.apply(plan_.files)
        if self.files.live:
            self._unload(plan_.unload)
            self._load(plan_.load)
            self._switch(plan_)
            self._rebuild(plan_.rebuild)
            ledger.notes = plan_.notes
        ledger.save()
        return self.result()

    def _unload(self, modules: Sequence[str]) -> None:
        for module in modules:
            done = self.runner(["rmmod", module], timeout=_LOAD_SECONDS)
            if done.rc != 0 and self.files.exists(f"/sys/module/{module}"):
                self.plan.changes.remove(Change("module", module, "loaded", "unloaded"))
                self.plan.warnings.append(f"{module} stays loaded: {done.reason}")

    def _load(self, modules: Sequence[str]) -> None:
        if not modules:
            return
        done = self.runner(["modprobe", "--all", *modules], timeout=_LOAD_SECONDS)
        missing = sorted(set(modules) - set(loaded_modules(self.files)))
        if missing:
            reason = done.reason if done.rc else "modprobe reported no error, but it is not loaded"
            raise HostError("modules: {} could not be loaded: {}".format(", ".join(missing), reason))

    def _rebuild(self, images: Sequence[Initramfs]) -> None:
        if images:
            from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.kernel.initramfs import rebuild

            for image in images:
                rebuild(image, self.runner)

    def _switch(self, plan_: KernelPlan) -> None:
        if plan_.netns_mode is None:
            return
        from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.kernel import netns_mode

        try:
            netns_mode.change(plan_.netns_mode)
        except OSError as error:
            # Also a kernel that cannot change it at all: the option in modprobe.d does it.
            plan_.changes = [change for change in plan_.changes if change.kind != "rdma_netns_mode"]
            answer = os.strerror(error.errno or 0)
            reason = f"{NETNS_MODE}: {plan_.netns_mode} takes effect at the next boot; the kernel says: {answer}"
            plan_.reboot_reasons.append(reason)
            if plan_.notes:
                value = self.intent.values.get(NETNS_MODE, "")
                plan_.notes.setdefault("pending", {})[NETNS_MODE] = {"value": value, "boot": boot_id(self.files)}

    def result(self) -> Dict[str, Any]:
        plan_ = self.plan
        live = mode_word(parameters(self.files, [NETNS_MODE]).get(NETNS_MODE)) if self.files.live else None
        return {
            **as_result(plan_.changes, [change.texts for change in plan_.files]),
            "reboot_required": bool(plan_.reboot_reasons),
            "reboot_reasons": plan_.reboot_reasons,
            "not_effective": plan_.not_effective,
            "initramfs_outdated": plan_.initramfs_outdated,
            "netns_mode": live,
            "modules": {module: {"state": self.states[module]} for module in self.intent.modules},
            "warnings": list(dict.fromkeys([*plan_.warnings, *self.ledger.warnings])),
        }


def _images(files: Files) -> List[Initramfs]:
    from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.kernel.initramfs import images

    return images(files)


def _namespaces() -> List[str]:
    from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.kernel import netns_mode

    return netns_mode.other_namespaces()


def converge(options: Mapping[str, Any], check: bool, runner: Runner = run) -> Dict[str, Any]:
    """Bring the node to these options (read as ``options.SPEC`` says), or report the differences.

    Returns the module's result.

    :raises HostError: an option is wrong or cannot be met (nothing was changed then), or a tool failed.
    """
    return carry_out(Files(options["root"]), request(options), check, runner)
