# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What facts read in ``/proc``, of modules and of services, reduced to the lines that they use."""

from __future__ import annotations

import ipaddress
import re
from typing import Any, Iterable, Iterator, List, Mapping, Set

from nodetree.tree import Tree

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import kernel_log, system, units
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree as Source
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import is_number
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.kernel_module import canonical

from .conceal import Conceal

_COPIED = (
    "sys/devices/system/node/online",
    "proc/sys/kernel/osrelease",
    "proc/sys/kernel/arch",
    "proc/uptime",
    "proc/driver/nvidia/version",
    "sys/module/ib_core/parameters/netns_mode",
)
_SERIALS = ("product_serial", "board_serial", "chassis_serial", "product_uuid", "board_asset_tag", "chassis_asset_tag")
# Of the kernel's command line; others have names of file systems, hosts and addresses.
_PARAMETERS = re.compile(r"(?:(?:\w+_)?iommu(?:\.\w+)?|pcie?_\w+|pci|pcie|default_hugepagesz|hugepages\w*)(?:=\S*)?")
_MODULES = {
    *system._RDMA_MODULES,
    *system.PROVIDERS,
    *system.PROVIDERS.values(),
    "ib_ipoib",
    "nvidia",
    "nvidia_peermem",
    system.FORMER_PEERMEM,
}


def _words(source: Source, name: str) -> Iterator[str]:
    """The machine's names and serial numbers, each with its replacement after it."""
    hosts = {source.text(path) or "" for path in ("proc/sys/kernel/hostname", "etc/hostname")}
    for line in (source.text("etc/hosts") or "").splitlines():
        words = line.partition("#")[0].split()[1:]
        if hosts & {*words, *(word.split(".")[0] for word in words)}:
            hosts.update(word for word in words if not word.startswith(("localhost", "ip6-")))
    for host in hosts:
        short, _dot, domain = host.partition(".")
        yield from (host, name, short, name, domain, "example.net")
    for path in ("etc/machine-id", "var/lib/dbus/machine-id"):
        yield from (source.text(path) or "", "0" * 31 + "1")
    for number, path in enumerate(_SERIALS):
        # "Not Specified", "Default string" and the like are no serial numbers.
        text = source.text(f"sys/class/dmi/id/{path}") or ""
        if any(map(str.isdigit, text)) and " " not in text and len(text) > 5 and not path.endswith("uuid"):
            yield from (text, f"SERIAL{number}")


def _networks(source: Source, facts: Mapping[str, Any]) -> Set[ipaddress.IPv4Network]:
    found: Set[ipaddress.IPv4Network] = set()
    for line in (source.text("proc/net/route") or "").splitlines()[1:]:
        fields = line.split()
        try:
            start, mask = (int.from_bytes(bytes.fromhex(fields[at]), "little") for at in (1, 7))
            found.add(ipaddress.IPv4Network((start, str(ipaddress.IPv4Address(mask)))))
        except (IndexError, ValueError):
            continue
    for text in quads(facts):
        found.add(ipaddress.IPv4Interface(text).network)
    return {network for network in found if network.prefixlen}


def quads(facts: Any, key: str = "") -> Iterator[str]:
    """IPv4 addresses and networks in facts, with their prefix lengths."""
    if isinstance(facts, dict):
        for name, value in facts.items():
            yield from quads(value, name)
    elif isinstance(facts, list):
        for value in facts:
            yield from quads(value, key)
    elif (
        isinstance(facts, str)
        and key in ("addresses", "to", "source")
        and re.fullmatch(r"[0-9.]{7,15}(/[0-9]+)?", facts)
    ):
        yield facts


