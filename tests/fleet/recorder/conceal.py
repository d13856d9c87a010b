# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Replacements for what identifies a machine, in every spelling in which the kernel and the tools print it.

The same value always has the same replacement, and what belongs together still does: a MAC address, the GUIDs and the
GIDs that are made of it share one. The vendor's part (OUI) stays, and so do the last four bits, which number the ports
of a card. Replacements are numbered as they are met and hold nothing of the original.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Dict, Iterable, List, Match, Set, Tuple

from .ip_addresses import Ipv4, Ipv6Sites

_LOCAL = 0x02
_H = "[0-9A-Fa-f]"
_SHORT = f"{_H}{{1,4}}(?::{_H}{{1,4}}){{0,6}}"
# One pass, so that no replacement is replaced again. The first form that fits counts.
_FORMS = re.compile(
    # That of a GPU has letters and a hyphen before it.
    f"(?<![0-9A-Za-z])(?P<uuid>{_H}{{8}}(?:-{_H}{{4}}){{3}}-{_H}{{12}})(?![0-9A-Za-z-])|(?<![0-9A-Za-z:.-])(?:"
    + "|".join(
        (
            f"(?P<octets>{_H}{{2}}(?P<mark>[:-]){_H}{{2}}(?:(?P=mark){_H}{{2}}){{4,18}})",
            f"(?P<quartets>{_H}{{4}}(?::{_H}{{4}}){{3}}(?:(?::{_H}{{4}}){{4}})?)",
            f"0x(?P<number>{_H}{{16}})",
            f"(?P<ipv6>(?:{_H}{{1,4}}:){{7}}{_H}{{1,4}}|(?:{_SHORT})?::(?:{_SHORT})?)",
            r"(?P<ipv4>[0-9]{1,3}(?:\.[0-9]{1,3}){3})",
        )
    )
    # A full stop after an address may end a sentence.
    + r")(?![0-9A-Za-z:-]|\.[0-9A-Za-z])",
    re.ASCII,
)
# NVIDIA's driver names who compiled it.
_BUILDER = re.compile(r"\([^()\s@]+@[^()\s@]+\)")


_NUMA_NODE = re.compile("node[0-9]+")
# Kinds of originals.
WORDS, QUADS = "names and serial numbers", "IPv4 addresses"
# As long as this, a word is no part of another one by chance.
_DISTINCT = 6


def words_pattern(words: Iterable[str]) -> str:
    """Fits each of the words, the longest first: a host's full name has its short one in it."""
    found = []
    for word in sorted(words, key=len, reverse=True):
        own = re.escape(word)
        found.append(own if len(word) >= _DISTINCT else rf"(?<![\w.-]){own}(?![\w-])(?!\.\w)")
    return "|".join(found) or "(?!)"


def _groups(value: int, count: int) -> str:
    digits = f"{value:0{count * 4}x}"
    return ":".join(digits[i : i + 4] for i in range(0, count * 4, 4))


def _spellings(raw: bytes) -> List[str]:
    pairs = [f"{octet:02x}" for octet in raw]
    return [mark.join(pairs) for mark in (":", "-", "")]


