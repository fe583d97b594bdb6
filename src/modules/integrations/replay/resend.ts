import { createHash } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import type { RecordedEvent } from '../../../domain/events/event.ts';
import type { Caller } from '../../../domain/events/newEvent.ts';
import { erasureStep } from '../../../domain/events/payloads.ts';
import { documentStream, recordStream } from '../../../domain/events/streams.ts';
import { upcast } from '../../../domain/events/upcasting.ts';
import { evolveRecord, type RecordState } from '../../../domain/records/fold.ts';
import type { RecordFields } from '../../../domain/records/schema/kind.ts';
import { ServiceError } from '../../../platform/errors.ts';
import type { EventLog } from '../../../storage/eventLog.ts';
import { foldStream, type QueryPorts } from '../../records/queries/records.ts';
import { eachOnce, type Guard, type IngestRun } from '../apply.ts';
import { contextOf } from '../fhir/resources/index.ts';
import { MessageRefused, processedBy, sendMessage } from '../fhir/send.ts';
import type { Hl7Source } from '../hl7/context.ts';
import { splitMessages } from '../hl7/framing.ts';
import { parseMessage } from '../hl7/parser.ts';
import { headingOf, messageOutcome, processMessage, readMessage } from '../hl7/receive.ts';
import { type Message, orderTimeOf } from '../messages/message.ts';
import type { MessageStore, ProcessedMessage } from '../messages/store.ts';
import { type AboutRecord, type Operation, recordOf } from '../operations.ts';
import { DEFAULT_RETENTION_DAYS, type Source } from '../sources.ts';
import type { IngestPorts } from '../writes.ts';
import { bytesOf, readStoredFhir } from './lineage.ts';

/** A write to a record; without fields, it erased the record. */
export interface OtherWrite {
  at: string;
  fields: RecordFields | undefined;
}

/** What the log says about a record. */
interface LoggedRecord {
  /** Its present state; undefined where there is none. */
  present: RecordState | undefined;
  /** Writes that come from none of the messages being read again, oldest first. */
  others: readonly OtherWrite[];
}

interface Logged {
  version: number;
  state: RecordState;
  others: OtherWrite[];
}

/**
 * The records of a workspace, in terms of writes other than those of messages being read again; each is read once.
 */
export class OtherWrites {
  readonly #eventLog: EventLog;
  readonly #workspace: string;
  readonly #replayed: ReadonlySet<string>;
  readonly #read = new Map<string, Promise<LoggedRecord>>();

  /** `replayed`: the ids of the messages. */
  constructor(eventLog: EventLog, workspace: string, replayed: ReadonlySet<string>) {
    this.#eventLog = eventLog;
    this.#workspace = workspace;
    this.#replayed = replayed;
  }

  /** Rejects with `unavailable` and `unreadable`. */
  of(kind: string, id: string): Promise<LoggedRecord> {
    const stream = recordStream(this.#workspace, kind, id);
    const reading = this.#read.get(stream) ?? this.#load(kind, stream);
    this.#read.set(stream, reading);
    return reading;
  }

  async #load(kind: string, stream: string): Promise<LoggedRecord> {
    const logged = await foldStream<Logged>(this.#eventLog, stream, (before, event) => {
      const state = evolveRecord(kind, before?.state, event);
      const others = before?.others ?? [];
      const erasure = erasureStep(event);
      const isReplayed = this.#replayed.has(event.metadata.source?.message ?? '');
      if (erasure === 'done') others.push({ at: event.recordedAt, fields: undefined });
      else if (erasure === undefined && !isReplayed) {
        others.push({ at: event.recordedAt, fields: upcast(event).data as RecordFields });
      }
      return { version: state.version, state, others };
    });
    const present = logged?.state.erased ? undefined : logged?.state;
    return { present, others: logged?.others ?? [] };
  }
}

/** Events read at once, from the last one backwards. */
const CHUNK = 50;

const NEWER = 'It has changed since this message was received. Newer values are not overwritten.';

interface GuardPorts {
  eventLog: EventLog;
  messages: MessageStore;
}

/**
 * Keeps what a kept message says from replacing what is newer: in a record that changed after the message arrived,
 * whoever changed it, or for which a later message was accepted, even where that changed nothing. Results of the
 * message itself, or of one that came before it, are not newer.
 */
function guardNewer(ports: GuardPorts, message: Message): Guard {
  return async (operations) => {
    const guarded = new Map<Operation, { error: ServiceError } | { version: number }>();
    const asked = new Set<string>();
    for (const operation of operations) {
      if (operation.type === 'record' && operation.ifAbsent) continue;
      const stream = streamOf(message.workspace, operation);
      const last = await lastVersion(ports.eventLog, stream);
      if (await isNewer(ports, stream, message)) {
        guarded.set(operation, { error: new ServiceError('version_conflict', NEWER) });
      } else if (operation.type === 'record' && operation.version === undefined && !asked.has(stream)) {
        // A write between this and the message's own is newer, too. The message's own writes come after its first.
        if (last > 0) guarded.set(operation, { version: last });
      }
      asked.add(stream);
    }
    return guarded;
  };
}

