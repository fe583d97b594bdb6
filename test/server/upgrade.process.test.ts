import { rmSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { formatPosition } from '../../src/modules/eventStream/position.ts';
import { storesOf, temporaryFolder } from '../support/cli.ts';
import { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { EventReader } from '../support/log.ts';
import { phi } from '../support/output.ts';
import { newerBuild, ServiceProcess } from '../support/processes.ts';
import { freshClaim, readiness, sendClaim, worklist } from '../support/readiness.ts';
import { createEncounter, documentForm, documentsPath, pathOf, paths, samples } from '../support/samples.ts';
import { freePort, onEmbeddedEngines, onEveryEngine } from '../support/servers.ts';
import { appendedBy, readinessAt, type TestService } from '../support/service.ts';
import { createWebhook, HookEndpoint } from '../support/webhooks.ts';

const LONG_MS = 180_000;
const ids = (items: { id: string }[]) => items.map(({ id }) => id);

onEveryEngine((start) => {
  let old: TestService;
  let newer: ServiceProcess | undefined;
  let folder: string;
  let newerMetrics: string;
  /** The commands that start the newer builds, by their options: what a build compiled is there for its next start. */
  const builds = new Map<string, string[]>();
  beforeEach(async () => {
    old = await start({ WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8' });
    newerMetrics = `http://127.0.0.1:${await freePort()}/metrics`;
    folder = temporaryFolder();
  });
  afterEach(async () => {
    await newer?.end();
    newer = undefined;
    await old.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Starts the newer build beside the old one; its client has the old one's key. */
  async function startNewer(roles: string, options = {}): Promise<Client> {
    const name = JSON.stringify(options);
    const command = builds.get(name) ?? newerBuild(temporaryFolder(), options);
    builds.set(name, command);
    const { dataDir } = old.config;
    const env = {
      ...storesOf(old.config),
      DATA_DIR: dataDir,
      ROLES: roles,
      NODE_ENV: 'production',
      RATE_LIMIT_PER_MINUTE: '0',
      WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8',
      METRICS_PORT: new URL(newerMetrics).port,
    };
    newer = new ServiceProcess(env, { command });
    return new Client(await newer.url(), (await old.createKey('clinic', ['write', 'read', 'events'])).key);
  }

  /** A list as soon as it is up to date. */
  const list = (client: Client, path: string) =>
    eventually(async () => {
      const { status, body } = await client.get(`${path}?limit=1000`);
      expect(status).toBe(200);
      return body;
    }, LONG_MS);

  /** How many events the read models could not take, as the newer build knows them. */
  const parked = async () => {
    const { projections } = await readinessAt(newerMetrics);
    return Object.values(projections).reduce((all, one) => all + one.parked, 0);
  };

  test(
    'an old process refuses what a newer one wrote, and nothing else; its worklist says what it can tell; the newer one heals what it left',
    async () => {
      const [before, touched, after] = [samples.payer(), samples.payer(), samples.payer()];
      for (const payer of [before, touched]) await old.post(paths.payer, payer);
      const encounter = await createEncounter(old);
      const document_id = phi('document');
      await old.upload(documentsPath(encounter), documentForm({ document_id }));
      const claims = old.as((await old.createKey('claims', ['write', 'read'])).key);
      const claim = freshClaim();
      await sendClaim(claims, claim);
      const stateOf = async (client: Client) => {
        const { items } = await worklist(client, '', { timeoutMs: LONG_MS });
        return items.map(({ id, state }) => [id, state]);
      };
      expect(await stateOf(claims)).toEqual([[claim.encounter.id, 'ready']]);
      const newApi = await startNewer('api');
      const appended = await appendedBy(old, async () => {
        expect((await newApi.post(paths.payer, { ...touched, city: 'Omaha' })).body.version).toBe(2);
        expect((await newApi.post(paths.payer, after)).body.version).toBe(1);
        expect(
          (await newApi.upload(documentsPath(encounter), documentForm({ document_id }))).body.version,
        ).toBe(2);
        // The old one goes on to take everything, records of the newer one's too.
        expect((await old.post(paths.payer, { ...touched, state: 'NE' })).body.version).toBe(3);
        const patient = { ...samples.patient(), primary_insurance: { payer_id: after.id } };
        expect((await old.post(paths.patient, patient)).status).toBe(200);
        expect((await old.get(pathOf('patient', patient.id))).status).toBe(200);
      });
      expect(appended).toHaveLength(5);

      for (const { id } of [touched, after]) {
        for (const suffix of ['', '/history']) {
          const refused = await old.get(pathOf('payer', id) + suffix);
          expect(refused).toMatchObject({ status: 503, body: { code: 'unreadable' } });
          expect(refused.headers['retry-after']).toBe('30');
        }
      }
      expect((await old.get(`${pathOf('payer', touched.id)}?version=1`)).body.record).toMatchObject(touched);
      expect((await old.get(pathOf('payer', before.id))).body.record).toMatchObject(before);
      const oldList = await list(old, paths.payer);
      expect(ids(oldList.items)).toEqual([before.id]);
      expect(oldList.unreadable).toEqual([touched.id, after.id]);
      expect(await list(old, documentsPath(encounter))).toMatchObject({
        items: [],
        unreadable: [document_id],
      });

      const merged = { ...touched, city: 'Omaha', state: 'NE' };
      const check = async (client: Client) => {
        const { body } = await client.get(pathOf('payer', touched.id));
        expect(body).toMatchObject({ version: 3, record: merged });
        const { items, unreadable } = await list(client, paths.payer);
        expect({ ids: ids(items), unreadable }).toEqual({
          ids: ids([before, touched, after]),
          unreadable: [],
        });
        expect(items[1]).toEqual(body);
        const documents = await list(client, documentsPath(encounter));
        expect(documents).toMatchObject({ items: [{ document_id, version: 2 }], unreadable: [] });
      };
      await check(newApi);
      const newClaims = new Client(newApi.url, claims.key);
      expect((await newClaims.post(paths.payer, { ...claim.payer, payer_code: null })).body.version).toBe(2);
      expect(await stateOf(claims)).toEqual([[claim.encounter.id, 'ready']]);
      expect(await parked()).toBeGreaterThan(0);

      await old.restart(async () => {
        await newer?.end();
        const client = await startNewer('api,projector');
        await eventually(async () => expect(await parked()).toBe(0), LONG_MS);
        await check(client);
        const healed = new Client(client.url, claims.key);
        expect((await readiness(healed, claim)).state).toBe('blocked');
        await eventually(async () =>
          expect(await stateOf(healed)).toEqual([[claim.encounter.id, 'blocked']]),
        );
      });
    },
    LONG_MS,
  );

  onEmbeddedEngines(() => {
    test(
      'the event stream and webhooks of an old process stop before what it cannot read, and the newer one goes on',
      async () => {
        const endpoint = await HookEndpoint.open();
        const reader = old.as((await old.createKey('clinic', ['write', 'events', 'webhooks'])).key);
        await createWebhook(reader, { url: endpoint.url, kinds: ['payer'] });
        const [first, second, third] = [samples.payer(), samples.payer(), samples.payer()];
        const after = (await reader.get('/events')).headers['last-event-id'] ?? '';
        await reader.post(paths.payer, first);
        const newApi = await startNewer('api');
        const now = formatPosition(await old.eventLog.head());
        const [payers, facilities] = await Promise.all(
          ['payer', 'facility'].map((kind) => EventReader.open(reader, `/events?kinds=${kind}&after=${now}`)),
        );
        await newApi.post(paths.payer, second);
        await reader.post(paths.payer, third);
        const facility = samples.facility();
        await reader.post(paths.facility, facility);

        expect((await facilities?.count(1))?.[0]?.subject).toBe(
          `facility/${encodeURIComponent(facility.id)}`,
        );
        await eventually(() => expect(payers?.ended).toBe(true));
        expect(payers?.events).toEqual([]);
        facilities?.kill();
        const page = await reader.get(`/events?kinds=payer&limit=10${after && `&after=${after}`}`);
        const lines = page.text
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line));
        expect(lines.map(({ subject }) => subject)).toEqual([`payer/${encodeURIComponent(first.id)}`]);
        const { sequence } = lines[0];
        const refused = await reader.get(`/events?kinds=payer&after=${sequence}`);
        expect(refused).toMatchObject({ status: 503, body: { code: 'unreadable' } });
        const others = await reader.get('/events?kinds=facility');
        expect(others.text).toContain(facility.id);
        await eventually(async () => {
          const rest = await newApi.get(`/events?kinds=payer&after=${sequence}`);
          expect(rest.text.trim().split('\n')).toHaveLength(2);
        });
        // A message may come twice, where an instance lost its lease before it had saved how far it was.
        const told = () => [...new Set(endpoint.accepted.map(({ subject }) => subject))];
        const subjects = [first, second, third].map(({ id }) => `payer/${encodeURIComponent(id)}`);
        await eventually(() => expect(told()).toEqual(subjects.slice(0, 1)));

        await old.restart(async () => {
          await newer?.end();
          await startNewer('api,projector,webhooks');
          await eventually(() => expect(told().toSorted()).toEqual(subjects.toSorted()), LONG_MS);
        });
        await endpoint.down();
      },
      LONG_MS,
    );
  });

  describe('with another read model', () => {
    test(
      'both versions keep their own lists while both run',
      async () => {
        const [one, two] = [samples.payer(), samples.facility()];
        await old.post(paths.facility, two);
        const client = await startNewer('api,projector', { withNewModel: true });
        await client.post(paths.payer, one);
        await old.post(paths.facility, { ...two, city: 'Omaha' });
        for (const api of [old, client]) {
          const { items, unreadable } = await list(api, paths.facility);
          expect(items).toMatchObject([{ id: two.id, version: 2, record: { city: 'Omaha' } }]);
          expect(unreadable).toEqual([]);
        }
        expect((await list(old, paths.payer)).unreadable).toEqual([one.id]);
        expect(ids((await list(client, paths.payer)).items)).toEqual([one.id]);
      },
      LONG_MS,
    );
  });
});
