import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCli, storesOf, temporaryFolder } from '../support/cli.ts';
import type { Client } from '../support/client.ts';
import { phi } from '../support/output.ts';
import { paths, samples } from '../support/samples.ts';
import { onSharedService } from '../support/servers.ts';
import { accessesBy, appendedBy, refusalsBy, type TestService } from '../support/service.ts';

const LONG_MS = 120_000;

onSharedService((start) => {
  const folder = temporaryFolder();
  let service: TestService;
  let client: Client;
  beforeAll(async () => {
    service = await start();
    client = await clientOf('billing');
  });
  afterAll(() => service.stop());

  async function clientOf(label: string): Promise<Client> {
    return service.as((await service.createKey(label, ['write', 'read', 'events'])).key);
  }

  async function send(path: string, record: { id: string }, by = client): Promise<string> {
    expect((await by.post(path, record)).status).toBe(200);
    return record.id;
  }

  const pageOf = async (query: string, path = paths.encounter, by = client) => {
    const answer = await by.get(`${path}?${query}`);
    expect([query, answer.status]).toEqual([query, 200]);
    return answer;
  };

  /** Ids on all pages of a list. */
  async function listed(query: string, path = paths.encounter, by = client): Promise<string[]> {
    const ids: string[] = [];
    for (let token = ''; ; ) {
      const { body } = await pageOf(`${query}&limit=2${token && `&page_token=${token}`}`, path, by);
      ids.push(...body.items.map(({ id }: { id: string }) => id));
      if (body.next_page_token === null) return ids;
      token = body.next_page_token;
    }
  }

  /** Two of each kind that encounters refer to, and encounters that refer to them. */
  async function visits(by = client) {
    const [patients, providers, facilities] = await Promise.all(
      (['patient', 'provider', 'facility'] as const).map((kind) =>
        Promise.all([send(paths[kind], samples[kind](), by), send(paths[kind], samples[kind](), by)]),
      ),
    );
    const [patient = '', otherPatient = ''] = patients ?? [];
    const [provider = '', otherProvider = ''] = providers ?? [];
    const [facility = '', otherFacility = ''] = facilities ?? [];
    const encounter = (more: object, of = patient) =>
      send(paths.encounter, { ...samples.encounter(of), ...more }, by);
    const completed = await encounter({
      provider_id: provider,
      facility_id: facility,
      is_completed: true,
      date_of_service: '2026-03-14T23:30:00-05:00',
    });
    const open = await encounter({ provider_id: otherProvider, facility_id: facility, is_completed: false });
    const bare = await encounter({ date_of_service: '2026-03-15' });
    const others = await encounter(
      {
        provider_id: provider,
        facility_id: otherFacility,
        date_of_service: '2026-04-01T08:00:00Z',
        is_completed: true,
      },
      otherPatient,
    );
    return { patient, otherPatient, provider, facility, otherFacility, completed, open, bare, others };
  }

  test(
    'each filter leaves the records that have the value, and several of them those that have all',
    async () => {
      const by = await clientOf('filters');
      const all = await visits(by);
      const { patient, otherPatient, provider, facility, otherFacility, completed, open, bare, others } = all;
      const expected: Record<string, string[]> = {
        [`patient_id=${patient}`]: [completed, open, bare],
        [`provider_id=${provider}`]: [completed, others],
        [`facility_id=${facility}`]: [completed, open],
        'is_completed=true': [completed, others],
        'is_completed=false': [open, bare],
        'date_of_service_from=2026-03-15': [bare, others],
        'date_of_service_to=2026-03-14': [completed],
        'date_of_service_to=2026-03-15T04:29:59Z': [bare],
        'date_of_service_from=2026-03-15T04:30:00Z&date_of_service_to=2026-03-14T23:30:00-05:00': [completed],
        'date_of_service_from=2026-03-14&date_of_service_to=2026-03-31': [completed, bare],
        [`provider_id=${provider}&patient_id=${otherPatient}`]: [others],
        [`facility_id=${otherFacility}&is_completed=false`]: [],
        [`patient_id=${patient}&is_completed=true&date_of_service_from=2026-03-01`]: [completed],
        'patient_id=nobody': [],
      };
      const appended = await appendedBy(service, async () => {
        for (const [query, ids] of Object.entries(expected)) {
          expect([query, await listed(query, paths.encounter, by)]).toEqual([query, ids]);
          expect([query, await listed(`${query}&sort=-updated_at`, paths.encounter, by)]).toEqual([
            query,
            ids.toReversed(),
          ]);
        }
      });
      expect(appended).toEqual([]);
    },
    LONG_MS,
  );

  test('a record is on the lists of its latest values, in the place where it was created', async () => {
    const by = await clientOf('changes');
    const { patient, facility, otherFacility, completed, open, others } = await visits(by);
    await send(
      paths.encounter,
      { id: open, patient_id: patient, facility_id: otherFacility, is_completed: true } as never,
      by,
    );
    await send(paths.encounter, { id: completed, patient_id: patient, facility_id: null } as never, by);
    expect(await listed(`facility_id=${facility}`, paths.encounter, by)).toEqual([]);
    expect(await listed(`facility_id=${otherFacility}`, paths.encounter, by)).toEqual([open, others]);
    expect(await listed('is_completed=true', paths.encounter, by)).toEqual([completed, open, others]);
  });

  test('ids of any form find what refers to them, and nothing else', async () => {
    const patient = { ...samples.patient(), id: phi('a=b%2F "ü"&日本/..') };
    const id = await send(paths.patient, patient);
    await send(paths.patient, { ...patient, id: `${id}x` });
    const encounter = await send(paths.encounter, samples.encounter(id));
    await send(paths.encounter, samples.encounter(`${id}x`));
    expect(await listed(`patient_id=${encodeURIComponent(id)}`)).toEqual([encounter]);
  });

  test('updated_since takes a position, of a list or the stream, or a moment', async () => {
    const by = await clientOf('since');
    const [first, second, third] = [samples.payer(), samples.payer(), samples.payer()];
    for (const payer of [first, second]) await send(paths.payer, payer, by);
    const { headers } = await pageOf('limit=1', paths.payer, by);
    const since = `updated_since=${headers['chartledger-position']}`;
    expect(await listed(since, paths.payer, by)).toEqual([]);
    await send(paths.payer, third, by);
    await send(paths.payer, { ...first, city: 'Omaha' } as never, by);
    expect(await listed(since, paths.payer, by)).toEqual([first.id, third.id]);
    expect(await listed(`${since}&sort=-updated_at`, paths.payer, by)).toEqual([first.id, third.id]);

    const stream = await by.get('/events?kinds=payer');
    const sequences = stream.text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).sequence);
    expect(await listed(`updated_since=${sequences[2]}`, paths.payer, by)).toEqual([first.id]);
    expect(await listed('updated_since=0', paths.payer, by)).toEqual([first.id, second.id, third.id]);

    const { body } = await by.get(`${paths.payer}/${third.id}`);
    const changed = (await pageOf('limit=10', paths.payer, by)).body.items.filter(
      ({ updated_at }: { updated_at: string }) => updated_at >= body.updated_at,
    );
    const moment = `updated_since=${body.updated_at}`;
    expect(await listed(moment, paths.payer, by)).toEqual(changed.map(({ id }: { id: string }) => id));
    expect(await listed('updated_since=2019-01-01T00:00:00+02:00', paths.payer, by)).toHaveLength(3);
    expect(await listed('updated_since=2999-01-01', paths.payer, by)).toEqual([]);
  });

  test('paging by the last change leaves out nothing that stays, and tells since when to ask again', async () => {
    const by = await clientOf('moving');
    const payers = Array.from({ length: 30 }, samples.payer);
    for (const payer of payers) await send(paths.payer, payer, by);
    const changed = [payers[2], payers[28], payers[15]] as { id: string }[];
    const seen: string[] = [];
    let first: string | undefined;
    for (let token = ''; ; ) {
      const { body, headers } = await pageOf(
        `sort=-updated_at&limit=7${token && `&page_token=${token}`}`,
        paths.payer,
        by,
      );
      first ??= String(headers['chartledger-position']);
      seen.push(...body.items.map(({ id }: { id: string }) => id));
      if (body.next_page_token === null) break;
      token = body.next_page_token;
      for (const payer of changed) await send(paths.payer, { ...payer, city: 'Omaha' } as never, by);
    }
    const stayed = payers.map(({ id }) => id).filter((id) => !changed.some((one) => one.id === id));
    expect(seen.filter((id) => stayed.includes(id))).toEqual(stayed.toReversed());
    expect(new Set(seen).size).toBe(seen.length);
    const again = await listed(`updated_since=${first}&sort=-updated_at`, paths.payer, by);
    expect(again).toEqual(changed.map(({ id }) => id).toReversed());
  });

  test('every sort and filter has the write that was acknowledged just before it', async () => {
    const by = await clientOf('fresh');
    const patient = await send(paths.patient, samples.patient(), by);
    for (let count = 1; count <= 10; count++) {
      const id = await send(paths.encounter, samples.encounter(patient), by);
      expect((await pageOf('sort=-updated_at&limit=1', paths.encounter, by)).body.items[0].id).toBe(id);
      expect((await pageOf(`patient_id=${patient}`, paths.encounter, by)).body.items).toHaveLength(count);
    }
  });

  test(
    'what was erased is on no list',
    async () => {
      const { patient, otherPatient, provider, others } = await visits();
      const args = [
        'records',
        'erase',
        'patient',
        patient,
        '--reason',
        'Request 2026-117',
        '--with-encounters',
        '--workspace',
        service.workspaceId('billing'),
      ];
      const { code, stderr } = await runCli(args, { env: { ...storesOf(service.config), DATA_DIR: folder } });
      expect([code, stderr]).toEqual([0, expect.any(String)]);
      expect(await listed(`patient_id=${patient}`)).toEqual([]);
      expect(await listed(`provider_id=${provider}&sort=-updated_at`)).toEqual([others]);
      expect(await listed(`patient_id=${otherPatient}`)).toEqual([others]);
    },
    LONG_MS,
  );

  test('another workspace has lists of its own', async () => {
    const [one, other] = [await clientOf('one'), await clientOf('another')];
    const patient = samples.patient();
    await send(paths.patient, patient, one);
    await send(paths.encounter, { ...samples.encounter(patient.id), is_completed: true } as never, one);
    for (const query of [
      `patient_id=${patient.id}`,
      'is_completed=true',
      'updated_since=0',
      'sort=-updated_at',
    ]) {
      expect([query, await listed(query, paths.encounter, other)]).toEqual([query, []]);
    }
  });

  test('a page token is good for the list that gave it, whatever the limit', async () => {
    const { patient, provider } = await visits();
    const query = `patient_id=${patient}&sort=-updated_at`;
    const { body } = await pageOf(`${query}&limit=1`);
    const token = `page_token=${body.next_page_token}`;
    expect((await pageOf(`${query}&limit=5&${token}`)).body.items).toHaveLength(2);
    const others = [
      '',
      `patient_id=${patient}`,
      'sort=-updated_at',
      `patient_id=${patient}x&sort=-updated_at`,
      `${query}&provider_id=${provider}`,
      `${query}&updated_since=0`,
    ];
    const refusals = await refusalsBy(service, async () => {
      for (const other of others) {
        const { status, body: refused } = await client.get(`${paths.encounter}?${other}&${token}`);
        expect([other, status, refused.details?.[0]?.field]).toEqual([other, 400, 'page_token']);
      }
      const plain = (await pageOf('limit=1')).body.next_page_token;
      expect((await client.get(`${paths.encounter}?is_completed=true&page_token=${plain}`)).status).toBe(400);
    });
    expect(refusals).toHaveLength(others.length + 1);
  });

  test('the audit trail tells what was asked for, and which records were shown', async () => {
    const by = await clientOf('audited');
    const { patient, completed } = await visits(by);
    const accesses = await accessesBy(service, async () => {
      await pageOf(
        `patient_id=${patient}&is_completed=true&updated_since=0&sort=-updated_at`,
        paths.encounter,
        by,
      );
    });
    const query = {
      limit: 100,
      patient_id: patient,
      is_completed: 'true',
      updated_since: '0',
      sort: '-updated_at',
    };
    expect(accesses).toMatchObject([
      { action: 'record.list', kind: 'encounter', query, shown: { count: 1 } },
    ]);
    const [{ position } = { position: 0 }] = await service.eventLog.readStream(
      `${service.workspaceId('audited')}.encounter-${encodeURIComponent(completed)}`,
      { limit: 1 },
    );
    expect(accesses[0]?.shown).toMatchObject({ ranges: [{ from: position, to: position }] });
  });
});
