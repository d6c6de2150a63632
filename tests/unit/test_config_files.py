"""Slips in a configuration file: each is one error that names file, option and cure."""

from __future__ import annotations

from pathlib import Path

import pytest

from capd import config
from capd.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "[capd]\nstate_dir = /srv/capd\n",
            "{path}: unknown section [capd] (did you mean [DEFAULT]?)",
        ),
        ("[libvrt]\n", "{path}: unknown section [libvrt] (did you mean [libvirt]?)"),
        (
            "[DEFAULT]\nstate_dri = /srv/capd\n",
            "{path}: unknown option state_dri in [DEFAULT] (did you mean state_dir?)",
        ),
        (
            # no guest could have a device under such a type, and every trait would go
            "[libvirt]\nvirt_type = kvmm\n",
            "{path}: [libvirt] virt_type is not valid: Valid values are [kvm, qemu], "
            "but found 'kvmm' (capd.conf(5) lists types and ranges)",
        ),
    ],
)
def test_a_slip_is_one_error_with_its_cure(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "capd.conf"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        config.load([path])
    assert caught.value.line() == said.format(path=path)
    assert caught.value.exit_code == 2


def test_sections_of_others_are_let_be(tmp_path: Path) -> None:
    path = tmp_path / "capd.conf"
    path.write_text("[vif_plug_ovs]\novsdb_interface = native\n[libvirt]\nvirt_type = qemu\n")
    assert config.load([path]).libvirt.virt_type == "qemu"
