"""What libvirt's errors mean: a refusal of what was asked, no answer, or trouble, with the cure.

For `capd.hypervisor`, which meets them; the words are the operator's.
"""

from __future__ import annotations

import libvirt

from capd.calls import CallTimeout, TooManyStuck
from capd.errors import LibvirtError, LibvirtRefusal, LibvirtTimeout
from capd.uris import without_password

_START = (
    "start libvirtd or virtqemud (systemctl start libvirtd.socket, or virtqemud.socket where "
    "libvirt is modular), or set [libvirt] connection_uri"
)
_READ_ONLY = (
    "capd needs the read-write socket: libvirt refuses getDomainCapabilities on a read-only "
    "connection; give capd's user access to libvirt-sock (virtqemud-sock where libvirt is "
    "modular), not to the one that ends in -ro, and remove ro from the URI"
)

#: error codes that judge what was asked; all others speak of the daemon or the connection
_REFUSALS = frozenset(
    {
        libvirt.VIR_ERR_NO_SUPPORT,
        libvirt.VIR_ERR_INVALID_ARG,
        libvirt.VIR_ERR_OPERATION_FAILED,
        libvirt.VIR_ERR_XML_ERROR,
        libvirt.VIR_ERR_XML_DETAIL,
        libvirt.VIR_ERR_CONFIG_UNSUPPORTED,
    }
)


def explain(uri: str, what: str, error: BaseException, timeout: float) -> LibvirtError:
    """The LibvirtError for `error`, which came of the call `what` after up to `timeout` seconds.

    Anything that is neither libvirt's nor a deadline's is raised as it is.
    """
    if isinstance(error, CallTimeout):
        return LibvirtTimeout(
            f"{uri}: {what} was not answered within {timeout:g} s",
            culprit=uri,
            cure="libvirt hangs or is probing emulators; see its log, restart it if it hangs",
        )
    if isinstance(error, TooManyStuck):
        return LibvirtTimeout(f"{uri}: {error}", culprit=uri, cure="restart the libvirt daemon")
    if not isinstance(error, libvirt.libvirtError):
        raise error
    text = without_password(str(error))
    if error.get_error_code() in _REFUSALS:
        return LibvirtRefusal(f"{uri}: {what}: {text}", culprit=uri, reason=text)
    cure = None
    if "read only" in text or "read-only" in text:
        cure = _READ_ONLY
    elif what == "connecting":
        cure = _START
        if any(word in text for word in ("Permission denied", "authentication", "access denied")):
            cure = "let capd's user use libvirt: see docs/security.md"
    return LibvirtError(f"{uri}: {what}: {text}", culprit=uri, cure=cure)
