# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""Plans the files of containerd, k3s and RKE2."""

from __future__ import annotations

import posixpath
from dataclasses import replace
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger.ledger import File
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.command import Runner
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError, UnreadableError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.base import keys as runtime_keys
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.base import ownership as runtime_own
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.base import unit_limit
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.base.interface import (
    Installation,
    Parts,
    RuntimeLayout,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.base.keys import (
    ConfigKey,
    Effective,
    RuntimePlan,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.base.ownership import (
    DROPIN,
    SPEC,
    OurFiles,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.containerd import chain as runtime_chain
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.containerd import oci_spec, place, template
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.containerd.chain import Chain
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.containerd.dump import (
    LAST_READ,
    ConfigDump,
    check,
    check_others,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.toml import edit
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.toml.document import (
    Path,
    TomlDocument,
    differences,
    with_keys,
)

# Content of files that we created, without our edits.
_MADE = [template.BASE, *(f"version = {number}\n" for number in runtime_chain.VERSIONS)]


def make(installed: Installation, parts: Parts, own: OurFiles) -> RuntimePlan:
    """Plan for all ``parts`` at once; ``own`` are the files that earlier runs wrote.

    :raises HostError: the present configuration is broken, or the new one would not mean what it should.
    """
    files, layout = installed.files, installed.layout
    dump = ConfigDump(installed.binary, installed.run) if files.live else None
    recorded, own = own, _with_generated(files, layout, own)
    chain = _read(files, layout, own, dump)
    if layout.generated and not chain.sources:
        raise HostError(f"{layout.main} does not exist: start {layout.unit} once, so that it writes its configuration")
    if layout.generated and parts:
        chain = _rendered(files, layout, own, chain, dump)
    layout = _with_dropins(chain, layout)
    merged = Effective(runtime_chain.merged(chain), complete=False)
    before = _refusable(layout, lambda: dump.staged(chain, layout.main, {})) if dump else merged
    if before.cri_disabled:
        raise HostError(
            f"{layout.main}: disabled_plugins disables the CRI, so this containerd cannot run pods: remove that entry"
            " and restart containerd, or select another runtime"
        )
    plan = RuntimePlan(files=[*chain.files], globs=[*chain.globs], before=before)
    keys, specs = _keys(installed, parts, before, plan, dump)
    merges = before.version > 2
    placed = place.place(chain, layout.main, layout.dropins, keys, before, merges, layout.generated)
    texts = seen = placed.texts
    if layout.generated:
        texts, seen, keys = _template(files, layout, own, chain, placed, keys, plan)
    plan.effective = Effective(with_keys(before.data, _full(keys, before)), before.complete)
    if dump:
        plan.effective = dump.staged(chain, layout.main, seen)
        check(before, plan.effective, keys)
        installed_chain, now = _now(files, layout, own, before, dump)
        plan.differs = now is None or _differs(now, plan.effective)
        if now is not None and not layout.generated:
            check_others(now, plan.effective, keys, _of_others(installed_chain, own))
    used = {key.value for key in keys} | {str(table.get(runtime_keys.BASE_SPEC)) for table in before.handlers.values()}
    specs = [file for file in specs if file.path in used or not posixpath.basename(file.path).startswith(SPEC)]
    plan.wanted = [File(path, text) for path, text in texts.items()] + specs
    if "memlock" in parts:
        unit_limit.add(files, layout.unit, int(parts["memlock"]["limit"]), plan)
    plan.files += [file.path for file in plan.wanted if file.path not in plan.files]
    _release(files, recorded, chain, plan)
    runtime_own.refuse_foreign(files, plan.wanted, own)
    return plan


def _with_generated(files: Files, layout: RuntimeLayout, own: OurFiles) -> OurFiles:
    """k3s and RKE2 copy our lines from their template into the main file."""
    if not layout.generated:
        return own
    paths = [template.path_of(layout, version) for version in template.NAMES]
    path = next((path for path in paths if path in own), None)
    texts = [own[path]] if path else map(files.text, paths)
    return {**own, layout.main: "\n".join(text or "" for text in texts)}


def _read(files: Files, layout: RuntimeLayout, own: OurFiles, dump: Optional[ConfigDump]) -> Chain:
    try:
        return runtime_chain.read(files, layout.main, own)
    except UnreadableError:
        raise
    except HostError:
        # If containerd rejects the file too, its own message is better.
        if dump:
            _refusable(layout, lambda: dump.now(layout.main))
        raise


def _rendered(files: Files, layout: RuntimeLayout, own: OurFiles, chain: Chain, dump: Optional[ConfigDump]) -> Chain:
    """The chain as the next start renders its main file.

    :raises HostError: the node would not work with that.
    """
    now = chain.version
    newer = now > 2 or (
        dump is not None
        and files.exists(template.path_of(layout, 3))
        and _refusable(layout, lambda: dump.now(layout.main)).version > 2
    )
    coming = template.next_version(files, layout, min(now, 3), newer)
    path = template.path_of(layout, coming)
    text = files.text(path)
    text = None if text is None else runtime_own.cleaned(text, path, own)
    template.judge(text, path, layout, now, coming)
    if text is None or not template.literal(text):
        return chain
    return runtime_chain.read(files, layout.main, own, main_text=text)


def _refusable(layout: RuntimeLayout, ask: Callable[[], Effective]) -> Effective:
    try:
        return ask()
    except HostError as error:
        raise HostError(
            f"containerd rejects its present configuration ({layout.main}), so nothing is changed and the running"
            f" containerd is not restarted: {error}"
        ) from error


def _full(keys: Sequence[ConfigKey], effective: Effective) -> Dict[Tuple[str, ...], Any]:
    return {key.full(effective.version): key.value for key in keys}


def _keys(
    installed: Installation, parts: Parts, before: Effective, plan: RuntimePlan, dump: Optional[ConfigDump]
) -> Tuple[List[ConfigKey], List[File]]:
    files, layout, run = installed.files, installed.layout, installed.run
    keys: List[ConfigKey] = []
    specs: List[File] = []
    if "nri" in parts:
        keys += runtime_keys.nri_keys(parts["nri"], before)
    if "memlock" in parts:
        wanted = int(parts["memlock"]["limit"])
        chosen = runtime_keys.chosen_handlers(parts["memlock"]["handlers"], before)
        plan.handlers = sorted(chosen)
        made: Dict[str, File] = {}
        for name, base in chosen.items():
            path = f"{layout.specs}/{SPEC}{'-' + name if base else ''}.json"
            if posixpath.dirname(base) == layout.specs and runtime_own.named(base):
                # Somebody else's file already refers to our specification.
                path = base
                base = base if base != f"{layout.specs}/{SPEC}.json" and files.exists(base) else ""
            else:
                keys.append(runtime_keys.handler_key(name, path))
            if base:
                plan.files.append(base)
            if path not in made:
                spec = oci_spec.with_memlock(_base_spec(files, layout, base, dump, run), wanted)
                made[path] = File(path, oci_spec.rendered(spec), _mode(files, base))
        specs += made.values()
    return keys, specs


def _mode(files: Files, base: str) -> int:
    """Whoever may not read the specification that ours is made of may not read ours."""
    stored = files.stored(base) if base else None
    return 0o644 & stored.mode if stored else 0o644


def _base_spec(
    files: Files, layout: RuntimeLayout, base: str, dump: Optional[ConfigDump], run: Runner
) -> Dict[str, Any]:
    if base:
        text = files.text(base)
        if text is None:
            raise HostError(f"{layout.main}: base_runtime_spec names {base}, which does not exist")
        return oci_spec.parse(text, base)
    if dump is None:
        return oci_spec.without_default_security(oci_spec.default())
    command = [*layout.ctr, "oci", "spec"]
    done = run(command, timeout=60)
    if done.rc != 0:
        raise HostError(f"the runtime's default specification cannot be read: '{' '.join(command)}': {done.reason}")
    return oci_spec.without_default_security(oci_spec.parse(done.out, " ".join(command)))


def _with_dropins(chain: Chain, layout: RuntimeLayout) -> RuntimeLayout:
    """k3s and RKE2 since 2025 import a drop-in directory, which is found in the generated file."""
    if not layout.generated:
        return layout
    for pattern in chain.globs:
        directory = posixpath.dirname(pattern)
        if directory.startswith(layout.dropins + "/") and runtime_chain.matches(
            pattern, f"{directory}/{DROPIN}nri.toml"
        ):
            return replace(layout, dropins=directory)
    return layout


def _template(
    files: Files,
    layout: RuntimeLayout,
    own: OurFiles,
    chain: Chain,
    placed: place.Placed,
    keys: List[ConfigKey],
    plan: RuntimePlan,
) -> Tuple[Dict[str, str], Dict[str, str], List[ConfigKey]]:
    """For a generated main file: the texts to write, the texts that containerd will read, and the keys in them.

    Keys that cannot go into a drop-in go into the template, if its user's part has the table or the base lacks it.
    """
    directory = posixpath.dirname(layout.main)
    path = template.path_of(layout, chain.version)
    plan.files += [template.path_of(layout, version) for version in template.NAMES]
    candidates = placed.homeless if layout.dropins != directory else keys
    texts = {} if candidates is keys else dict(placed.texts)
    current = files.text(path)
    text = template.BASE if current is None else runtime_own.cleaned(current, path, own)
    known = TomlDocument(edit.masked(text), path).tables
    moved = [key for key in candidates if key.section == "nri" or key.full(chain.version)[:-1] in known]
    left = [key for key in candidates if key not in moved]
    _explain(layout, left, plan)
    seen = dict(texts)
    if moved:
        pairs = [(key.full(chain.version), key.value) for key in moved]
        texts[path] = edit.set_keys(text, path, pairs)
        seen[layout.main] = edit.set_keys(chain.sources[0].text, layout.main, pairs)
    return texts, seen, [key for key in keys if key not in left]


def _explain(layout: RuntimeLayout, left: Sequence[ConfigKey], plan: RuntimePlan) -> None:
    handlers = [name for name in map(runtime_keys.handler_of, left) if name]
    why = f"{layout.unit} generates this table and, unlike newer releases, imports no drop-in directory"
    if handlers:
        plan.handlers = [name for name in plan.handlers if name not in handlers]
        plan.warnings.append(
            f"the base specification of handler {', '.join(handlers)} cannot be set ({why}). Its containers get the"
            f" limit of {layout.unit}, which is raised."
        )
    if any(key.part == "nri" for key in left):
        plan.warnings.append(f"CDI cannot be enabled ({why}). Drivers that need CDI do not work on this node.")


def _release(files: Files, own: OurFiles, chain: Chain, plan: RuntimePlan) -> None:
    """Remove our lines from files that no longer need them, and release those files."""
    wanted = {file.path for file in plan.wanted}
    references = dict(chain.named)
    for source in chain.sources:
        references.update(dict.fromkeys(runtime_own.texts_in(source.document.data), source.path))
    for path, original in own.items():
        text = files.text(path)
        if path in wanted or text is None:
            continue
        if runtime_own.named(path):
            if path in references:
                _keep(path, text, references[path], chain, plan)
            continue
        stripped = runtime_own.cleaned(text, path, own)
        if stripped == text:
            continue
        made_by_us = original is None and stripped in _MADE
        plan.wanted.append(File(path, None if made_by_us else stripped, release=True))
        if edit.MARK not in text:
            plan.warnings.append(
                f"{path} was rewritten by another program that dropped this module's comments. References to the"
                " module's files are removed, but other settings made by the module (NRI, CDI) remain."
            )


def _keep(path: str, text: str, reference: str, chain: Chain, plan: RuntimePlan) -> None:
    """Keep a file that somebody else's configuration refers to; a drop-in is emptied."""
    content = place.rendered(chain.version, []) if path.endswith(".toml") else text
    plan.wanted.append(File(path, content))
    plan.warnings.append(f"{path} is kept because {reference} refers to it: remove the reference and run again.")


def _now(
    files: Files, layout: RuntimeLayout, own: OurFiles, before: Effective, dump: ConfigDump
) -> Tuple[Optional[Chain], Optional[Effective]]:
    """The installed files and what they mean; ``None`` where containerd does not accept them."""
    try:
        chain = runtime_chain.read(files, layout.main, own, installed=True)
        ours = any(source.path in own for source in chain.sources)
        return chain, dump.staged(chain, layout.main, {}) if ours else before
    except HostError:
        return None, None


def _of_others(chain: Optional[Chain], own: OurFiles) -> List[Tuple[Path, Any]]:
    """What the installed files say in lines that are not ours."""
    found: List[Tuple[Path, Any]] = []
    for source in chain.sources if chain else ():
        if source.path in own and runtime_own.named(source.path):
            continue
        ours = edit.marked(source.text, own[source.path]) if source.path in own else {}
        for path, at in source.document.keys.items():
            value = source.document.get(path)
            # A program that drops comments leaves our references without marks.
            reference = isinstance(value, str) and runtime_own.named(value)
            if at.last not in ours and path[0] not in LAST_READ and not reference:
                found.append((path, value))
    return found


def _differs(now: Effective, effective: Effective) -> bool:
    """Whether the installed configuration differs from the plan in effect."""
    found = differences(now.data, effective.data)
    return any(path[0] not in LAST_READ for path, _old, _new in found)
