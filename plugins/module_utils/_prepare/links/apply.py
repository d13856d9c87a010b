# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""One change of the links: inside a NetworkManager checkpoint, and put back whole if any of it fails."""

from __future__ import annotations

import contextlib
import copy
import functools
import os
from dataclasses import replace
from typing import Any, Callable, Dict, List, Optional, Sequence, Set, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import netdev, routes
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger.ledger import FileChange
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links import (
    checkpoint,
    keyfile,
    live,
    ports,
    qos,
    qos_live,
    qos_unit,
    vf_guids,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.bus import NetworkManager
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.request import QosPort
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.state import (
    LinkChanges,
    LinkState,
    QosChange,
    Sysctl,
    interfaces,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.command import Runner, must
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError

# A run that is killed while it activates leaves its checkpoint to expire after this much more.
_MARGIN = 75


def _set(notes: Dict[str, Any], key: str, value: Any) -> None:
    notes.pop(key, None)
    if value:
        notes[key] = value


def _uuids(entry: FileChange) -> List[str]:
    """Those that the profile may have if NetworkManager writes it anew."""
    sides = [side.content.decode("utf-8", "replace") for side in (entry.before, entry.after) if side]
    return [uuid for uuid in (keyfile.uuid_in(text) for text in sides if keyfile.is_ours(text)) if uuid]


class LinkTransaction:
    """One change of the node, whole or not at all."""

    def __init__(
        self,
        node: LinkState,
        plan: LinkChanges,
        run: Runner,
        seconds: Optional[int],
        roce: Sequence[QosPort] = (),
    ) -> None:
        """``seconds``: NetworkManager rolls back after so long without confirmation; ``None``: it does not."""
        self._node = node
        self._ledger = node.ledger
        self._plan = plan
        self._seconds = seconds
        self._run = run
        self._manager = NetworkManager(run)
        self._live = node.tree.live
        self._is_elsewhere = False
        self._roce = roce
        self._qos_done: List[QosChange] = []

    def apply(self) -> Optional[str]:
        """Do what is planned; returns the open checkpoint, if there is one."""
        self._check_directory()
        notes = self._ledger.notes
        before, known = copy.deepcopy(notes), set(self._ledger.known)
        self._remember()
        try:
            opened = self._open(self._seconds) if self._live and self._seconds else None
        except HostError as error:
            self._forget(before)
            raise HostError(f"no NetworkManager checkpoint, so nothing was changed: {error}") from error
        try:
            self._change()
            if opened and self._seconds:
                self._manager.extend(opened, self._seconds)
            self._settle()
        except HostError as error:
            problems = self._undo(opened, before, known)
            if problems:
                left = "; ".join(dict.fromkeys(problems))
                way = "Fix this, then repeat the run or run zerocopy.rdma.teardown"
                raise HostError(f"{error}; not everything could be rolled back: {left}. {way}") from error
            raise HostError(f"{error}; everything was rolled back") from error
        return opened

    def _check_directory(self) -> None:
        """Where NetworkManager reads profiles from another directory, ours can only be removed. Raises HostError."""
        found = self._manager.directory() if self._live and self._plan.load else None
        self._is_elsewhere = found is not None and os.path.realpath(found) != os.path.realpath(keyfile.DIRECTORY)
        written = [entry for entry in self._plan.files if entry.after and entry.path.startswith(keyfile.DIRECTORY)]
        if self._is_elsewhere and (written or self._plan.up):
            raise HostError(
                f"NetworkManager reads its profiles from {found} ([keyfile] path= in its configuration), but links are "
                f"written to {keyfile.DIRECTORY}, so nothing was changed: remove path= and restart NetworkManager"
            )

    def _remember(self) -> None:
        """Before the first change, all that taking it back needs."""
        notes, plan = self._ledger.notes, self._plan
        notes.setdefault("links", {}).update(plan.remembered)
        notes.setdefault("unmanaged", {}).update(plan.unmanaged)
        for entry in plan.sysctls:
            notes.setdefault("sysctl", {}).setdefault(entry.key, entry.before)
        ports.remember(self._node, plan)
        for change in plan.vfs:
            notes.setdefault("vfs", {}).setdefault(change.pci, change.before)
        if plan.qos.notes:
            notes.setdefault("qos", {}).update(plan.qos.notes)
        if self._live:
            notes["pending"] = {**notes.get("pending", {}), **plan.pending}
        self._ledger.save()

    def _open(self, seconds: int) -> Optional[str]:
        every = [device for _name, device in [*self._plan.up, *self._plan.down]]
        every += [device for device, _uuid, _id in self._plan.again]
        devices = {device.name: device for device in every if device}
        if not devices:
            return None
        note: Dict[str, Any] = {"path": None, "devices": sorted(devices), "seconds": seconds}
        note["profiles"] = {entry.path: _uuids(entry) for entry in self._plan.files if _uuids(entry)}
        note["up"] = [profile.uuid for profile, _device in self._plan.up]
        if self._plan.sysctls:
            note["sysctl"] = {entry.key: entry.before for entry in self._plan.sysctls}
            note["sysctl_given"] = {entry.key: entry.after for entry in self._plan.sysctls}
            note["sysctl_file"] = self._ledger.files.text(keyfile.SYSCTL_PATH)
        note["since"] = checkpoint.now()
        self._ledger.notes["checkpoint"] = note
        self._ledger.save()
        note["path"] = self._manager.checkpoint(list(devices.values()), seconds + _MARGIN)
        note["until"] = checkpoint.now()
        self._ledger.save()
        return str(note["path"])

    def _change(self) -> None:
        plan = self._plan
        self._ledger.apply(plan.files)
        if not self._live:
            return
        for entry in plan.sysctls:
            live.write_sysctl(entry.key, entry.after)
        for name, active in plan.freed:
            live.free(self._manager, name, active)
        self._load()
        self._check_loaded()
        for name in plan.strays:
            live.remove_netdev(self._run, self._manager, name)
        if plan.up:
            tree = self._node.tree
            live.Activation(self._manager, lambda: interfaces(tree), plan.up, lambda: routes.present(tree)).run()
        # Not before: a profile of others that has just gone down may have taken VFs with it.
        numbers = [(entry.pci, entry.after) for entry in plan.vfs] + [(pf.pci, pf.number) for pf in plan.pfs]
        made = self._make_vfs(numbers)
        # A PF that no link names any more may get VFs back that are not ours.
        ours = [name for entry in plan.pfs for name in made.get(entry.pci, [])]
        live.hand(self._run, self._manager, [*plan.handed, *((name, False) for name in ours)])
        for name, _before, after in plan.vf_mtus:
            live.write_mtu(name, after)
        for rule in plan.rules:
            live.remove_rule(self._run, rule, lambda: routes.present(self._node.tree))
        if plan.mtus:
            self._give_back([(name, after) for name, _before, after in plan.mtus])
        if plan.again:
            plan.warnings += live.restore(self._manager, plan.again)
        self._set_qos()

    def _set_qos(self) -> None:
        """Last, because a NIC may take its link down for it. Raises HostError."""
        notes = self._ledger.notes.get("qos", {})
        for change in self._plan.qos.changes:
            self._qos_done.append(change)
            qos_live.apply(self._run, change, notes[change.name], self._ledger.save)
        lost = qos.build(self._node, self._roce).changes if self._qos_done else ()
        if lost:
            text = lost[0].change
            raise HostError(f"qos: {text.name} is {text.before} although {text.after} was set: the driver refuses it")

    def _make_vfs(self, numbers: Sequence[Tuple[str, int]]) -> Dict[str, List[str]]:
        plan = self._plan
        if vf_guids.UNIT_PATH in plan.pending or qos_unit.UNIT_PATH in plan.pending:
            must(self._run(["systemctl", "daemon-reload"]), "systemctl daemon-reload")
        mtus = {entry.pci: entry.mtu for entry in plan.pfs if entry.mtu}
        anew = {entry.pci for entry in plan.vfs if entry.guids}
        made = live.make(self._run, self._node.tree, numbers, mtus, anew)
        if keyfile.VFS_PATH in plan.pending:
            self._manager.reload()
        return made

    def _give_back(self, mtus: Sequence[Tuple[str, int]]) -> None:
        """Not before NetworkManager has put back what it remembers."""
        names = [name for name, _mtu in mtus]
        gone = {uuid for path, uuid in self._plan.pending.items() if uuid and not self._ledger.files.exists(path)}
        condition = functools.partial(live.is_settled, names, gone)
        live.await_state(self._manager, condition, live.ACTIVATION_SECONDS)
        for name, mtu in mtus:
            live.write_mtu(name, mtu)

    def _load(self) -> None:
        if self._is_elsewhere:
            return
        for paths in self._plan.load:
            self._manager.load(paths)

    def _check_loaded(self) -> None:
        """Whether NetworkManager has what we wrote, and no more what we removed. Raises HostError."""
        for path, uuid in self._plan.pending.items():
            found = self._manager.file_of(uuid) if uuid else None
            name = keyfile.id_of(path)
            if found and found != path:
                raise HostError(f"links: {name}: {keyfile.elsewhere(path, found)}")
            if found and not self._ledger.files.exists(path):
                raise HostError(f"links: {name}: NetworkManager still has this connection, although {path} is gone")

    def _undo(self, opened: Optional[str], notes: Dict[str, Any], known: Set[str]) -> List[str]:
        """Take back what was done so far, as much of it as possible; returns what could not be."""
        plan, ledger = self._plan, self._ledger
        problems: List[str] = []

        def attempt(step: Callable[..., Any], *arguments: Any) -> None:
            try:
                step(*arguments)
            except HostError as error:
                problems.append(str(error))

        def put_back(entry: FileChange) -> None:
            now = ledger.files.stored(entry.path)
            ledger.apply([replace(entry, before=now, after=entry.before, keep=entry.path in known)])

        def put_sysctl_back(entry: Sysctl) -> None:
            kept = live.put_sysctl_back(entry.key, entry.after, entry.before)
            if kept:
                problems.append(kept)

        if opened:
            with contextlib.suppress(HostError):
                # It may have expired, and then it is rolled back already.
                self._manager.roll_back(opened)
        for setting in reversed(self._qos_done):
            # What the driver refused is as it was.
            if qos.now(self._node, setting.name).get(setting.what) != setting.before:
                attempt(qos_live.undo, self._run, setting, ledger.notes["qos"][setting.name])
        for entry in plan.files:
            attempt(put_back, entry)
        if self._live:
            for sysctl in reversed(plan.sysctls):
                attempt(put_sysctl_back, sysctl)
            attempt(self._load)
            attempt(self._make_vfs, [(entry.pci, entry.before) for entry in plan.vfs])
            for name, mtu, _after in plan.vf_mtus:
                attempt(live.write_mtu, name, mtu)
            attempt(live.hand, self._run, self._manager, [(name, not managed) for name, managed in plan.handed])
            parents = [self._node.interfaces.get(profile.netdev or "") for profile, _d in plan.up if not profile.parent]
            names = [entry.name for entry in parents if entry]
            names += [upper for name in names for upper in netdev.upper_netdevs(self._node.tree, name)]
            every = [self._node.interfaces.get(name) for name in names]
            mtus = [(entry.name, entry.mtu) for entry in every if entry and entry.mtu]
            # Without links, there may be no NetworkManager.
            if mtus or plan.load:
                attempt(self._give_back, mtus)
        # What could not be put back has to stay known, as after a run that was killed.
        if not problems:
            made = [name for name, note in notes.get("qos", {}).items() if note["made"]]
            qos_live.forget((name, note) for name, note in ledger.notes.get("qos", {}).items() if name not in made)
            attempt(self._forget, notes)
        return problems

    def _forget(self, before: Dict[str, Any]) -> None:
        self._ledger.notes.clear()
        self._ledger.notes.update(before)
        self._ledger.save()

    def _settle(self) -> None:
        notes, plan = self._ledger.notes, self._plan
        _set(notes, "links", plan.remembered)
        _set(notes, "unmanaged", plan.unmanaged)
        sysctls = notes.get("sysctl", {})
        kept = {*plan.wanted, *(key for key in sysctls if ports.netdev_of(key) in plan.kept)}
        _set(notes, "sysctl", {key: value for key, value in sysctls.items() if key in kept})
        pfs = {entry.pci for entry in plan.pfs}
        _set(notes, "vfs", {pci: number for pci, number in notes.get("vfs", {}).items() if pci in pfs})
        left = {name: note for name, note in notes.get("qos", {}).items() if name not in plan.qos.notes}
        hcas = {name.partition("/")[0] for name in plan.qos.notes}
        if self._live:
            qos_live.forget((name, note) for name, note in left.items() if name.partition("/")[0] not in hcas)
        _set(notes, "qos", plan.qos.notes)
        ports.settle(notes, plan)
        notes.pop("pending", None)
        self._ledger.save()
