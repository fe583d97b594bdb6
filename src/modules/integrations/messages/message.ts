import { z } from 'zod';
import { principalTypes } from '../../../domain/events/event.ts';
import { recordStream } from '../../../domain/events/streams.ts';
import type { StateRow, StateStore, StateTable } from '../../../storage/stateStore.ts';
import type { Reserved } from '../../idempotency/reservations.ts';

type Parts =
  | ('source' | 'format' | 'media_type' | 'request' | 'control' | 'about')
  | ('event' | 'control_id' | 'corrects' | 'ordered_at');

/** A message as it arrives. */
export interface IncomingMessage extends Pick<MessageBody, Parts> {
  /** A UUID; also the id of its bytes in the document store, if they are there. */
  id: string;
  bytes: readonly Buffer[];
  /** How long it is kept. */
  retentionDays: number;
}

/**
 * The state of a message: `received` while it is carried out, or when that was interrupted; `accepted` where all of
 * it was accepted, `partly` where a part was refused, `rejected` where all was.
 */
export const messageStates = ['received', 'accepted', 'partly', 'rejected'] as const;
export type MessageState = (typeof messageStates)[number];

/** Records whose results are kept: the others also lead to the message. */
export const MAX_ABOUT = 1_000;
/** Problems kept per message. */
export const MAX_PROBLEMS = 100;

const messageShape = z.object({
  workspace: z.string(),
  /** Id of the source that sent it. */
  source: z.string(),
  format: z.enum(['fhir', 'hl7v2']),
  media_type: z.string(),
  /** What was requested with a FHIR resource that was sent by itself. */
  request: z
    .object({
      id: z.string().optional(),
      query: z.string().optional(),
      if_absent: z.boolean().optional(),
      if_match: z.number().optional(),
    })
    .optional(),
  /** What it says happened, in HL7 v2 (`ADT^A01`); the type of its resource, in FHIR. */
  event: z.string().optional(),
  /** The name its sender gives it, in HL7 v2 (MSH-10). */
  control_id: z.string().optional(),
  /** Bytes. */
  size: z.number(),
  /** Of its bytes, lower-case hex. */
  sha256: z.string(),
  /** Its bytes as base64, where they are few: the document store then has none. */
  content: z.string().optional(),
  /** ISO 8601, UTC. */
  received_at: z.string(),
  /** When its bytes are deleted: ISO 8601, UTC. */
  expires_at: z.string(),
  sent_by: z.object({ type: z.enum(principalTypes), id: z.string() }),
  request_id: z.string(),
  state: z.enum(messageStates),
  /**
   * The name its sender gives it, where it has one, as digests that can only be computed with the service's secret.
   */
  control: z
    .object({
      /** Of the name, within its source. */
      name: z.string(),
      /** Of name and content: the id of its claim. */
      claim: z.string(),
    })
    .optional(),
  /** Number of the configuration of its source by which it was last read, where that was not when it arrived. */
  configuration: z.number().optional(),
  /** Id of the message that this one corrects. */
  corrects: z.string().optional(),
  /** For a correction, the time that counts for its order: that of the message that arrived originally. */
  ordered_at: z.string().optional(),
  /** Id of the message that corrects this one. */
  corrected_by: z.string().optional(),
  /** That somebody decided to leave it as it is: it then no longer waits, but can still be processed. */
  put_aside: z
    .object({
      by: z.object({ type: z.enum(principalTypes), id: z.string() }),
      /** ISO 8601, UTC. */
      at: z.string(),
      reason: z.string(),
    })
    .optional(),
  /** How many records it concerns. */
  records: z.number(),
  /** The first of these, and their results. */
  about: z.array(
    z.object({
      kind: z.string(),
      id: z.string(),
      /** `refused`: what it says about this record was not accepted. */
      outcome: z.enum(['created', 'updated', 'unchanged', 'left_out', 'refused']).optional(),
      /** The record's version after the write. */
      version: z.number().optional(),
    }),
  ),
  /** What is wrong in it, or remarked on: without any value. */
  problems: z.array(
    z.object({
      severity: z.enum(['error', 'warning', 'information']),
      code: z.string(),
      at: z.string(),
      text: z.string(),
    }),
  ),
});

/** What is kept of a message; the document store has bytes that are not few, under the message's id. */
export type StoredMessageBody = z.infer<typeof messageShape>;

/** What is kept of a message besides its bytes. */
export type MessageBody = Omit<StoredMessageBody, 'content'>;

