"""XML from outside, made safe once: no entities, no network, no unbounded trees.

Documents come from libvirt or from recorded files. libvirt never sends a document type, so one
that has it is refused before any parser sees it.
"""

from __future__ import annotations

from lxml import etree

from capd.errors import DocumentError

#: bytes; the largest real document seen is 145 kB
MAX_SIZE = 16 * 1024 * 1024


def parse(text: str, origin: str) -> etree._Element:
    """The root element of `text`.

    `origin` says where the document came from. Raises DocumentError naming it if the text is not
    well-formed, too large, or carries a document type declaration.
    """
    if len(text) > MAX_SIZE:
        raise DocumentError(
            f"{origin}: document of {len(text)} characters is larger than any libvirt sends",
            culprit=origin,
        )
    if "<!DOCTYPE" in text:
        raise DocumentError(
            f"{origin}: document type declarations are refused (entities could be anything)",
            culprit=origin,
        )
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        # bytes, because lxml refuses text that declares an encoding
        root = etree.fromstring(text.encode("utf-8", "surrogatepass"), parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise DocumentError(
            f"{origin}: not well-formed XML: {_short(error)}", culprit=origin
        ) from None
    if root is None:
        raise DocumentError(f"{origin}: empty document", culprit=origin)
    return root


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
