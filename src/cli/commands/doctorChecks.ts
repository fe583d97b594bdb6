import { createPublicKey } from 'node:crypto';
import { statSync } from 'node:fs';
import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { models } from '../../../projections/index.ts';
import { treeModel } from '../../../projections/tree.ts';
import { readTlsFiles } from '../../api/mllp/listener.ts';
import type { Position } from '../../domain/events/event.ts';
import { INSTALLATION } from '../../domain/events/streams.ts';
import { uploadedBy } from '../../domain/records/document.ts';
import { KeyDirectory } from '../../modules/auth/keyDirectory.ts';
import { each } from '../../modules/backup/contents.ts';
import { locateLastErasedBytes } from '../../modules/erasure/scavenges.ts';
import { clockProblem } from '../../modules/health.ts';
import { readSources, type Source } from '../../modules/integrations/sources.ts';
import { StoredTree } from '../../modules/integrity/proofs.ts';
import type { TreeHead } from '../../modules/integrity/publicKeys.ts';
import { keyId } from '../../modules/integrity/signing.ts';
import { sentHeads } from '../../modules/integrity/treeHeads.ts';
import { isCurrent, readLog } from '../../modules/integrity/verify.ts';
import { Keyring } from '../../modules/keyring.ts';
import { logMismatch, mismatchTexts } from '../../modules/projections/checkpoints.ts';
import { projectionStatus } from '../../modules/records/queries/records.ts';
import { resumeDelivery } from '../../modules/webhooks/sessionState.ts';
import { loadPositions } from '../../modules/webhooks/store.ts';
import { WebhookDirectory } from '../../modules/webhooks/webhook.ts';
import type { Config } from '../../platform/config.ts';
import { openFiles } from '../../server/files.ts';
import {
  findSessionSecret,
  findSigningKey,
  keyFiles,
  type ManagedKeyName,
  managedKeys,
} from '../../server/keys.ts';
import { lastBackup } from '../../server/lastBackup.ts';
import {
  isIntactFile,
  isMissing,
  openDocumentStore,
  openReadModels,
  openStateStore,
  pathOf,
  stateStoreProblem,
} from '../../server/openStorage.ts';
import { freeSpace } from '../../server/upkeep.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { systemClock } from '../../storage/rateLimiters.ts';
import type { ReadModels } from '../../storage/readModels.ts';
import { count } from '../lib/terminal.ts';
import { type CheckResult, failed, ok, runCheck, using, warn } from './doctorResults.ts';

/** A running projector has caught up within this time, unless there are many writes. */
const CATCH_UP_MS = 2_000;

