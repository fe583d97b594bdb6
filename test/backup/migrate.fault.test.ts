import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadConfig } from '../../src/platform/config.ts';
import { startService } from '../../src/server/service.ts';
import { runCli, spawnCli, storesOf, temporaryFolder } from '../support/cli.ts';
import { type Client, sendBatch } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { type SentPatient, sendWhole } from '../support/fhir.ts';
import { eventsOf } from '../support/log.ts';
import { configureSources } from '../support/messages.ts';
import { documentsPath, samples } from '../support/samples.ts';
import { gcsBucket, googleCloudStorage, withOwnServers } from '../support/servers.ts';
import { readAll, startTestService, type TestService } from '../support/service.ts';
import { createWebhook, delivered, HookEndpoint, openLoopback } from '../support/webhooks.ts';

const LONG_MS = 300_000;
const PAYERS = '/integration/payers';
const MOST_TRIES = 4;
const AWAY = /does not answer|temporarily unavailable/;

withOwnServers('a service that is moved to servers and back', (servers) => {
  const folder = temporaryFolder();
  const files = join(folder, 'files');
  const cluster = join(folder, 'cluster.env');
  const back = join(folder, 'back.env');
  let onServers: Record<string, string>;
  beforeAll(async () => {
    const { url: storage } = await googleCloudStorage();
    const documents = `gs://${gcsBucket}/${randomBytes(6).toString('hex')}?endpoint=${storage}`;
    const stores = storage ? { DOCUMENTS_URL: documents } : {};
    onServers = { ...(await servers.start()), ...stores, DATA_DIR: join(folder, 'cluster') };
    settingsFile(cluster, onServers);
    settingsFile(back, { DATA_DIR: join(folder, 'back') });
  }, LONG_MS);
  afterAll(() => servers.remove());

  function settingsFile(path: string, settings: Record<string, string>): void {
    writeFileSync(
      path,
      Object.entries(settings)
        .map(([name, value]) => `${name}=${value}\n`)
        .join(''),
    );
  }

  /** What a reader of the event stream gets after a position: the ids, and where its first page and the stream end. */
  async function readOn(client: Client, after: string) {
    const ids: string[] = [];
    const positions = [after];
    for (let count = 1; count > 0; ) {
      // A busy server's late answer is a 503, after which a reader asks again.
      const answer = await eventually(async () => {
        const got = await client.get(`/events?after=${positions.at(-1)}`);
        expect(got.status).toBe(200);
        return got;
      });
      const page = eventsOf(answer).map(({ id }) => id);
      ids.push(...page);
      count = page.length;
      positions.push(answer.headers['chartledger-position'] as string);
    }
    return { ids, middle: String(positions[1]), position: String(positions.at(-1)) };
  }

  const plain = async ({ eventLog }: TestService) =>
    (await readAll(eventLog)).map(({ dataText, metadataText, ...event }) => event);

  /** Runs the command on a service's stores, and kills it as soon as the new log holds so many events. */
  async function killAt(count: number, file: string, env: Record<string, string>, held: () => number) {
    const kill = new AbortController();
    const running = spawnCli(['migrate', file], { env, kill: kill.signal });
    await eventually(() => expect(held()).toBeGreaterThanOrEqual(count), LONG_MS);
    kill.abort();
    expect((await running).code).toBeNull();
  }

  /** How many events of another log a server holds, and a file. */
  const onServer = () => servers.eventLog.stored().split('copiedFrom').length - 1;
  const inFile = (path: string) => () => {
    if (!existsSync(path)) return 0;
    const db = new DatabaseSync(path, { readOnly: true });
    try {
      return Number(db.prepare('SELECT count(*) AS count FROM events').get()?.count);
    } finally {
      db.close();
    }
  };

  /** Runs the command on a service's stores until it is complete; again where a server does not answer in time, on a busy machine. */
  async function moveTo(file: string, env: Record<string, string>): Promise<void> {
    let done = await spawnCli(['migrate', file], { env });
    for (let tries = 1; tries < MOST_TRIES && AWAY.test(done.stderr); tries += 1)
      done = await spawnCli(['migrate', file], { env });
    expect(done).toMatchObject({
      code: 0,
      stderr: '',
      stdout: expect.stringContaining('The move is complete'),
    });
  }

  test(
    'keeps its history, proofs, documents and keys; webhooks and readers of the stream continue where they were',
    async () => {
      const endpoint = await HookEndpoint.open();
      const source = await startTestService({ DATA_DIR: files, ...openLoopback });
      const permissions = ['write', 'read', 'events', 'webhooks'] as const;
      const { key, id: keyId } = await source.createKey('clinic', [...permissions]);
      const workspace = source.workspaceId('clinic');
      const client = source.as(key);
      await configureSources(source.eventLog, workspace, keyId);
      const { id: hook } = await createWebhook(client, { url: endpoint.url, start: 'beginning' });
      const kept: SentPatient = await sendWhole(client, 0);
      const erased: SentPatient = await sendWhole(client, 1);
      await sendBatch(
        client,
        Array.from({ length: 2_000 }, () => ({ kind: 'payer', record: samples.payer() })),
      );
      const sourceEnv = { ...storesOf(source.config), DATA_DIR: files };
      const cli = (env: Record<string, string>, ...args: string[]) => runCli(args, { env });
      const [head, certificate, pem] = ['head.json', 'certificate.json', 'key.pem'].map((name) =>
        join(folder, name),
      ) as [string, string, string];
      const what = ['patient', erased.patientId, '--with-encounters', '--reason', 'Request 2026-117'];
      await eventually(async () =>
        expect(
          await cli(
            sourceEnv,
            'records',
            'erase',
            ...what,
            '--workspace',
            workspace,
            '--certificate',
            certificate,
          ),
        ).toMatchObject({ code: 0 }),
      );
      writeFileSync(pem, (await cli(sourceEnv, 'secrets', 'show', 'signing')).stdout);
      await delivered(client, hook, LONG_MS);
      const first = await readOn(client, '0');

      // While it is running, all that it holds is copied, and the move is not complete.
      const rehearsed = await spawnCli(['migrate', cluster, '--dry-run'], { env: sourceEnv });
      expect(rehearsed).toMatchObject({ code: 0, stderr: '' });
      expect(rehearsed.stdout).toMatch(/^The move would copy [\d,]+ events, 1 documents and messages/);
      expect(existsSync(join(folder, 'cluster'))).toBe(false);
      for (const count of [1, 300, 1_200]) await killAt(count, cluster, sourceEnv, onServer);
      const early = await spawnCli(['migrate', cluster], { env: sourceEnv });
      expect(early).toMatchObject({ code: 1, stderr: expect.stringContaining('The service is running') });
      const half = await cli(onServers, 'workspaces', 'list');
      expect(half).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('Run chartledger migrate again'),
      });

      // What the webhook has not got when the service stops, it gets from the moved one.
      await endpoint.down();
      const late = [samples.payer(), samples.payer(), samples.payer()];
      for (const payer of late) expect((await client.post(PAYERS, payer)).status).toBe(200);
      await eventually(async () =>
        expect(await cli(sourceEnv, 'verify', '--workspace', workspace, '--save-head', head)).toMatchObject({
          code: 0,
        }),
      );
      const before = await plain(source);
      await source.stop();
      const accepted = endpoint.accepted.map(({ id }) => id);
      await moveTo(cluster, sourceEnv);
      await expect(startService(loadConfig({ DATA_DIR: files }), pino({ enabled: false }))).rejects.toThrow(
        'was moved to other stores',
      );
      const again = await cli(sourceEnv, 'migrate', cluster);
      expect(again).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/is not empty\. A service can be moved only to empty stores/),
      });

      /** What has to be the case on the new stores; returns where the reader of the stream is. */
      const expectSame = async (moved: TestService, from: { position: string }, ids: string[]) => {
        const as = moved.as(key);
        const env = { ...storesOf(moved.config), DATA_DIR: moved.config.dataDir };
        expect((await plain(moved)).slice(0, before.length)).toEqual(before);
        expect((await as.get(`/integration/patients/${erased.patientId}`)).status).toBe(410);
        const file = await as.get(documentsPath(kept.encounterId, kept.documentId));
        expect([file.status, file.text.includes(kept.values[3] as string)]).toEqual([200, true]);
        const next = await readOn(as, from.position);
        expect(next.ids).toEqual(ids);
        expect((await readOn(as, first.middle)).ids.slice(0, 1_000)).toEqual(
          first.ids.slice(1_000).concat(ids).slice(0, 1_000),
        );
        await eventually(async () =>
          expect(
            await cli(env, 'verify', '--workspace', workspace, '--head', head, '--documents'),
          ).toMatchObject({ code: 0, stderr: '' }),
        );
        expect(await cli(env, 'verify', certificate, '--public-key', pem)).toMatchObject({
          code: 0,
          stderr: '',
        });
        expect((await cli(env, 'secrets', 'show', 'signing')).stdout).toBe(
          (await cli(sourceEnv, 'secrets', 'show', 'signing')).stdout,
        );
        return next;
      };
      const idsOf = async (service: TestService, payers: { id: string }[]) =>
        (await readAll(service.eventLog))
          .filter(({ stream }) => payers.some(({ id }) => stream.endsWith(`.payer-${id}`)))
          .map(({ id }) => id);

      await endpoint.up();
      const moved = await startTestService({ ...onServers, ...openLoopback });
      const second = await expectSame(moved, first, await idsOf(moved, late));
      await delivered(moved.as(key), hook, LONG_MS);
      expect(endpoint.accepted.map(({ id }) => id).slice(0, accepted.length)).toEqual(accepted);
      expect(
        endpoint.accepted
          .slice(accepted.length)
          .map(({ subject }) => subject)
          .toSorted(),
      ).toEqual(late.map(({ id }) => `payer/${id}`).toSorted());
      const newest = [samples.payer(), samples.payer()];
      for (const payer of newest) expect((await moved.as(key).post(PAYERS, payer)).status).toBe(200);
      expect(await idsOf(moved, newest)).toHaveLength(2);
      await delivered(moved.as(key), hook, LONG_MS);
      const all = await plain(moved);
      await moved.stop();

      // Back, into files.
      const count = endpoint.accepted.length;
      for (const copied of [1, 300, 1_200])
        await killAt(copied, back, onServers, inFile(join(folder, 'back', 'events.db')));
      await moveTo(back, onServers);
      expect(readdirSync(join(folder, 'back'))).toContain('signing-key');
      const returned = await startTestService({ DATA_DIR: join(folder, 'back'), ...openLoopback });
      expect((await plain(returned)).slice(0, all.length)).toEqual(all);
      const third = await expectSame(returned, second, await idsOf(returned, newest));
      const last = samples.payer();
      expect((await returned.as(key).post(PAYERS, last)).status).toBe(200);
      await delivered(returned.as(key), hook, LONG_MS);
      expect(endpoint.accepted.slice(count).map(({ subject }) => subject)).toEqual([`payer/${last.id}`]);
      expect((await readOn(returned.as(key), third.position)).ids).toEqual(await idsOf(returned, [last]));
      await returned.stop();
      await endpoint.down();
      expect(await cli(sourceEnv, 'verify', '--workspace', workspace, '--head', head)).toMatchObject({
        code: 0,
      });
    },
    LONG_MS,
  );
});
