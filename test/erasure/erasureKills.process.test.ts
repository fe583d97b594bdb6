import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { type CliResult, spawnCli, temporaryFolder } from '../support/cli.ts';
import { Client } from '../support/client.ts';
import { documentForm, documentsPath } from '../support/documents.ts';
import { eventually } from '../support/eventually.ts';
import { phi } from '../support/phi.ts';
import { samples } from '../support/samples.ts';
import { ServiceProcess } from '../support/serviceProcess.ts';

/** More of them on request: each has an encounter with a document. */
const PATIENTS = Number(process.env.ERASURE_PATIENTS ?? 40);
const ERASED = PATIENTS / 10;
const LONG_MS = 900_000;

const folder = temporaryFolder();
const env = { DATA_DIR: folder, RATE_LIMIT_PER_MINUTE: '0' };
let running: ServiceProcess;
let client: Client;
afterEach(async () => {
  await running.end('SIGKILL');
});

interface Stored {
  patientId: string;
  encounterId: string;
  documentId: string;
  /** What must be found nowhere once it is erased. */
  values: string[];
}

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

const erase = ({ patientId }: Stored, kill?: AbortSignal): Promise<CliResult> =>
  spawnCli(
    [
      'erase',
      'patient',
      patientId,
      '--with-encounters',
      '--workspace',
      'default',
      '--reason',
      'Request 2026-117',
    ],
    { env, ...(kill && { kill }) },
  );

const verify = (...args: string[]) => spawnCli(['verify', '--workspace', 'default', ...args], { env });

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
    expect((await verify('--save-head', head)).code).toBe(0);
    const kept = all.slice(ERASED);
    const writing = load(kept);

    const isErased = (one: Stored) => eventually(async () => expect(await statusOf(one)).toBe(410));
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
    await eventually(() => {
      for (const { name, bytes } of storedBytes()) {
        expect([name, gone.filter((value) => bytes.includes(value))]).toEqual([name, []]);
      }
    });
    const verified = await verify('--head', head);
    expect({ code: verified.code, stderr: verified.stderr }).toEqual({ code: 0, stderr: '' });
    for (const one of kept) {
      expect(await statusOf(one)).toBe(200);
      const file = await client.get(documentsPath(one.encounterId, one.documentId));
      expect([file.status, file.text.includes(one.values[3] as string)]).toEqual([200, true]);
    }
  },
  LONG_MS,
);

function storedBytes(): { name: string; bytes: Buffer }[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((name) => ({ name, bytes: readFileSync(name) }));
}
