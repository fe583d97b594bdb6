import { z } from 'zod';
import { returnChoices } from '../../domain/events/event.ts';
import { UnknownSchemaVersion } from '../../domain/events/upcasting.ts';
import { validate, validationError } from '../../domain/records/schema/validation.ts';
import { purposeGiven, statedPurposeSchema } from '../../modules/audit/disclosureCommands.ts';
import { reasonRequired } from '../../modules/audit/recordAccess.ts';
import { onKind } from '../../modules/auth/permissions.ts';
import { notErased } from '../../modules/erasure/returned.ts';
import { requireDetermination } from '../../modules/eventStream/deidentificationSettings.ts';
import { positionGone } from '../../modules/eventStream/position.ts';
import { keyInUse, keyReused } from '../../modules/idempotency/keys.ts';
import { splitMessages } from '../../modules/integrations/hl7/framing.ts';
import { eventDiffers } from '../../modules/integrity/proofs.ts';
import { nothingToAnswer, severalRecords } from '../../modules/readiness/answerCommands.ts';
import { billedThoughVoid, notBilled, unknownClaim } from '../../modules/readiness/billingCommands.ts';
import { payerRuleIdSchema } from '../../modules/readiness/rules/payerRuleData.ts';
import { formatMessage } from '../../modules/records/commands/documentFormat.ts';
import { referencesNotFound } from '../../modules/records/commands/references.ts';
import { previouslyErased, returnPending } from '../../modules/records/commands/returns.ts';
import {
  checkUrl,
  createEgressPolicy,
  tooManyWebhooks,
  webhookDisabled,
} from '../../modules/webhooks/settings.ts';
import { gone, notFound, ServiceError, unavailableError } from '../../platform/errors.ts';
import { versionConflict } from '../../storage/eventLog.ts';
import {
  deactivatedKey,
  deactivatedWorkspace,
  expiredKey,
  foreignAddress,
  lackingPermission,
  missingKey,
  rateLimited,
  unknownKey,
} from '../server/admission.ts';
import { internalError, malformedPath, NDJSON, tooSlow } from '../server/answer.ts';
import { bodyTooLarge, MAX_DEPTH, MAX_VALUES, malformedBody, notJson, PATCH_TYPES } from '../server/body.ts';
import { notThatVersion } from '../server/conditions.ts';
import { headersTooLarge, unknownExpectation } from '../server/httpServer.ts';
import { overloaded } from '../server/loadShedder.ts';
import { fileTooLarge, incompleteForm, notMultipart } from '../server/multipart.ts';
import { rangeNotSatisfiable, requireKnownParameters } from '../server/requestContext.ts';
import type { HeaderName } from './headers.ts';
import { eventMediaTypes, pageQuerySchema } from './parameters.ts';

/** Returns the error with which an attempt is refused. */
function problemOf(attempt: () => unknown): ServiceError {
  try {
    attempt();
  } catch (error) {
    return error as ServiceError;
  }
  throw new Error('the attempt was not refused');
}

