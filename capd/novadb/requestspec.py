"""The image in an instance's request spec, made again from its system metadata as Nova does.

A request spec is Nova's versioned JSON (`nova.objects.RequestSpec`). After a change of image
properties Nova replaces its `image` by `ImageMeta.from_instance`: typed values of all known
properties, without the image's name, owner, size and the like, which system metadata does not
hold. This does the same with the text alone. What the spec holds besides stays as it is, except
for what Nova's own saving leaves out or fills in.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Optional

from capd import properties
from capd.errors import PropertyValue
from capd.novadb.database import Unfit
from capd.novadb.instances import PREFIX
from capd.novadb.releases import Release, understands_name, understands_value

#: of no use in a property, too large for system metadata (nova.utils.SM_SKIP_KEYS)
_SKIPPED = frozenset(
    {"mappings", "block_device_mapping", "img_mappings", "img_block_device_mapping"}
)
#: what belongs to the image itself and not to its properties (nova.utils.SM_INHERITABLE_KEYS)
_OF_IMAGE = ("min_ram", "min_disk", "disk_format", "container_format")

#: fields that are for one request only and that Nova does not keep
_DROPPED = (
    "requested_destination",
    "requested_resources",
    "network_metadata",
    "request_level_params",
    "requested_networks",
)
_EMPTIED = ("retry", "ignore_hosts")

_NUMA_NODES = 128
_IMAGE_META = 8

Primitive = dict[str, Any]


def image(
    metadata: Mapping[str, Optional[str]], image_ref: Optional[str], minor: int
) -> Primitive:
    """ImageMeta as Nova makes it from an instance; `minor` is that of ImageMetaProps.

    Raises PropertyValue if Nova could not make it: a row has a value its property does not take.
    """
    fields: Primitive = {}
    given: dict[str, str] = {}
    for key, value in metadata.items():
        if value is None:
            continue
        name = key[len(PREFIX) :] if key.startswith(PREFIX) else key
        if name in _OF_IMAGE:
            fields[name] = value
        elif name not in _SKIPPED:
            given[name] = value
    for name in ("min_ram", "min_disk"):
        if name in fields:
            fields[name] = _integer(name, fields[name])
    if image_ref:
        fields["id"] = image_ref
    fields["properties"] = _object("ImageMetaProps", minor, _properties(given, minor))
    return _object("ImageMeta", _IMAGE_META, fields)


def _properties(given: Mapping[str, str], minor: int) -> Primitive:
    """The typed properties that ImageMetaProps 1.`minor` has."""
    read = properties.from_image(given)
    if read.problems:
        raise read.problems[0]
    fields: Primitive = {}
    for name, value in read.values.items():
        if not understands_name(minor, name):
            continue
        if not understands_value(minor, name, value):
            raise PropertyValue(f"Field value {value} is invalid", culprit=name)
        fields[name] = value
    memory = _numbered("hw_numa_mem", given)
    if memory:
        fields["hw_numa_mem"] = [_integer("hw_numa_mem", text) for text in memory]
    cpus = _numbered("hw_numa_cpus", given)
    if cpus:
        fields["hw_numa_cpus"] = [sorted(_cpu_set(text)) for text in cpus]
    if read.required_traits:
        fields["traits_required"] = list(read.required_traits)
    return fields


def _numbered(name: str, given: Mapping[str, str]) -> list[str]:
    """The values of `name.0`, `name.1`, ... up to the first that is missing."""
    found: list[str] = []
    for number in range(_NUMA_NODES):
        text = given.get(f"{name}.{number}")
        if text is None:
            break
        found.append(text)
    return found


def _integer(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise PropertyValue(str(error), culprit=name) from None


def _cpu_set(text: str) -> set[int]:
    """CPU numbers: `1-4,^3,6` (nova.virt.hardware.parse_cpu_spec). Raises PropertyValue."""
    included: set[int] = set()
    excluded: set[int] = set()
    for part in (rule.strip() for rule in text.split(",")):
        if not part:
            continue
        first, dash, last = part.lstrip("^").partition("-")
        try:
            low = int(first)
            high = int(last) if dash else low
        except ValueError:
            raise PropertyValue(f"Invalid range expression '{part}'", culprit=text) from None
        if low > high:
            raise PropertyValue(f"Invalid range expression '{part}'", culprit=text)
        (excluded if part.startswith("^") else included).update(range(low, high + 1))
    return included - excluded


def _object(name: str, minor: int, fields: Primitive) -> Primitive:
    """A new object in Nova's form: every field of it counts as changed."""
    result: Primitive = {
        "nova_object.name": name,
        "nova_object.namespace": "nova",
        "nova_object.version": f"1.{minor}",
        "nova_object.data": fields,
    }
    if fields:
        result["nova_object.changes"] = sorted(fields)
    return result


