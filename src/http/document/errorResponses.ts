import { z } from 'zod';
import { referencesNotFound } from '../../commands/checkReferences.ts';
import { UNKNOWN_FORMAT } from '../../commands/uploadDocument.ts';
import { gone, notFound, type ServiceError, unavailableError } from '../../errors.ts';
import { UnknownSchemaVersion } from '../../events/upcast.ts';
import { eventDiffers } from '../../evidence/proof/proveEvent.ts';
import { positionGone } from '../../feed/position.ts';
import { keyInUse, keyReused } from '../../idempotency/idempotencyRefusals.ts';
import { versionConflict } from '../../ports/eventLogRefusals.ts';
import { onKind } from '../../principals/keys/permissions.ts';
import { validate, validationError } from '../../records/validate.ts';
import { createAddressRules } from '../../webhooks/settings/addressRules.ts';
import { checkUrl } from '../../webhooks/settings/checkUrl.ts';
import { tooManyWebhooks, webhookDisabled } from '../../webhooks/settings/webhookRefusals.ts';
import { batchTooLarge } from '../endpoints/batch/LineSplitter.ts';
import { notAnArray, notLines } from '../endpoints/batch/readBatch.ts';
import { notAcceptable, schemaNotFound } from '../endpoints/events/eventRefusals.ts';
import { pageQuerySchema } from '../endpoints/parameters.ts';
import { overloaded } from '../server/BodyBudget.ts';
import { headersTooLarge, unknownExpectation } from '../server/createHttpServer.ts';
import { internalError, notHttp } from '../server/errorAnswer.ts';
import {
  deactivatedKey,
  deactivatedWorkspace,
  expiredKey,
  foreignAddress,
  lackingPermission,
  missingKey,
  unknownKey,
} from '../server/keyRefusals.ts';
import { rateLimited } from '../server/rateLimit.ts';
import { bodyTooLarge, MERGE_PATCH, malformedBody, notJson } from '../server/readJson.ts';
import { brokenForm, fileTooLarge, notMultipart } from '../server/readMultipart.ts';
import { tooSlow } from '../server/requestBody.ts';
import { rangeNotSatisfiable } from '../server/requestedRange.ts';
import { requireKnownParameters } from '../server/requireKnownParameters.ts';
import { billingResponses } from './billingResponses.ts';
import type { HeaderName } from './headers.ts';
import { hl7Responses } from './hl7Responses.ts';
import { refusalOf } from './refusalOf.ts';

/** A way in which operations can fail. */
export interface ErrorResponse {
  description: string;
  /** Errors of one status. */
  errors: Record<string, ServiceError>;
  headers?: HeaderName[];
}

const invalid = (field: string, message: string) => validationError([{ field, message }]);

