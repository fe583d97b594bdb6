"""What is sent and read, as the service's OpenAPI document has it. `npm run docs` writes this file."""

from __future__ import annotations

from typing import Any, Literal, Union

from typing_extensions import NotRequired, TypedDict


Kind = Literal["payer", "patient", "provider", "facility", "encounter"]


DocumentCategory = Literal[
    "radiology_report", "lab_results", "diagnostic_report", "progress_report", "discharge_summary",
    "doctor_notes", "medical_record", "patient_history", "immunization_report", "referral",
    "consent_form",
]


ErrorCode = Literal[
    "validation_failed", "malformed_body", "reference_not_found", "unauthorized", "key_deactivated",
    "key_expired", "address_not_allowed", "workspace_deactivated", "permission_denied", "reason_required",
    "not_found", "gone", "previously_erased", "position_gone", "method_not_allowed", "not_acceptable",
    "request_timeout", "conflict", "return_pending", "idempotency_key_in_use", "version_conflict",
    "payload_too_large", "unsupported_media_type", "range_not_satisfiable", "expectation_failed",
    "idempotency_key_reused", "rate_limited", "headers_too_large", "internal", "not_implemented",
    "overloaded", "unavailable", "unreadable",
]


State = Literal[
    "AL", "AK", "AZ", "AR", "CA", "CO", "CT", "DE", "FL", "GA", "HI", "ID", "IL", "IN", "IA", "KS", "KY",
    "LA", "ME", "MD", "MA", "MI", "MN", "MS", "MO", "MT", "NE", "NV", "NH", "NJ", "NM", "NY", "NC", "ND",
    "OH", "OK", "OR", "PA", "RI", "SC", "SD", "TN", "TX", "UT", "VT", "VA", "WA", "WV", "WI", "WY", "DC",
    "AS", "GU", "MP", "PR", "VI", "FM", "MH", "PW", "AA", "AE", "AP",
]


EventType = Literal[
    "chartledger.payer.upserted.v1", "chartledger.patient.upserted.v1",
    "chartledger.provider.upserted.v1", "chartledger.facility.upserted.v1",
    "chartledger.encounter.upserted.v1", "chartledger.document.uploaded.v1",
    "chartledger.document.removed.v1", "chartledger.payer.erased.v1", "chartledger.patient.erased.v1",
    "chartledger.provider.erased.v1", "chartledger.facility.erased.v1", "chartledger.encounter.erased.v1",
    "chartledger.document.erased.v1", "chartledger.encounter.billed.v1",
    "chartledger.encounter.billing_change_acknowledged.v1", "chartledger.encounter.finding_answered.v1",
    "chartledger.encounter.claim_outcome_reported.v1", "chartledger.encounter.readiness_changed.v1",
    "chartledger.encounter.readiness_erased.v1", "chartledger.readiness.rules_applied.v1",
]


class Payer(TypedDict):
    """An insurance company or program that pays claims. A field that is left out keeps its value, and `null` clears it. Unknown fields are not stored."""

    # The caller's payer identifier
    id: str
    name: str
    # Short code; used for internal identification and clearinghouse routing
    payer_code: NotRequired[str | None]
    # Free text; common values: `Private`, `Medicare`, `Medicaid`, `Tricare`, `Workers Compensation`, `Self-Pay`
    payer_type: NotRequired[str | None]
    # Claims contact email
    contact_email: NotRequired[str | None]
    contact_phone: NotRequired[str | None]
    fax: NotRequired[str | None]
    # URL
    website: NotRequired[str | None]
    address_line1: NotRequired[str | None]
    address_line2: NotRequired[str | None]
    city: NotRequired[str | None]
    # State code
    state: NotRequired[str | None]
    zip_code: NotRequired[str | None]
    # Country code; default `US`
    country: NotRequired[str | None]


class Patient(TypedDict):
    """A person who receives care, with up to three insurances. A field that is left out keeps its value, and `null` clears it. Unknown fields are not stored."""

    # The caller's patient identifier
    id: str
    first_name: str
    last_name: str
    date_of_birth: str
    gender: NotRequired[Literal["male", "female", "other"] | None]
    phone: NotRequired[str | None]
    email: NotRequired[str | None]
    # Last 4 digits only; a full SSN is never stored
    ssn_last4: NotRequired[str | None]
    address_line_1: NotRequired[str | None]
    address_line_2: NotRequired[str | None]
    city: NotRequired[str | None]
    # 2-character state code
    state: NotRequired[str | None]
    zip_code: NotRequired[str | None]
    # Country code; default `US`
    country: NotRequired[str | None]
    primary_insurance: NotRequired[Insurance | None]
    secondary_insurance: NotRequired[Insurance | None]
    tertiary_insurance: NotRequired[Insurance | None]
    # `id` of the patient that this one was merged into, because both are the same person: both can still be read, and encounters of this patient are billed with the data of the other; `null`: they were merged in error
    merged_into: NotRequired[str | None]


class Insurance(TypedDict):
    """A patient's insurance. If sent, it replaces the one of its rank as a whole."""

    # `id` of an existing payer
    payer_id: str
    policy_number: NotRequired[str | None]
    group_number: NotRequired[str | None]
    # Coverage start
    effective_date: NotRequired[str | None]
    # Coverage end
    termination_date: NotRequired[str | None]
    # Used when the subscriber differs from the patient
    subscriber_id: NotRequired[str | None]
    subscriber_first_name: NotRequired[str | None]
    subscriber_last_name: NotRequired[str | None]
    subscriber_relationship: NotRequired[Literal["self", "spouse", "child", "other"] | None]
    subscriber_date_of_birth: NotRequired[str | None]
    subscriber_address_line_1: NotRequired[str | None]
    subscriber_city: NotRequired[str | None]
    subscriber_state: NotRequired[str | None]
    subscriber_zip_code: NotRequired[str | None]
    subscriber_country: NotRequired[str | None]
    # Why Medicare pays after another insurance: the insurance type code of X12, SBR05
    msp_type: NotRequired[str | None]


class Provider(TypedDict):
    """A person who gives care. A field that is left out keeps its value, and `null` clears it. Unknown fields are not stored."""

    # The caller's provider identifier
    id: str
    first_name: str
    last_name: str
    # 10 digits; required for claim submission, send it when available
    npi: NotRequired[str | None]
    email: NotRequired[str | None]
    phone: NotRequired[str | None]
    role: NotRequired[Literal[
        "attending_physician", "rendering_provider", "referring_provider", "billing_provider",
        "operating_physician",
    ] | None]
    # Federal tax ID (EIN); required if claims are billed by the provider, not the facility
    tax_id: NotRequired[str | None]
    # Code from the NUCC healthcare provider taxonomy set
    taxonomy_code: NotRequired[str | None]
    # Free text
    specialty: NotRequired[str | None]
    address_line_1: NotRequired[str | None]
    address_line_2: NotRequired[str | None]
    city: NotRequired[str | None]
    # State code
    state: NotRequired[str | None]
    zip_code: NotRequired[str | None]
    # Country code; default `US`
    country: NotRequired[str | None]


class Facility(TypedDict):
    """A place where care is given. A field that is left out keeps its value, and `null` clears it. Unknown fields are not stored."""

    # The caller's facility identifier
    id: str
    name: str
    # 10 digits; organizational (Type 2) NPI, distinct from individual provider NPIs
    npi: NotRequired[str | None]
    facility_type: NotRequired[Literal[
        "hospital", "clinic", "ambulatory_surgery_center", "skilled_nursing_facility", "laboratory",
        "pharmacy", "home_health", "telehealth", "other",
    ] | None]
    phone: NotRequired[str | None]
    fax: NotRequired[str | None]
    email: NotRequired[str | None]
    # Federal tax ID (EIN); required for claim submission
    tax_id: NotRequired[str | None]
    # CLIA certification number; required for facilities performing laboratory testing
    clia_number: NotRequired[str | None]
    address_line_1: NotRequired[str | None]
    address_line_2: NotRequired[str | None]
    city: NotRequired[str | None]
    # State code
    state: NotRequired[str | None]
    zip_code: NotRequired[str | None]
    # Country code; default `US`
    country: NotRequired[str | None]


class Encounter(TypedDict):
    """A patient visit. A field that is left out keeps its value, and `null` clears it. Unknown fields are not stored."""

    # The caller's encounter identifier
    id: str
    # Must refer to an existing patient
    patient_id: str
    # Billing/attending provider
    provider_id: NotRequired[str | None]
    # Rendering provider, if different; if omitted, `provider_id` is used as the rendering provider
    rendering_provider_id: NotRequired[str | None]
    # Where the service was rendered
    facility_id: NotRequired[str | None]
    date_of_service: NotRequired[str | None]
    visit_type: NotRequired[Literal[
        "office_visit", "telehealth", "inpatient", "outpatient", "emergency", "observation", "surgical",
    ] | None]
    # Free string
    status: NotRequired[str | None]
    # `true` marks the encounter ready for the billing workflow
    is_completed: NotRequired[bool | None]
    # When the encounter was voided: it is kept and can be read, but is not billed, whatever the date; `null`: it is valid again
    voided_at: NotRequired[str | None]
    # Why the encounter was voided
    void_reason: NotRequired[str | None]


class ErrorBody(TypedDict):
    """A request that failed."""

    # What went wrong, for humans
    error: str
    # What went wrong, for programs
    code: ErrorCode
    # The fields at fault
    details: NotRequired[list[ErrorDetail]]
    # With status 401
    statusCode: NotRequired[Literal[401]]
    # With status 429: seconds until requests are accepted again
    retryAfter: NotRequired[int]
    # With status 412: the current version, if there is one
    version: NotRequired[int]
    # With `gone`: when it was erased
    erased_at: NotRequired[str]
    # With `position_gone`: the last position in the log before the one that was sent
    last_position: NotRequired[str]
    # The `Request-Id`; quote it when contacting the operators
    requestId: str


class ErrorDetail(TypedDict):
    """A field at fault."""

    # Name of the field, in dot notation if nested
    field: str
    # What to fix; never the value
    message: str
    # Kind of the referenced record that does not exist
    kind: NotRequired[Kind]
    # Id of that record, as sent
    id: NotRequired[str]
    # For a missing reference
    code: NotRequired[Literal["reference_not_found"]]


class BatchResult(TypedDict):
    """The result of one line of a batch."""

    # Number of the line, starting at 1
    line: int
    # As sent; `null` if it is not a kind
    kind: Kind | None
    # Id of the record, as sent; `null` if it is not valid
    id: str | None
    # The status that a single request would have had
    status: int
    # With status 200
    outcome: NotRequired[Literal["created", "updated", "unchanged"]]
    # With status 200; with 412, the current version
    version: NotRequired[int]
    # With status 200
    warnings: NotRequired[list[FieldMessage]]
    # Always `true`: nothing was written
    dry_run: NotRequired[bool]
    # For a dry run: fields that would change
    changed_fields: NotRequired[list[str]]
    # What went wrong, for humans
    error: NotRequired[str]
    # What went wrong, for programs
    code: NotRequired[ErrorCode]
    # The fields at fault
    details: NotRequired[list[ErrorDetail]]
    # With an error: whether the same line may be accepted later
    retryable: NotRequired[bool]
    # Seconds until it may be accepted
    retryAfter: NotRequired[int]
    # Always `true`: `warnings`, `changed_fields` or `details` were omitted because too many results were waiting to be sent
    shortened: NotRequired[bool]


class FieldMessage(TypedDict):
    """An error or warning about one field."""

    # Name of the field, in dot notation if nested
    field: str
    # What to fix; never the value
    message: str


class BatchSummarySummaryCodes(TypedDict):
    """Refused lines by `code`"""

    validation_failed: NotRequired[int]
    malformed_body: NotRequired[int]
    reference_not_found: NotRequired[int]
    unauthorized: NotRequired[int]
    key_deactivated: NotRequired[int]
    key_expired: NotRequired[int]
    address_not_allowed: NotRequired[int]
    workspace_deactivated: NotRequired[int]
    permission_denied: NotRequired[int]
    reason_required: NotRequired[int]
    not_found: NotRequired[int]
    gone: NotRequired[int]
    previously_erased: NotRequired[int]
    position_gone: NotRequired[int]
    method_not_allowed: NotRequired[int]
    not_acceptable: NotRequired[int]
    request_timeout: NotRequired[int]
    conflict: NotRequired[int]
    return_pending: NotRequired[int]
    idempotency_key_in_use: NotRequired[int]
    version_conflict: NotRequired[int]
    payload_too_large: NotRequired[int]
    unsupported_media_type: NotRequired[int]
    range_not_satisfiable: NotRequired[int]
    expectation_failed: NotRequired[int]
    idempotency_key_reused: NotRequired[int]
    rate_limited: NotRequired[int]
    headers_too_large: NotRequired[int]
    internal: NotRequired[int]
    not_implemented: NotRequired[int]
    overloaded: NotRequired[int]
    unavailable: NotRequired[int]
    unreadable: NotRequired[int]


class BatchSummarySummary(TypedDict):
    # Lines sent
    lines: int
    # Lines whose records are stored
    accepted: int
    created: int
    updated: int
    # Known only for a dry run and with `unchanged=skip`
    unchanged: int
    # Lines that were not stored
    refused: int
    # Refused lines that may be accepted later
    retryable: int
    # Refused lines by `code`
    codes: BatchSummarySummaryCodes


class BatchSummary(TypedDict):
    """The last line of the response to a batch. If it is missing, the response was cut off."""

    summary: BatchSummarySummary


class ReconcileLineRecord(TypedDict):
    pass


class ReconcileLine(TypedDict):
    """What the caller knows of one record: with neither version, digest nor record, that it exists."""

    kind: Kind
    # Id of the record; may be left out with `record`
    id: NotRequired[str]
    # The version that the caller has
    version: NotRequired[int]
    # SHA-256 of the canonical JSON (RFC 8785) of its fields, in hexadecimal
    digest: NotRequired[str]
    # All of its fields
    record: NotRequired[ReconcileLineRecord]


class ReconcileResult(TypedDict):
    """What became of the comparison of one record."""

    # Number of the line, starting at 1; absent with `missing_there`
    line: NotRequired[int]
    # As sent; `null` if it is not a kind
    kind: Kind | None
    # As sent; `null` if it is not valid
    id: str | None
    # `same`: everything that was sent is as it is here. `different`: something is not. `missing_here`: there is no such record. `missing_there`: no line named this record. `merged`: it differs, and it is a patient that was merged into another. `erased`: it was erased. `unreadable`: it has an event that only a newer version of the service can read. `refused`: the line is not valid, or the key may not read records of its kind.
    outcome: Literal[
        "same", "different", "missing_here", "missing_there", "merged", "erased", "unreadable", "refused",
    ]
    # The current version here
    version: NotRequired[int]
    # For a line with `record`: names of the fields that differ, those of an insurance dotted
    different_fields: NotRequired[list[str]]
    # The patient into which this one was merged
    merged_into: NotRequired[str]
    # When it was erased
    erased_at: NotRequired[str]
    # What went wrong, for humans
    error: NotRequired[str]
    # What went wrong, for programs
    code: NotRequired[ErrorCode]
    # The fields at fault
    details: NotRequired[list[ErrorDetail]]


class ReconcileSummarySummary(TypedDict):
    # Lines sent
    lines: int
    same: int
    different: int
    missing_here: int
    merged: int
    erased: int
    unreadable: int
    refused: int
    # Only if they were requested; `null` if there were too many lines to find them
    missing_there: NotRequired[int | None]


class ReconcileSummary(TypedDict):
    """The last line of the response to a reconciliation. If it is missing, the response was cut off."""

    summary: ReconcileSummarySummary


class Written(TypedDict):
    """A record was stored, or was already up to date."""

    # Always `true`
    success: bool
    message: str
    # Number in the history: 1, 2, 3 …; also the `ETag`
    version: int
    # `unchanged` is reported only where the record is compared: in a dry run, with `unchanged=skip`, and for a patch
    outcome: Literal["created", "updated", "unchanged"]
    # Fields that were not stored, values that were stored but that billing may refuse, and anything else that prevents billing a completed encounter, as known at that moment
    warnings: list[FieldMessage]
    # Always `true`: nothing was written
    dry_run: NotRequired[bool]
    # For a dry run: names of the fields whose values would change; insurance fields use dot notation
    changed_fields: NotRequired[list[str]]


class PayerPatch(TypedDict):
    """An insurance company or program that pays claims. Only the fields to change: `null` clears a field that is not required. `id`, if sent, must match the path. Unknown fields are not stored."""

    # The caller's payer identifier
    id: NotRequired[str]
    name: NotRequired[str]
    # Short code; used for internal identification and clearinghouse routing
    payer_code: NotRequired[str | None]
    # Free text; common values: `Private`, `Medicare`, `Medicaid`, `Tricare`, `Workers Compensation`, `Self-Pay`
    payer_type: NotRequired[str | None]
    # Claims contact email
    contact_email: NotRequired[str | None]
    contact_phone: NotRequired[str | None]
    fax: NotRequired[str | None]
    # URL
    website: NotRequired[str | None]
    address_line1: NotRequired[str | None]
    address_line2: NotRequired[str | None]
    city: NotRequired[str | None]
    # State code
    state: NotRequired[str | None]
    zip_code: NotRequired[str | None]
    # Country code; default `US`
    country: NotRequired[str | None]


class PayerPage(TypedDict):
    """A page of payers."""

    items: list[PayerView]
    # Pass it as `page_token` to get the next page; `null` on the last page
    next_page_token: str | None
    # Ids of items omitted from this page because this version of the service cannot read an event in their history: a newer version wrote it, or its bytes were changed. Usually empty
    unreadable: list[str]


class PayerView(TypedDict):
    """The payer, with its version and dates."""

    # The caller's payer identifier
    id: str
    # Number in the history: 1, 2, 3 …; also the `ETag`
    version: int
    # When the record was created
    created_at: str
    # When the record was last sent
    updated_at: str
    record: PayerState


class PayerState(TypedDict):
    """An insurance company or program that pays claims. Everything sent so far, merged; fields without a value are omitted."""

    # The caller's payer identifier
    id: str
    name: str
    # Short code; used for internal identification and clearinghouse routing
    payer_code: NotRequired[str]
    # Free text; common values: `Private`, `Medicare`, `Medicaid`, `Tricare`, `Workers Compensation`, `Self-Pay`
    payer_type: NotRequired[str]
    # Claims contact email
    contact_email: NotRequired[str]
    contact_phone: NotRequired[str]
    fax: NotRequired[str]
    # URL
    website: NotRequired[str]
    address_line1: NotRequired[str]
    address_line2: NotRequired[str]
    city: NotRequired[str]
    # State code
    state: NotRequired[str]
    zip_code: NotRequired[str]
    # Country code; default `US`
    country: str


class RecordHistoryPage(TypedDict):
    """A page of the versions of a record, newest first."""

    items: list[RecordVersion]
    # Pass it as `page_token` to get the next page; `null` on the last page
    next_page_token: str | None


class RecordVersionPrincipal(TypedDict):
    """Who sent it"""

    type: Literal["api_key", "source", "user", "operator", "service"]
    id: str
    # Name of the key or user; kept after deletion
    name: str | None


class RecordVersionSource(TypedDict):
    """The EMR message that it came from; omitted if it came in another way"""

    # Id of the source
    id: str
    # Id of the message, which is kept for a limited time
    message: str
    # Number of the source configuration that the message was reprocessed with; omitted if it was processed on arrival
    configuration: NotRequired[int]


class RecordVersion(TypedDict):
    """A version of a record: who sent it, and what it changed."""

    # Number in the history: 1, 2, 3 …; also the `ETag`
    version: int
    # Id of the event in the event log
    event_id: str
    # Type of the event
    type: str
    # When the version was stored
    recorded_at: str
    # Who sent it
    principal: RecordVersionPrincipal
    # The client IP address that it was sent from
    client_ip: str | None
    user_agent: str | None
    # The `Request-Id` of the write
    request_id: str
    # Only for what an undo wrote: the id of the event that it undid
    reverts: NotRequired[str]
    # The EMR message that it came from; omitted if it came in another way
    source: NotRequired[RecordVersionSource]
    # Only for an erasure: why all versions before it were erased
    reason: NotRequired[str]
    # `unchanged`: everything that was sent had the same value already; `erased`: all versions before it were permanently erased
    outcome: Literal["created", "updated", "unchanged", "erased"]
    # For the first version, all fields
    changes: list[FieldChange]


FieldChange = TypedDict("FieldChange", {"field": "str", "from": "str | bool | None", "to": "str | bool | None"})


class ProofEvent(TypedDict):
    """The event as stored in the event log: everything that its leaf covers"""

    id: str
    type: str
    stream: str
    # The version minus one
    revision: int
    recordedAt: str
    metadata: dict[str, Any]
    data: dict[str, Any]


class ProofTreeHead(TypedDict):
    type: Literal["chartledger.tree_root.v1"]
    workspace: str
    # Number of events in the tree
    size: int
    # SHA-256, lowercase hex
    root: str


class ProofTreeHead2(TypedDict):
    type: Literal["chartledger.tree_head.v1"]
    workspace: str
    # Number of events in the tree
    size: int
    # SHA-256, lowercase hex
    root: str
    # SHA-256, lowercase hex
    chain: str
    last_event_id: str
    last_event_recorded_at: NotRequired[str]
    created_at: str
    # How the key succeeded earlier keys, if there were any
    key_rotations: NotRequired[list[dict[str, Any]]]
    key_id: str
    signature: str


