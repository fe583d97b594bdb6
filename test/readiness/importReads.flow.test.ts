import { rmSync } from 'node:fs';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { projections } from '../../projections/index.ts';
import { ProjectedBatches } from '../../src/modules/projections/projectedBatches.ts';
import { projectAll } from '../../src/modules/projections/projector.ts';
import { openWriteWarnings } from '../../src/modules/readiness/warnings.ts';
import { readProgress } from '../../src/modules/readiness/worklist.ts';
import { updateWorklist } from '../../src/modules/readiness/worklistUpdater.ts';
import { type BatchRun, runBatch } from '../../src/modules/records/commands/batch.ts';
import type { BatchLine, LineResult } from '../../src/modules/records/commands/batchOrder.ts';
import { RecordExistence, ReferenceWaits } from '../../src/modules/records/commands/references.ts';
import { RecordReturns } from '../../src/modules/records/commands/returns.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { openEventLog, openReadModels } from '../../src/server/openStorage.ts';
import type { EventLog } from '../../src/storage/eventLog.ts';
import type { ReadModels } from '../../src/storage/readModels.ts';
import { temporaryFolder } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { type Claim, type Fields, neighbours } from '../support/readiness.ts';
import { TestWorkspace } from '../support/samples.ts';
import { onEveryEngine } from '../support/servers.ts';

/** Reads of streams that a record may cost on average. */
const READS_A_RECORD = 0.02;
const PATIENTS = 150;
const ENCOUNTERS_OF_EACH = 4;
const BATCH = 150;

