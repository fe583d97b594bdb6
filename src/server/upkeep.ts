import { X509Certificate } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { KeyDirectory } from '../modules/auth/keyDirectory.ts';
import { headsStatus } from '../modules/integrity/treeHeads.ts';
import type { Config } from '../platform/config.ts';
import { observed, type SeriesReport } from '../platform/metrics/metrics.ts';
import { systemClock } from '../storage/rateLimiters.ts';
import type { StateStore } from '../storage/stateStore.ts';
import { lastBackup } from './lastBackup.ts';
import { pathOf } from './openStorage.ts';

/** Free space of a folder in which the service writes. */
interface FreeSpace {
  /** What is in it: `data_folder`, `event_log`, `read_models`, `state_store` or `document_store`. */
  contents: string;
  folder: string;
  /** What the service's user may still write. */
  bytes: number;
}

/** Returns the free space of each folder of this machine in which the service writes. Rejects with errors of the file system. */
export async function freeSpace(config: Config): Promise<FreeSpace[]> {
  const { dataDir, eventLogUrl, readModelUrl, stateUrl, documentsUrl } = config;
  const files = Object.entries({ event_log: eventLogUrl, read_models: readModelUrl, state_store: stateUrl });
  const folders = [
    ['data_folder', dataDir] as const,
    ...files
      .filter(([, url]) => url.startsWith('sqlite:'))
      .map(([contents, url]) => [contents, dirname(pathOf(url))] as const),
    ...(documentsUrl.startsWith('file:') ? [['document_store', pathOf(documentsUrl)] as const] : []),
  ].filter(([, folder]) => existsSync(folder));
  return Promise.all(
    folders.map(async ([contents, folder]) => {
      const { bavail, bsize } = await statfs(folder);
      return { contents, folder, bytes: bavail * bsize };
    }),
  );
}

/** When a file of certificates stops being accepted. */
interface CertificateExpiry {
  /** What it is for: `mllp`, or `mllp_ca` for those of the authorities. */
  purpose: string;
  path: string;
  /** The first end of validity of those in the file, in milliseconds since 1970. */
  expiresAt: number;
}

const PEM = /-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----/gs;

/** Returns the expiry of each file of certificates that the process uses. Rejects when one cannot be read. */
export async function certificateExpiry({
  roles,
  mllp,
}: Pick<Config, 'roles' | 'mllp'>): Promise<CertificateExpiry[]> {
  if (!roles.includes('mllp') || mllp.tls === undefined) return [];
  const { certificate, ca } = mllp.tls;
  const files = [{ purpose: 'mllp', path: certificate }, ...(ca ? [{ purpose: 'mllp_ca', path: ca }] : [])];
  return Promise.all(
    files.map(async ({ purpose, path }) => {
      const found = (await readFile(path, 'utf8')).match(PEM) ?? [];
      const ends = found.map((pem) => Date.parse(new X509Certificate(pem).validTo));
      return { purpose, path, expiresAt: Math.min(...ends) };
    }),
  );
}

const secondsSince = (ms: number) => Math.max(0, (systemClock.now() - ms) / 1_000);

/**
 * Returns the seconds since the last backup, or since the first workspace was created if there was none. Undefined if there is
 * nothing to back up, and for an event log on a server that `chartledger backup` never backed up. Rejects with `unavailable`.
 */
export async function backupAge(
  { eventLogUrl }: Pick<Config, 'eventLogUrl'>,
  { stateStore, directory }: { stateStore: StateStore; directory: KeyDirectory },
): Promise<number | undefined> {
  const last = await lastBackup(stateStore);
  if (last) return secondsSince(Date.parse(last.created_at));
  const created = [...directory.known.workspaces.values()].map(({ createdAt }) => Date.parse(createdAt));
  if (!eventLogUrl.startsWith('sqlite:') || created.length === 0) return undefined;
  return secondsSince(Math.min(...created));
}

/** Returns the seconds since all heads were sent, or since the process started if they never were. Rejects with `unavailable`. */
export async function headsAge(stateStore: StateStore): Promise<number> {
  const sentAt = (await headsStatus(stateStore))?.sent_at;
  return sentAt === undefined ? process.uptime() : secondsSince(Date.parse(sentAt));
}

/**
 * Returns functions that report what somebody has to attend to before it fails. Every process reports them, whatever its roles:
 * the process that does the work may be the one that is gone.
 */
export function upkeepObservers(
  config: Config,
  stores: { stateStore: StateStore; directory: KeyDirectory },
): (() => Promise<SeriesReport[]>)[] {
  return [
    async () =>
      (await freeSpace(config)).map(({ contents, bytes }) =>
        observed('chartledger.disk.free', { 'chartledger.contents': contents }, bytes),
      ),
    async () =>
      (await certificateExpiry(config)).map(({ purpose, expiresAt }) =>
        observed(
          'chartledger.certificate.validity',
          { 'chartledger.certificate': purpose },
          (expiresAt - systemClock.now()) / 1_000,
        ),
      ),
    async () => {
      const age = await backupAge(config, stores);
      return age === undefined ? [] : [observed('chartledger.backup.age', {}, age)];
    },
    async () =>
      config.headsTo === undefined
        ? []
        : [observed('chartledger.heads.age', {}, await headsAge(stores.stateStore))],
  ];
}