/** The ways in which a report on an encounter in billing can be refused. */
const billingResponses = {
  InvalidBilling: {
    description: 'The body is not valid; nothing was recorded.',
    errors: {
      validation_failed: problemOf(() => validate(z.object({ claim_id: z.string() }), {})),
      malformed_body: malformedBody('is not valid JSON'),
    },
  },
  VoidEncounter: {
    description:
      'The encounter is void, or the first request with this `Idempotency-Key` is still in progress.',
    errors: {
      conflict: billedThoughVoid(),
      idempotency_key_in_use: keyInUse(),
    },
  },
  InvalidAnswer: {
    description: 'The body is not valid; nothing was recorded.',
    errors: {
      validation_failed: severalRecords(),
      malformed_body: malformedBody('is not valid JSON'),
    },
  },
  NothingFound: {
    description:
      'The rule finds nothing there, or the first request with this `Idempotency-Key` is still in progress.',
    errors: {
      conflict: nothingToAnswer(),
      idempotency_key_in_use: keyInUse(),
    },
  },
  InvalidDisclosure: {
    description: 'The body is not valid; nothing was recorded.',
    errors: {
      validation_failed: problemOf(() => validate(statedPurposeSchema, {})),
      malformed_body: malformedBody('is not valid JSON'),
    },
  },
  DisclosureNotFound: {
    description: 'No accounting of the patient lists such a disclosure, or there is no such patient.',
    errors: { not_found: notFound('Disclosure') },
  },
  PurposeGiven: {
    description:
      'The purpose was given when the disclosure was made, or the first request with this `Idempotency-Key` is still in ' +
      'progress.',
    errors: {
      conflict: purposeGiven(),
      idempotency_key_in_use: keyInUse(),
    },
  },
  InvalidPayerRule: {
    description: 'The body is not valid; nothing was set.',
    errors: {
      validation_failed: problemOf(() => validate(payerRuleIdSchema, 'Member ID')),
      malformed_body: malformedBody('is not valid JSON'),
    },
  },
  InvalidDeidentification: {
    description: 'The body is not valid; nothing was set.',
    errors: {
      validation_failed: problemOf(() => requireDetermination({ dates: 'shifted' })),
      malformed_body: malformedBody('is not valid JSON'),
    },
  },
  PayerRuleNotFound: {
    description: 'The workspace has no such rule, or a rule cannot have this id.',
    errors: { not_found: notFound('Rule') },
  },
  ReportRowNotFound: {
    description: 'The report of the month has no such row.',
    errors: { not_found: notFound('Row of the report') },
  },
  ClaimNotFound: {
    description: 'The workspace has no such encounter, or it was not billed with a claim of this id.',
    errors: { not_found: unknownClaim() },
  },
  NotBilled: {
    description:
      'The encounter has not been billed, or the first request with this `Idempotency-Key` is still in ' +
      'progress.',
    errors: {
      conflict: notBilled(),
      idempotency_key_in_use: keyInUse(),
    },
  },
};

/** Media types of messages, as interface engines name them. */
export const mediaTypes = ['application/hl7-v2', 'x-application/hl7-v2+er7'] as const;

/** For all messages of a body. */
export const MAX_MESSAGES_BYTES = 8 * 1024 * 1024;

/** Per body: they are carried out one after another while the sender waits. */
export const MAX_MESSAGES = 1_000;

/** Returns the refusal of a body with more of them. */
export function tooManyMessages(): ServiceError {
  return new ServiceError(
    'payload_too_large',
    `The body has more than ${MAX_MESSAGES} messages. Split it into several requests.`,
  );
}

/** Returns the refusal of a body of another type. */
export function notHl7(): ServiceError {
  return new ServiceError(
    'unsupported_media_type',
    `Send messages with Content-Type: ${mediaTypes.join(' or ')}.`,
  );
}

/** The ways in which HL7 v2 messages can be refused without an acknowledgement. */
const hl7Responses = {
  InvalidHl7: {
    description: 'The body is malformed, or does not contain HL7 v2 messages; nothing was stored.',
    errors: { malformed_body: problemOf(() => splitMessages(Buffer.from('Hello'))) },
  },
  MessagesTooLarge: {
    description:
      'The body contains more than 1,000 messages, or is larger than 8 MB (8,388,608 bytes), compressed ' +
      'or not.',
    errors: { payload_too_large: tooManyMessages(), body_too_large: bodyTooLarge(MAX_MESSAGES_BYTES) },
  },
  NotHl7: {
    description:
      'The body is neither `application/hl7-v2` nor `x-application/hl7-v2+er7`, or is compressed with ' +
      'something other than gzip.',
    errors: { unsupported_media_type: notHl7() },
  },
};

/** The ways in which operations on webhooks can fail. */
const webhookResponses = {
  InvalidWebhook: {
    description: 'The body or the path is not valid; nothing was changed.',
    errors: {
      validation_failed: invalidUrl(),
      malformed_body: malformedBody('is not valid JSON'),
    },
  },
  WebhookNotFound: {
    description: 'The workspace has no webhook with this id.',
    errors: { not_found: notFound('Webhook') },
  },
  WebhookDisabled: {
    description:
      'The webhook is disabled, or the first request with this `Idempotency-Key` is still in progress.',
    errors: {
      conflict: webhookDisabled(),
      idempotency_key_in_use: keyInUse(),
    },
    headers: ['Retry-After'],
  },
  TooManyWebhooks: {
    description:
      'The workspace has reached its maximum number of webhooks, or the first request with this ' +
      '`Idempotency-Key` is still in progress.',
    errors: { conflict: tooManyWebhooks(), idempotency_key_in_use: keyInUse() },
    headers: ['Retry-After'],
  },
} satisfies Record<string, ErrorResponse>;