function streamOf(workspace: string, operation: Operation): string {
  if (operation.type === 'document' || operation.type === 'removal')
    return documentStream(workspace, operation.encounterId, operation.documentId);
  const { kind, id } = recordOf(operation);
  return recordStream(workspace, kind, id);
}

async function lastVersion(eventLog: EventLog, stream: string): Promise<number> {
  const [last] = await eventLog.readStream(stream, { direction: 'backwards', limit: 1 });
  return last === undefined ? 0 : last.revision + 1;
}

async function isNewer(ports: GuardPorts, stream: string, message: Message): Promise<boolean> {
  return (await hasNewerEvent(ports, stream, message)) || (await hasNewerMessage(ports, stream, message));
}

async function hasNewerEvent(ports: GuardPorts, stream: string, message: Message): Promise<boolean> {
  const { eventLog } = ports;
  for (let from: number | undefined; ; ) {
    const range = { direction: 'backwards', limit: CHUNK, ...(from !== undefined && { from }) } as const;
    const events = await eventLog.readStream(stream, range);
    for (const event of events) {
      if (event.recordedAt <= orderTimeOf(message)) return false;
      if (!(await originatesEarlier(ports.messages, event, message))) return true;
    }
    const first = events.at(-1)?.revision ?? 0;
    if (events.length < CHUNK || first === 0) return false;
    from = first - 1;
  }
}

/** Resolves with whether an event comes from this message, or from one that came before it. */
async function originatesEarlier(
  messages: MessageStore,
  { metadata: { source, workspace } }: RecordedEvent,
  message: Message,
): Promise<boolean> {
  if (source === undefined) return false;
  if (source.message === message.id) return true;
  const other = await messages.load(workspace, source.message);
  return other !== undefined && isBefore(other, message);
}

async function hasNewerMessage({ messages }: GuardPorts, stream: string, message: Message): Promise<boolean> {
  for await (const other of messages.about(stream)) {
    if (other.id === message.id || isBefore(other, message)) return false;
    if (hasWrittenTo(other, stream)) return true;
  }
  return false;
}

/** Whether a message came before another one. */
export function isBefore(one: Message, other: Message): boolean {
  const [first, second] = [orderTimeOf(one), orderTimeOf(other)];
  if (first !== second) return first < second;
  return one.id < other.id;
}

function hasWrittenTo({ state, workspace, about }: Message, stream: string): boolean {
  if (state !== 'accepted' && state !== 'partly') return false;
  const entry = about.find(({ kind, id }) => recordStream(workspace, kind, id) === stream);
  // A message with very many records does not record the result of each.
  return entry === undefined || (entry.outcome !== 'refused' && entry.outcome !== 'left_out');
}

export interface ReplayPorts extends IngestPorts, QueryPorts {
  messages: MessageStore;
}

/** How a message is sent again. */
interface Resending {
  /** By which it is now read. */
  source: Source;
  /** Number of its configuration; undefined where nothing is configured. */
  configuration: number | undefined;
  /** A sandbox also accepts test messages. */
  isSandbox: boolean;
  /** Whether to replace even what is newer than the message. */
  force: boolean;
}

/**
 * Carries out a kept message once more, by the given configuration of its source, and notes its result. What is newer
 * than the message stays as it is: that part is refused with `version_conflict`. Rejects with `not_found` where the
 * message no longer exists, and with `unavailable`; it can then be repeated.
 */
export async function resendMessage(
  ports: ReplayPorts,
  caller: Caller,
  message: Message,
  how: Resending,
): Promise<ProcessedMessage> {
  const bytes = await bytesOf(ports.messages, message);
  const keep = (about: AboutRecord[]) => ports.messages.relate(message, about);
  const became = await applyStored(ports, caller, { message, bytes, save: keep }, how);
  await ports.messages.processed(message, became);
  return became;
}

/**
 * Carries out what a message says, except where there is something newer. Rejects as `keep` does, and with
 * `unavailable`.
 */
async function applyStored(
  ports: ReplayPorts,
  caller: Caller,
  { message, bytes, save: keep }: StoredMessage,
  { source, configuration, isSandbox, force, isTrial = false }: Resending & { isTrial?: boolean },
): Promise<ProcessedMessage> {
  const numbered = configuration !== undefined && { configuration };
  const run: IngestRun = {
    caller: { ...caller, source: { id: source.id, message: message.id, ...numbered } },
    authorize: () => undefined,
    limiter: undefined,
    stopping: new AbortController().signal,
    dryRun: isTrial,
    ...(!force && { guard: guardNewer(ports, message) }),
  };
  const processed =
    message.format === 'fhir'
      ? await resendFhir(ports, run, source, { message, bytes, save: keep })
      : await resendHl7(ports, run, { ...source, maySendTests: isSandbox }, { message, bytes, save: keep });
  return { ...processed, ...numbered };
}

async function resendHl7(
  ports: ReplayPorts,
  run: IngestRun,
  source: Hl7Source,
  { bytes, save: keep }: StoredMessage,
): Promise<ProcessedMessage> {
  const read = readMessage(parseMessage(bytes), source);
  return messageOutcome(await processMessage(ports, run, read, keep(read.about)));
}

