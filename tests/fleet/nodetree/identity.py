# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""MACs, GUIDs and UUIDs: derived from host and part names, so that the same description gives the same tree."""

from __future__ import annotations

import hashlib
import ipaddress
import uuid

OUIS = {0x15B3: "b8599f", 0x8086: "a0369f", 0x14E4: "b07b25", 0x10EC: "18c04d"}


def digest(*parts: str) -> str:
    return hashlib.sha256("/".join(parts).encode()).hexdigest()


def mac(host: str, name: str, vendor: int = 0x15B3) -> str:
    text = OUIS.get(vendor, "0200c0") + digest(host, name, "mac")[:6]
    return ":".join(text[i : i + 2] for i in range(0, 12, 2))


def guid(mac_address: str) -> str:
    """The GUID that the vendor burns in beside this MAC: OUI, 03:00, rest."""
    text = mac_address.replace(":", "")
    text = text[:6] + "0300" + text[6:]
    return ":".join(text[i : i + 4] for i in range(0, 16, 4))


def link_local(mac_address: str) -> ipaddress.IPv6Address:
    """fe80::/64 with the modified EUI-64 of a MAC (RFC 4291, appendix A)."""
    octets = [int(part, 16) for part in mac_address.split(":")]
    octets[0] ^= 0x02
    eui = bytes([*octets[:3], 0xFF, 0xFE, *octets[3:]])
    return ipaddress.IPv6Address(b"\xfe\x80" + bytes(6) + eui)


def guid_link_local(text: str) -> ipaddress.IPv6Address:
    return ipaddress.IPv6Address(b"\xfe\x80" + bytes(6) + bytes.fromhex(text.replace(":", "")))


def ipoib_address(port_guid: str, queue_pair: int) -> str:
    """20 bytes: queue pair number with flags, then the port's GID (RFC 4391, section 9.1.1)."""
    raw = queue_pair.to_bytes(4, "big") + guid_link_local(port_guid).packed
    return ":".join(f"{byte:02x}" for byte in raw)


def gpu_uuid(host: str, address: str) -> str:
    return "GPU-" + str(uuid.UUID(digest(host, address, "gpu")[:32]))
