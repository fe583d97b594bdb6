import type { Caller } from '../../../domain/events/newEvent.ts';
import type { QueryPorts } from '../../records/queries/readRecord.ts';
import type { AboutRecord } from '../aboutRecords.ts';
import type { IngestPorts, IngestRun } from '../carryOut.ts';
import { processedBy } from '../fhir/processedBy.ts';
import { contextOf } from '../fhir/resources/contextOf.ts';
import { MessageRefused, sendMessage } from '../fhir/sendMessage.ts';
import { becameOfMessage } from '../hl7/becameOfMessage.ts';
import { parseMessage } from '../hl7/parseMessage.ts';
import { takeMessage } from '../hl7/takeMessage.ts';
import type { MessageStore, ProcessedMessage } from '../messages/MessageStore.ts';
import type { Message } from '../messages/message.ts';
import { orderTimeOf } from '../messages/orderTimeOf.ts';
import type { Source } from '../source.ts';
import { guardNewer } from './guardNewer.ts';
import { bytesOf, readKeptFhir } from './readKept.ts';

export interface ReplayPorts extends IngestPorts, QueryPorts {
  messages: MessageStore;
}

/** How a message is sent again. */
export interface Resending {
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
  const became = await carryOutKept(ports, caller, { message, bytes, keep }, how);
  await ports.messages.processed(message, became);
  return became;
}

/**
 * Carries out what a message says, except where there is something newer. Rejects as `keep` does, and with
 * `unavailable`.
 */
export async function carryOutKept(
  ports: ReplayPorts,
  caller: Caller,
  { message, bytes, keep }: KeptMessage,
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
      ? await resendFhir(ports, run, source, { message, bytes, keep })
      : becameOfMessage(
          await takeMessage(ports, run, { ...source, maySendTests: isSandbox }, parseMessage(bytes), keep),
        );
  return { ...processed, ...numbered };
}

interface KeptMessage {
  message: Message;
  bytes: Buffer;
  keep(about: AboutRecord[]): Promise<void>;
}

async function resendFhir(
  ports: ReplayPorts,
  run: IngestRun,
  source: Source,
  { message, bytes, keep }: KeptMessage,
): Promise<ProcessedMessage> {
  const { entries, isAtomic, unread } = readKeptFhir(message, bytes);
  // Periods are in force as they were when it arrived.
  const context = contextOf(source, Date.parse(orderTimeOf(message)));
  try {
    return processedBy(await sendMessage(ports, run, { entries, context, isAtomic, keep }), unread);
  } catch (error) {
    if (error instanceof MessageRefused) return processedBy(error.outcomes, unread);
    throw error;
  }
}