function invalidUrl() {
  const message = checkUrl('http://example.com', createEgressPolicy([])) as string;
  return validationError([{ field: 'url', message }]);
}

/** Returns the refusal of an `Accept` that allows none of the forms in which events are sent. */
export function notAcceptable(): ServiceError {
  return new ServiceError('not_acceptable', `Accept ${Object.values(eventMediaTypes).join(' or ')}.`);
}

/** Returns the refusal of a name that no event schema has. */
export function schemaNotFound(): ServiceError {
  return new ServiceError('not_found', 'No schema has this name. GET /asyncapi/json lists them all.');
}

/** Returns the refusal of a body of another type. */
export function notLines(): ServiceError {
  return new ServiceError(
    'unsupported_media_type',
    `Send the lines in UTF-8 with Content-Type: ${NDJSON}, or a few of them as an array with application/json.`,
  );
}

/** Returns the refusal of a body of another type, for a reconciliation. */
export function notReconcileLines(): ServiceError {
  return new ServiceError('unsupported_media_type', `Send the lines in UTF-8 with Content-Type: ${NDJSON}.`);
}

/** Returns the refusal of a JSON body that is not a batch. */
export function notAnArray(): ServiceError {
  return new ServiceError('validation_failed', 'The body must be an array of lines.');
}

/** Returns the refusal of a batch that is too large. */
export function batchTooLarge(): ServiceError {
  return new ServiceError(
    'payload_too_large',
    'The batch has more than 100,000 lines or 5,000,000 values, or more than 64 MB when decompressed. Split it into several batches.',
  );
}

/** A way in which operations can fail. */
export interface ErrorResponse {
  description: string;
  /** Errors with the same status. */
  errors: Record<string, ServiceError>;
  headers?: HeaderName[];
}

const invalid = (field: string, message: string) => validationError([{ field, message }]);

