import { v7 as uuidv7 } from 'uuid';
import { expect, vi } from 'vitest';
import { dataAs, type ErasedEvent } from '../../src/domain/events/event.ts';
import type { Caller } from '../../src/domain/events/newEvent.ts';
import { type ErasedVersion, RECORD_ERASED, type RecordErased } from '../../src/domain/events/payloads.ts';
import { eventLeaf } from '../../src/domain/merkle.ts';
import type { ErasurePorts } from '../../src/modules/erasure/finish.ts';
import { openDocumentStore, openReadModels, openStateStore } from '../../src/server/openStorage.ts';
import type { EventLog } from '../../src/storage/eventLog.ts';
import { eventually } from './eventually.ts';
import type { TestWorkspace } from './samples.ts';
import { foreignClient } from './servers.ts';
import type { TestService } from './service.ts';

/** A removal that tombstones stand ready for: the arguments of `EventLog.erase`. */
export type Removal = [stream: string, before: number, erased: ErasedEvent[]];

/** Appends the tombstones of all that a stream ever held, in so many parts; `erase` makes the removal then. */
export async function appendTombstones(
  log: EventLog,
  workspace: TestWorkspace,
  stream: string,
  parts = 1,
): Promise<Removal> {
  const events = await log.readStream(stream, { limit: 100_000 });
  const earlier = events
    .filter(({ type, revision }) => type === RECORD_ERASED && revision < (events[0]?.revision ?? 0) + 10)
    .flatMap(({ data }) => dataAs<RecordErased>(data).erased);
  const versions: ErasedVersion[] = [
    ...earlier,
    ...events.map((event) => ({
      version: event.revision + 1,
      position: event.position,
      event_id: event.id,
      leaf: eventLeaf(event),
    })),
  ];
  const size = Math.ceil(versions.length / parts);
  const erasureId = uuidv7();
  for (let part = 1; part <= parts; part += 1) {
    const data: RecordErased = {
      erasure_id: erasureId,
      kind: 'patient',
      record_id: 'p-1',
      reason: 'asked for',
      part,
      parts,
      erased: versions.slice((part - 1) * size, part * size),
    };
    const tombstone = workspace.event({ ...data }, RECORD_ERASED);
    await log.append(stream, tombstone, versions.length - 2 + part);
  }
  const erased = versions.map(({ version, position, event_id: id, leaf }) => ({
    id,
    stream,
    revision: version - 1,
    position,
    leaf,
  }));
  return [stream, versions.length, erased];
}

/** Erases all that a stream ever held, as the service does; gives the places. */
export async function erase(
  log: EventLog,
  workspace: TestWorkspace,
  stream: string,
  parts = 1,
): Promise<ErasedEvent[]> {
  const removal = await appendTombstones(log, workspace, stream, parts);
  await log.erase(...removal);
  return removal[2];
}

/** The ports of erasures over a service's stores, beside the service itself, which has no webhooks. */
export async function openErasurePorts({
  eventLog,
  config: { readModelUrl, stateUrl, documentsUrl },
}: TestService): Promise<{ ports: ErasurePorts; close: () => Promise<unknown> }> {
  const readModels = await openReadModels(readModelUrl);
  const stateStore = await openStateStore(stateUrl);
  const documentStore = await openDocumentStore(documentsUrl);
  return {
    ports: { eventLog, readModels, stateStore, documentStore, webhooksOf: () => [] },
    close: () => Promise.all([readModels, stateStore, documentStore].map((store) => store.close())),
  };
}

/** An operator who erases in a service's workspace `clinic`; each call is a request of its own. */
export function eraserIn({ workspaceId }: Pick<TestService, 'workspaceId'>): Caller {
  return {
    workspace: workspaceId('clinic'),
    principal: { type: 'operator', id: 'test' },
    requestId: crypto.randomUUID(),
  };
}

const YEARS = 6;

/** A moment behind all that is in the log, and before all that comes: records are beyond the time when they were last of use before it. */
export async function momentBetween(service: Pick<TestService, 'eventLog'>): Promise<Date> {
  const last = Date.parse((await service.eventLog.lastRecordedAt()) ?? '');
  const moment = new Date(last + 1);
  await eventually(() => {
    if (Date.now() <= moment.getTime()) throw new Error('it is not over yet');
  });
  return moment;
}

/** The time, in milliseconds since 1970, at which that moment is six years ago. */
export function sixYearsAfter(moment: Date): number {
  const then = new Date(moment);
  return then.setUTCFullYear(then.getUTCFullYear() + YEARS);
}

/** What `work` gives while the clock of this thread stands still at a time, in milliseconds since 1970. */
export async function withClockAt<Result>(time: number, work: () => Promise<Result>): Promise<Result> {
  const clock = vi.spyOn(Date, 'now').mockReturnValue(time);
  try {
    return await work();
  } finally {
    clock.mockRestore();
  }
}

/** Has the server at a URL scavenge, and waits until it no longer delivers what was erased. */
export function scavenged(url: string) {
  return async (log: EventLog, erased: ErasedEvent[]): Promise<void> => {
    const { scavenger } = log;
    if (scavenger === undefined) throw new Error('a server scavenges');
    const mark = await scavenger.mark();
    for (const node of await scavenger.nodes()) {
      let scavenge = await scavenger.start(node);
      await eventually(async () => {
        const outcome = await scavenger.outcome(scavenge, mark);
        if (outcome === 'not_covered') scavenge = await scavenger.start(node);
        expect(outcome).toBe('covered');
      });
    }
    const { client } = await foreignClient(url);
    await eventually(async () => {
      for (const { position } of erased) {
        const fromPosition = { commit: BigInt(position), prepare: BigInt(position) };
        let first: number | undefined;
        for await (const { event } of client.readAll({ fromPosition, maxCount: 1 }))
          first = Number(event?.position?.commit);
        if (first === position) throw new Error(`${position} is still there`);
      }
    });
    await client.dispose();
  };
}
