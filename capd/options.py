"""The one table of configuration options.

It yields what `capd.config` registers with oslo.config, the commented sample `capd.conf`, the
`capd.conf(5)` page and the reference documentation; a test compares them. Options of keystoneauth
(`auth_type`, `auth_url`, `cafile`, ...) are keystoneauth's own and are registered by
`capd.placement`; `[database]` and `[api_database]` are read as Nova writes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Optional, Union


class Kind(str, Enum):
    """The type of an option's value."""

    STRING = "string"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    LIST = "list"


Default = Union[str, int, float, bool, tuple[str, ...], None]


@dataclass(frozen=True)
class Option:
    """One row: a key of the configuration file.

    `unit` is the unit of a number (for the documentation); `shared` says the key means the same
    in nova.conf; `reload` says whether SIGHUP puts a new value into effect.
    """

    group: str
    name: str
    kind: Kind
    default: Default
    help: str
    unit: str = ""
    minimum: Optional[float] = None
    maximum: Optional[float] = None
    choices: Optional[tuple[str, ...]] = None
    secret: bool = False
    shared: bool = False
    reload: bool = True


#: seconds; what a time may be at most, far from what clocks and timers overflow at
HOUR, DAY, YEAR = 3600, 86400, 365 * 86400

STR, INT, NUM, BOOL, LIST = (Kind.STRING, Kind.INTEGER, Kind.NUMBER, Kind.BOOLEAN, Kind.LIST)

OPTIONS: tuple[Option, ...] = (
    Option(
        "DEFAULT",
        "state_dir",
        STR,
        "/var/lib/capd",
        "Directory of capd.db: records, owned traits, last known support.",
        reload=False,
    ),
    Option(
        "DEFAULT",
        "interval",
        NUM,
        60.0,
        "Time between two passes. Each wait is spread by up to a tenth either way, so that "
        "many hosts do not come together.",
        unit="seconds",
        minimum=1,
        maximum=DAY,
    ),
    Option("DEFAULT", "debug", BOOL, False, "Log every step, not only changes.", shared=True),
    Option(
        "libvirt",
        "connection_uri",
        STR,
        "",
        "libvirt connection. Empty means qemu:///system. It must be read-write: libvirt "
        "refuses getDomainCapabilities on a read-only connection.",
        shared=True,
    ),
    Option(
        "libvirt",
        "virt_type",
        STR,
        None,
        "Virt type instances get on this host: kvm or qemu. Unset means kvm where libvirt "
        "offers it for the native architecture, else qemu.",
        choices=("kvm", "qemu"),
        shared=True,
    ),
    Option(
        "libvirt",
        "hw_machine_type",
        LIST,
        (),
        "Machine type of instances whose image names none, as a list of arch=machine pairs, "
        "exactly as in nova.conf.",
        shared=True,
    ),
    Option(
        "libvirt",
        "call_timeout",
        NUM,
        20.0,
        "How long a libvirt call may go unanswered before capd asks whether libvirt still "
        "answers anything (the API has no deadline of its own). If it does, a slow first probe "
        "of an emulator is waited for, up to sweep_timeout; if not, the call is abandoned.",
        unit="seconds",
        minimum=0.1,
        maximum=HOUR,
    ),
    Option(
        "libvirt",
        "connect_timeout",
        NUM,
        30.0,
        "How long opening the libvirt connection may take, which is four questions and answers.",
        unit="seconds",
        minimum=0.1,
        maximum=HOUR,
    ),
    Option(
        "libvirt",
        "sweep_timeout",
        NUM,
        900.0,
        "How long one whole sweep over all machine types may take; what is not reached by "
        "then is unknown in this pass.",
        unit="seconds",
        minimum=1,
        maximum=DAY,
    ),
    Option(
        "libvirt",
        "workers",
        INT,
        2,
        "Calls in flight at a time on the libvirt connection. With a libvirt library before "
        "10.4, whose client can crash otherwise (CVE-2024-4418), it is always one.",
        minimum=1,
        maximum=16,
    ),
    Option(
        "libvirt",
        "keepalive_interval",
        INT,
        5,
        "Time between keepalive probes on the libvirt connection; 0 switches them off.",
        unit="seconds",
        minimum=0,
        maximum=HOUR,
        reload=False,
    ),
    Option(
        "libvirt",
        "emulator_timeout",
        NUM,
        10.0,
        "How long an emulator may take to list its devices.",
        unit="seconds",
        minimum=0.1,
        maximum=HOUR,
    ),
    Option(
        "libvirt",
        "trials",
        BOOL,
        True,
        "Let libvirt validate a minimal guest (nothing is defined) before a claim of a native "
        "machine type becomes a trait.",
    ),
    Option(
        "placement",
        "provider_uuid",
        STR,
        None,
        "UUID of this host's resource provider. Unset: Nova's compute_id file, else the "
        "provider named like the hypervisor.",
    ),
    Option(
        "placement",
        "provider_name",
        STR,
        None,
        "Name of this host's resource provider. Unset: libvirt's host name.",
    ),
    Option(
        "placement",
        "create_provider",
        BOOL,
        False,
        "Create the resource provider if it does not exist. Only for clouds without Nova.",
    ),
    Option(
        "placement",
        "compute_id_files",
        LIST,
        ("/etc/nova/compute_id", "/var/lib/nova/compute_id"),
        "Where Nova keeps the compute node's UUID. All that exist must agree.",
    ),
    Option(
        "placement",
        "request_timeout",
        NUM,
        30.0,
        "How long one request to Placement or keystone may take.",
        unit="seconds",
        minimum=0.1,
        maximum=HOUR,
    ),
    Option(
        "placement",
        "pass_timeout",
        NUM,
        120.0,
        "How long all requests of one pass may take together, retries included.",
        unit="seconds",
        minimum=1,
        maximum=DAY,
    ),
    Option(
        "traits",
        "standard",
        STR,
        "auto",
        "auto: report standard traits of os-traits and yield where another agent disagrees. "
        "never: report CUSTOM_CAPD_ traits only.",
        choices=("auto", "never"),
    ),
    Option(
        "traits",
        "override",
        LIST,
        (),
        "Corrections to single traits: +TRAIT reports it as supported, -TRAIT as not, "
        "whatever was discovered. Example: "
        "+COMPUTE_GRAPHICS_MODEL_BOCHS, -COMPUTE_NET_VIF_MODEL_PCNET",
    ),
    Option(
        "traits",
        "emulated",
        LIST,
        (),
        "Emulated (foreign) architectures whose machine types and families get traits too, "
        "by libvirt's names. By default only COMPUTE_ARCH_ is reported for them.",
    ),
    Option(
        "records",
        "enabled",
        BOOL,
        True,
        "Record the device buses and models that each instance has.",
    ),
    Option(
        "records",
        "retention",
        NUM,
        2592000.0,
        "How long the record of a domain that has gone from this host is kept.",
        unit="seconds",
        minimum=0,
        maximum=10 * YEAR,
    ),
    Option(
        "metrics",
        "textfile",
        STR,
        None,
        "File for node_exporter's textfile collector, written after each pass. The name must "
        "end in .prom.",
    ),
    Option(
        "metrics",
        "listen",
        STR,
        None,
        "Address and port to serve metrics on over HTTP, for example 127.0.0.1:9177. "
        "Loopback addresses only.",
        reload=False,
    ),
)
