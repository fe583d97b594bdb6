import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { openEventLog, openReadModels } from '../../src/server/openStorage.ts';
import { type CliResult, runCli, spawnCli, temporaryFolder } from '../support/cli.ts';
import { Client } from '../support/client.ts';
import { BrowserlessSession } from '../support/dashboard.ts';
import { eventually } from '../support/eventually.ts';
import { type SentPatient, sendWhole, whenAvailable } from '../support/fhir.ts';
import { filesIn, rowsOf } from '../support/files.ts';
import { allRows, type Rows, rebuiltRows } from '../support/log.ts';
import { ServiceProcess } from '../support/processes.ts';
import { documentsPath, samples } from '../support/samples.ts';
import { onEveryEngine } from '../support/servers.ts';
import { createWebhook, HookEndpoint, openLoopback, webhooksPath } from '../support/webhooks.ts';

/** More of them on request: each has an encounter with a document and a claim, and came in a message of an EMR, too. */
const PATIENTS = Number(process.env.ERASURE_PATIENTS ?? 15);
const ERASED = PATIENTS / 5;
const LONG_MS = 3_600_000;
/** A projector that was just started lags behind a load on a busy machine. */
const SOON_MS = 120_000;

onEveryEngine((_, engines) => {
  const folder = temporaryFolder();
  const outside = temporaryFolder();
  const heads = join(outside, 'heads');
  mkdirSync(heads);
  const env: Record<string, string> = {
    ...engines.settings(),
    ...openLoopback,
    DATA_DIR: folder,
    RATE_LIMIT_PER_MINUTE: '0',
    DASHBOARD_RATE_LIMIT_PER_MINUTE: '0',
    LOG_LEVEL: 'info',
    HEADS_TO: heads,
  };
  const processes: ServiceProcess[] = [];
  const endpoints: HookEndpoint[] = [];
  let running: ServiceProcess;
  let client: Client;
  afterEach(async () => {
    await running.end('SIGKILL');
    for (const endpoint of endpoints) await endpoint.down();
  });

  async function start(key?: string): Promise<string> {
    running = new ServiceProcess(env);
    processes.push(running);
    const url = await running.url();
    const known = key ?? /x-api-key: (clk_\w+)/.exec(running.stderr)?.[1] ?? '';
    client = new Client(url, known);
    return known;
  }

  const cli = async (...args: string[]) => {
    const { code, stdout, stderr } = await runCli([...args, '--workspace', 'default'], { env });
    expect({ args, code, stderr: code === 0 ? '' : stderr }).toEqual({ args, code: 0, stderr: '' });
    return stdout;
  };

  /** A webhook that is told everything from the beginning on, and its endpoint. */
  async function hook(): Promise<{ id: string; endpoint: HookEndpoint }> {
    const endpoint = await HookEndpoint.open();
    endpoints.push(endpoint);
    const settings = { url: endpoint.url, start: 'beginning', payload: 'full' };
    return { id: (await createWebhook(client, settings)).id, endpoint };
  }

  /** Again while a store is too busy to answer, as the command asks for. */
  const erase = async (
    { patientId }: SentPatient,
    kill: AbortSignal,
    ...more: string[]
  ): Promise<CliResult> => {
    const about = ['--with-encounters', '--workspace', 'default', '--reason', 'Request 2026-117'];
    for (const until = performance.now() + SOON_MS; ; ) {
      const result = await spawnCli(['records', 'erase', 'patient', patientId, ...about, ...more], {
        env,
        kill,
      });
      const isBusy = /is temporarily unavailable|does not answer/.test(result.stderr);
      if (kill.aborted || !isBusy || performance.now() > until) return result;
    }
  };

  const verify = (...args: string[]) => runCli(['verify', '--workspace', 'default', ...args], { env });
  /** Against every head that went out, at each start and each save. */
  const expectVerified = async () => {
    const { code, stdout, stderr } = await verify('--heads', heads);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain(' erased');
  };
  const saveHead = (name: string) =>
    eventually(
      async () =>
        expect(await verify('--save-head', join(heads, name))).toMatchObject({ code: 0, stderr: '' }),
      SOON_MS,
    );

  const statusOf = async ({ patientId }: SentPatient) =>
    (await client.get(`/integration/patients/${patientId}`)).status;

  /** Writes, one after the other, until `stop`, whatever becomes of it. */
  function load(kept: SentPatient[]): { stop(): Promise<void> } {
    let stopped = false;
    const writing = (async () => {
      for (let n = 0; !stopped; n = (n + 1) % kept.length) {
        const { patientId: id } = kept[n] as SentPatient;
        await client.post('/integration/patients', { ...samples.patient(), id }).catch(() => undefined);
        // A list waits for the projector: a load that it cannot keep up with would end in erasures that are refused for it.
        const list = () => client.get('/integration/patients?limit=1');
        await whenAvailable(list).catch(() => undefined);
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
      await cli('sources', 'set', 'epic', '--format', 'fhir');
      await cli('sources', 'set', 'lab', '--format', 'hl7v2', '--patient-authority', 'ELMST');
      const told = await hook();
      const all: SentPatient[] = [];
      for (let n = 0; n < PATIENTS; n++) all.push(await sendWhole(client, n));
      // Until the projector has come so far, there is nothing to compare the log with.
      await saveHead('before.json');
      await analyse();
      const kept = all.slice(ERASED);
      const writing = load(kept);

      const isErased = (one: SentPatient) =>
        eventually(async () => expect(await statusOf(one)).toBe(410), 2 * SOON_MS);
      for (const [index, one] of all.slice(0, ERASED).entries()) {
        const kill = new AbortController();
        const command = erase(one, kill.signal);
        if (index % 4 !== 3) await isErased(one);
        if (index % 2 === 0) kill.abort();
        if (index % 4 < 2) {
          await running.end('SIGKILL');
          await start(key);
        }
        const { code, stderr } = await command;
        if (index % 2 === 1) expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
        await isErased(one);
      }
      await writing.stop();

      for (const { encounterId, documentId } of all.slice(0, ERASED)) {
        await eventually(async () => {
          expect((await client.get(`/integration/encounters/${encounterId}`)).status).toBe(410);
          expect((await client.get(documentsPath(encounterId, documentId))).status).toBe(410);
        }, SOON_MS);
      }
      const gone = all.slice(0, ERASED).flatMap(({ values }) => values);
      const expectNone = (place: string, text: string | Buffer) =>
        expect([place, gone.filter((value) => text.includes(value))]).toEqual([place, []]);
      // Between a tombstone and the removal a hold may still save a record; after a kill the service does what is left.
      await eventually(async () => {
        for (const [path, text] of await answers(all.slice(0, ERASED), told.id)) expectNone(path, text);
      }, SOON_MS);
      for (const [path, text] of await analyses()) expectNone(path, text);
      const replayed = await hook();
      await eventually(() => {
        const subjects = replayed.endpoint.accepted.map(({ subject }) => subject);
        expect(subjects).toContain(`patient/${encodeURIComponent(kept.at(-1)?.patientId ?? '')}`);
      }, SOON_MS);
      for (const { type, body } of replayed.endpoint.accepted) expectNone(type, body);
      await cli('export', '--format', 'ndjson', '--out', join(outside, 'export.ndjson'));
      expectNone('export', readFileSync(join(outside, 'export.ndjson')));
      for (const { stdout, stderr } of processes) expectNone('log', stdout + stderr);
      await saveHead('after.json');
      await expectVerified();
      for (const one of kept) {
        expect(await statusOf(one)).toBe(200);
        const file = await client.get(documentsPath(one.encounterId, one.documentId));
        expect([file.status, file.text.includes(one.values[3] as string)]).toEqual([200, true]);
      }
      await expectRebuilt(all.slice(0, ERASED), expectNone);
      // Last: a stand-in for the log's server loses the places of its subscribers over it.
      if (engines.logServer) {
        const unkilled = new AbortController().signal;
        const scavenge = erase(all[0] as SentPatient, unkilled, '--scavenge', '--wait');
        expect(await scavenge).toMatchObject({ code: 0 });
      }
      await eventually(async () => {
        for (const [name, bytes] of await stored()) expectNone(name, bytes);
      });
      await expectVerified();
    },
    LONG_MS,
  );

  const user = { name: 'ada@clinic.example', password: 'correct horse battery staple' };
  const analysisPaths = ['scorecard', 'simulation'].map((name) => `/workspaces/default/readiness/${name}`);

  async function signedIn(): Promise<BrowserlessSession> {
    const visitor = new BrowserlessSession(client.url);
    await visitor.signIn(user);
    return visitor;
  }

  /** Has a scorecard made and settings simulated, of all encounters there are: their results are kept. */
  async function analyse(): Promise<void> {
    const create = [
      'users',
      'create',
      user.name,
      '--role',
      'compliance',
      '--all-workspaces',
      '--password-stdin',
    ];
    expect(await runCli(create, { env, input: user.password })).toMatchObject({ code: 0, stderr: '' });
    const visitor = await signedIn();
    for (const path of analysisPaths) {
      await visitor.get(path);
      const { status } = await visitor.post(path, { from: '2020-01-01', 'rules.facility_tax_id': 'off' });
      expect([path, status]).toEqual([path, 303]);
      await eventually(
        async () => expect((await visitor.get(`${path}/state`)).text).toContain('ended'),
        SOON_MS,
      );
    }
  }

  /** What the last analyses found, as it is shown. */
  async function analyses(): Promise<[path: string, text: string][]> {
    const visitor = await signedIn();
    const shown: [string, string][] = [];
    for (const path of analysisPaths) {
      const { status, text } = await visitor.get(path);
      expect([path, status]).toEqual([path, 200]);
      expect(text).toContain('Ended');
      shown.push([path, text]);
    }
    return shown;
  }

  /** What those are given who ask for what was erased, and for everything. */
  async function answers(
    erased: readonly SentPatient[],
    webhookId: string,
  ): Promise<[path: string, text: string][]> {
    const [one] = erased as [SentPatient];
    const found = await client.get('/events?limit=10000');
    expect(found.text).toContain('erased.v1');
    const paths = [
      '/integration/patients?limit=200',
      '/integration/encounters?limit=200',
      '/integration/readiness?limit=100',
      '/integration/snapshot?kind=patient',
      '/integration/snapshot?kind=encounter',
      `/integration/search?q=${one.values[1]}`,
      `${webhooksPath}/${webhookId}/attempts`,
      ...erased.flatMap(({ patientId, encounterId, documentId }) => [
        `/integration/patients/${patientId}/history`,
        `/integration/encounters/${encounterId}/history`,
        `/integration/encounters/${encounterId}/readiness`,
        `${documentsPath(encounterId, documentId)}/history`,
      ]),
    ];
    const given: [string, string][] = [['/events', found.text]];
    for (const path of paths) given.push([path, (await client.get(path)).text]);
    return given;
  }

  /** Read models are what they are when they are built anew, and neither holds anything of what was erased. */
  async function expectRebuilt(
    erased: readonly SentPatient[],
    expectNone: (place: string, text: string) => void,
  ): Promise<void> {
    const eventLog = await openEventLog(env.EVENT_LOG_URL ?? `sqlite:${folder}/events.db`);
    const readModels = await openReadModels(env.READ_MODEL_URL ?? `sqlite:${folder}/read-models.db`);
    try {
      // Those of what is erased stand where its first version did, or its tombstone.
      const ids = erased.flatMap(({ patientId, encounterId }) => [patientId, encounterId]);
      const restOf = (all: Record<string, Rows>, model: string) =>
        [...(all[model]?.rows ?? [])].filter(([id]) => !ids.some((one) => id.includes(one)));
      const anew = await rebuiltRows(eventLog);
      const live = await allRows(eventLog, readModels);
      for (const model of Object.keys(live)) {
        expect([model, live[model]?.count]).toEqual([model, anew[model]?.count]);
        expect([model, restOf(live, model)]).toEqual([model, restOf(anew, model)]);
      }
      for (const [model, { rows }] of Object.entries(anew)) expectNone(model, JSON.stringify([...rows]));
    } finally {
      await readModels.close();
      await eventLog.close();
    }
  }

  /** All that the service's folder, its database and the log's server hold, by name. */
  const stored = async () => [...filesIn(folder), ...(await rowsOf(env.READ_MODEL_URL)), ...serverFile()];
  const serverFile = () => (engines.logServer ? [['log', engines.logServer.stored()] as const] : []);
});