export type MessageControl = NonNullable<MessageBody['control']>;

/** A message that an EMR sent; its id is a UUID. */
export interface Message extends MessageBody {
  id: string;
}

/**
 * The messages of each workspace, newest first in its partition. Where a row is lost, the message can no longer be
 * found.
 */
export const messagesTable: StateTable<StoredMessageBody> = { name: 'messages_v1', body: messageShape };

/**
 * Leads to messages: those that concern the record of a stream, those of one name or control id, those that were not accepted
 * completely, those that expire.
 */
export const messageLinksTable: StateTable<{ message: string }> = {
  name: 'message_links_v1',
  body: z.object({ message: z.string() }),
};

/** For each named message, by name and content: which one was last carried out, and until when that holds it. */
export interface ClaimBody extends Reserved {
  message: string;
}

/**
 * Where a row is lost, or a process died before it kept the message, the next one with the same name and content is
 * carried out.
 */
export const messageClaimsTable: StateTable<ClaimBody> = {
  name: 'message_claims_v1',
  body: z.object({ message: z.string(), heldUntil: z.number() }),
};

/** Partition of the links to all messages, by when they expire. */
export const EXPIRING = '* expiring';
/** Names the list of those that were not accepted completely. */
const REJECTED = 'rejected';

/**
 * Returns the partition of the links to the messages of a workspace that were not accepted completely, or are not
 * finished.
 */
export function rejectedPartition(workspace: string): string {
  return `${workspace} ${REJECTED}`;
}

/** Returns all partitions that lead to a message, except for `EXPIRING`. */
export function partitionsOf({ workspace, about, control, control_id }: MessageBody): string[] {
  const named = control === undefined ? [] : [controlPartition(control)];
  const found = control_id === undefined ? [] : [controlIdPartition(workspace, control_id)];
  return [rejectedPartition(workspace), ...named, ...found, ...streamsOf(workspace, about)];
}

/** Returns the partition of the links to the messages of a workspace with a control id. */
export function controlIdPartition(workspace: string, controlId: string): string {
  return `${workspace} control id ${controlId}`;
}

/** Returns the partition of the links to the messages of one name. */
export function controlPartition({ name }: MessageControl): string {
  return `* control ${name}`;
}

/** Returns the streams of the records that a message concerns. */
export function streamsOf(workspace: string, about: MessageBody['about']): string[] {
  return about.map((one) => streamOf(workspace, one));
}

export function streamOf(workspace: string, { kind, id }: MessageBody['about'][number]): string {
  return recordStream(workspace, kind, id);
}

/** Ids of the links to one message are neighbors, and those of new messages follow all others: a commit changes few pages. */
export function linkId(partition: string, message: string): string {
  return `${message} ${partition}`;
}

/** Leads to a message. */
export type LinkRow = StateRow<{ message: string }>;

export function linkRow(partition: string, message: string, order: number): LinkRow {
  return { id: linkId(partition, message), partition, order, revision: 1, body: { message } };
}

export function toMessage({ id, body: { content: _, ...body } }: StateRow<StoredMessageBody>): Message {
  return { ...body, id };
}

const CHUNK = 200;

/**
 * Resolves with whether a message concerns any of these records, also among those whose results are not kept. Rejects
 * with `unavailable`.
 */
export async function concernsAny(
  stateStore: StateStore,
  { id, workspace }: Message,
  records: readonly { kind: string; id: string }[],
): Promise<boolean> {
  const links = records.map((one) => linkId(streamOf(workspace, one), id));
  for (let at = 0; at < links.length; at += CHUNK) {
    const found = await stateStore.load(messageLinksTable, links.slice(at, at + CHUNK));
    if (found.length > 0) return true;
  }
  return false;
}

/**
 * Returns the time that counts for the order of messages, ISO 8601, UTC: when it arrived; for a correction, that of
 * the message it corrects.
 */
export function orderTimeOf({
  ordered_at,
  received_at,
}: Pick<MessageBody, 'ordered_at' | 'received_at'>): string {
  return ordered_at ?? received_at;
}

/**
 * Whether a message waits to be processed again: it was not fully accepted, corrected or put aside. A link to one that no longer waits
 * may be left in the list of those that do.
 */
export function isWaiting({
  state,
  corrected_by,
  put_aside,
}: Pick<MessageBody, 'state' | 'corrected_by' | 'put_aside'>): boolean {
  return state !== 'accepted' && corrected_by === undefined && put_aside === undefined;
}
