"""The rules of the key-value back end, which durasim itself does not have."""

from typing import Any

from durasim.sim.conform.stage import observe


def told(*ops: dict[str, Any]) -> list[Any]:
    """The outcomes that one request records on the key-value back end."""
    program: dict[str, Any] = {
        "id": "test", "objects": {"a": {}}, "main": [{"op": "call", "to": "a", "do": list(ops)}],
    }  # fmt: skip
    observed, fault = observe(program, "cache")
    assert fault is None
    return [event.get("ok", event.get("err")) for event in observed["trace"]]


def put(key: str, value: Any, **more: Any) -> dict[str, Any]:
    """A put."""
    return {"op": "put", "key": key, "value": value, **more}


def transaction(*ops: dict[str, Any]) -> dict[str, Any]:
    """A transaction whose failure is caught."""
    return {"op": "transaction", "do": list(ops), "catch": True}


LIST = {"op": "list", "ev": "list"}
ROLL = {"op": "throw", "value": "roll"}
ON = {"on": "txn"}


def test_what_bypasses_a_transaction_stays() -> None:
    """Only operations on the transaction's object belong to it (TX-3)."""
    outcomes = told(transaction(put("a", 1), put("b", 2, **ON), ROLL), LIST)

    assert outcomes == [{"nonError": "roll"}, {"$": "map", "v": [["a", 1]]}]


def test_a_transaction_sees_and_keeps_its_own_writes() -> None:
    """Puts, deletes and lists in it; all of them stand after it."""
    outcomes = told(
        put("a", 1),
        put("b", 1),
        transaction(
            put("c", 3, **ON),
            {"op": "put", "entries": {"d": 4, "e": 5}, **ON},
            {"op": "delete", "key": "a", "ev": "deleted", **ON},
            {"op": "delete", "keys": ["x", "b"], "ev": "deleted", **ON},
            {"op": "get", "key": "a", "ev": "gone", **ON},
            {"op": "get", "keys": ["c", "b"], "ev": "some", **ON},
            {"op": "list", "opts": {"reverse": True, "limit": 2}, "ev": "last", **ON},
            {"op": "list", "opts": {"startAfter": "c", "end": "e"}, "ev": "range", **ON},
        ),
        LIST,
    )

    assert outcomes == [
        True,
        1,
        {"$": "undefined"},
        {"$": "map", "v": [["c", 3]]},
        {"$": "map", "v": [["e", 5], ["d", 4]]},
        {"$": "map", "v": [["d", 4]]},
        {"$": "map", "v": [["c", 3], ["d", 4], ["e", 5]]},
    ]


def test_alarms_in_a_transaction_stand_or_fall_with_it() -> None:
    """Set, read and deleted by way of the transaction's object."""
    get = {"op": "getAlarm", "ev": "alarm"}
    far = {"op": "setAlarm", "in": 600_000}

    assert told(transaction({**far, **ON}, {**get, **ON}), get) == ["last-set", "last-set"]
    assert told(far, transaction({"op": "deleteAlarm", **ON}, {**get, **ON}), get) == [None, None]
    assert told(transaction({**far, **ON}, ROLL), get) == [{"nonError": "roll"}, None]


def test_after_a_rollback_the_transaction_is_of_no_use() -> None:
    """Its work goes on, and its value is returned (TX-2)."""
    rolled = {"op": "rollback", "on": "txn"}
    outcomes = told(
        {
            "op": "transaction",
            "do": [
                put("a", 1, **ON),
                rolled,
                rolled,
                {"op": "get", "key": "a", "ev": "get", "catch": True, **ON},
                {"op": "return", "value": "value"},
            ],
            "ev": "transaction",
        },
        {**rolled, "ev": "again", "catch": True},
        LIST,
    )

    assert outcomes[0]["message"] == "Cannot get() on rolled back transaction"
    assert outcomes[1:] == ["value", {"$": "undefined"}, {"$": "map", "v": []}]


def test_there_is_nothing_synchronous() -> None:
    """kv, sql and transactionSync say that the class is not backed by SQLite (SQL-7)."""
    outcomes = told(
        {"op": "kvGet", "key": "a", "ev": "kv", "catch": True},
        {"op": "sql", "query": "SELECT 1", "ev": "sql", "catch": True},
        {"op": "transactionSync", "do": [], "ev": "sync", "catch": True},
    )

    assert all("SQL" in outcome["message"] for outcome in outcomes)
    assert len(outcomes) == 3
