import { ServiceError } from '../../errors.ts';
import type { RecordedEvent } from '../../events/event.ts';
import { documentStream, recordStream } from '../../events/streamNames.ts';
import type { MessageStore } from '../../messages/MessageStore.ts';
import type { Message } from '../../messages/message.ts';
import { orderTimeOf } from '../../messages/orderTimeOf.ts';
import type { EventLog } from '../../ports/eventLog.ts';
import { recordOf } from '../aboutRecords.ts';
import type { Guard } from '../carryOut.ts';
import type { Operation } from '../operation.ts';

/** Events read at once, from the last one back. */
const CHUNK = 50;

const NEWER = 'It has changed since this message was received. Newer values are not overwritten.';

interface GuardPorts {
  eventLog: EventLog;
  messages: MessageStore;
}

/**
 * Keeps what a kept message says from replacing what is newer: of a record that changed after the message came, whoever did that, or of which a later
 * message was taken, also where that changed nothing. What came of the message itself, or of one that came before it, is not newer.
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
        // Who writes between this and the write is newer, too. The message's own writes come behind the first.
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

/** Whether an event says what this message said, or one that came before it. */
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
  // A message of very many records does not say of each what became of it.
  return told === undefined || (told.outcome !== 'refused' && told.outcome !== 'left_out');
}