class Proof(TypedDict):
    """Proves that an event is in its workspace's hash tree. Verify it offline with `chartledger verify`."""

    type: Literal["chartledger.proof.v1"]
    # The event as stored in the event log: everything that its leaf covers
    event: ProofEvent
    # SHA-256 of a zero byte and the canonical JSON (RFC 8785) of `event`
    leaf: str
    # Index of the leaf in the tree; 0 is the first event of the workspace
    index: int
    # The inclusion proof (RFC 9162, section 2.1.3), deepest node first
    inclusion: list[str]
    # The tree that contains the event: the last signed head that was sent, if it contains the event; otherwise an unsigned root (`tree_root`), to be compared with a signed head
    tree_head: ProofTreeHead | ProofTreeHead2


class AccessPage(TypedDict):
    """A page of accesses."""

    items: list[Access]
    # Pass it as `page_token` to get the next page; `null` on the last page
    next_page_token: str | None


class AccessPrincipal(TypedDict):
    """Who saw it"""

    type: Literal["api_key", "source", "user", "operator", "service"]
    id: str
    # Name of the key or user; kept after deletion
    name: str | None


class Access(TypedDict):
    """A read by which somebody saw a record, or may have."""

    # When it was seen; what was sent to streams and webhooks is recorded within a minute
    at: str
    # How, as in the audit trail
    action: str
    # Who saw it
    principal: AccessPrincipal
    # `id`: the entry names it; `range`: it lies where a list, stream, webhook or export was shown events, and may have been left out
    found_by: Literal["id", "range"]
    client_ip: str | None
    user_agent: str | None
    # What for, as stated then
    purpose_statement: str | None
    # The `Request-Id` of the read
    request_id: str


class PatientPatch(TypedDict):
    """A person who receives care, with up to three insurances. Only the fields to change: `null` clears a field that is not required. `id`, if sent, must match the path. Unknown fields are not stored."""

    # The caller's patient identifier
    id: NotRequired[str]
    first_name: NotRequired[str]
    last_name: NotRequired[str]
    date_of_birth: NotRequired[str]
    gender: NotRequired[Literal["male", "female", "other"] | None]
    phone: NotRequired[str | None]
    email: NotRequired[str | None]
    # Last 4 digits only; a full SSN is never stored
    ssn_last4: NotRequired[str | None]
    address_line_1: NotRequired[str | None]
    address_line_2: NotRequired[str | None]
    city: NotRequired[str | None]
    # 2-character state code
    state: NotRequired[str | None]
    zip_code: NotRequired[str | None]
    # Country code; default `US`
    country: NotRequired[str | None]
    primary_insurance: NotRequired[InsurancePatch | None]
    secondary_insurance: NotRequired[InsurancePatch | None]
    tertiary_insurance: NotRequired[InsurancePatch | None]
    # `id` of the patient that this one was merged into, because both are the same person: both can still be read, and encounters of this patient are billed with the data of the other; `null`: they were merged in error
    merged_into: NotRequired[str | None]


class InsurancePatch(TypedDict):
    """A patient's insurance. Merged into the existing one; if there is none, it must be complete."""

    # `id` of an existing payer
    payer_id: NotRequired[str]
    policy_number: NotRequired[str | None]
    group_number: NotRequired[str | None]
    # Coverage start
    effective_date: NotRequired[str | None]
    # Coverage end
    termination_date: NotRequired[str | None]
    # Used when the subscriber differs from the patient
    subscriber_id: NotRequired[str | None]
    subscriber_first_name: NotRequired[str | None]
    subscriber_last_name: NotRequired[str | None]
    subscriber_relationship: NotRequired[Literal["self", "spouse", "child", "other"] | None]
    subscriber_date_of_birth: NotRequired[str | None]
    subscriber_address_line_1: NotRequired[str | None]
    subscriber_city: NotRequired[str | None]
    subscriber_state: NotRequired[str | None]
    subscriber_zip_code: NotRequired[str | None]
    subscriber_country: NotRequired[str | None]
    # Why Medicare pays after another insurance: the insurance type code of X12, SBR05
    msp_type: NotRequired[str | None]


class PatientPage(TypedDict):
    """A page of patients."""

    items: list[PatientView]
    # Pass it as `page_token` to get the next page; `null` on the last page
    next_page_token: str | None
    # Ids of items omitted from this page because this version of the service cannot read an event in their history: a newer version wrote it, or its bytes were changed. Usually empty
    unreadable: list[str]


class PatientView(TypedDict):
    """The patient, with its version and dates."""

    # The caller's patient identifier
    id: str
    # Number in the history: 1, 2, 3 …; also the `ETag`
    version: int
    # When the record was created
    created_at: str
    # When the record was last sent
    updated_at: str
    record: PatientState


class PatientState(TypedDict):
    """A person who receives care, with up to three insurances. Everything sent so far, merged; fields without a value are omitted."""

    # The caller's patient identifier
    id: str
    first_name: str
    last_name: str
    date_of_birth: str
    gender: NotRequired[Literal["male", "female", "other"]]
    phone: NotRequired[str]
    email: NotRequired[str]
    # Last 4 digits only; a full SSN is never stored
    ssn_last4: NotRequired[str]
    address_line_1: NotRequired[str]
    address_line_2: NotRequired[str]
    city: NotRequired[str]
    # 2-character state code
    state: NotRequired[str]
    zip_code: NotRequired[str]
    # Country code; default `US`
    country: str
    primary_insurance: NotRequired[InsuranceState]
    secondary_insurance: NotRequired[InsuranceState]
    tertiary_insurance: NotRequired[InsuranceState]
    # `id` of the patient that this one was merged into, because both are the same person: both can still be read, and encounters of this patient are billed with the data of the other; `null`: they were merged in error
    merged_into: NotRequired[str]


class InsuranceState(TypedDict):
    """A patient's insurance, as stored."""

    # `id` of an existing payer
    payer_id: str
    policy_number: NotRequired[str]
    group_number: NotRequired[str]
    # Coverage start
    effective_date: NotRequired[str]
    # Coverage end
    termination_date: NotRequired[str]
    # Used when the subscriber differs from the patient
    subscriber_id: NotRequired[str]
    subscriber_first_name: NotRequired[str]
    subscriber_last_name: NotRequired[str]
    subscriber_relationship: NotRequired[Literal["self", "spouse", "child", "other"]]
    subscriber_date_of_birth: NotRequired[str]
    subscriber_address_line_1: NotRequired[str]
    subscriber_city: NotRequired[str]
    subscriber_state: NotRequired[str]
    subscriber_zip_code: NotRequired[str]
    subscriber_country: NotRequired[str]
    # Why Medicare pays after another insurance: the insurance type code of X12, SBR05
    msp_type: NotRequired[str]


class ProviderPatch(TypedDict):
    """A person who gives care. Only the fields to change: `null` clears a field that is not required. `id`, if sent, must match the path. Unknown fields are not stored."""

    # The caller's provider identifier
    id: NotRequired[str]
    first_name: NotRequired[str]
    last_name: NotRequired[str]
    # 10 digits; required for claim submission, send it when available
    npi: NotRequired[str | None]
    email: NotRequired[str | None]
    phone: NotRequired[str | None]
    role: NotRequired[Literal[
        "attending_physician", "rendering_provider", "referring_provider", "billing_provider",
        "operating_physician",
    ] | None]
    # Federal tax ID (EIN); required if claims are billed by the provider, not the facility
    tax_id: NotRequired[str | None]
    # Code from the NUCC healthcare provider taxonomy set
    taxonomy_code: NotRequired[str | None]
    # Free text
    specialty: NotRequired[str | None]
    address_line_1: NotRequired[str | None]
    address_line_2: NotRequired[str | None]
    city: NotRequired[str | None]
    # State code
    state: NotRequired[str | None]
    zip_code: NotRequired[str | None]
    # Country code; default `US`
    country: NotRequired[str | None]


class ProviderPage(TypedDict):
    """A page of providers."""

    items: list[ProviderView]
    # Pass it as `page_token` to get the next page; `null` on the last page
    next_page_token: str | None
    # Ids of items omitted from this page because this version of the service cannot read an event in their history: a newer version wrote it, or its bytes were changed. Usually empty
    unreadable: list[str]


class ProviderView(TypedDict):
    """The provider, with its version and dates."""

    # The caller's provider identifier
    id: str
    # Number in the history: 1, 2, 3 …; also the `ETag`
    version: int
    # When the record was created
    created_at: str
    # When the record was last sent
    updated_at: str
    record: ProviderState


class ProviderState(TypedDict):
    """A person who gives care. Everything sent so far, merged; fields without a value are omitted."""

    # The caller's provider identifier
    id: str
    first_name: str
    last_name: str
    # 10 digits; required for claim submission, send it when available
    npi: NotRequired[str]
    email: NotRequired[str]
    phone: NotRequired[str]
    role: NotRequired[Literal[
        "attending_physician", "rendering_provider", "referring_provider", "billing_provider",
        "operating_physician",
    ]]
    # Federal tax ID (EIN); required if claims are billed by the provider, not the facility
    tax_id: NotRequired[str]
    # Code from the NUCC healthcare provider taxonomy set
    taxonomy_code: NotRequired[str]
    # Free text
    specialty: NotRequired[str]
    address_line_1: NotRequired[str]
    address_line_2: NotRequired[str]
    city: NotRequired[str]
    # State code
    state: NotRequired[str]
    zip_code: NotRequired[str]
    # Country code; default `US`
    country: str


class FacilityPatch(TypedDict):
    """A place where care is given. Only the fields to change: `null` clears a field that is not required. `id`, if sent, must match the path. Unknown fields are not stored."""

    # The caller's facility identifier
    id: NotRequired[str]
    name: NotRequired[str]
    # 10 digits; organizational (Type 2) NPI, distinct from individual provider NPIs
    npi: NotRequired[str | None]
    facility_type: NotRequired[Literal[
        "hospital", "clinic", "ambulatory_surgery_center", "skilled_nursing_facility", "laboratory",
        "pharmacy", "home_health", "telehealth", "other",
    ] | None]
    phone: NotRequired[str | None]
    fax: NotRequired[str | None]
    email: NotRequired[str | None]
    # Federal tax ID (EIN); required for claim submission
    tax_id: NotRequired[str | None]
    # CLIA certification number; required for facilities performing laboratory testing
    clia_number: NotRequired[str | None]
    address_line_1: NotRequired[str | None]
    address_line_2: NotRequired[str | None]
    city: NotRequired[str | None]
    # State code
    state: NotRequired[str | None]
    zip_code: NotRequired[str | None]
    # Country code; default `US`
    country: NotRequired[str | None]


class FacilityPage(TypedDict):
    """A page of facilities."""

    items: list[FacilityView]
    # Pass it as `page_token` to get the next page; `null` on the last page
    next_page_token: str | None
    # Ids of items omitted from this page because this version of the service cannot read an event in their history: a newer version wrote it, or its bytes were changed. Usually empty
    unreadable: list[str]


class FacilityView(TypedDict):
    """The facility, with its version and dates."""

    # The caller's facility identifier
    id: str
    # Number in the history: 1, 2, 3 …; also the `ETag`
    version: int
    # When the record was created
    created_at: str
    # When the record was last sent
    updated_at: str
    record: FacilityState


class FacilityState(TypedDict):
    """A place where care is given. Everything sent so far, merged; fields without a value are omitted."""

    # The caller's facility identifier
    id: str
    name: str
    # 10 digits; organizational (Type 2) NPI, distinct from individual provider NPIs
    npi: NotRequired[str]
    facility_type: NotRequired[Literal[
        "hospital", "clinic", "ambulatory_surgery_center", "skilled_nursing_facility", "laboratory",
        "pharmacy", "home_health", "telehealth", "other",
    ]]
    phone: NotRequired[str]
    fax: NotRequired[str]
    email: NotRequired[str]
    # Federal tax ID (EIN); required for claim submission
    tax_id: NotRequired[str]
    # CLIA certification number; required for facilities performing laboratory testing
    clia_number: NotRequired[str]
    address_line_1: NotRequired[str]
    address_line_2: NotRequired[str]
    city: NotRequired[str]
    # State code
    state: NotRequired[str]
    zip_code: NotRequired[str]
    # Country code; default `US`
    country: str


class EncounterPatch(TypedDict):
    """A patient visit. Only the fields to change: `null` clears a field that is not required. `id`, if sent, must match the path. Unknown fields are not stored."""

    # The caller's encounter identifier
    id: NotRequired[str]
    # Must refer to an existing patient
    patient_id: NotRequired[str]
    # Billing/attending provider
    provider_id: NotRequired[str | None]
    # Rendering provider, if different; if omitted, `provider_id` is used as the rendering provider
    rendering_provider_id: NotRequired[str | None]
    # Where the service was rendered
    facility_id: NotRequired[str | None]
    date_of_service: NotRequired[str | None]
    visit_type: NotRequired[Literal[
        "office_visit", "telehealth", "inpatient", "outpatient", "emergency", "observation", "surgical",
    ] | None]
    # Free string
    status: NotRequired[str | None]
    # `true` marks the encounter ready for the billing workflow
    is_completed: NotRequired[bool | None]
    # When the encounter was voided: it is kept and can be read, but is not billed, whatever the date; `null`: it is valid again
    voided_at: NotRequired[str | None]
    # Why the encounter was voided
    void_reason: NotRequired[str | None]


class EncounterPage(TypedDict):
    """A page of encounters."""

    items: list[EncounterView]
    # Pass it as `page_token` to get the next page; `null` on the last page
    next_page_token: str | None
    # Ids of items omitted from this page because this version of the service cannot read an event in their history: a newer version wrote it, or its bytes were changed. Usually empty
    unreadable: list[str]


class EncounterView(TypedDict):
    """The encounter, with its version and dates."""

    # The caller's encounter identifier
    id: str
    # Number in the history: 1, 2, 3 …; also the `ETag`
    version: int
    # When the record was created
    created_at: str
    # When the record was last sent
    updated_at: str
    record: EncounterState


class EncounterState(TypedDict):
    """A patient visit. Everything sent so far, merged; fields without a value are omitted."""

    # The caller's encounter identifier
    id: str
    # Must refer to an existing patient
    patient_id: str
    # Billing/attending provider
    provider_id: NotRequired[str]
    # Rendering provider, if different; if omitted, `provider_id` is used as the rendering provider
    rendering_provider_id: NotRequired[str]
    # Where the service was rendered
    facility_id: NotRequired[str]
    date_of_service: NotRequired[str]
    visit_type: NotRequired[Literal[
        "office_visit", "telehealth", "inpatient", "outpatient", "emergency", "observation", "surgical",
    ]]
    # Free string
    status: NotRequired[str]
    # `true` marks the encounter ready for the billing workflow
    is_completed: NotRequired[bool]
    # When the encounter was voided: it is kept and can be read, but is not billed, whatever the date; `null`: it is valid again
    voided_at: NotRequired[str]
    # Why the encounter was voided
    void_reason: NotRequired[str]


class DisclosurePagePatient(TypedDict):
    id: str
    # As it is now; `null` for an erased patient
    name: str | None
    date_of_birth: str | None


DisclosurePage = TypedDict("DisclosurePage", {"items": "list[Disclosure]", "next_page_token": "str | None", "organization": "str", "patient": "DisclosurePagePatient", "from": "str | None", "to": "str | None"})


class DisclosurePrincipal(TypedDict):
    """Who read or sent the data, or added the disclosure"""

    type: Literal["api_key", "source", "user", "operator", "service"]
    id: str
    # Name of the key or user; kept after deletion
    name: str | None


class DisclosureWhat(TypedDict):
    kind: str
    id: str
    document_id: NotRequired[str]
    # `1-3, 5`, where they are known
    versions: NotRequired[str]


class DisclosurePurposeStatedPrincipal(TypedDict):
    """Who stated it"""

    type: Literal["api_key", "source", "user", "operator", "service"]
    id: str
    # Name of the key or user; kept after deletion
    name: str | None


class DisclosurePurposeStated(TypedDict):
    """By whom the purpose was stated later, if it was"""

    # When
    at: str
    # Who stated it
    principal: DisclosurePurposeStatedPrincipal
    event_id: str


class Disclosure(TypedDict):
    """An access to a patient's data, as disclosure reports list it."""

    # When; of a disclosure that was added, as it was sent
    disclosed_at: str
    # As in the audit trail; `DisclosureAdded` for one that the service did not make
    action: str
    # How, if not by the service
    means: Literal[
        "telephone", "fax", "mail", "paper", "email", "in_person", "other",
    ] | None
    # Who read or sent the data, or added the disclosure
    principal: DisclosurePrincipal
    webhook_id: str | None
    # What was disclosed, in words: no values but dates of service and categories of documents
    description: str
    # The same by ids, at most 20
    what: list[DisclosureWhat]
    # How many more there were
    what_more: int
    # `range`: it lies where a list, stream, webhook or export was shown events, and may have been left out
    found_by: Literal["id", "range"]
    view: Literal["reference", "limited", "deidentified"] | None
    recipient: str | None
    recipient_address: str | None
    # `null`: not given
    purpose: Literal["treatment", "payment", "operations", "other"] | None
    purpose_statement: str | None
    # By whom the purpose was stated later, if it was
    purpose_stated: DisclosurePurposeStated | None
    status: Literal[
        "accountable", "purpose_not_given", "exempt", "internal_use", "deidentified",
    ]
    exemption: str | None
    client_ip: str | None
    request_id: str
    # The entry of the audit trail
    event_id: str
    position: int


class DisclosureWritten(TypedDict):
    """It was recorded."""

    # Always `true`
    success: bool
    message: str
    # The event in the audit trail
    event_id: str


class AddedDisclosure(TypedDict):
    """A disclosure by telephone, fax, mail, on paper or by other means."""

    # When: a date, or a date-time; without an offset in UTC
    disclosed_at: str
    # How it was disclosed
    means: Literal[
        "telephone", "fax", "mail", "paper", "email", "in_person", "other",
    ]
    # What was disclosed, in words for the patient
    description: str
    # Name of the organization or person that received the data
    recipient: str
    # The recipient's postal address, if known
    recipient_address: NotRequired[str | None]
    # Why the data is disclosed. Accountings of disclosures (45 CFR 164.528) mark `treatment`, `payment` and `operations` as exempt
    purpose: NotRequired[Literal["treatment", "payment", "operations", "other"] | None]
    # The basis of the disclosures in one sentence, for the patient; required for an accounting if the purpose is `other`
    purpose_statement: NotRequired[str | None]


class StatedPurpose(TypedDict):
    """The purpose of a disclosure for which none was given."""

    # Why the data were disclosed
    purpose: Literal["treatment", "payment", "operations", "other"]
    # The basis of the disclosures in one sentence, for the patient; required for an accounting if the purpose is `other`
    purpose_statement: NotRequired[str | None]


class EncounterReadinessBilledPrincipal(TypedDict):
    """Who recorded it"""

    type: Literal["api_key", "source", "user", "operator", "service"]
    id: str
    # Name of the key or user; kept after deletion
    name: str | None


class EncounterReadinessBilledAcknowledgedPrincipal(TypedDict):
    """Who recorded it"""

    type: Literal["api_key", "source", "user", "operator", "service"]
    id: str
    # Name of the key or user; kept after deletion
    name: str | None


class EncounterReadinessBilledAcknowledged(TypedDict):
    """The last acknowledgment of changes since then, up to these versions; omitted if there was none"""

    # When it was recorded
    at: str
    # Who recorded it
    principal: EncounterReadinessBilledAcknowledgedPrincipal
    # The versions that the claim is based on; roles that it does not have are omitted
    versions: list[UsedVersion]
    # The reason, as sent
    reason: str


class EncounterReadinessBilledOutcomePrincipal(TypedDict):
    """Who recorded it"""

    type: Literal["api_key", "source", "user", "operator", "service"]
    id: str
    # Name of the key or user; kept after deletion
    name: str | None


class EncounterReadinessBilledOutcomeStatuses(TypedDict):
    category: str
    code: str
    entity: NotRequired[str]


class EncounterReadinessBilledOutcomeAdjustments(TypedDict):
    group: str
    code: str


class EncounterReadinessBilledOutcome(TypedDict):
    """What became of the claim last; omitted if nothing was reported"""

    # When it was recorded
    at: str
    # Who recorded it
    principal: EncounterReadinessBilledOutcomePrincipal
    # The X12 transaction that it comes from, or `other`
    source: Literal["835", "277CA", "other"]
    # `accepted`; `rejected`: the payer has not taken the claim in; `denied`: the payer does not pay; `paid`
    outcome: Literal["accepted", "rejected", "denied", "paid"]
    # The status codes of a 277CA (STC), as sent
    statuses: NotRequired[list[EncounterReadinessBilledOutcomeStatuses]]
    # The groups and reason codes of an 835 (CAS), as sent
    adjustments: NotRequired[list[EncounterReadinessBilledOutcomeAdjustments]]
    # The remark codes of an 835 (LQ, MIA, MOA), as sent
    remarks: NotRequired[list[str]]
    # The number that the payer gave the claim: a replacement refers to it
    payer_claim_number: NotRequired[str]


class EncounterReadinessBilled(TypedDict):
    """The last billing; `null` if there was none"""

    # The caller's id for the claim that was sent
    claim_id: str
    # When it was recorded
    at: str
    # Who recorded it
    principal: EncounterReadinessBilledPrincipal
    # The versions that the claim is based on; roles that it does not have are omitted
    versions: list[UsedVersion]
    # The last acknowledgment of changes since then, up to these versions; omitted if there was none
    acknowledged: NotRequired[EncounterReadinessBilledAcknowledged]
    # What became of the claim last; omitted if nothing was reported
    outcome: NotRequired[EncounterReadinessBilledOutcome]


