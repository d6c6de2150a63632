"""Request specs as rows of the API database: read under lock, written with a new image."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timezone

from sqlalchemy import bindparam, select, update
from sqlalchemy.engine import Connection

from capd.novadb import requestspec
from capd.novadb.database import Unfit
from capd.novadb.instances import Change
from capd.novadb.releases import Release
from capd.novadb.requestspec import Spec
from capd.novadb.schema import instance_groups, request_specs


def read(api: Connection, uuids: Sequence[str], lock: bool = True) -> dict[str, Spec]:
    """The request specs of `uuids`, with `lock` their rows stay locked.

    Raises Unfit for one that cannot be read.
    """
    columns = request_specs.c
    statement = (
        select(columns.id, columns.instance_uuid, columns.spec)
        .where(columns.instance_uuid.in_(sorted(uuids)))
        .order_by(columns.instance_uuid)
    )
    rows = api.execute(statement.with_for_update() if lock else statement)
    return {row.instance_uuid: Spec(row.id, row.instance_uuid, row.spec) for row in rows}


def write(api: Connection, changes: Iterable[tuple[Spec, Change]], release: Release) -> None:
    """Make the image of each spec anew from the system metadata its instance will have.

    Raises PropertyValue if an instance has a value that its property does not take.
    """
    pairs = list(changes)
    groups = _existing(api, [spec.group for spec, _ in pairs if spec.group])
    now = datetime.now(timezone.utc).replace(tzinfo=None)
    rows = []
    for spec, change in pairs:
        image = requestspec.image(change.metadata, change.instance.image, spec.minor(release))
        text = spec.with_image(image, release, spec.group in groups)
        rows.append({"row": spec.number, "text": text, "now": now})
    if rows:
        api.execute(
            update(request_specs)
            .where(request_specs.c.id == bindparam("row"))
            .values(spec=bindparam("text"), updated_at=bindparam("now")),
            rows,
        )


def missing(uuid: str) -> Unfit:
    """There is nothing to keep in agreement; Nova refuses such an instance too."""
    return Unfit(
        f"RequestSpec not found for instance {uuid}",
        culprit=uuid,
        cure="nova-manage db online_data_migrations makes those of instances before Newton",
    )


def _existing(api: Connection, uuids: Sequence[str]) -> frozenset[str]:
    """Which server groups there still are."""
    if not uuids:
        return frozenset()
    column = instance_groups.c.uuid
    return frozenset(api.execute(select(column).where(column.in_(sorted(set(uuids))))).scalars())
