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
    "key_expired", "address_not_allowed", "workspace_deactivated", "permission_denied", "not_found",
    "gone", "position_gone", "method_not_allowed", "not_acceptable", "request_timeout", "conflict",
    "idempotency_key_in_use", "version_conflict", "payload_too_large", "unsupported_media_type",
    "range_not_satisfiable", "expectation_failed", "idempotency_key_reused", "rate_limited",
    "headers_too_large", "internal", "overloaded", "unavailable", "unreadable",
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
    "chartledger.encounter.billing_change_acknowledged.v1", "chartledger.encounter.readiness_changed.v1",
    "chartledger.encounter.readiness_erased.v1", "chartledger.readiness.rules_applied.v1",
]


class ReferenceData(TypedDict):
    """What happened to which version, without the values: the payload `reference`."""

    # Place in the history: 1, 2, 3 …; also the `ETag`
    version: int
    # What became of it. `removed`: a document was removed; `erased`: all that was known of it is gone for good, and is to be erased wherever it was copied
    outcome: Literal["created", "updated", "unchanged", "removed", "erased"]
    # Names of the fields whose value the event changed; those of an insurance are dotted: `primary_insurance.payer_id`
    changed: list[str]
    # The message was to hold values, too, but would have been larger than 256 KB; read the record itself
    truncated: NotRequired[Literal[True]]


class Payer(TypedDict):
    """An insurance company or programme that pays claims. A field that is left out keeps its value, and `null` clears it. Other fields are not stored."""

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
    """A person who receives care, with up to three insurances. A field that is left out keeps its value, and `null` clears it. Other fields are not stored."""

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
    # `id` of the patient into whom this one was merged, as both are one person: both stay readable, and encounters of this one are billed with the data of that one; `null`: it was merged in error
    merged_into: NotRequired[str | None]


class Insurance(TypedDict):
    """An insurance of a patient. Sent, it replaces the one of its rank whole."""

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


class DeidentifiedInsurance(TypedDict):
    """An insurance of a patient, de-identified."""

    # Keyed hash of the id: equal for equal ids of one kind in one workspace
    payer_id: str
    # The year alone; years that tell an age of 90 or more are grouped
    effective_date: NotRequired[str | None]
    # The year alone; years that tell an age of 90 or more are grouped
    termination_date: NotRequired[str | None]
    subscriber_relationship: NotRequired[Literal["self", "spouse", "child", "other"] | None]
    # The year alone; years that tell an age of 90 or more are grouped
    subscriber_date_of_birth: NotRequired[str | None]
    # A USPS state code; others are left out
    subscriber_state: NotRequired[State | None]
    # A two-letter country code; others are left out
    subscriber_country: NotRequired[str | None]


class Provider(TypedDict):
    """A person who gives care. A field that is left out keeps its value, and `null` clears it. Other fields are not stored."""

    # The caller's provider identifier
    id: str
    first_name: str
    last_name: str
    # 10 digits; needed for claim submission, give it when available
    npi: NotRequired[str | None]
    email: NotRequired[str | None]
    phone: NotRequired[str | None]
    role: NotRequired[Literal[
        "attending_physician", "rendering_provider", "referring_provider", "billing_provider",
        "operating_physician",
    ] | None]
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
    """A place where care is given. A field that is left out keeps its value, and `null` clears it. Other fields are not stored."""

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
    """A patient visit. A field that is left out keeps its value, and `null` clears it. Other fields are not stored."""

    # The caller's encounter identifier
    id: str
    # Must refer to an existing patient
    patient_id: str
    # Billing/attending provider
    provider_id: NotRequired[str | None]
    # Rendering provider if different; when omitted, `provider_id` is taken as the rendering provider
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
    # Since when the encounter is void: kept and readable, and not billed, whatever the date; `null`: it counts again
    voided_at: NotRequired[str | None]
    # Why the encounter is void
    void_reason: NotRequired[str | None]


class ErrorBody(TypedDict):
    """A request that failed."""

    # What went wrong, for people
    error: str
    # What went wrong, for programs
    code: ErrorCode
    # The fields at fault
    details: NotRequired[list[ErrorDetail]]
    # With status 401
    statusCode: NotRequired[Literal[401]]
    # With status 429: seconds until requests are taken again
    retryAfter: NotRequired[int]
    # With status 412: the current version, if there is one
    version: NotRequired[int]
    # With `gone`: when it was erased
    erased_at: NotRequired[str]
    # With `position_gone`: the last position of the log before the one that was sent
    last_position: NotRequired[str]
    # The `Request-Id`; quote it to the operators of the service
    requestId: str


class ErrorDetail(TypedDict):
    """A field at fault."""

    # Name of the field, dotted when nested
    field: str
    # What to fix; never the value
    message: str
    # Of a reference to a record that does not exist: its kind
    kind: NotRequired[Kind]
    # Of such a reference: the id that was sent
    id: NotRequired[str]
    # Of such a reference
    code: NotRequired[Literal["reference_not_found"]]


class BatchResult(TypedDict):
    """What became of one line of a batch."""

    # Which line, from 1 on
    line: int
    # As sent; `null` where it is none
    kind: Kind | None
    # The id of the record, as sent; `null` where it is none
    id: str | None
    # As the single request would have had
    status: int
    # With status 200
    outcome: NotRequired[Literal["created", "updated", "unchanged"]]
    # With status 200; with 412 the current one
    version: NotRequired[int]
    # With status 200
    warnings: NotRequired[list[FieldMessage]]
    # Nothing was written
    dry_run: NotRequired[Literal[True]]
    # Of a dry run: fields that would change
    changed_fields: NotRequired[list[str]]
    # What went wrong, for people
    error: NotRequired[str]
    # What went wrong, for programs
    code: NotRequired[ErrorCode]
    # The fields at fault
    details: NotRequired[list[ErrorDetail]]
    # With an error: the same line may be accepted later
    retryable: NotRequired[bool]
    # Seconds until it may be
    retryAfter: NotRequired[int]
    # `warnings`, `changed_fields` or `details` were left out, because too many results waited to be sent
    shortened: NotRequired[Literal[True]]


class FieldMessage(TypedDict):
    """A complaint or remark about one field."""

    # Name of the field, dotted when nested
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
    not_found: NotRequired[int]
    gone: NotRequired[int]
    position_gone: NotRequired[int]
    method_not_allowed: NotRequired[int]
    not_acceptable: NotRequired[int]
    request_timeout: NotRequired[int]
    conflict: NotRequired[int]
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
    overloaded: NotRequired[int]
    unavailable: NotRequired[int]
    unreadable: NotRequired[int]


class BatchSummarySummary(TypedDict):
    # Lines that were sent
    lines: int
    # Lines whose records are stored
    accepted: int
    created: int
    updated: int
    # Known only of a dry run, and with `unchanged=skip`
    unchanged: int
    # Lines that were not stored
    refused: int
    # Refused lines that may be accepted later
    retryable: int
    # Refused lines by `code`
    codes: BatchSummarySummaryCodes


class BatchSummary(TypedDict):
    """The last line of the answer to a batch. Without it the answer was cut off."""

    summary: BatchSummarySummary


class Written(TypedDict):
    """A record was stored, or is so already."""

    success: Literal[True]
    message: str
    # Place in the history: 1, 2, 3 …; also the `ETag`
    version: int
    # `unchanged` is told where the record was looked at: by a dry run, with `unchanged=skip`, and by a patch
    outcome: Literal["created", "updated", "unchanged"]
    # Fields that were not stored, values that were stored but that billing may refuse, and what else is in the way of billing a completed encounter, by what is known of it at that moment
    warnings: list[FieldMessage]
    # Nothing was written
    dry_run: NotRequired[Literal[True]]
    # Of a dry run: names of the fields whose value would change; those of an insurance are dotted
    changed_fields: NotRequired[list[str]]


class PayerPatch(TypedDict):
    """An insurance company or programme that pays claims. What is to change alone: `null` clears a field that is not required. `id`, if it is sent, is that of the path. Other fields are not stored."""

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
    # Send it as `page_token` to read on; `null` on the last page
    next_page_token: str | None
    # Ids of what belongs on this page but is left out, because this version of the service cannot read an event of its history: a newer one wrote it, or its bytes were changed. Mostly empty
    unreadable: list[str]


class PayerView(TypedDict):
    """The payer, with its version and dates."""

    # The caller's payer identifier
    id: str
    # Place in the history: 1, 2, 3 …; also the `ETag`
    version: int
    # When the record was created
    created_at: str
    # When the record was last sent
    updated_at: str
    record: PayerState


class PayerState(TypedDict):
    """An insurance company or programme that pays claims. All that was sent so far, merged; a field without a value is left out."""

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
    # Send it as `page_token` to read on; `null` on the last page
    next_page_token: str | None


class RecordVersionPrincipal(TypedDict):
    """Who sent it"""

    type: Literal["api_key", "source", "user", "operator", "service"]
    id: str
    # The key's or user's name; a deleted key keeps it
    name: str | None


class RecordVersionSource(TypedDict):
    """The message of an EMR that said it; left out where it came otherwise"""

    # Id of the source
    id: str
    # Id of the message, which is kept for some time
    message: str
    # Number of the configuration of the source by which the message was read again; left out where it was read as it came
    configuration: NotRequired[int]


class RecordVersion(TypedDict):
    """A version of a record: who sent it, and what it changed."""

    # Place in the history: 1, 2, 3 …; also the `ETag`
    version: int
    # Id of the event in the event log
    event_id: str
    # Type of the event
    type: str
    # When the version was stored
    recorded_at: str
    # Who sent it
    principal: RecordVersionPrincipal
    # Where it came from
    client_ip: str | None
    user_agent: str | None
    # The `Request-Id` of the write
    request_id: str
    # The message of an EMR that said it; left out where it came otherwise
    source: NotRequired[RecordVersionSource]
    # Of an erasure alone: why all versions before it were erased
    reason: NotRequired[str]
    # `unchanged`: everything that was sent was so already; `erased`: all versions before it are gone for good
    outcome: Literal["created", "updated", "unchanged", "erased"]
    # All fields of the first version
    changes: list[FieldChange]


FieldChange = TypedDict("FieldChange", {"field": "str", "from": "str | bool | None", "to": "str | bool | None"})


class ProofEvent(TypedDict):
    """The event as the event log has it: all that its leaf covers"""

    id: str
    type: str
    stream: str
    # One less than the version
    revision: int
    recordedAt: str
    metadata: dict[str, Any]
    data: dict[str, Any]


class ProofTreeHead(TypedDict):
    type: Literal["chartledger.tree_root.v1"]
    workspace: str
    # Events of the tree
    size: int
    # SHA-256, lower-case hex
    root: str


class ProofTreeHead2(TypedDict):
    type: Literal["chartledger.tree_head.v1"]
    workspace: str
    # Events of the tree
    size: int
    # SHA-256, lower-case hex
    root: str
    # SHA-256, lower-case hex
    chain: str
    last_event_id: str
    last_event_recorded_at: NotRequired[str]
    created_at: str
    # How the key came after those before it, where there were some
    key_rotations: NotRequired[list[dict[str, Any]]]
    key_id: str
    signature: str


class Proof(TypedDict):
    """Shows that an event is in its workspace's hash tree. `chartledger verify` checks it offline."""

    type: Literal["chartledger.proof.v1"]
    # The event as the event log has it: all that its leaf covers
    event: ProofEvent
    # SHA-256 of a zero byte and the canonical JSON (RFC 8785) of `event`
    leaf: str
    # Which leaf of the tree it is; 0 is the first event of the workspace
    index: int
    # The inclusion proof (RFC 9162, section 2.1.3), the deepest node first
    inclusion: list[str]
    # The tree that the event is in: the last signed head that was sent, where the event is in it; else a root (`tree_root`) that nobody signed, to be compared with a signed head
    tree_head: ProofTreeHead | ProofTreeHead2


class PatientPatch(TypedDict):
    """A person who receives care, with up to three insurances. What is to change alone: `null` clears a field that is not required. `id`, if it is sent, is that of the path. Other fields are not stored."""

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
    # `id` of the patient into whom this one was merged, as both are one person: both stay readable, and encounters of this one are billed with the data of that one; `null`: it was merged in error
    merged_into: NotRequired[str | None]


class InsurancePatch(TypedDict):
    """An insurance of a patient. Merged into the one that is there; without one, it must be complete."""

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


class PatientPage(TypedDict):
    """A page of patients."""

    items: list[PatientView]
    # Send it as `page_token` to read on; `null` on the last page
    next_page_token: str | None
    # Ids of what belongs on this page but is left out, because this version of the service cannot read an event of its history: a newer one wrote it, or its bytes were changed. Mostly empty
    unreadable: list[str]


class PatientView(TypedDict):
    """The patient, with its version and dates."""

    # The caller's patient identifier
    id: str
    # Place in the history: 1, 2, 3 …; also the `ETag`
    version: int
    # When the record was created
    created_at: str
    # When the record was last sent
    updated_at: str
    record: PatientState


class PatientState(TypedDict):
    """A person who receives care, with up to three insurances. All that was sent so far, merged; a field without a value is left out."""

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
    # `id` of the patient into whom this one was merged, as both are one person: both stay readable, and encounters of this one are billed with the data of that one; `null`: it was merged in error
    merged_into: NotRequired[str]


class InsuranceState(TypedDict):
    """An insurance of a patient as it is stored."""

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


class ProviderPatch(TypedDict):
    """A person who gives care. What is to change alone: `null` clears a field that is not required. `id`, if it is sent, is that of the path. Other fields are not stored."""

    # The caller's provider identifier
    id: NotRequired[str]
    first_name: NotRequired[str]
    last_name: NotRequired[str]
    # 10 digits; needed for claim submission, give it when available
    npi: NotRequired[str | None]
    email: NotRequired[str | None]
    phone: NotRequired[str | None]
    role: NotRequired[Literal[
        "attending_physician", "rendering_provider", "referring_provider", "billing_provider",
        "operating_physician",
    ] | None]
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
    # Send it as `page_token` to read on; `null` on the last page
    next_page_token: str | None
    # Ids of what belongs on this page but is left out, because this version of the service cannot read an event of its history: a newer one wrote it, or its bytes were changed. Mostly empty
    unreadable: list[str]


class ProviderView(TypedDict):
    """The provider, with its version and dates."""

    # The caller's provider identifier
    id: str
    # Place in the history: 1, 2, 3 …; also the `ETag`
    version: int
    # When the record was created
    created_at: str
    # When the record was last sent
    updated_at: str
    record: ProviderState


class ProviderState(TypedDict):
    """A person who gives care. All that was sent so far, merged; a field without a value is left out."""

    # The caller's provider identifier
    id: str
    first_name: str
    last_name: str
    # 10 digits; needed for claim submission, give it when available
    npi: NotRequired[str]
    email: NotRequired[str]
    phone: NotRequired[str]
    role: NotRequired[Literal[
        "attending_physician", "rendering_provider", "referring_provider", "billing_provider",
        "operating_physician",
    ]]
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
    """A place where care is given. What is to change alone: `null` clears a field that is not required. `id`, if it is sent, is that of the path. Other fields are not stored."""

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
    # Send it as `page_token` to read on; `null` on the last page
    next_page_token: str | None
    # Ids of what belongs on this page but is left out, because this version of the service cannot read an event of its history: a newer one wrote it, or its bytes were changed. Mostly empty
    unreadable: list[str]


class FacilityView(TypedDict):
    """The facility, with its version and dates."""

    # The caller's facility identifier
    id: str
    # Place in the history: 1, 2, 3 …; also the `ETag`
    version: int
    # When the record was created
    created_at: str
    # When the record was last sent
    updated_at: str
    record: FacilityState


