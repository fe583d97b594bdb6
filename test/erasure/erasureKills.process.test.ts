import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { MongoClient } from 'mongodb';
import { afterEach, expect, test } from 'vitest';
import { type CliResult, spawnCli, temporaryFolder } from '../support/cli.ts';
import { Client, insistOnList } from '../support/client.ts';
import { documentForm, documentsPath } from '../support/documents.ts';
import { onEveryEngine } from '../support/engines.ts';
import { eventually } from '../support/eventually.ts';
import { phi } from '../support/phi.ts';
import { samples } from '../support/samples.ts';
import { ServiceProcess } from '../support/serviceProcess.ts';

/** More of them on request: each has an encounter with a document. */
const PATIENTS = Number(process.env.ERASURE_PATIENTS ?? 40);
const ERASED = PATIENTS / 10;
const LONG_MS = 1_800_000;
/** A projector that was just started lags behind a load on a busy machine. */
const SOON_MS = 120_000;

interface Stored {
  patientId: string;
  encounterId: string;
  documentId: string;
  /** What must be found nowhere once it is erased. */
  values: string[];
}

onEveryEngine((_, engines) => {
  const folder = temporaryFolder();
  const env: Record<string, string> = { ...engines.settings(), DATA_DIR: folder, RATE_LIMIT_PER_MINUTE: '0' };
  let running: ServiceProcess;
  let client: Client;
  afterEach(async () => {
    await running.end('SIGKILL');
  });

  async function start(key?: string): Promise<string> {
    running = new ServiceProcess(env);
    const url = await running.url();
    const known = key ?? /x-api-key: (clk_\w+)/.exec(running.stdout)?.[1] ?? '';
    client = new Client(url, known);
    return known;
  }

  async function create(): Promise<Stored> {
    const patient = { ...samples.patient(), address: phi('Street') };
    const encounter = { id: phi('encounter'), patient_id: patient.id };
    const filename = phi('scan');
    const form = documentForm({
      filename: `${filename}.pdf`,
      content: Buffer.from(`%PDF-1.7 ${filename} %%EOF`),
    });
    expect((await client.post('/integration/patients', patient)).status).toBe(200);
    expect((await client.post('/integration/encounters', encounter)).status).toBe(200);
    expect((await client.upload(documentsPath(encounter.id), form)).status).toBe(200);
    return {
      patientId: patient.id,
      encounterId: encounter.id,
      documentId: form.get('document_id') as string,
      values: [patient.first_name, patient.last_name, patient.address, filename],
    };
  }

  const erase = ({ patientId }: Stored, kill: AbortSignal, ...more: string[]): Promise<CliResult> => {
    const about = ['--with-encounters', '--workspace', 'default', '--reason', 'Request 2026-117'];
    const run = () => spawnCli(['erase', 'patient', patientId, ...about, ...more], { env, kill });
    return insistOnList(run, ({ stderr }) => stderr);
  };

  const verify = (...args: string[]) => spawnCli(['verify', '--workspace', 'default', ...args], { env });
  const expectVerified = async (head: string) =>
    expect(await verify('--head', head)).toMatchObject({ code: 0, stderr: '' });

  const statusOf = async ({ patientId }: Stored) =>
    (await client.get(`/integration/patients/${patientId}`)).status;

  /** Writes without a pause until `stop`, whatever becomes of it. */
  function load(kept: Stored[]): { stop(): Promise<void> } {
    let stopped = false;
    const writing = (async () => {
      for (let n = 0; !stopped; n = (n + 1) % kept.length) {
        const { patientId: id } = kept[n] as Stored;
        await client.post('/integration/patients', { ...samples.patient(), id }).catch(() => undefined);
      }
    })();
    return {
      stop() {
        stopped = true;
        return writing;
      },
    };
  }

  test(
    'erasures under load, with the command and the service killed in between, are finished, and nothing else is touched',
    async () => {
      const key = await start();
      const all: Stored[] = [];
      for (let n = 0; n < PATIENTS; n++) all.push(await create());
      const head = join(folder, '..', 'before.json');
      // Until the projector has come so far, there is nothing to compare the log with.
      await eventually(
        async () => expect(await verify('--save-head', head)).toMatchObject({ code: 0, stderr: '' }),
        SOON_MS,
      );
      const kept = all.slice(ERASED);
      const writing = load(kept);

      const isErased = (one: Stored) =>
        eventually(async () => expect(await statusOf(one)).toBe(410), SOON_MS);
      for (const [index, one] of all.slice(0, ERASED).entries()) {
        const kill = new AbortController();
        const command = erase(one, kill.signal);
        if (index % 4 !== 3) await isErased(one);
        if (index % 2 === 0) kill.abort();
        if (index % 4 < 2) {
          await running.end('SIGKILL');
          await start(key);
        }
        await command;
        await isErased(one);
      }
      await writing.stop();

      for (const { encounterId, documentId } of all.slice(0, ERASED)) {
        await eventually(async () => {
          expect((await client.get(`/integration/encounters/${encounterId}`)).status).toBe(410);
          expect((await client.get(documentsPath(encounterId, documentId))).status).toBe(410);
        });
      }
      const gone = all.slice(0, ERASED).flatMap(({ values }) => values);
      const given = await client.get('/events?limit=10000');
      expect(given.text).toContain(kept[0]?.patientId);
      expect(gone.filter((value) => given.text.includes(value))).toEqual([]);
      await expectVerified(head);
      for (const one of kept) {
        expect(await statusOf(one)).toBe(200);
        const file = await client.get(documentsPath(one.encounterId, one.documentId));
        expect([file.status, file.text.includes(one.values[3] as string)]).toEqual([200, true]);
      }
      // Last: a stand-in for the log's server loses the places of its subscribers over it.
      if (engines.logServer) {
        const scavenge = erase(all[0] as Stored, new AbortController().signal, '--scavenge');
        expect(await scavenge).toMatchObject({ code: 0 });
      }
      await eventually(async () => {
        for (const [name, bytes] of await stored()) {
          expect([name, gone.filter((value) => bytes.includes(value))]).toEqual([name, []]);
        }
      });
      await expectVerified(head);
    },
    LONG_MS,
  );

  /** All that the service's folder, its database and the log's server hold, by name. */
  const stored = async () => [...filesIn(folder), ...(await rowsOf(env.READ_MODEL_URL)), ...serverFile()];
  const serverFile = () => (engines.logServer ? [['log', engines.logServer.stored()] as const] : []);
});

function filesIn(folder: string): [name: string, bytes: Buffer][] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((name) => [name, readFileSync(name)]);
}

async function rowsOf(url: string | undefined): Promise<[name: string, text: string][]> {
  if (!url?.startsWith('mongodb')) return [];
  const client = await MongoClient.connect(url);
  try {
    const collections = await client.db().collections();
    return await Promise.all(
      collections.map(
        async (one): Promise<[string, string]> => [
          one.collectionName,
          JSON.stringify(await one.find().toArray()),
        ],
      ),
    );
  } finally {
    await client.close();
  }
}
