"""Which deployment this is: the secret in the environment, its sentinel in the database."""

import pytest

from durasim.actors import WebRequest
from durasim.actors.runs.identity import IDENTITY_HEADER, DeploymentIdentity
from durasim.actors.runs.run_errors import DeploymentIdentityError

from .local import LOCKED, LocalDatabase


async def test_a_database_is_known_once_it_was_provisioned(database: LocalDatabase) -> None:
    """Provisioning again changes nothing; what was found once is not asked for again."""
    identity = DeploymentIdentity(database, "ours")
    with pytest.raises(DeploymentIdentityError, match="not provisioned"):
        await identity.check_database()
    assert database.tables() == []
    await identity.provision()
    await identity.provision()
    await identity.check_database()
    database.asked.clear()
    await identity.check_database()
    assert database.asked == []
    assert "ours" not in str(database.dump())


async def test_a_database_of_another_deployment_is_refused(database: LocalDatabase) -> None:
    """Also to be provisioned: it stays theirs."""
    await DeploymentIdentity(database, "theirs").provision()
    identity = DeploymentIdentity(database, "ours")
    for asked in (identity.provision(), identity.check_database()):
        with pytest.raises(DeploymentIdentityError, match="another deployment"):
            await asked
    database.make("DELETE FROM flowsafe_deployment")
    with pytest.raises(DeploymentIdentityError, match="not provisioned"):
        await identity.check_database()


async def test_a_database_that_does_not_answer_is_not_ours(database: LocalDatabase) -> None:
    """Nobody can tell, so nothing is served."""
    database.failing = lambda _label: LOCKED
    identity = DeploymentIdentity(database, "ours")
    for asked in (identity.provision(), identity.check_database()):
        with pytest.raises(DeploymentIdentityError):
            await asked


def test_a_request_from_inside_carries_the_secret(database: LocalDatabase) -> None:
    """Nothing else does."""
    identity = DeploymentIdentity(database, "ours")
    identity.check_request(WebRequest("GET", "/", headers={IDENTITY_HEADER: "ours"}))
    for headers in ({}, {IDENTITY_HEADER: ""}, {IDENTITY_HEADER: "our"}):
        with pytest.raises(DeploymentIdentityError):
            identity.check_request(WebRequest("GET", "/", headers=headers))
