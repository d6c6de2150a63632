"""What Nova says about an instance in its domain's metadata.

From the `nova:instance` element of a domain, in every namespace version Nova has used, for
`capd.records.reading`. Nova wrote the image's id from the beginning (as the root's), the image
itself with its properties only since 2025.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
    is the package version that wrote it.
    """

    version: Optional[str]
    instance_name: Optional[str]
    flavor: Optional[str]
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
        if _is(instance, "instance"):
            return _instance(instance)
    for entry in sysinfo.iterfind("system/entry") if sysinfo is not None else ():
        if entry.get("name") == "product" and (entry.text or "").strip() in _PRODUCTS:
            return NovaMetadata(None, None, None, None, None)
    return None


def _instance(instance: etree._Element) -> NovaMetadata:
    parts: dict[str, etree._Element] = {}
    for child in instance:
        tag = child.tag
        if isinstance(tag, str) and tag.startswith(_BRACE):
            parts.setdefault(tag.rpartition("}")[2], child)
    image, root, flavor = parts.get("image"), parts.get("root"), parts.get("flavor")
    image_id = _attribute(image, "uuid")
    if image_id is None and root is not None and root.get("type") == "image":
        image_id = _attribute(root, "uuid")
    return NovaMetadata(
        version=_attribute(parts.get("package"), "version"),
        instance_name=_text(parts.get("name")),
        flavor=_attribute(flavor, "name") or _text(flavor),
        image=image_id,
        image_properties=_properties(image),
    )


def _properties(image: Optional[etree._Element]) -> Optional[Mapping[str, str]]:
    block = next(_children(image, "properties"), None) if image is not None else None
    if block is None:
        return None
    return {
        name: (entry.text or "").strip()
        for entry in _children(block, "property")
        if (name := entry.get("name"))
    }


def _children(parent: etree._Element, name: str) -> Iterator[etree._Element]:
    return (child for child in parent if _is(child, name))


def _is(element: etree._Element, name: str) -> bool:
    """Whether `element` is Nova's `name`, in whatever version of its namespace."""
    tag = element.tag
    if not isinstance(tag, str) or not tag.startswith(_BRACE):
        return False
    return tag.rpartition("}")[2] == name


def _attribute(element: Optional[etree._Element], name: str) -> Optional[str]:
    value = element.get(name) if element is not None else None
    return value.strip() or None if value else None


def _text(element: Optional[etree._Element]) -> Optional[str]:
    text = element.text if element is not None else None
    return text.strip() or None if text else None