def conceal_for(source: Source, facts: Mapping[str, Any], name: str) -> Conceal:
    """Replacements for this machine, which is to be called ``name``."""
    conceal = Conceal(_networks(source, facts))
    texts = [source.text(f"sys/class/net/{netdev}/address") or "" for netdev in source.names("sys/class/net")]
    conceal.know_macs(bytes.fromhex(text.replace(":", "")) for text in texts if len(text) == 17)
    for text in quads(facts):
        conceal.ipv4.replace(ipaddress.IPv4Interface(text).ip)
    for path in ("proc/sys/kernel/random/boot_id", "sys/class/dmi/id/product_uuid"):
        conceal.uuid(source.text(path) or "")
    words = list(_words(source, name))
    pairs = dict(zip(words[::2], words[1::2]))
    conceal.know({old: new for old, new in pairs.items() if len(old) > 1 and old not in ("localhost", "(none)")})
    return conceal


def _address(word: str, conceal: Conceal) -> str:
    old = ipaddress.IPv4Address(int.from_bytes(bytes.fromhex(word), "little"))
    return f"{int.from_bytes(conceal.ipv4.replace(old).packed, 'little'):08X}"


def _route(line: str, conceal: Conceal) -> str:
    fields = line.split()
    fields[1:3] = [_address(field, conceal) for field in fields[1:3]]
    fields[0] = conceal.text(fields[0])
    return "\t".join(fields)


def _ipv6(line: str, columns: Iterable[int], conceal: Conceal) -> str:
    fields = line.split()
    for column in columns:
        fields[column] = f"{conceal.ipv6(int(fields[column], 16)):032x}"
    fields[-1] = conceal.text(fields[-1])
    return " ".join(fields)


def _local(table: str, conceal: Conceal) -> List[str]:
    """The local addresses alone: the nodes of the tree between them are networks of anybody."""
    found, last = ["Local:"], ""
    for line in table.splitlines():
        words = line.split()
        if len(words) == 2 and words[0] in ("|--", "+--"):
            last = words[1]
        elif words[:3] == ["/32", "host", "LOCAL"]:
            found += [f"           |-- {conceal.text(last, every_quad=True)}", "              /32 host LOCAL"]
    return found


def _network(source: Source, out: Tree, conceal: Conceal) -> None:
    tables = {name: source.text(f"proc/net/{name}") for name in ("route", "ipv6_route", "if_inet6", "fib_trie", "unix")}
    route, unix = (tables[name] for name in ("route", "unix"))
    if route:
        heading, *rows = route.splitlines()
        out.file("proc/net/route", "\n".join([heading, *(_route(row, conceal) for row in rows)]))
    for name, columns in (("ipv6_route", (0, 2, 4)), ("if_inet6", (0,))):
        text = tables[name]
        if source.exists(f"proc/net/{name}"):
            rows = [_ipv6(row, columns, conceal) for row in (text or "").splitlines()]
            out.file(f"proc/net/{name}", "".join(f"{row}\n" for row in rows).encode())
    if tables["fib_trie"]:
        out.file("proc/net/fib_trie", "\n".join(_local(tables["fib_trie"], conceal)))
    if unix:
        heading, *rows = unix.splitlines()
        kept = [row for row in rows if row.split(None, 7)[-1] in system._NRI_SOCKETS]
        out.file("proc/net/unix", "\n".join([heading, *kept]))


def _modules(source: Source, out: Tree) -> None:
    for name in sorted(_MODULES):
        if source.exists(f"sys/module/{name}"):
            out.directory(f"sys/module/{name}")
        for attribute in ("initstate", "version"):
            text = source.text(f"sys/module/{name}/{attribute}")
            if text:
                out.file(f"sys/module/{name}/{attribute}", text)
    for release in source.names("lib/modules"):
        options = [f"{name}=y" for name in system.DMABUF_OPTIONS]
        config = source.text(f"boot/config-{release}")
        if config is not None:
            kept = [line for line in config.splitlines() if line in options]
            out.file(f"boot/config-{release}", "\n".join([*kept, "# CONFIG_OTHERS are left out of this recording"]))
        # Their names decide where the kernel does not tell its own.
        out.directory(f"lib/modules/{release}")
        for name in ("modules.builtin", "modules.dep"):
            text = source.text(f"lib/modules/{release}/{name}")
            if text is not None:
                wanted = [f"/{module}.ko" for module in sorted(_MODULES)]
                lines = [line for line in text.splitlines() if any(word in canonical(line) for word in wanted)]
                out.file(f"lib/modules/{release}/{name}", "\n".join(lines))
    for directory in system._LIBRARIES:
        for name in source.names(directory):
            if system._LIBIBVERBS.fullmatch(name):
                out.file(f"{directory}/{name}", b"")