/** Every way in which an operation can fail, as components of the document. */
export const errorResponses = {
  InvalidRecord: {
    description: 'The body is not valid, or refers to a record that does not exist; nothing was stored.',
    errors: {
      validation_failed: problemOf(() =>
        validate(z.object({ id: z.string(), country: z.string() }), { country: 1 }),
      ),
      reference_not_found: referencesNotFound([
        { field: 'primary_insurance.payer_id', kind: 'payer', title: 'Payer', id: 'payer-aetna' },
      ]),
      malformed_body: malformedBody('is not valid JSON'),
    },
  },
  InvalidBatch: {
    description: 'The body is malformed, or not an array of lines; nothing was stored.',
    errors: {
      malformed_body: malformedBody('is not valid gzip'),
      validation_failed: notAnArray(),
    },
  },
  BatchTooLarge: {
    description:
      'The batch has more than 100,000 lines or 5,000,000 values, or more than 64 MB (67,108,864 bytes) when ' +
      'decompressed; as `application/json`, more than 1 MB or 100,000 values. Nothing was stored.',
    errors: { payload_too_large: batchTooLarge() },
  },
  NotLines: {
    description:
      'The body is neither `application/x-ndjson` nor `application/json` in UTF-8, or is compressed with ' +
      'something other than gzip.',
    errors: { unsupported_media_type: notLines() },
  },
  NotReconcileLines: {
    description:
      'The body is not `application/x-ndjson` in UTF-8, or is compressed with something other than gzip.',
    errors: { unsupported_media_type: notReconcileLines() },
  },
  InvalidUpload: {
    description: 'The form, its file or the path is not valid; nothing was stored.',
    errors: {
      validation_failed: invalid('file', formatMessage('name')),
      malformed_body: incompleteForm(),
    },
  },
  InvalidSearch: {
    description: 'The body is not valid.',
    errors: {
      validation_failed: problemOf(() => validate(z.object({ q: z.string() }), {})),
      malformed_body: malformedBody('is not valid JSON'),
    },
  },
  ...billingResponses,
  ...hl7Responses,
  InvalidParameter: {
    description: 'A parameter is invalid or unknown, or the path is not validly percent-encoded.',
    errors: {
      validation_failed: problemOf(() => validate(pageQuerySchema, { limit: '1001' })),
      unknown_parameter: problemOf(() =>
        requireKnownParameters({ patient_id: '' }, Object.keys(pageQuerySchema.shape)),
      ),
      malformed_path: malformedPath(),
    },
  },
  Unauthorized: {
    description: 'The request has no API key, or the key is not valid.',
    errors: {
      missing: missingKey(),
      invalid: unknownKey(),
    },
    headers: ['WWW-Authenticate'],
  },
  Forbidden: {
    description: 'The API key is not allowed to do this.',
    errors: {
      permission_denied: lackingPermission(onKind('write', 'patient')),
      reason_required: reasonRequired(),
      key_deactivated: deactivatedKey(),
      key_expired: expiredKey(),
      address_not_allowed: foreignAddress(),
      workspace_deactivated: deactivatedWorkspace(),
    },
  },
  RecordNotFound: {
    description: 'The workspace has no record of this kind and id.',
    errors: { not_found: notFound('Patient') },
  },
  ConsumerNotFound: {
    description: 'No consumer of the workspace has this name.',
    errors: { not_found: notFound('Consumer') },
  },
  Erased: {
    description:
      'The record or document was erased, or had been erased by the requested time; `erased_at` says when.',
    errors: { gone: gone('Patient', '2026-03-14T16:05:12.480Z') },
  },
  ErasedSince: {
    description:
      'What an earlier request with this `Idempotency-Key` wrote was erased; `erased_at` says when. It is not written ' +
      'again.',
    errors: { gone: gone('The data written by the request', '2026-03-14T16:05:12.480Z') },
  },
  NotTakenBack: {
    description:
      'The record with this id was erased, and the workspace does not let it return (`previously_erased`); or what an earlier ' +
      'request with this `Idempotency-Key` wrote was erased, and is not written again: `erased_at` says when.',
    errors: {
      previously_erased: previouslyErased('Patient'),
      gone: gone('The data written by the request', '2026-03-14T16:05:12.480Z'),
    },
  },
  ReturnPending: {
    description:
      'The record with this id was erased, and somebody has to decide whether it returns; nothing was written.',
    errors: { return_pending: returnPending('Patient') },
  },
  InvalidReturn: {
    description: 'The body is not valid; nothing was changed.',
    errors: {
      validation_failed: problemOf(() => validate(z.object({ choice: z.enum(returnChoices) }), {})),
      malformed_body: malformedBody('is not valid JSON'),
    },
  },
  NotErased: {
    description: 'The record with this id exists.',
    errors: { conflict: notErased('Patient') },
  },
  PositionGone: {
    description:
      'The event log was reset to an earlier state, for example by a restore, and no longer contains this ' +
      'position. `last_position` is the last position before it: events read after that one were lost, ' +
      'and other events may take their place.',
    errors: { position_gone: positionGone(8136) },
  },
  EncounterNotFound: {
    description: 'The workspace has no such encounter.',
    errors: { not_found: notFound('Encounter') },
  },
  DocumentNotFound: {
    description: 'The workspace has no such encounter, or the encounter has no such document.',
    errors: { not_found: notFound('Document') },
  },
  SchemaNotFound: {
    description: 'There is no event schema with this name.',
    errors: {
      not_found: schemaNotFound(),
    },
  },
  ...webhookResponses,
  RequestNotFound: {
    description: 'No request with this id from this key was refused.',
    errors: { not_found: notFound('Refused request') },
  },
  VersionNotFound: {
    description: 'The workspace has no such record, or the record has no such version.',
    errors: { not_found: notFound('Patient') },
  },
  NotProvable: {
    description:
      'The event in the hash tree differs from the event in the event log: one of them was changed. ' +
      'Operators can investigate with `chartledger verify`.',
    errors: { conflict: eventDiffers('clinic') },
  },
  IdempotencyKeyInUse: {
    description:
      'The first request with this `Idempotency-Key` is still in progress. Wait for the time in ' +
      '`Retry-After`.',
    errors: { idempotency_key_in_use: keyInUse() },
    headers: ['Retry-After'],
  },
  IdempotencyKeyReused: {
    description:
      'This `Idempotency-Key` was sent with a different request by the same API key within the last 24 ' +
      'hours; nothing was written.',
    errors: { idempotency_key_reused: keyReused() },
  },
  NotThatVersion: {
    description:
      'The `ETag` of the response is not one of those in `If-Match`. `version` and the header `ETag` contain ' +
      'the version that would have been sent, if it has one.',
    errors: { not_that_version: notThatVersion('"3"') },
  },
  VersionConflict: {
    description:
      'The record or document does not satisfy `If-Match`, `If-None-Match` or the `version` in the body; ' +
      'nothing was written. `version` and the header `ETag` contain the current version, if there is one.',
    errors: { version_conflict: versionConflict(3) },
  },
  BodyTooLarge: {
    description: `The body is larger than 1 MB (1,048,576 bytes), compressed or not, has more than ${MAX_VALUES.toLocaleString('en-US')} values, or is nested more than ${MAX_DEPTH} levels deep.`,
    errors: { payload_too_large: bodyTooLarge() },
  },
  FileTooLarge: {
    description: 'The file is larger than 250 MB (262,144,000 bytes).',
    errors: { payload_too_large: fileTooLarge() },
  },
  RangeNotSatisfiable: {
    description: 'The file does not contain the bytes requested by `Range`.',
    errors: {
      range_not_satisfiable: rangeNotSatisfiable(),
    },
    headers: ['Content-Range'],
  },
  NotJson: {
    description:
      'The body is not `application/json` in UTF-8, or is compressed with something other than gzip.',
    errors: {
      unsupported_media_type: notJson(),
    },
  },
  NotMergePatch: {
    description:
      'The body is neither `application/merge-patch+json` nor `application/json` in UTF-8, or is compressed ' +
      'with something other than gzip.',
    errors: {
      unsupported_media_type: notJson(PATCH_TYPES),
    },
    headers: ['Accept-Patch'],
  },
  NotMultipart: {
    description: 'The body is not `multipart/form-data`.',
    errors: {
      unsupported_media_type: notMultipart(),
    },
  },
  NotAcceptable: {
    description: 'The service cannot provide a response in any format that `Accept` allows.',
    errors: {
      not_acceptable: notAcceptable(),
    },
  },
  TooSlow: {
    description:
      'The request did not arrive in time: within 30 seconds, or within an hour for an upload form.',
    errors: {
      request_timeout: tooSlow(),
    },
  },
  ExpectationFailed: {
    description: 'The header `Expect` has a value other than `100-continue`.',
    errors: {
      expectation_failed: unknownExpectation(),
    },
  },
  HeadersTooLarge: {
    description: 'The headers of the request are larger than 16 KB.',
    errors: {
      headers_too_large: headersTooLarge(),
    },
  },
  RateLimited: {
    description:
      'Too many requests from one client IP address (for IPv6, one /64), or with a key that has its own limit. Wait for the ' +
      'number of seconds in `retryAfter`.',
    errors: {
      rate_limited: rateLimited(17),
    },
    headers: ['Retry-After'],
  },
  InternalError: {
    description: 'The service failed. Contact its operators and quote `requestId`.',
    errors: {
      internal: internalError(),
    },
  },
  Unavailable: {
    description:
      'A store is unavailable, too many bodies are in progress or too many requests are waiting, or the ' +
      'requested data contains an event that this version of the service cannot read (`unreadable`). ' +
      'Retry after a moment, a write with the same `Idempotency-Key`.',
    errors: {
      unavailable: unavailableError('event log'),
      overloaded: overloaded(),
      unreadable: new UnknownSchemaVersion('PatientUpserted', 2),
    },
    headers: ['Retry-After'],
  },
} satisfies Record<string, ErrorResponse>;

export type ErrorResponseName = keyof typeof errorResponses;
