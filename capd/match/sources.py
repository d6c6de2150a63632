"""Images and flavors from files, as the OpenStack tools and APIs write them.

Takes `openstack image show -f json`, an image of the Glance API (v1 or v2), `openstack volume
show -f json`, a plain JSON mapping of properties; `openstack flavor show -f json`, a flavor of
the compute API, a plain mapping of extra specs. `-` is standard input. What comes out are frozen
words; nothing past this module sees the JSON.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Optional

from capd.errors import InputError, PropertyFormat
from capd.match.flavors import Flavor
from capd.match.guest import volume_root
from capd.properties import parse

_LARGEST_FILE = 16 * 1024 * 1024

#: attributes of an image that are no properties (Glance: images v2 schema; openstackclient)
_ATTRIBUTES = frozenset(
    (
        "checksum",
        "container_format",
        "created_at",
        "direct_url",
        "disk_format",
        "file",
        "id",
        "locations",
        "min_disk",
        "min_ram",
        "name",
        "os_hash_algo",
        "os_hash_value",
        "os_hidden",
        "owner",
        "owner_project_name",
        "protected",
        "schema",
        "self",
        "size",
        "status",
        "stores",
        "tags",
        "updated_at",
        "virtual_size",
        "visibility",
        "is_public",
        "deleted",
        "deleted_at",
        "properties",
        "image_id",
        "image_name",
        "signature_verified",
    )
)
#: any of these shows that a mapping is an image rather than properties alone
_MARKS = frozenset({"container_format", "disk_format", "schema", "visibility", "status"})

#: `key='value'` of older openstackclient, which writes properties as text
_PAIR = re.compile(r"\s*(?P<key>[^=\s]+)='(?P<value>(?:[^'\\]|\\.)*)'\s*(?:,|\Z)")


@dataclass(frozen=True)
class Image:
    """An image's name, its properties as text, and whether its root disk is a volume.

    `identity` is what the openstack client finds it by: the uuid, where it is known.
    """

    name: str
    properties: Mapping[str, str]
    volume_backed: bool = False
    identity: str = ""


def read_image(path: Path) -> Image:
    """Read an image, or its properties alone. Raises InputError naming the file."""
    document = _document(path)
    inner = document.get("image")
    if isinstance(inner, dict):
        document = inner
    volume = document.get("volume_image_metadata")
    if volume is not None:
        found = _mapping(volume, "volume_image_metadata", path)
    elif "properties" in document:
        found = _mapping(document["properties"], "properties", path)
    else:
        found = document
    plain = found is document and not _MARKS & set(document)
    named = _texts({k: v for k, v in found.items() if plain or k not in _ATTRIBUTES})
    mapping = named.get("block_device_mapping") or named.get("img_block_device_mapping") or ""
    name = "" if plain else document.get("name") if volume is None else found.get("image_name")
    key = "id" if volume is None else "image_id"
    identity = "" if plain else (document if volume is None else found).get(key) or name
    return Image(
        str(name or ""), named, volume is not None or volume_root(mapping), str(identity or "")
    )


def with_properties(image: Image, assignments: Sequence[str]) -> Image:
    """`image` with `name=value` from the command line added; these win. Raises InputError."""
    extra = {}
    for assignment in assignments:
        try:
            name, value = parse(assignment)
        except PropertyFormat:
            raise InputError(
                f"{assignment!r} is not name=value",
                culprit=assignment,
                cure="for example --property hw_disk_bus=virtio",
            ) from None
        extra[name] = value
    return replace(image, properties={**image.properties, **extra})


def read_flavor(path: Path) -> Flavor:
    """Read a flavor, or its extra specs alone. Raises InputError naming the file."""
    document = _document(path)
    inner = document.get("flavor")
    if isinstance(inner, dict):
        document = inner
    specs = document.get("extra_specs", document.get("properties"))
    if specs is None and not {"vcpus", "ram"} & set(document):
        return Flavor(extra_specs=_texts(document))
    return Flavor(
        name=str(document.get("original_name") or document.get("name") or ""),
        vcpus=_number(document, "vcpus", path),
        memory=_number(document, "ram", path),
        root=_number(document, "disk", path) or 0,
        ephemeral=_number(document, "OS-FLV-EXT-DATA:ephemeral", path) or 0,
        swap=_number(document, "swap", path) or 0,
        extra_specs=_texts(_mapping(specs or {}, "extra specs", path)),
    )


def _document(path: Path) -> dict[str, Any]:
    """The JSON object in a file, or in standard input for `-`."""
    try:
        if str(path) == "-":
            text = sys.stdin.read(_LARGEST_FILE + 1)
        else:
            with path.open(encoding="utf-8") as stream:
                text = stream.read(_LARGEST_FILE + 1)
        if len(text) > _LARGEST_FILE:
            raise InputError(f"{path} is too large to be an image or flavor", culprit=str(path))
        document = json.loads(text)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}", culprit=str(path)) from None
    except (UnicodeDecodeError, RecursionError, ValueError) as error:
        raise InputError(
            f"{path} is not JSON: {error}",
            culprit=str(path),
            cure="write it with openstack image show -f json, or openstack flavor show -f json",
        ) from None
    if not isinstance(document, dict):
        raise InputError(f"{path} holds no JSON object", culprit=str(path))
    return document


def _mapping(value: Any, what: str, path: Path) -> Mapping[str, Any]:
    """A mapping written as JSON, or as the text of older openstackclient."""
    if isinstance(value, dict):
        return value
    if value is None:
        return {}
    if isinstance(value, str):
        result, end = {}, 0
        while end < len(value):
            match = _PAIR.match(value, end)
            if match is None:
                break
            result[match.group("key")] = re.sub(r"\\(.)", r"\1", match.group("value"))
            end = match.end()
        if end == len(value):
            return result
    raise InputError(f"{path}: {what} are no mapping of names to values", culprit=str(path))


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    """Property values as the text that Glance keeps; absent ones left out."""
    return {str(key): _text(value) for key, value in values.items() if value is not None}


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value)


def _number(document: Mapping[str, Any], key: str, path: Path) -> Optional[int]:
    value = document.get(key)
    if value is None or value == "":
        return None
    if isinstance(value, str) and value.isascii() and value.isdigit():
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise InputError(f"{path}: {key} is {value!r}, not a number", culprit=str(path))
