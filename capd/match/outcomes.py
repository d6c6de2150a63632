"""What a translation says: one outcome per property, and the traits asked for in all.

Made by `capd.match.translate`; read by the Placement queries, the explanation of one host and the
command.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Optional

from capd.names import family_trait, value_trait
from capd.table import Category

#: categories of asks that are no rows of the table
MACHINE = "machine_type"
ARCHITECTURE = "architecture"
EMULATION = "emulated_architecture"


class Status(str, Enum):
    """What became of one property."""

    ASKED = "asked"  # a host must have (or must not have) its traits
    NOTHING = "nothing"  # understood, and there is nothing to ask a host for
    IGNORED = "ignored"  # not a property that says anything about devices
    ERROR = "error"  # no host can be asked: the value is wrong


class Origin(str, Enum):
    """Where a property was given."""

    IMAGE = "image"
    FLAVOR = "flavor"


@dataclass(frozen=True)
class Scope:
    """What a trait of a value speaks of: the whole host, or one machine family on it.

    `family` is a machine family, `DEFAULT` for an image without machine type, or None for the
    whole host; `arch` is None for the host's own architecture, else the emulated one.
    """

    family: Optional[str] = None
    arch: Optional[str] = None

    def trait(self, category: Category, value: str) -> Optional[str]:
        """The trait of `value` in this scope, None if there is none."""
        if self.family is None or not category.per_family:
            return value_trait(category, value)
        return family_trait(category, value, self.family, self.arch)


@dataclass(frozen=True)
class Ask:
    """One trait that a host must have (`forbidden`: must not have).

    `category` is a name of `capd.table` or one of the three above; it, `value` and `scope` are
    None for a trait that the operator named.
    """

    trait: str
    forbidden: bool = False
    category: Optional[str] = None
    value: Optional[str] = None
    scope: Optional[Scope] = None


@dataclass(frozen=True)
class Outcome:
    """What became of one property.

    `name` and `value` are as given; `canonical` is the value as libvirt and Nova spell it, None
    where there is none. `note` is one sentence for a person, empty if there is nothing to add;
    `choices` are the right values of a wrong one. `passed` marks a trait that the operator named
    and that is handed on as it is.
    """

    name: str
    value: str
    status: Status
    asks: tuple[Ask, ...] = ()
    canonical: Optional[str] = None
    note: str = ""
    choices: tuple[str, ...] = ()
    origin: Origin = Origin.IMAGE
    passed: bool = False


@dataclass(frozen=True)
class Translation:
    """All outcomes, in the order of the properties; an error in one never drops another."""

    outcomes: tuple[Outcome, ...]
    exact: bool = True

    @property
    def required(self) -> tuple[str, ...]:
        """Every trait a host must have, sorted."""
        return self._traits(forbidden=False)

    @property
    def forbidden(self) -> tuple[str, ...]:
        """Every trait a host must not have, sorted."""
        return self._traits(forbidden=True)

    @property
    def passed(self) -> frozenset[str]:
        """The traits among these that the operator named and no device property asks for."""
        named = {ask.trait for outcome in self.outcomes if outcome.passed for ask in outcome.asks}
        return frozenset(named - set(self.derived()))

    @property
    def errors(self) -> tuple[Outcome, ...]:
        """The outcomes that are errors."""
        return tuple(outcome for outcome in self.outcomes if outcome.status is Status.ERROR)

    def derived(self, origin: Optional[Origin] = None) -> tuple[str, ...]:
        """The traits that device properties ask for, sorted; with `origin` only from there."""
        return tuple(
            sorted(
                {
                    ask.trait
                    for outcome in self.outcomes
                    if not outcome.passed and origin in (None, outcome.origin)
                    for ask in outcome.asks
                }
            )
        )

    def _traits(self, forbidden: bool) -> tuple[str, ...]:
        return tuple(
            sorted(
                {
                    ask.trait
                    for outcome in self.outcomes
                    for ask in outcome.asks
                    if ask.forbidden is forbidden
                }
            )
        )
