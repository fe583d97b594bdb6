import { ServiceError, unavailable } from '../../errors.ts';
import { UnknownSchemaVersion } from '../../events/upcast.ts';
import { versionConflict } from '../../ports/eventLogRefusals.ts';
import { validationError } from '../../records/validate.ts';
import { overloaded } from '../server/BodyBudget.ts';
import { errorAnswer, statusOf } from '../server/errorAnswer.ts';
import { exampleRequestId } from './examples.ts';
import { type HeaderName, headerRefs } from './headers.ts';

interface ErrorResponse {
  description: string;
  /** Errors of one status. */
  errors: Record<string, ServiceError>;
  headers?: HeaderName[];
}

const invalid = (field: string, message: string) => validationError([{ field, message }]);
const malformed = (message: string) => new ServiceError('malformed_body', message);

/** Every way in which an operation can fail, as components of the document. */
const errorResponses = {
  InvalidRecord: {
    description: 'The body is not valid, or refers to a record that does not exist; nothing was stored.',
    errors: {
      validation_failed: validationError([
        { field: 'id', message: 'is required' },
        { field: 'country', message: 'must be a string' },
      ]),
      reference_not_found: new ServiceError('reference_not_found', "Payer 'payer-aetna' does not exist", {
        details: [
          {
            field: 'primary_insurance.payer_id',
            message: 'refers to a payer that does not exist',
            kind: 'payer',
            id: 'payer-aetna',
            code: 'reference_not_found',
          },
        ],
      }),
      malformed_body: malformed('The body is not valid JSON.'),
    },
  },
  InvalidUpload: {
    description: 'The form or its file is not valid, or the path is not; nothing was stored.',
    errors: {
      validation_failed: invalid(
        'file',
        'must be a PDF (.pdf) or DOCX (.docx), by its name and by its content',
      ),
      malformed_body: malformed('The form is broken or incomplete.'),
    },
  },
  InvalidParameter: {
    description: 'A parameter is not valid or not known, or the path is not valid percent-encoding.',
    errors: {
      validation_failed: invalid('limit', 'must be at most 1000'),
      unknown_parameter: invalid(
        'patient_id',
        'is not a known query parameter; this path takes limit, page_token',
      ),
      malformed_path: new ServiceError(
        'validation_failed',
        'The request is not valid HTTP for this service.',
      ),
    },
  },
  Unauthorized: {
    description: 'There is no API key in the request, or it is not valid, or has expired.',
    errors: {
      missing: new ServiceError(
        'unauthorized',
        'An API key is needed: send it in the header x-api-key, or as Authorization: Bearer.',
      ),
      invalid: new ServiceError('unauthorized', 'The API key is not valid.'),
      expired: new ServiceError('unauthorized', 'The API key has expired.'),
    },
    headers: ['WWW-Authenticate'],
  },
  Forbidden: {
    description: 'The API key may not do this.',
    errors: {
      permission_denied: new ServiceError('permission_denied', "The API key lacks the permission 'write'."),
      key_deactivated: new ServiceError('key_deactivated', 'The API key is deactivated.'),
      workspace_deactivated: new ServiceError(
        'workspace_deactivated',
        'The workspace of the API key is deactivated.',
      ),
    },
  },
  RecordNotFound: {
    description: 'There is no record of this kind and id in the workspace.',
    errors: { not_found: new ServiceError('not_found', 'Patient not found.') },
  },
  EncounterNotFound: {
    description: 'There is no such encounter in the workspace.',
    errors: { not_found: new ServiceError('not_found', 'Encounter not found.') },
  },
  DocumentNotFound: {
    description: 'There is no such encounter in the workspace, or it has no such document.',
    errors: { not_found: new ServiceError('not_found', 'Document not found.') },
  },
  SchemaNotFound: {
    description: 'There is no event schema of this name.',
    errors: {
      not_found: new ServiceError(
        'not_found',
        'There is no schema of this name. GET /asyncapi/json names them all.',
      ),
    },
  },
  InvalidWebhook: {
    description: 'The body is not valid, or the path is not; nothing was changed.',
    errors: {
      validation_failed: invalid('url', 'must begin with https://'),
      malformed_body: malformed('The body is not valid JSON.'),
    },
  },
  WebhookNotFound: {
    description: 'There is no webhook of this id in the workspace.',
    errors: { not_found: new ServiceError('not_found', 'Webhook not found.') },
  },
  WebhookDisabled: {
    description: 'The webhook is disabled.',
    errors: {
      conflict: new ServiceError('conflict', 'The webhook is disabled; enable it first.'),
    },
  },
  TooManyWebhooks: {
    description: 'The workspace has as many webhooks as it can have.',
    errors: { conflict: new ServiceError('conflict', 'A workspace has at most 100 webhooks.') },
  },
  VersionConflict: {
    description:
      'The record or document is not as `If-Match` or `If-None-Match` asks for; nothing was written. `version`, and the ' +
      'header `ETag`, are the current one, if there is one.',
    errors: { version_conflict: versionConflict(3) },
  },
  BodyTooLarge: {
    description: 'The body is larger than 1 MB (1,048,576 bytes), compressed or not.',
    errors: { payload_too_large: new ServiceError('payload_too_large', 'The body is larger than 1 MB.') },
  },
  FileTooLarge: {
    description: 'The file is larger than 250 MB (262,144,000 bytes).',
    errors: { payload_too_large: new ServiceError('payload_too_large', 'The file is larger than 250 MB.') },
  },
  RangeNotSatisfiable: {
    description: 'The file does not have the bytes that `Range` asks for.',
    errors: {
      range_not_satisfiable: new ServiceError(
        'range_not_satisfiable',
        'The document does not have these bytes.',
      ),
    },
    headers: ['Content-Range'],
  },
  NotJson: {
    description: 'The body is not `application/json` in UTF-8, or it is compressed otherwise than with gzip.',
    errors: {
      unsupported_media_type: new ServiceError(
        'unsupported_media_type',
        'Send the body as Content-Type: application/json, in UTF-8.',
      ),
    },
  },
  NotMultipart: {
    description: 'The body is not `multipart/form-data`.',
    errors: {
      unsupported_media_type: new ServiceError(
        'unsupported_media_type',
        'Send the document as Content-Type: multipart/form-data.',
      ),
    },
  },
  NotAcceptable: {
    description: 'The service has no form of the answer that `Accept` allows.',
    errors: {
      not_acceptable: new ServiceError('not_acceptable', 'Accept application/x-ndjson or text/event-stream.'),
    },
  },
  TooSlow: {
    description: 'The request did not arrive in time: 30 seconds, for the form of an upload an hour.',
    errors: {
      request_timeout: new ServiceError(
        'request_timeout',
        'The request did not arrive in time. Send it again.',
      ),
    },
  },
  ExpectationFailed: {
    description: 'The header `Expect` asks for something else than `100-continue`.',
    errors: {
      expectation_failed: new ServiceError(
        'expectation_failed',
        'Of Expect the service knows 100-continue alone.',
      ),
    },
  },
  HeadersTooLarge: {
    description: 'The headers of the request are larger than 16 KB.',
    errors: {
      headers_too_large: new ServiceError(
        'headers_too_large',
        'The headers of the request are larger than 16 KB.',
      ),
    },
  },
  RateLimited: {
    description: 'Too many requests from one client IP address. Wait as long as `retryAfter` says.',
    errors: {
      rate_limited: new ServiceError('rate_limited', 'Too many requests. Try again in 17 seconds.', {
        retryAfterSeconds: 17,
      }),
    },
    headers: ['Retry-After'],
  },
  InternalError: {
    description: 'The service failed. Quote `requestId` to its operators.',
    errors: {
      internal: new ServiceError(
        'internal',
        'Something went wrong in the service. Quote the request id to its operators.',
      ),
    },
  },
  Unavailable: {
    description:
      'A store of the service is away, too many bodies are under way, or what was asked for holds an event that this ' +
      'version of the service cannot read (`unreadable`). Send the request again after a moment; that is safe.',
    errors: {
      unavailable: unavailable('event log'),
      overloaded: overloaded(),
      unreadable: new UnknownSchemaVersion('PatientUpserted', 2),
    },
    headers: ['Retry-After'],
  },
} satisfies Record<string, ErrorResponse>;

export type ErrorResponseName = keyof typeof errorResponses;

function statusOfResponse({ errors }: ErrorResponse): number {
  return statusOf[(Object.values(errors)[0] as ServiceError).code];
}

/** What `components/responses` holds. */
export function errorResponseComponents() {
  return Object.entries<ErrorResponse>(errorResponses).map(
    ([name, { description, errors, headers = [] }]) => {
      const examples = Object.entries(errors).map(([key, error]) => [
        key,
        { value: errorAnswer(error, exampleRequestId).body },
      ]);
      const response = {
        description,
        headers: headerRefs('Request-Id', 'RateLimit-Policy', 'RateLimit', ...headers),
        content: {
          'application/json': {
            schema: { $ref: '#/components/schemas/ErrorBody' },
            examples: Object.fromEntries(examples),
          },
        },
      };
      return { name, response };
    },
  );
}

/** References to error responses, by status. */
export function errorRefs(names: readonly ErrorResponseName[]): Record<string, { $ref: string }> {
  const refs = names.map((name) => [
    statusOfResponse(errorResponses[name]),
    { $ref: `#/components/responses/${name}` },
  ]);
  return Object.fromEntries(refs);
}
