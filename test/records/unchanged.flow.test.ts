import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCli, storesOf, temporaryFolder } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { phi } from '../support/output.ts';
import { minimal, paths, type Referred, samples, upsertReferred } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { accessesBy, appendedBy, type TestService } from '../support/service.ts';

const skip = (path: string) => `${path}?unchanged=skip`;

onEmbeddedEngines((start) => {
  const folder = temporaryFolder();
  let service: TestService;
  let referred: Referred;
  beforeAll(async () => {
    service = await start();
    referred = await upsertReferred(service);
  });
  afterAll(() => service.stop());

  const cli = (...args: string[]) => runCli(args, { env: { ...storesOf(service.config), DATA_DIR: folder } });

  test.each(['payer', 'patient', 'provider', 'facility', 'encounter'] as const)(
    'a %s that is so already gets no new version, with the option alone',
    async (kind) => {
      const sent = minimal(kind, referred);
      const appended = await appendedBy(service, async () => {
        const first = await service.post(skip(paths[kind]), sent);
        expect(first.body).toMatchObject({ outcome: 'created', version: 1 });
        const { status, headers, body } = await service.post(skip(paths[kind]), { ...sent, nickname: '' });
        expect([status, headers.etag]).toEqual([200, '"1"']);
        expect(body).toEqual({
          success: true,
          message: expect.stringMatching(/^[A-Z][a-z]+ unchanged$/),
          version: 1,
          outcome: 'unchanged',
          warnings: [{ field: 'nickname', message: 'is not a known field and was not stored' }],
        });
        const third = await service.post(paths[kind], sent);
        expect(third.body).toMatchObject({ outcome: 'updated', version: 2 });
      });
      expect(appended).toHaveLength(2);
    },
  );

  test('what counts is what the record is, not what was sent last', async () => {
    const patient = samples.patient();
    const appended = await appendedBy(service, async () => {
      await service.post(skip(paths.patient), { ...patient, phone: '1', email: 'a@example.com' });
      const outcomes: [string, number][] = [];
      for (const sent of [
        { ...patient, phone: '2' },
        { ...patient, phone: '1' },
        { ...patient, email: 'a@example.com' },
        { ...patient, fax: null, city: null },
        { ...patient, phone: null },
        { ...patient, phone: null },
        { ...patient, country: 'US' },
      ]) {
        const { body } = await service.post(skip(paths.patient), sent);
        outcomes.push([body.outcome, body.version]);
      }
      expect(outcomes).toEqual([
        ['updated', 2],
        ['updated', 3],
        ['unchanged', 3],
        ['unchanged', 3],
        ['updated', 4],
        ['unchanged', 4],
        // A default is nothing that anybody sent.
        ['updated', 5],
      ]);
    });
    expect(appended).toHaveLength(5);
  });

  test('an insurance is unchanged when the one of its rank is the same whole', async () => {
    const insurance = { payer_id: referred.payer, policy_number: phi('policy'), group_number: phi('group') };
    const patient = { ...samples.patient(), primary_insurance: insurance };
    const appended = await appendedBy(service, async () => {
      await service.post(skip(paths.patient), patient);
      const outcomeOf = async (primary_insurance: unknown) =>
        (await service.post(skip(paths.patient), { ...patient, primary_insurance })).body.outcome;
      const { group_number, ...part } = insurance;
      expect(await outcomeOf({ group_number, ...part, effective_date: null })).toBe('unchanged');
      expect(await outcomeOf(part)).toBe('updated');
      expect(await outcomeOf(part)).toBe('unchanged');
      expect(await outcomeOf(null)).toBe('updated');
      expect(await outcomeOf(null)).toBe('unchanged');
    });
    expect(appended).toHaveLength(3);
  });

  test('references and conditions are checked all the same', async () => {
    const encounter = samples.encounter(referred.patient);
    const missing = phi('nobody');
    const appended = await appendedBy(service, async () => {
      await service.post(paths.encounter, encounter);
      const bad = await service.post(skip(paths.encounter), { ...encounter, facility_id: missing });
      expect([bad.status, bad.body.code]).toEqual([400, 'reference_not_found']);
      const moved = await service.post(skip(paths.encounter), encounter, { 'if-match': '"2"' });
      expect([moved.status, moved.body.version]).toEqual([412, 1]);
      const there = await service.post(skip(paths.encounter), encounter, { 'if-none-match': '*' });
      expect(there.status).toBe(412);
      const met = await service.post(skip(paths.encounter), encounter, { 'if-match': '"1"' });
      expect([met.status, met.body.outcome]).toEqual([200, 'unchanged']);
    });
    expect(appended).toEqual([`clinic.encounter-${encounter.id}: EncounterUpserted`]);
  });

  test('of the same record sent at once, one becomes an event; of different ones, each does', async () => {
    const payer = samples.payer();
    const appended = await appendedBy(service, async () => {
      const answers = await Promise.all(
        Array.from({ length: 8 }, () => service.post(skip(paths.payer), payer)),
      );
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
      const outcomes = answers.map(({ body }) => body.outcome).toSorted();
      expect(outcomes).toEqual(['created', ...Array(7).fill('unchanged')]);
      const changes = await Promise.all(
        Array.from({ length: 8 }, (_, at) => service.post(skip(paths.payer), { ...payer, city: `${at}` })),
      );
      expect(changes.map(({ body }) => body.outcome)).toEqual(Array(8).fill('updated'));
      expect(changes.map(({ body }) => body.version).toSorted((a, b) => a - b)).toEqual([
        2, 3, 4, 5, 6, 7, 8, 9,
      ]);
    });
    expect(appended).toHaveLength(9);
  });

  test('a record that was erased is created anew', async () => {
    const payer = samples.payer();
    await service.post(paths.payer, payer);
    const erased = await cli(
      ...[
        'records',
        'erase',
        'payer',
        payer.id,
        '--reason',
        'Test',
        '--workspace',
        service.workspaceId('clinic'),
      ],
    );
    expect(erased.code).toBe(0);
    const appended = await appendedBy(service, async () => {
      const { body } = await service.post(skip(paths.payer), payer);
      expect(body.outcome).toBe('created');
      const again = await service.post(skip(paths.payer), payer);
      expect(again.body).toMatchObject({ outcome: 'unchanged', version: body.version });
    });
    expect(appended).toHaveLength(1);
  });

  test('a workspace may skip by default, and a request still append', async () => {
    const { key } = await service.createKey('nightly');
    const client = service.as(key);
    const payer = samples.payer();
    const id = service.workspaceId('nightly');
    const known = samples.payer();
    await client.post(paths.payer, known);
    const set = (choice: string) => cli('workspaces', 'set', id, '--unchanged', choice);
    const settings = await appendedBy(service, async () => {
      const { code, stdout } = await set('skip');
      expect([code, stdout]).toEqual([0, `Writes to workspace ${id} that change no field are skipped.\n`]);
      expect((await set('skip')).code).toBe(0);
      expect((await set('maybe')).code).not.toBe(0);
      const listed = JSON.parse((await cli('workspaces', 'list', '--json')).stdout);
      expect(listed).toContainEqual(expect.objectContaining({ id, unchanged: 'skip' }));
    });
    expect(settings).toEqual(['access: WorkspaceUnchangedSet']);
    // A running service follows the change by itself.
    await eventually(async () => {
      const { body } = await client.post(`${paths.payer}?dry_run=true`, known);
      expect(body.version).toBe(1);
    });
    const appended = await appendedBy(service, async () => {
      await client.post(paths.payer, payer);
      expect((await client.post(paths.payer, payer)).body).toMatchObject({
        outcome: 'unchanged',
        version: 1,
      });
      expect((await client.post(`${paths.payer}?unchanged=append`, payer)).body).toMatchObject({
        version: 2,
      });
      expect((await service.post(paths.payer, payer)).body.outcome).toBe('created');
      expect((await service.post(paths.payer, payer)).body).toMatchObject({ outcome: 'updated', version: 2 });
    });
    expect(appended.filter((line) => line.startsWith('nightly.'))).toHaveLength(2);
    expect(appended.filter((line) => line.startsWith('clinic.'))).toHaveLength(2);
    expect((await set('append')).code).toBe(0);
    expect((await client.post(skip(paths.payer), payer)).body.outcome).toBe('unchanged');
  });

  test('what was skipped, and dry runs, are one entry of the audit trail each for a key, with their counts', async () => {
    const { key } = await service.createKey('tallied');
    const client = service.as(key);
    const payer = samples.payer();
    await client.post(paths.payer, payer);
    const accesses = await accessesBy(service, async () => {
      for (let times = 0; times < 3; times += 1) await client.post(skip(paths.payer), payer);
      for (let times = 0; times < 2; times += 1) await client.post(`${paths.payer}?dry_run=true`, payer);
      await service.restart();
    });
    const mine = accesses.filter(({ count }) => count !== undefined);
    expect(mine).toEqual(
      expect.arrayContaining([
        { action: 'record.unchanged', count: 3 },
        { action: 'record.dry_run', count: 2 },
      ]),
    );
  });
});
