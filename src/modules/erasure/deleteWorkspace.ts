import { setTimeout as sleep } from 'node:timers/promises';
import { recordsModel } from '../../../projections/records.ts';
import { dataAs, type Position, type RecordedEvent } from '../../domain/events/event.ts';
import { type Caller, newActorEvent } from '../../domain/events/newEvent.ts';
import { erasureStep, type RecordErased, tombstoneTypes } from '../../domain/events/payloads.ts';
import { kindPartition } from '../../domain/events/streams.ts';
import { catalog } from '../../domain/records/catalog.ts';
import { type EventFilter, type EventLog, followToEnd } from '../../storage/eventLog.ts';
import type { ReadModels } from '../../storage/readModels.ts';
import { stateOf, type Workspace, type WorkspaceDeletion } from '../auth/apiKeys.ts';
import type { KeyDirectory } from '../auth/keyDirectory.ts';
import { KeyManager } from '../auth/keyManager.ts';
import { removeAllConsumers } from '../eventStream/consumers.ts';
import { MessageStore } from '../integrations/messages/store.ts';
import { unusedMessagesTable } from '../integrations/messages/unused.ts';
import { removeSource } from '../integrations/sourceCommands.ts';
import { readSources } from '../integrations/sources.ts';
import { verificationTable } from '../integrity/jobs.ts';
import { scorecardTable, simulationTable } from '../readiness/jobs.ts';
import { allRows, caughtUp } from '../records/queries/paging.ts';
import { removeAllAttempts } from '../webhooks/attempts.ts';
import { removeDelivery } from '../webhooks/store.ts';
import type { WebhookDirectory } from '../webhooks/webhook.ts';
import type { ErasurePorts } from './finish.ts';
import { ErasureRefused, type Hold, holdsMessage, readHolds } from './holdState.ts';
import { eraseAll } from './resetSandbox.ts';
import type { RetentionTally } from './retention.ts';

/** What the deletion of a workspace works with. */
export interface DeletionPorts extends ErasurePorts {
  directory: KeyDirectory;
  webhooks: WebhookDirectory;
}

/** What a workspace has, and what its deletion would therefore remove or refuse. */
export interface DeletionPlan {
  /** By kind. */
  records: { [kind: string]: number };
  documents: number;
  /** Of EMRs, in their original form. */
  messages: number;
  /** Those that are accepted. */
  keys: number;
  webhooks: number;
  sources: number;
  /** Legal holds in force: with any, nothing is deleted. */
  holds: number;
}

/**
 * Counts what a workspace has, as of every write acknowledged before the call; writes nothing. Rejects with `unreadable` and
 * `unavailable`.
 */
export async function planDeletion(ports: DeletionPorts, workspace: string): Promise<DeletionPlan> {
  const { eventLog, directory, webhooks } = ports;
  await caughtUp(ports, recordsModel);
  const now = Date.now();
  const isUsed = (id: string, state: string) => id === workspace && state !== 'deleted';
  return {
    records: await countRecords(ports.readModels, workspace),
    documents: await countDocuments(eventLog, workspace),
    messages: await countOf(new MessageStore(ports).all(workspace)),
    keys: directory.keysOf(workspace).filter((key) => stateOf(key, now) === 'active').length,
    webhooks: webhooks.all().filter((one) => isUsed(one.workspace, one.state)).length,
    sources: (await readSources(eventLog, workspace)).length,
    holds: (await holdsInForce(eventLog, workspace)).length,
  };
}

async function countRecords(readModels: ReadModels, workspace: string): Promise<DeletionPlan['records']> {
  const counts: DeletionPlan['records'] = {};
  for (const { kind } of catalog) {
    counts[kind] = await countOf(allRows(readModels, recordsModel, kindPartition(workspace, kind)));
  }
  return counts;
}

async function countOf(things: AsyncIterable<unknown>): Promise<number> {
  let count = 0;
  for await (const _ of things) count += 1;
  return count;
}

/** Counts those that are erased with their encounters: also removed ones, whose history is in the log. */
async function countDocuments(eventLog: EventLog, workspace: string): Promise<number> {
  const streams = new Set<string>();
  const filter = { streamPrefixes: [`${kindPartition(workspace, 'document')}-`] };
  for await (const { events } of followToEnd(eventLog, { after: 0, filter })) {
    for (const event of events) {
      if (erasureStep(event) === 'done') streams.delete(event.stream);
      else streams.add(event.stream);
    }
  }
  return streams.size;
}

async function holdsInForce(eventLog: EventLog, workspace: string): Promise<Hold[]> {
  return [...(await readHolds(eventLog, workspace)).inForce.values()].flat();
}

async function requireNoHolds(eventLog: EventLog, workspace: string): Promise<void> {
  const { length } = await holdsInForce(eventLog, workspace);
  if (length === 0) return;
  const holds = length === 1 ? '1 legal hold is' : `${length.toLocaleString('en-US')} legal holds are`;
  throw new ErasureRefused(
    'held',
    `Workspace ${workspace} cannot be deleted: ${holds} in force in it. To see them, run \`chartledger holds list --workspace ${workspace}\`.`,
  );
}

