import { MAX_BATCH_BYTES, MAX_LINES } from '../../src/api/routes/batchParser.ts';
import { MAX_RECONCILE_LINES } from '../../src/api/routes/reconcile.ts';
import { MAX_BODY_BYTES, MAX_DEPTH, MAX_VALUES } from '../../src/api/server/body.ts';
import { MAX_DOCUMENT_BYTES, MAX_FILENAME_LENGTH } from '../../src/domain/records/document.ts';
import { MAX_ID_LENGTH } from '../../src/domain/records/schema/fields.ts';
import { RESPONSE_TTL_MS } from '../../src/modules/idempotency/reservations.ts';
import { MAX_MESSAGE_BYTES } from '../../src/modules/integrations/hl7/parser.ts';
import { MAX_SOURCES } from '../../src/modules/integrations/sourceCommands.ts';
import { MAX_BODY_BYTES as MAX_WEBHOOK_BYTES } from '../../src/modules/webhooks/messages.ts';
import { MAX_WEBHOOKS } from '../../src/modules/webhooks/settings.ts';
import { settings } from '../../src/platform/settings.ts';
import { code, page, table } from './markdown.ts';

function bytes(size: number): string {
  return size < 1024 * 1024 ? `${size / 1024} KB` : `${size / 1024 / 1024} MB`;
}

const number = (many: number) => many.toLocaleString('en');

/** Returns a setting that changes a limit, with its default value. */
function setBy(name: keyof typeof settings.shape): string {
  return `${code(name)} (${number(Number(settings.parse({})[name]))})`;
}

/** `docs/reference/limits.md` */
export function limitsPage(): string {
  const rows = [
    ['JSON body', bytes(MAX_BODY_BYTES), '413 `payload_too_large`'],
    ['values in a JSON body', number(MAX_VALUES), '413 `payload_too_large`'],
    ['levels of a JSON body', number(MAX_DEPTH), '413 `payload_too_large`'],
    ['id of a record or document', `${MAX_ID_LENGTH} characters`, '400 `validation_failed`'],
    ['document', bytes(MAX_DOCUMENT_BYTES), '413 `payload_too_large`'],
    ['name of a file', `${MAX_FILENAME_LENGTH} characters`, '400 `validation_failed`'],
    ['lines of a batch', number(MAX_LINES), '413 `payload_too_large`'],
    ['batch', bytes(MAX_BATCH_BYTES), '413 `payload_too_large`'],
    ['lines of a reconciliation', number(MAX_RECONCILE_LINES), 'the others are refused'],
    ['HL7 v2 message', bytes(MAX_MESSAGE_BYTES), 'a negative acknowledgment'],
    ['requests per minute and client', setBy('RATE_LIMIT_PER_MINUTE'), '429 `rate_limited`'],
    ['lines of batches per minute', setBy('BATCH_LINES_PER_MINUTE'), '429 `rate_limited`'],
    [
      'answer kept for an idempotency key',
      `${RESPONSE_TTL_MS / 3_600_000} hours`,
      'the request is handled as new',
    ],
    ['webhooks of a workspace', number(MAX_WEBHOOKS), '409 `conflict`'],
    [
      'message of a webhook',
      bytes(MAX_WEBHOOK_BYTES),
      'the message refers to the event instead of containing it',
    ],
    ['sources of a workspace', number(MAX_SOURCES), '409 `conflict`'],
  ];
  return page(
    'Limits',
    'What one request, workspace or client may use. Where a limit is a setting, its default is in parentheses. Memory and processors are in ' +
      '[sizing](../operate/sizing.md).',
    table(['what', 'at most', 'beyond it'], rows),
  );
}