onEveryEngine((_, engines) => {
  const folder = temporaryFolder();
  const workspace = new TestWorkspace();
  const stop = new AbortController();
  let eventLog: EventLog;
  let readModels: ReadModels[];
  let running: Promise<unknown>;
  /** Names of the streams that were read. */
  let read: string[] = [];

  beforeAll(async () => {
    // Only the log differs: reads of it are counted.
    const { eventLogUrl } = loadConfig({ DATA_DIR: folder, ...engines.settings() });
    eventLog = countingReads(await openEventLog(eventLogUrl));
    const { readModelUrl } = loadConfig({ DATA_DIR: folder });
    const opened = [1, 2, 3].map(() => openReadModels(readModelUrl));
    readModels = await Promise.all(opened);
    const [projected, worklist] = readModels as [ReadModels, ReadModels];
    const onMismatch = () => undefined;
    const onParked = (_model: string, _event: unknown, error: unknown) => {
      throw error;
    };
    const ports = { eventLog, onMismatch, batches: new ProjectedBatches() };
    running = Promise.all([
      projectAll(projections, { ...ports, readModels: projected, onParked }, stop.signal),
      updateWorklist({ ...ports, readModels: worklist }, stop.signal),
    ]);
  });
  afterAll(async () => {
    stop.abort();
    await running;
    await Promise.all([eventLog, ...readModels].map((store) => store.close()));
    rmSync(folder, { recursive: true });
  });

  function countingReads(log: EventLog): EventLog {
    const readStream: EventLog['readStream'] = (stream, options) => {
      read.push(stream);
      return log.readStream(stream, options);
    };
    return new Proxy(log, {
      get: (target, name) => {
        if (name === 'readStream') return readStream;
        const own = Reflect.get(target, name);
        return typeof own === 'function' ? own.bind(target) : own;
      },
    });
  }

  const claims = claimsOfVisits();
  /** The first encounter of each patient is sent twice, by two ids: suspected duplicates. */
  function claimsOfVisits(): Claim[] {
    return neighbours(PATIENTS).flatMap((claim, at) =>
      Array.from({ length: ENCOUNTERS_OF_EACH }, (_, n) => ({
        ...claim,
        encounter: {
          ...claim.encounter,
          id: `${claim.encounter.id}-${n}`,
          date_of_service: `2026-03-${10 + Math.max(0, n - 1) + (at % 5)}`,
        },
      })),
    );
  }
  const kinds = ['payer', 'provider', 'facility', 'patient', 'encounter'] as const;
  const records = kinds.flatMap((kind) =>
    [...new Map(claims.map((claim) => [claim[kind].id, claim[kind]])).values()].map((record) => ({
      kind,
      record,
    })),
  );

  /** Imports all records, as batches would over HTTP, by what knows nothing of earlier ones; gives the outcomes, each once. */
  async function importAll(
    changeOf: (encounter: Fields) => Fields = () => ({}),
    options: BatchRun['options'] = {},
  ): Promise<(string | undefined)[]> {
    const models = readModels[2] as ReadModels;
    const existence = new RecordExistence(eventLog, models);
    const ports = {
      ...{ eventLog, readModels: models, existence },
      referenceWaits: new ReferenceWaits(existence),
      returns: new RecordReturns(eventLog, () => 'allow'),
      warnings: openWriteWarnings(eventLog),
    };
    const principal = { type: 'operator', id: 'test' } as const;
    const caller = { workspace: workspace.id, principal, requestId: uuidv7() };
    const outcomes = new Set<string | undefined>();
    const answer = (_line: BatchLine, result: LineResult) => {
      outcomes.add('written' in result ? result.written.outcome : String(result.error));
    };
    for (let at = 0; at < records.length; at += BATCH) {
      const lines = records.slice(at, at + BATCH).map(({ kind, record }, index) => ({
        number: index + 1,
        seemingKind: kind,
        read: () => ({ kind, record: { ...record, ...(kind === 'encounter' && changeOf(record)) } }),
      }));
      await runBatch(lines, {
        ...{ ports, caller, options, answer, isRepeat: false, limiter: undefined },
        ...{ eventId: () => uuidv7(), authorize: () => undefined, stopping: stop.signal },
      });
    }
    return [...outcomes];
  }

  /** Resolves once the worklist is current, with the streams that `work` had read until then. */
  async function readsOf(work: () => Promise<unknown>): Promise<string[]> {
    read = [];
    await work();
    const ports = { eventLog, readModels: readModels[2] as ReadModels };
    await eventually(async () => {
      const reads = read.length;
      const { isCurrent } = await readProgress(ports, workspace.id);
      // The question reads as well.
      read.length = reads;
      expect(isCurrent).toBe(true);
    });
    return read;
  }

  /**
   * How many encounters there are with so many announcements each, without those of a visit with another one: they may be announced once
   * before the other one is seen, and once after it.
   */
  async function announcements(): Promise<Record<number, number>> {
    const counts = new Map<string, number>();
    const filter = { streamPrefixes: [`${workspace.id}.readiness-`] };
    for await (const batch of eventLog.follow({ after: 0, filter, signal: stop.signal })) {
      for (const { stream } of batch.events) {
        if (!isTwin({ id: stream })) counts.set(stream, (counts.get(stream) ?? 0) + 1);
      }
      if (batch.caughtUp) break;
    }
    const byCount = Object.groupBy(counts.values(), (count) => count);
    return Object.fromEntries(Object.entries(byCount).map(([count, all]) => [count, all?.length ?? 0]));
  }

  const most = records.length * READS_A_RECORD;
  const isTwin = ({ id }: Fields) => /-[01]$/.test(String(id));
  const twins = claims.filter(({ encounter }) => isTwin(encounter)).length;
  const singles = claims.length - twins;
  const reopen = (all: boolean) => (encounter: Fields) =>
    all || !isTwin(encounter) ? { is_completed: false } : {};

  test('an import reads next to no streams: of new records, of the same again, and of changed ones', async () => {
    const created = await readsOf(async () => expect(await importAll()).toEqual(['created']));
    expect(created.length).toBeLessThan(most);
    expect(await announcements()).toEqual({ 1: singles });

    const updated = await readsOf(async () => expect(await importAll()).toEqual(['updated']));
    expect(updated.length).toBeLessThan(most);
    expect(await announcements()).toEqual({ 1: singles });

    const changed = await readsOf(async () => expect(await importAll(reopen(false))).toEqual(['updated']));
    expect(changed.length).toBeLessThan(most);
    expect(await announcements()).toEqual({ 2: singles });

    // Which of two changes at the same time led to the state is read: what was before each; once more where one is seen before the other.
    const both = await readsOf(async () => expect(await importAll(reopen(true))).toEqual(['updated']));
    expect(both.length).toBeLessThan(most + 2 * twins);
    expect(await announcements()).toEqual({ 2: singles });
  });

  test('an import that leaves out what is unchanged reads next to no streams', async () => {
    const skip = { unchanged: 'skip' } as const;
    const unchanged = await readsOf(async () =>
      expect(await importAll(reopen(true), skip)).toEqual(['unchanged']),
    );
    expect(unchanged.length).toBeLessThan(most);
    const complete = (encounter: Fields) => ({ is_completed: !isTwin(encounter) });
    const changed = await readsOf(async () =>
      expect((await importAll(complete, skip)).toSorted()).toEqual(['unchanged', 'updated']),
    );
    expect(changed.length).toBeLessThan(most);
    expect(await announcements()).toEqual({ 3: singles });
  });
});
