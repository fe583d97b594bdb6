import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { RecordedEvent } from '../../../src/domain/events/event.ts';
import { openEventLog, openReadModels } from '../../../src/server/openStorage.ts';
import type { EventLog } from '../../../src/storage/eventLog.ts';

import { spawnCli } from '../../../test/support/cli.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { storedFiles } from '../../../test/support/files.ts';
import { allRows, type Rows, rebuiltRows } from '../../../test/support/log.ts';
import { readAll } from '../../../test/support/service.ts';

import type { Stores } from '../../bench/support/chartledger.ts';
import type { Outcome } from '../scenario.ts';
import { checkHistory } from './checkHistory.ts';
import type { Ledger } from './Ledger.ts';

/** Time for read models to catch up, and for uploads of dead processes to be settled. */
const SETTLED_WITHIN_MS = 120_000;

/** Checks whether a running service and its stores contain what was sent, and agree with each other. */
export async function checkStores(stores: Stores, url: string, ledger: Ledger): Promise<Outcome> {
  const { config, key } = stores;
  const eventLog = await openEventLog(config.eventLogUrl);
  try {
    const events = await readAll(eventLog);
    const { failures, attempted, acknowledged, writtenUnanswered } = ledger.check(events);
    const history = await checkHistory(url, key.key, events, ledger);
    failures.push(...history.failures);
    failures.push(...(await checkReadModels(stores, eventLog)));
    failures.push(...(await checkDocuments(stores, events)));
    failures.push(...(await verify(stores)));
    const figures: Outcome['figures'] = [
      ['writes sent', attempted],
      ['acknowledged', acknowledged],
      ['not acknowledged, and there', writtenUnanswered],
      ['lost', count(failures, 'lost: ')],
      ['doubled', count(failures, 'doubled: ')],
      ['versions read in the history', history.versions],
      ['documents read', history.documents],
      ['events in the log', events.length],
    ];
    return { figures, failures };
  } finally {
    await eventLog.close();
  }
}

function count(failures: readonly string[], beginning: string): number {
  return failures.filter((failure) => failure.startsWith(beginning)).length;
}

/** Runs `chartledger verify`, for events and documents. */
async function verify({ env, key }: Stores): Promise<string[]> {
  const run = await spawnCli(['verify', '--workspace', key.workspace, '--documents'], { env });
  return run.code === 0 ? [] : [`verify ended with ${run.code}: ${run.stderr}`];
}

/** Checks whether the read models are what a rebuild yields. */
async function checkReadModels({ config }: Stores, eventLog: EventLog): Promise<string[]> {
  const readModels = await openReadModels(config.readModelUrl);
  try {
    return await eventually(async () => {
      const head = await eventLog.head();
      const [live, anew] = [await allRows(eventLog, readModels), await rebuiltRows(eventLog)];
      // The service may have recorded something on its own meanwhile.
      if ((await eventLog.head()) !== head) throw new Error('the log has grown');
      return Object.keys(anew).flatMap((model) => differences(model, live[model], anew[model]));
    }, SETTLED_WITHIN_MS);
  } finally {
    await readModels.close();
  }
}

function differences(model: string, live: Rows | undefined, anew: Rows | undefined): string[] {
  if (live?.count !== anew?.count) return [`${model} has ${live?.count} rows; a rebuild has ${anew?.count}`];
  const ids = [...(anew?.rows.keys() ?? [])];
  const other = ids.filter((id) => !isDeepStrictEqual(live?.rows.get(id), anew?.rows.get(id)));
  return other.map((id) => `${model} has another row ${id} than when it is rebuilt`);
}

/** Checks that the store contains only bytes that events name: what processes left half done was settled. */
async function checkDocuments({ config }: Stores, events: readonly RecordedEvent[]): Promise<string[]> {
  const named = new Set(events.map(({ data }) => data.object_id));
  const strays = () => {
    const { objects, uploads } = storedFiles(config);
    return [...uploads, ...objects.filter((name) => !named.has(name))];
  };
  return eventually(() => {
    if (strays().length > 0) throw new Error('uploads are not settled');
    return [];
  }, SETTLED_WITHIN_MS).catch(() => [`${strays().length} files of documents belong to no event`]);
}

/** Returns SHA-256 in lower-case hex. */
export function digestOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
