"""Nova itself, driven over a pipe: runs under Nova's own interpreter, never under capd's.

Reads one JSON request a line on standard input, answers one JSON line on a copy of standard
output. Rows are made, read and changed through Nova's objects and through the very class behind
`nova-manage image_property`; only the start-up of one process per command is saved. Nothing here
imports capd, and the file runs on every Python that a tested Nova runs on (3.7 to 3.13).
"""

import contextlib
import io
import json
import os
import sys

os.environ.setdefault("OS_NOVA_DISABLE_EVENTLET_PATCHING", "yes")

OUT = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)

from nova.cmd import manage  # noqa: E402, I001 - first: it decides about eventlet
from nova import config  # noqa: E402
from nova import context as nova_context  # noqa: E402
from nova import objects  # noqa: E402

CELL0 = "00000000-0000-0000-0000-000000000000"
EXTRA = (
    "numa_topology",
    "pci_requests",
    "flavor",
    "vcpu_model",
    "migration_context",
)


def flavor():
    return objects.Flavor(
        id=1,
        name="small",
        memory_mb=512,
        vcpus=1,
        root_gb=1,
        ephemeral_gb=0,
        flavorid="f1",
        swap=0,
        rxtx_factor=1.0,
        vcpu_weight=0,
        disabled=False,
        is_public=True,
        extra_specs={"hw:cpu_policy": "shared"},
        projects=[],
        description=None,
        created_at=None,
        updated_at=None,
        deleted_at=None,
        deleted=False,
    )