function missing(check: string, url: string, when: string): CheckResult[] | undefined {
  if (!isMissing(url)) return undefined;
  return [warn(check, 'not_found', `There is nothing at ${pathOf(url)} yet: it is created ${when}.`)];
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
    'that can read them processes them automatically; to find damaged ones, run: chartledger verify --workspace ID.'
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
const OLD_DAYS = 2;

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
    locateLastErasedBytes({ eventLog, stateStore }),
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

/** Maximum number of positions listed; the rest are only counted. */
const MOST_NAMED = 10;

/** Checks whether the document store has the bytes of every document named in the log; they are not read. */
export async function checkDocumentBytes(
  eventLog: EventLog,
  { documentsUrl }: Config,
): Promise<CheckResult[]> {
  if (isMissing(documentsUrl)) return [];
  const missing: Position[] = [];
  let documents = 0;
  await using(openDocumentStore(documentsUrl), async (store) => {
    for await (const { events } of readLog(eventLog, { after: 0, until: await eventLog.head() })) {
      const uploads = events.filter(({ type }) => type === 'DocumentUploaded');
      await each(uploads, async (event) => {
        const isThere = await store.has(uploadedBy(event).object_id);
        documents += isThere ? 1 : 0;
        if (!isThere && (await isCurrent(eventLog, event))) missing.push(event.position);
      });
    }
  });
  if (missing.length === 0) return [ok('documents', `all ${count(documents)} named in the log are present`)];
  const named = missing
    .sort((a, b) => a - b)
    .slice(0, MOST_NAMED)
    .join(', ');
  const message =
    `Files of documents named in the log are missing: ${count(missing.length)}. Their events are at positions ${named}` +
    `${missing.length > MOST_NAMED ? ' and others' : ''}. Restore them from a backup that is newer than the log's, or have them sent again.`;
  return [failed('documents', 'missing', message)];
}

/** Maximum number of files listed; the rest are only counted. Those of keys come first. */
const MOST_FILES = 20;
const MIB = 1024 * 1024;
/** With less, stores will soon refuse writes. */
const LEAST_FREE_BYTES = 100 * MIB;
const LOW_FREE_BYTES = 1024 * MIB;

/** Checks whether others can access what should be private to the service. */
export async function checkPermissions(config: Config): Promise<CheckResult[]> {
  const open = openFiles(config);
  const found = open.slice(0, MOST_FILES).map(({ path, mode }) => {
    const correction = `${statSync(path).isDirectory() ? 'chmod 700' : 'chmod 600'} ${path}`;
    const message = `${path} is open to other users (${mode}). A start of the service corrects that, or: ${correction}`;
    return keyFiles.includes(basename(path))
      ? failed('permissions', 'key_open', message)
      : warn('permissions', 'file_open', message);
  });
  if (open.length > MOST_FILES) {
    found.push(warn('permissions', 'file_open', `So are ${count(open.length - MOST_FILES)} more.`));
  }
  return found.length > 0 ? found : [ok('permissions', 'only their owner can access files and folders')];
}

/** Checks whether there is space where the service writes, reported once for each file system. */
export async function checkDisk(config: Config): Promise<CheckResult[]> {
  const folders = new Map((await freeSpace(config)).map((free) => [statSync(free.folder).dev, free]));
  const found = [...folders.values()].map(({ folder, bytes }) => roomFor(folder, bytes));
  return found.length > 0 ? found : [ok('disk', 'none of the stores is on this machine')];
}

/** Rates the free bytes of a folder. */
export function roomFor(folder: string, bytes: number): CheckResult {
  const free = `${Math.floor(bytes / MIB).toLocaleString('en')} MiB are free for ${folder}`;
  const advice = 'Make room, or move the data folder to a larger disk.';
  if (bytes < LEAST_FREE_BYTES) return failed('disk', 'disk_full', `${free}. ${advice}`);
  return bytes < LOW_FREE_BYTES ? warn('disk', 'disk_low', `${free}. ${advice}`) : ok('disk', free);
}

/** Checks whether the log still contains what the last heads sent describe. */
export async function checkHeads(
  eventLog: EventLog,
  { stateUrl, readModelUrl }: Config,
): Promise<CheckResult[]> {
  if (isMissing(stateUrl) || isMissing(readModelUrl)) return [];
  const workspaces = await using(KeyDirectory.open(eventLog), async ({ known }) => [
    INSTALLATION,
    ...known.workspaces.keys(),
  ]);
  const heads = await using(openStateStore(stateUrl), (stateStore) => sentHeads(stateStore, workspaces));
  if (heads.size === 0) return [];
  return using(openReadModels(readModelUrl), async (readModels) => {
    // Already reported for the read models.
    if (!(await isOfLog(eventLog, readModels))) return [];
    const found = await Promise.all([...heads.values()].map((head) => compareWithHead(readModels, head)));
    const told = found.flatMap((one) => one ?? []);
    if (told.length > 0) return told;
    const newest = [...heads.values()]
      .map(({ created_at }) => created_at)
      .toSorted()
      .at(-1);
    return [ok('heads', `the log contains what was last sent for each workspace, the newest at ${newest}`)];
  });
}

/** Whether the hash trees belong to the log, and cover all of it. */
async function isOfLog(eventLog: EventLog, readModels: ReadModels): Promise<boolean> {
  if (await logMismatch({ eventLog, readModels }, treeModel)) return false;
  return (await readModels.checkpoint(treeModel)) >= (await eventLog.head());
}

async function compareWithHead(readModels: ReadModels, head: TreeHead): Promise<CheckResult | undefined> {
  const { workspace, size, created_at } = head;
  const tree = await StoredTree.open(readModels, workspace);
  const has = tree?.head.size ?? 0;
  const told = `The head of ${workspace} that was sent at ${created_at}`;
  if (has < size) {
    const message =
      `${told} covers ${count(size)} events, and the log has ${count(has)}: it was put back to an earlier state. What came since is lost: ` +
      'have it sent again, and see: chartledger restore erasures.';
    return warn('heads', 'head_beyond_the_log', message);
  }
  if ((await tree?.rootAt(size)) === head.root) return undefined;
  const message =
    `${told} is not of this history: events were changed or removed, or the log was put back to an earlier state and has grown since. ` +
    `See: chartledger verify --workspace '${workspace}' --heads FOLDER`;
  return failed('heads', 'head_contradicted', message);
}

/** Checks whether each key of the service is usable, and is the one known to the log. */
export async function checkKeys(eventLog: EventLog, config: Config): Promise<CheckResult[]> {
  const keys = managedKeys(config);
  const known = new Keyring(eventLog, keys);
  const names = Object.keys(keys) as ManagedKeyName[];
  const checks = names.map((name) =>
    runCheck('keys', async () => {
      const problem = await known.problem(name);
      const advice =
        'Restore the key from a backup. If it is lost permanently, start once with ALLOW_OTHER_KEYS=true.';
      if (problem === undefined) return [];
      // The signing key may deliberately be kept elsewhere: a service starts without it.
      const isElsewhere = name === 'signing' && (await keys.signing.find()).length === 0;
      return [(isElsewhere ? warn : failed)('keys', 'other_key', `${problem} ${advice}`)];
    }),
  );
  const session = runCheck('keys', async () => {
    await findSessionSecret(config);
    return [];
  });
  const found = (await Promise.all([...checks, session])).flat();
  if (found.length > 0) return found;
  const ages = await Promise.all(names.map(async (name) => ({ name, known: await known.since(name) })));
  // The signing key has a name that everything which it signed tells.
  const signing = await findSigningKey(eventLog, known, false);
  const signingId = signing && keyId(createPublicKey(signing.privateKey));
  const told = ages.flatMap(({ name, known: key }) => {
    const id = name === 'signing' ? signingId : key?.fingerprint;
    return key && id ? [`${keys[name].setting} ${id} since ${key.since.slice(0, 10)}`] : [];
  });
  const said = [
    'all keys that the log knows are present and usable',
    ...(told.length > 0 ? [told.join(', ')] : []),
  ];
  return [ok('keys', said.join(': '))];
}

/**
 * If the process has the role `mllp`: checks whether its certificate is usable, and whether its settings cover the sources that
 * are bound to connections.
 */
export async function checkMllp(eventLog: EventLog, { roles, mllp }: Config): Promise<CheckResult[]> {
  if (!roles.includes('mllp')) return [];
  if (mllp.tls) await readTlsFiles(mllp.tls);
  const directory = await KeyDirectory.open(eventLog);
  try {
    const found: CheckResult[] = [];
    for (const workspace of directory.known.workspaces.keys()) {
      for (const source of await readSources(eventLog, workspace)) {
        const problem = unreached(source, mllp);
        const named = `Source ${source.id} of the workspace ${workspace}`;
        if (problem) found.push(warn('mllp', 'source_not_reached', `${named} ${problem}`));
      }
    }
    return found.length > 0 ? found : [ok('mllp', 'its settings cover every bound source')];
  } finally {
    directory.close();
  }
}

/** Returns why a source cannot send anything with these settings. */
function unreached({ mllp: binding }: Source, { ports, tls }: Config['mllp']): string | undefined {
  if (binding?.port !== undefined && !ports.includes(binding.port)) {
    return `is bound to port ${binding.port}, which MLLP_PORT does not name.`;
  }
  if (binding?.certificates !== undefined && tls?.ca === undefined) {
    return 'is bound to client certificates, which are requested only if MLLP_TLS_CA is set.';
  }
  return undefined;
}

/** Checks whether the state store's notes on the progress of webhooks belong to this log, and are not ahead of it. */
export async function checkWebhooks(
  eventLog: EventLog,
  { stateUrl, readModelUrl }: Config,
): Promise<CheckResult[]> {
  if (isMissing(stateUrl) || isMissing(readModelUrl)) return [];
  const lost = await using(WebhookDirectory.open(eventLog), (directory) =>
    using(openReadModels(readModelUrl), (readModels) =>
      using(openStateStore(stateUrl), async (stateStore) => {
        const webhooks = directory.all().filter(({ state }) => state !== 'deleted');
        const ids = webhooks.map(({ id }) => id);
        const positions = await loadPositions(stateStore, ids);
        const found = new Set<string>();
        const ports = { eventLog, readModels, onStateLost: (id: string) => found.add(id) };
        for (const webhook of webhooks) await resumeDelivery(ports, webhook, positions.get(webhook.id)?.at);
        return found.size;
      }),
    ),
  );
  if (lost === 0) return [ok('webhooks', 'the progress of each matches the log')];
  const message =
    `The progress of ${count(lost)} of the webhooks does not match the log: the log or the state store was restored to an earlier state. ` +
    'They continue from the last position noted in the log, and repeat messages; none is skipped.';
  return [warn('webhooks', 'state_lost', message)];
}
