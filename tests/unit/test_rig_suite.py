"""The verdict of `make test`: what counts as passed, failed, skipped and unsteady."""

from __future__ import annotations

from pathlib import Path

from tests.rig.suite import Totals

FIRST = """<testsuites><testsuite>
<testcase classname="a" name="good"/>
<testcase classname="a" name="shaky"><failure message="once"/></testcase>
<testcase classname="a" name="broken"><error message="always"/></testcase>
<testcase classname="a" name="absent"><skipped message="no such machine"/></testcase>
</testsuite></testsuites>"""

SECOND = """<testsuites><testsuite>
<testcase classname="a" name="shaky"/>
<testcase classname="a" name="broken"><failure message="always"/></testcase>
</testsuite></testsuites>"""


def test_counts(tmp_path: Path) -> None:
    (tmp_path / "first.xml").write_text(FIRST)
    totals = Totals()
    totals.add(tmp_path / "first.xml")
    assert totals.passed == {"a::good"}
    assert totals.failed == {"a::shaky", "a::broken"}
    assert totals.skipped == {"a::absent": "no such machine"}


def test_what_fails_twice_has_failed_and_what_passes_then_is_named(tmp_path: Path) -> None:
    (tmp_path / "first.xml").write_text(FIRST)
    (tmp_path / "again.xml").write_text(SECOND)
    totals = Totals()
    totals.add(tmp_path / "first.xml")
    totals.again(tmp_path / "again.xml")
    assert totals.passed == {"a::good", "a::shaky"}
    assert totals.failed == {"a::broken"}
    assert totals.unsteady == {"a::shaky"}


def test_a_run_that_left_no_report_has_failed(tmp_path: Path) -> None:
    totals = Totals()
    totals.add(tmp_path / "functional.xml")
    assert totals.failed == {"functional tests: no report"}
    totals.again(tmp_path / "again.xml")
    assert totals.failed == {"functional tests: no report"}
