"""When passes are due, what counts as progress, what stamps see."""

from __future__ import annotations

import os
import select
import time
from pathlib import Path

import pytest

from capd import stamps
from capd.progress import Progress, Stopped
from capd.schedule import Schedule


def middle(low: float, high: float) -> float:
    return (low + high) / 2


def test_b21_first_pass_and_interval_are_spread() -> None:
    assert 0 <= Schedule(60, 100).due - 100 <= 6
    assert {round(Schedule(60, 0).due, 6) for _ in range(20)} != {Schedule(60, 0).due}
    schedule = Schedule(60, 0, lambda low, high: high)
    schedule.finished(100, connected=True)
    assert schedule.due == pytest.approx(166)
    schedule = Schedule(60, 0, lambda low, high: low)
    schedule.finished(100, connected=True)
    assert schedule.due == pytest.approx(154)


def test_reconnecting_backs_off_up_to_the_interval() -> None:
    schedule = Schedule(60, 0, middle)
    waits = []
    for _ in range(10):
        schedule.finished(0, connected=False)
        waits.append(schedule.due)
    assert waits == [0.5, 1, 2, 4, 8, 16, 32, 60, 60, 60]
    schedule.finished(0, connected=True)
    schedule.finished(0, connected=False)
    assert schedule.due == 0.5


def test_events_bring_the_pass_forward_but_not_one_upon_the_other() -> None:
    schedule = Schedule(60, 0, middle)
    schedule.finished(100, connected=True)
    schedule.event(101)
    assert schedule.due == 105  # five seconds after the last
    schedule.finished(200, connected=True)
    schedule.event(250)
    assert schedule.due == 252  # once it has settled
    schedule.event(251)
    assert schedule.due == 252  # a flock of events does not put it off
    schedule.finished(300, connected=True)
    schedule.lost(310)
    assert schedule.due == 310.5
    schedule.now(310.1)
    assert schedule.due == 310.1


def test_progress_counts_and_knows_when_a_step_is_overdue() -> None:
    woken: list[int] = []
    progress = Progress(lambda: woken.append(1))
    progress.expect(30)
    progress.step("asking")
    progress.step("asking")
    assert (progress.count, progress.text, len(woken)) == (2, "asking", 1)
    assert -30 <= progress.overdue < -29
    progress.expect(0)
    time.sleep(0.01)
    assert progress.overdue > 0


def test_progress_of_a_discovery_changes_ten_times_a_stage() -> None:
    texts: list[str] = []
    progress = Progress(lambda: texts.append(progress.text))
    for done in range(1, 701):
        progress.discovering("asking", done, 700)
    assert progress.count == 700
    assert texts[:3] == ["asking", "asking: 70 of 700", "asking: 140 of 700"]
    assert len(texts) == 11


def test_a_stopped_pass_ends_at_its_next_step() -> None:
    progress = Progress()
    progress.step("one")
    progress.stop()
    with pytest.raises(Stopped):
        progress.step("two")
    assert progress.count == 1


def test_stamps_see_every_kind_of_change(tmp_path: Path) -> None:
    emulator, modules, kvm = tmp_path / "qemu", tmp_path / "modules", tmp_path / "kvm"
    emulator.write_text("1")
    modules.mkdir()
    seen = set()

    def taken() -> bool:
        """Whether this stamp is a new one."""
        stamp = stamps.take([str(emulator)], [str(modules)], str(kvm))
        new = stamp not in seen
        seen.add(stamp)
        return new

    assert taken()
    assert not taken()
    emulator.write_text("22")
    assert taken()
    os.utime(emulator, ns=(0, 1))
    assert taken()
    emulator.chmod(0o700)
    assert taken()
    (modules / "hw-display-qxl.so").touch()
    assert taken()
    kvm.touch()
    assert taken()
    kvm.chmod(0o666)
    assert taken()
    kvm.unlink()
    emulator.unlink()
    assert taken()
    assert not taken()


def test_watcher_is_readable_when_something_changes(tmp_path: Path) -> None:
    watcher = stamps.Watcher()
    if watcher.descriptor < 0:
        pytest.skip("no inotify here")
    watcher.watch([str(tmp_path), str(tmp_path), str(tmp_path / "absent")])
    assert select.select([watcher.descriptor], [], [], 0)[0] == []
    (tmp_path / "new").touch()
    assert select.select([watcher.descriptor], [], [], 5)[0] == [watcher.descriptor]
    assert watcher.drain()
    assert not watcher.drain()
    watcher.close()
    assert watcher.descriptor == -1
