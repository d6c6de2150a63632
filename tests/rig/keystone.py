"""The real keystone over HTTP (fernet tokens, SQLite), and a Placement that trusts it.

with Keystone() as keystone, Placement(keystone_authtoken=keystone.authtoken) as placement:
    keystone.register("placement", placement.url)
    user = keystone.create_user("capd", "secret")
    capd --once with keystone.password_snippet("capd", "secret")
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Optional

import requests

from tests.rig.wsgi import Service

REGION = "RegionOne"
ADMIN_PASSWORD = "keystone-admin"

_CONF = """\
[DEFAULT]
use_stderr = true
debug = {debug}
[database]
connection = sqlite:///{root}/keystone.db
[token]
provider = fernet
expiration = {expiration}
allow_expired_window = 0
[fernet_tokens]
key_repository = {root}/fernet-keys
[credential]
key_repository = {root}/credential-keys
[fernet_receipts]
key_repository = {root}/fernet-keys
[security_compliance]
[cache]
enabled = true
backend = dogpile.cache.memory
{extra}
"""


@dataclass(frozen=True)
class ApplicationCredential:
    """An application credential and its secret."""

    id: str
    secret: str


class Keystone(Service):
    """One keystone. `expiration`: life of a token in seconds."""

    peer = "keystone"
    application = "keystone.wsgi.api:application"

    def __init__(
        self, *, expiration: int = 3600, extra: str = "", debug: bool = False, threads: int = 8
    ) -> None:
        super().__init__(threads=threads)
        self.expiration = expiration
        self.extra = extra
        self.debug = debug
        self._ids: dict[str, str] = {}

    def environment(self) -> Mapping[str, str]:
        return {"OS_KEYSTONE_CONFIG_FILES": str(self.root / "keystone.conf")}

    def configure(self) -> None:
        (self.root / "keystone.conf").write_text(
            _CONF.format(
                root=self.root, expiration=self.expiration, extra=self.extra, debug=self.debug
            )
        )
        for name in ("fernet-keys", "credential-keys"):
            (self.root / name).mkdir(mode=0o700)
        self.manage("db_sync")
        owner = ("--keystone-user", "root", "--keystone-group", "root")
        self.manage("fernet_setup", *owner)
        self.manage("credential_setup", *owner)
        url = f"{self.url}/v3"
        self.manage(
            "bootstrap",
            *("--bootstrap-password", ADMIN_PASSWORD, "--bootstrap-region-id", REGION),
            *("--bootstrap-admin-url", url, "--bootstrap-public-url", url),
            *("--bootstrap-internal-url", url),
        )

    def manage(self, *arguments: str) -> str:
        """keystone-manage."""
        program = str(self.python.with_name("keystone-manage"))
        return self.execute(program, "--config-file", str(self.root / "keystone.conf"), *arguments)

    # -- API, as its administrator

    def token(
        self, user: str = "admin", password: str = ADMIN_PASSWORD, project: str = "admin"
    ) -> str:
        """A new token of a user on a project."""
        domain = {"id": "default"}
        identity = {
            "methods": ["password"],
            "password": {"user": {"name": user, "domain": domain, "password": password}},
        }
        scope = {"project": {"name": project, "domain": domain}}
        answer = requests.post(
            f"{self.url}/v3/auth/tokens",
            json={"auth": {"identity": identity, "scope": scope}},
            timeout=60,
        )
        assert answer.status_code == 201, answer.text
        return answer.headers["X-Subject-Token"]

    def request(self, method: str, path: str, body: Any = None, token: str = "") -> Any:
        """One request to /v3 with an administrator's token (or `token`); the JSON answer."""
        answer = requests.request(
            method,
            f"{self.url}/v3{path}",
            json=body,
            timeout=60,
            headers={"X-Auth-Token": token or self.token()},
        )
        assert answer.ok, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None

    def _id(self, kind: str, name: str) -> str:
        found = self.request("GET", f"/{kind}?name={name}")[kind]
        assert found, f"keystone has no {name} among its {kind}"
        return str(found[0]["id"])

    def create_user(
        self,
        name: str,
        password: str,
        roles: Iterable[str] = ("service",),
        project: str = "service",
    ) -> str:
        """A user with roles on a project (made if need be); the user's id."""
        if not self.request("GET", f"/projects?name={project}")["projects"]:
            self.request("POST", "/projects", {"project": {"name": project}})
        project_id = self._id("projects", project)
        user = {"name": name, "password": password, "default_project_id": project_id}
        user_id = str(self.request("POST", "/users", {"user": user})["user"]["id"])
        for role in roles:
            role_id = self._id("roles", role)
            self.request("PUT", f"/projects/{project_id}/users/{user_id}/roles/{role_id}")
        return user_id

    def set_password(self, name: str, password: str) -> None:
        """Give a user another password, as the administrator."""
        user_id = self._id("users", name)
        self.request("PATCH", f"/users/{user_id}", {"user": {"password": password}})

    def revoke(self, token: str) -> None:
        """Make a token invalid."""
        answer = requests.delete(
            f"{self.url}/v3/auth/tokens",
            timeout=60,
            headers={"X-Auth-Token": self.token(), "X-Subject-Token": token},
        )
        assert answer.status_code == 204, answer.text

    def revoke_all(self, user: str) -> None:
        """Make every token of a user invalid: disable the user, and enable again."""
        user_id = self._id("users", user)
        for enabled in (False, True):
            self.request("PATCH", f"/users/{user_id}", {"user": {"enabled": enabled}})

    def application_credential(
        self,
        name: str,
        user: str,
        password: str,
        project: str = "service",
        secret: Optional[str] = None,
    ) -> ApplicationCredential:
        """A new application credential of a user."""
        token = self.token(user, password, project)
        user_id = self._id("users", user)
        wanted = {"name": name, **({"secret": secret} if secret else {})}
        made = self.request(
            "POST",
            f"/users/{user_id}/application_credentials",
            {"application_credential": wanted},
            token,
        )["application_credential"]
        return ApplicationCredential(made["id"], made["secret"])

    def delete_application_credential(self, user: str, password: str, id: str) -> None:
        """Remove an application credential, as its user."""
        token = self.token(user, password, "service")
        user_id = self._id("users", user)
        self.request("DELETE", f"/users/{user_id}/application_credentials/{id}", token=token)

    def register(
        self,
        kind: str,
        url: str,
        region: str = REGION,
        interfaces: Iterable[str] = ("public", "internal", "admin"),
    ) -> None:
        """Put a service into the catalog."""
        found = self.request("GET", f"/services?type={kind}")["services"]
        if region != REGION and not _has(self.request("GET", "/regions")["regions"], region):
            self.request("POST", "/regions", {"region": {"id": region}})
        service = {"type": kind, "name": kind}
        service_id = (
            found[0]["id"]
            if found
            else self.request("POST", "/services", {"service": service})["service"]["id"]
        )
        for interface in interfaces:
            endpoint = {
                "service_id": service_id,
                "interface": interface,
                "region_id": region,
                "url": url,
            }
            self.request("POST", "/endpoints", {"endpoint": endpoint})

    def unregister(self, kind: str) -> None:
        """Take a service out of the catalog."""
        for service in self.request("GET", f"/services?type={kind}")["services"]:
            self.request("DELETE", f"/services/{service['id']}")

    # -- for configuration files

    @property
    def authtoken(self) -> str:
        """Lines of a service's `[keystone_authtoken]`."""
        return (
            f"{self._credentials('admin', ADMIN_PASSWORD, 'admin')}"
            f"www_authenticate_uri = {self.url}\nservice_token_roles_required = true\n"
            "token_cache_time = -1\n"
        )

    def _credentials(self, user: str, password: str, project: str) -> str:
        return (
            f"auth_type = password\nauth_url = {self.url}/v3\nusername = {user}\n"
            f"password = {password}\nuser_domain_name = Default\n"
            f"project_name = {project}\nproject_domain_name = Default\n"
        )

    def password_snippet(self, user: str, password: str, project: str = "service") -> str:
        """`[placement]` for a capd.conf, as in a usual nova.conf."""
        return f"[placement]\n{self._credentials(user, password, project)}region_name = {REGION}\n"

    def application_credential_snippet(self, credential: ApplicationCredential) -> str:
        """`[placement]` for a capd.conf with an application credential."""
        return (
            f"[placement]\nauth_type = v3applicationcredential\nauth_url = {self.url}/v3\n"
            f"application_credential_id = {credential.id}\n"
            f"application_credential_secret = {credential.secret}\nregion_name = {REGION}\n"
        )


def _has(rows: Iterable[Mapping[str, Any]], id: str) -> bool:
    return any(row["id"] == id for row in rows)