interface StoredMessage {
  message: Message;
  bytes: Buffer;
  save(about: AboutRecord[]): Promise<void>;
}

async function resendFhir(
  ports: ReplayPorts,
  run: IngestRun,
  source: Source,
  { message, bytes, save: keep }: StoredMessage,
): Promise<ProcessedMessage> {
  const { entries, isAtomic, unread } = readStoredFhir(message, bytes);
  // Periods are in force as they were when it arrived.
  const context = contextOf(source, Date.parse(orderTimeOf(message)));
  try {
    return processedBy(await sendMessage(ports, run, { entries, context, isAtomic, save: keep }), unread);
  } catch (error) {
    if (error instanceof MessageRefused) return processedBy(error.outcomes, unread);
    throw error;
  }
}

/** Maximum size of a correction: more than a person writes. */
const MAX_CORRECTION_BYTES = 16 * 1024 * 1024;

/** The result of a correction. */
export interface CorrectedMessage extends ProcessedMessage {
  /** Its own id; undefined for a trial, as nothing was kept. */
  id: string | undefined;
}

/**
 * Keeps a corrected form of a message that was not accepted completely as a message of its own, and carries it out in
 * place of the original: what is newer than the original stays as it is. The original stays as it arrived, and no
 * longer waits. Rejects with `conflict` for a message that cannot be corrected, with `malformed_body` and
 * `payload_too_large` for an invalid form of it, with `not_found` where it no longer exists, and with `unavailable`:
 * the correction, if it is kept by then, waits to be sent again. `isTrial`: nothing is kept or written.
 */
export async function correctMessage(
  ports: ReplayPorts,
  caller: Caller,
  original: Message,
  sent: Buffer,
  { isTrial, ...how }: Resending & { isTrial: boolean },
): Promise<CorrectedMessage> {
  const bytes = formOf(original, sent);
  const id = uuidv7();
  const { workspace, source, format, media_type, request } = original;
  const ordered_at = orderTimeOf(original);
  const heading = format === 'hl7v2' ? headingOf(parseMessage(bytes)) : eventOf(original);
  const properties = {
    ...{ source, format, media_type, ...heading, ...(request && { request }) },
    ...{ corrects: original.id, ordered_at },
  };
  const { control_id: _, ...others } = original;
  const message: Message = { ...others, ...properties, id };
  const keep: Parameters<typeof applyStored>[2]['save'] = async (about) => {
    if (isTrial) return;
    const retentionDays = how.source.retention_days ?? DEFAULT_RETENTION_DAYS;
    const kept = await ports.messages.receive(caller, {
      ...properties,
      id,
      about,
      bytes: [bytes],
      retentionDays,
    });
    // Erasing what it concerns then also finds the original.
    await ports.messages.relate({ workspace, id: original.id }, eachOnce(about));
    if (await ports.messages.correctedBy(original, id)) return;
    await ports.messages.withdraw(kept);
    throw new ServiceError(
      'conflict',
      'Someone else has corrected or processed the message in the meantime.',
    );
  };
  const became = await applyStored(ports, caller, { message, bytes, save: keep }, { ...how, isTrial });
  if (!isTrial) await ports.messages.processed(message, became);
  return { ...became, id: isTrial ? undefined : id };
}

function eventOf({ event }: Message): Pick<Message, 'event'> {
  return event === undefined ? {} : { event };
}

/** Throws `conflict` for a message that cannot be corrected. */
export function requireCorrectable({ state, corrected_by }: Message): void {
  if (state === 'accepted') {
    const remedy =
      'To change the result, change the configuration of its source and apply it (mappings), or change the records.';
    throw new ServiceError('conflict', `The message was fully accepted. ${remedy}`);
  }
  if (corrected_by !== undefined) {
    throw new ServiceError(
      'conflict',
      `The message was already corrected by ${corrected_by}. Correct that one instead.`,
    );
  }
}

/** Returns the bytes of a correction, which must have the format of the message. */
function formOf(original: Message, sent: Buffer): Buffer {
  if (sent.length > MAX_CORRECTION_BYTES) {
    throw new ServiceError('payload_too_large', 'A correction can have at most 16 MB.');
  }
  const bytes = original.format === 'hl7v2' ? oneMessage(sent) : sent;
  if (original.format === 'fhir') {
    const { entries, unread } = readStoredFhir(original, sent);
    if (unread > 0 || entries.length === 0 || entries.some(({ resource }) => resource === undefined)) {
      throw new ServiceError('malformed_body', 'The correction must be JSON, like the original message.');
    }
  }
  if (createHash('sha256').update(bytes).digest('hex') === original.sha256) {
    throw new ServiceError(
      'conflict',
      'The correction is identical to the original message. If nothing is wrong with it, resend it.',
    );
  }
  return bytes;
}

function oneMessage(sent: Buffer): Buffer {
  const [only, ...others] = splitMessages(sent);
  if (only === undefined || others.length > 0) {
    throw new ServiceError('malformed_body', 'The correction must be exactly one message.');
  }
  return only;
}
