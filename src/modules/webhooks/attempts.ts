import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { subjectKinds } from '../../domain/records/catalog.ts';
import { RowOrder } from '../../storage/readModels.ts';
import type { StateRow, StateStore, StateTable } from '../../storage/stateStore.ts';
import {
  decodeToken,
  encodeToken,
  type Page,
  type PageRequest,
  type TokenScope,
} from '../records/queries/paging.ts';

/**
 * Why an attempt failed, apart from what a status says: no response in time, an address or protocol that is not
 * allowed, a name without an address, no trusted TLS connection, no connection or a broken one, a response that is a
 * redirect (redirects are not followed) or not HTTP, or the caller's signal.
 */
const attemptErrors = [
  'timeout',
  'refused_address',
  'dns',
  'tls',
  'connection',
  'redirect',
  'invalid_answer',
  'aborted',
] as const;
export type AttemptError = (typeof attemptErrors)[number];

/** The result of one attempt to deliver a message. */
export interface Attempt {
  /** When it began, ISO 8601 in UTC. */
  at: string;
  durationMs: number;
  /** The response's status, whenever there was a response. 200 to 299: delivered. */
  status?: number;
  /** Never set together with a status, except for `redirect`. */
  error?: AttemptError;
  /** The first 1,000 characters of the response body, which is whatever the endpoint chose to send. */
  answer?: string;
  /** The value of the response's `Retry-After`. */
  retryAfterSeconds?: number;
}

export const ATTEMPT_RETENTION_DAYS = 30;
const RETENTION_MS = ATTEMPT_RETENTION_DAYS * 86_400_000;
/** Maximum number of attempts examined for one page. */
const MAX_SCANNED = 10_000;
const SCAN_PAGE = 500;

/** The possible results of an attempt. */
export const attemptOutcomes = ['delivered', 'retrying', 'failed'] as const;

/** Where the log holds the event of a message. */
const eventShape = z.object({ stream: z.string(), revision: z.number() });

const shownShape = z.object({
  message_id: z.string(),
  /** Type of the CloudEvent in the message. */
  type: z.string(),
  /** What the event is about, and its place in the log; all left out for a ping. */
  kind: z.enum(subjectKinds).optional(),
  /** For a document, the id of its encounter. */
  record_id: z.string().optional(),
  document_id: z.string().optional(),
  version: z.number().optional(),
  /** The CloudEvent's `sequence`. */
  position: z.string().optional(),
  /** 1, 2, 3 …; 0 for a ping. */
  attempt: z.number(),
  /** When it began, ISO 8601 in UTC. */
  at: z.string(),
  duration_ms: z.number(),
  /** `delivered`; `retrying` when it will be tried again; `failed` when that was the last attempt. */
  outcome: z.enum(attemptOutcomes),
  /** Status of the response, when there was one. */
  status: z.number().optional(),
  /** Why there was no response, or that it was a redirect. */
  error: z.enum(attemptErrors).optional(),
  /** The first 1,000 characters of the response. */
  answer: z.string().optional(),
  /** ISO 8601 in UTC. */
  next_attempt_at: z.string().optional(),
});

const attemptShape = z.object({
  shown: shownShape,
  /** Undefined for a ping. */
  event: eventShape.optional(),
});

export type MessageEvent = z.infer<typeof eventShape>;
/** One attempt to deliver a message, as callers see it. */
export type DeliveryAttempt = z.infer<typeof shownShape>;
/** An attempt to be recorded. */
export type NewAttempt = z.infer<typeof attemptShape>;
export type AttemptRow = StateRow<NewAttempt>;

/**
 * Attempts to deliver messages, newest first in a webhook's partition; a row's revision is its time in milliseconds.
 */
export const attemptsTable: StateTable<NewAttempt> = { name: 'webhook_attempts_v1', body: attemptShape };

/** Makes rows of the attempts of a webhook, each before those that began earlier. */
export class AttemptRows {
  readonly #webhookId: string;
  readonly #rowOrder = new RowOrder();

  constructor(webhookId: string) {
    this.#webhookId = webhookId;
  }

