import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { projections } from '../../projections/index.ts';
import { modelName } from '../../projections/projection.ts';
import type { RecordedEvent } from '../../src/domain/events/event.ts';
import { documentStream, recordStream } from '../../src/domain/events/streams.ts';
import {
  type CloudEvent,
  feedEventTypes,
  type StreamedEventType,
  toCloudEvent,
} from '../../src/modules/eventStream/cloudEvents.ts';
import { createDeidentifier } from '../../src/modules/eventStream/deidentification.ts';
import { ownTarget, project } from '../../src/modules/projections/projector.ts';
import { openReadModels } from '../../src/server/openStorage.ts';
import type { EventBatch, EventLog, FollowOptions } from '../../src/storage/eventLog.ts';
import type { ReadModels, Row } from '../../src/storage/readModels.ts';
import type { Client, TestResponse } from './client.ts';
import { eventually } from './eventually.ts';
import { phi } from './output.ts';
import { readAll } from './service.ts';

export type Fields = Record<string, unknown>;

export const deidentify = createDeidentifier({ key: Buffer.alloc(32, 7), epoch: 1 });
export const pseudonym = expect.stringMatching(/^[\w-]{22}$/);

/**
 * The third event of a record or document of the workspace `clinic`, which holds these fields; of readiness, that of a type in the
 * log instead of a kind.
 */
export function recordedEventOf(
  kind: string,
  fields: Fields,
  recordedAt = '2026-03-14T09:30:15.250Z',
): RecordedEvent {
  const told = feedEventTypes.find((one) => one.kind === kind || one.logType === kind) as StreamedEventType;
  const stream =
    kind === 'document'
      ? documentStream('clinic', String(fields.encounter_id), String(fields.document_id))
      : recordStream('clinic', told.kind, String(fields.id));
  return {
    id: '019cebb7-54c0-7c1e-9b3a-5f0a6d2c8e41',
    type: told.logType,
    data: fields,
    metadata: { workspace: 'clinic', schemaVersion: 1, clientIp: '192.0.2.7' },
    stream,
    revision: 2,
    position: 42,
    recordedAt,
  } as unknown as RecordedEvent;
}

/** The same as an event of the stream, which names all of the fields as changed. */
export function cloudEventOf(kind: string, fields: Fields, recordedAt?: string): CloudEvent {
  const changed = Object.entries(fields).flatMap(([field, value]) =>
    typeof value === 'object' && value !== null
      ? Object.keys(value).map((inner) => `${field}.${inner}`)
      : [field],
  );
  const address = 'https://chartledger.example.com';
  return toCloudEvent(recordedEventOf(kind, fields, recordedAt), changed, address);
}

/** What the de-identified view shows of the fields of a record or document; of an insurance, those of the primary one. */
export function shownFields(kind: string, fields: Fields, recordedAt?: string): Fields {
  if (kind === 'insurance') {
    return shownFields('patient', { primary_insurance: fields }, recordedAt).primary_insurance as Fields;
  }
  return deidentify('clinic', cloudEventOf(kind, { id: 'record-1', ...fields }, recordedAt)).data.sent;
}

/** The events of a page. */
export function eventsOf({ text }: TestResponse): CloudEvent[] {
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}

const AGAIN_MS = 100;

/** A reader of server-sent events, which collects what it is sent until it is closed. */
export class EventReader {
  readonly events: CloudEvent[] = [];
  /** Lines that begin with a colon. */
  comments = 0;
  /** As a browser keeps it: the `id` of the last message. */
  lastEventId: string | undefined;
  /** The last position that a comment had. */
  position: string | undefined;
  response: IncomingMessage | undefined;
  /** True when the service ended the stream, or the connection broke. */
  ended = false;
  readonly #client: Client;
  readonly #path: string;
  #outgoing: ClientRequest;
  #killed = false;
  #rest = '';
  #id: string | undefined;

  constructor(client: Client, path = '/events', headers: Record<string, string> = {}) {
    this.#client = client;
    this.#path = path;
    this.#outgoing = this.#connect(headers);
  }