class FacilityState(TypedDict):
    """A place where care is given. All that was sent so far, merged; a field without a value is left out."""

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
    """A patient visit. What is to change alone: `null` clears a field that is not required. `id`, if it is sent, is that of the path. Other fields are not stored."""

    # The caller's encounter identifier
    id: NotRequired[str]
    # Must refer to an existing patient
    patient_id: NotRequired[str]
    # Billing/attending provider
    provider_id: NotRequired[str | None]
    # Rendering provider if different; when omitted, `provider_id` is taken as the rendering provider
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
    # Since when the encounter is void: kept and readable, and not billed, whatever the date; `null`: it counts again
    voided_at: NotRequired[str | None]
    # Why the encounter is void
    void_reason: NotRequired[str | None]


class EncounterPage(TypedDict):
    """A page of encounters."""

    items: list[EncounterView]
    # Send it as `page_token` to read on; `null` on the last page
    next_page_token: str | None
    # Ids of what belongs on this page but is left out, because this version of the service cannot read an event of its history: a newer one wrote it, or its bytes were changed. Mostly empty
    unreadable: list[str]


class EncounterView(TypedDict):
    """The encounter, with its version and dates."""

    # The caller's encounter identifier
    id: str
    # Place in the history: 1, 2, 3 …; also the `ETag`
    version: int
    # When the record was created
    created_at: str
    # When the record was last sent
    updated_at: str
    record: EncounterState


class EncounterState(TypedDict):
    """A patient visit. All that was sent so far, merged; a field without a value is left out."""

    # The caller's encounter identifier
    id: str
    # Must refer to an existing patient
    patient_id: str
    # Billing/attending provider
    provider_id: NotRequired[str]
    # Rendering provider if different; when omitted, `provider_id` is taken as the rendering provider
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
    # Since when the encounter is void: kept and readable, and not billed, whatever the date; `null`: it counts again
    voided_at: NotRequired[str]
    # Why the encounter is void
    void_reason: NotRequired[str]


class EncounterReadinessBilledPrincipal(TypedDict):
    """Who recorded it"""

    type: Literal["api_key", "source", "user", "operator", "service"]
    id: str
    # The key's or user's name; a deleted key keeps it
    name: str | None


class EncounterReadinessBilledAcknowledgedPrincipal(TypedDict):
    """Who recorded it"""

    type: Literal["api_key", "source", "user", "operator", "service"]
    id: str
    # The key's or user's name; a deleted key keeps it
    name: str | None


class EncounterReadinessBilledAcknowledged(TypedDict):
    """The last acknowledgement of changes since, up to these versions; left out where there was none"""

    # When it was recorded
    at: str
    # Who recorded it
    principal: EncounterReadinessBilledAcknowledgedPrincipal
    # The versions on which the claim rests; without parts that it does not have
    versions: list[UsedVersion]
    # Why, as it was sent
    reason: str


class EncounterReadinessBilled(TypedDict):
    """What was billed of it last; `null` before it was"""

    # The caller's id of the claim that was sent
    claim_id: str
    # When it was recorded
    at: str
    # Who recorded it
    principal: EncounterReadinessBilledPrincipal
    # The versions on which the claim rests; without parts that it does not have
    versions: list[UsedVersion]
    # The last acknowledgement of changes since, up to these versions; left out where there was none
    acknowledged: NotRequired[EncounterReadinessBilledAcknowledged]


class EncounterReadiness(TypedDict):
    """Whether an encounter can be billed, and what is in the way."""

    # The caller's id of the encounter
    id: str
    # Place in the history: 1, 2, 3 …; also the `ETag`
    version: int
    # `ready`: nothing blocks it; `blocked`: something does; `not_completed`: `is_completed` is not `true`, whatever was found; `voided`: `voided_at` is set, whatever else
    state: Literal["ready", "blocked", "not_completed", "voided"]
    # The moment for which this is told
    as_of: str
    # What was billed of it last; `null` before it was
    billed: EncounterReadinessBilled | None
    # What blocks comes first
    findings: list[ReadinessFinding]


class UsedVersion(TypedDict):
    """A record in the version on which a claim rests."""

    # The part that the record has in the claim
    part: Literal[
        "encounter", "patient", "payer", "provider", "rendering_provider", "facility",
    ]
    kind: Kind
    # The caller's id of the record
    id: str
    # Place in the history: 1, 2, 3 …; also the `ETag`
    version: int


class ReadinessFindingRecord(TypedDict):
    """The record at fault, in the version that counts"""

    kind: Kind
    # The caller's id of the record
    id: str
    # Place in the history: 1, 2, 3 …; also the `ETag`
    version: int


class ReadinessFindingCausePrincipal(TypedDict):
    """Who did it"""

    type: Literal["api_key", "source", "user", "operator", "service"]
    id: str
    # The key's or user's name; a deleted key keeps it
    name: str | None


class ReadinessFindingCause(TypedDict):
    """The write from which it follows"""

    # `workspace`: what the workspace has set of the rules; `code_set`: a set of codes that was loaded, such as `nucc`
    kind: Literal[
        "payer", "patient", "provider", "facility", "encounter", "document", "workspace", "code_set",
    ]
    # The caller's id of the record
    id: str
    # Place in the history: 1, 2, 3 …; also the `ETag`
    version: int
    event_id: str
    # Who did it
    principal: ReadinessFindingCausePrincipal


class ReadinessFinding(TypedDict):
    """Something that is in the way of billing an encounter."""

    rule: Literal[
        "service_date_missing", "service_date_in_future", "service_before_birth", "timely_filing",
        "filing_limit_near", "provider_missing", "provider_npi", "taxonomy_code", "taxonomy_code_missing",
        "rendering_role", "facility_missing", "facility_npi", "facility_tax_id", "clia_number",
        "document_missing", "primary_insurance_missing", "insurance_rank_gap", "coverage_not_in_force",
        "policy_number_missing", "subscriber_incomplete", "payer_code_missing", "address_incomplete",
        "zip_of_other_state", "suspected_duplicate", "changed_after_billing",
    ]
    # `blocks`: the payer would refuse the claim; `warns`: it may
    severity: Literal["blocks", "warns"]
    # What is wrong, without any value
    text: str
    # Where the demand comes from
    source: str
    # The field at fault, dotted when nested
    field: str
    # The record at fault, in the version that counts
    record: ReadinessFindingRecord
    # Of `changed_after_billing`: the version of the record that was billed, or acknowledged since
    billed_version: NotRequired[int]
    # Since when it stands without a break: the moment of `cause`, or a later one at which it began by itself
    since: str
    # The write from which it follows
    cause: ReadinessFindingCause


class WorklistCountsStates(TypedDict):
    """Encounters in each state; of those with `rule`, where it is asked for"""

    ready: int
    blocked: int
    not_completed: int
    voided: int


class WorklistCounts(TypedDict):
    """How many there are. `null` where several of `payer_id`, `facility_id`, `provider_id` and the days are asked for at once"""

    # Encounters in each state; of those with `rule`, where it is asked for
    states: WorklistCountsStates
    # Encounters with a finding of each rule; of those in `state`, where it is asked for
    rules: dict[str, Any]


class WorklistProgressUnderWay(TypedDict):
    kind: Literal[
        "payer", "patient", "provider", "facility", "encounter", "workspace", "code_set",
    ]
    id: str
    done: int
    total: int


class WorklistProgress(TypedDict):
    """How far the list is"""

    # Whether it has every write that was answered before the request
    is_current: bool
    # What changed of late, and how many of the encounters that rest on it were evaluated since; `workspace`: a rule was set; `code_set`: a set of codes was loaded
    under_way: list[WorklistProgressUnderWay]


class Worklist(TypedDict):
    """Encounters with what is in their way."""

    items: list[WorklistItem]
    # Send it as `page_token` to read on; `null` on the last page
    next_page_token: str | None
    # How many there are. `null` where several of `payer_id`, `facility_id`, `provider_id` and the days are asked for at once
    counts: WorklistCounts | None
    # How far the list is
    progress: WorklistProgress


class WorklistItem(TypedDict):
    """An encounter, and what is in the way of billing it."""

    # The caller's id of the encounter
    id: str
    state: Literal["ready", "blocked", "not_completed", "voided"]
    date_of_service: str | None
    patient_id: str | None
    # Of the patient's primary insurance
    payer_id: str | None
    facility_id: str | None
    provider_id: str | None
    findings: list[WorklistFinding]


class WorklistFindingRecord(TypedDict):
    """The record at fault"""

    kind: Kind
    id: str


class WorklistFinding(TypedDict):
    """Something that is in the way of billing an encounter."""

    rule: Literal[
        "service_date_missing", "service_date_in_future", "service_before_birth", "timely_filing",
        "filing_limit_near", "provider_missing", "provider_npi", "taxonomy_code", "taxonomy_code_missing",
        "rendering_role", "facility_missing", "facility_npi", "facility_tax_id", "clia_number",
        "document_missing", "primary_insurance_missing", "insurance_rank_gap", "coverage_not_in_force",
        "policy_number_missing", "subscriber_incomplete", "payer_code_missing", "address_incomplete",
        "zip_of_other_state", "suspected_duplicate", "changed_after_billing",
    ]
    severity: Literal["blocks", "warns"]
    # The field at fault, dotted when nested
    field: str
    # The record at fault
    record: WorklistFindingRecord


class BillingWritten(TypedDict):
    """Something was recorded of an encounter in billing."""

    success: Literal[True]
    message: str
    # The current version of the encounter
    version: int
    # `created`: it was billed for the first time; `updated`: something was recorded of it before; `unchanged`: all of it was known
    outcome: Literal["created", "updated", "unchanged"]
    # The versions on which the claim rests; without parts that it does not have
    versions: list[UsedVersion]
    # What its readiness finds, with the kind of the record in front: `patient.zip_code`
    warnings: list[FieldMessage]


class BilledClaim(TypedDict):
    """A claim for an encounter that was sent."""

    # The caller's id of the claim that was sent
    claim_id: str
    # The version of the encounter that is meant: 412 when it is no longer the current one
    version: NotRequired[int]


class BillingAcknowledgement(TypedDict):
    """That what was changed after billing may stay as it is."""

    # Why no other claim is sent
    reason: str
    # The version of the encounter that is meant: 412 when it is no longer the current one
    version: NotRequired[int]


class BatchLine(TypedDict):
    """One record of a batch."""

    # The kind of the record
    kind: Kind
    # The record, as its own endpoint takes it
    record: Payer | Patient | Provider | Facility | Encounter
    # Write only if the record is at this version, or with `*` if there is one
    if_match: NotRequired[int | Literal["*"]]


class FoundPage(TypedDict):
    """A page of what was found."""

    items: list[Found]
    # Send it as `page_token` to read on; `null` on the last page
    next_page_token: str | None


class Found(TypedDict):
    """A record or document that was found."""

    kind: Literal[
        "payer", "patient", "provider", "facility", "encounter", "document",
    ]
    # The id that it was sent with
    id: str
    # Its name, or that of its file; its id where it has none
    title: str
    # What tells it apart from others of its name: dates, numbers, and the ids that it refers to, by the names of their fields. Of a document, its `encounter_id` and `category`
    details: dict[str, Any]
    # `whole`: its whole id or number is what was looked for; `words`: it has all of the words; `beginnings`: it has words that begin so
    matched: Literal["whole", "words", "beginnings"]
    # Of a document that was removed
    removed: NotRequired[Literal[True]]
    # Place in the history: 1, 2, 3 …; also the `ETag`
    version: int
    # When it was created
    created_at: str
    # When it was last sent; of a document that was removed, when it was
    updated_at: str


class Search(TypedDict):
    """What is looked for."""

    # Words of which all are looked for, up to 8, in up to 200 characters
    q: str
    # Only among these
    kind: NotRequired[Literal[
        "payer", "patient", "provider", "facility", "encounter", "document",
    ]]
    # Items a page, 1 to 100; default 20
    limit: NotRequired[int]
    # The `next_page_token` of the page before
    page_token: NotRequired[str]


class DocumentUploaded(TypedDict):
    """A document was stored."""

    success: Literal[True]
    # The caller's document identifier
    document_id: str
    # Place in the history: 1, 2, 3 …; also the `ETag`
    version: int


class DocumentPage(TypedDict):
    """A page of the documents of an encounter."""

    items: list[Document]
    # Send it as `page_token` to read on; `null` on the last page
    next_page_token: str | None
    # Ids of what belongs on this page but is left out, because this version of the service cannot read an event of its history: a newer one wrote it, or its bytes were changed. Mostly empty
    unreadable: list[str]