class Peer:
    def __init__(self):
        self.context = nova_context.get_admin_context()

    def cell(self, name):
        cells = objects.CellMappingList.get_all(self.context)
        if name == "cell0":
            return next(cell for cell in cells if cell.uuid == CELL0)
        return next(cell for cell in cells if cell.name == name)

    def sync(self, cell=None, cell0=None):
        """All of `nova-manage api_db sync`, `cell_v2 map_cell0`, `db sync`, `create_cell`.

        `cell` and `cell0` are the connections for the mappings, None for Nova's defaults.
        """
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            codes = [manage.ApiDbCommands().sync()]
            commands = manage.CellV2Commands()
            codes.append(commands.map_cell0(database_connection=cell0))
            codes.append(manage.DbCommands().sync())
            if cell is None:
                codes.append(commands.create_cell(name="cell1"))
            else:
                codes.append(
                    commands.create_cell(
                        name="cell1", database_connection=cell, transport_url="fake:///"
                    )
                )
        if any(codes):
            raise RuntimeError(out.getvalue())

    def add_cell(self, name, connection):
        """A second cell: its mapping, and the tables through Nova's own migrations."""
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            manage.CellV2Commands().create_cell(
                name=name, database_connection=connection, transport_url="fake:///"
            )
            with nova_context.target_cell(self.context, self.cell(name)) as cell:
                from nova.db import migration

                migration.db_sync(None, context=cell)
        return out.getvalue()

    def format(self, template, default):
        """A cell mapping's URL as Nova fills it from [database] connection."""
        try:
            return objects.CellMapping._format_url(template, default)
        except Exception:
            return template

    def group(self, name="g1"):
        context = nova_context.RequestContext("user", "project", is_admin=True)
        group = objects.InstanceGroup(context)
        group.user_id, group.project_id, group.name = "user", "project", name
        group.uuid = "99999999-0000-4000-8000-000000000001"
        group.policy, group.members = "anti-affinity", []
        group.create()
        return group.uuid

    def create(
        self,
        uuid,
        cell="cell1",
        vm_state="stopped",
        task_state=None,
        host="host1",
        node=None,
        image_ref="11111111-2222-4333-8444-555555555555",
        system_metadata=None,
        image=None,
        spec=True,
        mapping=True,
        group=None,
        name="guest",
    ):
        metadata = {"image_base_image_ref": image_ref or ""}
        metadata.update(system_metadata or {})
        mapped = None if cell is None else self.cell(cell)
        with nova_context.target_cell(self.context, mapped) as context:
            instance = objects.Instance(context)
            instance.uuid, instance.project_id, instance.user_id = uuid, "project", "user"
            instance.image_ref, instance.host = image_ref, host
            if node is not None:
                instance.node = node
            instance.vm_state, instance.task_state = vm_state, task_state
            instance.display_name, instance.hostname = name, name
            instance.system_metadata, instance.flavor = metadata, flavor()
            instance.launched_on = host
            instance.create()
        if mapping:
            mapping = objects.InstanceMapping(self.context)
            mapping.instance_uuid, mapping.cell_mapping = uuid, mapped
            mapping.project_id, mapping.user_id = "project", "user"
            mapping.queued_for_delete = False
            mapping.create()
        if spec:
            self._spec(uuid, image_ref, image, metadata, group)
        return None

    def _spec(self, uuid, image_ref, image, metadata, group):
        if image is None:
            properties = {
                key[len("image_") :]: value
                for key, value in metadata.items()
                if value is not None and key.startswith(("image_hw_", "image_os_"))
            }
            image = {
                "id": image_ref,
                "name": "cirros",
                "owner": "project",
                "checksum": "d41d8cd98f00b204e9800998ecf8427e",
                "size": 21430272,
                "status": "active",
                "visibility": "public",
                "protected": False,
                "container_format": "bare",
                "disk_format": "qcow2",
                "min_disk": 0,
                "min_ram": 0,
                "properties": properties,
            }
        hints = {}
        instance_group = None
        if group:
            instance_group = objects.InstanceGroup.get_by_uuid(self.context, group)
            hints = {"group": [group]}
        spec = objects.RequestSpec.from_components(
            self.context,
            uuid,
            image,
            flavor(),
            None,
            objects.InstancePCIRequests(requests=[], instance_uuid=uuid),
            {"scheduler_hints": hints},
            instance_group,
            "nova",
            project_id="project",
            user_id="user",
            security_groups=objects.SecurityGroupList(
                objects=[objects.SecurityGroup(uuid="5e000000-0000-4000-8000-000000000000")]
            ),
        )
        spec.create()

    def _instance(self, uuid):
        mapping = objects.InstanceMapping.get_by_instance_uuid(self.context, uuid)
        with nova_context.target_cell(self.context, mapping.cell_mapping) as cell:
            return objects.Instance.get_by_uuid(cell, uuid, expected_attrs=["system_metadata"])

    def update(self, uuid, **fields):
        instance = self._instance(uuid)
        for name, value in fields.items():
            setattr(instance, name, value)
        instance.save()

    def start(self, uuid):
        """What nova-api does first when asked to start an instance."""
        instance = self._instance(uuid)
        instance.task_state = "powering-on"
        instance.save(expected_task_state=[None])

    def started(self, uuid):
        """What nova-compute does when the guest runs; returns the properties it used."""
        instance = self._instance(uuid)
        used = dict(instance.system_metadata)
        instance.vm_state, instance.task_state = "active", None
        instance.save(expected_task_state=["powering-on"])
        return used

    def delete(self, uuid):
        self._instance(uuid).destroy()

    def service(self, host, binary="nova-compute", version=None, cell="cell1"):
        with nova_context.target_cell(self.context, self.cell(cell)) as context:
            service = objects.Service(context, host=host, binary=binary, topic="compute")
            service.create()
            if version is not None:
                from nova.db.main import api as db

                db.service_update(context, service.id, {"version": version})

    def node(self, host, uuid, cell="cell1"):
        with nova_context.target_cell(self.context, self.cell(cell)) as context:
            node = objects.ComputeNode(context)
            node.host, node.hypervisor_hostname, node.uuid = host, host, uuid
            node.vcpus, node.memory_mb, node.local_gb = 1, 1, 1
            node.vcpus_used, node.memory_mb_used, node.local_gb_used = 0, 0, 0
            node.hypervisor_type, node.hypervisor_version, node.cpu_info = "QEMU", 1, "{}"
            node.service_id = None
            node.create()

    def _command(self, method, *arguments):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            code = method(*arguments)
        return [code, out.getvalue()]

    def show(self, uuid, name):
        return self._command(manage.ImagePropertyCommands().show, uuid, name)

    def set(self, uuid, properties):
        return self._command(manage.ImagePropertyCommands().set, uuid, properties)

    def load(self, uuid):
        """What Nova's objects make of the rows: raises if one of them does not load."""
        instance = self._instance(uuid)
        meta = objects.ImageMeta.from_instance(instance)
        spec = objects.RequestSpec.get_by_instance_uuid(self.context, uuid)
        return {
            "system_metadata": dict(instance.system_metadata),
            "image_meta": meta.obj_to_primitive(),
            "spec_image": spec.image.obj_to_primitive() if spec.image else None,
            "vm_state": instance.vm_state,
            "task_state": instance.task_state,
        }


def main():
    config.parse_args(["nova-manage", "--config-file", sys.argv[1]])
    with contextlib.suppress(Exception):
        objects.register_all()
    peer = Peer()
    OUT.write(json.dumps({"ready": True}) + "\n")
    OUT.flush()
    for line in sys.stdin:
        request = json.loads(line)
        try:
            result = getattr(peer, request["do"])(*request.get("args", []), **request["with"])
            answer = {"result": result}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        OUT.write(json.dumps(answer) + "\n")
        OUT.flush()


if __name__ == "__main__":
    main()