class Spec:
    """One request spec: its JSON, and the row of `request_specs` that it is in."""

    def __init__(self, number: int, uuid: str, text: str) -> None:
        """Read `text`. Raises Unfit if it is no request spec."""
        self.number, self.uuid = number, uuid
        try:
            self._document: Primitive = json.loads(text)
            self._data: Primitive = self._document["nova_object.data"]
            known = self._document["nova_object.name"] == "RequestSpec"
        except (ValueError, KeyError, TypeError, RecursionError):
            known = False
        if not known:
            raise Unfit(
                f"the request spec of instance {uuid} is not readable",
                culprit=uuid,
                cure="nova-manage and the scheduler cannot read it either; restore request_specs "
                "from a backup",
            )

    @property
    def group(self) -> Optional[str]:
        """The uuid of the server group that the instance belongs to, None if to none."""
        group = self._data.get("instance_group")
        if not group:
            return None
        uuid = group["nova_object.data"].get("uuid")
        return uuid or next(iter(self._hints().get("group", [])), None)

    def properties(self) -> Primitive:
        """The image properties it has now, typed."""
        held = self._data.get("image")
        if not held:
            return {}
        fields = held["nova_object.data"].get("properties") or {}
        return dict(fields.get("nova_object.data", {}))

    def minor(self, release: Release) -> int:
        """The version of ImageMetaProps to write: what `release` has, never less than it has."""
        held = self._data.get("image")
        fields = held["nova_object.data"].get("properties") if held else None
        return max(release.properties, _minor(fields) if fields else 0)

    def with_image(self, new: Primitive, release: Release, group_exists: bool = True) -> str:
        """The spec as Nova saves it once `image` is replaced by `new`."""
        data = {key: value for key, value in self._data.items() if key not in _DROPPED}
        data.update(dict.fromkeys(_EMPTIED))
        data.update(id=self.number, instance_uuid=self.uuid, image=new)
        if data.get("instance_group"):
            data.update(self._group(data["instance_group"], group_exists))
        changed = {"image"}.union(
            name for name, value in data.items() if isinstance(value, dict) and _changed(value)
        )
        changed.update(name for name in _EMPTIED if self._data.get(name))
        result = dict(self._document)
        result["nova_object.version"] = f"1.{max(release.spec, _minor(self._document))}"
        result["nova_object.data"] = data
        result["nova_object.changes"] = sorted(changed)
        return json.dumps(result)

    def _hints(self) -> Primitive:
        return self._data.get("scheduler_hints") or {}

    def _group(self, group: Primitive, exists: bool) -> Primitive:
        """Nova looks the group up anew and keeps neither its members nor their hosts."""
        if not exists:
            hints = {key: value for key, value in self._hints().items() if key != "group"}
            return {"instance_group": None, "scheduler_hints": hints}
        fields = dict(group["nova_object.data"], members=None, hosts=None)
        fields.setdefault("uuid", self.group)
        return {
            "instance_group": dict(
                group, **{"nova_object.data": fields, "nova_object.changes": ["hosts", "members"]}
            )
        }


def _minor(primitive: Primitive) -> int:
    return int(str(primitive.get("nova_object.version", "1.0")).partition(".")[2] or 0)


def _changed(primitive: Primitive) -> bool:
    """Whether Nova counts a nested object as changed: itself or anything below it."""
    if "nova_object.data" not in primitive:
        return False
    if primitive.get("nova_object.changes"):
        return True
    fields = primitive["nova_object.data"]
    below = [*fields.values(), *fields["objects"]] if "objects" in fields else fields.values()
    return any(isinstance(value, dict) and _changed(value) for value in below)
