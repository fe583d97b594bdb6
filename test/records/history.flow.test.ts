import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { unavailable } from '../../src/platform/errors.ts';
import { eventually } from '../support/eventually.ts';
import { phi } from '../support/output.ts';
import {
  minimal,
  pathOf,
  paths,
  type Referred,
  type SpecKind,
  samples,
  upsertReferred,
} from '../support/samples.ts';
import { onSharedService } from '../support/servers.ts';
import { accessesBy, appendedBy, newEvents, startFaultyApp, type TestService } from '../support/service.ts';

const kinds = Object.keys(paths) as SpecKind[];
const historyOf = (kind: SpecKind, id: string, query = '') => `${pathOf(kind, id)}/history${query}`;

onSharedService((start) => {
  let service: TestService;
  let referred: Referred;
  beforeAll(async () => {
    service = await start();
    referred = await upsertReferred(service);
  });
  afterAll(() => service.stop());

  const history = async (kind: SpecKind, id: string, query = '') =>
    (await service.get(historyOf(kind, id, query))).body;
  const changesOf = async (kind: SpecKind, id: string) => (await history(kind, id)).items[0].changes;

  describe('the versions of a record', () => {
    test.each(kinds)('a %s sent twice has two, and nothing changed in the second', async (kind) => {
      const made = await service.keys.createKey(service.workspaceId('clinic'), 'EMR K', ['write']);
      const sender = service.as(made.key);
      const sent = minimal(kind, referred);
      const events = await newEvents(service, async () => {
        for (let turn = 0; turn < 2; turn++) {
          await sender.post(paths[kind], sent, { 'user-agent': 'emr/2.4' });
        }
      });
      const [first, second] = events.map(({ id, type, recordedAt, revision }) => ({
        version: revision + 1,
        event_id: id,
        type,
        recorded_at: recordedAt,
        principal: { type: 'api_key', id: made.id, name: 'EMR K' },
        client_ip: '127.0.0.1',
        user_agent: 'emr/2.4',
        request_id: id,
      }));
      const created = Object.entries(sent).map(([field, to]) => ({ field, from: null, to }));
      const appended = await appendedBy(service, async () => {
        expect(await history(kind, sent.id)).toEqual({
          items: [
            { ...second, outcome: 'unchanged', changes: [] },
            { ...first, outcome: 'created', changes: created },
          ],
          next_page_token: null,
        });
      });
      expect(appended).toEqual([]);
    });

    test('a change names the field as it was and as it is, and null for none', async () => {
      const payer = samples.payer();
      const [city, other] = [phi('Omaha'), phi('Lincoln')];
      const steps: [object, object[]][] = [
        [{ city }, [{ field: 'city', from: null, to: city }]],
        [{ city: other }, [{ field: 'city', from: city, to: other }]],
        [{ city: null }, [{ field: 'city', from: other, to: null }]],
        [{ city: null }, []],
        [{ country: 'US' }, [{ field: 'country', from: null, to: 'US' }]],
        [{}, []],
      ];
      await service.post(paths.payer, payer);
      for (const [fields, changes] of steps) {
        await service.post(paths.payer, { ...payer, ...fields });
        expect((await history('payer', payer.id)).items[0]).toMatchObject({
          outcome: changes.length > 0 ? 'updated' : 'unchanged',
          changes,
        });
      }
    });

    test('insurances change by dotted field; one that is replaced loses what it no longer has', async () => {
      const patient = samples.patient();
      const [policy, other, group] = [phi('W1'), phi('W2'), phi('G1')];
      const primary = (fields: object) => ({ ...patient, primary_insurance: fields });
      const payer_id = referred.payer;
      await service.post(paths.patient, primary({ payer_id, policy_number: policy, group_number: group }));
      const names = (await changesOf('patient', patient.id)).map(({ field }: { field: string }) => field);
      expect(names).toEqual(expect.arrayContaining(['primary_insurance.payer_id']));
      await service.post(paths.patient, patient);
      expect(await changesOf('patient', patient.id)).toEqual([]);
      await service.post(paths.patient, primary({ payer_id, policy_number: other }));
      expect(await changesOf('patient', patient.id)).toEqual([
        { field: 'primary_insurance.policy_number', from: policy, to: other },
        { field: 'primary_insurance.group_number', from: group, to: null },
      ]);
      await service.post(paths.patient, { ...patient, primary_insurance: null });
      expect(await changesOf('patient', patient.id)).toEqual([
        { field: 'primary_insurance.payer_id', from: payer_id, to: null },
        { field: 'primary_insurance.policy_number', from: other, to: null },
      ]);
    });

    test('a key keeps its name after it is deleted', async () => {
      const workspace = service.workspaceId('clinic');
      const made = await service.keys.createKey(workspace, 'Left long ago', ['write']);
      const payer = samples.payer();
      await service.as(made.key).post(paths.payer, payer);
      await service.keys.setKeyState(made.id, 'deleted');
      await eventually(async () => {
        expect((await service.as(made.key).post(paths.payer, payer)).status).toBe(401);
      });
      const { principal } = (await history('payer', payer.id)).items[0];
      expect(principal).toEqual({ type: 'api_key', id: made.id, name: 'Left long ago' });
    });
  });

  describe('pages', () => {
    test('neither skip nor repeat a version while new ones arrive', async () => {
      const payer = samples.payer();
      const send = (name: string) => service.post(paths.payer, { ...payer, name });
      for (let version = 1; version <= 7; version++) await send(`Aetna ${version}`);
      const versions: number[] = [];
      const names: (string | null)[] = [];
      for (let token: string | null = ''; token !== null; ) {
        const page = await history('payer', payer.id, `?limit=2${token && `&page_token=${token}`}`);
        expect(page.items.length).toBeLessThanOrEqual(2);
        for (const { version, changes } of page.items) {
          versions.push(version);
          names.push(changes.find(({ field }: { field: string }) => field === 'name').from);
        }
        token = page.next_page_token;
        await send(phi('Aetna'));
      }
      expect(versions).toEqual([7, 6, 5, 4, 3, 2, 1]);
      // Each page knows the state before its oldest version, which lies on the next one.
      expect(names).toEqual([...[6, 5, 4, 3, 2, 1].map((version) => `Aetna ${version}`), null]);
      const newest = await history('payer', payer.id, '?limit=1');
      expect(newest.items[0].version).toBe(7 + 4);
    });

    test('tell the same, wherever one ends', async () => {
      const patient = samples.patient();
      const insurance = { payer_id: referred.payer, policy_number: phi('W1') };
      const steps: object[] = [
        { city: phi('Omaha'), primary_insurance: insurance, state: 'NE' },
        ...Array.from({ length: 10 }, (_, at) => ({ phone: `402 555 ${at}` })),
        { city: null, secondary_insurance: { ...insurance, group_number: phi('G1') } },
        { primary_insurance: { payer_id: referred.payer }, state: 'NE' },
        { city: phi('Lincoln'), secondary_insurance: null, email: phi('maria') },
        { phone: null, country: 'US', primary_insurance: insurance },
        {},
      ];
      for (const step of steps) await service.post(paths.patient, { ...patient, ...step });
      const whole = (await history('patient', patient.id)).items;
      expect(whole).toHaveLength(steps.length);
      for (const limit of [1, 2, 3, 7]) {
        const paged: object[] = [];
        for (let token: string | null = ''; token !== null; ) {
          const query = `?limit=${limit}${token && `&page_token=${token}`}`;
          const page = await history('patient', patient.id, query);
          paged.push(...page.items);
          token = page.next_page_token;
        }
        expect(paged).toEqual(whole);
      }
    });

    test('a stream of more versions than are read at once is told right', async () => {
      const payer = { ...samples.payer(), city: phi('Omaha') };
      await service.post(paths.payer, payer);
      for (let wave = 0; wave < 6; wave++) {
        const names = Array.from({ length: 100 }, (_, at) => `Aetna ${wave} ${at}`);
        const sent = names.map((name) => service.post(paths.payer, { id: payer.id, name }));
        for (const { status, text } of await Promise.all(sent)) expect(status, text).toBe(200);
      }
      await service.post(paths.payer, { id: payer.id, name: 'Aetna', city: null });
      const page = await history('payer', payer.id, '?limit=1');
      expect(page.items[0]).toMatchObject({ version: 602, outcome: 'updated' });
      expect(page.items[0].changes).toContainEqual({ field: 'city', from: payer.city, to: null });
      const { body, headers } = await service.get(`${pathOf('payer', payer.id)}?version=601`);
      expect(body.record).toMatchObject({ city: payer.city });
      expect(headers.etag).toBe('"601"');
    });
  });

  describe('refusals append nothing, and leave no trace in the audit trail', () => {
    const refused = async (work: () => Promise<void>) => {
      expect(
        await accessesBy(service, async () => expect(await appendedBy(service, work)).toEqual([])),
      ).toEqual([]);
    };

    test('what is not there is 404', async () => {
      const payer = samples.payer();
      await service.post(paths.payer, payer);
      const nowhere = phi('nowhere');
      await refused(async () => {
        for (const kind of kinds) {
          const answers = [
            historyOf(kind, nowhere),
            historyOf(kind, 'x'.repeat(256)),
            `${pathOf(kind, nowhere)}?version=1`,
            `${pathOf(kind, nowhere)}?as_of=2999-01-01`,
          ].map((path) => service.get(path));
          for (const { status, body, text } of await Promise.all(answers)) {
            expect({ status, body }).toMatchObject({ status: 404, body: { code: 'not_found' } });
            expect(text).not.toContain(nowhere);
          }
        }
        const beyond = await service.get(`${pathOf('payer', payer.id)}?version=2`);
        expect(beyond).toMatchObject({ status: 404, body: { error: 'The payer has no version 2.' } });
      });
    });

    test('what makes no sense is 400', async () => {
      const payer = samples.payer();
      await service.post(paths.payer, payer);
      const path = pathOf('payer', payer.id);
      const wrong: [string, string][] = [
        [`${path}?version=0`, 'version'],
        [`${path}?version=x`, 'version'],
        [`${path}?version=1e0`, 'version'],
        [`${path}?version=1&version=2`, 'version'],
        [`${path}?as_of=yesterday`, 'as_of'],
        [`${path}?as_of=2026-02-30`, 'as_of'],
        [`${path}?as_of=2026-02-01&as_of=2026-02-02`, 'as_of'],
        [`${path}?version=1&as_of=2026-02-01`, 'as_of'],
        [`${path}/history?limit=0`, 'limit'],
        [`${path}/history?page_token=x`, 'page_token'],
      ];
      await refused(async () => {
        for (const [asked, field] of wrong) {
          const { status, body } = await service.get(asked);
          expect({ asked, status, body }).toMatchObject({ status: 400, body: { details: [{ field }] } });
        }
      });
    });

    test("another workspace's records are not there, and a key that may not read is refused", async () => {
      const payer = samples.payer();
      await service.post(paths.payer, payer);
      const stranger = service.as((await service.createKey('elsewhere')).key);
      const writer = service.as((await service.createKey('clinic', ['write'])).key);
      await refused(async () => {
        for (const path of [historyOf('payer', payer.id), `${pathOf('payer', payer.id)}?version=1`]) {
          expect((await stranger.get(path)).status).toBe(404);
          expect((await writer.get(path)).status).toBe(403);
          expect((await service.as(undefined).get(path)).status).toBe(401);
        }
      });
    });
  });

  test('every read is in the audit trail, as it was asked', async () => {
    const payer = samples.payer();
    await service.post(paths.payer, payer);
    const path = pathOf('payer', payer.id);
    const accesses = await accessesBy(service, async () => {
      await service.get(`${path}/history?limit=5`);
      await service.get(`${path}?version=1`);
      await service.get(`${path}?as_of=2999-01-01`);
    });
    const record = { kind: 'payer', record_id: payer.id };
    expect(accesses).toEqual([
      { action: 'record.history', ...record, query: { limit: 5 } },
      { action: 'record.read', ...record, query: { version: 1 } },
      { action: 'record.read', ...record, query: { as_of: '2999-01-01' } },
    ]);
  });

  test('what cannot be written into the audit trail is not read', async () => {
    const payer = samples.payer();
    await service.post(paths.payer, payer);
    const append = () => Promise.reject(unavailable('event log'));
    const faulty = await startFaultyApp(service, { eventLog: { append } });
    for (const path of [historyOf('payer', payer.id), `${pathOf('payer', payer.id)}?version=1`]) {
      const { status, text } = await faulty.get(path);
      expect(status).toBe(503);
      expect(text).not.toContain(payer.name);
    }
    await faulty.stop();
  });
});
