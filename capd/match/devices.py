"""Device properties: the trait of one bus, model, version or firmware, exact or standard.

`capd.match.translate` hands every property that has a row in the table to `exact` or `standard`.
Names come from `capd.table` and `capd.names` alone.
"""

from __future__ import annotations

from typing import Optional

from capd.match import spellings
from capd.match.guest import Given, Guest
from capd.match.outcomes import Ask, Origin, Outcome, Scope
from capd.names import standard_names
from capd.properties import values_of
from capd.table import BY_NAME, BY_PROPERTY, Category

#: what Nova's prefilter translates (nova.scheduler.request_filter.transform_image_metadata)
PREFILTER = frozenset(
    {
        "hw_cdrom_bus",
        "hw_disk_bus",
        "hw_video_model",
        "hw_vif_model",
        "hw_architecture",
        "hw_emulation_architecture",
        "hw_viommu_model",
    }
)
#: what Nova's scheduler asks for whether or not the prefilter is on
ALWAYS = frozenset({"os_secure_boot", "hw_tpm_model", "hw_tpm_version"})

_NO_TPM = "without hw_tpm_version Nova adds no TPM"
_NO_TRAIT = "Nova's scheduler asks for no trait here"
#: what each kind of device is to a bus
KINDS = {"disk": "disk", "lun": "disk", "cdrom": "cdrom", "floppy": "floppy"}


def outcome(entry: Given, name: str, guest: Guest, exact: bool) -> Outcome:
    """Translate the value of `name`, a property with a row in the table."""
    if entry.value in spellings.NEUTRAL.get(name, ()):
        return entry.nothing("puts no demand on a host", entry.value)
    spelling = spellings.device_value(name, entry.value)
    if spelling.word is None:
        return entry.wrong(spelling.note, spelling.choices)
    problem = _impossible(name, spelling.word, guest)
    if problem:
        return entry.wrong(problem, _possible(name, guest), spelling.word)
    if exact:
        return _exact(entry, name, spelling, guest)
    return _standard(entry, name, spelling.word, guest)


def ask(category: Category, word: str, guest: Guest) -> Optional[Ask]:
    """The exact trait for a value, None where no trait can speak of it."""
    if category.per_family and not guest.familiar and guest.foreign:
        return None
    return _ask(category, word, guest.scope if category.per_family else Scope())


def _ask(category: Category, word: str, scope: Scope) -> Optional[Ask]:
    trait = scope.trait(category, word)
    return Ask(trait, False, category.name, word, scope) if trait else None


def _exact(entry: Given, name: str, spelling: spellings.Spelling, guest: Guest) -> Outcome:
    category, word = BY_PROPERTY[name], spelling.word or ""
    wanted = [ask(category, word, guest)]
    wanted += [ask(BY_NAME[kind], value, guest) for kind, value in _implied(name, guest)]
    asks = [one for one in wanted if one is not None]
    remark = _remark(name, category, word, guest)
    note = "; ".join(part for part in (spelling.note, remark) if part)
    return entry.asked(asks, word, note) if asks else entry.nothing(note, word)


def _standard(entry: Given, name: str, word: str, guest: Guest) -> Outcome:
    asked = name in PREFILTER or name in ALWAYS or (name, word) == ("hw_sound_model", "virtio")
    if not asked or (entry.origin is Origin.FLAVOR and name in PREFILTER):
        return entry.nothing(_NO_TRAIT, word)
    if name == "hw_tpm_model" and "hw_tpm_version" not in guest.values:
        return entry.nothing(_NO_TPM, word)
    wanted = [_ask(BY_PROPERTY[name], word, Scope())]
    wanted += [_ask(BY_NAME[kind], value, Scope()) for kind, value in _implied(name, guest)]
    asks = [one for one in wanted if one is not None and one.trait in standard_names()]
    if not asks:
        return entry.nothing(f"there is no standard trait for {word}", word)
    return entry.asked(asks, word)


def _implied(name: str, guest: Guest) -> tuple[tuple[str, str], ...]:
    """(category, value) that Nova adds to a property where another one is absent."""
    if name == "hw_pointer_model" and "hw_input_bus" not in guest.values:
        return (("input_bus", "usb"),)
    if name == "hw_tpm_version" and "hw_tpm_model" not in guest.values:
        return (("tpm_model", "tpm-tis"),)
    return ()


def _remark(name: str, category: Category, word: str, guest: Guest) -> str:
    """One sentence about an exact trait that may surprise."""
    row = category.value(word)
    if row is not None and not row.trait:
        return "capd reports no trait for it"
    if row is not None and not row.raw and not row.families:
        return "no source names it: capd never reports it"
    if category.per_family and not guest.familiar:
        if guest.foreign:
            return f"{guest.machine} has no family traits, and the host's speak of its own guests"
        return f"{guest.machine} has no family traits: asked of the whole host"
    if not category.per_family and guest.foreign:
        return "the trait speaks of the host's own architecture"
    if name == "hw_tpm_model" and "hw_tpm_version" not in guest.values:
        return _NO_TPM
    return ""


def _impossible(name: str, word: str, guest: Guest) -> str:
    """Why no host can give a guest this, empty if one may."""
    device = spellings.DEVICE_OF.get(name)
    if name == "hw_rescue_bus":
        device = KINDS.get(guest.values.get("hw_rescue_device", "disk"))
    if device is not None:
        return spellings.carries(device, word) or ""
    if (
        name == "hw_tpm_model"
        and word == "tpm-crb"
        and guest.values.get("hw_tpm_version") == "1.2"
    ):
        return "tpm-crb needs hw_tpm_version=2.0"
    return ""


def _possible(name: str, guest: Guest) -> tuple[str, ...]:
    """The values to offer where one is impossible."""
    return tuple(word for word in values_of(name) or () if not _impossible(name, word, guest))