class EncounterReadinessFiling(TypedDict):
    """`null` if no filing limit of the payer is known, it got a claim for the encounter in time, or the patient pays"""

    # How long after the day of service the payer takes a claim, as an ISO 8601 duration
    limit: str
    # The last day, in the time zone of the workspace, on which the payer of the primary insurance takes a claim
    last_day: str
    # Days up to then: 0 on the last day, negative once it has passed
    days_left: int


class EncounterReadiness(TypedDict):
    """Whether an encounter can be billed, and what is in the way."""

    # The caller's id of the encounter
    id: str
    # Number in the history: 1, 2, 3 …; also the `ETag`
    version: int
    # `ready`: nothing blocks billing; `self_pay`: the same, and the patient pays: no claim is to be sent; `blocked`: something blocks billing; `rejected`: the last claim was rejected or denied, whatever blocks the next one; `not_completed`: `is_completed` is not `true`, regardless of findings; `voided`: `voided_at` is set, regardless of everything else
    state: Literal[
        "ready", "self_pay", "blocked", "rejected", "not_completed", "voided",
    ]
    # The time that this describes
    as_of: str
    # The last billing; `null` if there was none
    billed: EncounterReadinessBilled | None
    # `null` if no filing limit of the payer is known, it got a claim for the encounter in time, or the patient pays
    filing: EncounterReadinessFiling | None
    # Blocking findings come first
    findings: list[ReadinessFinding]
    # Values that a claim carries in another form: case, dashes, blanks and spellings that leave no doubt are no findings. The records keep what was sent
    repairs: list[ReadinessRepair]


class UsedVersion(TypedDict):
    """A record, in the version that a claim is based on."""

    # The role of the record in the claim
    part: Literal[
        "encounter", "patient", "payer", "provider", "rendering_provider", "facility",
    ]
    kind: Kind
    # The caller's id of the record
    id: str
    # Number in the history: 1, 2, 3 …; also the `ETag`
    version: int


class ReadinessFindingRecord(TypedDict):
    """The record at fault, in the version that was evaluated"""

    kind: Kind
    # The caller's id of the record
    id: str
    # Number in the history: 1, 2, 3 …; also the `ETag`
    version: int


class ReadinessFindingCausePrincipal(TypedDict):
    """Who did it"""

    type: Literal["api_key", "source", "user", "operator", "service"]
    id: str
    # Name of the key or user; kept after deletion
    name: str | None


class ReadinessFindingCause(TypedDict):
    """The write that caused the finding"""

    # `workspace`: a rule setting of the workspace; `code_set`: a code set that was loaded, such as `nppes`
    kind: Literal[
        "payer", "patient", "provider", "facility", "encounter", "document", "workspace", "code_set",
    ]
    # The caller's id of the record
    id: str
    # Number in the history: 1, 2, 3 …; also the `ETag`
    version: int
    event_id: str
    # Who did it
    principal: ReadinessFindingCausePrincipal


class ReadinessFinding(TypedDict):
    """A problem with billing an encounter."""

    # The code of a rule of the service; or of a rule of a payer: `payer.` and its id
    rule: str
    # `blocks`: the payer would refuse the claim; `warns`: it may
    severity: Literal["blocks", "warns"]
    # Who puts it right: `registration` the patient and coverage, `clinician` the encounter, `credentialing` the provider, `practice` the facility, `billing` the payer and the claim
    owner: Literal[
        "registration", "clinician", "credentialing", "practice", "billing",
    ]
    # What is wrong, without any values
    text: str
    # The source of the requirement
    source: str
    codes: RuleCodes
    # The field at fault, in dot notation if nested
    field: str
    # The record at fault, in the version that was evaluated
    record: ReadinessFindingRecord
    # For `duplicate_of_billed`: the claim by which the other encounter was billed
    claim_id: NotRequired[str]
    # For `changed_after_billing`: the version of the record that was billed, or acknowledged since
    billed_version: NotRequired[int]
    # Since when the finding has existed without interruption: the time of `cause`, or a later time at which it began without a write
    since: str
    # The write that caused the finding
    cause: ReadinessFindingCause
    answers: FindingAnswers


class RuleCodes(TypedDict):
    """Bare codes under which a claim with such a finding is refused."""

    # Of a claim status in a 277CA, such as `562`
    status: NotRequired[list[str]]
    # Claim adjustment reason codes, such as `16`
    carc: NotRequired[list[str]]
    # Remittance advice remark codes, such as `N257`
    rarc: NotRequired[list[str]]
    # Boxes of the CMS-1500, such as `1a`
    box: NotRequired[list[str]]


class FindingAnswersAcceptedPrincipal(TypedDict):
    """Who recorded it"""

    type: Literal["api_key", "source", "user", "operator", "service"]
    id: str
    # Name of the key or user; kept after deletion
    name: str | None


class FindingAnswersAccepted(TypedDict):
    """Holds for this version of the record at fault, and until the end of the day"""

    # When it was recorded
    at: str
    # Who recorded it
    principal: FindingAnswersAcceptedPrincipal
    reason: str
    # The last day of it, in the time zone of the workspace
    until: str
    # Of the record at fault
    version: int


class FindingAnswersSnoozedPrincipal(TypedDict):
    """Who recorded it"""

    type: Literal["api_key", "source", "user", "operator", "service"]
    id: str
    # Name of the key or user; kept after deletion
    name: str | None


class FindingAnswersSnoozed(TypedDict):
    # When it was recorded
    at: str
    # Who recorded it
    principal: FindingAnswersSnoozedPrincipal
    # The last day of it, in the time zone of the workspace
    until: str
    # Of the record at fault
    version: int


class FindingAnswersAssignedPrincipal(TypedDict):
    """Who recorded it"""

    type: Literal["api_key", "source", "user", "operator", "service"]
    id: str
    # Name of the key or user; kept after deletion
    name: str | None


class FindingAnswersAssigned(TypedDict):
    # When it was recorded
    at: str
    # Who recorded it
    principal: FindingAnswersAssignedPrincipal
    to: str


class FindingAnswersNotedPrincipal(TypedDict):
    """Who recorded it"""

    type: Literal["api_key", "source", "user", "operator", "service"]
    id: str
    # Name of the key or user; kept after deletion
    name: str | None


class FindingAnswersNoted(TypedDict):
    # When it was recorded
    at: str
    # Who recorded it
    principal: FindingAnswersNotedPrincipal
    note: str
    # Of the record at fault
    version: int


class FindingAnswers(TypedDict):
    """The last answers to a finding, also those that no longer hold; empty if there were none."""

    # Holds for this version of the record at fault, and until the end of the day
    accepted: NotRequired[FindingAnswersAccepted]
    snoozed: NotRequired[FindingAnswersSnoozed]
    assigned: NotRequired[FindingAnswersAssigned]
    noted: NotRequired[FindingAnswersNoted]


class ReadinessRepairRecord(TypedDict):
    kind: Kind
    # The caller's id of the record
    id: str
    # Number in the history: 1, 2, 3 …; also the `ETag`
    version: int


ReadinessRepair = TypedDict("ReadinessRepair", {"field": "str", "from": "str", "value": "str", "record": "ReadinessRepairRecord"})


class WorklistCountsStates(TypedDict):
    """Encounters in each state; with the filter `rule`, only those with a finding of that rule"""

    ready: int
    self_pay: int
    blocked: int
    rejected: int
    not_completed: int
    voided: int


class WorklistCounts(TypedDict):
    """How many there are. `null` if more than one of `owner`, `payer_id`, `facility_id`, `provider_id`, `billed`, `assigned_to`, `answered` and the days is used as a filter, with `filing_from` and `filing_to`, and with `as_of`"""

    # Encounters in each state; with the filter `rule`, only those with a finding of that rule
    states: WorklistCountsStates
    # Encounters with a finding of each rule; with the filter `state`, only those in that state
    rules: dict[str, Any]


class WorklistProgressUnderWay(TypedDict):
    kind: Literal[
        "payer", "patient", "provider", "facility", "encounter", "workspace", "code_set",
    ]
    id: str
    done: int
    total: int


class WorklistProgress(TypedDict):
    """How up to date the list is"""

    # Whether the list includes every write that was answered before the request
    is_current: bool
    # Changes that are under way, for which the response does not wait, and how many of the encounters that depend on each have been evaluated since; `workspace`: a rule was set; `code_set`: a code set was loaded
    under_way: list[WorklistProgressUnderWay]


class Worklist(TypedDict):
    """Encounters, with what prevents billing them."""

    items: list[WorklistItem]
    # Pass it as `page_token` to get the next page; `null` on the last page
    next_page_token: str | None
    # How many there are. `null` if more than one of `owner`, `payer_id`, `facility_id`, `provider_id`, `billed`, `assigned_to`, `answered` and the days is used as a filter, with `filing_from` and `filing_to`, and with `as_of`
    counts: WorklistCounts | None
    # How up to date the list is
    progress: WorklistProgress


class WorklistItemBilled(TypedDict):
    """The last claim that was sent for it; `null` if none was reported"""

    # When it was reported
    at: str
    # The sender's id of the claim
    claim_id: str
    # What became of it last; `null` if nothing was reported
    outcome: Literal["accepted", "rejected", "denied", "paid"] | None


class WorklistItemFiling(TypedDict):
    """`null` if no filing limit of the payer is known, it got a claim for the encounter in time, or the patient pays"""

    # How long after the day of service the payer takes a claim, as an ISO 8601 duration
    limit: str
    # The last day, in the time zone of the workspace, on which the payer of the primary insurance takes a claim
    last_day: str
    # Days up to then: 0 on the last day, negative once it has passed
    days_left: int


class WorklistItem(TypedDict):
    """An encounter, and what is in the way of billing it."""

    # The caller's id of the encounter
    id: str
    state: Literal[
        "ready", "self_pay", "blocked", "rejected", "not_completed", "voided",
    ]
    date_of_service: str | None
    patient_id: str | None
    # Payer of the patient's primary insurance
    payer_id: str | None
    facility_id: str | None
    provider_id: str | None
    # The last claim that was sent for it; `null` if none was reported
    billed: WorklistItemBilled | None
    # `null` if no filing limit of the payer is known, it got a claim for the encounter in time, or the patient pays
    filing: WorklistItemFiling | None
    findings: list[WorklistFinding]


class WorklistFindingRecord(TypedDict):
    """The record at fault"""

    kind: Kind
    id: str


class WorklistFindingAnswer(TypedDict):
    """What holds of the answers to it; `null` if nobody has dealt with it"""

    # The last day for which it is accepted, and does not block
    accepted_until: str | None
    # The last day for which it is snoozed
    snoozed_until: str | None
    assigned_to: str | None
    # Whether this version of the record at fault has a note on it
    is_noted: bool


class WorklistFinding(TypedDict):
    """A problem with billing an encounter."""

    # The code of a rule of the service; or of a rule of a payer: `payer.` and its id
    rule: str
    severity: Literal["blocks", "warns"]
    # Who puts it right: `registration` the patient and coverage, `clinician` the encounter, `credentialing` the provider, `practice` the facility, `billing` the payer and the claim
    owner: Literal[
        "registration", "clinician", "credentialing", "practice", "billing",
    ]
    # The field at fault, in dot notation if nested
    field: str
    # The record at fault
    record: WorklistFindingRecord
    # What holds of the answers to it; `null` if nobody has dealt with it
    answer: WorklistFindingAnswer | None


class ReadinessCausesProgressUnderWay(TypedDict):
    kind: Literal[
        "payer", "patient", "provider", "facility", "encounter", "workspace", "code_set",
    ]
    id: str
    done: int
    total: int


class ReadinessCausesProgress(TypedDict):
    """How up to date the list is"""

    # Whether the list includes every write that was answered before the request
    is_current: bool
    # Changes that are under way, for which the response does not wait, and how many of the encounters that depend on each have been evaluated since; `workspace`: a rule was set; `code_set`: a code set was loaded
    under_way: list[ReadinessCausesProgressUnderWay]


class ReadinessCauses(TypedDict):
    """What is in the way of encounters, grouped."""

    items: list[ReadinessCause]
    # Pass it as `page_token` to get the next page; `null` on the last page
    next_page_token: str | None
    # Encounters with at least one of the findings
    encounters: int
    # Whether every encounter of the selection was counted. `false` if there are more than 100,000: narrow it
    is_whole: bool
    # How up to date the list is
    progress: ReadinessCausesProgress


class ReadinessCauseRecord(TypedDict):
    """The record at fault, or what the encounters have in common as `group_by` says; `null` for encounters without one"""

    kind: Kind
    id: str


class ReadinessCauseFiling(TypedDict):
    """The first filing limit of these encounters; `null` without"""

    # How long after the day of service the payer takes a claim, as an ISO 8601 duration
    limit: str
    # The last day, in the time zone of the workspace, on which the payer of the primary insurance takes a claim
    last_day: str
    # Days up to then: 0 on the last day, negative once it has passed
    days_left: int


class ReadinessCause(TypedDict):
    """Findings of one rule with one record in common."""

    # The code of a rule of the service; or of a rule of a payer: `payer.` and its id
    rule: str
    # Of the most severe of the findings
    severity: Literal["blocks", "warns"]
    # Who puts it right: `registration` the patient and coverage, `clinician` the encounter, `credentialing` the provider, `practice` the facility, `billing` the payer and the claim
    owner: Literal[
        "registration", "clinician", "credentialing", "practice", "billing",
    ]
    # What the rule requires
    title: str
    codes: RuleCodes
    # The record at fault, or what the encounters have in common as `group_by` says; `null` for encounters without one
    record: ReadinessCauseRecord | None
    # Encounters with the finding
    encounters: int
    # How many of them are blocked, and this is one of the reasons
    blocked: int
    # The earliest day of service of these encounters, as it was sent
    oldest_day: str | None
    # The first filing limit of these encounters; `null` without
    filing: ReadinessCauseFiling | None
    # The first of the encounters, at most five
    encounter_ids: list[str]


class CauseAnsweredProgressUnderWay(TypedDict):
    kind: Literal[
        "payer", "patient", "provider", "facility", "encounter", "workspace", "code_set",
    ]
    id: str
    done: int
    total: int


class CauseAnsweredProgress(TypedDict):
    """How up to date the list is"""

    # Whether the list includes every write that was answered before the request
    is_current: bool
    # Changes that are under way, for which the response does not wait, and how many of the encounters that depend on each have been evaluated since; `workspace`: a rule was set; `code_set`: a code set was loaded
    under_way: list[CauseAnsweredProgressUnderWay]


class CauseAnswered(TypedDict):
    """An answer was recorded for encounters of a cause."""

    # Always `true`
    success: bool
    message: str
    # Encounters for which it was recorded
    updated: int
    # Encounters for which the same was recorded before
    unchanged: int
    # Encounters of the worklist in which the rule no longer finds it, or that were erased
    gone: int
    # To continue with the next encounters; `null` after the last
    next_page_token: str | None
    # How up to date the list is
    progress: CauseAnsweredProgress


class CauseAnswerRecord(TypedDict):
    """The record at fault"""

    kind: Kind
    # The caller's id of the record
    id: str


class CauseAnswer(TypedDict):
    """An answer to everything that a rule finds in one record."""

    # The rule of the finding
    rule: str
    # The record at fault
    record: CauseAnswerRecord
    # The version of the record at fault that you mean: 412 if it is no longer current
    version: NotRequired[int]
    # `accepted`: it no longer blocks, until the record has another version or `until` is over; `snoozed`: nobody has to look at it, under the same conditions; `assigned`: to `assigned_to`; `noted`: see `note`; `reopened`: it is no longer accepted or snoozed
    answer: Literal["accepted", "assigned", "noted", "snoozed", "reopened"]
    # Why it is accepted; with `accepted`
    reason: NotRequired[str]
    # The last day, in the time zone of the workspace, for which it is accepted or snoozed; with these two
    until: NotRequired[str]
    # To whom it is assigned, as you call them; `null`: to nobody; with `assigned`
    assigned_to: NotRequired[str | None]
    # What is to be known about it; with `noted`
    note: NotRequired[str]
    # Maximum number of encounters to answer with this request
    limit: NotRequired[int]
    # The `next_page_token` of the previous response
    page_token: NotRequired[str]


class FindingAnswerWritten(TypedDict):
    """An answer to a finding was recorded."""

    # Always `true`
    success: bool
    message: str
    # The current version of the encounter
    version: int
    # `unchanged`: the same was recorded before; nothing was written
    outcome: Literal["updated", "unchanged"]


class FindingAnswerRecord(TypedDict):
    """The record at fault; may be left out where the rule finds something in one record of the encounter only"""

    kind: Kind
    # The caller's id of the record
    id: str


class FindingAnswer(TypedDict):
    """An answer to what a rule finds in a record, for one encounter."""

    # The rule of the finding
    rule: str
    # The record at fault; may be left out where the rule finds something in one record of the encounter only
    record: NotRequired[FindingAnswerRecord]
    # The version of the record at fault that you mean: 412 if it is no longer current
    version: NotRequired[int]
    # `accepted`: it no longer blocks, until the record has another version or `until` is over; `snoozed`: nobody has to look at it, under the same conditions; `assigned`: to `assigned_to`; `noted`: see `note`; `reopened`: it is no longer accepted or snoozed
    answer: Literal["accepted", "assigned", "noted", "snoozed", "reopened"]
    # Why it is accepted; with `accepted`
    reason: NotRequired[str]
    # The last day, in the time zone of the workspace, for which it is accepted or snoozed; with these two
    until: NotRequired[str]
    # To whom it is assigned, as you call them; `null`: to nobody; with `assigned`
    assigned_to: NotRequired[str | None]
    # What is to be known about it; with `noted`
    note: NotRequired[str]


class PayerRules(TypedDict):
    """The rules of payers in a workspace."""

    # The rules by their ids
    rules: dict[str, Any]


class PayerRulePayer(TypedDict):
    """The payer of the primary insurance for which it holds, by all that is given; omitted: any"""

    # The caller's id of the payer
    id: NotRequired[str]
    # Its `payer_code`; case does not count
    code: NotRequired[str]
    # Its `payer_type`; case does not count
    type: NotRequired[str]


class PayerRuleWhenMust(TypedDict):
    """What a value has to be. Without a value, only `present` is not met"""

    # The whole value matches: characters, classes, bounded counts and alternatives; case counts
    pattern: NotRequired[str]
    # `true`: it has a value; `false`: it has none
    present: NotRequired[bool]
    # It is one of these values; case does not count
    one_of: NotRequired[list[str]]
    # It has the value of this field; case does not count, of times only the day
    same_as: NotRequired[str]
    # Its day is before that of this field, or before this day
    before: NotRequired[str]


class PayerRuleWhen(TypedDict):
    # A field that a claim uses, as the part of the claim and the field of its record
    field: str
    # What a value has to be. Without a value, only `present` is not met
    must: PayerRuleWhenMust


class PayerRuleMust(TypedDict):
    """What a value has to be. Without a value, only `present` is not met"""

    # The whole value matches: characters, classes, bounded counts and alternatives; case counts
    pattern: NotRequired[str]
    # `true`: it has a value; `false`: it has none
    present: NotRequired[bool]
    # It is one of these values; case does not count
    one_of: NotRequired[list[str]]
    # It has the value of this field; case does not count, of times only the day
    same_as: NotRequired[str]
    # Its day is before that of this field, or before this day
    before: NotRequired[str]


class PayerRule(TypedDict):
    """What a payer demands of claims."""

    # The payer of the primary insurance for which it holds, by all that is given; omitted: any
    payer: NotRequired[PayerRulePayer]
    # It holds only where all of these are met; one without a value meets only `present: false`
    when: NotRequired[list[PayerRuleWhen]]
    # A field that a claim uses, as the part of the claim and the field of its record
    field: str
    # What a value has to be. Without a value, only `present` is not met
    must: PayerRuleMust
    severity: Literal["blocks", "warns"]
    # What is to be put right, without any value of a record
    text: str
    codes: NotRequired[RuleCodes]


class PayerRulesWritten(TypedDict):
    """Rules of payers were set."""

    # Always `true`
    success: bool
    message: str
    # `unchanged`: they were so already; nothing was written
    outcome: Literal["updated", "unchanged"]


class CodeSets(TypedDict):
    """The code sets that rules use."""

    code_sets: list[CodeSet]


class CodeSet(TypedDict):
    """A code set that rules use."""

    # `nucc`: taxonomy codes; `nppes`: NPIs; `clia`: CLIA numbers; `payers`: the payer IDs of a clearinghouse
    set: Literal["nucc", "nppes", "clia", "payers"]
    # What the publisher calls it, such as a date
    release: str | None
    # How many codes; of `nppes` and `clia`, of those that records had when it was loaded
    codes: int
    # How many of these have ended: deactivated NPIs, terminated CLIA numbers
    ended: int
    # How many numbers that records had are not in the file
    unknown: int
    # When it was loaded
    loaded_at: str


class ClaimDraft(TypedDict):
    """What is known of a claim for an encounter."""

    # The caller's id of the encounter
    encounter_id: str
    # Whether the encounter can be billed
    state: Literal[
        "ready", "self_pay", "blocked", "rejected", "not_completed", "voided",
    ]
    # What a claim needs besides, and the service does not have
    missing: list[Literal["diagnosis", "lines", "charges"]]
    # The draft as a FHIR R4 `Claim`. It contains the records on which it is based; each has an extension `urn:chartledger:fhir:record` with the kind, id and version of the record
    claim: dict[str, Any]