  /** Opens one and waits until it is answered. */
  static async open(client: Client, path?: string, headers?: Record<string, string>): Promise<EventReader> {
    const reader = new EventReader(client, path, headers);
    await eventually(() => {
      if (reader.response === undefined) throw new Error('no answer yet');
    });
    return reader;
  }

  /** Waits until it has so many events. */
  async count(count: number, timeoutMs?: number): Promise<CloudEvent[]> {
    await eventually(() => {
      if (this.events.length < count) throw new Error(`${this.events.length} events, not ${count}`);
    }, timeoutMs);
    return this.events;
  }

  /** Waits until the service has ended it. */
  end(): Promise<void> {
    return eventually(() => {
      if (!this.ended) throw new Error('the stream goes on');
    });
  }

  /** From now on connects again where a stream ended, as a browser does: a service that is busy may end it. */
  comesBack(): this {
    const again = () => {
      if (this.#killed) return;
      this.#outgoing = this.#connect(this.lastEventId ? { 'last-event-id': this.lastEventId } : {});
      this.#outgoing.once('close', () => setTimeout(again, AGAIN_MS));
    };
    this.#outgoing.once('close', again);
    return this;
  }

  /** Breaks the connection off, as a reader that is killed does. */
  kill(): void {
    this.#killed = true;
    this.#outgoing.destroy();
  }

  #connect(headers: Record<string, string>): ClientRequest {
    const { hostname, port } = new URL(this.#client.url);
    const key = { 'x-api-key': this.#client.key ?? '', accept: 'text/event-stream' };
    const options = { hostname, port, path: this.#path, headers: { ...key, ...headers }, agent: false };
    this.#rest = '';
    const outgoing = request(options, (response) => {
      this.response = response;
      response.setEncoding('utf8');
      response.on('data', (text: string) => this.#take(text));
      response.on('error', () => undefined);
      response.on('close', () => {
        this.ended = true;
      });
    });
    outgoing.on('error', () => {
      this.ended = true;
    });
    return outgoing.end();
  }

  #take(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() as string;
    for (const line of lines) {
      const [, field, value] = /^([^:]*): ?(.*)$/.exec(line) ?? [];
      if (field === '') this.comments += 1;
      if (field === '') this.position = value?.match(/^position (\d+)$/)?.[1] ?? this.position;
      if (field === 'id') this.#id = value;
      if (field === 'data') this.events.push(JSON.parse(value as string));
      if (field === 'data') this.lastEventId = this.#id;
    }
  }
}

/** A follower that collects what it is given, in the background, until it is stopped. */
export class Follower {
  readonly batches: EventBatch[] = [];
  readonly #abort = new AbortController();
  /** Resolves when the iteration has ended; rejects when it failed. */
  readonly ended: Promise<void>;

  /** `pace` is awaited after each batch. */
  constructor(
    log: EventLog,
    options: Omit<FollowOptions, 'signal'>,
    pace: () => Promise<unknown> = async () => undefined,
  ) {
    this.ended = this.#collect(log.follow({ ...options, signal: this.#abort.signal }), pace);
    this.ended.catch(() => undefined);
  }

  get events(): RecordedEvent[] {
    return this.batches.flatMap(({ events }) => events);
  }

  get position(): number {
    return this.batches.at(-1)?.position ?? 0;
  }

  get caughtUp(): boolean {
    return this.batches.at(-1)?.caughtUp ?? false;
  }

  async stop(): Promise<void> {
    this.#abort.abort();
    await this.ended;
  }

  async #collect(batches: AsyncIterable<EventBatch>, pace: () => Promise<unknown>): Promise<void> {
    for await (const batch of batches) {
      this.batches.push(batch);
      await pace();
    }
  }
}

/** Follows until everything acknowledged before the call has been delivered. */
export async function followToEnd(
  log: EventLog,
  options: Omit<FollowOptions, 'signal'>,
): Promise<EventBatch[]> {
  const batches: EventBatch[] = [];
  for await (const batch of log.follow({ ...options, signal: new AbortController().signal })) {
    batches.push(batch);
    if (batch.caughtUp) break;
  }
  return batches;
}

/** The names of a workspace's heads in a folder, in their order; drafts that are being written are none. */
export function headNames(folder: string, workspace: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.startsWith(`${workspace}-`) && name.endsWith('.json'))
    .toSorted();
}

const IDS_AT_ONCE = 500;
const STANDS_STILL_MS = 30_000;

/** All rows of a read model, by id, and how many it counts. */
export interface Rows {
  rows: Map<string, Row>;
  count: number;
}

/** All rows of every read model whose ids are streams of the log, once they hold all of it. */
export async function allRows(eventLog: EventLog, readModels: ReadModels): Promise<Record<string, Rows>> {
  const events = await readAll(eventLog);
  const head = await eventLog.head();
  const all: Record<string, Rows> = {};
  for (const projection of projections) {
    const model = modelName(projection);
    await reached(readModels, model, head);
    const types = projection.eventTypes && new Set(projection.eventTypes);
    const wanted = events.filter(({ type }) => types?.has(type) ?? true);
    const ids = new Set(wanted.map((event) => projection.rowId(event)));
    all[model] = {
      rows: await load(readModels, model, [...ids].sort()),
      count: await readModels.count(model),
    };
  }
  return all;
}

/** The same of read models that are made anew from the first event on, in another store. */
export async function rebuiltRows(eventLog: EventLog): Promise<Record<string, Rows>> {
  const folder = mkdtempSync(join(tmpdir(), 'chartledger-rebuilt-'));
  const readModels = await openReadModels(`sqlite:${join(folder, 'read-models.db')}`);
  const onParked = (_model: string, _event: unknown, error: unknown) => {
    throw error;
  };
  const { signal } = new AbortController();
  try {
    const ports = { eventLog, readModels, onParked };
    await project(projections.map(ownTarget), ports, signal, ({ caughtUp }) => caughtUp);
    return await allRows(eventLog, readModels);
  } finally {
    await readModels.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Waits for a read model for as long as it gets on. */
async function reached(readModels: ReadModels, model: string, head: number): Promise<void> {
  for (let at = await readModels.checkpoint(model); at < head; ) {
    at = await eventually(async () => {
      const checkpoint = await readModels.checkpoint(model);
      if (checkpoint <= at) throw new Error(`${model} stands still at ${checkpoint}, the log is at ${head}`);
      return checkpoint;
    }, STANDS_STILL_MS);
  }
}

async function load(readModels: ReadModels, model: string, ids: string[]): Promise<Map<string, Row>> {
  const rows = new Map<string, Row>();
  for (let from = 0; from < ids.length; from += IDS_AT_ONCE) {
    for (const row of await readModels.load(model, ids.slice(from, from + IDS_AT_ONCE)))
      rows.set(row.id, row);
  }
  return rows;
}

/** The header of a fresh idempotency key, or of that one. */
export function keyed(key = phi('key')): Record<string, string> {
  return { 'idempotency-key': key };
}

/** Whether an answer says that it is that of an earlier request. */
export function isReplayed({ headers }: TestResponse): boolean {
  expect([undefined, 'true']).toContain(headers['idempotent-replayed']);
  return headers['idempotent-replayed'] === 'true';
}

/** Asserts that an answer is the first one, given again. */
export function expectReplay(repeat: TestResponse, first: TestResponse): void {
  const { status, text, headers } = repeat;
  expect({ status, text, etag: headers.etag, isReplayed: isReplayed(repeat) }).toEqual({
    status: first.status,
    text: first.text,
    etag: first.headers.etag,
    isReplayed: true,
  });
}

/** Asserts that a request wrote something by itself. */
export function expectFirst(answer: TestResponse): TestResponse {
  expect([answer.status, answer.body.error, isReplayed(answer)]).toEqual([200, undefined, false]);
  return answer;
}
