"""What one machine type offers: libvirt's getDomainCapabilities to claims.

Documents are 3 to 145 kB, nearly all of it CPU models, and a host's several hundred hold about a
dozen distinct remainders. So the CPU models and the header that names the combination are cut out
as text, and each distinct remainder is parsed once.

An absent element or enum means unknown; `supported='no'`, or a present enum without the value,
means no (libvirt, "Domain capabilities XML format").
"""

from __future__ import annotations

from typing import Optional

from lxml import etree

from capd.documents import parse
from capd.errors import DocumentError
from capd.facts import Claim, Claims, Source
from capd.table import CATEGORIES, Category, Origin

#: buses on which libvirt accepts ejectable media, and those of floppies
CDROM_BUSES = frozenset({"ide", "sata", "scsi", "usb", "xen"})
FLOPPY_BUSES = frozenset({"fdc"})

_NOTHING: frozenset[str] = frozenset()


class Reader:
    """Parses documents, each distinct remainder once; keeps what it parsed for the next pass."""

    def __init__(self) -> None:
        self._parsed: dict[str, Claims] = {}
        self._used: dict[str, Claims] = {}

    def read(self, text: str, origin: str) -> Claims:
        """The claims of one document. Raises DocumentError naming `origin`.

        Equal documents give the identical object.
        """
        key = remainder(text)
        claims = self._parsed.get(key)
        if claims is None:
            claims = self._parsed[key] = _claims(parse(key, origin), origin)
        self._used[key] = claims
        return claims

    def forget_unused(self) -> None:
        """Drop remainders that no document had since the last call, so nothing piles up."""
        self._parsed, self._used = self._used, {}


def remainder(text: str) -> str:
    """`text` without the CPU models and without the names of the combination.

    Text that does not look like libvirt's comes back whole.
    """
    head = text.find("<path>")
    tail = text.find("</arch>", head)
    start = text.find("<cpu>", tail)
    end = text.rfind("</cpu>")
    if not -1 < head < tail:
        return text
    if not tail < start < end:
        return text[:head] + text[tail + 7 :]
    return text[:head] + text[tail + 7 : start] + text[end + 6 :]


def _claims(root: etree._Element, origin: str) -> Claims:
    if root.tag != "domainCapabilities":
        raise DocumentError(
            f"{origin}: expected <domainCapabilities>, found <{root.tag}>", culprit=origin
        )
    claims: dict[str, Claim] = {}
    for category in CATEGORIES:
        if category.origin is Origin.DOMCAPS:
            values = _values(root, category)
            claims[category.name] = Claim(values, Source.DOMCAPS)
    claims["memory_encryption"] = Claim(_encryption(root), Source.DOMCAPS)
    buses = claims["disk_bus"].values
    media = _enum(root, "devices/disk", "diskDevice")
    for name, medium, possible in (
        ("cdrom_bus", "cdrom", CDROM_BUSES),
        ("floppy_bus", "floppy", FLOPPY_BUSES),
    ):
        found = None if buses is None or media is None else _NOTHING
        if buses is not None and media is not None and medium in media:
            found = buses & possible
        claims[name] = Claim(found, Source.DOMCAPS)
    return claims


def _values(root: etree._Element, category: Category) -> Optional[frozenset[str]]:
    raw = _enum(root, category.element, category.enum)
    if category.element == "devices/tpm":
        # passthrough hands the host's own chip to one guest: what instances get is emulated
        backends = _enum(root, category.element, "backendModel")
        if backends is not None and "emulator" not in backends:
            return _NOTHING
        if backends is None:
            return None
    if raw is None:
        return None
    names = {word: value.name for value in category.values for word in value.raw}
    if category.name in ("secure_boot",):
        return frozenset(names[word] for word in raw if word in names)
    return frozenset(names.get(word, word) for word in raw)


def _encryption(root: etree._Element) -> Optional[frozenset[str]]:
    """Guest memory encryption: an enum in libvirt 9 and later, elements of their own before."""
    found = _enum(root, "features/launchSecurity", "sectype")
    for name in ("sev", "sgx"):
        element = root.find(f"features/{name}")
        if element is not None:
            found = (found or _NOTHING) | ({name} if element.get("supported") == "yes" else set())
    return found


def _enum(root: etree._Element, path: str, name: str) -> Optional[frozenset[str]]:
    """The values of one enum, anchored at `path`; None if nothing is said."""
    node = root
    for step in path.split("/"):
        child = node.find(step)
        if child is None:
            return None
        if child.get("supported") == "no":
            return _NOTHING
        node = child
    for enum in node.findall("enum"):
        if enum.get("name") == name:
            texts = (value.text for value in enum.findall("value"))
            return frozenset(text.strip() for text in texts if text and text.strip())
    return None
