import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { CloudEvent } from '../../src/modules/eventStream/cloudEvents.ts';
import { runInWorkspace, temporaryFolder } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { eventsOf } from '../support/log.ts';
import { expectDocumented, fetchDocument } from '../support/openapi.ts';
import { samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy, type TestService } from '../support/service.ts';
import { filesIn, tableIn } from '../support/warehouse.ts';
import { createWebhook, HookEndpoint, openLoopback, patch } from '../support/webhooks.ts';

const LONG_MS = 60_000;
const PATH = '/integration/deidentification';
const SET = 'clinic.deidentification: DeidentificationSet';
const determination = 'Report of J. Doe, PhD, of 2026-02-01';

onEmbeddedEngines((start) => {
  let service: TestService;
  const keys = { officer: '', analyst: '' };
  let endpoint: HookEndpoint;
  beforeAll(async () => {
    endpoint = await HookEndpoint.open();
    service = await start(openLoopback);
    keys.officer = (await service.createKey('clinic', ['settings'])).key;
    keys.analyst = (await service.createKey('clinic', ['events:deidentified'])).key;
    const hooks = service.as((await service.createKey('clinic', ['events:deidentified', 'webhooks'])).key);
    await createWebhook(hooks, { url: endpoint.url, payload: 'deidentified' });
  }, LONG_MS);
  afterAll(async () => {
    await service.stop();
    await endpoint.down();
  });

  const officer = () => service.as(keys.officer);
  const analyst = () => service.as(keys.analyst);
  const ndjson = { accept: 'application/x-ndjson' };
  const events = async () => eventsOf(await analyst().get('/events?after=0&limit=1000', ndjson));
  const command = (...args: string[]) => runInWorkspace(service, 'deidentification', ...args);
  const sink = (folder: string) =>
    runInWorkspace(service, 'sink', 'parquet', folder, '--view', 'deidentified');
  const post = async (path: string, record: object) =>
    expect((await service.post(path, record)).status).toBe(200);
  const bare = ({ dataschema: _, ...event }: CloudEvent) => event;

  test('without any, the view is that of the Safe Harbor; settings are refused that are no settings', async () => {
    const openapi = await fetchDocument(service);
    const appended = await appendedBy(service, async () => {
      const read = await officer().get(PATH);
      expectDocumented(openapi, 'readDeidentification', read);
      const settings = { method: 'safe_harbor', dates: 'years', determination: null, zip_areas: [] };
      expect(read).toMatchObject({ status: 200, body: settings });
      for (const [body, field] of [
        [{ dates: 'shifted' }, 'determination'],
        [{ dates: 'shifted', determination: ' ' }, 'determination'],
        [{ dates: 'years', determination }, 'determination'],
        [{ determination }, 'determination'],
        [{ dates: 'moved' }, 'dates'],
        [{ zip_areas: ['000'] }, 'zip_areas.0'],
        [{ zip_areas: ['68102'] }, 'zip_areas.0'],
      ] as const) {
        const refused = await patch(officer(), PATH, body);
        expectDocumented(openapi, 'setDeidentification', refused);
        expect([body, refused.status, refused.body.details?.[0].field]).toEqual([body, 400, field]);
      }
      expect((await patch(officer(), PATH, {})).status).toBe(200);
      expect((await patch(analyst(), PATH, { zip_areas: ['681'] })).status).toBe(403);
      expect((await analyst().get(PATH)).status).toBe(403);
      expect(await command('set', '--dates', 'shifted')).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('expert determination'),
      });
    });
    expect(appended).toEqual([]);
  });

  test(
    'apply to what is recorded after them, with the same result in the stream, its replays, webhooks and a warehouse, which names the method',
    async () => {
      const folder = temporaryFolder();
      const patient = { ...samples.patient(), zip_code: '68102' };
      const visit = { ...samples.encounter(patient.id), date_of_service: '2026-03-14T09:30:00Z' };
      await post('/integration/patients', patient);
      expect((await sink(folder)).code).toBe(0);

      const file = join(temporaryFolder(), 'zcta.csv');
      writeFileSync(file, 'ZCTA5,NAME,Population\n68101,a,"15,000"\n68102,b,5001\n10001,c,20000\n');
      const appended = await appendedBy(service, async () => {
        const loaded = await command('set', '--zip-areas', file);
        expect(loaded).toMatchObject({ code: 0, stdout: expect.stringContaining('three digits in 1 area') });
        expect(loaded.stdout).toContain('Method: Safe Harbor');
        expect((await patch(officer(), PATH, { zip_areas: ['681'] })).status).toBe(200);
      });
      expect(appended).toEqual([SET]);
      await post('/integration/patients', { ...patient, gender: 'female' });
      const shift = { dates: 'shifted', determination };
      const set = await appendedBy(service, async () => {
        const answer = await patch(officer(), PATH, shift);
        expectDocumented(await fetchDocument(service), 'setDeidentification', answer);
        const { body } = answer;
        expect(body).toEqual({ method: 'expert_determination', ...shift, zip_areas: ['681'] });
        expect((await patch(officer(), PATH, shift)).status).toBe(200);
      });
      expect(set).toEqual([SET]);
      const shown = await command('show');
      expect(shown.stdout).toContain('not Safe Harbor');
      expect(shown.stdout).toContain(determination);
      await post('/integration/patients', patient);
      await post('/integration/encounters', visit);
      const change = { date_of_service: '2026-03-24' };
      expect((await patch(service, `/integration/encounters/${visit.id}`, change)).status).toBe(200);
      expect((await patch(officer(), PATH, { dates: 'years', zip_areas: [] })).status).toBe(200);
      await post('/integration/encounters', visit);

      const read = await events();
      const methods = read.map(({ type, deidentification, data: { sent } }) => [
        type.split('.')[1],
        deidentification,
        sent.zip_code,
        String(sent.date_of_birth ?? sent.date_of_service).length,
      ]);
      const method = 'expert_determination';
      expect(methods.filter(([kind]) => kind === 'patient')).toEqual([
        ['patient', undefined, undefined, 4],
        ['patient', undefined, '681', 4],
        ['patient', method, '681', 10],
      ]);
      const visits = read.filter(({ type }) => type === 'chartledger.encounter.upserted.v1');
      expect(visits.map(({ deidentification }) => deidentification)).toEqual([method, method, undefined]);
      const days = (text: unknown) => Date.parse(String(text)) / 86_400_000;
      const dates = visits.map(({ data }) => data.sent.date_of_service);
      const birth = read.filter(({ type }) => type.includes('patient')).at(-1)?.data.sent.date_of_birth;
      expect(days(dates[1]) - days(dates[0])).toBe(10);
      expect(days(dates[0]) - days(birth)).toBe(days('2026-03-14') - days('1984-02-29'));
      expect(dates[0]).not.toBe('2026-03-14');
      expect(dates[2]).toBe('2026');
      const text = JSON.stringify(read);
      for (const secret of [patient.id, visit.id, '68102', '2026-03-14', '2026-03-24', '1984-02-29'])
        expect(text).not.toContain(secret);

      // Every setting is read anew.
      await service.restart();
      expect((await events()).map(bare)).toEqual(read.map(bare));
      // Some may come twice, because of the restart.
      const bySequence = await eventually(() => {
        const sent = endpoint.accepted.map(({ body }) => JSON.parse(String(body)) as CloudEvent);
        const messages = new Map(sent.map((event) => [event.sequence, bare(event)]));
        expect(messages.size).toBeGreaterThanOrEqual(read.length);
        return messages;
      });
      for (const event of read) expect(bySequence.get(event.sequence)).toEqual(bare(event));

      const fresh = temporaryFolder();
      for (const one of [folder, fresh]) expect((await sink(one)).code).toBe(0);
      expect(filesIn(folder)).toEqual(filesIn(fresh));
      const rows = await tableIn(folder, 'encounter_versions');
      expect(
        rows.map(({ deidentification, date_of_service }) => [deidentification, date_of_service]),
      ).toEqual([
        [method, dates[0]],
        [method, dates[1]],
        ['safe_harbor', '2026'],
      ]);
      expect(await tableIn(folder, 'patients')).toMatchObject([
        { deidentification: method, zip_code: '681', date_of_birth: birth },
      ]);
    },
    LONG_MS,
  );

  test('of a snapshot are those in force at its position', async () => {
    await patch(officer(), PATH, { dates: 'shifted', determination, zip_areas: ['681'] });
    const { text } = await analyst().get('/integration/snapshot?kind=encounter', ndjson);
    const [first, ...records] = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(first.snapshot.view).toBe('deidentified');
    expect(records.slice(0, -1)).toMatchObject([
      {
        deidentification: 'expert_determination',
        record: { date_of_service: expect.stringMatching(/^2025-/) },
      },
    ]);
  });

  test('that only a newer version can read stop this view of the workspace, and nothing else', async () => {
    const other = service.as((await service.createKey('hospital', ['events:deidentified', 'write'])).key);
    expect((await other.post('/integration/payers', samples.payer())).status).toBe(200);
    const workspace = service.workspaceId('clinic');
    const stream = `${workspace}.deidentification`;
    const [last] = await service.eventLog.readStream(stream, { direction: 'backwards', limit: 1 });
    if (last === undefined) throw new Error('nothing was set');
    const metadata = { ...last.metadata, schemaVersion: 9 };
    const newer = { id: uuidv7(), type: last.type, data: { dates: 'blurred' }, metadata };
    const { position } = await service.eventLog.append(stream, newer, 'any');
    await post('/integration/payers', samples.payer());
    const full = service.as((await service.createKey('clinic', ['events'])).key);
    expect(eventsOf(await full.get('/events?after=0&limit=1000', ndjson)).length).toBeGreaterThan(0);
    expect(eventsOf(await other.get('/events?after=0', ndjson))).toHaveLength(1);
    const { status, body } = await analyst().get(`/events?after=${position}`, ndjson);
    expect([status, body.code]).toEqual([503, 'unreadable']);
    expect((await officer().get(PATH)).body.code).toBe('unreadable');
    expect((await sink(temporaryFolder())).stderr).toContain('newer');
  });
});
