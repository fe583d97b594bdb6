import { recordStream } from '../../../domain/events/streamNames.ts';
import type { StateRow } from '../../../storage/stateStore.ts';
import type { Message, MessageBody, MessageControl } from './message.ts';

/** Partition of the links to all messages, by when they expire. */
export const EXPIRING = '* expiring';
/** Names the list of those that were not accepted completely. */
export const REJECTED = 'rejected';

/**
 * Returns the partition of the links to the messages of a workspace that were not accepted completely, or are not
 * finished.
 */
export function rejectedPartition(workspace: string): string {
  return `${workspace} ${REJECTED}`;
}

/** Returns all partitions that lead to a message, except for `EXPIRING`. */
export function partitionsOf({ workspace, about, control }: MessageBody): string[] {
  const named = control === undefined ? [] : [controlPartition(control)];
  return [rejectedPartition(workspace), ...named, ...streamsOf(workspace, about)];
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

export function linkId(partition: string, message: string): string {
  return `${partition}/${message}`;
}

/** Leads to a message. */
export type LinkRow = StateRow<{ message: string }>;

export function linkRow(partition: string, message: string, order: number): LinkRow {
  return { id: linkId(partition, message), partition, order, revision: 1, body: { message } };
}

export function rowOf({ id, ...body }: Message, order: number, revision: number): StateRow<MessageBody> {
  return { id, partition: body.workspace, order, revision, body };
}

export function toMessage({ id, body }: StateRow<MessageBody>): Message {
  return { ...body, id };
}
