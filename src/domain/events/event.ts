import { DAMAGE_ADVICE, UnreadableError } from '../../platform/errors.ts';

/** A stream contains something that the service did not append. */
export class DamagedEvent extends UnreadableError {
  constructor(event?: Pick<RecordedEvent, 'stream' | 'position'>) {
    super(
      'internal',
      `An event in this history cannot be read: its bytes differ from what was written. ${DAMAGE_ADVICE}`,
      event,
    );
  }
}

/** Limit for the data and metadata of one event together, as JSON in UTF-8. */
export const MAX_EVENT_BYTES = 1024 * 1024;

/** Place in the whole log: ascending, with gaps, above 0; 0 means "before the first event". A safe integer. */
export type Position = number;

export type JsonObject = { [key: string]: unknown };

/** Whether the value is an object with fields: neither `null` nor an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Parses JSON; undefined for any other text. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Casts an event's data or metadata to the shape of its type: only the service itself writes them. */
export function dataAs<Data extends object>(data: object): Data {
  return data as Data;
}

export interface NewEvent {
  /** UUID; repeating an id in the same stream makes a repeated append harmless. */
  id: string;
  type: string;
  data: JsonObject;
  metadata: EventMetadata;
  /** Whether an earlier try of the same request may have appended it: the log then looks for it, wherever it is in the stream. */
  isRepeat?: true;
}

export interface RecordedEvent extends Omit<NewEvent, 'isRepeat'> {
  /** `data` as the text in the log, where the log holds text; saves consumers from serializing it again. */
  dataText?: string | undefined;
  /** `metadata` as such a text, when it and `dataText` are canonical JSON: for events written by this version of the service. */
  metadataText?: string | undefined;
  stream: string;
  /** Place in the stream: 0, 1, 2 … without gaps; `append` returns the same number. */
  revision: number;
  position: Position;
  /** When the log accepted it, ISO 8601 in UTC. It may be earlier than that of the event before: see `EventLog`. */
  recordedAt: string;
}

/** An event that the store holds but that is no longer the one that was appended: damaged, or in a stream of someone else. */
export interface UnreadableEvent
  extends Pick<RecordedEvent, 'id' | 'type' | 'stream' | 'revision' | 'position'> {
  /** Set if its bytes can be read, but its metadata contradict the name of its stream: see `mayContain`. */
  misplaced?: true;
}

/** The place of an erased event, and its leaf: see `RecordErased`. */
export interface ErasedEvent extends Pick<RecordedEvent, 'id' | 'stream' | 'revision' | 'position'> {
  leaf: string;
}

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7/i;

/** When an event id was generated, in milliseconds since 1970; 0 for a UUID without a time (any version but 7). */
export function eventIdTime(id: string): number {
  return UUID_V7.test(id) ? Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) : 0;
}

export const principalTypes = ['api_key', 'source', 'user', 'operator', 'service'] as const;

/**
 * Who acts: an API key of a workspace, a source of a workspace that sends over MLLP and so without a key, a dashboard user, an
 * operator at the command line, or a part of the service itself.
 */
export interface Principal {
  type: (typeof principalTypes)[number];
  id: string;
}

/** Whether the principal is a program that sends to a workspace or reads from it, with an API key or as a source. */
export function isProgram({ type }: Principal): boolean {
  return type === 'api_key' || type === 'source';
}

/** What an EMR sent: the id of the configured source, and that of the message, which is kept for some time. */
export interface EventSource {
  /** For a message that was reprocessed: number of the source configuration used. */
  configuration?: number;
  id: string;
  message: string;
}

/** What every event carries besides its data: who sent it, from where, in which request. */
export interface EventMetadata {
  /** The workspace of the event's stream (`mayContain`), or `INSTALLATION`. */
  workspace: string;
  principal: Principal;
  requestId: string;
  clientIp?: string;
  userAgent?: string;
  /** The client's id for its request (`X-Request-Id`): up to 128 printable ASCII characters. */
  clientRequestId?: string;
  /** The trace that the request is part of (W3C Trace Context). */
  traceparent?: string;
  /** The id of the event that it undoes, the last one if several: see `undoWrites`. */
  reverts?: string;
  /** Its origin, if that is a message from an EMR. */
  source?: EventSource;
  /** EventStoreDB's conventional name; the request that caused the event. */
  $correlationId: string;
  /** Version of the shape of the event's data. */
  schemaVersion: number;
  /**
   * 16 random bytes, hex. The event's leaf covers them, so the leaf of an erased event reveals nothing of its contents. Absent in
   * events of earlier versions of the service.
   */
  salt?: string;
}

/** Returns the later of two event times; both in the log's format (ISO 8601, UTC, to the millisecond), which sorts as text. */
export function maxTime(latest: string | undefined, recordedAt: string): string {
  return latest !== undefined && latest > recordedAt ? latest : recordedAt;
}

/** Maximum clock difference between logs and generators of event ids. */
const CLOCKS_APART_MS = 600_000;

/**
 * Returns a time, in milliseconds since 1970, before which no event with this id was recorded; 0 if the id does not tell: it is
 * not of version 7, or came from a clock that ran ahead (a process's ids never decrease, even when its clock is set back).
 */
export function earliestPossibleTime(id: string): number {
  const made = eventIdTime(id);
  return made > Date.now() ? 0 : made - CLOCKS_APART_MS;
}

/**
 * What happens to a write that changes no field of its record: `skip`: no event is appended; `append`: an event is appended as
 * for any other write.
 */
export const unchangedChoices = ['skip', 'append'] as const;
export type UnchangedChoice = (typeof unchangedChoices)[number];

/**
 * What happens to a write of a record that was erased: `allow`: the record exists again; `refuse`: nothing is written;
 * `review`: nothing is written until somebody decides.
 */
export const returnChoices = ['allow', 'refuse', 'review'] as const;
export type ReturnChoice = (typeof returnChoices)[number];
