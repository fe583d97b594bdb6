import type { RecordedEvent } from '../../../domain/events/event.ts';
import { documentStream, recordStream } from '../../../domain/events/streamNames.ts';
import { ServiceError } from '../../../platform/errors.ts';
import type { EventLog } from '../../../storage/eventLog.ts';
import { recordOf } from '../aboutRecords.ts';
import type { Guard } from '../carryOut.ts';
import type { MessageStore } from '../messages/MessageStore.ts';
import type { Message } from '../messages/message.ts';
import { orderTimeOf } from '../messages/orderTimeOf.ts';
import type { Operation } from '../operation.ts';

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
export function guardNewer(ports: GuardPorts, message: Message): Guard {
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
  if (operation.type === 'document')
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
      if (!(await comesFromEarlier(ports.messages, event, message))) return true;
    }
    const first = events.at(-1)?.revision ?? 0;
    if (events.length < CHUNK || first === 0) return false;
    from = first - 1;
  }
}

/** Resolves with whether an event comes from this message, or from one that came before it. */
async function comesFromEarlier(
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
    if (isTaken(other, stream)) return true;
  }
  return false;
}

/** Whether a message came before another one. */
export function isBefore(one: Message, other: Message): boolean {
  const [first, second] = [orderTimeOf(one), orderTimeOf(other)];
  if (first !== second) return first < second;
  return one.id < other.id;
}

function isTaken({ state, workspace, about }: Message, stream: string): boolean {
  if (state !== 'accepted' && state !== 'partly') return false;
  const told = about.find(({ kind, id }) => recordStream(workspace, kind, id) === stream);
  // A message with very many records does not record the result of each.
  return told === undefined || (told.outcome !== 'refused' && told.outcome !== 'left_out');
}
