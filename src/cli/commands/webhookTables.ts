import type { DeliveryAttempt } from '../../modules/webhooks/attempts.ts';
import type { WebhookStatusView } from '../../modules/webhooks/webhookView.ts';
import { writeTable } from '../lib/output.ts';

/** Prints webhooks, and the state of their delivery. */
export function writeWebhooks(found: WebhookStatusView[]): void {
  writeTable(
    [
      'WEBHOOK',
      'STATE',
      'PAYLOAD',
      'EVENTS',
      'PENDING',
      'OLDEST',
      'BLOCKED',
      'FAILED',
      'LAST SUCCESS',
      'RECIPIENT',
      'PURPOSE',
      'MADE BY',
      'URL',
    ],
    found.map(({ id, state, disabled_reason, payload, kinds, types, url, delivery, ...view }) => [
      id,
      stateOf(state, disabled_reason ?? delivery.problem),
      payload,
      (types ?? kinds ?? ['all']).join(','),
      String(delivery.pending),
      delivery.oldest_pending_at ? ageOf(delivery.oldest_pending_at) : '-',
      String(delivery.blocked),
      String(delivery.failed),
      delivery.last_success_at ?? '-',
      view.recipient ?? '-',
      view.purpose ?? '-',
      view.created_by.id,
      url,
    ]),
  );
}

/** Prints delivery attempts. */
export function writeAttempts(items: DeliveryAttempt[]): void {
  writeTable(
    ['TIME', 'MESSAGE', 'TYPE', 'RECORD', 'VERSION', 'TRY', 'OUTCOME', 'STATUS', 'MS', 'NEXT TRY'],
    items.map((item) => [
      item.at,
      item.message_id,
      item.type,
      [item.record_id, item.document_id].filter(Boolean).join('/') || '-',
      String(item.version ?? '-'),
      String(item.attempt),
      item.outcome,
      String(item.status ?? item.error ?? '-'),
      String(item.duration_ms),
      item.next_attempt_at ?? '-',
    ]),
  );
}

function stateOf(state: string, reason: string | null): string {
  return reason === null ? state : `${state} (${reason})`;
}

/** `3 d`, `5 h`, `12 min`, `8 s`. */
function ageOf(instant: string): string {
  const seconds = Math.max(0, Math.round((Date.now() - Date.parse(instant)) / 1000));
  if (seconds >= 172_800) return `${Math.floor(seconds / 86_400)} d`;
  if (seconds >= 7_200) return `${Math.floor(seconds / 3_600)} h`;
  return seconds >= 120 ? `${Math.floor(seconds / 60)} min` : `${seconds} s`;
}
