import { statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { models } from '../../../projections/index.ts';
import { clockProblem } from '../../modules/clockProblem.ts';
import { whereLastBytesAre } from '../../modules/erasure/scavenges.ts';
import { logMismatch, mismatchTexts } from '../../modules/projections/logMismatch.ts';
import { projectionStatus } from '../../modules/records/queries/projectionStatus.ts';
import type { Config } from '../../platform/config.ts';
import { lastBackup } from '../../server/backUp.ts';
import {
  isIntactFile,
  isMissing,
  openDocumentStore,
  openReadModels,
  openStateStore,
  pathOf,
  stateStoreProblem,
} from '../../server/openBackend.ts';
import { systemClock } from '../../storage/clock.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import type { ReadModels } from '../../storage/readModels.ts';
import { count } from '../lib/output.ts';
import { type CheckResult, failed, ok, warn } from './checkResult.ts';

/** A running projector has caught up within this time, unless there are many writes. */
const CATCH_UP_MS = 2_000;

function missing(check: string, url: string, when: string): CheckResult[] | undefined {
  if (!isMissing(url)) return undefined;
  return [warn(check, 'not_found', `There is nothing at ${pathOf(url)} yet: it is created ${when}.`)];
}

/** Runs `work` on what was opened, and closes it whatever the outcome. */
export async function using<Store extends { close(): unknown }, Result>(
  opening: Promise<Store>,
  work: (store: Store) => Promise<Result>,
): Promise<Result> {
  const store = await opening;
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

/** Checks whether the event log is readable and writable. Rejects with `unavailable`, as the other checks do. */
export async function checkEventLog(eventLog: EventLog): Promise<CheckResult[]> {
  await eventLog.check();
  return [ok('event_log', `reachable and writable; its last position is ${await eventLog.head()}`)];
}

export async function checkReadModels(eventLog: EventLog, { readModelUrl }: Config): Promise<CheckResult[]> {
  const nothing = missing('read_models', readModelUrl, 'and built from the log by the role projector');
  return nothing ?? using(openReadModels(readModelUrl), (readModels) => checkEach(eventLog, readModels));
}

async function checkEach(eventLog: EventLog, readModels: ReadModels): Promise<CheckResult[]> {
  const found: CheckResult[] = [];
  for (const model of models) {
    const mismatch = await logMismatch({ eventLog, readModels }, model);
    if (mismatch)
      found.push(warn('read_models', mismatch, `${model}: ${mismatchTexts[mismatch]} by the next start.`));
  }
  for (const { model, behind, parked } of await settledStatus(eventLog, readModels)) {
    if (parked > 0) {
      const [first] = await readModels.parked(model);
      found.push(failed('read_models', 'events_parked', parkedText(model, parked, first?.position)));
    }
    if (behind > 0) {
      const message = `${model} is ${count(behind)} behind the log. Is a process with the role projector running?`;
      found.push(warn('read_models', 'behind', message));
    }
  }
  return found.length > 0
    ? found
    : [ok('read_models', 'all belong to this log, are up to date and lack no event')];
}

/** Returns the state of the read models after giving a projector time to catch up. */
async function settledStatus(eventLog: EventLog, readModels: ReadModels) {
  for (const until = performance.now() + CATCH_UP_MS; ; await sleep(100)) {
    const statuses = await projectionStatus(eventLog, readModels);
    if (statuses.every(({ behind }) => behind === 0) || performance.now() > until) return statuses;
  }
}

function parkedText(model: string, parked: number, first: number | undefined): string {
  return (
    `${model} could not take ${parked} events, the first at position ${first}, so lists lack their records. A newer version of the service ` +
    'that can read them takes them by itself; to find damaged ones, run: chartledger verify --workspace ID.'
  );
}

export async function checkStateStore(eventLog: EventLog, config: Config): Promise<CheckResult[]> {
  const problem = await stateStoreProblem(config, eventLog);
  if (problem) return [failed('state_store', 'state_lost', problem)];
  const nothing = missing('state_store', config.stateUrl, 'by the next start');
  if (nothing) return nothing;
  await using(openStateStore(config.stateUrl), (store) => store.check());
  return [ok('state_store', 'reachable')];
}

export async function checkDocuments(eventLog: EventLog, { documentsUrl }: Config): Promise<CheckResult[]> {
  const nothing = missing('document_store', documentsUrl, 'by the next start');
  if (nothing) return nothing;
  return using(openDocumentStore(documentsUrl), async (store) => {
    await store.check();
    const log = await store.log();
    if (log === undefined || log === (await eventLog.identity())) {
      return [ok('document_store', 'reachable and writable')];
    }
    const message =
      'The documents belong to another event log. Restore that log, or correct EVENT_LOG_URL or DOCUMENTS_URL.';
    return [failed('document_store', 'another_log', message)];
  });
}

/** Larger files take a disk too long to read. */
const MOST_CHECKED_BYTES = 1024 ** 3;
const NOT_CHECKED = 'contents not checked: run chartledger verify --workspace ID --records';

/** Checks whether the structure of the SQLite files is sound, if they are not too large. */
export async function checkContents({ eventLogUrl, readModelUrl, stateUrl }: Config): Promise<CheckResult[]> {
  const urls = [eventLogUrl, readModelUrl, stateUrl].filter((url) => url.startsWith('sqlite:'));
  const checked: string[] = [];
  const found: CheckResult[] = [];
  for (const url of new Set(urls)) {
    const path = pathOf(url);
    if (isMissing(url) || statSync(path).size > MOST_CHECKED_BYTES) continue;
    if (await isIntactFile(url)) checked.push(path);
    else
      found.push(
        failed(
          'contents',
          'file_damaged',
          url === readModelUrl
            ? `${path} is damaged. Run: chartledger projections rebuild`
            : `${path} is damaged. Stop the service, and restore a backup: chartledger restore`,
        ),
      );
  }
  if (found.length > 0) return found;
  const structure = checked.length > 0 ? `the structure of ${checked.join(', ')} is sound; ` : '';
  return [ok('contents', `${structure}${NOT_CHECKED}`)];
}

const DAY_MS = 86_400_000;
/** An older backup is worth attending to. */
const OLD_DAYS = 7;

/** Checks how old the last backup is; servers have their own. */
export async function checkBackups({ eventLogUrl, stateUrl }: Config): Promise<CheckResult[]> {
  if (!eventLogUrl.startsWith('sqlite:') || isMissing(stateUrl)) return [];
  const last = await using(openStateStore(stateUrl), lastBackup);
  if (last === undefined) {
    const message =
      'None was taken with chartledger backup since this version. If there is no other one, take one.';
    return [warn('backups', 'no_backup', message)];
  }
  const days = Math.floor((systemClock.now() - Date.parse(last.created_at)) / DAY_MS);
  const message = `The last one was taken at ${last.created_at}, ${days === 1 ? '1 day' : `${days} days`} ago`;
  if (days < OLD_DAYS) return [ok('backups', message)];
  return [warn('backups', 'old_backup', `${message}. Take one regularly: chartledger backup ${last.place}`)];
}

/** Checks this machine's clock against the time of the log's last event. */
export async function checkClock(eventLog: EventLog): Promise<CheckResult[]> {
  const problem = await clockProblem(eventLog, systemClock);
  return [problem ? failed('clock', problem.code, problem.message) : ok('clock', 'not behind the log')];
}

/** Checks whether nodes of the event log still hold bytes of what was erased. */
export async function checkErasures(eventLog: EventLog, { stateUrl }: Config): Promise<CheckResult[]> {
  if (eventLog.scavenger === undefined || isMissing(stateUrl)) return [];
  const bytes = await using(openStateStore(stateUrl), (stateStore) =>
    whereLastBytesAre({ eventLog, stateStore }),
  );
  if (bytes === undefined) return [];
  if (bytes.erased) return [ok('erasures', "no node's files contain anything of what was erased")];
  const named = bytes.nodes.map(({ node, state }) => `${node} (${state})`).join(', ');
  const message =
    named === ''
      ? 'The files of the event log contain bytes of what was erased, and no scavenge was requested since: repeat the last erasure with --scavenge.'
      : `Files of the event log contain bytes of what was erased, on ${named}. The service has these nodes scavenge, one after the other.`;
  return [warn('erasures', 'bytes_in_event_log', message)];
}