class Document(TypedDict):
    """A document of an encounter, without its file."""

    # The caller's document identifier
    document_id: str
    # What the document is
    category: DocumentCategory
    # As it was sent
    filename: str
    content_type: Literal[
        "application/pdf", "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ]
    # Bytes
    size: int
    # Digest of the file, lower-case hex
    sha256: str
    # Place in the history: 1, 2, 3 …; also the `ETag`
    version: int
    # When the document was first uploaded
    created_at: str
    # When its file was last replaced
    updated_at: str


class DocumentRemoved(TypedDict):
    """A document was removed."""

    success: Literal[True]
    message: str


class DocumentHistoryPage(TypedDict):
    """A page of the versions of a document, newest first."""

    items: list[DocumentVersion]
    # Send it as `page_token` to read on; `null` on the last page
    next_page_token: str | None


class DocumentVersionPrincipal(TypedDict):
    """Who sent it"""

    type: Literal["api_key", "source", "user", "operator", "service"]
    id: str
    # The key's or user's name; a deleted key keeps it
    name: str | None


class DocumentVersionSource(TypedDict):
    """The message of an EMR that said it; left out where it came otherwise"""

    # Id of the source
    id: str
    # Id of the message, which is kept for some time
    message: str
    # Number of the configuration of the source by which the message was read again; left out where it was read as it came
    configuration: NotRequired[int]


class DocumentVersion(TypedDict):
    """A version of a document. A removal and an erasure have no file: what tells of the file is `null`."""

    # Place in the history: 1, 2, 3 …; also the `ETag`
    version: int
    # Id of the event in the event log
    event_id: str
    type: Literal["DocumentUploaded", "DocumentRemoved", "DocumentErased"]
    # When the version was stored
    recorded_at: str
    # Who sent it
    principal: DocumentVersionPrincipal
    # Where it came from
    client_ip: str | None
    user_agent: str | None
    # The `Request-Id` of the write
    request_id: str
    # The message of an EMR that said it; left out where it came otherwise
    source: NotRequired[DocumentVersionSource]
    # Of an erasure alone: why all versions before it were erased
    reason: NotRequired[str]
    # What the document is
    category: DocumentCategory | None
    # As it was sent
    filename: str | None
    content_type: Literal[
        "application/pdf", "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ] | None
    # Bytes
    size: int | None
    # Digest of the file, lower-case hex
    sha256: str | None
    # Whether the file can still be downloaded, with `version`
    content_available: bool


class WebhookWithSecretCreatedBy(TypedDict):
    """Who made it"""

    type: Literal["api_key", "source", "user", "operator", "service"]
    id: str
    # The key's or user's name; a deleted key keeps it
    name: str | None


class WebhookWithSecret(TypedDict):
    """A webhook, and its new secret."""

    id: str
    # Where to send messages: `https`, with a public address
    url: str
    description: str | None
    kinds: list[Literal[
        "payer", "patient", "provider", "facility", "encounter", "document", "readiness",
    ]] | None
    types: list[EventType] | None
    payload: Literal["reference", "full", "deidentified"]
    unchanged: Literal["skip", "send"]
    recipient: str | None
    recipient_address: str | None
    purpose: Literal["treatment", "payment", "operations", "other"] | None
    purpose_statement: str | None
    # The first event that was sent is the first one after this position
    start_after: str
    state: Literal["enabled", "disabled"]
    # `caller`: somebody disabled it; `key_deleted`: the key that it was made with was deleted; `gone`: its endpoint answered 410; `failing`: its endpoint took nothing for five days
    disabled_reason: Literal["caller", "key_deleted", "gone", "failing"] | None
    # Until when messages are signed with the previous secret, too
    previous_secret_expires_at: str | None
    # When it was made
    created_at: str
    # Who made it
    created_by: WebhookWithSecretCreatedBy
    # When it was last changed
    updated_at: str
    # The secret by which messages are verified; it is shown only now
    secret: str


class WebhookPage(TypedDict):
    """A page of webhooks."""

    items: list[WebhookStatus]
    # Send it as `page_token` to read on; `null` on the last page
    next_page_token: str | None


class WebhookStatusCreatedBy(TypedDict):
    """Who made it"""

    type: Literal["api_key", "source", "user", "operator", "service"]
    id: str
    # The key's or user's name; a deleted key keeps it
    name: str | None


class WebhookStatusDelivery(TypedDict):
    """The state of the delivery"""

    # Every event up to this position was taken, waits for another try, or was given up
    position: str
    # Messages that wait, those of a disabled webhook too; of events that were not looked at yet, at most 1,000 are counted
    pending: int
    # When the event of the oldest message that waits was recorded; `null` when none does
    oldest_pending_at: str | None
    # Records and documents whose messages wait, because their oldest one was not taken yet
    blocked: int
    # Messages that were given up after the last try, counted up to 1,000
    failed: int
    # When a message was last taken
    last_success_at: str | None
    # Since when no message is taken; `null` when the last one was
    failing_since: str | None
    # `secret_unreadable`: nothing is sent, because the secret cannot be opened with the key that the service has (`WEBHOOK_SECRETS_KEY`); rotating it mends that
    problem: Literal["secret_unreadable"] | None


class WebhookStatus(TypedDict):
    """A webhook, with the state of its delivery."""

    id: str
    # Where to send messages: `https`, with a public address
    url: str
    description: str | None
    kinds: list[Literal[
        "payer", "patient", "provider", "facility", "encounter", "document", "readiness",
    ]] | None
    types: list[EventType] | None
    payload: Literal["reference", "full", "deidentified"]
    unchanged: Literal["skip", "send"]
    recipient: str | None
    recipient_address: str | None
    purpose: Literal["treatment", "payment", "operations", "other"] | None
    purpose_statement: str | None
    # The first event that was sent is the first one after this position
    start_after: str
    state: Literal["enabled", "disabled"]
    # `caller`: somebody disabled it; `key_deleted`: the key that it was made with was deleted; `gone`: its endpoint answered 410; `failing`: its endpoint took nothing for five days
    disabled_reason: Literal["caller", "key_deleted", "gone", "failing"] | None
    # Until when messages are signed with the previous secret, too
    previous_secret_expires_at: str | None
    # When it was made
    created_at: str
    # Who made it
    created_by: WebhookStatusCreatedBy
    # When it was last changed
    updated_at: str
    # The state of the delivery
    delivery: WebhookStatusDelivery


class WebhookCreatedBy(TypedDict):
    """Who made it"""

    type: Literal["api_key", "source", "user", "operator", "service"]
    id: str
    # The key's or user's name; a deleted key keeps it
    name: str | None


class Webhook(TypedDict):
    """An endpoint to which events are sent, without its secrets."""

    id: str
    # Where to send messages: `https`, with a public address
    url: str
    description: str | None
    kinds: list[Literal[
        "payer", "patient", "provider", "facility", "encounter", "document", "readiness",
    ]] | None
    types: list[EventType] | None
    payload: Literal["reference", "full", "deidentified"]
    unchanged: Literal["skip", "send"]
    recipient: str | None
    recipient_address: str | None
    purpose: Literal["treatment", "payment", "operations", "other"] | None
    purpose_statement: str | None
    # The first event that was sent is the first one after this position
    start_after: str
    state: Literal["enabled", "disabled"]
    # `caller`: somebody disabled it; `key_deleted`: the key that it was made with was deleted; `gone`: its endpoint answered 410; `failing`: its endpoint took nothing for five days
    disabled_reason: Literal["caller", "key_deleted", "gone", "failing"] | None
    # Until when messages are signed with the previous secret, too
    previous_secret_expires_at: str | None
    # When it was made
    created_at: str
    # Who made it
    created_by: WebhookCreatedBy
    # When it was last changed
    updated_at: str


class WebhookDeleted(TypedDict):
    """A webhook was deleted."""

    success: Literal[True]
    message: str


class WebhookPingRequested(TypedDict):
    """A ping will be sent."""

    success: Literal[True]
    message: str
    # The `webhook-id` of the message
    message_id: str


class WebhookRetryRequested(TypedDict):
    """What waits is tried now."""

    success: Literal[True]
    message: str


class WebhookReplayRequested(TypedDict):
    """Messages will be sent again."""

    success: Literal[True]
    message: str


class WebhookAttemptPage(TypedDict):
    """A page of attempts, newest first."""

    items: list[WebhookAttempt]
    # Send it as `page_token` to read on; `null` on the last page
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
    # Its id; of a document, the id of its encounter
    record_id: NotRequired[str]
    # Id of the document
    document_id: NotRequired[str]
    # Version of the record that the event made; left out where it made none
    version: NotRequired[int]
    # Position of the event: the `sequence` of its CloudEvent
    position: NotRequired[str]
    # 1, 2, 3 …; 0 for a ping
    attempt: int
    # When it began
    at: str
    duration_ms: float
    # `retrying`: it is tried again at `next_attempt_at`; `failed`: that was the last try
    outcome: Literal["delivered", "retrying", "failed"]
    # HTTP status of the answer, when there was one
    status: NotRequired[int]
    # Why there was no answer that counts
    error: NotRequired[str]
    # The first 1,000 characters of the body of the answer; only for keys with the permission `events`
    answer: NotRequired[str]
    # When it is tried again
    next_attempt_at: NotRequired[str]


class RefusedRequestPage(TypedDict):
    """A page of refused requests, newest first."""

    items: list[RefusedRequest]
    # Send it as `page_token` to read on; `null` on the last page
    next_page_token: str | None


class RefusedRequestLines(TypedDict):
    """Of a batch that was taken, and of which lines were refused; else `null`"""

    # Lines that the batch had
    sent: int
    # Lines that were refused, by `code`
    refused: dict[str, Any]
    # Lines that had a field at fault, by its name: the 20 most frequent
    fields: dict[str, Any]


class RefusedRequest(TypedDict):
    """A request that was refused, without anything that it sent."""

    # The `Request-Id` of its answer
    id: str
    # When it was refused
    refused_at: str
    method: str
    # Its path, with the names of parameters in the place of their values
    route: str
    # The status of its answer; of a batch, that of the code below
    status: int
    # Why it was refused; of a batch, why most of its lines were
    code: Literal[
        "validation_failed", "malformed_body", "reference_not_found", "unauthorized", "key_deactivated",
        "key_expired", "address_not_allowed", "workspace_deactivated", "permission_denied", "gone",
        "position_gone", "not_found", "method_not_allowed", "not_acceptable", "request_timeout", "conflict",
        "idempotency_key_in_use", "idempotency_key_reused", "version_conflict", "payload_too_large",
        "unsupported_media_type", "range_not_satisfiable", "expectation_failed", "rate_limited",
        "headers_too_large", "internal", "overloaded", "unavailable", "unreadable",
    ]
    # Names of the fields, parameters and headers at fault, dotted when nested, at most 20; `unknown_field` stands for those that the interface does not know. Never what was sent in them. Empty where it was no field
    fields: list[str]
    # Of a batch that was taken, and of which lines were refused; else `null`
    lines: RefusedRequestLines | None
    # What it was about
    kind: Literal[
        "payer", "patient", "provider", "facility", "encounter", "document",
    ] | None
    # The id of the record, as far as it named one that a record can have; of a document, that of its encounter
    record_id: str | None
    document_id: str | None
    # From where it came
    client_ip: str | None
    user_agent: str | None
    # Its `X-Request-Id`
    client_request_id: str | None
    traceparent: str | None


class WriteQuery(TypedDict):
    # `true`: nothing is written; the answer is the one that the write would get now, with `dry_run` and `changed_fields`
    dry_run: NotRequired[bool]
    # `skip`: a record whose every sent field is so already gets no new version; the answer is `unchanged`, with its present version. `append`: it gets one. Default: what is set for the workspace, else `append`
    unchanged: NotRequired[Literal["skip", "append"]]
    # Seconds, 0 to 10, to wait for the records that this one refers to, where one is missing; then the answer is as ever
    wait: NotRequired[int]


class BatchQuery(TypedDict):
    # `true`: nothing is written; the answer is the one that the write would get now, with `dry_run` and `changed_fields`
    dry_run: NotRequired[bool]
    # `skip`: a record whose every sent field is so already gets no new version; the answer is `unchanged`, with its present version. `append`: it gets one. Default: what is set for the workspace, else `append`
    unchanged: NotRequired[Literal["skip", "append"]]


class ReadQuery(TypedDict):
    # As it was in this version; not together with `as_of`
    version: NotRequired[int]
    # As it was at this moment: the last version recorded at or before it. A plain date is its first moment; without an offset it is UTC
    as_of: NotRequired[str]


class ListQuery(TypedDict):
    # Items a page, 1 to 1,000
    limit: NotRequired[int]
    # Default `created_at`: in the order of their creation. `-updated_at`: those first that were sent last; `limit` and `page_token` then go by the last change
    sort: NotRequired[Literal["created_at", "-updated_at"]]
    # Only records that were sent after this position of the event stream (`Chartledger-Position`), or at this moment (ISO 8601) or later. A plain date is its first moment; without an offset it is UTC
    updated_since: NotRequired[str]


class EncounterListQuery(TypedDict):
    # Items a page, 1 to 1,000
    limit: NotRequired[int]
    # Default `created_at`: in the order of their creation. `-updated_at`: those first that were sent last; `limit` and `page_token` then go by the last change
    sort: NotRequired[Literal["created_at", "-updated_at"]]
    # Only records that were sent after this position of the event stream (`Chartledger-Position`), or at this moment (ISO 8601) or later. A plain date is its first moment; without an offset it is UTC
    updated_since: NotRequired[str]
    # Only with this `patient_id`
    patient_id: NotRequired[str]
    # Only with this `provider_id`
    provider_id: NotRequired[str]
    # Only with this `facility_id`
    facility_id: NotRequired[str]
    # `true`: only with `is_completed`; `false`: only without it, also where it was never sent
    is_completed: NotRequired[bool]
    # Only with a date of service on or after this. A plain date is compared with the date as it was sent; of a date-time, what has no offset is UTC
    date_of_service_from: NotRequired[str]
    # Only with a date of service on or before this. A plain date is compared with the date as it was sent; of a date-time, what has no offset is UTC
    date_of_service_to: NotRequired[str]


class WorklistQuery(TypedDict):
    # Items a page, 1 to 1,000
    limit: NotRequired[int]
    # Only encounters in this state
    state: NotRequired[Literal["ready", "blocked", "not_completed", "voided"]]
    # Only those with a finding of this rule
    rule: NotRequired[Literal[
        "service_date_missing", "service_date_in_future", "service_before_birth", "timely_filing",
        "filing_limit_near", "provider_missing", "provider_npi", "taxonomy_code", "taxonomy_code_missing",
        "rendering_role", "facility_missing", "facility_npi", "facility_tax_id", "clia_number",
        "document_missing", "primary_insurance_missing", "insurance_rank_gap", "coverage_not_in_force",
        "policy_number_missing", "subscriber_incomplete", "payer_code_missing", "address_incomplete",
        "zip_of_other_state", "suspected_duplicate", "changed_after_billing",
    ]]
    # Only those whose patient's primary insurance is of this payer
    payer_id: NotRequired[str]
    # Only those at this facility
    facility_id: NotRequired[str]
    # Only those of this billing provider
    provider_id: NotRequired[str]
    # Only those with a day of service on or before this
    to: NotRequired[str]


class SearchQuery(TypedDict):
    # Only among these
    kind: NotRequired[Literal[
        "payer", "patient", "provider", "facility", "encounter", "document",
    ]]
    # Items a page, 1 to 100; default 20
    limit: NotRequired[int]


class ReferencePayerUpsertedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; a keyed hash in the payload `deidentified`
    id: str
    source: str
    type: Literal["chartledger.payer.upserted.v1"]
    # The kind and the percent-encoded id; of a document, `document/{encounter}/{document}`; of what became of an encounter in billing, `readiness/{encounter}`; of what becomes of all encounters of the workspace, `readiness`
    subject: str
    # Place in the log: sorts as text
    sequence: str
    # The trace that the request was part of, where it was sent; not in the payload `deidentified`
    traceparent: NotRequired[str]
    # In the payload `deidentified`, of which key the hashes are; left out while the first one is in use
    pseudonymepoch: NotRequired[int]
    # Where the JSON Schema of `data` is; there where the service knows its own address (`PUBLIC_URL`), and not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; its year in the payload `deidentified`
    time: str
    datacontenttype: Literal["application/json"]
    data: ReferenceData


class PayerUpsertedEventData(TypedDict):
    """The payload `full`"""

    # Place in the history: 1, 2, 3 …; also the `ETag`
    version: int
    sent: Payer
    # Names of the fields whose value the event changed; those of an insurance are dotted: `primary_insurance.payer_id`
    changed: list[str]


class PayerUpsertedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; a keyed hash in the payload `deidentified`
    id: str
    source: str
    type: Literal["chartledger.payer.upserted.v1"]
    # The kind and the percent-encoded id; of a document, `document/{encounter}/{document}`; of what became of an encounter in billing, `readiness/{encounter}`; of what becomes of all encounters of the workspace, `readiness`
    subject: str
    # Place in the log: sorts as text
    sequence: str
    # The trace that the request was part of, where it was sent; not in the payload `deidentified`
    traceparent: NotRequired[str]
    # In the payload `deidentified`, of which key the hashes are; left out while the first one is in use
    pseudonymepoch: NotRequired[int]
    # Where the JSON Schema of `data` is; there where the service knows its own address (`PUBLIC_URL`), and not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; its year in the payload `deidentified`
    time: str
    datacontenttype: Literal["application/json"]
    # The payload `full`
    data: PayerUpsertedEventData


class DeidentifiedPayerUpsertedEventDataSent(TypedDict):
    """The fields as they were sent; `null` cleared a field, and one that is not here kept its value; what could identify a person is left out"""

    # Keyed hash of the id: equal for equal ids of one kind in one workspace
    id: str
    payer_type: NotRequired[Literal[
        "Private", "Medicare", "Medicaid", "Tricare", "Workers Compensation", "Self-Pay",
    ] | None]
    # A USPS state code; others are left out
    state: NotRequired[State | None]
    # A two-letter country code; others are left out
    country: NotRequired[str | None]


class DeidentifiedPayerUpsertedEventData(TypedDict):
    # Place in the history of the record or document, or of what is told of readiness: 1, 2, 3 …
    version: int
    # The fields as they were sent; `null` cleared a field, and one that is not here kept its value; what could identify a person is left out
    sent: DeidentifiedPayerUpsertedEventDataSent
    # Names of the fields whose value the event changed; those of an insurance are dotted: `primary_insurance.payer_id`; fields that are left out are not named
    changed: list[Literal["id", "payer_type", "state", "country"]]


class DeidentifiedPayerUpsertedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; a keyed hash in the payload `deidentified`
    id: str
    source: str
    type: Literal["chartledger.payer.upserted.v1"]
    # The kind and the percent-encoded id; of a document, `document/{encounter}/{document}`; of what became of an encounter in billing, `readiness/{encounter}`; of what becomes of all encounters of the workspace, `readiness`
    subject: str
    # Place in the log: sorts as text
    sequence: str
    # The trace that the request was part of, where it was sent; not in the payload `deidentified`
    traceparent: NotRequired[str]
    # In the payload `deidentified`, of which key the hashes are; left out while the first one is in use
    pseudonymepoch: NotRequired[int]
    # Where the JSON Schema of `data` is; there where the service knows its own address (`PUBLIC_URL`), and not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; its year in the payload `deidentified`
    time: str
    datacontenttype: Literal["application/json"]
    data: DeidentifiedPayerUpsertedEventData


class ReferencePatientUpsertedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; a keyed hash in the payload `deidentified`
    id: str
    source: str
    type: Literal["chartledger.patient.upserted.v1"]
    # The kind and the percent-encoded id; of a document, `document/{encounter}/{document}`; of what became of an encounter in billing, `readiness/{encounter}`; of what becomes of all encounters of the workspace, `readiness`
    subject: str
    # Place in the log: sorts as text
    sequence: str
    # The trace that the request was part of, where it was sent; not in the payload `deidentified`
    traceparent: NotRequired[str]
    # In the payload `deidentified`, of which key the hashes are; left out while the first one is in use
    pseudonymepoch: NotRequired[int]
    # Where the JSON Schema of `data` is; there where the service knows its own address (`PUBLIC_URL`), and not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; its year in the payload `deidentified`
    time: str
    datacontenttype: Literal["application/json"]
    data: ReferenceData


class PatientUpsertedEventData(TypedDict):
    """The payload `full`"""

    # Place in the history: 1, 2, 3 …; also the `ETag`
    version: int
    sent: Patient
    # Names of the fields whose value the event changed; those of an insurance are dotted: `primary_insurance.payer_id`
    changed: list[str]


class PatientUpsertedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; a keyed hash in the payload `deidentified`
    id: str
    source: str
    type: Literal["chartledger.patient.upserted.v1"]
    # The kind and the percent-encoded id; of a document, `document/{encounter}/{document}`; of what became of an encounter in billing, `readiness/{encounter}`; of what becomes of all encounters of the workspace, `readiness`
    subject: str
    # Place in the log: sorts as text
    sequence: str
    # The trace that the request was part of, where it was sent; not in the payload `deidentified`
    traceparent: NotRequired[str]
    # In the payload `deidentified`, of which key the hashes are; left out while the first one is in use
    pseudonymepoch: NotRequired[int]
    # Where the JSON Schema of `data` is; there where the service knows its own address (`PUBLIC_URL`), and not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; its year in the payload `deidentified`
    time: str
    datacontenttype: Literal["application/json"]
    # The payload `full`
    data: PatientUpsertedEventData


class DeidentifiedPatientUpsertedEventDataSent(TypedDict):
    """The fields as they were sent; `null` cleared a field, and one that is not here kept its value; what could identify a person is left out"""

    # Keyed hash of the id: equal for equal ids of one kind in one workspace
    id: str
    # The year alone; years that tell an age of 90 or more are grouped
    date_of_birth: NotRequired[str]
    gender: NotRequired[Literal["male", "female", "other"] | None]
    # A USPS state code; others are left out
    state: NotRequired[State | None]
    # A two-letter country code; others are left out
    country: NotRequired[str | None]
    primary_insurance: NotRequired[DeidentifiedInsurance]
    secondary_insurance: NotRequired[DeidentifiedInsurance]
    tertiary_insurance: NotRequired[DeidentifiedInsurance]
    # Keyed hash of the id: equal for equal ids of one kind in one workspace
    merged_into: NotRequired[str | None]


class DeidentifiedPatientUpsertedEventData(TypedDict):
    # Place in the history of the record or document, or of what is told of readiness: 1, 2, 3 …
    version: int
    # The fields as they were sent; `null` cleared a field, and one that is not here kept its value; what could identify a person is left out
    sent: DeidentifiedPatientUpsertedEventDataSent
    # Names of the fields whose value the event changed; those of an insurance are dotted: `primary_insurance.payer_id`; fields that are left out are not named
    changed: list[Literal[
        "id", "date_of_birth", "gender", "state", "country", "primary_insurance.payer_id",
        "primary_insurance.effective_date", "primary_insurance.termination_date",
        "primary_insurance.subscriber_relationship", "primary_insurance.subscriber_date_of_birth",
        "primary_insurance.subscriber_state", "primary_insurance.subscriber_country",
        "secondary_insurance.payer_id", "secondary_insurance.effective_date",
        "secondary_insurance.termination_date", "secondary_insurance.subscriber_relationship",
        "secondary_insurance.subscriber_date_of_birth", "secondary_insurance.subscriber_state",
        "secondary_insurance.subscriber_country", "tertiary_insurance.payer_id",
        "tertiary_insurance.effective_date", "tertiary_insurance.termination_date",
        "tertiary_insurance.subscriber_relationship", "tertiary_insurance.subscriber_date_of_birth",
        "tertiary_insurance.subscriber_state", "tertiary_insurance.subscriber_country", "merged_into",
    ]]


class DeidentifiedPatientUpsertedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; a keyed hash in the payload `deidentified`
    id: str
    source: str
    type: Literal["chartledger.patient.upserted.v1"]
    # The kind and the percent-encoded id; of a document, `document/{encounter}/{document}`; of what became of an encounter in billing, `readiness/{encounter}`; of what becomes of all encounters of the workspace, `readiness`
    subject: str
    # Place in the log: sorts as text
    sequence: str
    # The trace that the request was part of, where it was sent; not in the payload `deidentified`
    traceparent: NotRequired[str]
    # In the payload `deidentified`, of which key the hashes are; left out while the first one is in use
    pseudonymepoch: NotRequired[int]
    # Where the JSON Schema of `data` is; there where the service knows its own address (`PUBLIC_URL`), and not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; its year in the payload `deidentified`
    time: str
    datacontenttype: Literal["application/json"]
    data: DeidentifiedPatientUpsertedEventData


class ReferenceProviderUpsertedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; a keyed hash in the payload `deidentified`
    id: str
    source: str
    type: Literal["chartledger.provider.upserted.v1"]
    # The kind and the percent-encoded id; of a document, `document/{encounter}/{document}`; of what became of an encounter in billing, `readiness/{encounter}`; of what becomes of all encounters of the workspace, `readiness`
    subject: str
    # Place in the log: sorts as text
    sequence: str
    # The trace that the request was part of, where it was sent; not in the payload `deidentified`
    traceparent: NotRequired[str]
    # In the payload `deidentified`, of which key the hashes are; left out while the first one is in use
    pseudonymepoch: NotRequired[int]
    # Where the JSON Schema of `data` is; there where the service knows its own address (`PUBLIC_URL`), and not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; its year in the payload `deidentified`
    time: str
    datacontenttype: Literal["application/json"]
    data: ReferenceData


class ProviderUpsertedEventData(TypedDict):
    """The payload `full`"""

    # Place in the history: 1, 2, 3 …; also the `ETag`
    version: int
    sent: Provider
    # Names of the fields whose value the event changed; those of an insurance are dotted: `primary_insurance.payer_id`
    changed: list[str]


class ProviderUpsertedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; a keyed hash in the payload `deidentified`
    id: str
    source: str
    type: Literal["chartledger.provider.upserted.v1"]
    # The kind and the percent-encoded id; of a document, `document/{encounter}/{document}`; of what became of an encounter in billing, `readiness/{encounter}`; of what becomes of all encounters of the workspace, `readiness`
    subject: str
    # Place in the log: sorts as text
    sequence: str
    # The trace that the request was part of, where it was sent; not in the payload `deidentified`
    traceparent: NotRequired[str]
    # In the payload `deidentified`, of which key the hashes are; left out while the first one is in use
    pseudonymepoch: NotRequired[int]
    # Where the JSON Schema of `data` is; there where the service knows its own address (`PUBLIC_URL`), and not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; its year in the payload `deidentified`
    time: str
    datacontenttype: Literal["application/json"]
    # The payload `full`
    data: ProviderUpsertedEventData


class DeidentifiedProviderUpsertedEventDataSent(TypedDict):
    """The fields as they were sent; `null` cleared a field, and one that is not here kept its value; what could identify a person is left out"""

    # Keyed hash of the id: equal for equal ids of one kind in one workspace
    id: str
    role: NotRequired[Literal[
        "attending_physician", "rendering_provider", "referring_provider", "billing_provider",
        "operating_physician",
    ] | None]
    # NUCC classification: the first four characters of the code
    taxonomy_code: NotRequired[str | None]
    # A USPS state code; others are left out
    state: NotRequired[State | None]
    # A two-letter country code; others are left out
    country: NotRequired[str | None]


class DeidentifiedProviderUpsertedEventData(TypedDict):
    # Place in the history of the record or document, or of what is told of readiness: 1, 2, 3 …
    version: int
    # The fields as they were sent; `null` cleared a field, and one that is not here kept its value; what could identify a person is left out
    sent: DeidentifiedProviderUpsertedEventDataSent
    # Names of the fields whose value the event changed; those of an insurance are dotted: `primary_insurance.payer_id`; fields that are left out are not named
    changed: list[Literal["id", "role", "taxonomy_code", "state", "country"]]


class DeidentifiedProviderUpsertedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; a keyed hash in the payload `deidentified`
    id: str
    source: str
    type: Literal["chartledger.provider.upserted.v1"]
    # The kind and the percent-encoded id; of a document, `document/{encounter}/{document}`; of what became of an encounter in billing, `readiness/{encounter}`; of what becomes of all encounters of the workspace, `readiness`
    subject: str
    # Place in the log: sorts as text
    sequence: str
    # The trace that the request was part of, where it was sent; not in the payload `deidentified`
    traceparent: NotRequired[str]
    # In the payload `deidentified`, of which key the hashes are; left out while the first one is in use
    pseudonymepoch: NotRequired[int]
    # Where the JSON Schema of `data` is; there where the service knows its own address (`PUBLIC_URL`), and not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; its year in the payload `deidentified`
    time: str
    datacontenttype: Literal["application/json"]
    data: DeidentifiedProviderUpsertedEventData


class ReferenceFacilityUpsertedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; a keyed hash in the payload `deidentified`
    id: str
    source: str
    type: Literal["chartledger.facility.upserted.v1"]
    # The kind and the percent-encoded id; of a document, `document/{encounter}/{document}`; of what became of an encounter in billing, `readiness/{encounter}`; of what becomes of all encounters of the workspace, `readiness`
    subject: str
    # Place in the log: sorts as text
    sequence: str
    # The trace that the request was part of, where it was sent; not in the payload `deidentified`
    traceparent: NotRequired[str]
    # In the payload `deidentified`, of which key the hashes are; left out while the first one is in use
    pseudonymepoch: NotRequired[int]
    # Where the JSON Schema of `data` is; there where the service knows its own address (`PUBLIC_URL`), and not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; its year in the payload `deidentified`
    time: str
    datacontenttype: Literal["application/json"]
    data: ReferenceData


class FacilityUpsertedEventData(TypedDict):
    """The payload `full`"""

    # Place in the history: 1, 2, 3 …; also the `ETag`
    version: int
    sent: Facility
    # Names of the fields whose value the event changed; those of an insurance are dotted: `primary_insurance.payer_id`
    changed: list[str]


class FacilityUpsertedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; a keyed hash in the payload `deidentified`
    id: str
    source: str
    type: Literal["chartledger.facility.upserted.v1"]
    # The kind and the percent-encoded id; of a document, `document/{encounter}/{document}`; of what became of an encounter in billing, `readiness/{encounter}`; of what becomes of all encounters of the workspace, `readiness`
    subject: str
    # Place in the log: sorts as text
    sequence: str
    # The trace that the request was part of, where it was sent; not in the payload `deidentified`
    traceparent: NotRequired[str]
    # In the payload `deidentified`, of which key the hashes are; left out while the first one is in use
    pseudonymepoch: NotRequired[int]
    # Where the JSON Schema of `data` is; there where the service knows its own address (`PUBLIC_URL`), and not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; its year in the payload `deidentified`
    time: str
    datacontenttype: Literal["application/json"]
    # The payload `full`
    data: FacilityUpsertedEventData


class DeidentifiedFacilityUpsertedEventDataSent(TypedDict):
    """The fields as they were sent; `null` cleared a field, and one that is not here kept its value; what could identify a person is left out"""

    # Keyed hash of the id: equal for equal ids of one kind in one workspace
    id: str
    facility_type: NotRequired[Literal[
        "hospital", "clinic", "ambulatory_surgery_center", "skilled_nursing_facility", "laboratory",
        "pharmacy", "home_health", "telehealth", "other",
    ] | None]
    # A USPS state code; others are left out
    state: NotRequired[State | None]
    # A two-letter country code; others are left out
    country: NotRequired[str | None]


class DeidentifiedFacilityUpsertedEventData(TypedDict):
    # Place in the history of the record or document, or of what is told of readiness: 1, 2, 3 …
    version: int
    # The fields as they were sent; `null` cleared a field, and one that is not here kept its value; what could identify a person is left out
    sent: DeidentifiedFacilityUpsertedEventDataSent
    # Names of the fields whose value the event changed; those of an insurance are dotted: `primary_insurance.payer_id`; fields that are left out are not named
    changed: list[Literal["id", "facility_type", "state", "country"]]


class DeidentifiedFacilityUpsertedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; a keyed hash in the payload `deidentified`
    id: str
    source: str
    type: Literal["chartledger.facility.upserted.v1"]
    # The kind and the percent-encoded id; of a document, `document/{encounter}/{document}`; of what became of an encounter in billing, `readiness/{encounter}`; of what becomes of all encounters of the workspace, `readiness`
    subject: str
    # Place in the log: sorts as text
    sequence: str
    # The trace that the request was part of, where it was sent; not in the payload `deidentified`
    traceparent: NotRequired[str]
    # In the payload `deidentified`, of which key the hashes are; left out while the first one is in use
    pseudonymepoch: NotRequired[int]
    # Where the JSON Schema of `data` is; there where the service knows its own address (`PUBLIC_URL`), and not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; its year in the payload `deidentified`
    time: str
    datacontenttype: Literal["application/json"]
    data: DeidentifiedFacilityUpsertedEventData


class ReferenceEncounterUpsertedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; a keyed hash in the payload `deidentified`
    id: str
    source: str
    type: Literal["chartledger.encounter.upserted.v1"]
    # The kind and the percent-encoded id; of a document, `document/{encounter}/{document}`; of what became of an encounter in billing, `readiness/{encounter}`; of what becomes of all encounters of the workspace, `readiness`
    subject: str
    # Place in the log: sorts as text
    sequence: str
    # The trace that the request was part of, where it was sent; not in the payload `deidentified`
    traceparent: NotRequired[str]
    # In the payload `deidentified`, of which key the hashes are; left out while the first one is in use
    pseudonymepoch: NotRequired[int]
    # Where the JSON Schema of `data` is; there where the service knows its own address (`PUBLIC_URL`), and not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; its year in the payload `deidentified`
    time: str
    datacontenttype: Literal["application/json"]
    data: ReferenceData


class EncounterUpsertedEventData(TypedDict):
    """The payload `full`"""

    # Place in the history: 1, 2, 3 …; also the `ETag`
    version: int
    sent: Encounter
    # Names of the fields whose value the event changed; those of an insurance are dotted: `primary_insurance.payer_id`
    changed: list[str]


class EncounterUpsertedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; a keyed hash in the payload `deidentified`
    id: str
    source: str
    type: Literal["chartledger.encounter.upserted.v1"]
    # The kind and the percent-encoded id; of a document, `document/{encounter}/{document}`; of what became of an encounter in billing, `readiness/{encounter}`; of what becomes of all encounters of the workspace, `readiness`
    subject: str
    # Place in the log: sorts as text
    sequence: str
    # The trace that the request was part of, where it was sent; not in the payload `deidentified`
    traceparent: NotRequired[str]
    # In the payload `deidentified`, of which key the hashes are; left out while the first one is in use
    pseudonymepoch: NotRequired[int]
    # Where the JSON Schema of `data` is; there where the service knows its own address (`PUBLIC_URL`), and not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; its year in the payload `deidentified`
    time: str
    datacontenttype: Literal["application/json"]
    # The payload `full`
    data: EncounterUpsertedEventData


class DeidentifiedEncounterUpsertedEventDataSent(TypedDict):
    """The fields as they were sent; `null` cleared a field, and one that is not here kept its value; what could identify a person is left out"""

    # Keyed hash of the id: equal for equal ids of one kind in one workspace
    id: str
    # Keyed hash of the id: equal for equal ids of one kind in one workspace
    patient_id: NotRequired[str]
    # Keyed hash of the id: equal for equal ids of one kind in one workspace
    provider_id: NotRequired[str | None]
    # Keyed hash of the id: equal for equal ids of one kind in one workspace
    rendering_provider_id: NotRequired[str | None]
    # Keyed hash of the id: equal for equal ids of one kind in one workspace
    facility_id: NotRequired[str | None]
    # The year alone; years that tell an age of 90 or more are grouped
    date_of_service: NotRequired[str | None]
    visit_type: NotRequired[Literal[
        "office_visit", "telehealth", "inpatient", "outpatient", "emergency", "observation", "surgical",
    ] | None]
    # `true` marks the encounter ready for the billing workflow
    is_completed: NotRequired[bool | None]
    # The year alone; years that tell an age of 90 or more are grouped
    voided_at: NotRequired[str | None]


class DeidentifiedEncounterUpsertedEventData(TypedDict):
    # Place in the history of the record or document, or of what is told of readiness: 1, 2, 3 …
    version: int
    # The fields as they were sent; `null` cleared a field, and one that is not here kept its value; what could identify a person is left out
    sent: DeidentifiedEncounterUpsertedEventDataSent
    # Names of the fields whose value the event changed; those of an insurance are dotted: `primary_insurance.payer_id`; fields that are left out are not named
    changed: list[Literal[
        "id", "patient_id", "provider_id", "rendering_provider_id", "facility_id", "date_of_service",
        "visit_type", "is_completed", "voided_at",
    ]]


class DeidentifiedEncounterUpsertedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; a keyed hash in the payload `deidentified`
    id: str
    source: str
    type: Literal["chartledger.encounter.upserted.v1"]
    # The kind and the percent-encoded id; of a document, `document/{encounter}/{document}`; of what became of an encounter in billing, `readiness/{encounter}`; of what becomes of all encounters of the workspace, `readiness`
    subject: str
    # Place in the log: sorts as text
    sequence: str
    # The trace that the request was part of, where it was sent; not in the payload `deidentified`
    traceparent: NotRequired[str]
    # In the payload `deidentified`, of which key the hashes are; left out while the first one is in use
    pseudonymepoch: NotRequired[int]
    # Where the JSON Schema of `data` is; there where the service knows its own address (`PUBLIC_URL`), and not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; its year in the payload `deidentified`
    time: str
    datacontenttype: Literal["application/json"]
    data: DeidentifiedEncounterUpsertedEventData


class ReferenceDocumentUploadedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; a keyed hash in the payload `deidentified`
    id: str
    source: str
    type: Literal["chartledger.document.uploaded.v1"]
    # The kind and the percent-encoded id; of a document, `document/{encounter}/{document}`; of what became of an encounter in billing, `readiness/{encounter}`; of what becomes of all encounters of the workspace, `readiness`
    subject: str
    # Place in the log: sorts as text
    sequence: str
    # The trace that the request was part of, where it was sent; not in the payload `deidentified`
    traceparent: NotRequired[str]
    # In the payload `deidentified`, of which key the hashes are; left out while the first one is in use
    pseudonymepoch: NotRequired[int]
    # Where the JSON Schema of `data` is; there where the service knows its own address (`PUBLIC_URL`), and not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; its year in the payload `deidentified`
    time: str
    datacontenttype: Literal["application/json"]
    data: ReferenceData


class DocumentUploadedEventDataSent(TypedDict):
    # The caller's encounter identifier
    encounter_id: str
    # The caller's document identifier
    document_id: str
    # What the document is
    category: DocumentCategory
    # Base name of the file as it was sent
    filename: str
    format: Literal["pdf", "docx"]
    # Bytes
    size: int
    # SHA-256 of the file, lower-case hex
    sha256: str


class DocumentUploadedEventData(TypedDict):
    """The payload `full`"""

    # Place in the history: 1, 2, 3 …; also the `ETag`
    version: int
    sent: DocumentUploadedEventDataSent
    # Names of the fields whose value the event changed; those of an insurance are dotted: `primary_insurance.payer_id`
    changed: list[str]


class DocumentUploadedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; a keyed hash in the payload `deidentified`
    id: str
    source: str
    type: Literal["chartledger.document.uploaded.v1"]
    # The kind and the percent-encoded id; of a document, `document/{encounter}/{document}`; of what became of an encounter in billing, `readiness/{encounter}`; of what becomes of all encounters of the workspace, `readiness`
    subject: str
    # Place in the log: sorts as text
    sequence: str
    # The trace that the request was part of, where it was sent; not in the payload `deidentified`
    traceparent: NotRequired[str]
    # In the payload `deidentified`, of which key the hashes are; left out while the first one is in use
    pseudonymepoch: NotRequired[int]
    # Where the JSON Schema of `data` is; there where the service knows its own address (`PUBLIC_URL`), and not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; its year in the payload `deidentified`
    time: str
    datacontenttype: Literal["application/json"]
    # The payload `full`
    data: DocumentUploadedEventData


class DeidentifiedDocumentUploadedEventDataSent(TypedDict):
    """The fields as they were sent; `null` cleared a field, and one that is not here kept its value; what could identify a person is left out"""

    # Keyed hash of the id: equal for equal ids of one kind in one workspace
    encounter_id: str
    # Keyed hash of the id: equal for equal ids of one kind in one workspace
    document_id: str
    # What the document is
    category: DocumentCategory
    format: Literal["pdf", "docx"]


class DeidentifiedDocumentUploadedEventData(TypedDict):
    # Place in the history of the record or document, or of what is told of readiness: 1, 2, 3 …
    version: int
    # The fields as they were sent; `null` cleared a field, and one that is not here kept its value; what could identify a person is left out
    sent: DeidentifiedDocumentUploadedEventDataSent
    # Names of the fields whose value the event changed; those of an insurance are dotted: `primary_insurance.payer_id`; fields that are left out are not named
    changed: list[Literal["encounter_id", "document_id", "category", "format"]]


class DeidentifiedDocumentUploadedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; a keyed hash in the payload `deidentified`
    id: str
    source: str
    type: Literal["chartledger.document.uploaded.v1"]
    # The kind and the percent-encoded id; of a document, `document/{encounter}/{document}`; of what became of an encounter in billing, `readiness/{encounter}`; of what becomes of all encounters of the workspace, `readiness`
    subject: str
    # Place in the log: sorts as text
    sequence: str
    # The trace that the request was part of, where it was sent; not in the payload `deidentified`
    traceparent: NotRequired[str]
    # In the payload `deidentified`, of which key the hashes are; left out while the first one is in use
    pseudonymepoch: NotRequired[int]
    # Where the JSON Schema of `data` is; there where the service knows its own address (`PUBLIC_URL`), and not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; its year in the payload `deidentified`
    time: str
    datacontenttype: Literal["application/json"]
    data: DeidentifiedDocumentUploadedEventData


class ReferenceDocumentRemovedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; a keyed hash in the payload `deidentified`
    id: str
    source: str
    type: Literal["chartledger.document.removed.v1"]
    # The kind and the percent-encoded id; of a document, `document/{encounter}/{document}`; of what became of an encounter in billing, `readiness/{encounter}`; of what becomes of all encounters of the workspace, `readiness`
    subject: str
    # Place in the log: sorts as text
    sequence: str
    # The trace that the request was part of, where it was sent; not in the payload `deidentified`
    traceparent: NotRequired[str]
    # In the payload `deidentified`, of which key the hashes are; left out while the first one is in use
    pseudonymepoch: NotRequired[int]
    # Where the JSON Schema of `data` is; there where the service knows its own address (`PUBLIC_URL`), and not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; its year in the payload `deidentified`
    time: str
    datacontenttype: Literal["application/json"]
    data: ReferenceData


class DocumentRemovedEventDataSent(TypedDict):
    # The caller's encounter identifier
    encounter_id: str
    # The caller's document identifier
    document_id: str


class DocumentRemovedEventData(TypedDict):
    """The payload `full`"""

    # Place in the history: 1, 2, 3 …; also the `ETag`
    version: int
    sent: DocumentRemovedEventDataSent
    # Names of the fields whose value the event changed; those of an insurance are dotted: `primary_insurance.payer_id`
    changed: list[str]


class DocumentRemovedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; a keyed hash in the payload `deidentified`
    id: str
    source: str
    type: Literal["chartledger.document.removed.v1"]
    # The kind and the percent-encoded id; of a document, `document/{encounter}/{document}`; of what became of an encounter in billing, `readiness/{encounter}`; of what becomes of all encounters of the workspace, `readiness`
    subject: str
    # Place in the log: sorts as text
    sequence: str
    # The trace that the request was part of, where it was sent; not in the payload `deidentified`
    traceparent: NotRequired[str]
    # In the payload `deidentified`, of which key the hashes are; left out while the first one is in use
    pseudonymepoch: NotRequired[int]
    # Where the JSON Schema of `data` is; there where the service knows its own address (`PUBLIC_URL`), and not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; its year in the payload `deidentified`
    time: str
    datacontenttype: Literal["application/json"]
    # The payload `full`
    data: DocumentRemovedEventData


class DeidentifiedDocumentRemovedEventDataSent(TypedDict):
    """The fields as they were sent; `null` cleared a field, and one that is not here kept its value; what could identify a person is left out"""

    # Keyed hash of the id: equal for equal ids of one kind in one workspace
    encounter_id: str
    # Keyed hash of the id: equal for equal ids of one kind in one workspace
    document_id: str


class DeidentifiedDocumentRemovedEventData(TypedDict):
    # Place in the history of the record or document, or of what is told of readiness: 1, 2, 3 …
    version: int
    # The fields as they were sent; `null` cleared a field, and one that is not here kept its value; what could identify a person is left out
    sent: DeidentifiedDocumentRemovedEventDataSent
    # Names of the fields whose value the event changed; those of an insurance are dotted: `primary_insurance.payer_id`; fields that are left out are not named
    changed: list[Literal["encounter_id", "document_id", "category", "format"]]


class DeidentifiedDocumentRemovedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; a keyed hash in the payload `deidentified`
    id: str
    source: str
    type: Literal["chartledger.document.removed.v1"]
    # The kind and the percent-encoded id; of a document, `document/{encounter}/{document}`; of what became of an encounter in billing, `readiness/{encounter}`; of what becomes of all encounters of the workspace, `readiness`
    subject: str
    # Place in the log: sorts as text
    sequence: str
    # The trace that the request was part of, where it was sent; not in the payload `deidentified`
    traceparent: NotRequired[str]
    # In the payload `deidentified`, of which key the hashes are; left out while the first one is in use
    pseudonymepoch: NotRequired[int]
    # Where the JSON Schema of `data` is; there where the service knows its own address (`PUBLIC_URL`), and not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; its year in the payload `deidentified`
    time: str
    datacontenttype: Literal["application/json"]
    data: DeidentifiedDocumentRemovedEventData


class ReferencePayerErasedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; a keyed hash in the payload `deidentified`
    id: str
    source: str
    type: Literal["chartledger.payer.erased.v1"]
    # The kind and the percent-encoded id; of a document, `document/{encounter}/{document}`; of what became of an encounter in billing, `readiness/{encounter}`; of what becomes of all encounters of the workspace, `readiness`
    subject: str
    # Place in the log: sorts as text
    sequence: str
    # The trace that the request was part of, where it was sent; not in the payload `deidentified`
    traceparent: NotRequired[str]
    # In the payload `deidentified`, of which key the hashes are; left out while the first one is in use
    pseudonymepoch: NotRequired[int]
    # Where the JSON Schema of `data` is; there where the service knows its own address (`PUBLIC_URL`), and not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; its year in the payload `deidentified`
    time: str
    datacontenttype: Literal["application/json"]
    data: ReferenceData


class PayerErasedEventDataSent(TypedDict):
    # The caller's payer identifier
    id: str


class PayerErasedEventData(TypedDict):
    """The payload `full`"""

    # Place in the history: 1, 2, 3 …; also the `ETag`
    version: int
    sent: PayerErasedEventDataSent
    # Names of the fields whose value the event changed; those of an insurance are dotted: `primary_insurance.payer_id`
    changed: list[str]


class PayerErasedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; a keyed hash in the payload `deidentified`
    id: str
    source: str
    type: Literal["chartledger.payer.erased.v1"]
    # The kind and the percent-encoded id; of a document, `document/{encounter}/{document}`; of what became of an encounter in billing, `readiness/{encounter}`; of what becomes of all encounters of the workspace, `readiness`
    subject: str
    # Place in the log: sorts as text
    sequence: str
    # The trace that the request was part of, where it was sent; not in the payload `deidentified`
    traceparent: NotRequired[str]
    # In the payload `deidentified`, of which key the hashes are; left out while the first one is in use
    pseudonymepoch: NotRequired[int]
    # Where the JSON Schema of `data` is; there where the service knows its own address (`PUBLIC_URL`), and not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; its year in the payload `deidentified`
    time: str
    datacontenttype: Literal["application/json"]
    # The payload `full`
    data: PayerErasedEventData


class DeidentifiedPayerErasedEventDataSent(TypedDict):
    """The fields as they were sent; `null` cleared a field, and one that is not here kept its value; what could identify a person is left out"""

    # Keyed hash of the id: equal for equal ids of one kind in one workspace
    id: str


class DeidentifiedPayerErasedEventData(TypedDict):
    # Place in the history of the record or document, or of what is told of readiness: 1, 2, 3 …
    version: int
    # The fields as they were sent; `null` cleared a field, and one that is not here kept its value; what could identify a person is left out
    sent: DeidentifiedPayerErasedEventDataSent
    # Names of the fields whose value the event changed; those of an insurance are dotted: `primary_insurance.payer_id`; fields that are left out are not named
    changed: list[Literal["id", "payer_type", "state", "country"]]


class DeidentifiedPayerErasedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; a keyed hash in the payload `deidentified`
    id: str
    source: str
    type: Literal["chartledger.payer.erased.v1"]
    # The kind and the percent-encoded id; of a document, `document/{encounter}/{document}`; of what became of an encounter in billing, `readiness/{encounter}`; of what becomes of all encounters of the workspace, `readiness`
    subject: str
    # Place in the log: sorts as text
    sequence: str
    # The trace that the request was part of, where it was sent; not in the payload `deidentified`
    traceparent: NotRequired[str]
    # In the payload `deidentified`, of which key the hashes are; left out while the first one is in use
    pseudonymepoch: NotRequired[int]
    # Where the JSON Schema of `data` is; there where the service knows its own address (`PUBLIC_URL`), and not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; its year in the payload `deidentified`
    time: str
    datacontenttype: Literal["application/json"]
    data: DeidentifiedPayerErasedEventData


class ReferencePatientErasedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; a keyed hash in the payload `deidentified`
    id: str
    source: str
    type: Literal["chartledger.patient.erased.v1"]
    # The kind and the percent-encoded id; of a document, `document/{encounter}/{document}`; of what became of an encounter in billing, `readiness/{encounter}`; of what becomes of all encounters of the workspace, `readiness`
    subject: str
    # Place in the log: sorts as text
    sequence: str
    # The trace that the request was part of, where it was sent; not in the payload `deidentified`
    traceparent: NotRequired[str]
    # In the payload `deidentified`, of which key the hashes are; left out while the first one is in use
    pseudonymepoch: NotRequired[int]
    # Where the JSON Schema of `data` is; there where the service knows its own address (`PUBLIC_URL`), and not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; its year in the payload `deidentified`
    time: str
    datacontenttype: Literal["application/json"]
    data: ReferenceData


class PatientErasedEventDataSent(TypedDict):
    # The caller's patient identifier
    id: str


class PatientErasedEventData(TypedDict):
    """The payload `full`"""

    # Place in the history: 1, 2, 3 …; also the `ETag`
    version: int
    sent: PatientErasedEventDataSent
    # Names of the fields whose value the event changed; those of an insurance are dotted: `primary_insurance.payer_id`
    changed: list[str]


class PatientErasedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; a keyed hash in the payload `deidentified`
    id: str
    source: str
    type: Literal["chartledger.patient.erased.v1"]
    # The kind and the percent-encoded id; of a document, `document/{encounter}/{document}`; of what became of an encounter in billing, `readiness/{encounter}`; of what becomes of all encounters of the workspace, `readiness`
    subject: str
    # Place in the log: sorts as text
    sequence: str
    # The trace that the request was part of, where it was sent; not in the payload `deidentified`
    traceparent: NotRequired[str]
    # In the payload `deidentified`, of which key the hashes are; left out while the first one is in use
    pseudonymepoch: NotRequired[int]
    # Where the JSON Schema of `data` is; there where the service knows its own address (`PUBLIC_URL`), and not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; its year in the payload `deidentified`
    time: str
    datacontenttype: Literal["application/json"]
    # The payload `full`
    data: PatientErasedEventData


class DeidentifiedPatientErasedEventDataSent(TypedDict):
    """The fields as they were sent; `null` cleared a field, and one that is not here kept its value; what could identify a person is left out"""

    # Keyed hash of the id: equal for equal ids of one kind in one workspace
    id: str


class DeidentifiedPatientErasedEventData(TypedDict):
    # Place in the history of the record or document, or of what is told of readiness: 1, 2, 3 …
    version: int
    # The fields as they were sent; `null` cleared a field, and one that is not here kept its value; what could identify a person is left out
    sent: DeidentifiedPatientErasedEventDataSent
    # Names of the fields whose value the event changed; those of an insurance are dotted: `primary_insurance.payer_id`; fields that are left out are not named
    changed: list[Literal[
        "id", "date_of_birth", "gender", "state", "country", "primary_insurance.payer_id",
        "primary_insurance.effective_date", "primary_insurance.termination_date",
        "primary_insurance.subscriber_relationship", "primary_insurance.subscriber_date_of_birth",
        "primary_insurance.subscriber_state", "primary_insurance.subscriber_country",
        "secondary_insurance.payer_id", "secondary_insurance.effective_date",
        "secondary_insurance.termination_date", "secondary_insurance.subscriber_relationship",
        "secondary_insurance.subscriber_date_of_birth", "secondary_insurance.subscriber_state",
        "secondary_insurance.subscriber_country", "tertiary_insurance.payer_id",
        "tertiary_insurance.effective_date", "tertiary_insurance.termination_date",
        "tertiary_insurance.subscriber_relationship", "tertiary_insurance.subscriber_date_of_birth",
        "tertiary_insurance.subscriber_state", "tertiary_insurance.subscriber_country", "merged_into",
    ]]


class DeidentifiedPatientErasedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; a keyed hash in the payload `deidentified`
    id: str
    source: str
    type: Literal["chartledger.patient.erased.v1"]
    # The kind and the percent-encoded id; of a document, `document/{encounter}/{document}`; of what became of an encounter in billing, `readiness/{encounter}`; of what becomes of all encounters of the workspace, `readiness`
    subject: str
    # Place in the log: sorts as text
    sequence: str
    # The trace that the request was part of, where it was sent; not in the payload `deidentified`
    traceparent: NotRequired[str]
    # In the payload `deidentified`, of which key the hashes are; left out while the first one is in use
    pseudonymepoch: NotRequired[int]
    # Where the JSON Schema of `data` is; there where the service knows its own address (`PUBLIC_URL`), and not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; its year in the payload `deidentified`
    time: str
    datacontenttype: Literal["application/json"]
    data: DeidentifiedPatientErasedEventData


class ReferenceProviderErasedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; a keyed hash in the payload `deidentified`
    id: str
    source: str
    type: Literal["chartledger.provider.erased.v1"]
    # The kind and the percent-encoded id; of a document, `document/{encounter}/{document}`; of what became of an encounter in billing, `readiness/{encounter}`; of what becomes of all encounters of the workspace, `readiness`
    subject: str
    # Place in the log: sorts as text
    sequence: str
    # The trace that the request was part of, where it was sent; not in the payload `deidentified`
    traceparent: NotRequired[str]
    # In the payload `deidentified`, of which key the hashes are; left out while the first one is in use
    pseudonymepoch: NotRequired[int]
    # Where the JSON Schema of `data` is; there where the service knows its own address (`PUBLIC_URL`), and not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; its year in the payload `deidentified`
    time: str
    datacontenttype: Literal["application/json"]
    data: ReferenceData


class ProviderErasedEventDataSent(TypedDict):
    # The caller's provider identifier
    id: str


class ProviderErasedEventData(TypedDict):
    """The payload `full`"""

    # Place in the history: 1, 2, 3 …; also the `ETag`
    version: int
    sent: ProviderErasedEventDataSent
    # Names of the fields whose value the event changed; those of an insurance are dotted: `primary_insurance.payer_id`
    changed: list[str]


class ProviderErasedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; a keyed hash in the payload `deidentified`
    id: str
    source: str
    type: Literal["chartledger.provider.erased.v1"]
    # The kind and the percent-encoded id; of a document, `document/{encounter}/{document}`; of what became of an encounter in billing, `readiness/{encounter}`; of what becomes of all encounters of the workspace, `readiness`
    subject: str
    # Place in the log: sorts as text
    sequence: str
    # The trace that the request was part of, where it was sent; not in the payload `deidentified`
    traceparent: NotRequired[str]
    # In the payload `deidentified`, of which key the hashes are; left out while the first one is in use
    pseudonymepoch: NotRequired[int]
    # Where the JSON Schema of `data` is; there where the service knows its own address (`PUBLIC_URL`), and not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; its year in the payload `deidentified`
    time: str
    datacontenttype: Literal["application/json"]
    # The payload `full`
    data: ProviderErasedEventData


class DeidentifiedProviderErasedEventDataSent(TypedDict):
    """The fields as they were sent; `null` cleared a field, and one that is not here kept its value; what could identify a person is left out"""

    # Keyed hash of the id: equal for equal ids of one kind in one workspace
    id: str


class DeidentifiedProviderErasedEventData(TypedDict):
    # Place in the history of the record or document, or of what is told of readiness: 1, 2, 3 …
    version: int
    # The fields as they were sent; `null` cleared a field, and one that is not here kept its value; what could identify a person is left out
    sent: DeidentifiedProviderErasedEventDataSent
    # Names of the fields whose value the event changed; those of an insurance are dotted: `primary_insurance.payer_id`; fields that are left out are not named
    changed: list[Literal["id", "role", "taxonomy_code", "state", "country"]]


class DeidentifiedProviderErasedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; a keyed hash in the payload `deidentified`
    id: str
    source: str
    type: Literal["chartledger.provider.erased.v1"]
    # The kind and the percent-encoded id; of a document, `document/{encounter}/{document}`; of what became of an encounter in billing, `readiness/{encounter}`; of what becomes of all encounters of the workspace, `readiness`
    subject: str
    # Place in the log: sorts as text
    sequence: str
    # The trace that the request was part of, where it was sent; not in the payload `deidentified`
    traceparent: NotRequired[str]
    # In the payload `deidentified`, of which key the hashes are; left out while the first one is in use
    pseudonymepoch: NotRequired[int]
    # Where the JSON Schema of `data` is; there where the service knows its own address (`PUBLIC_URL`), and not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; its year in the payload `deidentified`
    time: str
    datacontenttype: Literal["application/json"]
    data: DeidentifiedProviderErasedEventData


class ReferenceFacilityErasedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; a keyed hash in the payload `deidentified`
    id: str
    source: str
    type: Literal["chartledger.facility.erased.v1"]
    # The kind and the percent-encoded id; of a document, `document/{encounter}/{document}`; of what became of an encounter in billing, `readiness/{encounter}`; of what becomes of all encounters of the workspace, `readiness`
    subject: str
    # Place in the log: sorts as text
    sequence: str
    # The trace that the request was part of, where it was sent; not in the payload `deidentified`
    traceparent: NotRequired[str]
    # In the payload `deidentified`, of which key the hashes are; left out while the first one is in use
    pseudonymepoch: NotRequired[int]
    # Where the JSON Schema of `data` is; there where the service knows its own address (`PUBLIC_URL`), and not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; its year in the payload `deidentified`
    time: str
    datacontenttype: Literal["application/json"]
    data: ReferenceData


class FacilityErasedEventDataSent(TypedDict):
    # The caller's facility identifier
    id: str


class FacilityErasedEventData(TypedDict):
    """The payload `full`"""

    # Place in the history: 1, 2, 3 …; also the `ETag`
    version: int
    sent: FacilityErasedEventDataSent
    # Names of the fields whose value the event changed; those of an insurance are dotted: `primary_insurance.payer_id`
    changed: list[str]


class FacilityErasedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; a keyed hash in the payload `deidentified`
    id: str
    source: str
    type: Literal["chartledger.facility.erased.v1"]
    # The kind and the percent-encoded id; of a document, `document/{encounter}/{document}`; of what became of an encounter in billing, `readiness/{encounter}`; of what becomes of all encounters of the workspace, `readiness`
    subject: str
    # Place in the log: sorts as text
    sequence: str
    # The trace that the request was part of, where it was sent; not in the payload `deidentified`
    traceparent: NotRequired[str]
    # In the payload `deidentified`, of which key the hashes are; left out while the first one is in use
    pseudonymepoch: NotRequired[int]
    # Where the JSON Schema of `data` is; there where the service knows its own address (`PUBLIC_URL`), and not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; its year in the payload `deidentified`
    time: str
    datacontenttype: Literal["application/json"]
    # The payload `full`
    data: FacilityErasedEventData


class DeidentifiedFacilityErasedEventDataSent(TypedDict):
    """The fields as they were sent; `null` cleared a field, and one that is not here kept its value; what could identify a person is left out"""

    # Keyed hash of the id: equal for equal ids of one kind in one workspace
    id: str


class DeidentifiedFacilityErasedEventData(TypedDict):
    # Place in the history of the record or document, or of what is told of readiness: 1, 2, 3 …
    version: int
    # The fields as they were sent; `null` cleared a field, and one that is not here kept its value; what could identify a person is left out
    sent: DeidentifiedFacilityErasedEventDataSent
    # Names of the fields whose value the event changed; those of an insurance are dotted: `primary_insurance.payer_id`; fields that are left out are not named
    changed: list[Literal["id", "facility_type", "state", "country"]]


class DeidentifiedFacilityErasedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; a keyed hash in the payload `deidentified`
    id: str
    source: str
    type: Literal["chartledger.facility.erased.v1"]
    # The kind and the percent-encoded id; of a document, `document/{encounter}/{document}`; of what became of an encounter in billing, `readiness/{encounter}`; of what becomes of all encounters of the workspace, `readiness`
    subject: str
    # Place in the log: sorts as text
    sequence: str
    # The trace that the request was part of, where it was sent; not in the payload `deidentified`
    traceparent: NotRequired[str]
    # In the payload `deidentified`, of which key the hashes are; left out while the first one is in use
    pseudonymepoch: NotRequired[int]
    # Where the JSON Schema of `data` is; there where the service knows its own address (`PUBLIC_URL`), and not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; its year in the payload `deidentified`
    time: str
    datacontenttype: Literal["application/json"]
    data: DeidentifiedFacilityErasedEventData


class ReferenceEncounterErasedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; a keyed hash in the payload `deidentified`
    id: str
    source: str
    type: Literal["chartledger.encounter.erased.v1"]
    # The kind and the percent-encoded id; of a document, `document/{encounter}/{document}`; of what became of an encounter in billing, `readiness/{encounter}`; of what becomes of all encounters of the workspace, `readiness`
    subject: str
    # Place in the log: sorts as text
    sequence: str
    # The trace that the request was part of, where it was sent; not in the payload `deidentified`
    traceparent: NotRequired[str]
    # In the payload `deidentified`, of which key the hashes are; left out while the first one is in use
    pseudonymepoch: NotRequired[int]
    # Where the JSON Schema of `data` is; there where the service knows its own address (`PUBLIC_URL`), and not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; its year in the payload `deidentified`
    time: str
    datacontenttype: Literal["application/json"]
    data: ReferenceData


class EncounterErasedEventDataSent(TypedDict):
    # The caller's encounter identifier
    id: str


class EncounterErasedEventData(TypedDict):
    """The payload `full`"""

    # Place in the history: 1, 2, 3 …; also the `ETag`
    version: int
    sent: EncounterErasedEventDataSent
    # Names of the fields whose value the event changed; those of an insurance are dotted: `primary_insurance.payer_id`
    changed: list[str]


class EncounterErasedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; a keyed hash in the payload `deidentified`
    id: str
    source: str
    type: Literal["chartledger.encounter.erased.v1"]
    # The kind and the percent-encoded id; of a document, `document/{encounter}/{document}`; of what became of an encounter in billing, `readiness/{encounter}`; of what becomes of all encounters of the workspace, `readiness`
    subject: str
    # Place in the log: sorts as text
    sequence: str
    # The trace that the request was part of, where it was sent; not in the payload `deidentified`
    traceparent: NotRequired[str]
    # In the payload `deidentified`, of which key the hashes are; left out while the first one is in use
    pseudonymepoch: NotRequired[int]
    # Where the JSON Schema of `data` is; there where the service knows its own address (`PUBLIC_URL`), and not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; its year in the payload `deidentified`
    time: str
    datacontenttype: Literal["application/json"]
    # The payload `full`
    data: EncounterErasedEventData


class DeidentifiedEncounterErasedEventDataSent(TypedDict):
    """The fields as they were sent; `null` cleared a field, and one that is not here kept its value; what could identify a person is left out"""

    # Keyed hash of the id: equal for equal ids of one kind in one workspace
    id: str


class DeidentifiedEncounterErasedEventData(TypedDict):
    # Place in the history of the record or document, or of what is told of readiness: 1, 2, 3 …
    version: int
    # The fields as they were sent; `null` cleared a field, and one that is not here kept its value; what could identify a person is left out
    sent: DeidentifiedEncounterErasedEventDataSent
    # Names of the fields whose value the event changed; those of an insurance are dotted: `primary_insurance.payer_id`; fields that are left out are not named
    changed: list[Literal[
        "id", "patient_id", "provider_id", "rendering_provider_id", "facility_id", "date_of_service",
        "visit_type", "is_completed", "voided_at",
    ]]


class DeidentifiedEncounterErasedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; a keyed hash in the payload `deidentified`
    id: str
    source: str
    type: Literal["chartledger.encounter.erased.v1"]
    # The kind and the percent-encoded id; of a document, `document/{encounter}/{document}`; of what became of an encounter in billing, `readiness/{encounter}`; of what becomes of all encounters of the workspace, `readiness`
    subject: str
    # Place in the log: sorts as text
    sequence: str
    # The trace that the request was part of, where it was sent; not in the payload `deidentified`
    traceparent: NotRequired[str]
    # In the payload `deidentified`, of which key the hashes are; left out while the first one is in use
    pseudonymepoch: NotRequired[int]
    # Where the JSON Schema of `data` is; there where the service knows its own address (`PUBLIC_URL`), and not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; its year in the payload `deidentified`
    time: str
    datacontenttype: Literal["application/json"]
    data: DeidentifiedEncounterErasedEventData


class ReferenceDocumentErasedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; a keyed hash in the payload `deidentified`
    id: str
    source: str
    type: Literal["chartledger.document.erased.v1"]
    # The kind and the percent-encoded id; of a document, `document/{encounter}/{document}`; of what became of an encounter in billing, `readiness/{encounter}`; of what becomes of all encounters of the workspace, `readiness`
    subject: str
    # Place in the log: sorts as text
    sequence: str
    # The trace that the request was part of, where it was sent; not in the payload `deidentified`
    traceparent: NotRequired[str]
    # In the payload `deidentified`, of which key the hashes are; left out while the first one is in use
    pseudonymepoch: NotRequired[int]
    # Where the JSON Schema of `data` is; there where the service knows its own address (`PUBLIC_URL`), and not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; its year in the payload `deidentified`
    time: str
    datacontenttype: Literal["application/json"]
    data: ReferenceData


class DocumentErasedEventDataSent(TypedDict):
    # The caller's encounter identifier
    encounter_id: str
    # The caller's document identifier
    document_id: str


class DocumentErasedEventData(TypedDict):
    """The payload `full`"""

    # Place in the history: 1, 2, 3 …; also the `ETag`
    version: int
    sent: DocumentErasedEventDataSent
    # Names of the fields whose value the event changed; those of an insurance are dotted: `primary_insurance.payer_id`
    changed: list[str]


class DocumentErasedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; a keyed hash in the payload `deidentified`
    id: str
    source: str
    type: Literal["chartledger.document.erased.v1"]
    # The kind and the percent-encoded id; of a document, `document/{encounter}/{document}`; of what became of an encounter in billing, `readiness/{encounter}`; of what becomes of all encounters of the workspace, `readiness`
    subject: str
    # Place in the log: sorts as text
    sequence: str
    # The trace that the request was part of, where it was sent; not in the payload `deidentified`
    traceparent: NotRequired[str]
    # In the payload `deidentified`, of which key the hashes are; left out while the first one is in use
    pseudonymepoch: NotRequired[int]
    # Where the JSON Schema of `data` is; there where the service knows its own address (`PUBLIC_URL`), and not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; its year in the payload `deidentified`
    time: str
    datacontenttype: Literal["application/json"]
    # The payload `full`
    data: DocumentErasedEventData


class DeidentifiedDocumentErasedEventDataSent(TypedDict):
    """The fields as they were sent; `null` cleared a field, and one that is not here kept its value; what could identify a person is left out"""

    # Keyed hash of the id: equal for equal ids of one kind in one workspace
    encounter_id: str
    # Keyed hash of the id: equal for equal ids of one kind in one workspace
    document_id: str


class DeidentifiedDocumentErasedEventData(TypedDict):
    # Place in the history of the record or document, or of what is told of readiness: 1, 2, 3 …
    version: int
    # The fields as they were sent; `null` cleared a field, and one that is not here kept its value; what could identify a person is left out
    sent: DeidentifiedDocumentErasedEventDataSent
    # Names of the fields whose value the event changed; those of an insurance are dotted: `primary_insurance.payer_id`; fields that are left out are not named
    changed: list[Literal["encounter_id", "document_id", "category", "format"]]


class DeidentifiedDocumentErasedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; a keyed hash in the payload `deidentified`
    id: str
    source: str
    type: Literal["chartledger.document.erased.v1"]
    # The kind and the percent-encoded id; of a document, `document/{encounter}/{document}`; of what became of an encounter in billing, `readiness/{encounter}`; of what becomes of all encounters of the workspace, `readiness`
    subject: str
    # Place in the log: sorts as text
    sequence: str
    # The trace that the request was part of, where it was sent; not in the payload `deidentified`
    traceparent: NotRequired[str]
    # In the payload `deidentified`, of which key the hashes are; left out while the first one is in use
    pseudonymepoch: NotRequired[int]
    # Where the JSON Schema of `data` is; there where the service knows its own address (`PUBLIC_URL`), and not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; its year in the payload `deidentified`
    time: str
    datacontenttype: Literal["application/json"]
    data: DeidentifiedDocumentErasedEventData


class ReferenceEncounterBilledEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; a keyed hash in the payload `deidentified`
    id: str
    source: str
    type: Literal["chartledger.encounter.billed.v1"]
    # The kind and the percent-encoded id; of a document, `document/{encounter}/{document}`; of what became of an encounter in billing, `readiness/{encounter}`; of what becomes of all encounters of the workspace, `readiness`
    subject: str
    # Place in the log: sorts as text
    sequence: str
    # The trace that the request was part of, where it was sent; not in the payload `deidentified`
    traceparent: NotRequired[str]
    # In the payload `deidentified`, of which key the hashes are; left out while the first one is in use
    pseudonymepoch: NotRequired[int]
    # Where the JSON Schema of `data` is; there where the service knows its own address (`PUBLIC_URL`), and not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; its year in the payload `deidentified`
    time: str
    datacontenttype: Literal["application/json"]
    data: ReferenceData


class EncounterBilledEventDataSentVersions(TypedDict):
    # The part that the record has in the claim
    part: Literal[
        "encounter", "patient", "payer", "provider", "rendering_provider", "facility",
    ]
    kind: Kind
    id: str
    version: int


class EncounterBilledEventDataSent(TypedDict):
    # The caller's encounter identifier
    encounter_id: str
    # The caller's id of the claim that was sent
    claim_id: str
    # The versions of the records on which the claim rests
    versions: list[EncounterBilledEventDataSentVersions]


class EncounterBilledEventData(TypedDict):
    """The payload `full`"""

    # Place in the history: 1, 2, 3 …; also the `ETag`
    version: int
    sent: EncounterBilledEventDataSent
    # Names of the fields whose value the event changed; those of an insurance are dotted: `primary_insurance.payer_id`
    changed: list[str]


class EncounterBilledEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; a keyed hash in the payload `deidentified`
    id: str
    source: str
    type: Literal["chartledger.encounter.billed.v1"]
    # The kind and the percent-encoded id; of a document, `document/{encounter}/{document}`; of what became of an encounter in billing, `readiness/{encounter}`; of what becomes of all encounters of the workspace, `readiness`
    subject: str
    # Place in the log: sorts as text
    sequence: str
    # The trace that the request was part of, where it was sent; not in the payload `deidentified`
    traceparent: NotRequired[str]
    # In the payload `deidentified`, of which key the hashes are; left out while the first one is in use
    pseudonymepoch: NotRequired[int]
    # Where the JSON Schema of `data` is; there where the service knows its own address (`PUBLIC_URL`), and not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; its year in the payload `deidentified`
    time: str
    datacontenttype: Literal["application/json"]
    # The payload `full`
    data: EncounterBilledEventData


class DeidentifiedEncounterBilledEventDataSentVersions(TypedDict):
    # The part that the record has in the claim
    part: Literal[
        "encounter", "patient", "payer", "provider", "rendering_provider", "facility",
    ]
    kind: Kind
    # Keyed hash of the id: equal for equal ids of one kind in one workspace
    id: str
    version: int


class DeidentifiedEncounterBilledEventDataSent(TypedDict):
    """The fields as they were sent; `null` cleared a field, and one that is not here kept its value; what could identify a person is left out"""

    # Keyed hash of the id: equal for equal ids of one kind in one workspace
    encounter_id: str
    # The versions of the records on which the claim rests. Ids are keyed hashes
    versions: list[DeidentifiedEncounterBilledEventDataSentVersions]


class DeidentifiedEncounterBilledEventData(TypedDict):
    # Place in the history of the record or document, or of what is told of readiness: 1, 2, 3 …
    version: int
    # The fields as they were sent; `null` cleared a field, and one that is not here kept its value; what could identify a person is left out
    sent: DeidentifiedEncounterBilledEventDataSent
    # Names of the fields whose value the event changed; those of an insurance are dotted: `primary_insurance.payer_id`; fields that are left out are not named
    changed: list[Literal["encounter_id", "versions"]]


class DeidentifiedEncounterBilledEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; a keyed hash in the payload `deidentified`
    id: str
    source: str
    type: Literal["chartledger.encounter.billed.v1"]
    # The kind and the percent-encoded id; of a document, `document/{encounter}/{document}`; of what became of an encounter in billing, `readiness/{encounter}`; of what becomes of all encounters of the workspace, `readiness`
    subject: str
    # Place in the log: sorts as text
    sequence: str
    # The trace that the request was part of, where it was sent; not in the payload `deidentified`
    traceparent: NotRequired[str]
    # In the payload `deidentified`, of which key the hashes are; left out while the first one is in use
    pseudonymepoch: NotRequired[int]
    # Where the JSON Schema of `data` is; there where the service knows its own address (`PUBLIC_URL`), and not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; its year in the payload `deidentified`
    time: str
    datacontenttype: Literal["application/json"]
    data: DeidentifiedEncounterBilledEventData


class ReferenceEncounterBillingChangeAcknowledgedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; a keyed hash in the payload `deidentified`
    id: str
    source: str
    type: Literal["chartledger.encounter.billing_change_acknowledged.v1"]
    # The kind and the percent-encoded id; of a document, `document/{encounter}/{document}`; of what became of an encounter in billing, `readiness/{encounter}`; of what becomes of all encounters of the workspace, `readiness`
    subject: str
    # Place in the log: sorts as text
    sequence: str
    # The trace that the request was part of, where it was sent; not in the payload `deidentified`
    traceparent: NotRequired[str]
    # In the payload `deidentified`, of which key the hashes are; left out while the first one is in use
    pseudonymepoch: NotRequired[int]
    # Where the JSON Schema of `data` is; there where the service knows its own address (`PUBLIC_URL`), and not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; its year in the payload `deidentified`
    time: str
    datacontenttype: Literal["application/json"]
    data: ReferenceData


class EncounterBillingChangeAcknowledgedEventDataSentVersions(TypedDict):
    # The part that the record has in the claim
    part: Literal[
        "encounter", "patient", "payer", "provider", "rendering_provider", "facility",
    ]
    kind: Kind
    id: str
    version: int


class EncounterBillingChangeAcknowledgedEventDataSent(TypedDict):
    # The caller's encounter identifier
    encounter_id: str
    # Why no other claim is sent
    reason: str
    # The versions of the records on which the claim rests
    versions: list[EncounterBillingChangeAcknowledgedEventDataSentVersions]


class EncounterBillingChangeAcknowledgedEventData(TypedDict):
    """The payload `full`"""

    # Place in the history: 1, 2, 3 …; also the `ETag`
    version: int
    sent: EncounterBillingChangeAcknowledgedEventDataSent
    # Names of the fields whose value the event changed; those of an insurance are dotted: `primary_insurance.payer_id`
    changed: list[str]


class EncounterBillingChangeAcknowledgedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; a keyed hash in the payload `deidentified`
    id: str
    source: str
    type: Literal["chartledger.encounter.billing_change_acknowledged.v1"]
    # The kind and the percent-encoded id; of a document, `document/{encounter}/{document}`; of what became of an encounter in billing, `readiness/{encounter}`; of what becomes of all encounters of the workspace, `readiness`
    subject: str
    # Place in the log: sorts as text
    sequence: str
    # The trace that the request was part of, where it was sent; not in the payload `deidentified`
    traceparent: NotRequired[str]
    # In the payload `deidentified`, of which key the hashes are; left out while the first one is in use
    pseudonymepoch: NotRequired[int]
    # Where the JSON Schema of `data` is; there where the service knows its own address (`PUBLIC_URL`), and not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; its year in the payload `deidentified`
    time: str
    datacontenttype: Literal["application/json"]
    # The payload `full`
    data: EncounterBillingChangeAcknowledgedEventData


class DeidentifiedEncounterBillingChangeAcknowledgedEventDataSentVersions(TypedDict):
    # The part that the record has in the claim
    part: Literal[
        "encounter", "patient", "payer", "provider", "rendering_provider", "facility",
    ]
    kind: Kind
    # Keyed hash of the id: equal for equal ids of one kind in one workspace
    id: str
    version: int


class DeidentifiedEncounterBillingChangeAcknowledgedEventDataSent(TypedDict):
    """The fields as they were sent; `null` cleared a field, and one that is not here kept its value; what could identify a person is left out"""

    # Keyed hash of the id: equal for equal ids of one kind in one workspace
    encounter_id: str
    # The versions of the records on which the claim rests. Ids are keyed hashes
    versions: list[DeidentifiedEncounterBillingChangeAcknowledgedEventDataSentVersions]


class DeidentifiedEncounterBillingChangeAcknowledgedEventData(TypedDict):
    # Place in the history of the record or document, or of what is told of readiness: 1, 2, 3 …
    version: int
    # The fields as they were sent; `null` cleared a field, and one that is not here kept its value; what could identify a person is left out
    sent: DeidentifiedEncounterBillingChangeAcknowledgedEventDataSent
    # Names of the fields whose value the event changed; those of an insurance are dotted: `primary_insurance.payer_id`; fields that are left out are not named
    changed: list[Literal["encounter_id", "versions"]]


class DeidentifiedEncounterBillingChangeAcknowledgedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; a keyed hash in the payload `deidentified`
    id: str
    source: str
    type: Literal["chartledger.encounter.billing_change_acknowledged.v1"]
    # The kind and the percent-encoded id; of a document, `document/{encounter}/{document}`; of what became of an encounter in billing, `readiness/{encounter}`; of what becomes of all encounters of the workspace, `readiness`
    subject: str
    # Place in the log: sorts as text
    sequence: str
    # The trace that the request was part of, where it was sent; not in the payload `deidentified`
    traceparent: NotRequired[str]
    # In the payload `deidentified`, of which key the hashes are; left out while the first one is in use
    pseudonymepoch: NotRequired[int]
    # Where the JSON Schema of `data` is; there where the service knows its own address (`PUBLIC_URL`), and not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; its year in the payload `deidentified`
    time: str
    datacontenttype: Literal["application/json"]
    data: DeidentifiedEncounterBillingChangeAcknowledgedEventData


class ReferenceEncounterReadinessChangedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; a keyed hash in the payload `deidentified`
    id: str
    source: str
    type: Literal["chartledger.encounter.readiness_changed.v1"]
    # The kind and the percent-encoded id; of a document, `document/{encounter}/{document}`; of what became of an encounter in billing, `readiness/{encounter}`; of what becomes of all encounters of the workspace, `readiness`
    subject: str
    # Place in the log: sorts as text
    sequence: str
    # The trace that the request was part of, where it was sent; not in the payload `deidentified`
    traceparent: NotRequired[str]
    # In the payload `deidentified`, of which key the hashes are; left out while the first one is in use
    pseudonymepoch: NotRequired[int]
    # Where the JSON Schema of `data` is; there where the service knows its own address (`PUBLIC_URL`), and not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; its year in the payload `deidentified`
    time: str
    datacontenttype: Literal["application/json"]
    data: ReferenceData


class EncounterReadinessChangedEventDataSentCause(TypedDict):
    """The write that led to it (`readiness`: that the encounter was billed); left out where a finding began or ended by itself"""

    event_id: str
    kind: Literal[
        "payer", "patient", "provider", "facility", "encounter", "document", "readiness",
    ]
    id: str
    version: int


EncounterReadinessChangedEventDataSent = TypedDict("EncounterReadinessChangedEventDataSent", {"encounter_id": "str", "from": "NotRequired[Literal[\"ready\", \"blocked\", \"not_completed\", \"voided\"]]", "to": "Literal[\"ready\", \"blocked\", \"not_completed\", \"voided\"]", "rules": "list[str]", "cause": "NotRequired[EncounterReadinessChangedEventDataSentCause]", "rules_version": "str"})


class EncounterReadinessChangedEventData(TypedDict):
    """The payload `full`"""

    # Place in the history: 1, 2, 3 …; also the `ETag`
    version: int
    sent: EncounterReadinessChangedEventDataSent
    # Names of the fields whose value the event changed; those of an insurance are dotted: `primary_insurance.payer_id`
    changed: list[str]


class EncounterReadinessChangedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; a keyed hash in the payload `deidentified`
    id: str
    source: str
    type: Literal["chartledger.encounter.readiness_changed.v1"]
    # The kind and the percent-encoded id; of a document, `document/{encounter}/{document}`; of what became of an encounter in billing, `readiness/{encounter}`; of what becomes of all encounters of the workspace, `readiness`
    subject: str
    # Place in the log: sorts as text
    sequence: str
    # The trace that the request was part of, where it was sent; not in the payload `deidentified`
    traceparent: NotRequired[str]
    # In the payload `deidentified`, of which key the hashes are; left out while the first one is in use
    pseudonymepoch: NotRequired[int]
    # Where the JSON Schema of `data` is; there where the service knows its own address (`PUBLIC_URL`), and not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; its year in the payload `deidentified`
    time: str
    datacontenttype: Literal["application/json"]
    # The payload `full`
    data: EncounterReadinessChangedEventData


class DeidentifiedEncounterReadinessChangedEventDataSentCause(TypedDict):
    """The write that led to it (`readiness`: that the encounter was billed); left out where a finding began or ended by itself. Ids are keyed hashes"""

    # Keyed hash of the id: equal for equal ids of one kind in one workspace
    event_id: str
    kind: Literal[
        "payer", "patient", "provider", "facility", "encounter", "document", "readiness",
    ]
    # Keyed hash of the id: equal for equal ids of one kind in one workspace
    id: str
    version: int


DeidentifiedEncounterReadinessChangedEventDataSent = TypedDict("DeidentifiedEncounterReadinessChangedEventDataSent", {"encounter_id": "str", "from": "NotRequired[Literal[\"ready\", \"blocked\", \"not_completed\", \"voided\"]]", "to": "Literal[\"ready\", \"blocked\", \"not_completed\", \"voided\"]", "rules": "list[str]", "cause": "NotRequired[DeidentifiedEncounterReadinessChangedEventDataSentCause]"})


class DeidentifiedEncounterReadinessChangedEventData(TypedDict):
    # Place in the history of the record or document, or of what is told of readiness: 1, 2, 3 …
    version: int
    # The fields as they were sent; `null` cleared a field, and one that is not here kept its value; what could identify a person is left out
    sent: DeidentifiedEncounterReadinessChangedEventDataSent
    # Names of the fields whose value the event changed; those of an insurance are dotted: `primary_insurance.payer_id`; fields that are left out are not named
    changed: list[Literal["encounter_id", "from", "to", "rules", "cause"]]


class DeidentifiedEncounterReadinessChangedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; a keyed hash in the payload `deidentified`
    id: str
    source: str
    type: Literal["chartledger.encounter.readiness_changed.v1"]
    # The kind and the percent-encoded id; of a document, `document/{encounter}/{document}`; of what became of an encounter in billing, `readiness/{encounter}`; of what becomes of all encounters of the workspace, `readiness`
    subject: str
    # Place in the log: sorts as text
    sequence: str
    # The trace that the request was part of, where it was sent; not in the payload `deidentified`
    traceparent: NotRequired[str]
    # In the payload `deidentified`, of which key the hashes are; left out while the first one is in use
    pseudonymepoch: NotRequired[int]
    # Where the JSON Schema of `data` is; there where the service knows its own address (`PUBLIC_URL`), and not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; its year in the payload `deidentified`
    time: str
    datacontenttype: Literal["application/json"]
    data: DeidentifiedEncounterReadinessChangedEventData


class ReferenceEncounterReadinessErasedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; a keyed hash in the payload `deidentified`
    id: str
    source: str
    type: Literal["chartledger.encounter.readiness_erased.v1"]
    # The kind and the percent-encoded id; of a document, `document/{encounter}/{document}`; of what became of an encounter in billing, `readiness/{encounter}`; of what becomes of all encounters of the workspace, `readiness`
    subject: str
    # Place in the log: sorts as text
    sequence: str
    # The trace that the request was part of, where it was sent; not in the payload `deidentified`
    traceparent: NotRequired[str]
    # In the payload `deidentified`, of which key the hashes are; left out while the first one is in use
    pseudonymepoch: NotRequired[int]
    # Where the JSON Schema of `data` is; there where the service knows its own address (`PUBLIC_URL`), and not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; its year in the payload `deidentified`
    time: str
    datacontenttype: Literal["application/json"]
    data: ReferenceData


class EncounterReadinessErasedEventDataSent(TypedDict):
    # The caller's encounter identifier
    encounter_id: str


class EncounterReadinessErasedEventData(TypedDict):
    """The payload `full`"""

    # Place in the history: 1, 2, 3 …; also the `ETag`
    version: int
    sent: EncounterReadinessErasedEventDataSent
    # Names of the fields whose value the event changed; those of an insurance are dotted: `primary_insurance.payer_id`
    changed: list[str]


class EncounterReadinessErasedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; a keyed hash in the payload `deidentified`
    id: str
    source: str
    type: Literal["chartledger.encounter.readiness_erased.v1"]
    # The kind and the percent-encoded id; of a document, `document/{encounter}/{document}`; of what became of an encounter in billing, `readiness/{encounter}`; of what becomes of all encounters of the workspace, `readiness`
    subject: str
    # Place in the log: sorts as text
    sequence: str
    # The trace that the request was part of, where it was sent; not in the payload `deidentified`
    traceparent: NotRequired[str]
    # In the payload `deidentified`, of which key the hashes are; left out while the first one is in use
    pseudonymepoch: NotRequired[int]
    # Where the JSON Schema of `data` is; there where the service knows its own address (`PUBLIC_URL`), and not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; its year in the payload `deidentified`
    time: str
    datacontenttype: Literal["application/json"]
    # The payload `full`
    data: EncounterReadinessErasedEventData


class DeidentifiedEncounterReadinessErasedEventDataSent(TypedDict):
    """The fields as they were sent; `null` cleared a field, and one that is not here kept its value; what could identify a person is left out"""

    # Keyed hash of the id: equal for equal ids of one kind in one workspace
    encounter_id: str


class DeidentifiedEncounterReadinessErasedEventData(TypedDict):
    # Place in the history of the record or document, or of what is told of readiness: 1, 2, 3 …
    version: int
    # The fields as they were sent; `null` cleared a field, and one that is not here kept its value; what could identify a person is left out
    sent: DeidentifiedEncounterReadinessErasedEventDataSent
    # Names of the fields whose value the event changed; those of an insurance are dotted: `primary_insurance.payer_id`; fields that are left out are not named
    changed: list[Literal["encounter_id"]]


class DeidentifiedEncounterReadinessErasedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; a keyed hash in the payload `deidentified`
    id: str
    source: str
    type: Literal["chartledger.encounter.readiness_erased.v1"]
    # The kind and the percent-encoded id; of a document, `document/{encounter}/{document}`; of what became of an encounter in billing, `readiness/{encounter}`; of what becomes of all encounters of the workspace, `readiness`
    subject: str
    # Place in the log: sorts as text
    sequence: str
    # The trace that the request was part of, where it was sent; not in the payload `deidentified`
    traceparent: NotRequired[str]
    # In the payload `deidentified`, of which key the hashes are; left out while the first one is in use
    pseudonymepoch: NotRequired[int]
    # Where the JSON Schema of `data` is; there where the service knows its own address (`PUBLIC_URL`), and not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; its year in the payload `deidentified`
    time: str
    datacontenttype: Literal["application/json"]
    data: DeidentifiedEncounterReadinessErasedEventData


class ReferenceReadinessRulesAppliedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; a keyed hash in the payload `deidentified`
    id: str
    source: str
    type: Literal["chartledger.readiness.rules_applied.v1"]
    # The kind and the percent-encoded id; of a document, `document/{encounter}/{document}`; of what became of an encounter in billing, `readiness/{encounter}`; of what becomes of all encounters of the workspace, `readiness`
    subject: str
    # Place in the log: sorts as text
    sequence: str
    # The trace that the request was part of, where it was sent; not in the payload `deidentified`
    traceparent: NotRequired[str]
    # In the payload `deidentified`, of which key the hashes are; left out while the first one is in use
    pseudonymepoch: NotRequired[int]
    # Where the JSON Schema of `data` is; there where the service knows its own address (`PUBLIC_URL`), and not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; its year in the payload `deidentified`
    time: str
    datacontenttype: Literal["application/json"]
    data: ReferenceData


class ReadinessRulesAppliedEventDataSentBefore(TypedDict):
    """Encounters of the workspace in each state before; a state without any may be left out"""

    ready: NotRequired[int]
    blocked: NotRequired[int]
    not_completed: NotRequired[int]
    voided: NotRequired[int]


class ReadinessRulesAppliedEventDataSentAfter(TypedDict):
    """Those after all encounters were evaluated again"""

    ready: NotRequired[int]
    blocked: NotRequired[int]
    not_completed: NotRequired[int]
    voided: NotRequired[int]


class ReadinessRulesAppliedEventDataSent(TypedDict):
    # Id of the event that changed what the rules go by
    cause: str
    # Encounters of the workspace in each state before; a state without any may be left out
    before: ReadinessRulesAppliedEventDataSentBefore
    # Those after all encounters were evaluated again
    after: ReadinessRulesAppliedEventDataSentAfter


class ReadinessRulesAppliedEventData(TypedDict):
    """The payload `full`"""

    # Place in the history: 1, 2, 3 …; also the `ETag`
    version: int
    sent: ReadinessRulesAppliedEventDataSent
    # Names of the fields whose value the event changed; those of an insurance are dotted: `primary_insurance.payer_id`
    changed: list[str]


class ReadinessRulesAppliedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; a keyed hash in the payload `deidentified`
    id: str
    source: str
    type: Literal["chartledger.readiness.rules_applied.v1"]
    # The kind and the percent-encoded id; of a document, `document/{encounter}/{document}`; of what became of an encounter in billing, `readiness/{encounter}`; of what becomes of all encounters of the workspace, `readiness`
    subject: str
    # Place in the log: sorts as text
    sequence: str
    # The trace that the request was part of, where it was sent; not in the payload `deidentified`
    traceparent: NotRequired[str]
    # In the payload `deidentified`, of which key the hashes are; left out while the first one is in use
    pseudonymepoch: NotRequired[int]
    # Where the JSON Schema of `data` is; there where the service knows its own address (`PUBLIC_URL`), and not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; its year in the payload `deidentified`
    time: str
    datacontenttype: Literal["application/json"]
    # The payload `full`
    data: ReadinessRulesAppliedEventData


class DeidentifiedReadinessRulesAppliedEventDataSentBefore(TypedDict):
    """Encounters of the workspace in each state before; a state without any may be left out"""

    ready: NotRequired[int]
    blocked: NotRequired[int]
    not_completed: NotRequired[int]
    voided: NotRequired[int]


class DeidentifiedReadinessRulesAppliedEventDataSentAfter(TypedDict):
    """Those after all encounters were evaluated again"""

    ready: NotRequired[int]
    blocked: NotRequired[int]
    not_completed: NotRequired[int]
    voided: NotRequired[int]


class DeidentifiedReadinessRulesAppliedEventDataSent(TypedDict):
    """The fields as they were sent; `null` cleared a field, and one that is not here kept its value; what could identify a person is left out"""

    # Keyed hash of the id: equal for equal ids of one kind in one workspace
    cause: str
    # Encounters of the workspace in each state before; a state without any may be left out
    before: DeidentifiedReadinessRulesAppliedEventDataSentBefore
    # Those after all encounters were evaluated again
    after: DeidentifiedReadinessRulesAppliedEventDataSentAfter


class DeidentifiedReadinessRulesAppliedEventData(TypedDict):
    # Place in the history of the record or document, or of what is told of readiness: 1, 2, 3 …
    version: int
    # The fields as they were sent; `null` cleared a field, and one that is not here kept its value; what could identify a person is left out
    sent: DeidentifiedReadinessRulesAppliedEventDataSent
    # Names of the fields whose value the event changed; those of an insurance are dotted: `primary_insurance.payer_id`; fields that are left out are not named
    changed: list[Literal["cause", "before", "after"]]


class DeidentifiedReadinessRulesAppliedEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; a keyed hash in the payload `deidentified`
    id: str
    source: str
    type: Literal["chartledger.readiness.rules_applied.v1"]
    # The kind and the percent-encoded id; of a document, `document/{encounter}/{document}`; of what became of an encounter in billing, `readiness/{encounter}`; of what becomes of all encounters of the workspace, `readiness`
    subject: str
    # Place in the log: sorts as text
    sequence: str
    # The trace that the request was part of, where it was sent; not in the payload `deidentified`
    traceparent: NotRequired[str]
    # In the payload `deidentified`, of which key the hashes are; left out while the first one is in use
    pseudonymepoch: NotRequired[int]
    # Where the JSON Schema of `data` is; there where the service knows its own address (`PUBLIC_URL`), and not in the payload `reference`
    dataschema: NotRequired[str]
    # When it was recorded; its year in the payload `deidentified`
    time: str
    datacontenttype: Literal["application/json"]
    data: DeidentifiedReadinessRulesAppliedEventData


class WebhookPingEventData(TypedDict):
    webhook_id: str


class WebhookPingEvent(TypedDict):
    specversion: Literal["1.0"]
    # Id of the event; a keyed hash in the payload `deidentified`
    id: str
    source: str
    type: Literal["chartledger.webhook.ping.v1"]
    # When it was recorded; its year in the payload `deidentified`
    time: str
    datacontenttype: Literal["application/json"]
    data: WebhookPingEventData


ReferenceEvent = Union[
    ReferencePayerUpsertedEvent, ReferencePatientUpsertedEvent, ReferenceProviderUpsertedEvent,
    ReferenceFacilityUpsertedEvent, ReferenceEncounterUpsertedEvent, ReferenceDocumentUploadedEvent,
    ReferenceDocumentRemovedEvent, ReferencePayerErasedEvent, ReferencePatientErasedEvent,
    ReferenceProviderErasedEvent, ReferenceFacilityErasedEvent, ReferenceEncounterErasedEvent,
    ReferenceDocumentErasedEvent, ReferenceEncounterBilledEvent,
    ReferenceEncounterBillingChangeAcknowledgedEvent, ReferenceEncounterReadinessChangedEvent,
    ReferenceEncounterReadinessErasedEvent, ReferenceReadinessRulesAppliedEvent,
]


Event = Union[
    PayerUpsertedEvent, PatientUpsertedEvent, ProviderUpsertedEvent, FacilityUpsertedEvent,
    EncounterUpsertedEvent, DocumentUploadedEvent, DocumentRemovedEvent, PayerErasedEvent,
    PatientErasedEvent, ProviderErasedEvent, FacilityErasedEvent, EncounterErasedEvent,
    DocumentErasedEvent, EncounterBilledEvent, EncounterBillingChangeAcknowledgedEvent,
    EncounterReadinessChangedEvent, EncounterReadinessErasedEvent, ReadinessRulesAppliedEvent,
]


DeidentifiedEvent = Union[
    DeidentifiedPayerUpsertedEvent, DeidentifiedPatientUpsertedEvent, DeidentifiedProviderUpsertedEvent,
    DeidentifiedFacilityUpsertedEvent, DeidentifiedEncounterUpsertedEvent,
    DeidentifiedDocumentUploadedEvent, DeidentifiedDocumentRemovedEvent, DeidentifiedPayerErasedEvent,
    DeidentifiedPatientErasedEvent, DeidentifiedProviderErasedEvent, DeidentifiedFacilityErasedEvent,
    DeidentifiedEncounterErasedEvent, DeidentifiedDocumentErasedEvent, DeidentifiedEncounterBilledEvent,
    DeidentifiedEncounterBillingChangeAcknowledgedEvent, DeidentifiedEncounterReadinessChangedEvent,
    DeidentifiedEncounterReadinessErasedEvent, DeidentifiedReadinessRulesAppliedEvent,
]


WebhookMessage = Union[ReferenceEvent, Event, DeidentifiedEvent, WebhookPingEvent]
