"""Who owns a trait: pass after pass against a fake Placement, by the ids of the field cases."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from tests.fake_placement import CONCURRENT, error
from tests.reporting import (
    BOCHS,
    GOLD,
    IDE,
    IGB,
    MARK,
    NO,
    UNKNOWN,
    VGA,
    YES,
    A,
    B,
    C,
    FakeHost,
    assess,
)


@pytest.fixture
def host(tmp_path: Path) -> FakeHost:
    return FakeHost(tmp_path)


def test_b01_yields_to_an_agent_that_removes_and_says_so_once(host: FakeHost) -> None:
    lines: list[str] = []
    for _ in range(20):
        report = host.report(**{A: YES, BOCHS: YES})
        lines += report.changes
        host.fake.change(host.uuid, remove=[BOCHS])
    assert report.plan.contested == (BOCHS,)
    assert [line for line in lines if "contested" in line] == [
        f"contested: {BOCHS}: added by capd, removed by another; capd yields"
    ]
    assert len(host.fake.puts()) == 1
    assert host.traits == {A, GOLD}


def test_b01_never_removes_what_another_keeps_adding(host: FakeHost) -> None:
    lines: list[str] = []
    for _ in range(20):
        host.fake.change(host.uuid, add=[VGA])
        report = host.report(**{A: YES, VGA: NO})
        lines += report.changes
    assert host.traits == {A, GOLD, VGA}
    assert report.plan.disagree == (VGA,)
    assert [line for line in lines if VGA in line] == [
        f"claimed by another agent, but not so: {VGA}; left alone"
    ]


def test_b01_yields_where_another_adds_again_what_capd_took_back(host: FakeHost) -> None:
    host.report(**{A: YES, BOCHS: YES})
    host.report(**{A: YES, BOCHS: NO})
    host.report(**{A: YES, BOCHS: NO})
    assert host.traits == {A, GOLD}
    host.fake.change(host.uuid, add=[BOCHS])
    for _ in range(5):
        report = host.report(**{A: YES, BOCHS: NO})
    assert host.traits == {A, GOLD, BOCHS}
    assert report.plan.contested == (BOCHS,)
    host.fake.change(host.uuid, remove=[BOCHS])
    for _ in range(3):
        host.report(**{A: YES, BOCHS: YES})
    assert host.traits == {A, GOLD}


def test_b01_an_override_ends_a_contest_once(host: FakeHost) -> None:
    told = f"[traits]\noverride = +{BOCHS}\n"
    host.report(**{A: YES, BOCHS: YES})
    host.fake.change(host.uuid, remove=[BOCHS])
    host.report(**{A: YES, BOCHS: YES})
    assert host.traits == {A, GOLD}
    host.restart(told)
    by_override = {"overrides": (BOCHS,), A: YES, BOCHS: YES}
    host.reporter.report(assess(**by_override))
    assert host.traits == {A, GOLD, BOCHS}
    host.fake.change(host.uuid, remove=[BOCHS])
    for _ in range(5):
        report = host.reporter.report(assess(**by_override))
    assert host.traits == {A, GOLD}
    assert report.plan.contested == (BOCHS,)
    host.restart(told)
    host.reporter.report(assess(**by_override))
    assert host.traits == {A, GOLD}


def test_b02_what_is_no_longer_so_goes_and_foreign_traits_stay(host: FakeHost) -> None:
    host.report(**{A: YES, B: YES})
    host.report(**{A: YES})
    assert host.traits == {A, B, GOLD}
    host.report(**{A: YES})
    assert host.traits == {A, GOLD}


def test_b02_without_state_the_prefix_is_cleaned_and_the_rest_only_listed(host: FakeHost) -> None:
    host.report(**{A: YES, B: YES, BOCHS: YES})
    host.forget()
    taken_over = (
        "2 traits of capd's are on host1 from before capd.db: taken over; standard traits there "
        "count as somebody else's"
    )
    assert taken_over in host.report(**{A: YES, BOCHS: NO}).changes
    for _ in range(2):
        report = host.report(**{A: YES, BOCHS: NO})
        assert taken_over not in report.changes
    assert host.traits == {A, BOCHS, GOLD}
    assert report.plan.disagree == (BOCHS,)
    assert report.plan.owned == (A,)
    assert report.plan.others == (BOCHS, GOLD)


@pytest.mark.parametrize("order", ["plain", "restarted", "contested", "changed", "conflict"])
def test_b02_withdraw_leaves_the_provider_as_it_was(host: FakeHost, order: str) -> None:
    host.fake.change(host.uuid, add=[VGA])
    before = set(host.traits)
    host.report(**{A: YES, B: YES, BOCHS: YES, VGA: YES, IDE: YES})
    assert host.traits == before | {A, B, BOCHS, IDE}
    if order == "restarted":
        host.restart()
    if order == "contested":
        host.fake.change(host.uuid, remove=[IDE])
        host.report(**{A: YES, IDE: YES, BOCHS: YES})
    if order == "changed":
        host.report(**{A: YES, BOCHS: NO, VGA: NO})
        host.report(**{A: YES, BOCHS: NO, VGA: NO})
    if order == "conflict":
        replies = [error(409, "generation"), CONCURRENT]
        host.client.hook = lambda method, path: (
            replies.pop() if method == "PUT" and replies else None
        )
    shown = host.reporter.withdraw(dry_run=True)
    taken = host.reporter.withdraw()
    assert taken.removed == shown.plan.remove
    assert host.traits == before
    assert {A, B} <= host.fake.names
    assert host.reporter.withdraw().removed == ()


def test_b02_withdraw_without_state_takes_the_prefix_only(host: FakeHost) -> None:
    host.report(**{A: YES, BOCHS: YES})
    host.forget()
    assert host.reporter.withdraw().removed == (A,)
    assert host.traits == {BOCHS, GOLD}


def test_reporting_after_withdraw_starts_afresh(host: FakeHost) -> None:
    host.report(**{A: YES, BOCHS: YES})
    host.fake.change(host.uuid, remove=[BOCHS])
    assert host.report(**{A: YES, BOCHS: YES}).plan.contested == (BOCHS,)
    host.reporter.withdraw()
    host.report(**{A: YES, BOCHS: YES})
    assert host.traits == {A, BOCHS, GOLD}


def test_b06_every_write_carries_all_foreign_traits_and_a_generation(host: FakeHost) -> None:
    bodies = []
    write = host.client.write_traits

    def spy(uuid: str, generation: int, traits: frozenset[str]) -> object:
        bodies.append((generation, set(traits)))
        return write(uuid, generation, traits)

    host.client.write_traits = spy  # type: ignore[assignment]
    host.report(**{A: YES, BOCHS: YES})
    host.fake.change(host.uuid, add=[VGA])
    host.report(**{A: YES, B: YES})
    host.reporter.withdraw()
    assert [generation for generation, _ in bodies] == [1, 3, 4]
    assert all(GOLD in traits for _, traits in bodies)
    assert VGA in bodies[1][1] and VGA in bodies[2][1]
    assert not [line for line in host.fake.log if line[0] == "DELETE"]


def test_b08_first_pass_writes_everything_in_one_put(host: FakeHost) -> None:
    assert host.reporter.preview(assess(**{A: YES, BOCHS: YES, B: NO})).add == (BOCHS, A)
    assert host.reporter.preview(assess(**{A: YES})).reported_at is None
    assert host.fake.puts() == []
    before = time.time()
    report = host.report(**{A: YES, BOCHS: YES, B: NO})
    told = host.reporter.preview(assess(**{A: YES})).reported_at
    assert told is not None and before <= told <= time.time()
    assert host.fake.puts() == [(f"/resource_providers/{host.uuid}/traits", 200)]
    assert report.added == (BOCHS, A)
    assert report.ok


def test_b21_unchanged_passes_ask_once_and_write_never(host: FakeHost) -> None:
    host.report(**{A: YES, BOCHS: YES, B: UNKNOWN})
    host.fake.log.clear()
    for _ in range(10):
        report = host.report(**{A: YES, BOCHS: YES, B: UNKNOWN})
        assert report.changes == ()
        assert report.requests == 1
    assert host.fake.log == [("GET", f"/resource_providers/{host.uuid}/traits", 200)] * 10


def test_b70_a_single_no_or_any_number_of_unknowns_remove_nothing(host: FakeHost) -> None:
    host.report(**{A: YES, BOCHS: YES})
    for verdict in (NO, UNKNOWN, NO, UNKNOWN, UNKNOWN, NO, YES, NO):
        host.report(**{A: verdict, BOCHS: verdict})
        assert host.traits == {A, BOCHS, GOLD}
    host.report(**{A: NO, BOCHS: NO})
    assert host.traits == {GOLD}


def test_b70_an_empty_answer_and_an_incomplete_one(host: FakeHost) -> None:
    host.report(**{A: YES, BOCHS: YES})
    for _ in range(5):
        host.reporter.report(assess(complete=False))
    host.reporter.report(assess())
    host.reporter.report(assess(complete=False))
    host.reporter.report(assess())
    assert host.traits == {A, BOCHS, GOLD}


def test_b70_denials_are_counted_across_a_restart_but_once_per_pass(host: FakeHost) -> None:
    host.report(**{A: YES, B: YES})
    conflicts = [error(409, "generation"), error(409, "generation")]
    host.client.hook = lambda method, path: (
        conflicts.pop() if conflicts and method == "PUT" and path.endswith("/traits") else None
    )
    host.report(**{A: NO, C: YES})
    assert conflicts == []
    assert host.traits == {A, B, C, GOLD}
    host.restart()
    host.report(**{A: NO, C: YES})
    assert host.traits == {C, GOLD}


def test_unknown_counts_as_last_known_when_the_provider_is_made_anew(host: FakeHost) -> None:
    host.report(**{A: YES, B: NO, BOCHS: YES})
    host.fake.providers[host.uuid].traits = {GOLD}
    host.fake.providers[host.uuid].generation = 0
    report = host.report(**{A: UNKNOWN, B: UNKNOWN, BOCHS: UNKNOWN})
    assert host.traits == {A, BOCHS, GOLD}
    assert report.changes[0] == "provider host1 was made anew; reporting afresh"
    assert report.plan.contested == ()


def test_provider_made_anew_by_another_agent_keeps_that_agents_traits(host: FakeHost) -> None:
    host.report(**{A: YES, BOCHS: YES})
    del host.fake.providers[host.uuid]
    assert "no resource provider" in (host.report(**{A: YES, BOCHS: YES}).error or "")
    host.fake.create("host1", host.uuid, traits=[GOLD, BOCHS])
    for _ in range(3):
        host.report(**{A: YES, BOCHS: NO})
    assert host.traits == {A, BOCHS, GOLD}


def test_provider_with_another_uuid_under_the_same_name(host: FakeHost) -> None:
    host.report(**{A: YES, BOCHS: YES})
    del host.fake.providers[host.uuid]
    host.uuid = host.fake.create("host1", traits=[GOLD])
    report = host.report(**{A: YES, BOCHS: YES})
    assert report.ok
    assert host.traits == {A, BOCHS, GOLD}


def test_b73_overrides_add_and_take_back(host: FakeHost) -> None:
    host.report(**{A: YES, B: NO})
    for _ in range(2):
        host.reporter.report(assess(overrides=(A, B), **{A: NO, B: YES}))
    assert host.traits == {B, GOLD}
    # gone again: what was discovered counts as last known, not what was decreed
    host.report(**{A: UNKNOWN, B: UNKNOWN})
    assert host.traits == {A, B, GOLD}


def test_standard_never_takes_own_standard_traits_back(host: FakeHost) -> None:
    host.fake.change(host.uuid, add=[VGA])
    host.report(**{A: YES, BOCHS: YES, VGA: YES})
    assert host.traits == {A, BOCHS, VGA, GOLD}
    host.restart("[traits]\nstandard = never\n")
    host.report(**{A: YES, BOCHS: YES, VGA: YES})
    report = host.report(**{A: YES, BOCHS: YES, VGA: YES})
    assert host.traits == {A, VGA, GOLD}
    assert report.plan.disagree == ()


def test_b10_unknown_names_are_left_out_listed_and_written_once_known(host: FakeHost) -> None:
    host.fake.names.discard(IGB)
    report = host.report(**{A: YES, BOCHS: YES, IGB: YES})
    assert host.traits == {A, BOCHS, GOLD}
    assert report.plan.unknown_to_placement == (IGB,)
    assert not report.ok
    assert f"unknown to this Placement, so not reported: {IGB}" in report.changes
    report = host.report(**{A: YES, BOCHS: YES, IGB: YES})
    assert report.changes == ()
    assert [status for _, status in host.fake.puts()] == [400, 200]
    host.fake.names.add(IGB)
    report = host.report(**{A: YES, BOCHS: YES, IGB: YES})
    assert host.traits == {A, BOCHS, IGB, GOLD}
    assert report.ok


def test_b10_custom_names_that_were_deleted_are_created_again(host: FakeHost) -> None:
    host.report(**{A: YES, B: NO})
    host.fake.names -= {B, MARK}
    report = host.report(**{A: YES, B: YES})
    assert report.ok
    assert host.traits == {A, B, GOLD}


def test_b11_names_are_created_before_there_is_a_provider(host: FakeHost) -> None:
    del host.fake.providers[host.uuid]
    report = host.report(**{A: YES, B: NO, C: UNKNOWN})
    assert "has no resource provider" in (report.error or "")
    assert {A, B, C} <= host.fake.names


def test_names_that_cannot_be_created_stop_nothing_else(host: FakeHost) -> None:
    host.client.hook = lambda method, path: (
        error(403, "not allowed") if path == f"/traits/{B}" else None
    )
    report = host.report(**{A: YES, B: YES, BOCHS: YES})
    assert host.traits == {A, BOCHS, GOLD}
    assert report.plan.unknown_to_placement == (B,)
    assert len(report.problems) == 1
    assert "1 trait names could not be created: Placement at fake forbids" in report.problems[0]
    host.client.hook = lambda method, path: None
    assert host.report(**{A: YES, B: YES, BOCHS: YES}).ok
    assert host.traits == {A, B, BOCHS, GOLD}


def test_b09_three_conflicts_then_success_with_the_foreign_trait_kept(host: FakeHost) -> None:
    foreign = [VGA, IDE, "CUSTOM_SILVER"]
    waits: list[float] = []
    host.client._pause = waits.append

    def between(method: str, path: str) -> None:
        if method == "PUT" and path.startswith("/resource") and foreign:
            host.fake.change(host.uuid, add=[foreign.pop()])

    host.client.hook = between
    report = host.report(**{A: YES, BOCHS: YES})
    assert report.ok
    assert [status for _, status in host.fake.puts()] == [409, 409, 409, 200]
    assert host.traits == {A, BOCHS, GOLD, VGA, IDE, "CUSTOM_SILVER"}
    assert len(waits) == 3 and len(set(waits)) == 3
    assert all(0 < wait < 1 for wait in waits)


def test_b09_past_the_limit_the_next_pass_tries_again(host: FakeHost) -> None:
    host.client.hook = lambda method, path: (
        CONCURRENT if method == "PUT" and path.startswith("/resource") else None
    )
    report = host.report(**{A: YES, BOCHS: YES})
    assert not report.ok
    assert report.error is not None
    assert host.traits == {GOLD}
    host.client.hook = lambda method, path: None
    assert host.report(**{A: YES, BOCHS: YES}).ok
    assert host.traits == {A, BOCHS, GOLD}


def test_a_standard_trait_alone_is_written_with_its_mark_and_the_mark_goes(host: FakeHost) -> None:
    host.report(**{A: YES})
    host.report(**{A: YES, BOCHS: YES})
    assert host.traits == {A, BOCHS, GOLD}
    assert len(host.fake.puts()) == 3


class Killed(BaseException):
    """The process dies here."""


@pytest.mark.parametrize("applied", [True, False])
@pytest.mark.parametrize("custom", [True, False])
def test_killed_around_the_write_neither_leaks_nor_steals(
    host: FakeHost, applied: bool, custom: bool
) -> None:
    """Dies before or after the PUT; meanwhile another agent adds the very same trait."""
    host.report(**{A: YES})
    more = {B: YES} if custom else {}

    def die(method: str, path: str) -> None:
        if method == "PUT" and path.startswith("/resource"):
            assert host.store is not None
            host.store.close()
            raise Killed

    if applied:
        host.client.after = die
    else:
        host.client.hook = die
    with pytest.raises(Killed):
        host.report(**{A: YES, BOCHS: YES, **more})
    host.fake.change(host.uuid, add=[VGA] if applied else [BOCHS, VGA])
    host.restart()
    host.report(**{A: YES, BOCHS: YES, **more})
    assert host.traits >= {A, BOCHS, VGA, GOLD, *more}
    assert MARK not in host.traits
    for _ in range(2):
        host.report(**{A: YES, BOCHS: NO, **more})
    assert (BOCHS in host.traits) is not applied


def test_a_full_disk_writes_nothing_standard(host: FakeHost) -> None:
    host.report(**{A: YES, BOCHS: UNKNOWN, IDE: UNKNOWN})
    assert host.store is not None
    host.store.connection.execute("PRAGMA query_only = 1")
    report = host.report(**{A: YES, BOCHS: YES, IDE: YES})
    assert "readonly database" in (report.error or "")
    assert host.traits == {A, GOLD}
    host.store.connection.execute("PRAGMA query_only = 0")
    assert host.report(**{A: YES, BOCHS: YES, IDE: YES}).ok
    assert host.traits == {A, BOCHS, IDE, GOLD}


def _refuse_long_lines(host: FakeHost, limit: int) -> None:
    def hook(method: str, path: str) -> Any:
        return (414, None) if len(f"{method} {path} HTTP/1.1") > limit else None

    host.client.hook = hook


def test_traits_are_held_back_where_nova_compute_could_not_name_them_all(host: FakeHost) -> None:
    """B31's neighbour: what capd adds makes Nova's request line longer than the server takes."""
    many = {f"CUSTOM_CAPD_{number:03}_{'X' * 30}": YES for number in range(100)}
    host.fake.names |= {"COMPUTE_NODE"}
    host.fake.change(host.uuid, add=["COMPUTE_NODE"])
    host.report(**{A: YES, B: YES})
    host.report(**{A: YES, B: NO})
    _refuse_long_lines(host, 4094)
    report = host.report(**many, **{A: YES, B: NO})
    wanted = {A, GOLD, "COMPUTE_NODE", *many}
    size = len(f"GET /traits?name=in:{','.join(wanted)} HTTP/1.1")
    assert report.error == (
        "100 traits are not added: Placement's web server refuses the request line of "
        f"{size} bytes in which nova-compute would ask for all traits of this provider, and could "
        "then update it no more (raise the server's limit: docs/reporting.md, Many traits)"
    )
    # a removal goes through all the same, and is not repeated
    assert report.removed == (B,)
    assert host.traits == {A, GOLD, "COMPUTE_NODE"}
    assert host.report(**many, **{A: YES, B: NO}).changes == ()
    _refuse_long_lines(host, 65536)
    assert host.report(**many, **{A: YES, B: NO}).ok
    assert host.traits == wanted


def test_a_long_line_is_tried_once_and_only_for_novas_providers(host: FakeHost) -> None:
    many = {f"CUSTOM_CAPD_{number:03}_{'X' * 30}": YES for number in range(100)}

    def tried() -> int:
        return len([path for _, path, _ in host.fake.log if len(path) > 4000])

    assert host.report(**many).ok
    assert tried() == 0
    host.fake.names |= {"OWNER_NOVA"}
    host.fake.change(host.uuid, add=["OWNER_NOVA"])
    assert host.report(**many, **{A: YES}).ok
    assert tried() == 1
    fewer = dict(list(many.items())[:-1])
    assert host.report(**fewer, **{A: YES, B: YES}).ok
    assert host.report(**many, **{A: YES, B: YES}).ok
    assert tried() == 2
    assert host.report(**many, **{A: YES, B: YES}).requests == 1


def test_an_outage_is_not_taken_for_a_line_that_is_too_long(host: FakeHost) -> None:
    many = {f"CUSTOM_CAPD_{number:03}_{'X' * 30}": YES for number in range(100)}
    host.fake.names |= {"COMPUTE_NODE"}
    host.fake.change(host.uuid, add=["COMPUTE_NODE"])
    host.report(**{A: YES})

    def hook(method: str, path: str) -> Any:
        return (503, None) if path.startswith("/traits?name=in:") else None

    host.client.hook = hook
    error = host.report(**many, **{A: YES}).error
    assert error is not None
    assert "is unavailable" in error
    assert host.traits == {A, GOLD, "COMPUTE_NODE"}
