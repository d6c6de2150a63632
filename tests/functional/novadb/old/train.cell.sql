BEGIN TRANSACTION;
CREATE TABLE agent_builds (
	created_at DATETIME, 
	updated_at DATETIME, 
	deleted_at DATETIME, 
	id INTEGER NOT NULL, 
	hypervisor VARCHAR(255), 
	os VARCHAR(255), 
	architecture VARCHAR(255), 
	version VARCHAR(255), 
	url VARCHAR(255), 
	md5hash VARCHAR(255), 
	deleted INTEGER, 
	PRIMARY KEY (id), 
	CONSTRAINT uniq_agent_builds0hypervisor0os0architecture0deleted UNIQUE (hypervisor, os, architecture, deleted)
);
CREATE TABLE aggregate_hosts (
	created_at DATETIME, 
	updated_at DATETIME, 
	deleted_at DATETIME, 
	id INTEGER NOT NULL, 
	host VARCHAR(255), 
	aggregate_id INTEGER NOT NULL, 
	deleted INTEGER, 
	PRIMARY KEY (id), 
	FOREIGN KEY(aggregate_id) REFERENCES aggregates (id), 
	CONSTRAINT uniq_aggregate_hosts0host0aggregate_id0deleted UNIQUE (host, aggregate_id, deleted)
);
CREATE TABLE aggregate_metadata (
	created_at DATETIME, 
	updated_at DATETIME, 
	deleted_at DATETIME, 
	id INTEGER NOT NULL, 
	aggregate_id INTEGER NOT NULL, 
	"key" VARCHAR(255) NOT NULL, 
	value VARCHAR(255) NOT NULL, 
	deleted INTEGER, 
	PRIMARY KEY (id), 
	FOREIGN KEY(aggregate_id) REFERENCES aggregates (id), 
	CONSTRAINT uniq_aggregate_metadata0aggregate_id0key0deleted UNIQUE (aggregate_id, "key", deleted)
);
CREATE TABLE aggregates (
	created_at DATETIME, 
	updated_at DATETIME, 
	deleted_at DATETIME, 
	id INTEGER NOT NULL, 
	name VARCHAR(255), 
	deleted INTEGER, uuid VARCHAR(36), 
	PRIMARY KEY (id)
);
CREATE TABLE allocations (
	id INTEGER NOT NULL, 
	resource_provider_id INTEGER NOT NULL, 
	consumer_id VARCHAR(36) NOT NULL, 
	resource_class_id INTEGER NOT NULL, 
	used INTEGER NOT NULL, 
	PRIMARY KEY (id)
);
CREATE TABLE block_device_mapping (
	created_at DATETIME, 
	updated_at DATETIME, 
	deleted_at DATETIME, 
	id INTEGER NOT NULL, 
	device_name VARCHAR(255), 
	delete_on_termination BOOLEAN, 
	snapshot_id VARCHAR(36), 
	volume_id VARCHAR(36), 
	volume_size INTEGER, 
	no_device BOOLEAN, 
	connection_info TEXT, 
	instance_uuid VARCHAR(36), 
	deleted INTEGER, 
	source_type VARCHAR(255), 
	destination_type VARCHAR(255), 
	guest_format VARCHAR(255), 
	device_type VARCHAR(255), 
	disk_bus VARCHAR(255), 
	boot_index INTEGER, 
	image_id VARCHAR(36), 
	tag VARCHAR(255), 
	attachment_id VARCHAR(36), 
	uuid VARCHAR(36), volume_type VARCHAR(255), 
	PRIMARY KEY (id), 
	CHECK (delete_on_termination IN (0, 1)), 
	CHECK (no_device IN (0, 1)), 
	CONSTRAINT block_device_mapping_instance_uuid_fkey FOREIGN KEY(instance_uuid) REFERENCES instances (uuid), 
	CHECK (delete_on_termination IN (0, 1)), 
	CHECK (no_device IN (0, 1)), 
	CHECK (delete_on_termination IN (0, 1)), 
	CHECK (no_device IN (0, 1)), 
	CONSTRAINT uniq_block_device_mapping0uuid UNIQUE (uuid)
);
CREATE TABLE bw_usage_cache (
	created_at DATETIME, 
	updated_at DATETIME, 
	deleted_at DATETIME, 
	id INTEGER NOT NULL, 
	start_period DATETIME NOT NULL, 
	last_refreshed DATETIME, 
	bw_in BIGINT, 
	bw_out BIGINT, 
	mac VARCHAR(255), 
	uuid VARCHAR(36), 
	last_ctr_in BIGINT, 
	last_ctr_out BIGINT, 
	deleted INTEGER, 
	PRIMARY KEY (id)
);
CREATE TABLE cells (
	created_at DATETIME, 
	updated_at DATETIME, 
	deleted_at DATETIME, 
	id INTEGER NOT NULL, 
	api_url VARCHAR(255), 
	weight_offset FLOAT, 
	weight_scale FLOAT, 
	name VARCHAR(255), 
	is_parent BOOLEAN, 
	deleted INTEGER, 
	transport_url VARCHAR(255) NOT NULL, 
	PRIMARY KEY (id), 
	CHECK (is_parent IN (0, 1)), 
	CONSTRAINT uniq_cells0name0deleted UNIQUE (name, deleted)
);
CREATE TABLE certificates (
	created_at DATETIME, 
	updated_at DATETIME, 
	deleted_at DATETIME, 
	id INTEGER NOT NULL, 
	user_id VARCHAR(255), 
	project_id VARCHAR(255), 
	file_name VARCHAR(255), 
	deleted INTEGER, 
	PRIMARY KEY (id)
);
CREATE TABLE compute_nodes (
	created_at DATETIME, 
	updated_at DATETIME, 
	deleted_at DATETIME, 
	id INTEGER NOT NULL, 
	service_id INTEGER, 
	vcpus INTEGER NOT NULL, 
	memory_mb INTEGER NOT NULL, 
	local_gb INTEGER NOT NULL, 
	vcpus_used INTEGER NOT NULL, 
	memory_mb_used INTEGER NOT NULL, 
	local_gb_used INTEGER NOT NULL, 
	hypervisor_type TEXT NOT NULL, 
	hypervisor_version INTEGER NOT NULL, 
	cpu_info TEXT NOT NULL, 
	disk_available_least INTEGER, 
	free_ram_mb INTEGER, 
	free_disk_gb INTEGER, 
	current_workload INTEGER, 
	running_vms INTEGER, 
	hypervisor_hostname VARCHAR(255), 
	deleted INTEGER, 
	host_ip VARCHAR(39), 
	supported_instances TEXT, 
	pci_stats TEXT, 
	metrics TEXT, 
	extra_resources TEXT, 
	stats TEXT, 
	numa_topology TEXT, 
	host VARCHAR(255), ram_allocation_ratio FLOAT, cpu_allocation_ratio FLOAT, uuid VARCHAR(36), disk_allocation_ratio FLOAT, mapped INTEGER, 
	PRIMARY KEY (id), 
	CONSTRAINT uniq_compute_nodes0host0hypervisor_hostname0deleted UNIQUE (host, hypervisor_hostname, deleted)
);
INSERT INTO "compute_nodes" VALUES('2026-11-30 14:02:10.673555','2026-11-30 14:02:10.735529',NULL,1,NULL,1,1,1,0,0,0,'QEMU',1,'{}',NULL,NULL,NULL,NULL,NULL,'host1',0,NULL,NULL,NULL,NULL,NULL,'{}',NULL,'host1',1.5,16.0,'aaaaaaaa-1111-4222-8333-000000000001',1.0,0);
CREATE TABLE console_auth_tokens (
	created_at DATETIME, 
	updated_at DATETIME, 
	id INTEGER NOT NULL, 
	token_hash VARCHAR(255) NOT NULL, 
	console_type VARCHAR(255) NOT NULL, 
	host VARCHAR(255) NOT NULL, 
	port INTEGER NOT NULL, 
	internal_access_path VARCHAR(255), 
	instance_uuid VARCHAR(36) NOT NULL, 
	expires INTEGER NOT NULL, access_url_base VARCHAR(255), 
	PRIMARY KEY (id), 
	CONSTRAINT uniq_console_auth_tokens0token_hash UNIQUE (token_hash)
);
CREATE TABLE console_pools (
	created_at DATETIME, 
	updated_at DATETIME, 
	deleted_at DATETIME, 
	id INTEGER NOT NULL, 
	address VARCHAR(39), 
	username VARCHAR(255), 
	password VARCHAR(255), 
	console_type VARCHAR(255), 
	public_hostname VARCHAR(255), 
	host VARCHAR(255), 
	compute_host VARCHAR(255), 
	deleted INTEGER, 
	PRIMARY KEY (id), 
	CONSTRAINT uniq_console_pools0host0console_type0compute_host0deleted UNIQUE (host, console_type, compute_host, deleted)
);
CREATE TABLE consoles (
	created_at DATETIME, 
	updated_at DATETIME, 
	deleted_at DATETIME, 
	id INTEGER NOT NULL, 
	instance_name VARCHAR(255), 
	password VARCHAR(255), 
	port INTEGER, 
	pool_id INTEGER, 
	instance_uuid VARCHAR(36), 
	deleted INTEGER, 
	PRIMARY KEY (id), 
	FOREIGN KEY(pool_id) REFERENCES console_pools (id), 
	CONSTRAINT consoles_instance_uuid_fkey FOREIGN KEY(instance_uuid) REFERENCES instances (uuid)
);
CREATE TABLE dns_domains (
	created_at DATETIME, 
	updated_at DATETIME, 
	deleted_at DATETIME, 
	deleted BOOLEAN, 
	domain VARCHAR(255) NOT NULL, 
	scope VARCHAR(255), 
	availability_zone VARCHAR(255), 
	project_id VARCHAR(255), 
	PRIMARY KEY (domain), 
	CHECK (deleted IN (0, 1))
);
CREATE TABLE fixed_ips (
	created_at DATETIME, 
	updated_at DATETIME, 
	deleted_at DATETIME, 
	id INTEGER NOT NULL, 
	address VARCHAR(39), 
	network_id INTEGER, 
	allocated BOOLEAN, 
	leased BOOLEAN, 
	reserved BOOLEAN, 
	virtual_interface_id INTEGER, 
	host VARCHAR(255), 
	instance_uuid VARCHAR(36), 
	deleted INTEGER, 
	PRIMARY KEY (id), 
	CHECK (allocated IN (0, 1)), 
	CHECK (leased IN (0, 1)), 
	CHECK (reserved IN (0, 1)), 
	CONSTRAINT uniq_fixed_ips0address0deleted UNIQUE (address, deleted), 
	CHECK (allocated IN (0, 1)), 
	CHECK (leased IN (0, 1)), 
	CHECK (reserved IN (0, 1)), 
	CONSTRAINT fixed_ips_instance_uuid_fkey FOREIGN KEY(instance_uuid) REFERENCES instances (uuid), 
	CONSTRAINT uniq_fixed_ips0address0deleted UNIQUE (address, deleted)
);
CREATE TABLE floating_ips (
	created_at DATETIME, 
	updated_at DATETIME, 
	deleted_at DATETIME, 
	id INTEGER NOT NULL, 
	address VARCHAR(39), 
	fixed_ip_id INTEGER, 
	project_id VARCHAR(255), 
	host VARCHAR(255), 
	auto_assigned BOOLEAN, 
	pool VARCHAR(255), 
	interface VARCHAR(255), 
	deleted INTEGER, 
	PRIMARY KEY (id), 
	CHECK (auto_assigned IN (0, 1)), 
	CONSTRAINT uniq_floating_ips0address0deleted UNIQUE (address, deleted)
);
CREATE TABLE instance_actions (
	created_at DATETIME, 
	updated_at DATETIME, 
	deleted_at DATETIME, 
	id INTEGER NOT NULL, 
	action VARCHAR(255), 
	instance_uuid VARCHAR(36), 
	request_id VARCHAR(255), 
	user_id VARCHAR(255), 
	project_id VARCHAR(255), 
	start_time DATETIME, 
	finish_time DATETIME, 
	message VARCHAR(255), 
	deleted INTEGER, 
	PRIMARY KEY (id), 
	CONSTRAINT fk_instance_actions_instance_uuid FOREIGN KEY(instance_uuid) REFERENCES instances (uuid)
);
CREATE TABLE instance_actions_events (
	created_at DATETIME, 
	updated_at DATETIME, 
	deleted_at DATETIME, 
	id INTEGER NOT NULL, 
	event VARCHAR(255), 
	action_id INTEGER, 
	start_time DATETIME, 
	finish_time DATETIME, 
	result VARCHAR(255), 
	traceback TEXT, 
	deleted INTEGER, host VARCHAR(255), details TEXT, 
	PRIMARY KEY (id), 
	FOREIGN KEY(action_id) REFERENCES instance_actions (id)
);
CREATE TABLE instance_extra (
	created_at DATETIME, 
	updated_at DATETIME, 
	deleted_at DATETIME, 
	deleted INTEGER, 
	id INTEGER NOT NULL, 
	instance_uuid VARCHAR(36) NOT NULL, 
	numa_topology TEXT, pci_requests TEXT, flavor TEXT, vcpu_model TEXT, migration_context TEXT, keypairs TEXT, device_metadata TEXT, trusted_certs TEXT, vpmems TEXT, resources TEXT, 
	PRIMARY KEY (id), 
	FOREIGN KEY(instance_uuid) REFERENCES instances (uuid)
);
INSERT INTO "instance_extra" VALUES('2026-11-30 14:02:06.864801',NULL,NULL,0,1,'dfeb39a7-e2c8-5d06-a30c-ea0d40897d29',NULL,NULL,'{"cur": {"nova_object.name": "Flavor", "nova_object.namespace": "nova", "nova_object.version": "1.2", "nova_object.data": {"id": 1, "name": "small", "memory_mb": 512, "vcpus": 1, "root_gb": 1, "ephemeral_gb": 0, "flavorid": "f1", "swap": 0, "rxtx_factor": 1.0, "vcpu_weight": 0, "disabled": false, "is_public": true, "extra_specs": {"hw:cpu_policy": "shared"}, "projects": [], "description": null, "created_at": null, "updated_at": null, "deleted_at": null, "deleted": false}, "nova_object.changes": ["is_public", "swap", "name", "extra_specs", "created_at", "memory_mb", "id", "root_gb", "vcpu_weight", "rxtx_factor", "deleted_at", "flavorid", "updated_at", "disabled", "description", "ephemeral_gb", "vcpus", "projects", "deleted"]}, "old": null, "new": null}',NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "instance_extra" VALUES('2026-11-30 14:02:07.081400',NULL,NULL,0,2,'db0f9e2a-e753-5d8f-ae7f-a7e76b83a9d1',NULL,NULL,'{"cur": {"nova_object.name": "Flavor", "nova_object.namespace": "nova", "nova_object.version": "1.2", "nova_object.data": {"id": 1, "name": "small", "memory_mb": 512, "vcpus": 1, "root_gb": 1, "ephemeral_gb": 0, "flavorid": "f1", "swap": 0, "rxtx_factor": 1.0, "vcpu_weight": 0, "disabled": false, "is_public": true, "extra_specs": {"hw:cpu_policy": "shared"}, "projects": [], "description": null, "created_at": null, "updated_at": null, "deleted_at": null, "deleted": false}, "nova_object.changes": ["is_public", "swap", "name", "extra_specs", "created_at", "memory_mb", "id", "root_gb", "vcpu_weight", "rxtx_factor", "deleted_at", "flavorid", "updated_at", "disabled", "description", "ephemeral_gb", "vcpus", "projects", "deleted"]}, "old": null, "new": null}',NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "instance_extra" VALUES('2026-11-30 14:02:07.295827',NULL,NULL,0,3,'982ef0d2-1f34-59f7-8ce6-fd80eca54b75',NULL,NULL,'{"cur": {"nova_object.name": "Flavor", "nova_object.namespace": "nova", "nova_object.version": "1.2", "nova_object.data": {"id": 1, "name": "small", "memory_mb": 512, "vcpus": 1, "root_gb": 1, "ephemeral_gb": 0, "flavorid": "f1", "swap": 0, "rxtx_factor": 1.0, "vcpu_weight": 0, "disabled": false, "is_public": true, "extra_specs": {"hw:cpu_policy": "shared"}, "projects": [], "description": null, "created_at": null, "updated_at": null, "deleted_at": null, "deleted": false}, "nova_object.changes": ["is_public", "swap", "name", "extra_specs", "created_at", "memory_mb", "id", "root_gb", "vcpu_weight", "rxtx_factor", "deleted_at", "flavorid", "updated_at", "disabled", "description", "ephemeral_gb", "vcpus", "projects", "deleted"]}, "old": null, "new": null}',NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "instance_extra" VALUES('2026-11-30 14:02:07.470162',NULL,NULL,0,4,'a660fad7-05e3-5788-8dc4-a7b2c5098e29',NULL,NULL,'{"cur": {"nova_object.name": "Flavor", "nova_object.namespace": "nova", "nova_object.version": "1.2", "nova_object.data": {"id": 1, "name": "small", "memory_mb": 512, "vcpus": 1, "root_gb": 1, "ephemeral_gb": 0, "flavorid": "f1", "swap": 0, "rxtx_factor": 1.0, "vcpu_weight": 0, "disabled": false, "is_public": true, "extra_specs": {"hw:cpu_policy": "shared"}, "projects": [], "description": null, "created_at": null, "updated_at": null, "deleted_at": null, "deleted": false}, "nova_object.changes": ["is_public", "swap", "name", "extra_specs", "created_at", "memory_mb", "id", "root_gb", "vcpu_weight", "rxtx_factor", "deleted_at", "flavorid", "updated_at", "disabled", "description", "ephemeral_gb", "vcpus", "projects", "deleted"]}, "old": null, "new": null}',NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "instance_extra" VALUES('2026-11-30 14:02:07.569724',NULL,NULL,0,5,'fd0307a2-c9a8-5519-9749-c92100743fd9',NULL,NULL,'{"cur": {"nova_object.name": "Flavor", "nova_object.namespace": "nova", "nova_object.version": "1.2", "nova_object.data": {"id": 1, "name": "small", "memory_mb": 512, "vcpus": 1, "root_gb": 1, "ephemeral_gb": 0, "flavorid": "f1", "swap": 0, "rxtx_factor": 1.0, "vcpu_weight": 0, "disabled": false, "is_public": true, "extra_specs": {"hw:cpu_policy": "shared"}, "projects": [], "description": null, "created_at": null, "updated_at": null, "deleted_at": null, "deleted": false}, "nova_object.changes": ["is_public", "swap", "name", "extra_specs", "created_at", "memory_mb", "id", "root_gb", "vcpu_weight", "rxtx_factor", "deleted_at", "flavorid", "updated_at", "disabled", "description", "ephemeral_gb", "vcpus", "projects", "deleted"]}, "old": null, "new": null}',NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "instance_extra" VALUES('2026-11-30 14:02:07.702428',NULL,NULL,0,6,'11d70fcf-0675-5351-8490-3eed121f3204',NULL,NULL,'{"cur": {"nova_object.name": "Flavor", "nova_object.namespace": "nova", "nova_object.version": "1.2", "nova_object.data": {"id": 1, "name": "small", "memory_mb": 512, "vcpus": 1, "root_gb": 1, "ephemeral_gb": 0, "flavorid": "f1", "swap": 0, "rxtx_factor": 1.0, "vcpu_weight": 0, "disabled": false, "is_public": true, "extra_specs": {"hw:cpu_policy": "shared"}, "projects": [], "description": null, "created_at": null, "updated_at": null, "deleted_at": null, "deleted": false}, "nova_object.changes": ["is_public", "swap", "name", "extra_specs", "created_at", "memory_mb", "id", "root_gb", "vcpu_weight", "rxtx_factor", "deleted_at", "flavorid", "updated_at", "disabled", "description", "ephemeral_gb", "vcpus", "projects", "deleted"]}, "old": null, "new": null}',NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "instance_extra" VALUES('2026-11-30 14:02:07.859398',NULL,NULL,0,7,'5c8b4f2d-69fd-5cbc-a338-3d08161a935d',NULL,NULL,'{"cur": {"nova_object.name": "Flavor", "nova_object.namespace": "nova", "nova_object.version": "1.2", "nova_object.data": {"id": 1, "name": "small", "memory_mb": 512, "vcpus": 1, "root_gb": 1, "ephemeral_gb": 0, "flavorid": "f1", "swap": 0, "rxtx_factor": 1.0, "vcpu_weight": 0, "disabled": false, "is_public": true, "extra_specs": {"hw:cpu_policy": "shared"}, "projects": [], "description": null, "created_at": null, "updated_at": null, "deleted_at": null, "deleted": false}, "nova_object.changes": ["is_public", "swap", "name", "extra_specs", "created_at", "memory_mb", "id", "root_gb", "vcpu_weight", "rxtx_factor", "deleted_at", "flavorid", "updated_at", "disabled", "description", "ephemeral_gb", "vcpus", "projects", "deleted"]}, "old": null, "new": null}',NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "instance_extra" VALUES('2026-11-30 14:02:08.030343',NULL,NULL,0,8,'c85cb356-8abf-544e-88eb-9011712899c7',NULL,NULL,'{"cur": {"nova_object.name": "Flavor", "nova_object.namespace": "nova", "nova_object.version": "1.2", "nova_object.data": {"id": 1, "name": "small", "memory_mb": 512, "vcpus": 1, "root_gb": 1, "ephemeral_gb": 0, "flavorid": "f1", "swap": 0, "rxtx_factor": 1.0, "vcpu_weight": 0, "disabled": false, "is_public": true, "extra_specs": {"hw:cpu_policy": "shared"}, "projects": [], "description": null, "created_at": null, "updated_at": null, "deleted_at": null, "deleted": false}, "nova_object.changes": ["is_public", "swap", "name", "extra_specs", "created_at", "memory_mb", "id", "root_gb", "vcpu_weight", "rxtx_factor", "deleted_at", "flavorid", "updated_at", "disabled", "description", "ephemeral_gb", "vcpus", "projects", "deleted"]}, "old": null, "new": null}',NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "instance_extra" VALUES('2026-11-30 14:02:08.179276',NULL,NULL,0,9,'2a16daba-6aae-50fd-acde-6ed323fb672c',NULL,NULL,'{"cur": {"nova_object.name": "Flavor", "nova_object.namespace": "nova", "nova_object.version": "1.2", "nova_object.data": {"id": 1, "name": "small", "memory_mb": 512, "vcpus": 1, "root_gb": 1, "ephemeral_gb": 0, "flavorid": "f1", "swap": 0, "rxtx_factor": 1.0, "vcpu_weight": 0, "disabled": false, "is_public": true, "extra_specs": {"hw:cpu_policy": "shared"}, "projects": [], "description": null, "created_at": null, "updated_at": null, "deleted_at": null, "deleted": false}, "nova_object.changes": ["is_public", "swap", "name", "extra_specs", "created_at", "memory_mb", "id", "root_gb", "vcpu_weight", "rxtx_factor", "deleted_at", "flavorid", "updated_at", "disabled", "description", "ephemeral_gb", "vcpus", "projects", "deleted"]}, "old": null, "new": null}',NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "instance_extra" VALUES('2026-11-30 14:02:08.341040',NULL,NULL,0,10,'31db8476-d550-5038-a228-b30eec87d163',NULL,NULL,'{"cur": {"nova_object.name": "Flavor", "nova_object.namespace": "nova", "nova_object.version": "1.2", "nova_object.data": {"id": 1, "name": "small", "memory_mb": 512, "vcpus": 1, "root_gb": 1, "ephemeral_gb": 0, "flavorid": "f1", "swap": 0, "rxtx_factor": 1.0, "vcpu_weight": 0, "disabled": false, "is_public": true, "extra_specs": {"hw:cpu_policy": "shared"}, "projects": [], "description": null, "created_at": null, "updated_at": null, "deleted_at": null, "deleted": false}, "nova_object.changes": ["is_public", "swap", "name", "extra_specs", "created_at", "memory_mb", "id", "root_gb", "vcpu_weight", "rxtx_factor", "deleted_at", "flavorid", "updated_at", "disabled", "description", "ephemeral_gb", "vcpus", "projects", "deleted"]}, "old": null, "new": null}',NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "instance_extra" VALUES('2026-11-30 14:02:08.506203',NULL,NULL,0,11,'c0a0fc2f-770e-521c-85f2-6fbe9470aaa2',NULL,NULL,'{"cur": {"nova_object.name": "Flavor", "nova_object.namespace": "nova", "nova_object.version": "1.2", "nova_object.data": {"id": 1, "name": "small", "memory_mb": 512, "vcpus": 1, "root_gb": 1, "ephemeral_gb": 0, "flavorid": "f1", "swap": 0, "rxtx_factor": 1.0, "vcpu_weight": 0, "disabled": false, "is_public": true, "extra_specs": {"hw:cpu_policy": "shared"}, "projects": [], "description": null, "created_at": null, "updated_at": null, "deleted_at": null, "deleted": false}, "nova_object.changes": ["is_public", "swap", "name", "extra_specs", "created_at", "memory_mb", "id", "root_gb", "vcpu_weight", "rxtx_factor", "deleted_at", "flavorid", "updated_at", "disabled", "description", "ephemeral_gb", "vcpus", "projects", "deleted"]}, "old": null, "new": null}',NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "instance_extra" VALUES('2026-11-30 14:02:08.621605',NULL,NULL,0,12,'6e1517c2-5f5c-50b0-a712-ecc09d9fb46e',NULL,NULL,'{"cur": {"nova_object.name": "Flavor", "nova_object.namespace": "nova", "nova_object.version": "1.2", "nova_object.data": {"id": 1, "name": "small", "memory_mb": 512, "vcpus": 1, "root_gb": 1, "ephemeral_gb": 0, "flavorid": "f1", "swap": 0, "rxtx_factor": 1.0, "vcpu_weight": 0, "disabled": false, "is_public": true, "extra_specs": {"hw:cpu_policy": "shared"}, "projects": [], "description": null, "created_at": null, "updated_at": null, "deleted_at": null, "deleted": false}, "nova_object.changes": ["is_public", "swap", "name", "extra_specs", "created_at", "memory_mb", "id", "root_gb", "vcpu_weight", "rxtx_factor", "deleted_at", "flavorid", "updated_at", "disabled", "description", "ephemeral_gb", "vcpus", "projects", "deleted"]}, "old": null, "new": null}',NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "instance_extra" VALUES('2026-11-30 14:02:08.759783',NULL,NULL,0,13,'c623f0ff-14d7-599a-8c4e-26af7e98f4af',NULL,NULL,'{"cur": {"nova_object.name": "Flavor", "nova_object.namespace": "nova", "nova_object.version": "1.2", "nova_object.data": {"id": 1, "name": "small", "memory_mb": 512, "vcpus": 1, "root_gb": 1, "ephemeral_gb": 0, "flavorid": "f1", "swap": 0, "rxtx_factor": 1.0, "vcpu_weight": 0, "disabled": false, "is_public": true, "extra_specs": {"hw:cpu_policy": "shared"}, "projects": [], "description": null, "created_at": null, "updated_at": null, "deleted_at": null, "deleted": false}, "nova_object.changes": ["is_public", "swap", "name", "extra_specs", "created_at", "memory_mb", "id", "root_gb", "vcpu_weight", "rxtx_factor", "deleted_at", "flavorid", "updated_at", "disabled", "description", "ephemeral_gb", "vcpus", "projects", "deleted"]}, "old": null, "new": null}',NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "instance_extra" VALUES('2026-11-30 14:02:09.129534',NULL,NULL,0,14,'ca401e05-566f-5c38-800d-6e4ce162a4b8',NULL,NULL,'{"cur": {"nova_object.name": "Flavor", "nova_object.namespace": "nova", "nova_object.version": "1.2", "nova_object.data": {"id": 1, "name": "small", "memory_mb": 512, "vcpus": 1, "root_gb": 1, "ephemeral_gb": 0, "flavorid": "f1", "swap": 0, "rxtx_factor": 1.0, "vcpu_weight": 0, "disabled": false, "is_public": true, "extra_specs": {"hw:cpu_policy": "shared"}, "projects": [], "description": null, "created_at": null, "updated_at": null, "deleted_at": null, "deleted": false}, "nova_object.changes": ["is_public", "swap", "name", "extra_specs", "created_at", "memory_mb", "id", "root_gb", "vcpu_weight", "rxtx_factor", "deleted_at", "flavorid", "updated_at", "disabled", "description", "ephemeral_gb", "vcpus", "projects", "deleted"]}, "old": null, "new": null}',NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "instance_extra" VALUES('2026-11-30 14:02:09.206843',NULL,NULL,0,15,'4ff3903d-2f2d-592c-8fef-6b70c7f00389',NULL,NULL,'{"cur": {"nova_object.name": "Flavor", "nova_object.namespace": "nova", "nova_object.version": "1.2", "nova_object.data": {"id": 1, "name": "small", "memory_mb": 512, "vcpus": 1, "root_gb": 1, "ephemeral_gb": 0, "flavorid": "f1", "swap": 0, "rxtx_factor": 1.0, "vcpu_weight": 0, "disabled": false, "is_public": true, "extra_specs": {"hw:cpu_policy": "shared"}, "projects": [], "description": null, "created_at": null, "updated_at": null, "deleted_at": null, "deleted": false}, "nova_object.changes": ["is_public", "swap", "name", "extra_specs", "created_at", "memory_mb", "id", "root_gb", "vcpu_weight", "rxtx_factor", "deleted_at", "flavorid", "updated_at", "disabled", "description", "ephemeral_gb", "vcpus", "projects", "deleted"]}, "old": null, "new": null}',NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "instance_extra" VALUES('2026-11-30 14:02:09.312189',NULL,NULL,0,16,'f53bc924-32e8-52b3-8192-3c235a9d6d22',NULL,NULL,'{"cur": {"nova_object.name": "Flavor", "nova_object.namespace": "nova", "nova_object.version": "1.2", "nova_object.data": {"id": 1, "name": "small", "memory_mb": 512, "vcpus": 1, "root_gb": 1, "ephemeral_gb": 0, "flavorid": "f1", "swap": 0, "rxtx_factor": 1.0, "vcpu_weight": 0, "disabled": false, "is_public": true, "extra_specs": {"hw:cpu_policy": "shared"}, "projects": [], "description": null, "created_at": null, "updated_at": null, "deleted_at": null, "deleted": false}, "nova_object.changes": ["is_public", "swap", "name", "extra_specs", "created_at", "memory_mb", "id", "root_gb", "vcpu_weight", "rxtx_factor", "deleted_at", "flavorid", "updated_at", "disabled", "description", "ephemeral_gb", "vcpus", "projects", "deleted"]}, "old": null, "new": null}',NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "instance_extra" VALUES('2026-11-30 14:02:09.424865',NULL,'2026-11-30 14:02:09.597800',17,17,'985eaca8-42cc-529e-8a89-a512d22a49ae',NULL,NULL,'{"cur": {"nova_object.name": "Flavor", "nova_object.namespace": "nova", "nova_object.version": "1.2", "nova_object.data": {"id": 1, "name": "small", "memory_mb": 512, "vcpus": 1, "root_gb": 1, "ephemeral_gb": 0, "flavorid": "f1", "swap": 0, "rxtx_factor": 1.0, "vcpu_weight": 0, "disabled": false, "is_public": true, "extra_specs": {"hw:cpu_policy": "shared"}, "projects": [], "description": null, "created_at": null, "updated_at": null, "deleted_at": null, "deleted": false}, "nova_object.changes": ["is_public", "swap", "name", "extra_specs", "created_at", "memory_mb", "id", "root_gb", "vcpu_weight", "rxtx_factor", "deleted_at", "flavorid", "updated_at", "disabled", "description", "ephemeral_gb", "vcpus", "projects", "deleted"]}, "old": null, "new": null}',NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "instance_extra" VALUES('2026-11-30 14:02:09.716312',NULL,NULL,0,18,'38584e8a-f33e-5c33-8853-1cd76f3f2dfa',NULL,NULL,'{"cur": {"nova_object.name": "Flavor", "nova_object.namespace": "nova", "nova_object.version": "1.2", "nova_object.data": {"id": 1, "name": "small", "memory_mb": 512, "vcpus": 1, "root_gb": 1, "ephemeral_gb": 0, "flavorid": "f1", "swap": 0, "rxtx_factor": 1.0, "vcpu_weight": 0, "disabled": false, "is_public": true, "extra_specs": {"hw:cpu_policy": "shared"}, "projects": [], "description": null, "created_at": null, "updated_at": null, "deleted_at": null, "deleted": false}, "nova_object.changes": ["is_public", "swap", "name", "extra_specs", "created_at", "memory_mb", "id", "root_gb", "vcpu_weight", "rxtx_factor", "deleted_at", "flavorid", "updated_at", "disabled", "description", "ephemeral_gb", "vcpus", "projects", "deleted"]}, "old": null, "new": null}',NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "instance_extra" VALUES('2026-11-30 14:02:09.960759',NULL,NULL,0,19,'8dce0cc7-08b3-50da-969f-9d1a68be81f5',NULL,NULL,'{"cur": {"nova_object.name": "Flavor", "nova_object.namespace": "nova", "nova_object.version": "1.2", "nova_object.data": {"id": 1, "name": "small", "memory_mb": 512, "vcpus": 1, "root_gb": 1, "ephemeral_gb": 0, "flavorid": "f1", "swap": 0, "rxtx_factor": 1.0, "vcpu_weight": 0, "disabled": false, "is_public": true, "extra_specs": {"hw:cpu_policy": "shared"}, "projects": [], "description": null, "created_at": null, "updated_at": null, "deleted_at": null, "deleted": false}, "nova_object.changes": ["is_public", "swap", "name", "extra_specs", "created_at", "memory_mb", "id", "root_gb", "vcpu_weight", "rxtx_factor", "deleted_at", "flavorid", "updated_at", "disabled", "description", "ephemeral_gb", "vcpus", "projects", "deleted"]}, "old": null, "new": null}',NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "instance_extra" VALUES('2026-11-30 14:02:10.077060',NULL,NULL,0,20,'3d9c9fcc-0f0e-5961-a9b4-c4d6b7a3097c',NULL,NULL,'{"cur": {"nova_object.name": "Flavor", "nova_object.namespace": "nova", "nova_object.version": "1.2", "nova_object.data": {"id": 1, "name": "small", "memory_mb": 512, "vcpus": 1, "root_gb": 1, "ephemeral_gb": 0, "flavorid": "f1", "swap": 0, "rxtx_factor": 1.0, "vcpu_weight": 0, "disabled": false, "is_public": true, "extra_specs": {"hw:cpu_policy": "shared"}, "projects": [], "description": null, "created_at": null, "updated_at": null, "deleted_at": null, "deleted": false}, "nova_object.changes": ["is_public", "swap", "name", "extra_specs", "created_at", "memory_mb", "id", "root_gb", "vcpu_weight", "rxtx_factor", "deleted_at", "flavorid", "updated_at", "disabled", "description", "ephemeral_gb", "vcpus", "projects", "deleted"]}, "old": null, "new": null}',NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "instance_extra" VALUES('2026-11-30 14:02:10.174158',NULL,NULL,0,21,'7d6519ce-3544-503f-ae49-28b16658c57d',NULL,NULL,'{"cur": {"nova_object.name": "Flavor", "nova_object.namespace": "nova", "nova_object.version": "1.2", "nova_object.data": {"id": 1, "name": "small", "memory_mb": 512, "vcpus": 1, "root_gb": 1, "ephemeral_gb": 0, "flavorid": "f1", "swap": 0, "rxtx_factor": 1.0, "vcpu_weight": 0, "disabled": false, "is_public": true, "extra_specs": {"hw:cpu_policy": "shared"}, "projects": [], "description": null, "created_at": null, "updated_at": null, "deleted_at": null, "deleted": false}, "nova_object.changes": ["is_public", "swap", "name", "extra_specs", "created_at", "memory_mb", "id", "root_gb", "vcpu_weight", "rxtx_factor", "deleted_at", "flavorid", "updated_at", "disabled", "description", "ephemeral_gb", "vcpus", "projects", "deleted"]}, "old": null, "new": null}',NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "instance_extra" VALUES('2026-11-30 14:02:10.283001',NULL,NULL,0,22,'358b8d26-3b9a-540f-9a57-834402342dde',NULL,NULL,'{"cur": {"nova_object.name": "Flavor", "nova_object.namespace": "nova", "nova_object.version": "1.2", "nova_object.data": {"id": 1, "name": "small", "memory_mb": 512, "vcpus": 1, "root_gb": 1, "ephemeral_gb": 0, "flavorid": "f1", "swap": 0, "rxtx_factor": 1.0, "vcpu_weight": 0, "disabled": false, "is_public": true, "extra_specs": {"hw:cpu_policy": "shared"}, "projects": [], "description": null, "created_at": null, "updated_at": null, "deleted_at": null, "deleted": false}, "nova_object.changes": ["is_public", "swap", "name", "extra_specs", "created_at", "memory_mb", "id", "root_gb", "vcpu_weight", "rxtx_factor", "deleted_at", "flavorid", "updated_at", "disabled", "description", "ephemeral_gb", "vcpus", "projects", "deleted"]}, "old": null, "new": null}',NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "instance_extra" VALUES('2026-11-30 14:02:10.459747',NULL,NULL,0,23,'a92b1e9d-624b-53f3-b387-1698691d7900',NULL,NULL,'{"cur": {"nova_object.name": "Flavor", "nova_object.namespace": "nova", "nova_object.version": "1.2", "nova_object.data": {"id": 1, "name": "small", "memory_mb": 512, "vcpus": 1, "root_gb": 1, "ephemeral_gb": 0, "flavorid": "f1", "swap": 0, "rxtx_factor": 1.0, "vcpu_weight": 0, "disabled": false, "is_public": true, "extra_specs": {"hw:cpu_policy": "shared"}, "projects": [], "description": null, "created_at": null, "updated_at": null, "deleted_at": null, "deleted": false}, "nova_object.changes": ["is_public", "swap", "name", "extra_specs", "created_at", "memory_mb", "id", "root_gb", "vcpu_weight", "rxtx_factor", "deleted_at", "flavorid", "updated_at", "disabled", "description", "ephemeral_gb", "vcpus", "projects", "deleted"]}, "old": null, "new": null}',NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "instance_extra" VALUES('2026-11-30 14:02:10.551860',NULL,NULL,0,24,'a804bc5a-cb1e-5401-b1a3-4098388087a3',NULL,NULL,'{"cur": {"nova_object.name": "Flavor", "nova_object.namespace": "nova", "nova_object.version": "1.2", "nova_object.data": {"id": 1, "name": "small", "memory_mb": 512, "vcpus": 1, "root_gb": 1, "ephemeral_gb": 0, "flavorid": "f1", "swap": 0, "rxtx_factor": 1.0, "vcpu_weight": 0, "disabled": false, "is_public": true, "extra_specs": {"hw:cpu_policy": "shared"}, "projects": [], "description": null, "created_at": null, "updated_at": null, "deleted_at": null, "deleted": false}, "nova_object.changes": ["is_public", "swap", "name", "extra_specs", "created_at", "memory_mb", "id", "root_gb", "vcpu_weight", "rxtx_factor", "deleted_at", "flavorid", "updated_at", "disabled", "description", "ephemeral_gb", "vcpus", "projects", "deleted"]}, "old": null, "new": null}',NULL,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE instance_faults (
	created_at DATETIME, 
	updated_at DATETIME, 
	deleted_at DATETIME, 
	id INTEGER NOT NULL, 
	instance_uuid VARCHAR(36), 
	code INTEGER NOT NULL, 
	message VARCHAR(255), 
	details TEXT, 
	host VARCHAR(255), 
	deleted INTEGER, 
	PRIMARY KEY (id), 
	CONSTRAINT fk_instance_faults_instance_uuid FOREIGN KEY(instance_uuid) REFERENCES instances (uuid)
);
CREATE TABLE instance_group_member (
	created_at DATETIME, 
	updated_at DATETIME, 
	deleted_at DATETIME, 
	deleted INTEGER, 
	id INTEGER NOT NULL, 
	instance_id VARCHAR(255), 
	group_id INTEGER NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(group_id) REFERENCES instance_groups (id)
);
CREATE TABLE instance_group_policy (
	created_at DATETIME, 
	updated_at DATETIME, 
	deleted_at DATETIME, 
	deleted INTEGER, 
	id INTEGER NOT NULL, 
	policy VARCHAR(255), 
	group_id INTEGER NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(group_id) REFERENCES instance_groups (id)
);
CREATE TABLE instance_groups (
	created_at DATETIME, 
	updated_at DATETIME, 
	deleted_at DATETIME, 
	deleted INTEGER, 
	id INTEGER NOT NULL, 
	user_id VARCHAR(255), 
	project_id VARCHAR(255), 
	uuid VARCHAR(36) NOT NULL, 
	name VARCHAR(255), 
	PRIMARY KEY (id), 
	CONSTRAINT uniq_instance_groups0uuid0deleted UNIQUE (uuid, deleted)
);
CREATE TABLE instance_id_mappings (
	created_at DATETIME, 
	updated_at DATETIME, 
	deleted_at DATETIME, 
	id INTEGER NOT NULL, 
	uuid VARCHAR(36) NOT NULL, 
	deleted INTEGER, 
	PRIMARY KEY (id)
);
INSERT INTO "instance_id_mappings" VALUES('2026-11-30 14:02:06.832097',NULL,NULL,1,'dfeb39a7-e2c8-5d06-a30c-ea0d40897d29',0);
INSERT INTO "instance_id_mappings" VALUES('2026-11-30 14:02:07.080257',NULL,NULL,2,'db0f9e2a-e753-5d8f-ae7f-a7e76b83a9d1',0);
INSERT INTO "instance_id_mappings" VALUES('2026-11-30 14:02:07.274328',NULL,NULL,3,'982ef0d2-1f34-59f7-8ce6-fd80eca54b75',0);
INSERT INTO "instance_id_mappings" VALUES('2026-11-30 14:02:07.469192',NULL,NULL,4,'a660fad7-05e3-5788-8dc4-a7b2c5098e29',0);
INSERT INTO "instance_id_mappings" VALUES('2026-11-30 14:02:07.568913',NULL,NULL,5,'fd0307a2-c9a8-5519-9749-c92100743fd9',0);
INSERT INTO "instance_id_mappings" VALUES('2026-11-30 14:02:07.695464',NULL,NULL,6,'11d70fcf-0675-5351-8490-3eed121f3204',0);
INSERT INTO "instance_id_mappings" VALUES('2026-11-30 14:02:07.847266',NULL,NULL,7,'5c8b4f2d-69fd-5cbc-a338-3d08161a935d',0);
INSERT INTO "instance_id_mappings" VALUES('2026-11-30 14:02:08.028865',NULL,NULL,8,'c85cb356-8abf-544e-88eb-9011712899c7',0);
INSERT INTO "instance_id_mappings" VALUES('2026-11-30 14:02:08.178204',NULL,NULL,9,'2a16daba-6aae-50fd-acde-6ed323fb672c',0);
INSERT INTO "instance_id_mappings" VALUES('2026-11-30 14:02:08.339800',NULL,NULL,10,'31db8476-d550-5038-a228-b30eec87d163',0);
INSERT INTO "instance_id_mappings" VALUES('2026-11-30 14:02:08.502175',NULL,NULL,11,'c0a0fc2f-770e-521c-85f2-6fbe9470aaa2',0);
INSERT INTO "instance_id_mappings" VALUES('2026-11-30 14:02:08.609598',NULL,NULL,12,'6e1517c2-5f5c-50b0-a712-ecc09d9fb46e',0);
INSERT INTO "instance_id_mappings" VALUES('2026-11-30 14:02:08.758956',NULL,NULL,13,'c623f0ff-14d7-599a-8c4e-26af7e98f4af',0);
INSERT INTO "instance_id_mappings" VALUES('2026-11-30 14:02:08.980746',NULL,NULL,14,'0a18494f-0684-598b-8bf6-e040c3ad42f8',0);
INSERT INTO "instance_id_mappings" VALUES('2026-11-30 14:02:09.127045',NULL,NULL,15,'ca401e05-566f-5c38-800d-6e4ce162a4b8',0);
INSERT INTO "instance_id_mappings" VALUES('2026-11-30 14:02:09.197999',NULL,NULL,16,'4ff3903d-2f2d-592c-8fef-6b70c7f00389',0);
INSERT INTO "instance_id_mappings" VALUES('2026-11-30 14:02:09.294088',NULL,NULL,17,'f53bc924-32e8-52b3-8192-3c235a9d6d22',0);
INSERT INTO "instance_id_mappings" VALUES('2026-11-30 14:02:09.404095',NULL,'2026-11-30 14:02:09.608058',18,'985eaca8-42cc-529e-8a89-a512d22a49ae',18);
INSERT INTO "instance_id_mappings" VALUES('2026-11-30 14:02:09.701133',NULL,NULL,19,'38584e8a-f33e-5c33-8853-1cd76f3f2dfa',0);
INSERT INTO "instance_id_mappings" VALUES('2026-11-30 14:02:09.959882',NULL,NULL,20,'8dce0cc7-08b3-50da-969f-9d1a68be81f5',0);
INSERT INTO "instance_id_mappings" VALUES('2026-11-30 14:02:10.076061',NULL,NULL,21,'3d9c9fcc-0f0e-5961-a9b4-c4d6b7a3097c',0);
INSERT INTO "instance_id_mappings" VALUES('2026-11-30 14:02:10.171161',NULL,NULL,22,'7d6519ce-3544-503f-ae49-28b16658c57d',0);
INSERT INTO "instance_id_mappings" VALUES('2026-11-30 14:02:10.272915',NULL,NULL,23,'358b8d26-3b9a-540f-9a57-834402342dde',0);
INSERT INTO "instance_id_mappings" VALUES('2026-11-30 14:02:10.458742',NULL,NULL,24,'a92b1e9d-624b-53f3-b387-1698691d7900',0);
INSERT INTO "instance_id_mappings" VALUES('2026-11-30 14:02:10.551182',NULL,NULL,25,'a804bc5a-cb1e-5401-b1a3-4098388087a3',0);
CREATE TABLE instance_info_caches (
	created_at DATETIME, 
	updated_at DATETIME, 
	deleted_at DATETIME, 
	id INTEGER NOT NULL, 
	network_info TEXT, 
	instance_uuid VARCHAR(36) NOT NULL, 
	deleted INTEGER, 
	PRIMARY KEY (id), 
	CONSTRAINT uniq_instance_info_caches0instance_uuid UNIQUE (instance_uuid), 
	CONSTRAINT instance_info_caches_instance_uuid_fkey FOREIGN KEY(instance_uuid) REFERENCES instances (uuid), 
	CONSTRAINT uniq_instance_info_caches0instance_uuid UNIQUE (instance_uuid)
);
INSERT INTO "instance_info_caches" VALUES('2026-11-30 14:02:06.857816',NULL,NULL,1,NULL,'dfeb39a7-e2c8-5d06-a30c-ea0d40897d29',0);
INSERT INTO "instance_info_caches" VALUES('2026-11-30 14:02:07.092315',NULL,NULL,2,NULL,'db0f9e2a-e753-5d8f-ae7f-a7e76b83a9d1',0);
INSERT INTO "instance_info_caches" VALUES('2026-11-30 14:02:07.296200',NULL,NULL,3,NULL,'982ef0d2-1f34-59f7-8ce6-fd80eca54b75',0);
INSERT INTO "instance_info_caches" VALUES('2026-11-30 14:02:07.470407',NULL,NULL,4,NULL,'a660fad7-05e3-5788-8dc4-a7b2c5098e29',0);
INSERT INTO "instance_info_caches" VALUES('2026-11-30 14:02:07.569460',NULL,NULL,5,NULL,'fd0307a2-c9a8-5519-9749-c92100743fd9',0);
INSERT INTO "instance_info_caches" VALUES('2026-11-30 14:02:07.702222',NULL,NULL,6,NULL,'11d70fcf-0675-5351-8490-3eed121f3204',0);
INSERT INTO "instance_info_caches" VALUES('2026-11-30 14:02:07.859781',NULL,NULL,7,NULL,'5c8b4f2d-69fd-5cbc-a338-3d08161a935d',0);
INSERT INTO "instance_info_caches" VALUES('2026-11-30 14:02:08.029596',NULL,NULL,8,NULL,'c85cb356-8abf-544e-88eb-9011712899c7',0);
INSERT INTO "instance_info_caches" VALUES('2026-11-30 14:02:08.179129',NULL,NULL,9,NULL,'2a16daba-6aae-50fd-acde-6ed323fb672c',0);
INSERT INTO "instance_info_caches" VALUES('2026-11-30 14:02:08.340472',NULL,NULL,10,NULL,'31db8476-d550-5038-a228-b30eec87d163',0);
INSERT INTO "instance_info_caches" VALUES('2026-11-30 14:02:08.505818',NULL,NULL,11,NULL,'c0a0fc2f-770e-521c-85f2-6fbe9470aaa2',0);
INSERT INTO "instance_info_caches" VALUES('2026-11-30 14:02:08.620645',NULL,NULL,12,NULL,'6e1517c2-5f5c-50b0-a712-ecc09d9fb46e',0);
INSERT INTO "instance_info_caches" VALUES('2026-11-30 14:02:08.760145',NULL,NULL,13,NULL,'c623f0ff-14d7-599a-8c4e-26af7e98f4af',0);
INSERT INTO "instance_info_caches" VALUES('2026-11-30 14:02:09.129921',NULL,NULL,14,NULL,'ca401e05-566f-5c38-800d-6e4ce162a4b8',0);
INSERT INTO "instance_info_caches" VALUES('2026-11-30 14:02:09.207675',NULL,NULL,15,NULL,'4ff3903d-2f2d-592c-8fef-6b70c7f00389',0);
INSERT INTO "instance_info_caches" VALUES('2026-11-30 14:02:09.312807',NULL,NULL,16,NULL,'f53bc924-32e8-52b3-8192-3c235a9d6d22',0);
INSERT INTO "instance_info_caches" VALUES('2026-11-30 14:02:09.424596',NULL,'2026-11-30 14:02:09.595465',17,NULL,'985eaca8-42cc-529e-8a89-a512d22a49ae',17);
INSERT INTO "instance_info_caches" VALUES('2026-11-30 14:02:09.716510',NULL,NULL,18,NULL,'38584e8a-f33e-5c33-8853-1cd76f3f2dfa',0);
INSERT INTO "instance_info_caches" VALUES('2026-11-30 14:02:09.960597',NULL,NULL,19,NULL,'8dce0cc7-08b3-50da-969f-9d1a68be81f5',0);
INSERT INTO "instance_info_caches" VALUES('2026-11-30 14:02:10.077242',NULL,NULL,20,NULL,'3d9c9fcc-0f0e-5961-a9b4-c4d6b7a3097c',0);
INSERT INTO "instance_info_caches" VALUES('2026-11-30 14:02:10.173712',NULL,NULL,21,NULL,'7d6519ce-3544-503f-ae49-28b16658c57d',0);
INSERT INTO "instance_info_caches" VALUES('2026-11-30 14:02:10.283633',NULL,NULL,22,NULL,'358b8d26-3b9a-540f-9a57-834402342dde',0);
INSERT INTO "instance_info_caches" VALUES('2026-11-30 14:02:10.459281',NULL,NULL,23,NULL,'a92b1e9d-624b-53f3-b387-1698691d7900',0);
INSERT INTO "instance_info_caches" VALUES('2026-11-30 14:02:10.552023',NULL,NULL,24,NULL,'a804bc5a-cb1e-5401-b1a3-4098388087a3',0);
CREATE TABLE instance_metadata (
	created_at DATETIME, 
	updated_at DATETIME, 
	deleted_at DATETIME, 
	id INTEGER NOT NULL, 
	"key" VARCHAR(255), 
	value VARCHAR(255), 
	instance_uuid VARCHAR(36), 
	deleted INTEGER, 
	PRIMARY KEY (id), 
	CONSTRAINT instance_metadata_instance_uuid_fkey FOREIGN KEY(instance_uuid) REFERENCES instances (uuid)
);
CREATE TABLE instance_system_metadata (
	created_at DATETIME, 
	updated_at DATETIME, 
	deleted_at DATETIME, 
	id INTEGER NOT NULL, 
	instance_uuid VARCHAR(36) NOT NULL, 
	"key" VARCHAR(255) NOT NULL, 
	value VARCHAR(255), 
	deleted INTEGER, 
	PRIMARY KEY (id), 
	CONSTRAINT instance_system_metadata_ibfk_1 FOREIGN KEY(instance_uuid) REFERENCES instances (uuid)
);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:06.865983',NULL,NULL,1,'dfeb39a7-e2c8-5d06-a30c-ea0d40897d29','image_base_image_ref','11111111-2222-4333-8444-555555555555',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:06.866194',NULL,NULL,2,'dfeb39a7-e2c8-5d06-a30c-ea0d40897d29','image_hw_disk_bus','virtio',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:07.081907',NULL,NULL,3,'db0f9e2a-e753-5d8f-ae7f-a7e76b83a9d1','image_base_image_ref','11111111-2222-4333-8444-555555555555',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:07.082129',NULL,NULL,4,'db0f9e2a-e753-5d8f-ae7f-a7e76b83a9d1','image_hw_machine_type','q35',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:07.082268',NULL,NULL,5,'db0f9e2a-e753-5d8f-ae7f-a7e76b83a9d1','image_hw_disk_bus','scsi',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:07.082387',NULL,NULL,6,'db0f9e2a-e753-5d8f-ae7f-a7e76b83a9d1','image_hw_cdrom_bus','sata',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:07.090732',NULL,NULL,7,'db0f9e2a-e753-5d8f-ae7f-a7e76b83a9d1','image_hw_vif_model','VirtualE1000',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:07.091085',NULL,NULL,8,'db0f9e2a-e753-5d8f-ae7f-a7e76b83a9d1','image_hw_video_ram','64',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:07.091168',NULL,NULL,9,'db0f9e2a-e753-5d8f-ae7f-a7e76b83a9d1','image_hw_qemu_guest_agent','yes',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:07.091228',NULL,NULL,10,'db0f9e2a-e753-5d8f-ae7f-a7e76b83a9d1','image_trait:HW_CPU_X86_AVX2','required',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:07.091299',NULL,NULL,11,'db0f9e2a-e753-5d8f-ae7f-a7e76b83a9d1','image_trait:CUSTOM_ODD','optional',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:07.091385',NULL,NULL,12,'db0f9e2a-e753-5d8f-ae7f-a7e76b83a9d1','image_custom_key','anything',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:07.091441',NULL,NULL,13,'db0f9e2a-e753-5d8f-ae7f-a7e76b83a9d1','image_min_ram','512',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:07.091491',NULL,NULL,14,'db0f9e2a-e753-5d8f-ae7f-a7e76b83a9d1','image_min_disk','1',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:07.091541',NULL,NULL,15,'db0f9e2a-e753-5d8f-ae7f-a7e76b83a9d1','image_disk_format','qcow2',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:07.091589',NULL,NULL,16,'db0f9e2a-e753-5d8f-ae7f-a7e76b83a9d1','image_container_format','bare',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:07.091636',NULL,NULL,17,'db0f9e2a-e753-5d8f-ae7f-a7e76b83a9d1','image_os_type','linux',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:07.091682',NULL,NULL,18,'db0f9e2a-e753-5d8f-ae7f-a7e76b83a9d1','image_architecture','AMD64',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:07.091728',NULL,NULL,19,'db0f9e2a-e753-5d8f-ae7f-a7e76b83a9d1','image_hw_numa_nodes','2',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:07.091777',NULL,NULL,20,'db0f9e2a-e753-5d8f-ae7f-a7e76b83a9d1','image_hw_numa_cpus.0','0-1',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:07.091824',NULL,NULL,21,'db0f9e2a-e753-5d8f-ae7f-a7e76b83a9d1','image_hw_numa_cpus.1','2,3,^3',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:07.091873',NULL,NULL,22,'db0f9e2a-e753-5d8f-ae7f-a7e76b83a9d1','image_hw_numa_mem.0','256',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:07.091921',NULL,NULL,23,'db0f9e2a-e753-5d8f-ae7f-a7e76b83a9d1','image_hw_numa_mem.1','256',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:07.092015',NULL,NULL,24,'db0f9e2a-e753-5d8f-ae7f-a7e76b83a9d1','boot_roles','admin,member',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:07.278129',NULL,NULL,25,'982ef0d2-1f34-59f7-8ce6-fd80eca54b75','image_base_image_ref','11111111-2222-4333-8444-555555555555',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:07.278331',NULL,NULL,26,'982ef0d2-1f34-59f7-8ce6-fd80eca54b75','image_hw_machine_type','pc',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:07.278420',NULL,NULL,27,'982ef0d2-1f34-59f7-8ce6-fd80eca54b75','image_hw_disk_bus','virtio',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:07.294801',NULL,NULL,28,'982ef0d2-1f34-59f7-8ce6-fd80eca54b75','image_hw_cdrom_bus','ide',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:07.295177',NULL,NULL,29,'982ef0d2-1f34-59f7-8ce6-fd80eca54b75','image_hw_input_bus','usb',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:07.295308',NULL,NULL,30,'982ef0d2-1f34-59f7-8ce6-fd80eca54b75','image_hw_pointer_model','usbtablet',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:07.295413',NULL,NULL,31,'982ef0d2-1f34-59f7-8ce6-fd80eca54b75','image_hw_video_model',NULL,0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:07.295518',NULL,NULL,32,'982ef0d2-1f34-59f7-8ce6-fd80eca54b75','image_hw_vif_model','virtio',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:07.469783',NULL,NULL,33,'a660fad7-05e3-5788-8dc4-a7b2c5098e29','image_base_image_ref','11111111-2222-4333-8444-555555555555',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:07.469975',NULL,NULL,34,'a660fad7-05e3-5788-8dc4-a7b2c5098e29','image_hw_machine_type','',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:07.570007',NULL,NULL,35,'fd0307a2-c9a8-5519-9749-c92100743fd9','image_base_image_ref','',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:07.570184',NULL,NULL,36,'fd0307a2-c9a8-5519-9749-c92100743fd9','image_hw_disk_bus','virtio',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:07.706978',NULL,NULL,37,'11d70fcf-0675-5351-8490-3eed121f3204','image_base_image_ref','11111111-2222-4333-8444-555555555555',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:07.707169',NULL,NULL,38,'11d70fcf-0675-5351-8490-3eed121f3204','image_hw_video_ram','much',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:07.860036',NULL,NULL,39,'5c8b4f2d-69fd-5cbc-a338-3d08161a935d','image_base_image_ref','11111111-2222-4333-8444-555555555555',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:07.860209',NULL,NULL,40,'5c8b4f2d-69fd-5cbc-a338-3d08161a935d','image_hw_disk_bus','virtio',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:08.029945',NULL,NULL,41,'c85cb356-8abf-544e-88eb-9011712899c7','image_base_image_ref','11111111-2222-4333-8444-555555555555',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:08.030139',NULL,NULL,42,'c85cb356-8abf-544e-88eb-9011712899c7','image_hw_disk_bus','virtio',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:08.178893',NULL,NULL,43,'2a16daba-6aae-50fd-acde-6ed323fb672c','image_base_image_ref','11111111-2222-4333-8444-555555555555',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:08.179028',NULL,NULL,44,'2a16daba-6aae-50fd-acde-6ed323fb672c','image_hw_disk_bus','virtio',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:08.340741',NULL,NULL,45,'31db8476-d550-5038-a228-b30eec87d163','image_base_image_ref','11111111-2222-4333-8444-555555555555',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:08.340888',NULL,NULL,46,'31db8476-d550-5038-a228-b30eec87d163','image_hw_disk_bus','virtio',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:08.506826',NULL,NULL,47,'c0a0fc2f-770e-521c-85f2-6fbe9470aaa2','image_base_image_ref','11111111-2222-4333-8444-555555555555',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:08.507071',NULL,NULL,48,'c0a0fc2f-770e-521c-85f2-6fbe9470aaa2','image_hw_disk_bus','virtio',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:08.621082',NULL,NULL,49,'6e1517c2-5f5c-50b0-a712-ecc09d9fb46e','image_base_image_ref','11111111-2222-4333-8444-555555555555',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:08.621351',NULL,NULL,50,'6e1517c2-5f5c-50b0-a712-ecc09d9fb46e','image_hw_disk_bus','virtio',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:08.760447',NULL,NULL,51,'c623f0ff-14d7-599a-8c4e-26af7e98f4af','image_base_image_ref','11111111-2222-4333-8444-555555555555',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:08.760667',NULL,NULL,52,'c623f0ff-14d7-599a-8c4e-26af7e98f4af','image_hw_disk_bus','virtio',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:09.129758',NULL,NULL,53,'ca401e05-566f-5c38-800d-6e4ce162a4b8','image_base_image_ref','11111111-2222-4333-8444-555555555555',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:09.207424',NULL,NULL,54,'4ff3903d-2f2d-592c-8fef-6b70c7f00389','image_base_image_ref','11111111-2222-4333-8444-555555555555',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:09.313295',NULL,NULL,55,'f53bc924-32e8-52b3-8192-3c235a9d6d22','image_base_image_ref','11111111-2222-4333-8444-555555555555',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:09.424242',NULL,'2026-11-30 14:02:09.598700',56,'985eaca8-42cc-529e-8a89-a512d22a49ae','image_base_image_ref','11111111-2222-4333-8444-555555555555',56);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:09.716667',NULL,NULL,57,'38584e8a-f33e-5c33-8853-1cd76f3f2dfa','image_base_image_ref','11111111-2222-4333-8444-555555555555',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:09.960359',NULL,NULL,58,'8dce0cc7-08b3-50da-969f-9d1a68be81f5','image_base_image_ref','11111111-2222-4333-8444-555555555555',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:09.960485',NULL,NULL,59,'8dce0cc7-08b3-50da-969f-9d1a68be81f5','image_hw_disk_bus','virtio',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:10.076783',NULL,NULL,60,'3d9c9fcc-0f0e-5961-a9b4-c4d6b7a3097c','image_base_image_ref','11111111-2222-4333-8444-555555555555',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:10.076927',NULL,NULL,61,'3d9c9fcc-0f0e-5961-a9b4-c4d6b7a3097c','image_hw_disk_bus','virtio',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:10.173919',NULL,NULL,62,'7d6519ce-3544-503f-ae49-28b16658c57d','image_base_image_ref','11111111-2222-4333-8444-555555555555',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:10.174038',NULL,NULL,63,'7d6519ce-3544-503f-ae49-28b16658c57d','image_hw_disk_bus','virtio',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:10.283354',NULL,NULL,64,'358b8d26-3b9a-540f-9a57-834402342dde','image_base_image_ref','11111111-2222-4333-8444-555555555555',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:10.283500',NULL,NULL,65,'358b8d26-3b9a-540f-9a57-834402342dde','image_hw_disk_bus','virtio',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:10.459471',NULL,NULL,66,'a92b1e9d-624b-53f3-b387-1698691d7900','image_base_image_ref','11111111-2222-4333-8444-555555555555',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:10.459591',NULL,NULL,67,'a92b1e9d-624b-53f3-b387-1698691d7900','image_hw_disk_bus','virtio',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:10.551610',NULL,NULL,68,'a804bc5a-cb1e-5401-b1a3-4098388087a3','image_base_image_ref','11111111-2222-4333-8444-555555555555',0);
INSERT INTO "instance_system_metadata" VALUES('2026-11-30 14:02:10.551734',NULL,NULL,69,'a804bc5a-cb1e-5401-b1a3-4098388087a3','image_hw_disk_bus','virtio',0);
CREATE TABLE instance_type_extra_specs (
	created_at DATETIME, 
	updated_at DATETIME, 
	deleted_at DATETIME, 
	id INTEGER NOT NULL, 
	instance_type_id INTEGER NOT NULL, 
	"key" VARCHAR(255), 
	value VARCHAR(255), 
	deleted INTEGER, 
	PRIMARY KEY (id), 
	FOREIGN KEY(instance_type_id) REFERENCES instance_types (id), 
	CONSTRAINT uniq_instance_type_extra_specs0instance_type_id0key0deleted UNIQUE (instance_type_id, "key", deleted)
);
CREATE TABLE instance_type_projects (
	created_at DATETIME, 
	updated_at DATETIME, 
	deleted_at DATETIME, 
	id INTEGER NOT NULL, 
	instance_type_id INTEGER NOT NULL, 
	project_id VARCHAR(255), 
	deleted INTEGER, 
	PRIMARY KEY (id), 
	CONSTRAINT uniq_instance_type_projects0instance_type_id0project_id0deleted UNIQUE (instance_type_id, project_id, deleted), 
	CONSTRAINT instance_type_projects_ibfk_1 FOREIGN KEY(instance_type_id) REFERENCES instance_types (id), 
	CONSTRAINT uniq_instance_type_projects0instance_type_id0project_id0deleted UNIQUE (instance_type_id, project_id, deleted)
);
CREATE TABLE instance_types (
	created_at DATETIME, 
	updated_at DATETIME, 
	deleted_at DATETIME, 
	name VARCHAR(255), 
	id INTEGER NOT NULL, 
	memory_mb INTEGER NOT NULL, 
	vcpus INTEGER NOT NULL, 
	swap INTEGER NOT NULL, 
	vcpu_weight INTEGER, 
	flavorid VARCHAR(255), 
	rxtx_factor FLOAT, 
	root_gb INTEGER, 
	ephemeral_gb INTEGER, 
	disabled BOOLEAN, 
	is_public BOOLEAN, 
	deleted INTEGER, 
	PRIMARY KEY (id), 
	CHECK (disabled IN (0, 1)), 
	CHECK (is_public IN (0, 1)), 
	CONSTRAINT uniq_instance_types0name0deleted UNIQUE (name, deleted), 
	CONSTRAINT uniq_instance_types0flavorid0deleted UNIQUE (flavorid, deleted)
);
CREATE TABLE instances (
	created_at DATETIME, 
	updated_at DATETIME, 
	deleted_at DATETIME, 
	id INTEGER NOT NULL, 
	internal_id INTEGER, 
	user_id VARCHAR(255), 
	project_id VARCHAR(255), 
	image_ref VARCHAR(255), 
	kernel_id VARCHAR(255), 
	ramdisk_id VARCHAR(255), 
	launch_index INTEGER, 
	key_name VARCHAR(255), 
	key_data TEXT, 
	power_state INTEGER, 
	vm_state VARCHAR(255), 
	memory_mb INTEGER, 
	vcpus INTEGER, 
	hostname VARCHAR(255), 
	host VARCHAR(255), 
	user_data TEXT, 
	reservation_id VARCHAR(255), 
	launched_at DATETIME, 
	terminated_at DATETIME, 
	display_name VARCHAR(255), 
	display_description VARCHAR(255), 
	availability_zone VARCHAR(255), 
	locked BOOLEAN, 
	os_type VARCHAR(255), 
	launched_on TEXT, 
	instance_type_id INTEGER, 
	vm_mode VARCHAR(255), 
	uuid VARCHAR(36) NOT NULL, 
	architecture VARCHAR(255), 
	root_device_name VARCHAR(255), 
	access_ip_v4 VARCHAR(39), 
	access_ip_v6 VARCHAR(39), 
	config_drive VARCHAR(255), 
	task_state VARCHAR(255), 
	default_ephemeral_device VARCHAR(255), 
	default_swap_device VARCHAR(255), 
	progress INTEGER, 
	auto_disk_config BOOLEAN, 
	shutdown_terminate BOOLEAN, 
	disable_terminate BOOLEAN, 
	root_gb INTEGER, 
	ephemeral_gb INTEGER, 
	cell_name VARCHAR(255), 
	node VARCHAR(255), 
	deleted INTEGER, 
	locked_by VARCHAR(5), 
	cleaned INTEGER, 
	ephemeral_key_uuid VARCHAR(36), hidden BOOLEAN, 
	PRIMARY KEY (id), 
	CHECK (locked IN (0, 1)), 
	CHECK (auto_disk_config IN (0, 1)), 
	CHECK (shutdown_terminate IN (0, 1)), 
	CHECK (disable_terminate IN (0, 1)), 
	CONSTRAINT uniq_instances0uuid UNIQUE (uuid), 
	CHECK (locked IN (0, 1)), 
	CHECK (auto_disk_config IN (0, 1)), 
	CHECK (shutdown_terminate IN (0, 1)), 
	CHECK (disable_terminate IN (0, 1)), 
	CHECK (locked IN (0, 1)), 
	CHECK (auto_disk_config IN (0, 1)), 
	CHECK (shutdown_terminate IN (0, 1)), 
	CHECK (disable_terminate IN (0, 1)), 
	CONSTRAINT instances0locked_by CHECK (locked_by IN ('owner', 'admin'))
);
INSERT INTO "instances" VALUES('2026-11-30 14:02:06.849670',NULL,NULL,1,NULL,'user','project','11111111-2222-4333-8444-555555555555',NULL,NULL,NULL,NULL,NULL,NULL,'stopped',NULL,NULL,'plain','host1',NULL,NULL,NULL,NULL,'plain',NULL,NULL,NULL,NULL,'host1',NULL,NULL,'dfeb39a7-e2c8-5d06-a30c-ea0d40897d29',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,0,NULL,NULL,NULL,NULL,0,NULL,0,NULL,0);
INSERT INTO "instances" VALUES('2026-11-30 14:02:07.064900',NULL,NULL,2,NULL,'user','project','11111111-2222-4333-8444-555555555555',NULL,NULL,NULL,NULL,NULL,NULL,'stopped',NULL,NULL,'rich','host1',NULL,NULL,NULL,NULL,'rich',NULL,NULL,NULL,NULL,'host1',NULL,NULL,'db0f9e2a-e753-5d8f-ae7f-a7e76b83a9d1',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,0,NULL,NULL,NULL,NULL,0,NULL,0,NULL,0);
INSERT INTO "instances" VALUES('2026-11-30 14:02:07.276901',NULL,NULL,3,NULL,'user','project','11111111-2222-4333-8444-555555555555',NULL,NULL,NULL,NULL,NULL,NULL,'stopped',NULL,NULL,'registered','host1',NULL,NULL,NULL,NULL,'registered',NULL,NULL,NULL,NULL,'host1',NULL,NULL,'982ef0d2-1f34-59f7-8ce6-fd80eca54b75',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,0,NULL,NULL,NULL,NULL,0,NULL,0,NULL,0);
INSERT INTO "instances" VALUES('2026-11-30 14:02:07.462174',NULL,NULL,4,NULL,'user','project','11111111-2222-4333-8444-555555555555',NULL,NULL,NULL,NULL,NULL,NULL,'stopped',NULL,NULL,'empty-value','host1',NULL,NULL,NULL,NULL,'empty-value',NULL,NULL,NULL,NULL,'host1',NULL,NULL,'a660fad7-05e3-5788-8dc4-a7b2c5098e29',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,0,NULL,NULL,NULL,NULL,0,NULL,0,NULL,0);
INSERT INTO "instances" VALUES('2026-11-30 14:02:07.562134',NULL,NULL,5,NULL,'user','project','',NULL,NULL,NULL,NULL,NULL,NULL,'stopped',NULL,NULL,'no-image','host1',NULL,NULL,NULL,NULL,'no-image',NULL,NULL,NULL,NULL,'host1',NULL,NULL,'fd0307a2-c9a8-5519-9749-c92100743fd9',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,0,NULL,NULL,NULL,NULL,0,NULL,0,NULL,0);
INSERT INTO "instances" VALUES('2026-11-30 14:02:07.701460',NULL,NULL,6,NULL,'user','project','11111111-2222-4333-8444-555555555555',NULL,NULL,NULL,NULL,NULL,NULL,'stopped',NULL,NULL,'bad-stored','host1',NULL,NULL,NULL,NULL,'bad-stored',NULL,NULL,NULL,NULL,'host1',NULL,NULL,'11d70fcf-0675-5351-8490-3eed121f3204',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,0,NULL,NULL,NULL,NULL,0,NULL,0,NULL,0);
INSERT INTO "instances" VALUES('2026-11-30 14:02:07.853995',NULL,NULL,7,NULL,'user','project','11111111-2222-4333-8444-555555555555',NULL,NULL,NULL,NULL,NULL,NULL,'active',NULL,NULL,'active','host1',NULL,NULL,NULL,NULL,'active',NULL,NULL,NULL,NULL,'host1',NULL,NULL,'5c8b4f2d-69fd-5cbc-a338-3d08161a935d',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,0,NULL,NULL,NULL,NULL,0,NULL,0,NULL,0);
INSERT INTO "instances" VALUES('2026-11-30 14:02:08.021224',NULL,NULL,8,NULL,'user','project','11111111-2222-4333-8444-555555555555',NULL,NULL,NULL,NULL,NULL,NULL,'paused',NULL,NULL,'paused','host1',NULL,NULL,NULL,NULL,'paused',NULL,NULL,NULL,NULL,'host1',NULL,NULL,'c85cb356-8abf-544e-88eb-9011712899c7',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,0,NULL,NULL,NULL,NULL,0,NULL,0,NULL,0);
INSERT INTO "instances" VALUES('2026-11-30 14:02:08.176493',NULL,NULL,9,NULL,'user','project','11111111-2222-4333-8444-555555555555',NULL,NULL,NULL,NULL,NULL,NULL,'shelved',NULL,NULL,'shelved','host1',NULL,NULL,NULL,NULL,'shelved',NULL,NULL,NULL,NULL,'host1',NULL,NULL,'2a16daba-6aae-50fd-acde-6ed323fb672c',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,0,NULL,NULL,NULL,NULL,0,NULL,0,NULL,0);
INSERT INTO "instances" VALUES('2026-11-30 14:02:08.332883',NULL,NULL,10,NULL,'user','project','11111111-2222-4333-8444-555555555555',NULL,NULL,NULL,NULL,NULL,NULL,'shelved_offloaded',NULL,NULL,'offloaded',NULL,NULL,NULL,NULL,NULL,'offloaded',NULL,NULL,NULL,NULL,NULL,NULL,NULL,'31db8476-d550-5038-a228-b30eec87d163',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,0,NULL,NULL,NULL,NULL,0,NULL,0,NULL,0);
INSERT INTO "instances" VALUES('2026-11-30 14:02:08.504800',NULL,NULL,11,NULL,'user','project','11111111-2222-4333-8444-555555555555',NULL,NULL,NULL,NULL,NULL,NULL,'error',NULL,NULL,'error','host1',NULL,NULL,NULL,NULL,'error',NULL,NULL,NULL,NULL,'host1',NULL,NULL,'c0a0fc2f-770e-521c-85f2-6fbe9470aaa2',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,0,NULL,NULL,NULL,NULL,0,NULL,0,NULL,0);
INSERT INTO "instances" VALUES('2026-11-30 14:02:08.619418',NULL,NULL,12,NULL,'user','project','11111111-2222-4333-8444-555555555555',NULL,NULL,NULL,NULL,NULL,NULL,'rescued',NULL,NULL,'rescued','host1',NULL,NULL,NULL,NULL,'rescued',NULL,NULL,NULL,NULL,'host1',NULL,NULL,'6e1517c2-5f5c-50b0-a712-ecc09d9fb46e',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,0,NULL,NULL,NULL,NULL,0,NULL,0,NULL,0);
INSERT INTO "instances" VALUES('2026-11-30 14:02:08.751722',NULL,NULL,13,NULL,'user','project','11111111-2222-4333-8444-555555555555',NULL,NULL,NULL,NULL,NULL,NULL,'building',NULL,NULL,'building','host1',NULL,NULL,NULL,NULL,'building',NULL,NULL,NULL,NULL,'host1',NULL,NULL,'c623f0ff-14d7-599a-8c4e-26af7e98f4af',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,0,NULL,NULL,NULL,NULL,0,NULL,0,NULL,0);
INSERT INTO "instances" VALUES('2026-11-30 14:02:09.128828',NULL,NULL,14,NULL,'user','project','11111111-2222-4333-8444-555555555555',NULL,NULL,NULL,NULL,NULL,NULL,'stopped',NULL,NULL,'no-spec','host1',NULL,NULL,NULL,NULL,'no-spec',NULL,NULL,NULL,NULL,'host1',NULL,NULL,'ca401e05-566f-5c38-800d-6e4ce162a4b8',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,0,NULL,NULL,NULL,NULL,0,NULL,0,NULL,0);
INSERT INTO "instances" VALUES('2026-11-30 14:02:09.195506',NULL,NULL,15,NULL,'user','project','11111111-2222-4333-8444-555555555555',NULL,NULL,NULL,NULL,NULL,NULL,'stopped',NULL,NULL,'no-mapping','host1',NULL,NULL,NULL,NULL,'no-mapping',NULL,NULL,NULL,NULL,'host1',NULL,NULL,'4ff3903d-2f2d-592c-8fef-6b70c7f00389',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,0,NULL,NULL,NULL,NULL,0,NULL,0,NULL,0);
INSERT INTO "instances" VALUES('2026-11-30 14:02:09.302087',NULL,NULL,16,NULL,'user','project','11111111-2222-4333-8444-555555555555',NULL,NULL,NULL,NULL,NULL,NULL,'building',NULL,NULL,'unmapped',NULL,NULL,NULL,NULL,NULL,'unmapped',NULL,NULL,NULL,NULL,NULL,NULL,NULL,'f53bc924-32e8-52b3-8192-3c235a9d6d22',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,0,NULL,NULL,NULL,NULL,0,NULL,0,NULL,0);
INSERT INTO "instances" VALUES('2026-11-30 14:02:09.423130',NULL,'2026-11-30 14:02:09.593107',17,NULL,'user','project','11111111-2222-4333-8444-555555555555',NULL,NULL,NULL,NULL,NULL,NULL,'stopped',NULL,NULL,'deleted','host1',NULL,NULL,NULL,NULL,'deleted',NULL,NULL,NULL,NULL,'host1',NULL,NULL,'985eaca8-42cc-529e-8a89-a512d22a49ae',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,0,NULL,NULL,NULL,NULL,17,NULL,0,NULL,0);
INSERT INTO "instances" VALUES('2026-11-30 14:02:09.715300',NULL,NULL,18,NULL,'user','project','11111111-2222-4333-8444-555555555555',NULL,NULL,NULL,NULL,NULL,NULL,'stopped',NULL,NULL,'grouped','host1',NULL,NULL,NULL,NULL,'grouped',NULL,NULL,NULL,NULL,'host1',NULL,NULL,'38584e8a-f33e-5c33-8853-1cd76f3f2dfa',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,0,NULL,NULL,NULL,NULL,0,NULL,0,NULL,0);
INSERT INTO "instances" VALUES('2026-11-30 14:02:09.953598',NULL,NULL,19,NULL,'user','project','11111111-2222-4333-8444-555555555555',NULL,NULL,NULL,NULL,NULL,NULL,'stopped',NULL,NULL,'spare','host1',NULL,NULL,NULL,NULL,'spare',NULL,NULL,NULL,NULL,'host1',NULL,NULL,'8dce0cc7-08b3-50da-969f-9d1a68be81f5',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,0,NULL,NULL,NULL,NULL,0,NULL,0,NULL,0);
INSERT INTO "instances" VALUES('2026-11-30 14:02:10.068390',NULL,NULL,20,NULL,'user','project','11111111-2222-4333-8444-555555555555',NULL,NULL,NULL,NULL,NULL,NULL,'stopped',NULL,NULL,'spare','host1',NULL,NULL,NULL,NULL,'spare',NULL,NULL,NULL,NULL,'host1',NULL,NULL,'3d9c9fcc-0f0e-5961-a9b4-c4d6b7a3097c',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,0,NULL,NULL,NULL,NULL,0,NULL,0,NULL,0);
INSERT INTO "instances" VALUES('2026-11-30 14:02:10.172898',NULL,NULL,21,NULL,'user','project','11111111-2222-4333-8444-555555555555',NULL,NULL,NULL,NULL,NULL,NULL,'stopped',NULL,NULL,'spare','host1',NULL,NULL,NULL,NULL,'spare',NULL,NULL,NULL,NULL,'host1',NULL,NULL,'7d6519ce-3544-503f-ae49-28b16658c57d',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,0,NULL,NULL,NULL,NULL,0,NULL,0,NULL,0);
INSERT INTO "instances" VALUES('2026-11-30 14:02:10.278751',NULL,NULL,22,NULL,'user','project','11111111-2222-4333-8444-555555555555',NULL,NULL,NULL,NULL,NULL,NULL,'stopped',NULL,NULL,'spare','host1',NULL,NULL,NULL,NULL,'spare',NULL,NULL,NULL,NULL,'host1',NULL,NULL,'358b8d26-3b9a-540f-9a57-834402342dde',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,0,NULL,NULL,NULL,NULL,0,NULL,0,NULL,0);
INSERT INTO "instances" VALUES('2026-11-30 14:02:10.429028',NULL,NULL,23,NULL,'user','project','11111111-2222-4333-8444-555555555555',NULL,NULL,NULL,NULL,NULL,NULL,'stopped',NULL,NULL,'spare','host1',NULL,NULL,NULL,NULL,'spare',NULL,NULL,NULL,NULL,'host1',NULL,NULL,'a92b1e9d-624b-53f3-b387-1698691d7900',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,0,NULL,NULL,NULL,NULL,0,NULL,0,NULL,0);
INSERT INTO "instances" VALUES('2026-11-30 14:02:10.545596',NULL,NULL,24,NULL,'user','project','11111111-2222-4333-8444-555555555555',NULL,NULL,NULL,NULL,NULL,NULL,'stopped',NULL,NULL,'spare','host1',NULL,NULL,NULL,NULL,'spare',NULL,NULL,NULL,NULL,'host1',NULL,NULL,'a804bc5a-cb1e-5401-b1a3-4098388087a3',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,0,NULL,NULL,NULL,NULL,0,NULL,0,NULL,0);
CREATE TABLE inventories (
	id INTEGER NOT NULL, 
	resource_provider_id INTEGER NOT NULL, 
	resource_class_id INTEGER NOT NULL, 
	total INTEGER NOT NULL, 
	reserved INTEGER NOT NULL, 
	min_unit INTEGER NOT NULL, 
	max_unit INTEGER NOT NULL, 
	step_size INTEGER NOT NULL, 
	allocation_ratio FLOAT NOT NULL, 
	PRIMARY KEY (id), 
	CONSTRAINT uniq_inventories0resource_provider_resource_class UNIQUE (resource_provider_id, resource_class_id)
);
CREATE TABLE key_pairs (
	created_at DATETIME, 
	updated_at DATETIME, 
	deleted_at DATETIME, 
	id INTEGER NOT NULL, 
	name VARCHAR(255) NOT NULL, 
	user_id VARCHAR(255), 
	fingerprint VARCHAR(255), 
	public_key TEXT, 
	deleted INTEGER, 
	type VARCHAR(4) DEFAULT 'ssh' NOT NULL, 
	PRIMARY KEY (id), 
	CONSTRAINT uniq_key_pairs0user_id0name0deleted UNIQUE (user_id, name, deleted)
);
CREATE TABLE migrate_version (
	repository_id VARCHAR(250) NOT NULL, 
	repository_path TEXT, 
	version INTEGER, 
	PRIMARY KEY (repository_id)
);
INSERT INTO "migrate_version" VALUES('nova','/tmp/novadb/old/train/lib/python3.7/site-packages/nova/db/sqlalchemy/migrate_repo',402);
CREATE TABLE migrations (
	created_at DATETIME, 
	updated_at DATETIME, 
	deleted_at DATETIME, 
	id INTEGER NOT NULL, 
	source_compute VARCHAR(255), 
	dest_compute VARCHAR(255), 
	dest_host VARCHAR(255), 
	status VARCHAR(255), 
	instance_uuid VARCHAR(36), 
	old_instance_type_id INTEGER, 
	new_instance_type_id INTEGER, 
	source_node VARCHAR(255), 
	dest_node VARCHAR(255), 
	deleted INTEGER, migration_type VARCHAR(14), hidden BOOLEAN, memory_total BIGINT, memory_processed BIGINT, memory_remaining BIGINT, disk_total BIGINT, disk_processed BIGINT, disk_remaining BIGINT, uuid VARCHAR(36), cross_cell_move BOOLEAN, user_id VARCHAR(255), project_id VARCHAR(255), 
	PRIMARY KEY (id), 
	CONSTRAINT fk_migrations_instance_uuid FOREIGN KEY(instance_uuid) REFERENCES instances (uuid)
);
CREATE TABLE networks (
	created_at DATETIME, 
	updated_at DATETIME, 
	deleted_at DATETIME, 
	id INTEGER NOT NULL, 
	injected BOOLEAN, 
	cidr VARCHAR(43), 
	netmask VARCHAR(39), 
	bridge VARCHAR(255), 
	gateway VARCHAR(39), 
	broadcast VARCHAR(39), 
	dns1 VARCHAR(39), 
	vlan INTEGER, 
	vpn_public_address VARCHAR(39), 
	vpn_public_port INTEGER, 
	vpn_private_address VARCHAR(39), 
	dhcp_start VARCHAR(39), 
	project_id VARCHAR(255), 
	host VARCHAR(255), 
	cidr_v6 VARCHAR(43), 
	gateway_v6 VARCHAR(39), 
	label VARCHAR(255), 
	netmask_v6 VARCHAR(39), 
	bridge_interface VARCHAR(255), 
	multi_host BOOLEAN, 
	dns2 VARCHAR(39), 
	uuid VARCHAR(36), 
	priority INTEGER, 
	rxtx_base INTEGER, 
	deleted INTEGER, mtu INTEGER, dhcp_server VARCHAR(39), enable_dhcp BOOLEAN, share_address BOOLEAN, 
	PRIMARY KEY (id), 
	CHECK (injected IN (0, 1)), 
	CHECK (multi_host IN (0, 1)), 
	CONSTRAINT uniq_networks0vlan0deleted UNIQUE (vlan, deleted)
);
CREATE TABLE pci_devices (
	created_at DATETIME, 
	updated_at DATETIME, 
	deleted_at DATETIME, 
	deleted INTEGER, 
	id INTEGER NOT NULL, 
	compute_node_id INTEGER NOT NULL, 
	address VARCHAR(12) NOT NULL, 
	vendor_id VARCHAR(4) NOT NULL, 
	product_id VARCHAR(4) NOT NULL, 
	dev_type VARCHAR(8) NOT NULL, 
	dev_id VARCHAR(255), 
	label VARCHAR(255) NOT NULL, 
	status VARCHAR(36) NOT NULL, 
	extra_info TEXT, 
	instance_uuid VARCHAR(36), 
	request_id VARCHAR(36), 
	numa_node INTEGER, parent_addr VARCHAR(12), uuid VARCHAR(36), 
	PRIMARY KEY (id), 
	FOREIGN KEY(compute_node_id) REFERENCES compute_nodes (id), 
	CONSTRAINT uniq_pci_devices0compute_node_id0address0deleted UNIQUE (compute_node_id, address, deleted), 
	CONSTRAINT uniq_pci_devices0compute_node_id0address0deleted UNIQUE (compute_node_id, address, deleted)
);
CREATE TABLE project_user_quotas (
	id INTEGER NOT NULL, 
	created_at DATETIME, 
	updated_at DATETIME, 
	deleted_at DATETIME, 
	deleted INTEGER, 
	user_id VARCHAR(255) NOT NULL, 
	project_id VARCHAR(255) NOT NULL, 
	resource VARCHAR(255) NOT NULL, 
	hard_limit INTEGER, 
	PRIMARY KEY (id), 
	CONSTRAINT uniq_project_user_quotas0user_id0project_id0resource0deleted UNIQUE (user_id, project_id, resource, deleted)
);
CREATE TABLE provider_fw_rules (
	created_at DATETIME, 
	updated_at DATETIME, 
	deleted_at DATETIME, 
	id INTEGER NOT NULL, 
	protocol VARCHAR(5), 
	from_port INTEGER, 
	to_port INTEGER, 
	cidr VARCHAR(43), 
	deleted INTEGER, 
	PRIMARY KEY (id)
);
CREATE TABLE quota_classes (
	created_at DATETIME, 
	updated_at DATETIME, 
	deleted_at DATETIME, 
	id INTEGER NOT NULL, 
	class_name VARCHAR(255), 
	resource VARCHAR(255), 
	hard_limit INTEGER, 
	deleted INTEGER, 
	PRIMARY KEY (id)
);
CREATE TABLE quota_usages (
	created_at DATETIME, 
	updated_at DATETIME, 
	deleted_at DATETIME, 
	id INTEGER NOT NULL, 
	project_id VARCHAR(255), 
	resource VARCHAR(255) NOT NULL, 
	in_use INTEGER NOT NULL, 
	reserved INTEGER NOT NULL, 
	until_refresh INTEGER, 
	deleted INTEGER, 
	user_id VARCHAR(255), 
	PRIMARY KEY (id)
);
CREATE TABLE quotas (
	id INTEGER NOT NULL, 
	created_at DATETIME, 
	updated_at DATETIME, 
	deleted_at DATETIME, 
	project_id VARCHAR(255), 
	resource VARCHAR(255) NOT NULL, 
	hard_limit INTEGER, 
	deleted INTEGER, 
	PRIMARY KEY (id), 
	CONSTRAINT uniq_quotas0project_id0resource0deleted UNIQUE (project_id, resource, deleted)
);
CREATE TABLE reservations (
	created_at DATETIME, 
	updated_at DATETIME, 
	deleted_at DATETIME, 
	id INTEGER NOT NULL, 
	uuid VARCHAR(36) NOT NULL, 
	usage_id INTEGER NOT NULL, 
	project_id VARCHAR(255), 
	resource VARCHAR(255), 
	delta INTEGER NOT NULL, 
	expire DATETIME, 
	deleted INTEGER, 
	user_id VARCHAR(255), 
	PRIMARY KEY (id), 
	CONSTRAINT reservations_ibfk_1 FOREIGN KEY(usage_id) REFERENCES quota_usages (id)
);
CREATE TABLE resource_provider_aggregates (
	resource_provider_id INTEGER NOT NULL, 
	aggregate_id INTEGER NOT NULL, 
	PRIMARY KEY (resource_provider_id, aggregate_id)
);
CREATE TABLE resource_providers (
	id INTEGER NOT NULL, 
	uuid VARCHAR(36) NOT NULL, 
	name VARCHAR(200), generation INTEGER, can_host INTEGER, 
	PRIMARY KEY (id), 
	CONSTRAINT uniq_resource_providers0uuid UNIQUE (uuid), 
	CONSTRAINT uniq_resource_providers0name UNIQUE (name)
);
CREATE TABLE s3_images (
	created_at DATETIME, 
	updated_at DATETIME, 
	deleted_at DATETIME, 
	id INTEGER NOT NULL, 
	uuid VARCHAR(36) NOT NULL, 
	deleted INTEGER, 
	PRIMARY KEY (id)
);
INSERT INTO "s3_images" VALUES('2026-11-30 14:02:06.933615',NULL,NULL,1,'11111111-2222-4333-8444-555555555555',0);
CREATE TABLE security_group_default_rules (
	created_at DATETIME, 
	updated_at DATETIME, 
	deleted_at DATETIME, 
	deleted INTEGER, 
	id INTEGER NOT NULL, 
	protocol VARCHAR(5), 
	from_port INTEGER, 
	to_port INTEGER, 
	cidr VARCHAR(43), 
	PRIMARY KEY (id)
);
CREATE TABLE security_group_instance_association (
	created_at DATETIME, 
	updated_at DATETIME, 
	deleted_at DATETIME, 
	id INTEGER NOT NULL, 
	security_group_id INTEGER, 
	instance_uuid VARCHAR(36), 
	deleted INTEGER, 
	PRIMARY KEY (id), 
	CONSTRAINT security_group_instance_association_instance_uuid_fkey FOREIGN KEY(instance_uuid) REFERENCES instances (uuid), 
	CONSTRAINT security_group_instance_association_ibfk_1 FOREIGN KEY(security_group_id) REFERENCES security_groups (id)
);
CREATE TABLE security_group_rules (
	created_at DATETIME, 
	updated_at DATETIME, 
	deleted_at DATETIME, 
	id INTEGER NOT NULL, 
	parent_group_id INTEGER, 
	protocol VARCHAR(255), 
	from_port INTEGER, 
	to_port INTEGER, 
	cidr VARCHAR(43), 
	group_id INTEGER, 
	deleted INTEGER, 
	PRIMARY KEY (id), 
	FOREIGN KEY(parent_group_id) REFERENCES security_groups (id), 
	FOREIGN KEY(group_id) REFERENCES security_groups (id)
);
CREATE TABLE security_groups (
	created_at DATETIME, 
	updated_at DATETIME, 
	deleted_at DATETIME, 
	id INTEGER NOT NULL, 
	name VARCHAR(255), 
	description VARCHAR(255), 
	user_id VARCHAR(255), 
	project_id VARCHAR(255), 
	deleted INTEGER, 
	PRIMARY KEY (id), 
	CONSTRAINT uniq_security_groups0project_id0name0deleted UNIQUE (project_id, name, deleted)
);
INSERT INTO "security_groups" VALUES('2026-11-30 14:02:06.781625',NULL,NULL,1,'default','default',NULL,NULL,0);
CREATE TABLE services (
	created_at DATETIME, 
	updated_at DATETIME, 
	deleted_at DATETIME, 
	id INTEGER NOT NULL, 
	host VARCHAR(255), 
	binary VARCHAR(255), 
	topic VARCHAR(255), 
	report_count INTEGER NOT NULL, 
	disabled BOOLEAN, 
	deleted INTEGER, 
	disabled_reason VARCHAR(255), last_seen_up DATETIME, forced_down BOOLEAN, version INTEGER, uuid VARCHAR(36), 
	PRIMARY KEY (id), 
	CHECK (disabled IN (0, 1)), 
	CONSTRAINT uniq_services0host0topic0deleted UNIQUE (host, topic, deleted), 
	CONSTRAINT uniq_services0host0binary0deleted UNIQUE (host, binary, deleted)
);
INSERT INTO "services" VALUES('2026-11-30 14:02:10.644245',NULL,NULL,1,'host1','nova-compute','compute',0,0,0,NULL,NULL,0,40,'2ae264fa-0979-4a05-acec-86e315a6dd9c');
CREATE TABLE snapshot_id_mappings (
	created_at DATETIME, 
	updated_at DATETIME, 
	deleted_at DATETIME, 
	id INTEGER NOT NULL, 
	uuid VARCHAR(36) NOT NULL, 
	deleted INTEGER, 
	PRIMARY KEY (id)
);
CREATE TABLE snapshots (
	created_at DATETIME, 
	updated_at DATETIME, 
	deleted_at DATETIME, 
	id VARCHAR(36) NOT NULL, 
	volume_id VARCHAR(36) NOT NULL, 
	user_id VARCHAR(255), 
	project_id VARCHAR(255), 
	status VARCHAR(255), 
	progress VARCHAR(255), 
	volume_size INTEGER, 
	scheduled_at DATETIME, 
	display_name VARCHAR(255), 
	display_description VARCHAR(255), 
	deleted VARCHAR(36), 
	PRIMARY KEY (id)
);
CREATE TABLE tags (
	resource_id VARCHAR(36) NOT NULL, 
	tag VARCHAR(80) NOT NULL, 
	PRIMARY KEY (resource_id, tag)
);
CREATE TABLE task_log (
	created_at DATETIME, 
	updated_at DATETIME, 
	deleted_at DATETIME, 
	id INTEGER NOT NULL, 
	task_name VARCHAR(255) NOT NULL, 
	state VARCHAR(255) NOT NULL, 
	host VARCHAR(255) NOT NULL, 
	period_beginning DATETIME NOT NULL, 
	period_ending DATETIME NOT NULL, 
	message VARCHAR(255) NOT NULL, 
	task_items INTEGER, 
	errors INTEGER, 
	deleted INTEGER, 
	PRIMARY KEY (id), 
	CONSTRAINT uniq_task_log0task_name0host0period_beginning0period_ending UNIQUE (task_name, host, period_beginning, period_ending)
);
CREATE TABLE virtual_interfaces (
	created_at DATETIME, 
	updated_at DATETIME, 
	deleted_at DATETIME, 
	id INTEGER NOT NULL, 
	address VARCHAR(255), 
	network_id INTEGER, 
	uuid VARCHAR(36), 
	instance_uuid VARCHAR(36), 
	deleted INTEGER, tag VARCHAR(255), 
	PRIMARY KEY (id), 
	CONSTRAINT uniq_virtual_interfaces0address0deleted UNIQUE (address, deleted), 
	CONSTRAINT virtual_interfaces_instance_uuid_fkey FOREIGN KEY(instance_uuid) REFERENCES instances (uuid), 
	CONSTRAINT uniq_virtual_interfaces0address0deleted UNIQUE (address, deleted)
);
CREATE TABLE volume_id_mappings (
	created_at DATETIME, 
	updated_at DATETIME, 
	deleted_at DATETIME, 
	id INTEGER NOT NULL, 
	uuid VARCHAR(36) NOT NULL, 
	deleted INTEGER, 
	PRIMARY KEY (id)
);
CREATE TABLE volume_usage_cache (
	created_at DATETIME, 
	updated_at DATETIME, 
	deleted_at DATETIME, 
	id INTEGER NOT NULL, 
	volume_id VARCHAR(36) NOT NULL, 
	tot_last_refreshed DATETIME, 
	tot_reads BIGINT, 
	tot_read_bytes BIGINT, 
	tot_writes BIGINT, 
	tot_write_bytes BIGINT, 
	curr_last_refreshed DATETIME, 
	curr_reads BIGINT, 
	curr_read_bytes BIGINT, 
	curr_writes BIGINT, 
	curr_write_bytes BIGINT, 
	deleted INTEGER, 
	instance_uuid VARCHAR(36), 
	project_id VARCHAR(36), 
	user_id VARCHAR(64), 
	availability_zone VARCHAR(255), 
	PRIMARY KEY (id)
);
CREATE INDEX aggregate_metadata_key_idx ON aggregate_metadata ("key");
CREATE INDEX agent_builds_hypervisor_os_arch_idx ON agent_builds (hypervisor, os, architecture);
CREATE INDEX bw_usage_cache_uuid_start_period_idx ON bw_usage_cache (uuid, start_period);
CREATE INDEX certificates_project_id_deleted_idx ON certificates (project_id, deleted);
CREATE INDEX certificates_user_id_deleted_idx ON certificates (user_id, deleted);
CREATE INDEX consoles_instance_uuid_idx ON consoles (instance_uuid);
CREATE INDEX dns_domains_domain_deleted_idx ON dns_domains (domain, deleted);
CREATE INDEX floating_ips_host_idx ON floating_ips (host);
CREATE INDEX floating_ips_project_id_idx ON floating_ips (project_id);
CREATE INDEX floating_ips_pool_deleted_fixed_ip_id_project_id_idx ON floating_ips (pool, deleted, fixed_ip_id, project_id);
CREATE INDEX instance_group_member_instance_idx ON instance_group_member (instance_id);
CREATE INDEX instance_group_policy_policy_idx ON instance_group_policy (policy);
CREATE INDEX ix_instance_id_mappings_uuid ON instance_id_mappings (uuid);
CREATE INDEX instance_type_extra_specs_instance_type_id_key_idx ON instance_type_extra_specs (instance_type_id, "key");
CREATE INDEX networks_host_idx ON networks (host);
CREATE INDEX networks_cidr_v6_idx ON networks (cidr_v6);
CREATE INDEX networks_bridge_deleted_idx ON networks (bridge, deleted);
CREATE INDEX networks_project_id_deleted_idx ON networks (project_id, deleted);
CREATE INDEX networks_uuid_project_id_deleted_idx ON networks (uuid, project_id, deleted);
CREATE INDEX networks_vlan_deleted_idx ON networks (vlan, deleted);
CREATE INDEX project_user_quotas_project_id_deleted_idx ON project_user_quotas (project_id, deleted);
CREATE INDEX project_user_quotas_user_id_deleted_idx ON project_user_quotas (user_id, deleted);
CREATE INDEX ix_task_log_period_beginning ON task_log (period_beginning);
CREATE INDEX ix_task_log_host ON task_log (host);
CREATE INDEX ix_task_log_period_ending ON task_log (period_ending);
CREATE INDEX ix_quota_classes_class_name ON quota_classes (class_name);
CREATE INDEX ix_quota_usages_project_id ON quota_usages (project_id);
CREATE INDEX ix_quota_usages_user_id_deleted ON quota_usages (user_id, deleted);
CREATE INDEX instance_extra_idx ON instance_extra (instance_uuid);
CREATE INDEX tags_tag_idx ON tags (tag);
CREATE INDEX dns_domains_project_id_idx ON dns_domains (project_id);
CREATE INDEX fixed_ip_id ON floating_ips (fixed_ip_id);
CREATE INDEX instance_metadata_instance_uuid_idx ON instance_metadata (instance_uuid);
CREATE INDEX reservations_deleted_expire_idx ON reservations (deleted, expire);
CREATE INDEX ix_reservations_user_id_deleted ON reservations (user_id, deleted);
CREATE INDEX reservations_uuid_idx ON reservations (uuid);
CREATE INDEX ix_reservations_project_id ON reservations (project_id);
CREATE INDEX security_group_instance_association_instance_uuid_idx ON security_group_instance_association (instance_uuid);
CREATE INDEX request_id_idx ON instance_actions (request_id);
CREATE INDEX instance_uuid_idx ON instance_actions (instance_uuid);
CREATE INDEX instance_faults_host_idx ON instance_faults (host);
CREATE INDEX instance_faults_instance_uuid_deleted_created_at_idx ON instance_faults (instance_uuid, deleted, created_at);
CREATE INDEX migrations_by_host_nodes_and_status_idx ON migrations (deleted, source_compute, dest_compute, source_node, dest_node, status);
CREATE INDEX migrations_instance_uuid_and_status_idx ON migrations (deleted, instance_uuid, status);
CREATE INDEX fixed_ips_deleted_allocated_idx ON fixed_ips (address, deleted, allocated);
CREATE INDEX network_id ON fixed_ips (network_id);
CREATE INDEX fixed_ips_network_id_host_deleted_idx ON fixed_ips (network_id, host, deleted);
CREATE INDEX fixed_ips_virtual_interface_id_fkey ON fixed_ips (virtual_interface_id);
CREATE INDEX fixed_ips_host_idx ON fixed_ips (host);
CREATE INDEX fixed_ips_address_reserved_network_id_deleted_idx ON fixed_ips (address, reserved, network_id, deleted);
CREATE INDEX address ON fixed_ips (address);
CREATE INDEX fixed_ips_instance_uuid_fkey ON fixed_ips (instance_uuid);
CREATE INDEX ix_pci_devices_instance_uuid_deleted ON pci_devices (instance_uuid, deleted);
CREATE INDEX ix_pci_devices_compute_node_id_deleted ON pci_devices (compute_node_id, deleted);
CREATE INDEX virtual_interfaces_instance_uuid_fkey ON virtual_interfaces (instance_uuid);
CREATE INDEX virtual_interfaces_network_id_idx ON virtual_interfaces (network_id);
CREATE INDEX fixed_ips_deleted_allocated_updated_at_idx ON fixed_ips (deleted, allocated, updated_at);
CREATE INDEX virtual_interfaces_uuid_idx ON virtual_interfaces (uuid);
CREATE INDEX instance_uuid ON instance_system_metadata (instance_uuid);
CREATE INDEX ix_pci_devices_compute_node_id_parent_addr_deleted ON pci_devices (compute_node_id, parent_addr, deleted);
CREATE INDEX allocations_consumer_id_idx ON allocations (consumer_id);
CREATE INDEX allocations_resource_class_id_idx ON allocations (resource_class_id);
CREATE INDEX aggregate_uuid_idx ON aggregates (uuid);
CREATE INDEX resource_providers_uuid_idx ON resource_providers (uuid);
CREATE INDEX resource_providers_name_idx ON resource_providers (name);
CREATE INDEX resource_provider_aggregates_aggregate_id_idx ON resource_provider_aggregates (aggregate_id);
CREATE INDEX allocations_resource_provider_class_used_idx ON allocations (resource_provider_id, resource_class_id, used);
CREATE INDEX inventories_resource_class_id_idx ON inventories (resource_class_id);
CREATE INDEX inventories_resource_provider_id_idx ON inventories (resource_provider_id);
CREATE INDEX inventories_resource_provider_resource_class_idx ON inventories (resource_provider_id, resource_class_id);
CREATE INDEX console_auth_tokens_instance_uuid_idx ON console_auth_tokens (instance_uuid);
CREATE INDEX console_auth_tokens_host_expires_idx ON console_auth_tokens (host, expires);
CREATE INDEX console_auth_tokens_token_hash_idx ON console_auth_tokens (token_hash);
CREATE INDEX instances_project_id_deleted_idx ON instances (project_id, deleted);
CREATE INDEX instances_host_node_deleted_idx ON instances (host, node, deleted);
CREATE INDEX instances_uuid_deleted_idx ON instances (uuid, deleted);
CREATE INDEX instances_reservation_id_idx ON instances (reservation_id);
CREATE INDEX instances_terminated_at_launched_at_idx ON instances (terminated_at, launched_at);
CREATE UNIQUE INDEX uuid ON instances (uuid);
CREATE INDEX instances_task_state_updated_at_idx ON instances (task_state, updated_at);
CREATE INDEX instances_deleted_created_at_idx ON instances (deleted, created_at);
CREATE INDEX instances_host_deleted_cleaned_idx ON instances (host, deleted, cleaned);
CREATE INDEX instances_project_id_idx ON instances (project_id);
CREATE INDEX instances_updated_at_project_id_idx ON instances (updated_at, project_id);
CREATE UNIQUE INDEX services_uuid_idx ON services (uuid);
CREATE UNIQUE INDEX compute_nodes_uuid_idx ON compute_nodes (uuid);
CREATE UNIQUE INDEX migrations_uuid ON migrations (uuid);
CREATE INDEX block_device_mapping_instance_uuid_device_name_idx ON block_device_mapping (instance_uuid, device_name);
CREATE INDEX block_device_mapping_instance_uuid_idx ON block_device_mapping (instance_uuid);
CREATE INDEX volume_id ON block_device_mapping (volume_id);
CREATE INDEX snapshot_id ON block_device_mapping (snapshot_id);
CREATE INDEX block_device_mapping_instance_uuid_volume_id_idx ON block_device_mapping (instance_uuid, volume_id);
CREATE INDEX console_auth_tokens_token_hash_instance_uuid_idx ON console_auth_tokens (token_hash, instance_uuid);
CREATE INDEX migrations_updated_at_idx ON migrations (updated_at);
CREATE INDEX instance_actions_instance_uuid_updated_at_idx ON instance_actions (instance_uuid, updated_at);
CREATE INDEX aggregate_metadata_value_idx ON aggregate_metadata (value);
COMMIT;