/** The outcome of a deletion, or of a part of one. */
export interface DeletionResult {
  /** What was erased since the deletion started, by kind. */
  records: { [kind: string]: number };
  documents: number;
  messages: number;
  /** Why records are left; undefined once the workspace is deleted. */
  kept: Pick<RetentionTally, 'held' | 'referred_to' | 'unreadable'> | undefined;
  /** Position of the last tombstone; undefined if nothing was erased. */
  position: Position | undefined;
}

interface DeletionOptions {
  /** Kept in the log and in each tombstone. */
  reason: string;
  /** Called after each batch of records. */
  onBatch(tally: Readonly<RetentionTally>): void;
}

/**
 * Requests that were under way when the workspace was deactivated may still append: it is not deleted before a pass that began this
 * much later finds nothing.
 */
const SETTLED_MS = 5_000;

/**
 * Deactivates the caller's workspace, erases all of its records with their documents, removes its messages, webhooks, sources and
 * other state, and notes in the log that it is deleted. Its id, keys and audit trail, and a tombstone for each record, stay.
 * An interruption leaves nothing half done, and another call continues. Where records cannot be erased, it is not deleted yet, and
 * they are counted. Rejects with `conflict` while a legal hold is in force, and changes nothing then; and with `unreadable` and
 * `unavailable`.
 */
export async function deleteWorkspace(
  ports: DeletionPorts,
  caller: Caller,
  { reason, onBatch }: DeletionOptions,
): Promise<DeletionResult> {
  const { eventLog, directory, stateStore } = ports;
  const { workspace } = caller;
  await requireNoHolds(eventLog, workspace);
  const messages = new MessageStore(ports);
  const manager = new KeyManager(directory, caller);
  await manager.startDeletion(workspace, { reason, messages: await countOf(messages.all(workspace)) });
  const { deletion } = directory.known.workspaces.get(workspace) as Workspace & {
    deletion: WorkspaceDeletion;
  };
  const settledAt = performance.now() + SETTLED_MS;
  for (let isSettled = false; ; ) {
    const { erased, held, referred_to } = await eraseAll(ports, caller, deletion.reason, onBatch);
    let removed = 0;
    for await (const message of messages.all(workspace)) {
      if (await holdsMessage(ports, message)) continue;
      await messages.withdraw(message);
      removed += 1;
    }
    const left = Object.values(await countRecords(ports.readModels, workspace)).reduce(
      (sum, n) => sum + n,
      0,
    );
    if (erased + removed > 0) continue;
    if (left > 0) {
      const kept = { held, referred_to, unreadable: Math.max(0, left - held - referred_to) };
      return { ...(await erasedSince(eventLog, deletion)), kept };
    }
    if (isSettled) break;
    await sleep(Math.max(0, settledAt - performance.now()));
    isSettled = true;
  }
  await requireNoHolds(eventLog, workspace);
  await removeSettings(ports, caller);
  for (const table of [scorecardTable, simulationTable, verificationTable, unusedMessagesTable])
    await stateStore.remove<object>(table, [workspace], Number.MAX_SAFE_INTEGER);
  const erased = await erasedSince(eventLog, deletion);
  await manager.completeDeletion(workspace, erased);
  return { ...erased, kept: undefined };
}

/** Deletes the webhooks and sources of the caller's workspace, and what is kept of deliveries and consumers. */
async function removeSettings(
  { eventLog, stateStore, webhooks }: DeletionPorts,
  caller: Caller,
): Promise<void> {
  const { workspace } = caller;
  const ids = webhooks.idsOf(workspace);
  for (const webhook_id of ids) {
    await webhooks.change(({ webhooks: all }) =>
      all.get(webhook_id)?.state === 'deleted'
        ? undefined
        : newActorEvent(caller, workspace, 'WebhookDeleted', { webhook_id }),
    );
    await removeAllAttempts(stateStore, webhook_id);
  }
  await removeDelivery(stateStore, ids);
  await removeAllConsumers(stateStore, workspace);
  for (const { id } of await readSources(eventLog, workspace)) await removeSource(eventLog, caller, id);
}

/** Yields the last tombstones of what a deletion erased, in the order of the log. Rejects with `unavailable`. */
export async function* tombstonesOf(
  eventLog: EventLog,
  { workspace, since }: WorkspaceDeletion,
): AsyncGenerator<RecordedEvent> {
  const filter: EventFilter = { eventTypes: [...tombstoneTypes] };
  for await (const { events } of followToEnd(eventLog, { after: since, filter })) {
    for (const event of events) {
      if (event.metadata.workspace === workspace && erasureStep(event) === 'done') yield event;
    }
  }
}

/** Counts what a deletion erased. */
async function erasedSince(
  eventLog: EventLog,
  deletion: WorkspaceDeletion,
): Promise<Omit<DeletionResult, 'kept'>> {
  // A record that a hold restored is erased twice.
  const kinds = new Map<string, string>();
  let position: Position | undefined;
  for await (const { stream, data, position: at } of tombstonesOf(eventLog, deletion)) {
    kinds.set(stream, dataAs<RecordErased>(data).kind);
    position = at;
  }
  const counts: { [kind: string]: number } = {};
  for (const kind of kinds.values()) counts[kind] = (counts[kind] ?? 0) + 1;
  const { document: documents = 0, readiness: _, disclosures: __, ...records } = counts;
  return { records, documents, messages: deletion.messages, position };
}
