"""An early report can add traits and never takes one away."""

from __future__ import annotations

from capd.facts import Source, Support
from capd.verdicts import Assessment, Verdict, affirmed


def test_affirmed_has_no_denials_left() -> None:
    whole = Assessment(
        {
            "A": Verdict("A", Support.YES, Source.DOMCAPS, "claimed"),
            "B": Verdict("B", Support.NO, Source.DOMCAPS, "denied"),
            "C": Verdict("C", Support.UNKNOWN, Source.DOMCAPS, "silent"),
        },
        ("CUSTOM_CAPD_X",),
    )
    early = affirmed(whole)
    assert [early.judge(name).support for name in "ABC"] == [
        Support.YES, Support.UNKNOWN, Support.UNKNOWN,
    ]  # fmt: skip
    # what a whole pass would retire is unknown here
    assert whole.judge("CUSTOM_CAPD_OLD").support is Support.NO
    assert early.judge("CUSTOM_CAPD_OLD").support is Support.UNKNOWN
    assert early.vocabulary == ("CUSTOM_CAPD_X",)