class BillingWritten(TypedDict):
    """Something was recorded about the billing of an encounter."""

    # Always `true`
    success: bool
    message: str
    # The current version of the encounter
    version: int
    # `created`: billed for the first time; `updated`: something had been recorded before; `unchanged`: everything was already recorded
    outcome: Literal["created", "updated", "unchanged"]
    # The versions that the claim is based on; roles that it does not have are omitted
    versions: list[UsedVersion]
    # The findings of its readiness, prefixed with the kind of the record: `patient.zip_code`
    warnings: list[FieldMessage]


class BilledClaim(TypedDict):
    """A claim that was sent for an encounter."""

    # The caller's id for the claim that was sent
    claim_id: str
    # The version of the encounter that you mean: 412 if it is no longer current
    version: NotRequired[int]


class BillingAcknowledgement(TypedDict):
    """Acknowledges that changes made after billing need no new claim."""

    # Why no new claim is sent
    reason: str
    # The version of the encounter that you mean: 412 if it is no longer current
    version: NotRequired[int]


class ClaimOutcomeWritten(TypedDict):
    """What became of a claim was recorded."""

    # Always `true`
    success: bool
    message: str
    # The current version of the encounter
    version: int
    # `created`: billed for the first time; `updated`: something had been recorded before; `unchanged`: everything was already recorded
    outcome: Literal["created", "updated", "unchanged"]


class ClaimOutcomeStatuses(TypedDict):
    category: str
    code: str
    entity: NotRequired[str]


class ClaimOutcomeAdjustments(TypedDict):
    group: str
    code: str


class ClaimOutcome(TypedDict):
    """What became of a claim: codes as they were sent, without what they mean."""

    # The X12 transaction that it comes from, or `other`
    source: Literal["835", "277CA", "other"]
    # `accepted`; `rejected`: the payer has not taken the claim in; `denied`: the payer does not pay; `paid`
    outcome: Literal["accepted", "rejected", "denied", "paid"]
    # The status codes of a 277CA (STC), as sent
    statuses: NotRequired[list[ClaimOutcomeStatuses]]
    # The groups and reason codes of an 835 (CAS), as sent
    adjustments: NotRequired[list[ClaimOutcomeAdjustments]]
    # The remark codes of an 835 (LQ, MIA, MOA), as sent
    remarks: NotRequired[list[str]]
    # The number that the payer gave the claim: a replacement refers to it
    payer_claim_number: NotRequired[str]


BatchLine = Union[
    "PayerLine", "PatientLine", "ProviderLine", "FacilityLine", "EncounterLine",
]


class PayerLine(TypedDict):
    """One payer of a batch."""

    # discriminator enum property added by openapi-typescript
    kind: Literal["payer"]
    record: Payer
    # Write only if the record has this version, or with `*`, only if it exists
    if_match: NotRequired[int | Literal["*"]]


class PatientLine(TypedDict):
    """One patient of a batch."""

    # discriminator enum property added by openapi-typescript
    kind: Literal["patient"]
    record: Patient
    # Write only if the record has this version, or with `*`, only if it exists
    if_match: NotRequired[int | Literal["*"]]


class ProviderLine(TypedDict):
    """One provider of a batch."""

    # discriminator enum property added by openapi-typescript
    kind: Literal["provider"]
    record: Provider
    # Write only if the record has this version, or with `*`, only if it exists
    if_match: NotRequired[int | Literal["*"]]


class FacilityLine(TypedDict):
    """One facility of a batch."""

    # discriminator enum property added by openapi-typescript
    kind: Literal["facility"]
    record: Facility
    # Write only if the record has this version, or with `*`, only if it exists
    if_match: NotRequired[int | Literal["*"]]


class EncounterLine(TypedDict):
    """One encounter of a batch."""

    # discriminator enum property added by openapi-typescript
    kind: Literal["encounter"]
    record: Encounter
    # Write only if the record has this version, or with `*`, only if it exists
    if_match: NotRequired[int | Literal["*"]]


class ImportRecorded(TypedDict):
    """The file is in the audit trail."""

    # Always `true`
    success: bool
    message: str


class ImportedFile(TypedDict):
    """A file whose records were all answered. Names of files are not sent: they can contain patient data."""

    # SHA-256 of the bytes of the file
    sha256: str
    # The format of the file
    format: Literal["csv", "fhir", "hl7v2", "ndjson"]
    # Where the file came from: an export or a search of an EMR, or a watched folder
    origin: Literal["bulk_export", "search", "folder"]
    # Number of its records or messages that were accepted
    accepted: int
    # Number of its records or messages that were rejected
    rejected: int


class FoundPage(TypedDict):
    """A page of results."""

    items: list[Found]
    # Pass it as `page_token` to get the next page; `null` on the last page
    next_page_token: str | None


class Found(TypedDict):
    """A record or document that was found."""

    kind: Literal[
        "payer", "patient", "provider", "facility", "encounter", "document",
    ]
    # The id that it was sent with
    id: str
    # Its name, or the name of its file; its id if it has none
    title: str
    # What distinguishes it from others with the same name: dates, numbers, and the ids that it refers to, by field name. For a document, its `encounter_id` and `category`
    details: dict[str, Any]
    # `whole`: its entire id or number matches; `words`: it contains all of the words; `beginnings`: it contains words that begin with them
    matched: Literal["whole", "words", "beginnings"]
    # Always `true`: the document was removed
    removed: NotRequired[bool]
    # Number in the history: 1, 2, 3 …; also the `ETag`
    version: int
    # When it was created
    created_at: str
    # When it was last sent; for a removed document, when it was removed
    updated_at: str


class Search(TypedDict):
    """What to search for."""

    # Words that must all match
    q: str
    # Only this kind
    kind: NotRequired[Literal[
        "payer", "patient", "provider", "facility", "encounter", "document",
    ]]
    # Items per page, 1 to 100; default 20
    limit: NotRequired[int]
    # The `next_page_token` of the previous page
    page_token: NotRequired[str]


class DocumentUploaded(TypedDict):
    """A document was stored."""

    # Always `true`
    success: bool
    # The caller's document identifier
    document_id: str
    # Number in the history: 1, 2, 3 …; also the `ETag`
    version: int
    # Fields of the form that were not stored
    warnings: list[FieldMessage]


class DocumentPage(TypedDict):
    """A page of the documents of an encounter."""

    items: list[Document]
    # Pass it as `page_token` to get the next page; `null` on the last page
    next_page_token: str | None
    # Ids of items omitted from this page because this version of the service cannot read an event in their history: a newer version wrote it, or its bytes were changed. Usually empty
    unreadable: list[str]