def _runtime(source: Source, out: Tree) -> None:
    wanted = [f"{unit}.service" for unit in system._RUNTIME_UNITS]
    pids = {pid for _unit, pid in system._runtime_processes(source)}
    for group in (group for hierarchy in units._HIERARCHIES for group in units._slices(source, hierarchy)):
        for unit in wanted:
            words = (source.text(f"{group}/{unit}/cgroup.procs") or "").split()
            own = [word for word in words if is_number(word) and int(word) in pids]
            if own:
                out.file(f"{group}/{unit}/cgroup.procs", "\n".join(own))
    for pid in pids:
        lines = (source.text(f"proc/{pid}/limits") or "").splitlines()
        out.file(f"proc/{pid}/limits", "\n".join([*lines[:1], *(line for line in lines if "locked memory" in line)]))
        out.file(f"proc/{pid}/comm", source.text(f"proc/{pid}/comm") or "")


def _kernel_log(source: Source, out: Tree, conceal: Conceal) -> None:
    """Messages that facts report on, with the names of their devices; nothing else that the log has."""
    if source.resolve(kernel_log.PATH[1:]) is None:
        return
    lines: List[str] = []
    silent = True
    try:
        with kernel_log.KernelLog(source.root) as log:
            for piece in log._read():
                for match in kernel_log._MESSAGE.finditer(piece):
                    silent = False
                    message = match.group(2).decode("utf-8", "replace")
                    if kernel_log.device_of(message) and any(kernel_log.faults(message)):
                        head = match.group(0).split(b";", 1)[0].decode("ascii", "replace")
                        lines.append(f"{head};{conceal.text(message, every_quad=True)}\n")
    except OSError as error:
        source.note(kernel_log.PATH[1:], error)
        return
    if not silent:
        lines.insert(0, "6,0,0,-;All messages but those that facts report on are left out of this recording.\n")
        out.file("dev/kmsg", "".join(lines).encode())


def record(source: Source, out: Tree, conceal: Conceal) -> None:
    """Everything but devices."""
    for path in _COPIED:
        text = source.text(path)
        if text is not None:
            out.file(path, conceal.text(text))
    for name in source.names("sys/devices/system/node"):
        for attribute in ("distance", "cpulist"):
            text = source.text(f"sys/devices/system/node/{name}/{attribute}") if name.startswith("node") else None
            if text:
                out.file(f"sys/devices/system/node/{name}/{attribute}", text)
    for address in source.names("proc/driver/nvidia/gpus"):
        path = f"proc/driver/nvidia/gpus/{address}/information"
        text = source.text(path)
        if text:
            out.file(path, conceal.text(text))
    line = source.data("proc/cmdline")
    if line is not None:
        parameters = line.decode("utf-8", "replace").split()
        out.file("proc/cmdline", " ".join(word for word in parameters if _PARAMETERS.fullmatch(word)))
    boot = re.search("(?m)^btime [0-9]+$", source.text("proc/stat") or "")
    if boot:
        out.file("proc/stat", boot.group(0))
    processor = (source.text("proc/cpuinfo") or "").split("\n\n")[0].splitlines()
    kept = [line for line in processor if line.startswith(("processor", "model name", "flags", "CPU implementer"))]
    out.file("proc/cpuinfo", "\n".join(kept))
    _network(source, out, conceal)
    _modules(source, out)
    _runtime(source, out)
    _kernel_log(source, out, conceal)
