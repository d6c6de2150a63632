"""Run by Nova's own Python: what Nova's scheduler asks Placement for, for each set of properties.

Standard input is a JSON list of image property mappings; standard output one JSON object for
each: `refused` (Nova does not take the properties), `prefilter` (traits of
`transform_image_metadata`, null when it gave up on all of them) and `always` (traits that the
scheduler asks for with the prefilter switched off).
"""

from __future__ import annotations

import json
import sys
import warnings

warnings.simplefilter("ignore")

import nova.conf  # noqa: E402
from nova import context, objects  # noqa: E402
from nova.scheduler import request_filter, utils  # noqa: E402

CONF = nova.conf.CONF
CONF([], project="nova", default_config_files=[])
objects.register_all()


def spec(properties: dict[str, str]) -> objects.RequestSpec:
    """A request for an instance of an image with these properties."""
    flavor = objects.Flavor(
        vcpus=1, memory_mb=512, root_gb=0, ephemeral_gb=0, swap=0, name="f", extra_specs={}
    )
    image = objects.ImageMeta(
        name="i", properties=objects.ImageMetaProps.from_dict(dict(properties))
    )
    return objects.RequestSpec(flavor=flavor, image=image, requested_resources=[], is_bfv=False)


def answer(properties: dict[str, str]) -> dict[str, object]:
    """What Nova does with them."""
    try:
        request = spec(properties)
    except ValueError as error:
        return {"refused": str(error)}
    admin = context.get_admin_context()
    CONF.set_override("image_metadata_prefilter", True, "scheduler")
    done = request_filter.transform_image_metadata(admin, request)
    prefilter = sorted(request.root_required) if done else None
    request = spec(properties)
    try:
        request_filter.virtio_sound_filter(admin, request)
        resources = utils.ResourceRequest.from_request_spec(request)
        always = sorted(resources.all_required_traits | request.root_required)
    except Exception as error:
        return {"refused": str(error)}
    return {"refused": None, "prefilter": prefilter, "always": always}


def values() -> dict[str, list[str]]:
    """Every value that Nova takes of each property that is an enumeration."""
    fields = objects.ImageMetaProps.fields
    return {
        name: list(kind.ALL)
        for name, field in fields.items()
        for kind in [type(getattr(field, "AUTO_TYPE", None))]
        if hasattr(kind, "ALL")
    }


if sys.argv[1:] == ["values"]:
    json.dump(values(), sys.stdout)
else:
    json.dump([answer(properties) for properties in json.load(sys.stdin)], sys.stdout)
