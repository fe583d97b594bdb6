import { z } from 'zod';
import { principalTypes } from '../events/eventMetadata.ts';
import type { Held } from '../idempotency/HeldRow.ts';
import type { StateTable } from '../ports/stateStore.ts';

/**
 * What has become of a message: `received` while it is carried out, or when that was cut off; `accepted` where all of it was taken, `partly`
 * where a part was refused, `rejected` where all was.
 */
export const messageStates = ['received', 'accepted', 'partly', 'rejected'] as const;
export type MessageState = (typeof messageStates)[number];

/** Records of which it is kept what became of them: the others lead to the message, too. */
export const MAX_ABOUT = 1_000;
/** Problems that are kept of a message. */
export const MAX_PROBLEMS = 100;

const messageShape = z.object({
  workspace: z.string(),
  /** Id of the source that sent it. */
  source: z.string(),
  format: z.enum(['fhir', 'hl7v2']),
  media_type: z.string(),
  /** What was asked for with a FHIR resource that was sent by itself. */
  request: z
    .object({
      id: z.string().optional(),
      query: z.string().optional(),
      if_absent: z.boolean().optional(),
      if_match: z.number().optional(),
    })
    .optional(),
  /** Bytes. */
  size: z.number(),
  /** Of its bytes, lower-case hex. */
  sha256: z.string(),
  /** ISO 8601, UTC. */
  received_at: z.string(),
  /** When its bytes are deleted: ISO 8601, UTC. */
  expires_at: z.string(),
  sent_by: z.object({ type: z.enum(principalTypes), id: z.string() }),
  request_id: z.string(),
  state: z.enum(messageStates),
  /** What its sender calls it, where it has such a name, as digests that only the service's secret makes. */
  control: z
    .object({
      /** Of the name, in its source. */
      name: z.string(),
      /** Of name and content: the id of its claim. */
      claim: z.string(),
    })
    .optional(),
  /** Number of the configuration of its source by which it was read last, where that was not when it came. */
  configuration: z.number().optional(),
  /** Id of the message that this one corrects. */
  corrects: z.string().optional(),
  /** Of a correction, the time that counts for its order: that of the message which came. */
  ordered_at: z.string().optional(),
  /** Id of the message that corrects this one. */
  corrected_by: z.string().optional(),
  /** How many records it tells of. */
  records: z.number(),
  /** The first of these, and what became of them. */
  about: z.array(
    z.object({
      kind: z.string(),
      id: z.string(),
      /** `refused`: what it says of this one was not taken. */
      outcome: z.enum(['created', 'updated', 'unchanged', 'left_out', 'refused']).optional(),
      /** The record's, behind the write. */
      version: z.number().optional(),
    }),
  ),
  /** What is wrong in it, or remarked: without any value. */
  problems: z.array(
    z.object({
      severity: z.enum(['error', 'warning', 'information']),
      code: z.string(),
      at: z.string(),
      text: z.string(),
    }),
  ),
});

/** What is kept of a message beside its bytes, which the document store has under the message's id. */
export type MessageBody = z.infer<typeof messageShape>;

export type MessageControl = NonNullable<MessageBody['control']>;

/** A message that an EMR sent; its id is a UUID. */
export interface Message extends MessageBody {
  id: string;
}

/** The messages of each workspace, newest first in its partition. Where a row is lost, nobody finds the message any more. */
export const messagesTable: StateTable<MessageBody> = { name: 'messages_v1', body: messageShape };

/** Leads to messages: those that tell of the record of a stream, those of one name, those that were not taken whole, those that expire. */
export const messageLinksTable: StateTable<{ message: string }> = {
  name: 'message_links_v1',
  body: z.object({ message: z.string() }),
};

/** Of each message that has a name, by name and content: which one was carried out last, and until when that holds it. */
export interface ClaimBody extends Held {
  message: string;
}

/** Where a row is lost, or a process died before it kept the message, the next one of the same name and content is carried out. */
export const messageClaimsTable: StateTable<ClaimBody> = {
  name: 'message_claims_v1',
  body: z.object({ message: z.string(), heldUntil: z.number() }),
};
