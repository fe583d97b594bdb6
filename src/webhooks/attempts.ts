import { randomUUID } from 'node:crypto';
import type { ReadModels, Row } from '../ports/readModels.ts';
import { decodeToken, encodeToken, type Page, type PageRequest } from '../queries/page.ts';
import type { AttemptError } from './WebhookSender.ts';

/** Tries to deliver messages, newest first in a webhook's partition; a row's position is its time in milliseconds. */
export const attemptsModel = 'webhook_attempts_v1';

export const ATTEMPTS_KEPT_DAYS = 30;
const KEPT_MS = ATTEMPTS_KEPT_DAYS * 86_400_000;

/** Beyond every time in microseconds until the year 2096: what is taken off it sorts backwards. */
const LAST_ORDER = 4_000_000_000_000_000;

/** One try to deliver a message, as callers see it. */
export interface DeliveryAttempt {
  message_id: string;
  /** Type of the CloudEvent that the message holds. */
  type: string;
  /** 1, 2, 3 …; 0 for a ping. */
  attempt: number;
  /** When it began, ISO 8601 in UTC. */
  at: string;
  duration_ms: number;
  /** `delivered`; `retrying` when it is tried again; `failed` when that was the last try. */
  outcome: 'delivered' | 'retrying' | 'failed';
  /** Status of the answer, when there was one. */
  status?: number;
  /** Why there was none, or that it was a redirect. */
  error?: AttemptError;
  /** The first 1,000 characters of the answer. */
  answer?: string;
  /** ISO 8601 in UTC. */
  next_attempt_at?: string;
}

/** Where the log holds the event of a message. */
export interface MessageEvent {
  stream: string;
  revision: number;
}

/** An attempt to be recorded; `event` is undefined for a ping. */
export interface NewAttempt {
  shown: DeliveryAttempt;
  event: MessageEvent | undefined;
}

interface AttemptBody extends DeliveryAttempt {
  event?: MessageEvent;
}

/** Makes rows of the attempts of a webhook, each before those that began earlier. */
export class AttemptRows {
  readonly #webhookId: string;
  /** Keeps those of one millisecond apart. */
  #count = 0;

  constructor(webhookId: string) {
    this.#webhookId = webhookId;
  }

  /** The row of an attempt. */
  of({ shown, event }: NewAttempt): Row {
    const ms = Date.parse(shown.at);
    this.#count = (this.#count + 1) % 1_000;
    const body: AttemptBody = { ...shown, ...(event && { event }) };
    return {
      id: `${this.#webhookId}/${randomUUID()}`,
      partition: this.#webhookId,
      order: LAST_ORDER - ms * 1_000 - this.#count,
      position: ms,
      body: { ...body },
    };
  }
}

/**
 * Records attempts; can be repeated with the same rows. The first one of each message gets the message's id, by which
 * its event is found.
 */
export async function recordAttempts(readModels: ReadModels, rows: Row[]): Promise<void> {
  if (rows.length === 0) return;
  const messageIds = new Set(rows.map((row) => messageRow(row)));
  const known = await readModels.existing(attemptsModel, [...messageIds]);
  for (const row of rows) {
    const id = messageRow(row);
    if (known.has(id) || row.body.event === undefined) continue;
    known.add(id);
    row.id = id;
  }
  await readModels.save(attemptsModel, rows);
}

function messageRow({ partition, body }: Row): string {
  return `${partition}/${body.message_id}`;
}

/** A page of a webhook's attempts of the last 30 days, newest first. Rejects with `validation_failed`, `unavailable`. */
export async function listAttempts(
  readModels: ReadModels,
  webhookId: string,
  { limit, pageToken }: PageRequest,
): Promise<Page<DeliveryAttempt>> {
  const rows = await readModels.page(attemptsModel, {
    partition: webhookId,
    ...(pageToken !== undefined && { after: decodeToken(pageToken) }),
    limit: limit + 1,
  });
  const last = rows[limit - 1];
  return {
    items: rows.slice(0, limit).map(({ body }) => shownAttempt(body as unknown as AttemptBody)),
    next_page_token: rows.length > limit && last ? encodeToken(last.order) : null,
  };
}

function shownAttempt({ event: _event, ...shown }: AttemptBody): DeliveryAttempt {
  return shown;
}

/** The event of a message that a webhook was sent in the last 30 days; undefined when there is none. */
export async function findMessage(
  readModels: ReadModels,
  webhookId: string,
  messageId: string,
): Promise<MessageEvent | undefined> {
  const [row] = await readModels.load(attemptsModel, [`${webhookId}/${messageId}`]);
  return (row?.body as AttemptBody | undefined)?.event;
}

/** Removes the attempts of more than 30 days ago. */
export function pruneAttempts(readModels: ReadModels, now: number): Promise<void> {
  return readModels.prune(attemptsModel, now - KEPT_MS);
}
