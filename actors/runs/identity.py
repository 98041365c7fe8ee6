"""Which deployment this is: a secret in the environment, and its sentinel in the database.

A request between router and objects carries the secret; one that does not, or a deployment whose
database is another one's, is answered 503 before anything is looked at (spec/run-claims.md 3.2).
"""

import hashlib
import hmac
from typing import Final

from ..errors import DatabaseFailed
from ..ports import Database
from ..worker import WebRequest
from .causes import is_missing_table
from .run_errors import DeploymentIdentityError

__all__ = ["IDENTITY_HEADER", "DeploymentIdentity"]

IDENTITY_HEADER: Final = "x-flowsafe-deployment-identity"

TABLE: Final = "flowsafe_deployment"
CREATE: Final = f"""CREATE TABLE IF NOT EXISTS {TABLE} (
    id TEXT PRIMARY KEY CHECK (id = 'deployment'),
    sentinel TEXT NOT NULL
)"""
INSERT: Final = f"INSERT OR IGNORE INTO {TABLE} (id, sentinel) VALUES ('deployment', ?)"
SELECT: Final = f"SELECT sentinel FROM {TABLE} WHERE id = 'deployment'"


class DeploymentIdentity:
    """The identity as one actor knows it. That the database is ours is remembered once it is so."""

    def __init__(self, database: Database, secret: str) -> None:
        """Compare with *secret*, and with what *database* says."""
        self._database = database
        self._secret = secret
        self._is_ours = False

    async def provision(self) -> None:
        """Mark the database as this deployment's; one that is marked stays as it is.

        Raises:
            DeploymentIdentityError: it could not be marked, or nobody can tell; or it is another's.
        """
        try:
            await self._database.batch([(CREATE, ()), (INSERT, (sentinel(self._secret),))])
        except DatabaseFailed as error:
            raise DeploymentIdentityError("the deployment cannot be provisioned") from error
        await self.check_database()

    async def check_database(self) -> None:
        """Refuse to work on a database that is not this deployment's.

        Raises:
            DeploymentIdentityError: it is not, or nobody can tell.
        """
        if self._is_ours:
            return
        try:
            found = await self._database.execute(SELECT)
        except DatabaseFailed as error:
            if is_missing_table(error, TABLE):
                raise DeploymentIdentityError("the deployment is not provisioned") from None
            raise DeploymentIdentityError("the deployment cannot be identified") from error
        if not found.rows:
            raise DeploymentIdentityError("the deployment is not provisioned")
        if not same(str(found.rows[0][0]), sentinel(self._secret)):
            raise DeploymentIdentityError("the database is another deployment's")
        self._is_ours = True

    def check_request(self, request: WebRequest) -> None:
        """Refuse a request that does not come from inside of this deployment.

        Raises:
            DeploymentIdentityError: it does not.
        """
        if not same(request.headers.get(IDENTITY_HEADER, ""), self._secret):
            raise DeploymentIdentityError("the request is not from this deployment")


def sentinel(secret: str) -> str:
    """Return what the database keeps of a secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


def same(given: str, known: str) -> bool:
    """Whether two secrets are equal, in a time that tells nothing."""
    return hmac.compare_digest(given.encode(), known.encode())