class Conceal:
    """``networks`` are the IPv4 networks of the machine; the other identifiers are told as they are found."""

    def __init__(self, networks: Iterable[ipaddress.IPv4Network] = ()) -> None:
        self.ipv4 = Ipv4(networks)
        self.sites = Ipv6Sites()
        # Original -> replacement, for the audit.
        self.macs: Dict[bytes, bytes] = {}
        self.guids: Dict[int, int] = {}
        self.uuids: Dict[str, str] = {}
        self.words: Dict[str, str] = {}
        self._blocks: Dict[Tuple[bytes, int], int] = {}
        self._vendors: Dict[Tuple[bytes, int], bytes] = {}
        self._wide: Dict[int, Tuple[bytes, int]] = {}
        self._lower_words: Dict[str, str] = {}
        self._paths: Dict[str, str] = {}
        self._word = re.compile("(?!)")
        self._bare = re.compile("(?!)")

    def know(self, words: Dict[str, str]) -> None:
        """Words that are replaced wherever they are: host names, machine ids, serial numbers.

        A short one, such as ``node1``, only where it stands alone.
        """
        self.words.update(words)
        self._lower_words = {old.lower(): new for old, new in self.words.items()}
        self._word = re.compile(words_pattern(self.words), re.IGNORECASE)
        self._paths.clear()

    def know_macs(self, addresses: Iterable[bytes]) -> None:
        """Those of the machine's netdevs, of which names of netdevs may be made (``enx<MAC>``)."""
        every = {address.hex() for address in addresses if self.mac(address) != address}
        if every:
            self._bare = re.compile("|".join(sorted(every)), re.IGNORECASE)

    def _nic(self, vendor: bytes, low: int, local: bool) -> Tuple[bytes, int]:
        """Vendor and lower 24 bits of a MAC address. The address of a software device has no vendor."""
        key = (vendor, low)
        if key not in self._vendors:
            self._vendors[key] = b"\0\0\0" if local else vendor
        kept = self._vendors[key]
        block = self._blocks.setdefault((vendor, low >> 4), len(self._blocks) + 1)
        return kept, (block << 4 | low & 0xF) & 0xFFFFFF

    def mac(self, address: bytes) -> bytes:
        if not any(address) or address[0] & 1:
            return address
        local = address[0] & _LOCAL
        vendor, low = self._nic(
            bytes([address[0] & ~_LOCAL]) + address[1:3], int.from_bytes(address[3:], "big"), bool(local)
        )
        self.macs[address] = bytes([vendor[0] | local]) + vendor[1:] + low.to_bytes(3, "big")
        return self.macs[address]

    def guid(self, value: int, has_vendor: bool = True) -> int:
        """An EUI-64: of a MAC address with 03:00 (HCAs), ff:ff (PCI) or ff:fe in the middle, or of its own.

        Without ``has_vendor``, one that is not known yet may be random, as of an IPv6 address.
        """
        raw = value.to_bytes(8, "big")
        if value >> 16 == 0:
            return value
        local, vendor = raw[0] & _LOCAL, bytes([raw[0] & ~_LOCAL]) + raw[1:3]
        if raw[3:5] in (b"\xff\xfe", b"\x03\x00", b"\xff\xff"):
            # In an EUI-64 with ff:fe, the bit is the other way round (RFC 4291, appendix A).
            made = raw[3:5] == b"\xff\xfe" and not local
            kept, low = self._nic(vendor, int.from_bytes(raw[5:], "big"), made)
            new = bytes([kept[0] | local]) + kept[1:] + raw[3:5] + low.to_bytes(3, "big")
            self.guids[value] = int.from_bytes(new, "big")
        else:
            # IPoIB's interface identifiers are GUIDs with the bit set (RFC 4391, section 8).
            own = value & ~(_LOCAL << 56)
            kept, block = self._wide.setdefault(own >> 4, (vendor if has_vendor else b"\0\0\0", len(self._wide) + 1))
            self.guids[value] = int.from_bytes(kept, "big") << 40 | local << 56 | 1 << 32 | block << 4 | value & 0xF
        return self.guids[value]

    def ipv6(self, value: int) -> int:
        """An IPv6 address or a GID."""
        upper, lower = value >> 64, value & ((1 << 64) - 1)
        if upper == 0 and lower >> 32 == 0xFFFF:
            return 0xFFFF << 32 | int(self.ipv4.replace(ipaddress.IPv4Address(lower & 0xFFFFFFFF)))
        mac = (value >> 80).to_bytes(6, "big")
        if value & ((1 << 80) - 1) == 0 and mac in self.macs:
            # The GID of a siw device.
            return int.from_bytes(self.macs[mac], "big") << 80
        if upper >> 56 == 0xFF:
            return value
        return self.sites.replace(upper) << 64 | self.guid(lower, has_vendor=False)

    def uuid(self, text: str) -> str:
        if not text.replace("-", "").strip("0"):
            return text
        number = len(self.uuids) + 1
        return self.uuids.setdefault(text.lower(), f"00000000-0000-4000-8000-{number:012x}")

    def _octets(self, text: str, mark: str) -> str:
        raw = bytes.fromhex(text.replace(mark, ""))
        if len(raw) == 6:
            new = self.mac(raw)
        elif len(raw) == 8:
            new = self.guid(int.from_bytes(raw, "big")).to_bytes(8, "big")
        elif len(raw) == 20:
            # IPoIB: number of the queue pair, GID (RFC 4391, section 9.1.1).
            new = raw[:4] + self.ipv6(int.from_bytes(raw[4:], "big")).to_bytes(16, "big")
        else:
            new = bytes(len(raw))
        return mark.join(f"{octet:02x}" for octet in new)

    def _quartets(self, text: str) -> str:
        digits = text.replace(":", "")
        value = int(digits, 16)
        if len(digits) == 32:
            return _groups(self.ipv6(value), 8)
        # `rdma link` prints the subnet prefix of a port like a GUID.
        if value in self.sites.found or self.sites.is_kept(value):
            return _groups(self.sites.replace(value), 4)
        return _groups(self.guid(value), 4)

    def _form(self, match: Match[str], every_quad: bool) -> str:
        found = match.group(0)
        if match.group("uuid"):
            return self.uuid(found)
        if match.group("octets"):
            return self._octets(found, match.group("mark"))
        if match.group("quartets"):
            return self._quartets(found)
        if match.group("number"):
            return f"0x{self.guid(int(match.group('number'), 16)):016x}"
        try:
            address = ipaddress.ip_address(found)
        except ValueError:
            return found
        if isinstance(address, ipaddress.IPv6Address):
            return str(ipaddress.IPv6Address(self.ipv6(int(address))))
        # A firmware's version may look like an address.
        return str(self.ipv4.replace(address)) if every_quad or address in self.ipv4.found else found

    def text(self, text: str, every_quad: bool = False) -> str:
        """With ``every_quad``, four numbers with dots are an IPv4 address, else only where the machine knows it."""
        text = self._word.sub(lambda match: self._lower_words[match.group(0).lower()], text)
        text = _BUILDER.sub("(user@host)", text)
        text = _FORMS.sub(lambda match: self._form(match, every_quad), text)
        return self._bare.sub(lambda match: self.mac(bytes.fromhex(match.group(0))).hex(), text)

    def path(self, path: str) -> str:
        """A path of sysfs, or the target of a link: what the kernel itself names like a host (``node1``) stays."""
        if path not in self._paths:
            parts = [part if _NUMA_NODE.fullmatch(part) else self.text(part) for part in path.split("/")]
            self._paths[path] = "/".join(parts)
        return self._paths[path]

    def content(self, raw: bytes, every_quad: bool = False) -> bytes:
        return self.text(raw.decode("utf-8", "surrogateescape"), every_quad).encode("utf-8", "surrogateescape")

    def guids_replaced(self) -> Set[int]:
        """GUIDs that have other ones now, and are no other's replacement."""
        return self.guids.keys() - self.guids.values()

    def originals(self) -> Set[Tuple[str, str]]:
        """Kind and lower-case spelling of each value that has another one now, and is no other's replacement."""
        found: List[Tuple[str, str]] = []
        for mac in self.macs.keys() - self.macs.values():
            found += [("MAC addresses", spelling) for spelling in _spellings(mac)]
        for value in self.guids_replaced():
            found += [("GUIDs", spelling) for spelling in [_groups(value, 4), *_spellings(value.to_bytes(8, "big"))]]
        found += [("UUIDs", spelling) for old in self.uuids for spelling in (old, old.replace("-", ""))]
        found += [(WORDS, old.lower()) for old, new in self.words.items() if old != new]
        found += [(QUADS, str(old)) for old, quad in self.ipv4.found.items() if old != quad]
        found += [("IPv6 networks", _groups(old, 4)) for old, site in self.sites.found.items() if old != site]
        others = {word.lower() for word in self.words.values()} | set(map(str, self.ipv4.found.values()))
        return {(kind, spelling) for kind, spelling in found if spelling not in others}
