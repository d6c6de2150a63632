"""What Nova's own code makes of image properties; run with the Python of a Nova installation.

Reads one JSON document from standard input, {"single": [[name, value], ...], "images": [{...},
...]}, and writes {"names": ..., "enums": ..., "legacy": ..., "single": [...], "images": [...]} to
standard output. A result is {"value": ..., "kind": ...} or {"error": ...}.
"""

import json
import sys
import warnings

warnings.simplefilter("ignore")

from nova import exception, objects  # noqa: E402
from nova.cmd import manage  # noqa: E402
from nova.objects import fields  # noqa: E402
from nova.objects.image_meta import ImageMetaProps  # noqa: E402

objects.register_all()


def single(name, value):
    """As `nova-manage image_property set` checks one property, without its own split at `=`."""
    check = manage.ImagePropertyCommands._validate_image_properties
    try:
        check(None, [f"{name}={value.replace('=', '')}"])
    except exception.InvalidImagePropertyName as error:
        return {"error": str(error), "code": 5}
    except ValueError as error:
        if "=" not in value:
            return {"error": str(error), "code": 6}
    try:
        made = ImageMetaProps.from_dict({name: value})
    except ValueError as error:
        return {"error": str(error), "code": 6}
    if name not in made:
        return {"value": None, "kind": "unread"}
    typed = getattr(made, name)
    return {"value": typed, "kind": type(typed).__name__}


def image(properties):
    try:
        made = ImageMetaProps.from_dict(dict(properties))
    except ValueError as error:
        return {"error": str(error)}
    return {name: getattr(made, name) for name in made.fields if name in made}


def main():
    asked = json.load(sys.stdin)
    enums = {
        name: list(field._type._valid_values)
        for name, field in ImageMetaProps.fields.items()
        if isinstance(field._type, fields.Enum)
    }
    json.dump(
        {
            "names": list(ImageMetaProps.fields),
            "enums": enums,
            "legacy": ImageMetaProps._legacy_property_map,
            "single": [single(name, value) for name, value in asked["single"]],
            "images": [image(properties) for properties in asked["images"]],
        },
        sys.stdout,
    )


main()
