"""Image properties: which names and values are right, and what Nova makes of them.

From the table of `capd.fields`, for records, Nova's database and matching. Error messages are
Nova's own, so that scripts written for `nova-manage image_property` go on working.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Optional, Union

from capd.errors import PropertyFormat, PropertyName, PropertyValue
from capd.fields import FIELDS, LEGACY_NAMES, Field, Kind

#: what a property's text becomes in Nova
Typed = Union[str, int, bool]

TRAIT_PREFIX = "trait:"

#: what capd reads from every domain
CAPTURED: tuple[str, ...] = (
    "hw_machine_type",
    "hw_cdrom_bus",
    "hw_disk_bus",
    "hw_floppy_bus",
    "hw_input_bus",
    "hw_pointer_model",
    "hw_video_model",
    "hw_vif_model",
)

#: what `image-property set` can change in a domain
SETTABLE: tuple[str, ...] = (*CAPTURED, "hw_scsi_model", "hw_rng_model", "hw_rescue_bus")


_TRUE = frozenset({"1", "t", "true", "on", "y", "yes"})
#: PEP 440, which Nova holds versions against
_VERSION = re.compile(
    r"\s*v?(?:\d+!)?\d+(?:\.\d+)*(?:[-_.]?(?:alpha|beta|preview|pre|a|b|c|rc)[-_.]?\d*)?"
    r"(?:-\d+|[-_.]?(?:post|rev|r)[-_.]?\d*)?(?:[-_.]?dev[-_.]?\d*)?"
    r"(?:\+[a-z0-9]+(?:[-_.][a-z0-9]+)*)?\s*\Z",
    re.IGNORECASE | re.ASCII,
)
_PREDICATE = re.compile(r"\s*(?:<=|>=|<|>|!=|==)\s*(\S+)\s*\Z")


@dataclass(frozen=True)
class ImageProperties:
    """The properties of an image as Nova reads them.

    `values` are typed and canonical; `required_traits` come from `trait:NAME=required`;
    `problems` are the properties whose value Nova would refuse. One bad property takes no other
    with it.
    """

    values: Mapping[str, Typed]
    required_traits: tuple[str, ...] = ()
    problems: tuple[PropertyValue, ...] = ()


def is_trait_name(name: str) -> bool:
    """Whether `name` is `trait:...`, which Nova takes with any value."""
    return name.startswith(TRAIT_PREFIX)


def parse(assignment: str) -> tuple[str, str]:
    """Split `name=value` at the first `=`; the value may contain more of them.

    Nova refuses such values by accident of its parser; capd takes them. Raises PropertyFormat.
    """
    name, separator, value = assignment.partition("=")
    if not separator:
        raise PropertyFormat("--property should use the format key=value", culprit=assignment)
    return name, value


def parse_all(assignments: Iterable[str]) -> dict[str, str]:
    """Check a whole command as Nova does: all formats, then all names, then all values.

    Returns the values as given (Nova stores them so); of a name given twice the last counts.
    Raises PropertyFormat, PropertyName or PropertyValue.
    """
    values = dict([parse(assignment) for assignment in assignments])
    for name in values:
        _known(name)
    for name in sorted(values, key=_order):
        coerce(name, values[name])
    return values


def validate(name: str, value: str) -> str:
    """The canonical text of `value`: as Nova coerces it, so `e1000` for `VirtualE1000`.

    Raises PropertyName or PropertyValue with Nova's words.
    """
    return str(coerce(name, value))


def coerce(name: str, value: str) -> Typed:
    """`value` as the type Nova keeps in a request spec: text, integer or boolean.

    Raises PropertyName or PropertyValue with Nova's words.
    """
    entry = _known(name)
    if entry is None or entry.kind in (Kind.TEXT, Kind.UNREAD):
        return value
    if entry.kind is Kind.BOOLEAN:
        return value.strip().lower() in _TRUE
    if entry.kind is Kind.INTEGER:
        try:
            return int(value)
        except ValueError as error:
            raise PropertyValue(str(error), culprit=name) from None
    if entry.kind is Kind.LIST:
        raise PropertyValue(f"A list is required in field {name}, not a str", culprit=name)
    if entry.kind is Kind.PREDICATE:
        return _predicate(name, value)
    return _enumerated(name, entry, value)


def from_image(image: Mapping[str, str]) -> ImageProperties:
    """Read an image's properties: legacy names give way to current ones, others are left out.

    Unlike `nova-manage image_property set`, images may carry legacy names and names that are no
    properties at all (Nova: `ImageMetaProps.from_dict`).
    """
    values: dict[str, Typed] = {}
    problems: list[PropertyValue] = []
    for name, value in _current_names(image).items():
        try:
            values[name] = coerce(name, value)
        except PropertyValue as problem:
            problems.append(problem)
    required = tuple(
        name[len(TRAIT_PREFIX) :]
        for name, value in image.items()
        if is_trait_name(name) and value == "required"
    )
    return ImageProperties(values, required, tuple(problems))


def values_of(name: str) -> Optional[tuple[str, ...]]:
    """The canonical values of an enumeration; None where any text or number may stand."""
    entry = FIELDS.get(name)
    return entry.values if entry is not None and entry.kind is Kind.ENUM else None


def is_novas(name: str, value: str) -> bool:
    """Whether Nova takes `value` for `name`; libvirt has buses and models that Nova lacks."""
    try:
        coerce(name, value)
    except (PropertyName, PropertyValue):
        return False
    return True


def _current_names(image: Mapping[str, str]) -> dict[str, str]:
    """The readable properties of `image` under their current names."""
    result = {new: image[old] for old, new in LEGACY_NAMES.items() if old in image}
    adapter = image.get("vmware_adaptertype")
    if adapter:
        result["hw_disk_bus"] = "ide" if adapter == "ide" else "scsi"
        if adapter != "ide":
            result["hw_scsi_model"] = adapter
    for name, entry in FIELDS.items():
        if name in image and entry.kind is not Kind.UNREAD:
            result[name] = image[name]
    return result


def _order(name: str) -> int:
    return list(FIELDS).index(name) if name in FIELDS else len(FIELDS)


def _known(name: str) -> Optional[Field]:
    """The row of `name`, None for a `trait:` name; raises PropertyName."""
    if is_trait_name(name):
        return None
    entry = FIELDS.get(name)
    if entry is None:
        raise PropertyName(f"Invalid image property name {name}.", culprit=name)
    return entry


def _enumerated(name: str, entry: Field, value: str) -> str:
    word = value.lower() if entry.fold else value
    word = entry.spellings.get(word, word)
    if word not in entry.values:
        raise PropertyValue(
            entry.complaint.format(word=word, given=value),
            culprit=name,
            cure=f"{name} takes {', '.join(entry.values)}",
        )
    return word


def _predicate(name: str, value: str) -> str:
    for part in value.split(","):
        match = _PREDICATE.match(part)
        if match is None or not _VERSION.match(match.group(1)):
            raise PropertyValue(
                f"Version {value} is not a valid predicate in field {name}",
                culprit=name,
                cure="for example >=2.6",
            )
    return value