/** Every way in which an operation can fail, as components of the document. */
export const errorResponses = {
  InvalidRecord: {
    description: 'The body is not valid, or refers to a record that does not exist; nothing was stored.',
    errors: {
      validation_failed: refusalOf(() =>
        validate(z.object({ id: z.string(), country: z.string() }), { country: 1 }),
      ),
      reference_not_found: referencesNotFound([
        { field: 'primary_insurance.payer_id', kind: 'payer', title: 'Payer', id: 'payer-aetna' },
      ]),
      malformed_body: malformedBody('is not valid JSON'),
    },
  },
  InvalidBatch: {
    description: 'The body is broken, or no array of lines; nothing was stored.',
    errors: {
      malformed_body: malformedBody('is not valid gzip'),
      validation_failed: notAnArray(),
    },
  },
  BatchTooLarge: {
    description:
      'The batch has more than 100,000 lines, or more than 64 MB (67,108,864 bytes) when unpacked; in `application/json` 1 MB. Nothing was stored.',
    errors: { payload_too_large: batchTooLarge() },
  },
  NotLines: {
    description:
      'The body is neither `application/x-ndjson` nor `application/json` in UTF-8, or it is compressed otherwise than with gzip.',
    errors: { unsupported_media_type: notLines() },
  },
  InvalidUpload: {
    description: 'The form or its file is not valid, or the path is not; nothing was stored.',
    errors: {
      validation_failed: invalid('file', UNKNOWN_FORMAT),
      malformed_body: brokenForm(),
    },
  },
  InvalidSearch: {
    description: 'The body is not valid.',
    errors: {
      validation_failed: refusalOf(() => validate(z.object({ q: z.string() }), {})),
      malformed_body: malformedBody('is not valid JSON'),
    },
  },
  ...billingResponses,
  ...hl7Responses,
  InvalidParameter: {
    description: 'A parameter is not valid or not known, or the path is not valid percent-encoding.',
    errors: {
      validation_failed: refusalOf(() => validate(pageQuerySchema, { limit: '1001' })),
      unknown_parameter: refusalOf(() =>
        requireKnownParameters({ patient_id: '' }, Object.keys(pageQuerySchema.shape)),
      ),
      malformed_path: notHttp(),
    },
  },
  Unauthorized: {
    description: 'There is no API key in the request, or it is not valid.',
    errors: {
      missing: missingKey(),
      invalid: unknownKey(),
    },
    headers: ['WWW-Authenticate'],
  },
  Forbidden: {
    description: 'The API key may not do this.',
    errors: {
      permission_denied: lackingPermission(onKind('write', 'patient')),
      key_deactivated: deactivatedKey(),
      key_expired: expiredKey(),
      address_not_allowed: foreignAddress(),
      workspace_deactivated: deactivatedWorkspace(),
    },
  },
  RecordNotFound: {
    description: 'There is no record of this kind and id in the workspace.',
    errors: { not_found: notFound('Patient') },
  },
  Erased: {
    description:
      'The record or document was erased, or was at the time that was asked for; `erased_at` says when.',
    errors: { gone: gone('Patient', '2026-03-14T16:05:12.480Z') },
  },
  PositionGone: {
    description:
      'The event log was put back to an earlier state, as after a restore, and the position is none of it any more. `last_position` ' +
      'is the last one before: what was read behind it was lost, and other events may come in its place.',
    errors: { position_gone: positionGone(8136) },
  },
  EncounterNotFound: {
    description: 'There is no such encounter in the workspace.',
    errors: { not_found: notFound('Encounter') },
  },
  DocumentNotFound: {
    description: 'There is no such encounter in the workspace, or it has no such document.',
    errors: { not_found: notFound('Document') },
  },
  SchemaNotFound: {
    description: 'There is no event schema of this name.',
    errors: {
      not_found: schemaNotFound(),
    },
  },
  InvalidWebhook: {
    description: 'The body is not valid, or the path is not; nothing was changed.',
    errors: {
      validation_failed: invalid('url', checkUrl('http://example.com', createAddressRules([])) as string),
      malformed_body: malformedBody('is not valid JSON'),
    },
  },
  WebhookNotFound: {
    description: 'There is no webhook of this id in the workspace.',
    errors: { not_found: notFound('Webhook') },
  },
  RequestNotFound: {
    description: 'No request of the key with this id was refused.',
    errors: { not_found: notFound('Refused request') },
  },
  VersionNotFound: {
    description: 'There is no such record in the workspace, or it has no such version.',
    errors: { not_found: notFound('Patient') },
  },
  NotProvable: {
    description:
      'The hash tree does not hold the event as the event log does: one of them was changed. Operators find out with ' +
      '`chartledger verify`.',
    errors: { conflict: eventDiffers('clinic') },
  },
  WebhookDisabled: {
    description:
      'The webhook is disabled, or the first request with the `Idempotency-Key` is still under way.',
    errors: {
      conflict: webhookDisabled(),
      idempotency_key_in_use: keyInUse(),
    },
    headers: ['Retry-After'],
  },
  TooManyWebhooks: {
    description:
      'The workspace has as many webhooks as it can have, or the first request with the `Idempotency-Key` is still under way.',
    errors: { conflict: tooManyWebhooks(), idempotency_key_in_use: keyInUse() },
    headers: ['Retry-After'],
  },
  IdempotencyKeyInUse: {
    description:
      'The first request with this `Idempotency-Key` is still under way. Wait as long as `Retry-After` says.',
    errors: { idempotency_key_in_use: keyInUse() },
    headers: ['Retry-After'],
  },
  IdempotencyKeyReused: {
    description:
      'The `Idempotency-Key` was sent with another request of the same API key within the last 24 hours; nothing was written.',
    errors: { idempotency_key_reused: keyReused() },
  },
  VersionConflict: {
    description:
      'The record or document is not as `If-Match`, `If-None-Match` or the `version` of the body asks for; nothing was written. `version`, and the ' +
      'header `ETag`, are the current one, if there is one.',
    errors: { version_conflict: versionConflict(3) },
  },
  BodyTooLarge: {
    description: 'The body is larger than 1 MB (1,048,576 bytes), compressed or not.',
    errors: { payload_too_large: bodyTooLarge() },
  },
  FileTooLarge: {
    description: 'The file is larger than 250 MB (262,144,000 bytes).',
    errors: { payload_too_large: fileTooLarge() },
  },
  RangeNotSatisfiable: {
    description: 'The file does not have the bytes that `Range` asks for.',
    errors: {
      range_not_satisfiable: rangeNotSatisfiable(),
    },
    headers: ['Content-Range'],
  },
  NotJson: {
    description: 'The body is not `application/json` in UTF-8, or it is compressed otherwise than with gzip.',
    errors: {
      unsupported_media_type: notJson(),
    },
  },
  NotMergePatch: {
    description:
      'The body is not `application/merge-patch+json` in UTF-8, or it is compressed otherwise than with gzip.',
    errors: {
      unsupported_media_type: notJson(MERGE_PATCH),
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
    description: 'The service has no form of the answer that `Accept` allows.',
    errors: {
      not_acceptable: notAcceptable(),
    },
  },
  TooSlow: {
    description: 'The request did not arrive in time: 30 seconds, for the form of an upload an hour.',
    errors: {
      request_timeout: tooSlow(),
    },
  },
  ExpectationFailed: {
    description: 'The header `Expect` asks for something else than `100-continue`.',
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
      'Too many requests from one client IP address, or with a key that has a limit of its own. Wait as long as `retryAfter` says.',
    errors: {
      rate_limited: rateLimited(17),
    },
    headers: ['Retry-After'],
  },
  InternalError: {
    description: 'The service failed. Quote `requestId` to its operators.',
    errors: {
      internal: internalError(),
    },
  },
  Unavailable: {
    description:
      'A store of the service is away, too many bodies are under way or requests waiting, or what was asked for holds an event that this ' +
      'version of the service cannot read (`unreadable`). Send the request again after a moment; that is safe.',
    errors: {
      unavailable: unavailableError('event log'),
      overloaded: overloaded(),
      unreadable: new UnknownSchemaVersion('PatientUpserted', 2),
    },
    headers: ['Retry-After'],
  },
} satisfies Record<string, ErrorResponse>;

export type ErrorResponseName = keyof typeof errorResponses;
