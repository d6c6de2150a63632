"""What Nova says about an instance in its domain's metadata.

From the `nova:instance` element of a domain, in every namespace version Nova has used, for
`capd.records.reading`. Nova wrote the image's id from the beginning (as the root's), the image
itself with its properties only since 2025.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Optional

from lxml import etree

#: namespaces end in a version, 1.0 or 1.1 so far
NAMESPACE = "http://openstack.org/xmlns/libvirt/nova/"
_BRACE = f"{{{NAMESPACE}"

#: SMBIOS product names of Nova and of its distributions
_PRODUCTS = frozenset({"OpenStack Nova", "OpenStack Compute"})


@dataclass(frozen=True)
class NovaMetadata:
    """The parts of `nova:instance` that matter to records.

    `image` is the image's id, None for volumes and where it is not said. `image_properties` is
    None where this Nova does not write them: then nobody can tell what the image set. `version`
    is that of the package that wrote it.
    """

    version: Optional[str]
    image: Optional[str]
    image_properties: Optional[Mapping[str, str]]


def read(
    block: Optional[etree._Element], sysinfo: Optional[etree._Element]
) -> Optional[NovaMetadata]:
    """The metadata in a domain's `metadata` element, None if Nova does not manage the domain.

    A domain whose SMBIOS product (in `sysinfo`) is Nova's is managed even if its metadata has
    been lost.
    """
    for instance in block if block is not None else ():
        if _local(instance) == "instance":
            return _instance(instance)
    for entry in sysinfo.iterfind("system/entry") if sysinfo is not None else ():
        if entry.get("name") == "product" and (entry.text or "").strip() in _PRODUCTS:
            return NovaMetadata(None, None, None)
    return None


def _instance(instance: etree._Element) -> NovaMetadata:
    package = image = root = None
    for child in instance:
        name = _local(child)
        if name == "package":
            package = child
        elif name == "image":
            image = child
        elif name == "root":
            root = child
    image_id = _attribute(image, "uuid")
    if image_id is None and root is not None and root.get("type") == "image":
        image_id = _attribute(root, "uuid")
    return NovaMetadata(_attribute(package, "version"), image_id, _properties(image))


def _properties(image: Optional[etree._Element]) -> Optional[Mapping[str, str]]:
    for block in image if image is not None else ():
        if _local(block) == "properties":
            return {
                name: (entry.text or "").strip()
                for entry in block
                if (name := entry.get("name")) and _local(entry) == "property"
            }
    return None


def _local(element: etree._Element) -> str:
    """The name of an element of Nova's, in whatever version of its namespace; else nothing."""
    tag: str = element.tag
    return tag[tag.index("}") + 1 :] if tag.startswith(_BRACE) else ""


def _attribute(element: Optional[etree._Element], name: str) -> Optional[str]:
    value = element.get(name) if element is not None else None
    return value.strip() or None if value else None