class Document(TypedDict):
    """A document of an encounter, without its file."""

    # The caller's document identifier
    document_id: str
    # What the document is
    category: DocumentCategory
    # As sent
    filename: str
    content_type: Literal[
        "application/pdf", "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ]
    # Bytes
    size: int
    # Digest of the file, lowercase hex
    sha256: str
    # Number in the history: 1, 2, 3 …; also the `ETag`
    version: int
    # When the document was first uploaded
    created_at: str
    # When its file was last replaced
    updated_at: str


class DocumentRemoved(TypedDict):
    """A document was removed."""

    # Always `true`
    success: bool
    message: str


class DocumentHistoryPage(TypedDict):
    """A page of the versions of a document, newest first."""

    items: list[DocumentVersion]
    # Pass it as `page_token` to get the next page; `null` on the last page
    next_page_token: str | None


class DocumentVersionPrincipal(TypedDict):
    """Who sent it"""

    type: Literal["api_key", "source", "user", "operator", "service"]
    id: str
    # Name of the key or user; kept after deletion
    name: str | None


class DocumentVersionSource(TypedDict):
    """The EMR message that it came from; omitted if it came in another way"""

    # Id of the source
    id: str
    # Id of the message, which is kept for a limited time
    message: str
    # Number of the source configuration that the message was reprocessed with; omitted if it was processed on arrival
    configuration: NotRequired[int]


class DocumentVersion(TypedDict):
    """A version of a document. Removals and erasures have no file: their file fields are `null`."""

    # Number in the history: 1, 2, 3 …; also the `ETag`
    version: int
    # Id of the event in the event log
    event_id: str
    type: Literal["DocumentUploaded", "DocumentRemoved", "DocumentErased"]
    # When the version was stored
    recorded_at: str
    # Who sent it
    principal: DocumentVersionPrincipal
    # The client IP address that it was sent from
    client_ip: str | None
    user_agent: str | None
    # The `Request-Id` of the write
    request_id: str
    # Only for what an undo wrote: the id of the event that it undid
    reverts: NotRequired[str]
    # The EMR message that it came from; omitted if it came in another way
    source: NotRequired[DocumentVersionSource]
    # Only for an erasure: why all versions before it were erased
    reason: NotRequired[str]
    # What the document is
    category: DocumentCategory | None
    # As sent
    filename: str | None
    content_type: Literal[
        "application/pdf", "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ] | None
    # Bytes
    size: int | None
    # Digest of the file, lowercase hex
    sha256: str | None
    # Whether the file can still be downloaded, using `version`
    content_available: bool


class WebhookWithSecretCreatedBy(TypedDict):
    """Who made it"""

    type: Literal["api_key", "source", "user", "operator", "service"]
    id: str
    # Name of the key or user; kept after deletion
    name: str | None


class WebhookWithSecret(TypedDict):
    """A webhook and its new secret."""

    id: str
    # The URL to send messages to: `https`, with a public address
    url: str
    description: str | None
    kinds: list[Literal[
        "payer", "patient", "provider", "facility", "encounter", "document", "readiness",
    ]] | None
    types: list[EventType] | None
    payload: Literal["reference", "full", "limited", "deidentified"]
    unchanged: Literal["skip", "send"]
    recipient: str | None
    recipient_address: str | None
    purpose: Literal["treatment", "payment", "operations", "other"] | None
    purpose_statement: str | None
    # Sending starts with the first event after this position
    start_after: str
    state: Literal["enabled", "disabled"]
    # `caller`: it was disabled on request; `key_deleted`: the key that created it was deleted; `gone`: its endpoint returned 410; `failing`: its endpoint accepted nothing for five days
    disabled_reason: Literal["caller", "key_deleted", "gone", "failing"] | None
    # Until when messages are also signed with the previous secret
    previous_secret_expires_at: str | None
    # When it was made
    created_at: str
    # Who made it
    created_by: WebhookWithSecretCreatedBy
    # When it was last changed
    updated_at: str
    # The secret to verify messages with; shown only this once
    secret: str


class WebhookPage(TypedDict):
    """A page of webhooks."""

    items: list[WebhookStatus]
    # Pass it as `page_token` to get the next page; `null` on the last page
    next_page_token: str | None


class WebhookStatusCreatedBy(TypedDict):
    """Who made it"""

    type: Literal["api_key", "source", "user", "operator", "service"]
    id: str
    # Name of the key or user; kept after deletion
    name: str | None


class WebhookStatusDelivery(TypedDict):
    """The delivery status"""

    # Every event up to this position was accepted, is waiting for a retry, or was given up
    position: str
    # Waiting messages, including those of a disabled webhook; of events that have not been examined yet, at most 1,000 are counted
    pending: int
    # Whether there are no more. `false`: these are the least, as there are 1,000, or the log could not be read to its end within a second
    pending_is_exact: bool
    # When the event of the oldest waiting message was recorded; `null` if none is waiting
    oldest_pending_at: str | None
    # Records and documents whose messages are waiting because their oldest message has not been accepted yet
    blocked: int
    # Messages that were given up after the last attempt, counted up to 1,000
    failed: int
    # When a message was last accepted
    last_success_at: str | None
    # Since when no message has been accepted; `null` if the last one was
    failing_since: str | None
    # `secret_unreadable`: nothing is sent, because the secret cannot be decrypted with the service's key (`WEBHOOK_SECRETS_KEY`); rotate the secret to fix this
    problem: Literal["secret_unreadable"] | None


class WebhookStatus(TypedDict):
    """A webhook, with its delivery status."""

    id: str
    # The URL to send messages to: `https`, with a public address
    url: str
    description: str | None
    kinds: list[Literal[
        "payer", "patient", "provider", "facility", "encounter", "document", "readiness",
    ]] | None
    types: list[EventType] | None
    payload: Literal["reference", "full", "limited", "deidentified"]
    unchanged: Literal["skip", "send"]
    recipient: str | None
    recipient_address: str | None
    purpose: Literal["treatment", "payment", "operations", "other"] | None
    purpose_statement: str | None
    # Sending starts with the first event after this position
    start_after: str
    state: Literal["enabled", "disabled"]
    # `caller`: it was disabled on request; `key_deleted`: the key that created it was deleted; `gone`: its endpoint returned 410; `failing`: its endpoint accepted nothing for five days
    disabled_reason: Literal["caller", "key_deleted", "gone", "failing"] | None
    # Until when messages are also signed with the previous secret
    previous_secret_expires_at: str | None
    # When it was made
    created_at: str
    # Who made it
    created_by: WebhookStatusCreatedBy
    # When it was last changed
    updated_at: str
    # The delivery status
    delivery: WebhookStatusDelivery


class WebhookCreatedBy(TypedDict):
    """Who made it"""

    type: Literal["api_key", "source", "user", "operator", "service"]
    id: str
    # Name of the key or user; kept after deletion
    name: str | None


class Webhook(TypedDict):
    """An endpoint that events are sent to, without its secrets."""

    id: str
    # The URL to send messages to: `https`, with a public address
    url: str
    description: str | None
    kinds: list[Literal[
        "payer", "patient", "provider", "facility", "encounter", "document", "readiness",
    ]] | None
    types: list[EventType] | None
    payload: Literal["reference", "full", "limited", "deidentified"]
    unchanged: Literal["skip", "send"]
    recipient: str | None
    recipient_address: str | None
    purpose: Literal["treatment", "payment", "operations", "other"] | None
    purpose_statement: str | None
    # Sending starts with the first event after this position
    start_after: str
    state: Literal["enabled", "disabled"]
    # `caller`: it was disabled on request; `key_deleted`: the key that created it was deleted; `gone`: its endpoint returned 410; `failing`: its endpoint accepted nothing for five days
    disabled_reason: Literal["caller", "key_deleted", "gone", "failing"] | None
    # Until when messages are also signed with the previous secret
    previous_secret_expires_at: str | None
    # When it was made
    created_at: str
    # Who made it
    created_by: WebhookCreatedBy
    # When it was last changed
    updated_at: str


class WebhookDeleted(TypedDict):
    """A webhook was deleted."""

    # Always `true`
    success: bool
    message: str


class WebhookPingRequested(TypedDict):
    """A ping will be sent."""

    # Always `true`
    success: bool
    message: str
    # The `webhook-id` of the message
    message_id: str


class WebhookRetryRequested(TypedDict):
    """Waiting messages are retried now."""

    # Always `true`
    success: bool
    message: str


class WebhookReplayRequested(TypedDict):
    """Messages will be sent again."""

    # Always `true`
    success: bool
    message: str


class WebhookAttemptPage(TypedDict):
    """A page of attempts, newest first."""

    items: list[WebhookAttempt]
    # Pass it as `page_token` to get the next page; `null` on the last page
    next_page_token: str | None


class WebhookAttempt(TypedDict):
    """An attempt to deliver a message."""

    # The `webhook-id` of the message
    message_id: str
    # Type of the event
    type: str
    # Kind of the record that the message is about
    kind: NotRequired[Literal[
        "payer", "patient", "provider", "facility", "encounter", "document",
    ]]
    # Its id; for a document, the id of its encounter
    record_id: NotRequired[str]
    # Id of the document
    document_id: NotRequired[str]
    # Version of the record that the event created; omitted if it created none
    version: NotRequired[int]
    # Position of the event: the `sequence` of its CloudEvent
    position: NotRequired[str]
    # 1, 2, 3 …; 0 for a ping
    attempt: int
    # When it began
    at: str
    duration_ms: float
    # `retrying`: it is retried at `next_attempt_at`; `failed`: this was the last attempt
    outcome: Literal["delivered", "retrying", "failed"]
    # HTTP status of the response, if there was one
    status: NotRequired[int]
    # Why there was no valid response
    error: NotRequired[str]
    # The first 1,000 characters of the response body; only for keys with the permission `events`
    answer: NotRequired[str]
    # When it is tried again
    next_attempt_at: NotRequired[str]


class ConsumerList(TypedDict):
    """Consumers."""

    items: list[Consumer]


class Consumer(TypedDict):
    """Somebody who gets the events of the workspace, and how far behind."""

    # `reader`: of `GET /events`; `sink`: written by `chartledger sink`; `webhook`: events are sent to it
    type: Literal["webhook", "reader", "sink"]
    # The name that it gives itself; for a webhook, its id
    name: str
    # The key that it read with last; `null` for others
    key_id: str | None
    # The view of events, or the payload of the webhook
    contents: str
    # It got everything up to here
    position: str
    # Events that it has not got, at most 1,000
    pending: int
    # Whether there are no more. `false`: these are the least, as there are 1,000, or the log could not be read to its end within a second
    pending_is_exact: bool
    # When the oldest of these was recorded
    oldest_pending_at: str | None
    # When it read last; for a webhook, when it last accepted a message
    last_contact_at: str | None
    # Whether the service keeps its position
    resumes: bool


class ConsumerRemoved(TypedDict):
    """The consumer was removed."""

    # Always `true`
    success: bool
    message: str


class Deidentification(TypedDict):
    """How the de-identified view of a workspace is made."""

    # How the view is de-identified (45 CFR 164.514(b))
    method: Literal["safe_harbor", "expert_determination"]
    # `years`: only the years of dates (Safe Harbor, 45 CFR 164.514(b)(2)); `shifted`: all dates of a patient earlier by the same secret number of days, which is not Safe Harbor (Expert Determination, 164.514(b)(1))
    dates: Literal["years", "shifted"]
    # The expert determination that shifted dates rest on
    determination: str | None
    # The first three digits of the ZIP codes in whose area more than 20,000 people live, according to the Census; for others, the view has `000`. Empty: the view has no ZIP codes
    zip_areas: list[str]


class DeidentificationChanges(TypedDict):
    """What is to be set."""

    # `years`: only the years of dates (Safe Harbor, 45 CFR 164.514(b)(2)); `shifted`: all dates of a patient earlier by the same secret number of days, which is not Safe Harbor (Expert Determination, 164.514(b)(1))
    dates: NotRequired[Literal["years", "shifted"]]
    # The expert determination that shifted dates rest on
    determination: NotRequired[str]
    # The first three digits of the ZIP codes in whose area more than 20,000 people live, according to the Census; for others, the view has `000`. Empty: the view has no ZIP codes
    zip_areas: NotRequired[list[str]]


class RefusedRequestPage(TypedDict):
    """A page of refused requests, newest first."""

    items: list[RefusedRequest]
    # Pass it as `page_token` to get the next page; `null` on the last page
    next_page_token: str | None


class RefusedRequestLines(TypedDict):
    """For a batch that was accepted but had refused lines; otherwise `null`"""

    # Number of lines in the batch
    sent: int
    # Refused lines, by `code`
    refused: dict[str, Any]
    # Lines with a field at fault, by field name: the 20 most frequent
    fields: dict[str, Any]
    # The first 10 refused lines
    first: list[RefusedLine]


class RefusedRequest(TypedDict):
    """A refused request, without any data that it sent."""

    # The `Request-Id` of its response
    id: str
    # When it was refused
    refused_at: str
    method: str
    # Its path, with parameter names in place of their values
    route: str
    # The status of its response; 200 for a batch, whose lines have their own; for a message over MLLP, the status for the code below
    status: int
    # Why it was refused; for a batch, why most of its lines were refused
    code: Literal[
        "validation_failed", "malformed_body", "reference_not_found", "unauthorized", "key_deactivated",
        "key_expired", "address_not_allowed", "workspace_deactivated", "permission_denied", "reason_required",
        "gone", "previously_erased", "return_pending", "position_gone", "not_found", "method_not_allowed",
        "not_implemented", "not_acceptable", "request_timeout", "conflict", "idempotency_key_in_use",
        "idempotency_key_reused", "version_conflict", "payload_too_large", "unsupported_media_type",
        "range_not_satisfiable", "expectation_failed", "rate_limited", "headers_too_large", "internal",
        "overloaded", "unavailable", "unreadable",
    ]
    # Names of the fields, parameters and headers at fault, in dot notation if nested, at most 20; of a message, the places in it, such as `PID-7` or `Patient.name`; `unknown_field` stands for names that the API does not know. Never contains the values sent. Empty if no field was at fault
    fields: list[str]
    # What is wrong with each of `fields`; empty for a batch, and for what earlier versions refused
    faults: list[FieldFault]
    # For a batch that was accepted but had refused lines; otherwise `null`
    lines: RefusedRequestLines | None
    # What it was about
    kind: Literal[
        "payer", "patient", "provider", "facility", "encounter", "document",
    ] | None
    # The id of the record, if the request named one that a record can have; for a document, the id of its encounter
    record_id: str | None
    document_id: str | None
    # The client IP address that it came from
    client_ip: str | None
    user_agent: str | None
    # Its `X-Request-Id`
    client_request_id: str | None
    traceparent: str | None


class FieldFault(TypedDict):
    """What is wrong with a field, without its value."""

    # Its name, as in `fields`
    field: str
    # What is wrong: `required`, `reference_not_found`, `not_a_choice` (none of the possible values), `wrong_type`, `empty`, `wrong_length`, `out_of_range`, `no_date`, `repeated`, `unknown`, or else `invalid`
    code: Literal[
        "required", "reference_not_found", "not_a_choice", "wrong_type", "empty", "wrong_length",
        "out_of_range", "no_date", "repeated", "unknown", "invalid",
    ]
    # Of a reference: the kind of the missing record
    kind: str | None
    # Of a reference: the id of the missing record
    id: str | None


class RefusedLine(TypedDict):
    """A refused line of a batch."""

    # Its number, counted from 1
    line: int
    kind: str | None
    record_id: str | None
    code: Literal[
        "validation_failed", "malformed_body", "reference_not_found", "unauthorized", "key_deactivated",
        "key_expired", "address_not_allowed", "workspace_deactivated", "permission_denied", "reason_required",
        "gone", "previously_erased", "return_pending", "position_gone", "not_found", "method_not_allowed",
        "not_implemented", "not_acceptable", "request_timeout", "conflict", "idempotency_key_in_use",
        "idempotency_key_reused", "version_conflict", "payload_too_large", "unsupported_media_type",
        "range_not_satisfiable", "expectation_failed", "rate_limited", "headers_too_large", "internal",
        "overloaded", "unavailable", "unreadable",
    ]
    # At most 5
    faults: list[FieldFault]


class ReturnedRecords(TypedDict):
    """The records that were sent again after their erasure."""

    items: list[ReturnedRecord]
    # Pass it as `page_token` to get the next page; `null` on the last page
    next_page_token: str | None
    # What happens to a write of an erased record. `allow`: the record exists again, with the warning `previously_erased`; `refuse`: the write gets 410 `previously_erased`; `review`: it gets 409 `return_pending` until somebody decides.
    choice: Literal["allow", "refuse", "review"]


class ReturnedRecordPrincipal(TypedDict):
    """Who sent it, first where it was refused"""

    type: Literal["api_key", "source", "user", "operator", "service"]
    id: str
    # Name of the key or user; kept after deletion
    name: str | None


class ReturnedRecord(TypedDict):
    """A record that was sent again after its erasure."""

    kind: Kind
    # The id that the record was sent with.
    id: str
    # `returned`: it exists again. Otherwise what happens when it is sent: `waiting`: it is refused until somebody decides; `refused`; `allowed`: it returns
    state: Literal["returned", "waiting", "refused", "allowed"]
    # When it was erased
    erased_at: str
    # When it was first refused since
    refused_at: str | None
    # When it was written again
    returned_at: str | None
    # Its first version after the erasure
    version: int | None
    # Who sent it, first where it was refused
    principal: ReturnedRecordPrincipal | None
    # The `Request-Id` of that
    request_id: str | None
    decided: ReturnDecided


class ReturnDecidedPrincipal(TypedDict):
    """Who decided"""

    type: Literal["api_key", "source", "user", "operator", "service"]
    id: str
    # Name of the key or user; kept after deletion
    name: str | None


class ReturnDecided(TypedDict):
    """What was decided about the return of a record."""

    decision: Literal["allow", "refuse"]
    # Why; it is kept, so it must not identify the person concerned
    reason: str
    # When it was decided
    at: str
    # Who decided
    principal: ReturnDecidedPrincipal


class ReturnSet(TypedDict):
    """It was set."""

    # Always `true`
    success: bool
    message: str


class ReturnChoice(TypedDict):
    """A choice."""

    # What happens to a write of an erased record. `allow`: the record exists again, with the warning `previously_erased`; `refuse`: the write gets 410 `previously_erased`; `review`: it gets 409 `return_pending` until somebody decides.
    choice: Literal["allow", "refuse", "review"]


class ReturnDecision(TypedDict):
    """A decision about the return of an erased record."""

    kind: Kind
    # The id that the record was sent with.
    id: str
    decision: Literal["allow", "refuse"]
    # Why; it is kept, so it must not identify the person concerned
    reason: str


class AccessReviewWritten(TypedDict):
    """It was recorded."""

    # Always `true`
    success: bool
    message: str


class AccessJudgment(TypedDict):
    """What somebody concluded about a row of the report."""

    # The month, in the time zone of the workspace
    month: str
    # Of the row
    id: str
    # What was concluded
    note: str


class VipMark(TypedDict):
    """Whether a patient is marked as VIP."""

    # Whether access to the patient is in the report
    vip: bool


class OwnKey(TypedDict):
    """The key of the request, and what it may do."""

    id: str
    name: str
    # The workspace that it belongs to
    workspace: str
    permissions: list[Literal[
        "write", "read", "events", "events:limited", "events:deidentified", "webhooks", "audit", "settings",
        "write:payer", "write:patient", "write:provider", "write:facility", "write:encounter",
        "write:document", "read:payer", "read:patient", "read:provider", "read:facility", "read:encounter",
        "read:document",
    ]]
    # When it expires; `null` if it does not
    expires_at: str | None
    # What is read with it is disclosed for this; `null` if not stated
    purpose: Literal["treatment", "payment", "operations", "other"] | None
    # Who receives what is read; `null` if not stated
    recipient: str | None


class WriteQuery(TypedDict):
    # `true`: nothing is written; the response is the one that the write would get now, with `dry_run` and `changed_fields`
    dry_run: NotRequired[bool]
    # `skip`: if the write would change no field, no new version is created; the outcome is `unchanged`, with the current version. `append`: a new version is created. Default: the setting of the workspace, otherwise `append`
    unchanged: NotRequired[Literal["skip", "append"]]
    # Seconds, 0 to 10, to wait for referenced records that are missing; after that, the response is as usual
    wait: NotRequired[int]


class BatchQuery(TypedDict):
    # `true`: nothing is written; the response is the one that the write would get now, with `dry_run` and `changed_fields`
    dry_run: NotRequired[bool]
    # `skip`: if the write would change no field, no new version is created; the outcome is `unchanged`, with the current version. `append`: a new version is created. Default: the setting of the workspace, otherwise `append`
    unchanged: NotRequired[Literal["skip", "append"]]


class ReadQuery(TypedDict):
    # The version to read; cannot be combined with `as_of`
    version: NotRequired[int]
    # The time to read it as of: the last version recorded at or before it. A plain date means its first moment; a time without an offset is UTC
    as_of: NotRequired[str]


class ListQuery(TypedDict):
    # Items per page, 1 to 1,000
    limit: NotRequired[int]
    # The list as of this time: everything as its last version recorded at or before it, without what has been erased since. A plain date means its first moment; a time without an offset is UTC; not in the future
    as_of: NotRequired[str]
    # Default `created_at`: in the order of creation. `-updated_at`: most recently sent first; `limit` and `page_token` then follow the last change
    sort: NotRequired[Literal["created_at", "-updated_at"]]
    # Only records that were sent after this position of the event stream (`Chartledger-Position`), or at or after this time (ISO 8601). A plain date means its first moment; a time without an offset is UTC
    updated_since: NotRequired[str]
    # Default `strong`: the list includes every write that was answered before the request; while it is not up to date, the response is 503. `eventual`: the list as it is, without waiting; it includes every write up to `Chartledger-Position`, and may lack later ones and still show what was erased since
    consistency: NotRequired[Literal["strong", "eventual"]]


class EncounterListQuery(TypedDict):
    # Items per page, 1 to 1,000
    limit: NotRequired[int]
    # The list as of this time: everything as its last version recorded at or before it, without what has been erased since. A plain date means its first moment; a time without an offset is UTC; not in the future
    as_of: NotRequired[str]
    # Default `created_at`: in the order of creation. `-updated_at`: most recently sent first; `limit` and `page_token` then follow the last change
    sort: NotRequired[Literal["created_at", "-updated_at"]]
    # Only records that were sent after this position of the event stream (`Chartledger-Position`), or at or after this time (ISO 8601). A plain date means its first moment; a time without an offset is UTC
    updated_since: NotRequired[str]
    # Default `strong`: the list includes every write that was answered before the request; while it is not up to date, the response is 503. `eventual`: the list as it is, without waiting; it includes every write up to `Chartledger-Position`, and may lack later ones and still show what was erased since
    consistency: NotRequired[Literal["strong", "eventual"]]
    # Only records with this `patient_id`
    patient_id: NotRequired[str]
    # Only records with this `provider_id`
    provider_id: NotRequired[str]
    # Only records with this `facility_id`
    facility_id: NotRequired[str]
    # `true`: only records with `is_completed`; `false`: only records without it, including those where it was never sent
    is_completed: NotRequired[bool]
    # Only records with a date of service on or after this. A plain date is compared with the date as it was sent; a date-time without an offset is UTC
    date_of_service_from: NotRequired[str]
    # Only records with a date of service on or before this. A plain date is compared with the date as it was sent; a date-time without an offset is UTC
    date_of_service_to: NotRequired[str]


class WorklistQuery(TypedDict):
    # Items per page, 1 to 1,000
    limit: NotRequired[int]
    # Only encounters in this state
    state: NotRequired[Literal[
        "ready", "self_pay", "blocked", "rejected", "not_completed", "voided",
    ]]
    # Encounters with a finding of this rule
    rule: NotRequired[str]
    # Encounters with a finding that they put right
    owner: NotRequired[Literal[
        "registration", "clinician", "credentialing", "practice", "billing",
    ]]
    # Only encounters whose patient has primary insurance with this payer
    payer_id: NotRequired[str]
    # Only encounters at this facility
    facility_id: NotRequired[str]
    # Only encounters of this billing provider
    provider_id: NotRequired[str]
    # Only encounters with a day of service on or before this day
    to: NotRequired[str]
    # Only encounters whose last day for filing is this day or a later one
    filing_from: NotRequired[str]
    # Only encounters whose last day for filing is this day or an earlier one
    filing_to: NotRequired[str]
    # Only encounters for which a claim was reported (`true`), or none was (`false`): with `state=ready`, what is still to be billed
    billed: NotRequired[bool]
    # Only encounters with a finding that is assigned to them
    assigned_to: NotRequired[str]
    # Only encounters all of whose findings are accepted, snoozed, assigned or noted (`true`), or with a finding that is not (`false`); encounters without findings are neither
    answered: NotRequired[bool]
    # `filing`: by the last day on which the payer takes a claim, the earliest first, and then those without a filing limit
    sort: NotRequired[Literal["filing"]]
    # The list as of this time: everything as its last version recorded at or before it, without what has been erased since. A plain date means its first moment; a time without an offset is UTC; not in the future
    as_of: NotRequired[str]


class SearchQuery(TypedDict):
    # Only this kind
    kind: NotRequired[Literal[
        "payer", "patient", "provider", "facility", "encounter", "document",
    ]]
    # Items per page, 1 to 100; default 20
    limit: NotRequired[int]


class ReferenceData(TypedDict):
    """What happened and in which version, without values: the payload `reference`."""

    # Number in the history: 1, 2, 3 …; also the `ETag`
    version: int
    # The result. `removed`: a document was removed; `erased`: everything known about it was permanently erased, and must be erased from any copies
    outcome: Literal["created", "updated", "unchanged", "removed", "erased"]
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`
    changed: list[str]
    # Always `true`: the message would have contained values but would have been larger than 256 KB; read the record instead
    truncated: NotRequired[bool]


class ReferencePayerUpsertedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.payer.upserted.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    # What happened and in which version, without values: the payload `reference`.
    data: ReferenceData


class PayerUpsertedEventData(TypedDict):
    """The payload `full`"""

    # Number in the history: 1, 2, 3 …; also the `ETag`
    version: int
    sent: Payer
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`
    changed: list[str]


class PayerUpsertedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.payer.upserted.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    # The payload `full`
    data: PayerUpsertedEventData


class DeidentifiedPayerUpsertedEventDataSent(TypedDict):
    """The fields as sent; `null` cleared a field, and a field that is missing here kept its value; direct identifiers of a person are omitted"""

    # Keyed hash of the id: the same for the same id of a kind in a workspace
    id: str
    payer_type: NotRequired[Literal[
        "Private", "Medicare", "Medicaid", "Tricare", "Workers Compensation", "Self-Pay",
    ] | None]
    # The name of a town or city; other values are omitted
    city: NotRequired[str | None]
    # A USPS state code; other values are omitted
    state: NotRequired[State | None]
    # The first five digits; other values are omitted
    zip_code: NotRequired[str | None]
    # A two-letter country code; other values are omitted
    country: NotRequired[str | None]


class DeidentifiedPayerUpsertedEventData(TypedDict):
    # Number in the history of the record or document, or among the readiness events: 1, 2, 3 …
    version: int
    # The fields as sent; `null` cleared a field, and a field that is missing here kept its value; direct identifiers of a person are omitted
    sent: DeidentifiedPayerUpsertedEventDataSent
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`; omitted fields are not named
    changed: list[Literal["id", "payer_type", "city", "state", "zip_code", "country"]]


class DeidentifiedPayerUpsertedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.payer.upserted.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    data: DeidentifiedPayerUpsertedEventData


class undefinedPayerUpsertedEventDataSent(TypedDict):
    """The fields as sent; `null` cleared a field, and a field that is missing here kept its value; data that could identify a person is omitted"""

    # Keyed hash of the id: the same for the same id of a kind in a workspace
    id: str
    payer_type: NotRequired[Literal[
        "Private", "Medicare", "Medicaid", "Tricare", "Workers Compensation", "Self-Pay",
    ] | None]
    # A USPS state code; other values are omitted
    state: NotRequired[State | None]
    # The first three digits, if more than 20,000 people live in their area, otherwise `000`; left out while the workspace has no list of these areas
    zip_code: NotRequired[str | None]
    # A two-letter country code; other values are omitted
    country: NotRequired[str | None]


class undefinedPayerUpsertedEventData(TypedDict):
    # Number in the history of the record or document, or among the readiness events: 1, 2, 3 …
    version: int
    # The fields as sent; `null` cleared a field, and a field that is missing here kept its value; data that could identify a person is omitted
    sent: undefinedPayerUpsertedEventDataSent
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`; omitted fields are not named
    changed: list[Literal["id", "payer_type", "state", "zip_code", "country"]]


class undefinedPayerUpsertedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.payer.upserted.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    data: undefinedPayerUpsertedEventData


class ReferencePatientUpsertedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.patient.upserted.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    # What happened and in which version, without values: the payload `reference`.
    data: ReferenceData


class PatientUpsertedEventData(TypedDict):
    """The payload `full`"""

    # Number in the history: 1, 2, 3 …; also the `ETag`
    version: int
    sent: Patient
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`
    changed: list[str]


class PatientUpsertedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.patient.upserted.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    # The payload `full`
    data: PatientUpsertedEventData


class LimitedInsurance(TypedDict):
    """A patient's insurance, in a limited data set."""

    # Keyed hash of the id: the same for the same id of a kind in a workspace
    payer_id: str
    # A date, or a date and time
    effective_date: NotRequired[str | None]
    # A date, or a date and time
    termination_date: NotRequired[str | None]
    subscriber_relationship: NotRequired[Literal["self", "spouse", "child", "other"] | None]
    # A date, or a date and time
    subscriber_date_of_birth: NotRequired[str | None]
    # The name of a town or city; other values are omitted
    subscriber_city: NotRequired[str | None]
    # A USPS state code; other values are omitted
    subscriber_state: NotRequired[State | None]
    # The first five digits; other values are omitted
    subscriber_zip_code: NotRequired[str | None]
    # A two-letter country code; other values are omitted
    subscriber_country: NotRequired[str | None]


class DeidentifiedPatientUpsertedEventDataSent(TypedDict):
    """The fields as sent; `null` cleared a field, and a field that is missing here kept its value; direct identifiers of a person are omitted"""

    # Keyed hash of the id: the same for the same id of a kind in a workspace
    id: str
    # A date, or a date and time
    date_of_birth: NotRequired[str]
    gender: NotRequired[Literal["male", "female", "other"] | None]
    # The name of a town or city; other values are omitted
    city: NotRequired[str | None]
    # A USPS state code; other values are omitted
    state: NotRequired[State | None]
    # The first five digits; other values are omitted
    zip_code: NotRequired[str | None]
    # A two-letter country code; other values are omitted
    country: NotRequired[str | None]
    # A patient's insurance, in a limited data set.
    primary_insurance: NotRequired[LimitedInsurance | None]
    # A patient's insurance, in a limited data set.
    secondary_insurance: NotRequired[LimitedInsurance | None]
    # A patient's insurance, in a limited data set.
    tertiary_insurance: NotRequired[LimitedInsurance | None]
    # Keyed hash of the id: the same for the same id of a kind in a workspace
    merged_into: NotRequired[str | None]


class DeidentifiedPatientUpsertedEventData(TypedDict):
    # Number in the history of the record or document, or among the readiness events: 1, 2, 3 …
    version: int
    # The fields as sent; `null` cleared a field, and a field that is missing here kept its value; direct identifiers of a person are omitted
    sent: DeidentifiedPatientUpsertedEventDataSent
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`; omitted fields are not named
    changed: list[Literal[
        "id", "date_of_birth", "gender", "city", "state", "zip_code", "country", "primary_insurance.payer_id",
        "primary_insurance.effective_date", "primary_insurance.termination_date",
        "primary_insurance.subscriber_relationship", "primary_insurance.subscriber_date_of_birth",
        "primary_insurance.subscriber_city", "primary_insurance.subscriber_state",
        "primary_insurance.subscriber_zip_code", "primary_insurance.subscriber_country",
        "secondary_insurance.payer_id", "secondary_insurance.effective_date",
        "secondary_insurance.termination_date", "secondary_insurance.subscriber_relationship",
        "secondary_insurance.subscriber_date_of_birth", "secondary_insurance.subscriber_city",
        "secondary_insurance.subscriber_state", "secondary_insurance.subscriber_zip_code",
        "secondary_insurance.subscriber_country", "tertiary_insurance.payer_id",
        "tertiary_insurance.effective_date", "tertiary_insurance.termination_date",
        "tertiary_insurance.subscriber_relationship", "tertiary_insurance.subscriber_date_of_birth",
        "tertiary_insurance.subscriber_city", "tertiary_insurance.subscriber_state",
        "tertiary_insurance.subscriber_zip_code", "tertiary_insurance.subscriber_country", "merged_into",
    ]]


class DeidentifiedPatientUpsertedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.patient.upserted.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    data: DeidentifiedPatientUpsertedEventData


class DeidentifiedInsurance(TypedDict):
    """A patient's insurance, de-identified."""

    # Keyed hash of the id: the same for the same id of a kind in a workspace
    payer_id: str
    # Only the year, or, where the workspace shifts dates, the shifted date; years that would reveal an age of 90 or more are grouped
    effective_date: NotRequired[str | None]
    # Only the year, or, where the workspace shifts dates, the shifted date; years that would reveal an age of 90 or more are grouped
    termination_date: NotRequired[str | None]
    subscriber_relationship: NotRequired[Literal["self", "spouse", "child", "other"] | None]
    # Only the year, or, where the workspace shifts dates, the shifted date; years that would reveal an age of 90 or more are grouped
    subscriber_date_of_birth: NotRequired[str | None]
    # A USPS state code; other values are omitted
    subscriber_state: NotRequired[State | None]
    # The first three digits, if more than 20,000 people live in their area, otherwise `000`; left out while the workspace has no list of these areas
    subscriber_zip_code: NotRequired[str | None]
    # A two-letter country code; other values are omitted
    subscriber_country: NotRequired[str | None]


class undefinedPatientUpsertedEventDataSent(TypedDict):
    """The fields as sent; `null` cleared a field, and a field that is missing here kept its value; data that could identify a person is omitted"""

    # Keyed hash of the id: the same for the same id of a kind in a workspace
    id: str
    # Only the year, or, where the workspace shifts dates, the shifted date; years that would reveal an age of 90 or more are grouped
    date_of_birth: NotRequired[str]
    gender: NotRequired[Literal["male", "female", "other"] | None]
    # A USPS state code; other values are omitted
    state: NotRequired[State | None]
    # The first three digits, if more than 20,000 people live in their area, otherwise `000`; left out while the workspace has no list of these areas
    zip_code: NotRequired[str | None]
    # A two-letter country code; other values are omitted
    country: NotRequired[str | None]
    # A patient's insurance, de-identified.
    primary_insurance: NotRequired[DeidentifiedInsurance | None]
    # A patient's insurance, de-identified.
    secondary_insurance: NotRequired[DeidentifiedInsurance | None]
    # A patient's insurance, de-identified.
    tertiary_insurance: NotRequired[DeidentifiedInsurance | None]
    # Keyed hash of the id: the same for the same id of a kind in a workspace
    merged_into: NotRequired[str | None]


class undefinedPatientUpsertedEventData(TypedDict):
    # Number in the history of the record or document, or among the readiness events: 1, 2, 3 …
    version: int
    # The fields as sent; `null` cleared a field, and a field that is missing here kept its value; data that could identify a person is omitted
    sent: undefinedPatientUpsertedEventDataSent
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`; omitted fields are not named
    changed: list[Literal[
        "id", "date_of_birth", "gender", "state", "zip_code", "country", "primary_insurance.payer_id",
        "primary_insurance.effective_date", "primary_insurance.termination_date",
        "primary_insurance.subscriber_relationship", "primary_insurance.subscriber_date_of_birth",
        "primary_insurance.subscriber_state", "primary_insurance.subscriber_zip_code",
        "primary_insurance.subscriber_country", "secondary_insurance.payer_id",
        "secondary_insurance.effective_date", "secondary_insurance.termination_date",
        "secondary_insurance.subscriber_relationship", "secondary_insurance.subscriber_date_of_birth",
        "secondary_insurance.subscriber_state", "secondary_insurance.subscriber_zip_code",
        "secondary_insurance.subscriber_country", "tertiary_insurance.payer_id",
        "tertiary_insurance.effective_date", "tertiary_insurance.termination_date",
        "tertiary_insurance.subscriber_relationship", "tertiary_insurance.subscriber_date_of_birth",
        "tertiary_insurance.subscriber_state", "tertiary_insurance.subscriber_zip_code",
        "tertiary_insurance.subscriber_country", "merged_into",
    ]]


class undefinedPatientUpsertedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.patient.upserted.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    data: undefinedPatientUpsertedEventData


class ReferenceProviderUpsertedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.provider.upserted.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    # What happened and in which version, without values: the payload `reference`.
    data: ReferenceData


class ProviderUpsertedEventData(TypedDict):
    """The payload `full`"""

    # Number in the history: 1, 2, 3 …; also the `ETag`
    version: int
    sent: Provider
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`
    changed: list[str]


class ProviderUpsertedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.provider.upserted.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    # The payload `full`
    data: ProviderUpsertedEventData


class DeidentifiedProviderUpsertedEventDataSent(TypedDict):
    """The fields as sent; `null` cleared a field, and a field that is missing here kept its value; direct identifiers of a person are omitted"""

    # Keyed hash of the id: the same for the same id of a kind in a workspace
    id: str
    role: NotRequired[Literal[
        "attending_physician", "rendering_provider", "referring_provider", "billing_provider",
        "operating_physician",
    ] | None]
    # NUCC classification: the first four characters of the code
    taxonomy_code: NotRequired[str | None]
    # The name of a town or city; other values are omitted
    city: NotRequired[str | None]
    # A USPS state code; other values are omitted
    state: NotRequired[State | None]
    # The first five digits; other values are omitted
    zip_code: NotRequired[str | None]
    # A two-letter country code; other values are omitted
    country: NotRequired[str | None]


class DeidentifiedProviderUpsertedEventData(TypedDict):
    # Number in the history of the record or document, or among the readiness events: 1, 2, 3 …
    version: int
    # The fields as sent; `null` cleared a field, and a field that is missing here kept its value; direct identifiers of a person are omitted
    sent: DeidentifiedProviderUpsertedEventDataSent
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`; omitted fields are not named
    changed: list[Literal[
        "id", "role", "taxonomy_code", "city", "state", "zip_code", "country",
    ]]


class DeidentifiedProviderUpsertedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.provider.upserted.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    data: DeidentifiedProviderUpsertedEventData


class undefinedProviderUpsertedEventDataSent(TypedDict):
    """The fields as sent; `null` cleared a field, and a field that is missing here kept its value; data that could identify a person is omitted"""

    # Keyed hash of the id: the same for the same id of a kind in a workspace
    id: str
    role: NotRequired[Literal[
        "attending_physician", "rendering_provider", "referring_provider", "billing_provider",
        "operating_physician",
    ] | None]
    # NUCC classification: the first four characters of the code
    taxonomy_code: NotRequired[str | None]
    # A USPS state code; other values are omitted
    state: NotRequired[State | None]
    # The first three digits, if more than 20,000 people live in their area, otherwise `000`; left out while the workspace has no list of these areas
    zip_code: NotRequired[str | None]
    # A two-letter country code; other values are omitted
    country: NotRequired[str | None]


class undefinedProviderUpsertedEventData(TypedDict):
    # Number in the history of the record or document, or among the readiness events: 1, 2, 3 …
    version: int
    # The fields as sent; `null` cleared a field, and a field that is missing here kept its value; data that could identify a person is omitted
    sent: undefinedProviderUpsertedEventDataSent
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`; omitted fields are not named
    changed: list[Literal[
        "id", "role", "taxonomy_code", "state", "zip_code", "country",
    ]]


class undefinedProviderUpsertedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.provider.upserted.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    data: undefinedProviderUpsertedEventData


class ReferenceFacilityUpsertedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.facility.upserted.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    # What happened and in which version, without values: the payload `reference`.
    data: ReferenceData


class FacilityUpsertedEventData(TypedDict):
    """The payload `full`"""

    # Number in the history: 1, 2, 3 …; also the `ETag`
    version: int
    sent: Facility
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`
    changed: list[str]


class FacilityUpsertedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.facility.upserted.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    # The payload `full`
    data: FacilityUpsertedEventData


class DeidentifiedFacilityUpsertedEventDataSent(TypedDict):
    """The fields as sent; `null` cleared a field, and a field that is missing here kept its value; direct identifiers of a person are omitted"""

    # Keyed hash of the id: the same for the same id of a kind in a workspace
    id: str
    facility_type: NotRequired[Literal[
        "hospital", "clinic", "ambulatory_surgery_center", "skilled_nursing_facility", "laboratory",
        "pharmacy", "home_health", "telehealth", "other",
    ] | None]
    # The name of a town or city; other values are omitted
    city: NotRequired[str | None]
    # A USPS state code; other values are omitted
    state: NotRequired[State | None]
    # The first five digits; other values are omitted
    zip_code: NotRequired[str | None]
    # A two-letter country code; other values are omitted
    country: NotRequired[str | None]


class DeidentifiedFacilityUpsertedEventData(TypedDict):
    # Number in the history of the record or document, or among the readiness events: 1, 2, 3 …
    version: int
    # The fields as sent; `null` cleared a field, and a field that is missing here kept its value; direct identifiers of a person are omitted
    sent: DeidentifiedFacilityUpsertedEventDataSent
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`; omitted fields are not named
    changed: list[Literal[
        "id", "facility_type", "city", "state", "zip_code", "country",
    ]]


class DeidentifiedFacilityUpsertedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.facility.upserted.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    data: DeidentifiedFacilityUpsertedEventData


class undefinedFacilityUpsertedEventDataSent(TypedDict):
    """The fields as sent; `null` cleared a field, and a field that is missing here kept its value; data that could identify a person is omitted"""

    # Keyed hash of the id: the same for the same id of a kind in a workspace
    id: str
    facility_type: NotRequired[Literal[
        "hospital", "clinic", "ambulatory_surgery_center", "skilled_nursing_facility", "laboratory",
        "pharmacy", "home_health", "telehealth", "other",
    ] | None]
    # A USPS state code; other values are omitted
    state: NotRequired[State | None]
    # The first three digits, if more than 20,000 people live in their area, otherwise `000`; left out while the workspace has no list of these areas
    zip_code: NotRequired[str | None]
    # A two-letter country code; other values are omitted
    country: NotRequired[str | None]


class undefinedFacilityUpsertedEventData(TypedDict):
    # Number in the history of the record or document, or among the readiness events: 1, 2, 3 …
    version: int
    # The fields as sent; `null` cleared a field, and a field that is missing here kept its value; data that could identify a person is omitted
    sent: undefinedFacilityUpsertedEventDataSent
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`; omitted fields are not named
    changed: list[Literal["id", "facility_type", "state", "zip_code", "country"]]


class undefinedFacilityUpsertedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.facility.upserted.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    data: undefinedFacilityUpsertedEventData


class ReferenceEncounterUpsertedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.encounter.upserted.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    # What happened and in which version, without values: the payload `reference`.
    data: ReferenceData


class EncounterUpsertedEventData(TypedDict):
    """The payload `full`"""

    # Number in the history: 1, 2, 3 …; also the `ETag`
    version: int
    sent: Encounter
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`
    changed: list[str]


class EncounterUpsertedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.encounter.upserted.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    # The payload `full`
    data: EncounterUpsertedEventData


class DeidentifiedEncounterUpsertedEventDataSent(TypedDict):
    """The fields as sent; `null` cleared a field, and a field that is missing here kept its value; direct identifiers of a person are omitted"""

    # Keyed hash of the id: the same for the same id of a kind in a workspace
    id: str
    # Keyed hash of the id: the same for the same id of a kind in a workspace
    patient_id: NotRequired[str]
    # Keyed hash of the id: the same for the same id of a kind in a workspace
    provider_id: NotRequired[str | None]
    # Keyed hash of the id: the same for the same id of a kind in a workspace
    rendering_provider_id: NotRequired[str | None]
    # Keyed hash of the id: the same for the same id of a kind in a workspace
    facility_id: NotRequired[str | None]
    # A date, or a date and time
    date_of_service: NotRequired[str | None]
    visit_type: NotRequired[Literal[
        "office_visit", "telehealth", "inpatient", "outpatient", "emergency", "observation", "surgical",
    ] | None]
    # `true` marks the encounter ready for the billing workflow
    is_completed: NotRequired[bool | None]
    # A date, or a date and time
    voided_at: NotRequired[str | None]


class DeidentifiedEncounterUpsertedEventData(TypedDict):
    # Number in the history of the record or document, or among the readiness events: 1, 2, 3 …
    version: int
    # The fields as sent; `null` cleared a field, and a field that is missing here kept its value; direct identifiers of a person are omitted
    sent: DeidentifiedEncounterUpsertedEventDataSent
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`; omitted fields are not named
    changed: list[Literal[
        "id", "patient_id", "provider_id", "rendering_provider_id", "facility_id", "date_of_service",
        "visit_type", "is_completed", "voided_at",
    ]]


class DeidentifiedEncounterUpsertedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.encounter.upserted.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    data: DeidentifiedEncounterUpsertedEventData


class undefinedEncounterUpsertedEventDataSent(TypedDict):
    """The fields as sent; `null` cleared a field, and a field that is missing here kept its value; data that could identify a person is omitted"""

    # Keyed hash of the id: the same for the same id of a kind in a workspace
    id: str
    # Keyed hash of the id: the same for the same id of a kind in a workspace
    patient_id: NotRequired[str]
    # Keyed hash of the id: the same for the same id of a kind in a workspace
    provider_id: NotRequired[str | None]
    # Keyed hash of the id: the same for the same id of a kind in a workspace
    rendering_provider_id: NotRequired[str | None]
    # Keyed hash of the id: the same for the same id of a kind in a workspace
    facility_id: NotRequired[str | None]
    # Only the year, or, where the workspace shifts dates, the shifted date; years that would reveal an age of 90 or more are grouped
    date_of_service: NotRequired[str | None]
    visit_type: NotRequired[Literal[
        "office_visit", "telehealth", "inpatient", "outpatient", "emergency", "observation", "surgical",
    ] | None]
    # `true` marks the encounter ready for the billing workflow
    is_completed: NotRequired[bool | None]
    # Only the year, or, where the workspace shifts dates, the shifted date; years that would reveal an age of 90 or more are grouped
    voided_at: NotRequired[str | None]


class undefinedEncounterUpsertedEventData(TypedDict):
    # Number in the history of the record or document, or among the readiness events: 1, 2, 3 …
    version: int
    # The fields as sent; `null` cleared a field, and a field that is missing here kept its value; data that could identify a person is omitted
    sent: undefinedEncounterUpsertedEventDataSent
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`; omitted fields are not named
    changed: list[Literal[
        "id", "patient_id", "provider_id", "rendering_provider_id", "facility_id", "date_of_service",
        "visit_type", "is_completed", "voided_at",
    ]]


class undefinedEncounterUpsertedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.encounter.upserted.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    data: undefinedEncounterUpsertedEventData


class ReferenceDocumentUploadedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.document.uploaded.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    # What happened and in which version, without values: the payload `reference`.
    data: ReferenceData


class DocumentUploadedEventDataSent(TypedDict):
    # The caller's encounter identifier
    encounter_id: str
    # The caller's document identifier
    document_id: str
    # What the document is
    category: DocumentCategory
    # Base name of the file, as sent
    filename: str
    format: Literal["pdf", "docx"]
    # Bytes
    size: int
    # SHA-256 of the file, lowercase hex
    sha256: str


class DocumentUploadedEventData(TypedDict):
    """The payload `full`"""

    # Number in the history: 1, 2, 3 …; also the `ETag`
    version: int
    sent: DocumentUploadedEventDataSent
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`
    changed: list[str]


class DocumentUploadedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.document.uploaded.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    # The payload `full`
    data: DocumentUploadedEventData


class DeidentifiedDocumentUploadedEventDataSent(TypedDict):
    """The fields as sent; `null` cleared a field, and a field that is missing here kept its value; direct identifiers of a person are omitted"""

    # Keyed hash of the id: the same for the same id of a kind in a workspace
    encounter_id: str
    # Keyed hash of the id: the same for the same id of a kind in a workspace
    document_id: str
    # What the document is
    category: DocumentCategory
    format: Literal["pdf", "docx"]


class DeidentifiedDocumentUploadedEventData(TypedDict):
    # Number in the history of the record or document, or among the readiness events: 1, 2, 3 …
    version: int
    # The fields as sent; `null` cleared a field, and a field that is missing here kept its value; direct identifiers of a person are omitted
    sent: DeidentifiedDocumentUploadedEventDataSent
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`; omitted fields are not named
    changed: list[Literal["encounter_id", "document_id", "category", "format"]]


class DeidentifiedDocumentUploadedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.document.uploaded.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    data: DeidentifiedDocumentUploadedEventData


class undefinedDocumentUploadedEventDataSent(TypedDict):
    """The fields as sent; `null` cleared a field, and a field that is missing here kept its value; data that could identify a person is omitted"""

    # Keyed hash of the id: the same for the same id of a kind in a workspace
    encounter_id: str
    # Keyed hash of the id: the same for the same id of a kind in a workspace
    document_id: str
    # What the document is
    category: DocumentCategory
    format: Literal["pdf", "docx"]


class undefinedDocumentUploadedEventData(TypedDict):
    # Number in the history of the record or document, or among the readiness events: 1, 2, 3 …
    version: int
    # The fields as sent; `null` cleared a field, and a field that is missing here kept its value; data that could identify a person is omitted
    sent: undefinedDocumentUploadedEventDataSent
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`; omitted fields are not named
    changed: list[Literal["encounter_id", "document_id", "category", "format"]]


class undefinedDocumentUploadedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.document.uploaded.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    data: undefinedDocumentUploadedEventData


class ReferenceDocumentRemovedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.document.removed.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    # What happened and in which version, without values: the payload `reference`.
    data: ReferenceData


class DocumentRemovedEventDataSent(TypedDict):
    # The caller's encounter identifier
    encounter_id: str
    # The caller's document identifier
    document_id: str


class DocumentRemovedEventData(TypedDict):
    """The payload `full`"""

    # Number in the history: 1, 2, 3 …; also the `ETag`
    version: int
    sent: DocumentRemovedEventDataSent
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`
    changed: list[str]


class DocumentRemovedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.document.removed.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    # The payload `full`
    data: DocumentRemovedEventData


class DeidentifiedDocumentRemovedEventDataSent(TypedDict):
    """The fields as sent; `null` cleared a field, and a field that is missing here kept its value; direct identifiers of a person are omitted"""

    # Keyed hash of the id: the same for the same id of a kind in a workspace
    encounter_id: str
    # Keyed hash of the id: the same for the same id of a kind in a workspace
    document_id: str


class DeidentifiedDocumentRemovedEventData(TypedDict):
    # Number in the history of the record or document, or among the readiness events: 1, 2, 3 …
    version: int
    # The fields as sent; `null` cleared a field, and a field that is missing here kept its value; direct identifiers of a person are omitted
    sent: DeidentifiedDocumentRemovedEventDataSent
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`; omitted fields are not named
    changed: list[Literal["encounter_id", "document_id", "category", "format"]]


class DeidentifiedDocumentRemovedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.document.removed.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    data: DeidentifiedDocumentRemovedEventData


class undefinedDocumentRemovedEventDataSent(TypedDict):
    """The fields as sent; `null` cleared a field, and a field that is missing here kept its value; data that could identify a person is omitted"""

    # Keyed hash of the id: the same for the same id of a kind in a workspace
    encounter_id: str
    # Keyed hash of the id: the same for the same id of a kind in a workspace
    document_id: str


class undefinedDocumentRemovedEventData(TypedDict):
    # Number in the history of the record or document, or among the readiness events: 1, 2, 3 …
    version: int
    # The fields as sent; `null` cleared a field, and a field that is missing here kept its value; data that could identify a person is omitted
    sent: undefinedDocumentRemovedEventDataSent
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`; omitted fields are not named
    changed: list[Literal["encounter_id", "document_id", "category", "format"]]


class undefinedDocumentRemovedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.document.removed.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    data: undefinedDocumentRemovedEventData


class ReferencePayerErasedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.payer.erased.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    # What happened and in which version, without values: the payload `reference`.
    data: ReferenceData


class PayerErasedEventDataSent(TypedDict):
    # The caller's payer identifier
    id: str


class PayerErasedEventData(TypedDict):
    """The payload `full`"""

    # Number in the history: 1, 2, 3 …; also the `ETag`
    version: int
    sent: PayerErasedEventDataSent
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`
    changed: list[str]


class PayerErasedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.payer.erased.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    # The payload `full`
    data: PayerErasedEventData


class DeidentifiedPayerErasedEventDataSent(TypedDict):
    """The fields as sent; `null` cleared a field, and a field that is missing here kept its value; direct identifiers of a person are omitted"""

    # Keyed hash of the id: the same for the same id of a kind in a workspace
    id: str


class DeidentifiedPayerErasedEventData(TypedDict):
    # Number in the history of the record or document, or among the readiness events: 1, 2, 3 …
    version: int
    # The fields as sent; `null` cleared a field, and a field that is missing here kept its value; direct identifiers of a person are omitted
    sent: DeidentifiedPayerErasedEventDataSent
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`; omitted fields are not named
    changed: list[Literal["id", "payer_type", "city", "state", "zip_code", "country"]]


class DeidentifiedPayerErasedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.payer.erased.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    data: DeidentifiedPayerErasedEventData


class undefinedPayerErasedEventDataSent(TypedDict):
    """The fields as sent; `null` cleared a field, and a field that is missing here kept its value; data that could identify a person is omitted"""

    # Keyed hash of the id: the same for the same id of a kind in a workspace
    id: str


class undefinedPayerErasedEventData(TypedDict):
    # Number in the history of the record or document, or among the readiness events: 1, 2, 3 …
    version: int
    # The fields as sent; `null` cleared a field, and a field that is missing here kept its value; data that could identify a person is omitted
    sent: undefinedPayerErasedEventDataSent
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`; omitted fields are not named
    changed: list[Literal["id", "payer_type", "state", "zip_code", "country"]]


class undefinedPayerErasedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.payer.erased.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    data: undefinedPayerErasedEventData


class ReferencePatientErasedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.patient.erased.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    # What happened and in which version, without values: the payload `reference`.
    data: ReferenceData


class PatientErasedEventDataSent(TypedDict):
    # The caller's patient identifier
    id: str


class PatientErasedEventData(TypedDict):
    """The payload `full`"""

    # Number in the history: 1, 2, 3 …; also the `ETag`
    version: int
    sent: PatientErasedEventDataSent
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`
    changed: list[str]


class PatientErasedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.patient.erased.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    # The payload `full`
    data: PatientErasedEventData


class DeidentifiedPatientErasedEventDataSent(TypedDict):
    """The fields as sent; `null` cleared a field, and a field that is missing here kept its value; direct identifiers of a person are omitted"""

    # Keyed hash of the id: the same for the same id of a kind in a workspace
    id: str


class DeidentifiedPatientErasedEventData(TypedDict):
    # Number in the history of the record or document, or among the readiness events: 1, 2, 3 …
    version: int
    # The fields as sent; `null` cleared a field, and a field that is missing here kept its value; direct identifiers of a person are omitted
    sent: DeidentifiedPatientErasedEventDataSent
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`; omitted fields are not named
    changed: list[Literal[
        "id", "date_of_birth", "gender", "city", "state", "zip_code", "country", "primary_insurance.payer_id",
        "primary_insurance.effective_date", "primary_insurance.termination_date",
        "primary_insurance.subscriber_relationship", "primary_insurance.subscriber_date_of_birth",
        "primary_insurance.subscriber_city", "primary_insurance.subscriber_state",
        "primary_insurance.subscriber_zip_code", "primary_insurance.subscriber_country",
        "secondary_insurance.payer_id", "secondary_insurance.effective_date",
        "secondary_insurance.termination_date", "secondary_insurance.subscriber_relationship",
        "secondary_insurance.subscriber_date_of_birth", "secondary_insurance.subscriber_city",
        "secondary_insurance.subscriber_state", "secondary_insurance.subscriber_zip_code",
        "secondary_insurance.subscriber_country", "tertiary_insurance.payer_id",
        "tertiary_insurance.effective_date", "tertiary_insurance.termination_date",
        "tertiary_insurance.subscriber_relationship", "tertiary_insurance.subscriber_date_of_birth",
        "tertiary_insurance.subscriber_city", "tertiary_insurance.subscriber_state",
        "tertiary_insurance.subscriber_zip_code", "tertiary_insurance.subscriber_country", "merged_into",
    ]]


class DeidentifiedPatientErasedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.patient.erased.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    data: DeidentifiedPatientErasedEventData


class undefinedPatientErasedEventDataSent(TypedDict):
    """The fields as sent; `null` cleared a field, and a field that is missing here kept its value; data that could identify a person is omitted"""

    # Keyed hash of the id: the same for the same id of a kind in a workspace
    id: str


class undefinedPatientErasedEventData(TypedDict):
    # Number in the history of the record or document, or among the readiness events: 1, 2, 3 …
    version: int
    # The fields as sent; `null` cleared a field, and a field that is missing here kept its value; data that could identify a person is omitted
    sent: undefinedPatientErasedEventDataSent
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`; omitted fields are not named
    changed: list[Literal[
        "id", "date_of_birth", "gender", "state", "zip_code", "country", "primary_insurance.payer_id",
        "primary_insurance.effective_date", "primary_insurance.termination_date",
        "primary_insurance.subscriber_relationship", "primary_insurance.subscriber_date_of_birth",
        "primary_insurance.subscriber_state", "primary_insurance.subscriber_zip_code",
        "primary_insurance.subscriber_country", "secondary_insurance.payer_id",
        "secondary_insurance.effective_date", "secondary_insurance.termination_date",
        "secondary_insurance.subscriber_relationship", "secondary_insurance.subscriber_date_of_birth",
        "secondary_insurance.subscriber_state", "secondary_insurance.subscriber_zip_code",
        "secondary_insurance.subscriber_country", "tertiary_insurance.payer_id",
        "tertiary_insurance.effective_date", "tertiary_insurance.termination_date",
        "tertiary_insurance.subscriber_relationship", "tertiary_insurance.subscriber_date_of_birth",
        "tertiary_insurance.subscriber_state", "tertiary_insurance.subscriber_zip_code",
        "tertiary_insurance.subscriber_country", "merged_into",
    ]]


class undefinedPatientErasedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.patient.erased.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    data: undefinedPatientErasedEventData


class ReferenceProviderErasedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.provider.erased.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    # What happened and in which version, without values: the payload `reference`.
    data: ReferenceData


class ProviderErasedEventDataSent(TypedDict):
    # The caller's provider identifier
    id: str


class ProviderErasedEventData(TypedDict):
    """The payload `full`"""

    # Number in the history: 1, 2, 3 …; also the `ETag`
    version: int
    sent: ProviderErasedEventDataSent
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`
    changed: list[str]


class ProviderErasedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.provider.erased.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    # The payload `full`
    data: ProviderErasedEventData


class DeidentifiedProviderErasedEventDataSent(TypedDict):
    """The fields as sent; `null` cleared a field, and a field that is missing here kept its value; direct identifiers of a person are omitted"""

    # Keyed hash of the id: the same for the same id of a kind in a workspace
    id: str


class DeidentifiedProviderErasedEventData(TypedDict):
    # Number in the history of the record or document, or among the readiness events: 1, 2, 3 …
    version: int
    # The fields as sent; `null` cleared a field, and a field that is missing here kept its value; direct identifiers of a person are omitted
    sent: DeidentifiedProviderErasedEventDataSent
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`; omitted fields are not named
    changed: list[Literal[
        "id", "role", "taxonomy_code", "city", "state", "zip_code", "country",
    ]]


class DeidentifiedProviderErasedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.provider.erased.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    data: DeidentifiedProviderErasedEventData


class undefinedProviderErasedEventDataSent(TypedDict):
    """The fields as sent; `null` cleared a field, and a field that is missing here kept its value; data that could identify a person is omitted"""

    # Keyed hash of the id: the same for the same id of a kind in a workspace
    id: str


class undefinedProviderErasedEventData(TypedDict):
    # Number in the history of the record or document, or among the readiness events: 1, 2, 3 …
    version: int
    # The fields as sent; `null` cleared a field, and a field that is missing here kept its value; data that could identify a person is omitted
    sent: undefinedProviderErasedEventDataSent
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`; omitted fields are not named
    changed: list[Literal[
        "id", "role", "taxonomy_code", "state", "zip_code", "country",
    ]]


class undefinedProviderErasedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.provider.erased.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    data: undefinedProviderErasedEventData


class ReferenceFacilityErasedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.facility.erased.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    # What happened and in which version, without values: the payload `reference`.
    data: ReferenceData


class FacilityErasedEventDataSent(TypedDict):
    # The caller's facility identifier
    id: str


class FacilityErasedEventData(TypedDict):
    """The payload `full`"""

    # Number in the history: 1, 2, 3 …; also the `ETag`
    version: int
    sent: FacilityErasedEventDataSent
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`
    changed: list[str]


class FacilityErasedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.facility.erased.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    # The payload `full`
    data: FacilityErasedEventData


class DeidentifiedFacilityErasedEventDataSent(TypedDict):
    """The fields as sent; `null` cleared a field, and a field that is missing here kept its value; direct identifiers of a person are omitted"""

    # Keyed hash of the id: the same for the same id of a kind in a workspace
    id: str


class DeidentifiedFacilityErasedEventData(TypedDict):
    # Number in the history of the record or document, or among the readiness events: 1, 2, 3 …
    version: int
    # The fields as sent; `null` cleared a field, and a field that is missing here kept its value; direct identifiers of a person are omitted
    sent: DeidentifiedFacilityErasedEventDataSent
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`; omitted fields are not named
    changed: list[Literal[
        "id", "facility_type", "city", "state", "zip_code", "country",
    ]]


class DeidentifiedFacilityErasedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.facility.erased.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    data: DeidentifiedFacilityErasedEventData


class undefinedFacilityErasedEventDataSent(TypedDict):
    """The fields as sent; `null` cleared a field, and a field that is missing here kept its value; data that could identify a person is omitted"""

    # Keyed hash of the id: the same for the same id of a kind in a workspace
    id: str


class undefinedFacilityErasedEventData(TypedDict):
    # Number in the history of the record or document, or among the readiness events: 1, 2, 3 …
    version: int
    # The fields as sent; `null` cleared a field, and a field that is missing here kept its value; data that could identify a person is omitted
    sent: undefinedFacilityErasedEventDataSent
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`; omitted fields are not named
    changed: list[Literal["id", "facility_type", "state", "zip_code", "country"]]


class undefinedFacilityErasedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.facility.erased.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    data: undefinedFacilityErasedEventData


class ReferenceEncounterErasedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.encounter.erased.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    # What happened and in which version, without values: the payload `reference`.
    data: ReferenceData


class EncounterErasedEventDataSent(TypedDict):
    # The caller's encounter identifier
    id: str


class EncounterErasedEventData(TypedDict):
    """The payload `full`"""

    # Number in the history: 1, 2, 3 …; also the `ETag`
    version: int
    sent: EncounterErasedEventDataSent
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`
    changed: list[str]


class EncounterErasedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.encounter.erased.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    # The payload `full`
    data: EncounterErasedEventData


class DeidentifiedEncounterErasedEventDataSent(TypedDict):
    """The fields as sent; `null` cleared a field, and a field that is missing here kept its value; direct identifiers of a person are omitted"""

    # Keyed hash of the id: the same for the same id of a kind in a workspace
    id: str


class DeidentifiedEncounterErasedEventData(TypedDict):
    # Number in the history of the record or document, or among the readiness events: 1, 2, 3 …
    version: int
    # The fields as sent; `null` cleared a field, and a field that is missing here kept its value; direct identifiers of a person are omitted
    sent: DeidentifiedEncounterErasedEventDataSent
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`; omitted fields are not named
    changed: list[Literal[
        "id", "patient_id", "provider_id", "rendering_provider_id", "facility_id", "date_of_service",
        "visit_type", "is_completed", "voided_at",
    ]]


class DeidentifiedEncounterErasedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.encounter.erased.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    data: DeidentifiedEncounterErasedEventData


class undefinedEncounterErasedEventDataSent(TypedDict):
    """The fields as sent; `null` cleared a field, and a field that is missing here kept its value; data that could identify a person is omitted"""

    # Keyed hash of the id: the same for the same id of a kind in a workspace
    id: str


class undefinedEncounterErasedEventData(TypedDict):
    # Number in the history of the record or document, or among the readiness events: 1, 2, 3 …
    version: int
    # The fields as sent; `null` cleared a field, and a field that is missing here kept its value; data that could identify a person is omitted
    sent: undefinedEncounterErasedEventDataSent
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`; omitted fields are not named
    changed: list[Literal[
        "id", "patient_id", "provider_id", "rendering_provider_id", "facility_id", "date_of_service",
        "visit_type", "is_completed", "voided_at",
    ]]


class undefinedEncounterErasedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.encounter.erased.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    data: undefinedEncounterErasedEventData


class ReferenceDocumentErasedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.document.erased.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    # What happened and in which version, without values: the payload `reference`.
    data: ReferenceData


class DocumentErasedEventDataSent(TypedDict):
    # The caller's encounter identifier
    encounter_id: str
    # The caller's document identifier
    document_id: str


class DocumentErasedEventData(TypedDict):
    """The payload `full`"""

    # Number in the history: 1, 2, 3 …; also the `ETag`
    version: int
    sent: DocumentErasedEventDataSent
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`
    changed: list[str]


class DocumentErasedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.document.erased.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    # The payload `full`
    data: DocumentErasedEventData


class DeidentifiedDocumentErasedEventDataSent(TypedDict):
    """The fields as sent; `null` cleared a field, and a field that is missing here kept its value; direct identifiers of a person are omitted"""

    # Keyed hash of the id: the same for the same id of a kind in a workspace
    encounter_id: str
    # Keyed hash of the id: the same for the same id of a kind in a workspace
    document_id: str


class DeidentifiedDocumentErasedEventData(TypedDict):
    # Number in the history of the record or document, or among the readiness events: 1, 2, 3 …
    version: int
    # The fields as sent; `null` cleared a field, and a field that is missing here kept its value; direct identifiers of a person are omitted
    sent: DeidentifiedDocumentErasedEventDataSent
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`; omitted fields are not named
    changed: list[Literal["encounter_id", "document_id", "category", "format"]]


class DeidentifiedDocumentErasedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.document.erased.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    data: DeidentifiedDocumentErasedEventData


class undefinedDocumentErasedEventDataSent(TypedDict):
    """The fields as sent; `null` cleared a field, and a field that is missing here kept its value; data that could identify a person is omitted"""

    # Keyed hash of the id: the same for the same id of a kind in a workspace
    encounter_id: str
    # Keyed hash of the id: the same for the same id of a kind in a workspace
    document_id: str


class undefinedDocumentErasedEventData(TypedDict):
    # Number in the history of the record or document, or among the readiness events: 1, 2, 3 …
    version: int
    # The fields as sent; `null` cleared a field, and a field that is missing here kept its value; data that could identify a person is omitted
    sent: undefinedDocumentErasedEventDataSent
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`; omitted fields are not named
    changed: list[Literal["encounter_id", "document_id", "category", "format"]]


class undefinedDocumentErasedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.document.erased.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    data: undefinedDocumentErasedEventData


class ReferenceEncounterBilledEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.encounter.billed.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    # What happened and in which version, without values: the payload `reference`.
    data: ReferenceData


class EncounterBilledEventDataSentVersions(TypedDict):
    # The role of the record in the claim
    part: Literal[
        "encounter", "patient", "payer", "provider", "rendering_provider", "facility",
    ]
    kind: Kind
    id: str
    version: int


class EncounterBilledEventDataSent(TypedDict):
    # The caller's encounter identifier
    encounter_id: str
    # The caller's id for the claim that was sent
    claim_id: str
    # The versions of the records that the claim is based on
    versions: list[EncounterBilledEventDataSentVersions]


class EncounterBilledEventData(TypedDict):
    """The payload `full`"""

    # Number in the history: 1, 2, 3 …; also the `ETag`
    version: int
    sent: EncounterBilledEventDataSent
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`
    changed: list[str]


class EncounterBilledEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.encounter.billed.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    # The payload `full`
    data: EncounterBilledEventData


class DeidentifiedEncounterBilledEventDataSentVersions(TypedDict):
    # The role of the record in the claim
    part: Literal[
        "encounter", "patient", "payer", "provider", "rendering_provider", "facility",
    ]
    kind: Kind
    # Keyed hash of the id: the same for the same id of a kind in a workspace
    id: str
    version: int


class DeidentifiedEncounterBilledEventDataSent(TypedDict):
    """The fields as sent; `null` cleared a field, and a field that is missing here kept its value; direct identifiers of a person are omitted"""

    # Keyed hash of the id: the same for the same id of a kind in a workspace
    encounter_id: str
    # The versions of the records that the claim is based on. Ids are keyed hashes
    versions: list[DeidentifiedEncounterBilledEventDataSentVersions]


class DeidentifiedEncounterBilledEventData(TypedDict):
    # Number in the history of the record or document, or among the readiness events: 1, 2, 3 …
    version: int
    # The fields as sent; `null` cleared a field, and a field that is missing here kept its value; direct identifiers of a person are omitted
    sent: DeidentifiedEncounterBilledEventDataSent
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`; omitted fields are not named
    changed: list[Literal["encounter_id", "versions"]]


class DeidentifiedEncounterBilledEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.encounter.billed.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    data: DeidentifiedEncounterBilledEventData


class undefinedEncounterBilledEventDataSentVersions(TypedDict):
    # The role of the record in the claim
    part: Literal[
        "encounter", "patient", "payer", "provider", "rendering_provider", "facility",
    ]
    kind: Kind
    # Keyed hash of the id: the same for the same id of a kind in a workspace
    id: str
    version: int


class undefinedEncounterBilledEventDataSent(TypedDict):
    """The fields as sent; `null` cleared a field, and a field that is missing here kept its value; data that could identify a person is omitted"""

    # Keyed hash of the id: the same for the same id of a kind in a workspace
    encounter_id: str
    # The versions of the records that the claim is based on. Ids are keyed hashes
    versions: list[undefinedEncounterBilledEventDataSentVersions]


class undefinedEncounterBilledEventData(TypedDict):
    # Number in the history of the record or document, or among the readiness events: 1, 2, 3 …
    version: int
    # The fields as sent; `null` cleared a field, and a field that is missing here kept its value; data that could identify a person is omitted
    sent: undefinedEncounterBilledEventDataSent
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`; omitted fields are not named
    changed: list[Literal["encounter_id", "versions"]]


class undefinedEncounterBilledEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.encounter.billed.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    data: undefinedEncounterBilledEventData


class ReferenceEncounterBillingChangeAcknowledgedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.encounter.billing_change_acknowledged.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    # What happened and in which version, without values: the payload `reference`.
    data: ReferenceData


class EncounterBillingChangeAcknowledgedEventDataSentVersions(TypedDict):
    # The role of the record in the claim
    part: Literal[
        "encounter", "patient", "payer", "provider", "rendering_provider", "facility",
    ]
    kind: Kind
    id: str
    version: int


class EncounterBillingChangeAcknowledgedEventDataSent(TypedDict):
    # The caller's encounter identifier
    encounter_id: str
    # Why no new claim is sent
    reason: str
    # The versions of the records that the claim is based on
    versions: list[EncounterBillingChangeAcknowledgedEventDataSentVersions]


class EncounterBillingChangeAcknowledgedEventData(TypedDict):
    """The payload `full`"""

    # Number in the history: 1, 2, 3 …; also the `ETag`
    version: int
    sent: EncounterBillingChangeAcknowledgedEventDataSent
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`
    changed: list[str]


class EncounterBillingChangeAcknowledgedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.encounter.billing_change_acknowledged.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    # The payload `full`
    data: EncounterBillingChangeAcknowledgedEventData


class DeidentifiedEncounterBillingChangeAcknowledgedEventDataSentVersions(TypedDict):
    # The role of the record in the claim
    part: Literal[
        "encounter", "patient", "payer", "provider", "rendering_provider", "facility",
    ]
    kind: Kind
    # Keyed hash of the id: the same for the same id of a kind in a workspace
    id: str
    version: int


class DeidentifiedEncounterBillingChangeAcknowledgedEventDataSent(TypedDict):
    """The fields as sent; `null` cleared a field, and a field that is missing here kept its value; direct identifiers of a person are omitted"""

    # Keyed hash of the id: the same for the same id of a kind in a workspace
    encounter_id: str
    # The versions of the records that the claim is based on. Ids are keyed hashes
    versions: list[DeidentifiedEncounterBillingChangeAcknowledgedEventDataSentVersions]


class DeidentifiedEncounterBillingChangeAcknowledgedEventData(TypedDict):
    # Number in the history of the record or document, or among the readiness events: 1, 2, 3 …
    version: int
    # The fields as sent; `null` cleared a field, and a field that is missing here kept its value; direct identifiers of a person are omitted
    sent: DeidentifiedEncounterBillingChangeAcknowledgedEventDataSent
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`; omitted fields are not named
    changed: list[Literal["encounter_id", "versions"]]


class DeidentifiedEncounterBillingChangeAcknowledgedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.encounter.billing_change_acknowledged.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    data: DeidentifiedEncounterBillingChangeAcknowledgedEventData


class undefinedEncounterBillingChangeAcknowledgedEventDataSentVersions(TypedDict):
    # The role of the record in the claim
    part: Literal[
        "encounter", "patient", "payer", "provider", "rendering_provider", "facility",
    ]
    kind: Kind
    # Keyed hash of the id: the same for the same id of a kind in a workspace
    id: str
    version: int


class undefinedEncounterBillingChangeAcknowledgedEventDataSent(TypedDict):
    """The fields as sent; `null` cleared a field, and a field that is missing here kept its value; data that could identify a person is omitted"""

    # Keyed hash of the id: the same for the same id of a kind in a workspace
    encounter_id: str
    # The versions of the records that the claim is based on. Ids are keyed hashes
    versions: list[undefinedEncounterBillingChangeAcknowledgedEventDataSentVersions]


class undefinedEncounterBillingChangeAcknowledgedEventData(TypedDict):
    # Number in the history of the record or document, or among the readiness events: 1, 2, 3 …
    version: int
    # The fields as sent; `null` cleared a field, and a field that is missing here kept its value; data that could identify a person is omitted
    sent: undefinedEncounterBillingChangeAcknowledgedEventDataSent
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`; omitted fields are not named
    changed: list[Literal["encounter_id", "versions"]]


class undefinedEncounterBillingChangeAcknowledgedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.encounter.billing_change_acknowledged.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    data: undefinedEncounterBillingChangeAcknowledgedEventData


class ReferenceEncounterFindingAnsweredEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.encounter.finding_answered.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    # What happened and in which version, without values: the payload `reference`.
    data: ReferenceData


class EncounterFindingAnsweredEventDataSentRecord(TypedDict):
    """The record at fault, in the version that was evaluated"""

    kind: Kind
    id: str
    version: int


class EncounterFindingAnsweredEventDataSent(TypedDict):
    # The caller's encounter identifier
    encounter_id: str
    # The rule that found it
    rule: str
    # The record at fault, in the version that was evaluated
    record: EncounterFindingAnsweredEventDataSentRecord
    # `accepted`: it no longer blocks; `assigned`, `noted`, `snoozed`: no effect on the state; `reopened`: it is no longer accepted or snoozed
    answer: Literal["accepted", "assigned", "noted", "snoozed", "reopened"]
    # Why it is accepted
    reason: NotRequired[str]
    # The last day, in the time zone of the workspace, for which it is accepted or snoozed
    until: NotRequired[str]
    # To whom; `null`: to nobody
    assigned_to: NotRequired[str | None]
    # The note
    note: NotRequired[str]


class EncounterFindingAnsweredEventData(TypedDict):
    """The payload `full`"""

    # Number in the history: 1, 2, 3 …; also the `ETag`
    version: int
    sent: EncounterFindingAnsweredEventDataSent
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`
    changed: list[str]


class EncounterFindingAnsweredEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.encounter.finding_answered.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    # The payload `full`
    data: EncounterFindingAnsweredEventData


class DeidentifiedEncounterFindingAnsweredEventDataSentRecord(TypedDict):
    """The record at fault, in the version that was evaluated. Ids are keyed hashes"""

    kind: Kind
    # Keyed hash of the id: the same for the same id of a kind in a workspace
    id: str
    version: int


class DeidentifiedEncounterFindingAnsweredEventDataSent(TypedDict):
    """The fields as sent; `null` cleared a field, and a field that is missing here kept its value; direct identifiers of a person are omitted"""

    # Keyed hash of the id: the same for the same id of a kind in a workspace
    encounter_id: str
    # The record at fault, in the version that was evaluated. Ids are keyed hashes
    record: DeidentifiedEncounterFindingAnsweredEventDataSentRecord
    answer: Literal["accepted", "assigned", "noted", "snoozed", "reopened"]


class DeidentifiedEncounterFindingAnsweredEventData(TypedDict):
    # Number in the history of the record or document, or among the readiness events: 1, 2, 3 …
    version: int
    # The fields as sent; `null` cleared a field, and a field that is missing here kept its value; direct identifiers of a person are omitted
    sent: DeidentifiedEncounterFindingAnsweredEventDataSent
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`; omitted fields are not named
    changed: list[Literal["encounter_id", "record", "answer"]]


class DeidentifiedEncounterFindingAnsweredEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.encounter.finding_answered.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    data: DeidentifiedEncounterFindingAnsweredEventData


class undefinedEncounterFindingAnsweredEventDataSentRecord(TypedDict):
    """The record at fault, in the version that was evaluated. Ids are keyed hashes"""

    kind: Kind
    # Keyed hash of the id: the same for the same id of a kind in a workspace
    id: str
    version: int


class undefinedEncounterFindingAnsweredEventDataSent(TypedDict):
    """The fields as sent; `null` cleared a field, and a field that is missing here kept its value; data that could identify a person is omitted"""

    # Keyed hash of the id: the same for the same id of a kind in a workspace
    encounter_id: str
    # The record at fault, in the version that was evaluated. Ids are keyed hashes
    record: undefinedEncounterFindingAnsweredEventDataSentRecord
    answer: Literal["accepted", "assigned", "noted", "snoozed", "reopened"]


class undefinedEncounterFindingAnsweredEventData(TypedDict):
    # Number in the history of the record or document, or among the readiness events: 1, 2, 3 …
    version: int
    # The fields as sent; `null` cleared a field, and a field that is missing here kept its value; data that could identify a person is omitted
    sent: undefinedEncounterFindingAnsweredEventDataSent
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`; omitted fields are not named
    changed: list[Literal["encounter_id", "record", "answer"]]


class undefinedEncounterFindingAnsweredEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.encounter.finding_answered.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    data: undefinedEncounterFindingAnsweredEventData


class ReferenceEncounterClaimOutcomeReportedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.encounter.claim_outcome_reported.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    # What happened and in which version, without values: the payload `reference`.
    data: ReferenceData


class EncounterClaimOutcomeReportedEventDataSentStatuses(TypedDict):
    category: str
    code: str
    entity: NotRequired[str]


class EncounterClaimOutcomeReportedEventDataSentAdjustments(TypedDict):
    group: str
    code: str


class EncounterClaimOutcomeReportedEventDataSent(TypedDict):
    # The caller's encounter identifier
    encounter_id: str
    # The caller's id for the claim that was sent
    claim_id: str
    # The X12 transaction that it comes from, or `other`
    source: Literal["835", "277CA", "other"]
    # `rejected`: the payer has not taken the claim in; `denied`: the payer does not pay it
    outcome: Literal["accepted", "rejected", "denied", "paid"]
    # The status codes of a 277CA, as sent
    statuses: NotRequired[list[EncounterClaimOutcomeReportedEventDataSentStatuses]]
    # The groups and reason codes of an 835, as sent
    adjustments: NotRequired[list[EncounterClaimOutcomeReportedEventDataSentAdjustments]]
    # The remark codes of an 835, as sent
    remarks: NotRequired[list[str]]
    # The number that the payer gave the claim
    payer_claim_number: NotRequired[str]


class EncounterClaimOutcomeReportedEventData(TypedDict):
    """The payload `full`"""

    # Number in the history: 1, 2, 3 …; also the `ETag`
    version: int
    sent: EncounterClaimOutcomeReportedEventDataSent
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`
    changed: list[str]


class EncounterClaimOutcomeReportedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.encounter.claim_outcome_reported.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    # The payload `full`
    data: EncounterClaimOutcomeReportedEventData


class DeidentifiedEncounterClaimOutcomeReportedEventDataSent(TypedDict):
    """The fields as sent; `null` cleared a field, and a field that is missing here kept its value; direct identifiers of a person are omitted"""

    # Keyed hash of the id: the same for the same id of a kind in a workspace
    encounter_id: str
    # The X12 transaction that it comes from, or `other`
    source: Literal["835", "277CA", "other"]
    # `rejected`: the payer has not taken the claim in; `denied`: the payer does not pay it
    outcome: Literal["accepted", "rejected", "denied", "paid"]


class DeidentifiedEncounterClaimOutcomeReportedEventData(TypedDict):
    # Number in the history of the record or document, or among the readiness events: 1, 2, 3 …
    version: int
    # The fields as sent; `null` cleared a field, and a field that is missing here kept its value; direct identifiers of a person are omitted
    sent: DeidentifiedEncounterClaimOutcomeReportedEventDataSent
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`; omitted fields are not named
    changed: list[Literal["encounter_id", "source", "outcome"]]


class DeidentifiedEncounterClaimOutcomeReportedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.encounter.claim_outcome_reported.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    data: DeidentifiedEncounterClaimOutcomeReportedEventData


class undefinedEncounterClaimOutcomeReportedEventDataSent(TypedDict):
    """The fields as sent; `null` cleared a field, and a field that is missing here kept its value; data that could identify a person is omitted"""

    # Keyed hash of the id: the same for the same id of a kind in a workspace
    encounter_id: str
    # The X12 transaction that it comes from, or `other`
    source: Literal["835", "277CA", "other"]
    # `rejected`: the payer has not taken the claim in; `denied`: the payer does not pay it
    outcome: Literal["accepted", "rejected", "denied", "paid"]


class undefinedEncounterClaimOutcomeReportedEventData(TypedDict):
    # Number in the history of the record or document, or among the readiness events: 1, 2, 3 …
    version: int
    # The fields as sent; `null` cleared a field, and a field that is missing here kept its value; data that could identify a person is omitted
    sent: undefinedEncounterClaimOutcomeReportedEventDataSent
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`; omitted fields are not named
    changed: list[Literal["encounter_id", "source", "outcome"]]


class undefinedEncounterClaimOutcomeReportedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.encounter.claim_outcome_reported.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    data: undefinedEncounterClaimOutcomeReportedEventData


class ReferenceEncounterReadinessChangedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.encounter.readiness_changed.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    # What happened and in which version, without values: the payload `reference`.
    data: ReferenceData


class EncounterReadinessChangedEventDataSentCause(TypedDict):
    """The write that caused it (`readiness`: that the encounter was billed); omitted if a finding began or ended without a write"""

    event_id: str
    kind: Literal[
        "payer", "patient", "provider", "facility", "encounter", "document", "readiness",
    ]
    id: str
    version: int


EncounterReadinessChangedEventDataSent = TypedDict("EncounterReadinessChangedEventDataSent", {"encounter_id": "str", "from": "NotRequired[Literal[\n        \"ready\", \"self_pay\", \"blocked\", \"rejected\", \"not_completed\", \"voided\",\n    ]]", "to": "Literal[\n        \"ready\", \"self_pay\", \"blocked\", \"rejected\", \"not_completed\", \"voided\",\n    ]", "rules": "list[str]", "cause": "NotRequired[EncounterReadinessChangedEventDataSentCause]", "rules_version": "str"})


class EncounterReadinessChangedEventData(TypedDict):
    """The payload `full`"""

    # Number in the history: 1, 2, 3 …; also the `ETag`
    version: int
    sent: EncounterReadinessChangedEventDataSent
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`
    changed: list[str]


class EncounterReadinessChangedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.encounter.readiness_changed.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    # The payload `full`
    data: EncounterReadinessChangedEventData


class DeidentifiedEncounterReadinessChangedEventDataSentCause(TypedDict):
    """The write that caused it (`readiness`: that the encounter was billed); omitted if a finding began or ended without a write. Ids are keyed hashes"""

    # Keyed hash of the id: the same for the same id of a kind in a workspace
    event_id: str
    kind: Literal[
        "payer", "patient", "provider", "facility", "encounter", "document", "readiness",
    ]
    # Keyed hash of the id: the same for the same id of a kind in a workspace
    id: str
    version: int


DeidentifiedEncounterReadinessChangedEventDataSent = TypedDict("DeidentifiedEncounterReadinessChangedEventDataSent", {"encounter_id": "str", "from": "NotRequired[Literal[\n        \"ready\", \"self_pay\", \"blocked\", \"rejected\", \"not_completed\", \"voided\",\n    ]]", "to": "Literal[\n        \"ready\", \"self_pay\", \"blocked\", \"rejected\", \"not_completed\", \"voided\",\n    ]", "rules": "list[str]", "cause": "NotRequired[DeidentifiedEncounterReadinessChangedEventDataSentCause]"})


class DeidentifiedEncounterReadinessChangedEventData(TypedDict):
    # Number in the history of the record or document, or among the readiness events: 1, 2, 3 …
    version: int
    # The fields as sent; `null` cleared a field, and a field that is missing here kept its value; direct identifiers of a person are omitted
    sent: DeidentifiedEncounterReadinessChangedEventDataSent
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`; omitted fields are not named
    changed: list[Literal["encounter_id", "from", "to", "rules", "cause"]]


class DeidentifiedEncounterReadinessChangedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.encounter.readiness_changed.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    data: DeidentifiedEncounterReadinessChangedEventData


class undefinedEncounterReadinessChangedEventDataSentCause(TypedDict):
    """The write that caused it (`readiness`: that the encounter was billed); omitted if a finding began or ended without a write. Ids are keyed hashes"""

    # Keyed hash of the id: the same for the same id of a kind in a workspace
    event_id: str
    kind: Literal[
        "payer", "patient", "provider", "facility", "encounter", "document", "readiness",
    ]
    # Keyed hash of the id: the same for the same id of a kind in a workspace
    id: str
    version: int


undefinedEncounterReadinessChangedEventDataSent = TypedDict("undefinedEncounterReadinessChangedEventDataSent", {"encounter_id": "str", "from": "NotRequired[Literal[\n        \"ready\", \"self_pay\", \"blocked\", \"rejected\", \"not_completed\", \"voided\",\n    ]]", "to": "Literal[\n        \"ready\", \"self_pay\", \"blocked\", \"rejected\", \"not_completed\", \"voided\",\n    ]", "rules": "list[str]", "cause": "NotRequired[undefinedEncounterReadinessChangedEventDataSentCause]"})


class undefinedEncounterReadinessChangedEventData(TypedDict):
    # Number in the history of the record or document, or among the readiness events: 1, 2, 3 …
    version: int
    # The fields as sent; `null` cleared a field, and a field that is missing here kept its value; data that could identify a person is omitted
    sent: undefinedEncounterReadinessChangedEventDataSent
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`; omitted fields are not named
    changed: list[Literal["encounter_id", "from", "to", "rules", "cause"]]


class undefinedEncounterReadinessChangedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.encounter.readiness_changed.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    data: undefinedEncounterReadinessChangedEventData


class ReferenceEncounterReadinessErasedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.encounter.readiness_erased.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    # What happened and in which version, without values: the payload `reference`.
    data: ReferenceData


class EncounterReadinessErasedEventDataSent(TypedDict):
    # The caller's encounter identifier
    encounter_id: str


class EncounterReadinessErasedEventData(TypedDict):
    """The payload `full`"""

    # Number in the history: 1, 2, 3 …; also the `ETag`
    version: int
    sent: EncounterReadinessErasedEventDataSent
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`
    changed: list[str]


class EncounterReadinessErasedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.encounter.readiness_erased.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    # The payload `full`
    data: EncounterReadinessErasedEventData


class DeidentifiedEncounterReadinessErasedEventDataSent(TypedDict):
    """The fields as sent; `null` cleared a field, and a field that is missing here kept its value; direct identifiers of a person are omitted"""

    # Keyed hash of the id: the same for the same id of a kind in a workspace
    encounter_id: str


class DeidentifiedEncounterReadinessErasedEventData(TypedDict):
    # Number in the history of the record or document, or among the readiness events: 1, 2, 3 …
    version: int
    # The fields as sent; `null` cleared a field, and a field that is missing here kept its value; direct identifiers of a person are omitted
    sent: DeidentifiedEncounterReadinessErasedEventDataSent
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`; omitted fields are not named
    changed: list[Literal["encounter_id"]]


class DeidentifiedEncounterReadinessErasedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.encounter.readiness_erased.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    data: DeidentifiedEncounterReadinessErasedEventData


class undefinedEncounterReadinessErasedEventDataSent(TypedDict):
    """The fields as sent; `null` cleared a field, and a field that is missing here kept its value; data that could identify a person is omitted"""

    # Keyed hash of the id: the same for the same id of a kind in a workspace
    encounter_id: str


class undefinedEncounterReadinessErasedEventData(TypedDict):
    # Number in the history of the record or document, or among the readiness events: 1, 2, 3 …
    version: int
    # The fields as sent; `null` cleared a field, and a field that is missing here kept its value; data that could identify a person is omitted
    sent: undefinedEncounterReadinessErasedEventDataSent
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`; omitted fields are not named
    changed: list[Literal["encounter_id"]]


class undefinedEncounterReadinessErasedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.encounter.readiness_erased.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    data: undefinedEncounterReadinessErasedEventData


class ReferenceReadinessRulesAppliedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.readiness.rules_applied.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    # What happened and in which version, without values: the payload `reference`.
    data: ReferenceData


class ReadinessRulesAppliedEventDataSentBefore(TypedDict):
    """Encounters of the workspace in each state before the change; states without any may be omitted"""

    ready: NotRequired[int]
    self_pay: NotRequired[int]
    blocked: NotRequired[int]
    rejected: NotRequired[int]
    not_completed: NotRequired[int]
    voided: NotRequired[int]


class ReadinessRulesAppliedEventDataSentAfter(TypedDict):
    """The same after all encounters were reevaluated"""

    ready: NotRequired[int]
    self_pay: NotRequired[int]
    blocked: NotRequired[int]
    rejected: NotRequired[int]
    not_completed: NotRequired[int]
    voided: NotRequired[int]


class ReadinessRulesAppliedEventDataSent(TypedDict):
    # Id of the event that changed the basis of the rules
    cause: str
    # Encounters of the workspace in each state before the change; states without any may be omitted
    before: ReadinessRulesAppliedEventDataSentBefore
    # The same after all encounters were reevaluated
    after: ReadinessRulesAppliedEventDataSentAfter


class ReadinessRulesAppliedEventData(TypedDict):
    """The payload `full`"""

    # Number in the history: 1, 2, 3 …; also the `ETag`
    version: int
    sent: ReadinessRulesAppliedEventDataSent
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`
    changed: list[str]


class ReadinessRulesAppliedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.readiness.rules_applied.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    # The payload `full`
    data: ReadinessRulesAppliedEventData


class DeidentifiedReadinessRulesAppliedEventDataSentBefore(TypedDict):
    """Encounters of the workspace in each state before the change; states without any may be omitted"""

    ready: NotRequired[int]
    self_pay: NotRequired[int]
    blocked: NotRequired[int]
    rejected: NotRequired[int]
    not_completed: NotRequired[int]
    voided: NotRequired[int]


class DeidentifiedReadinessRulesAppliedEventDataSentAfter(TypedDict):
    """The same after all encounters were reevaluated"""

    ready: NotRequired[int]
    self_pay: NotRequired[int]
    blocked: NotRequired[int]
    rejected: NotRequired[int]
    not_completed: NotRequired[int]
    voided: NotRequired[int]


class DeidentifiedReadinessRulesAppliedEventDataSent(TypedDict):
    """The fields as sent; `null` cleared a field, and a field that is missing here kept its value; direct identifiers of a person are omitted"""

    # Keyed hash of the id: the same for the same id of a kind in a workspace
    cause: str
    # Encounters of the workspace in each state before the change; states without any may be omitted
    before: DeidentifiedReadinessRulesAppliedEventDataSentBefore
    # The same after all encounters were reevaluated
    after: DeidentifiedReadinessRulesAppliedEventDataSentAfter


class DeidentifiedReadinessRulesAppliedEventData(TypedDict):
    # Number in the history of the record or document, or among the readiness events: 1, 2, 3 …
    version: int
    # The fields as sent; `null` cleared a field, and a field that is missing here kept its value; direct identifiers of a person are omitted
    sent: DeidentifiedReadinessRulesAppliedEventDataSent
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`; omitted fields are not named
    changed: list[Literal["cause", "before", "after"]]


class DeidentifiedReadinessRulesAppliedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.readiness.rules_applied.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    data: DeidentifiedReadinessRulesAppliedEventData


class undefinedReadinessRulesAppliedEventDataSentBefore(TypedDict):
    """Encounters of the workspace in each state before the change; states without any may be omitted"""

    ready: NotRequired[int]
    self_pay: NotRequired[int]
    blocked: NotRequired[int]
    rejected: NotRequired[int]
    not_completed: NotRequired[int]
    voided: NotRequired[int]


class undefinedReadinessRulesAppliedEventDataSentAfter(TypedDict):
    """The same after all encounters were reevaluated"""

    ready: NotRequired[int]
    self_pay: NotRequired[int]
    blocked: NotRequired[int]
    rejected: NotRequired[int]
    not_completed: NotRequired[int]
    voided: NotRequired[int]


class undefinedReadinessRulesAppliedEventDataSent(TypedDict):
    """The fields as sent; `null` cleared a field, and a field that is missing here kept its value; data that could identify a person is omitted"""

    # Keyed hash of the id: the same for the same id of a kind in a workspace
    cause: str
    # Encounters of the workspace in each state before the change; states without any may be omitted
    before: undefinedReadinessRulesAppliedEventDataSentBefore
    # The same after all encounters were reevaluated
    after: undefinedReadinessRulesAppliedEventDataSentAfter


class undefinedReadinessRulesAppliedEventData(TypedDict):
    # Number in the history of the record or document, or among the readiness events: 1, 2, 3 …
    version: int
    # The fields as sent; `null` cleared a field, and a field that is missing here kept its value; data that could identify a person is omitted
    sent: undefinedReadinessRulesAppliedEventDataSent
    # Names of the fields whose values the event changed; insurance fields use dot notation: `primary_insurance.payer_id`; omitted fields are not named
    changed: list[Literal["cause", "before", "after"]]


class undefinedReadinessRulesAppliedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.readiness.rules_applied.v1"]
    # The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the workspace, `readiness`
    subject: str
    # Position in the log; sorts as text
    sequence: str
    # The trace that the request was part of, if it was sent; not in the payloads `limited` and `deidentified`
    traceparent: NotRequired[str]
    # In the payloads `limited` and `deidentified`, the number of the key that made the hashes; omitted while the first key is in use
    pseudonymepoch: NotRequired[int]
    # In the payload `deidentified`: `expert_determination` (45 CFR 164.514(b)(1)) where the workspace shifts dates; omitted for Safe Harbor (164.514(b)(2))
    deidentification: NotRequired[Literal["safe_harbor", "expert_determination"]]
    # URL of the JSON Schema of `data`; present if the service knows its own address (`PUBLIC_URL`), but not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    data: undefinedReadinessRulesAppliedEventData


class WebhookPingEventData(TypedDict):
    webhook_id: str


class WebhookPingEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; in the payloads `limited` and `deidentified`, a keyed hash
    id: str
    source: str
    type: Literal["chartledger.webhook.ping.v1"]
    # When it was recorded; in the payload `deidentified`, only the year
    time: str
    datacontenttype: Literal["application/json"]
    data: WebhookPingEventData


ReferenceEvent = Union[
    "ReferencePayerUpsertedEvent", "ReferencePatientUpsertedEvent", "ReferenceProviderUpsertedEvent",
    "ReferenceFacilityUpsertedEvent", "ReferenceEncounterUpsertedEvent", "ReferenceDocumentUploadedEvent",
    "ReferenceDocumentRemovedEvent", "ReferencePayerErasedEvent", "ReferencePatientErasedEvent",
    "ReferenceProviderErasedEvent", "ReferenceFacilityErasedEvent", "ReferenceEncounterErasedEvent",
    "ReferenceDocumentErasedEvent", "ReferenceEncounterBilledEvent",
    "ReferenceEncounterBillingChangeAcknowledgedEvent", "ReferenceEncounterFindingAnsweredEvent",
    "ReferenceEncounterClaimOutcomeReportedEvent", "ReferenceEncounterReadinessChangedEvent",
    "ReferenceEncounterReadinessErasedEvent", "ReferenceReadinessRulesAppliedEvent",
]


Event = Union[
    "PayerUpsertedEvent", "PatientUpsertedEvent", "ProviderUpsertedEvent", "FacilityUpsertedEvent",
    "EncounterUpsertedEvent", "DocumentUploadedEvent", "DocumentRemovedEvent", "PayerErasedEvent",
    "PatientErasedEvent", "ProviderErasedEvent", "FacilityErasedEvent", "EncounterErasedEvent",
    "DocumentErasedEvent", "EncounterBilledEvent", "EncounterBillingChangeAcknowledgedEvent",
    "EncounterFindingAnsweredEvent", "EncounterClaimOutcomeReportedEvent",
    "EncounterReadinessChangedEvent", "EncounterReadinessErasedEvent", "ReadinessRulesAppliedEvent",
]


DeidentifiedEvent = Union[
    "DeidentifiedPayerUpsertedEvent", "DeidentifiedPatientUpsertedEvent",
    "DeidentifiedProviderUpsertedEvent", "DeidentifiedFacilityUpsertedEvent",
    "DeidentifiedEncounterUpsertedEvent", "DeidentifiedDocumentUploadedEvent",
    "DeidentifiedDocumentRemovedEvent", "DeidentifiedPayerErasedEvent", "DeidentifiedPatientErasedEvent",
    "DeidentifiedProviderErasedEvent", "DeidentifiedFacilityErasedEvent",
    "DeidentifiedEncounterErasedEvent", "DeidentifiedDocumentErasedEvent",
    "DeidentifiedEncounterBilledEvent", "DeidentifiedEncounterBillingChangeAcknowledgedEvent",
    "DeidentifiedEncounterFindingAnsweredEvent", "DeidentifiedEncounterClaimOutcomeReportedEvent",
    "DeidentifiedEncounterReadinessChangedEvent", "DeidentifiedEncounterReadinessErasedEvent",
    "DeidentifiedReadinessRulesAppliedEvent",
]


undefinedEvent = Union[
    "undefinedPayerUpsertedEvent", "undefinedPatientUpsertedEvent", "undefinedProviderUpsertedEvent",
    "undefinedFacilityUpsertedEvent", "undefinedEncounterUpsertedEvent", "undefinedDocumentUploadedEvent",
    "undefinedDocumentRemovedEvent", "undefinedPayerErasedEvent", "undefinedPatientErasedEvent",
    "undefinedProviderErasedEvent", "undefinedFacilityErasedEvent", "undefinedEncounterErasedEvent",
    "undefinedDocumentErasedEvent", "undefinedEncounterBilledEvent",
    "undefinedEncounterBillingChangeAcknowledgedEvent", "undefinedEncounterFindingAnsweredEvent",
    "undefinedEncounterClaimOutcomeReportedEvent", "undefinedEncounterReadinessChangedEvent",
    "undefinedEncounterReadinessErasedEvent", "undefinedReadinessRulesAppliedEvent",
]


WebhookMessage = Union[ReferenceEvent, Event, DeidentifiedEvent, undefinedEvent, WebhookPingEvent]