  /** Returns the row of an attempt. */
  of(attempt: NewAttempt): AttemptRow {
    const ms = Date.parse(attempt.shown.at);
    return {
      id: `${this.#webhookId}/${randomUUID()}`,
      partition: this.#webhookId,
      order: this.#rowOrder.newestFirst(ms),
      revision: ms,
      body: attempt,
    };
  }
}

/**
 * Records attempts; can be repeated with the same rows. The first attempt for each message gets the message's id, by
 * which its event is found.
 */
export async function recordAttempts(stateStore: StateStore, rows: AttemptRow[]): Promise<void> {
  if (rows.length === 0) return;
  const messageIds = new Set(rows.map((row) => messageRow(row)));
  const known = new Set((await stateStore.load(attemptsTable, [...messageIds])).map(({ id }) => id));
  for (const row of rows) {
    const id = messageRow(row);
    if (known.has(id) || row.body.event === undefined) continue;
    known.add(id);
    row.id = id;
  }
  await stateStore.save(attemptsTable, rows);
}

function messageRow({ partition, body }: AttemptRow): string {
  return `${partition}/${body.shown.message_id}`;
}

/** Which attempts are wanted; an undefined field matches all. */
export interface AttemptFilter {
  outcome?: DeliveryAttempt['outcome'] | undefined;
  kind?: DeliveryAttempt['kind'] | undefined;
  record_id?: string | undefined;
  document_id?: string | undefined;
}

/**
 * Resolves with a page of a webhook's attempts in the last 30 days, newest first. With a filter it may hold fewer
 * than the limit, or none, and still have a next page. Rejects with `validation_failed`, `unavailable`.
 */
export async function listAttempts(
  stateStore: StateStore,
  webhookId: string,
  { limit, pageToken }: PageRequest,
  filter: AttemptFilter = {},
): Promise<Page<DeliveryAttempt>> {
  const items: DeliveryAttempt[] = [];
  const scope = attemptsScope(webhookId, filter);
  let after = pageToken === undefined ? -1 : decodeToken(pageToken, scope);
  for (let looked = 0; looked < MAX_SCANNED; looked += SCAN_PAGE) {
    const query = { partition: webhookId, after, limit: SCAN_PAGE };
    const rows = await stateStore.page(attemptsTable, query);
    for (const { order, body } of rows) {
      if (!isWanted(body.shown, filter)) continue;
      if (items.length === limit) return { items, next_page_token: encodeToken(after, scope) };
      items.push(body.shown);
      after = order;
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < SCAN_PAGE) return { items, next_page_token: null };
    after = last.order;
  }
  return { items, next_page_token: encodeToken(after, scope) };
}

/**
 * Returns the token of the page that begins with a webhook's last attempt before a moment, in milliseconds since
 * 1970.
 */
export function attemptsBefore(webhookId: string, ms: number): string {
  return encodeToken(RowOrder.newestBefore(ms), attemptsScope(webhookId, {}));
}

function attemptsScope(webhookId: string, filter: AttemptFilter): TokenScope {
  return ['attempts', webhookId, filter];
}

/** The result of one attempt. */
interface AttemptResult {
  /** Milliseconds since 1970. */
  at: number;
  /** The message's id. */
  message: string;
  isTaken: boolean;
  /** Whether it was the first attempt for the message, and whether there is none after it. */
  isFirst: boolean;
  isOver: boolean;
}

/** The results of a webhook's attempts since a moment, newest first. */
export interface AttemptResults {
  results: AttemptResult[];
  /** False where there were more than were looked at. */
  isWhole: boolean;
}

/**
 * Resolves with the results of a webhook's latest attempts since a moment, without pings; no more than `most` are
 * looked at. Rejects with `unavailable`.
 */
export async function attemptResults(
  stateStore: StateStore,
  webhookId: string,
  { since, most }: { since: number; most: number },
): Promise<AttemptResults> {
  const results: AttemptResults['results'] = [];
  let after = -1;
  for (let looked = 0; looked < most; looked += SCAN_PAGE) {
    const query = { partition: webhookId, after, limit: SCAN_PAGE };
    const rows = await stateStore.page(attemptsTable, query);
    for (const { revision: at, body } of rows) {
      if (at < since) return { results, isWhole: true };
      const { attempt, outcome, message_id: message } = body.shown;
      if (attempt === 0) continue;
      const isTaken = outcome === 'delivered';
      results.push({ at, message, isTaken, isFirst: attempt === 1, isOver: outcome !== 'retrying' });
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < SCAN_PAGE) return { results, isWhole: true };
    after = last.order;
  }
  return { results, isWhole: false };
}

