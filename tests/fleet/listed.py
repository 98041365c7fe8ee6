"""What must report each mutant of the fleet: deploy-fence.md K.5, and what section L adds to it."""

from typing import Final

__all__ = ["LISTED"]

_TABLE: Final = """
retained_as_executing LIV-02; drop_retained_from_count INV-02 INV-03 INV-05;
drain_only INV-10 INV-09; read_then_fence INV-11 INV-08; owner_by_run_id INV-13 INV-14;
provisional_is_terminal INV-13 INV-14; owner_error_is_retained INV-06 INV-14;
skip_failed_members INV-12; no_final_verify INV-08 INV-22; fence_by_drain_triple INV-16 INV-09;
refusal_lifts_drain INV-16 LIV-01; short_drain INV-22 LIV-01; fence_as_flag INV-17 LIV-03;
any_worker_lifts INV-19 INV-09; double_count INV-15; compare_mixed_clocks INV-08;
drain_replaces_fence INV-20 INV-09; member_gate_only INV-10; delete_clean_head INV-04 INV-05;
fallback_to_count INV-24; upload_retry INV-08; undrain_before_reconcile INV-25 INV-03;
lost_fence_reply_new_fence INV-20; memory_counters_only INV-14 INV-08;
alarm_deletes_current INV-09 INV-25; swap_kills_no_debt INV-38 INV-31;
force_everything INV-22 INV-24; finally_is_settlement INV-38 INV-31;
registry_made_id INV-27 INV-28; retry_begin INV-27 INV-29; absent_means_refused INV-29 LIV-07;
match_by_id_only INV-26; poll_until_found INV-27; restart_adopts_permit INV-30;
exists_is_granted INV-26; hash_after_reply INV-28; absence_is_receipt INV-36;
delete_then_receipt INV-33; receipt_then_delete INV-32; evicted_is_success INV-35 INV-36;
end_by_id INV-40; legacy_end_any INV-33 INV-40; end_means_done INV-37 INV-08;
gate_outside_txn INV-09 INV-10; reuse_retired_id INV-39; permit_is_privilege INV-41;
second_end INV-27 INV-36; compare_key_only INV-43 INV-42; hash_without_start INV-43;
retry_recovery INV-47 INV-45; overwrite_audit INV-45; late_commit_any_fence INV-46;
idle_is_ended INV-51; url_is_proof INV-48 INV-104; client_falls_back INV-50;
keep_legacy_route INV-50; boolean_abandon INV-51; recovery_cleans_up INV-49 INV-01;
late_end_receipt INV-32 INV-36; recover_while_refreshing INV-46; partial_audit_match INV-105;
quote_from_compact_list INV-43; commit_only_cache INV-77; build_only_cache INV-77;
overwrite_pending INV-78 INV-77; restart_while_hydrating INV-80 LIV-08; stop_is_report INV-81;
marker_before_hold INV-82; blind_marker_delete INV-77; backstop_rehold LIV-08;
progress_first INV-84 INV-77; interleaved_targets INV-78; no_lag_wait INV-87;
accept_foreign_hint INV-86; trust_no_change INV-86; version_must_rise LIV-02;
single_native_read INV-88; skip_by_cache INV-89 INV-88; reconcile_without_target INV-90;
trust_response_only INV-88; legacy_completed_ok INV-91; pending_ttl INV-83;
cycle_over_retained INV-03; withdrawn_without_readback INV-103;
image_decision_clears_history INV-07; drain_without_scope INV-18; undrain_ignores_debt INV-21;
reserve_literal INV-23; receipts_unbounded INV-34; audit_keeps_url INV-44;
compact_adds_hash INV-52; commit_from_artifact_id INV-76; other_target_waits INV-79 LIV-09;
target_refrozen INV-85; unknown_is_final LIV-04; end_skipped_on_error LIV-05;
recovery_needs_zero_permits LIV-06; audit_not_readable LIV-11; ready_after_expiry INV-25;
refusal_keeps_fence LIV-14
"""

LISTED: Final = {
    name: frozenset(properties) for name, *properties in (row.split() for row in _TABLE.split(";"))
}
"""The properties of which one must report a mutant, by its name: part one, 100 of them."""