function isWanted(shown: DeliveryAttempt, { outcome, kind, record_id, document_id }: AttemptFilter): boolean {
  const wanted = { outcome, kind, record_id, document_id };
  return Object.entries(wanted).every(([name, value]) => {
    return value === undefined || shown[name as keyof AttemptFilter] === value;
  });
}

/** Resolves with the event of a message sent to a webhook in the last 30 days; undefined when there is none. */
export async function findMessage(
  stateStore: StateStore,
  webhookId: string,
  messageId: string,
): Promise<MessageEvent | undefined> {
  const [row] = await stateStore.load(attemptsTable, [`${webhookId}/${messageId}`]);
  return row?.body.event;
}

/** Removes attempts that are more than 30 days old. */
export function pruneAttempts(stateStore: StateStore, now: number): Promise<void> {
  return stateStore.prune(attemptsTable, now - RETENTION_MS);
}

const PAGE = 500;

/**
 * Removes a webhook's attempts that concern events of streams below a revision, in one pass: a response may repeat what was sent. Can be
 * repeated: those that tell of the erasure itself, and of who uses the id again, stay.
 */
export async function removeAttempts(
  stateStore: StateStore,
  webhookId: string,
  below: ReadonlyMap<string, number>,
): Promise<void> {
  for (let after = -1; ; ) {
    const rows = await stateStore.page(attemptsTable, { partition: webhookId, after, limit: PAGE });
    const found = rows.filter(
      ({ body: { event } }) => event && event.revision < (below.get(event.stream) ?? 0),
    );
    const newest = Math.max(0, ...found.map(({ revision }) => revision));
    if (found.length > 0) {
      await stateStore.remove(
        attemptsTable,
        found.map(({ id }) => id),
        newest,
      );
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < PAGE) return;
    after = last.order;
  }
}

/** Removes all attempts of a webhook. Can be repeated. */
export async function removeAllAttempts(stateStore: StateStore, webhookId: string): Promise<void> {
  for (;;) {
    const rows = await stateStore.page(attemptsTable, { partition: webhookId, limit: PAGE });
    if (rows.length === 0) return;
    const ids = rows.map(({ id }) => id);
    await stateStore.remove(attemptsTable, ids, Number.MAX_SAFE_INTEGER);
  }
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Delays between a failed attempt and the next, in milliseconds; there is one attempt more than there are delays. */
export type RetrySchedule = readonly number[];

/** At once, then after these delays: ten attempts in a little over three days. */
export const retrySchedule: RetrySchedule = [
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
];

/** An endpoint that accepted nothing for this long is disabled. */
export const FAILING_MS = 5 * DAY;

/** The longest `Retry-After` that is obeyed. */
const MAX_RETRY_AFTER_MS = 24 * HOUR;

/** Delays vary by a tenth, so that what failed together does not come back together. */
const JITTER = 0.1;

/** The longest time between two attempts to send a message. */
export const LONGEST_WAIT_MS = Math.max(...retrySchedule, MAX_RETRY_AFTER_MS) * (1 + JITTER);

/** What a response says about when to come back. */
interface Answer {
  status?: number;
  retryAfterSeconds?: number;
}

/** Returns for how long an endpoint asked not to be sent anything (429, 503), in milliseconds; 0 when it did not. */
export function retryAfterMs({ status, retryAfterSeconds = 0 }: Answer): number {
  if (status !== 429 && status !== 503) return 0;
  return Math.min(retryAfterSeconds * SECOND, MAX_RETRY_AFTER_MS);
}

/**
 * Returns the milliseconds until the next attempt for a message that failed `tries` times, never less than the
 * endpoint asked for; undefined when that was the last one. `random` is a number from 0 to 1.
 */
export function nextDelay(
  schedule: RetrySchedule,
  tries: number,
  answer: Answer,
  random = Math.random(),
): number | undefined {
  const delay = schedule[tries - 1];
  if (delay === undefined) return undefined;
  return Math.max(delay * (1 - JITTER + 2 * JITTER * random), retryAfterMs(answer));
}
