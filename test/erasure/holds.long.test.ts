import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Caller } from '../../src/domain/events/newEvent.ts';
import { recordStream } from '../../src/domain/events/streams.ts';
import { catalogEntry } from '../../src/domain/records/catalog.ts';
import { eraseRecord } from '../../src/modules/erasure/erase.ts';
import type { ErasurePorts } from '../../src/modules/erasure/finish.ts';
import { addHold } from '../../src/modules/erasure/holds.ts';
import { appendTombstones } from '../../src/modules/erasure/tombstones.ts';
import { openReadModels } from '../../src/server/openStorage.ts';
import type { EventLog } from '../../src/storage/eventLog.ts';

import { runCli, storesOf, temporaryFolder } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { phi } from '../support/output.ts';
import { samples } from '../support/samples.ts';
import { onEveryEngine } from '../support/servers.ts';
import { accessesBy, appendedBy, changesBy, type TestService } from '../support/service.ts';

const LONG_MS = 120_000;
const CASE = 'Case 2031-17';
const ADDED = 'clinic.holds: HoldAdded';
const RELEASED = 'clinic.holds: HoldReleased';

onEveryEngine((start) => {
  const folder = temporaryFolder();
  let service: TestService;
  beforeAll(async () => {
    service = await start();
    await eventually(async () => expect((await service.get('/integration/patients')).status).toBe(200));
  });
  afterAll(() => service.stop());

  const clinic = () => service.workspaceId('clinic');
  const cliIn = (workspace: string, ...args: string[]) =>
    runCli([...args, '--workspace', workspace], { env: { ...storesOf(service.config), DATA_DIR: folder } });
  const cli = (...args: string[]) => cliIn(clinic(), ...args);
  const caller = (): Caller => ({
    workspace: clinic(),
    principal: { type: 'operator', id: 'test' },
    requestId: crypto.randomUUID(),
  });
  const erase = (kind: string, id: string, ...more: string[]) =>
    cli('records', 'erase', kind, id, '--reason', 'Request 2026-117', ...more);
  const hold = async (...record: string[]): Promise<string> => {
    const { code, stdout, stderr } = await cli('holds', 'create', ...record, '--reason', CASE, '--json');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return JSON.parse(stdout).id;
  };
  const release = async (id: string) => {
    expect(await cli('holds', 'release', id, '--reason', 'closed')).toEqual({
      code: 0,
      stdout: `Hold ${id} is released.\n`,
      stderr: '',
    });
  };
  const post = async (plural: string, body: object) =>
    expect((await service.post(`/integration/${plural}`, body)).status).toBe(200);

  async function createPatient() {
    const patient = { ...samples.patient(), last_name: phi('Lopez') };
    await post('patients', patient);
    const encounter = { id: phi('encounter'), patient_id: patient.id };
    await post('encounters', encounter);
    return { patient, encounter };
  }

  /** Asks for the erasure, which must be refused so, and appends nothing. */
  async function expectRefused(refusal: string, kind: string, id: string, ...more: string[]) {
    const appended = await appendedBy(service, async () => {
      const { code, stdout, stderr } = await erase(kind, id, ...more);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toMatch(/^[^\n]+\n$/);
      expect(stderr).toContain(refusal);
    });
    expect(appended).toEqual([]);
  }

  test(
    'a hold on a patient stops its erasure and that of its encounters, until every hold is released',
    async () => {
      const { patient, encounter } = await createPatient();
      const held: string[] = [];
      const added = await changesBy(service, async () => {
        for (const _ of [1, 2]) held.push(await hold('patient', patient.id));
      });
      expect(added.map(({ data }) => data)).toEqual(
        held.map((hold_id) => ({ hold_id, kind: 'patient', record_id: patient.id, reason: CASE })),
      );
      expect(added.map(({ stream, type }) => [stream, type])).toEqual(
        held.map(() => [`${clinic()}.holds`, 'HoldAdded']),
      );
      const [first = '', second = ''] = held;
      const since = added.map(({ recordedAt }) => recordedAt);
      const both = `under legal hold (${first}, since ${since[0]}; ${second}, since ${since[1]})`;
      for (const more of [[], ['--with-encounters']])
        await expectRefused(`Patient cannot be erased: it is ${both}.`, 'patient', patient.id, ...more);
      await expectRefused(`Encounter cannot be erased: its patient is ${both}.`, 'encounter', encounter.id);

      const released = await appendedBy(service, () => release(first));
      expect(released).toEqual([RELEASED]);
      await expectRefused(`it is under legal hold (${second}, since`, 'patient', patient.id);
      await release(second);
      expect((await erase('patient', patient.id, '--with-encounters')).code).toBe(0);
    },
    LONG_MS,
  );

  test(
    'a hold on an encounter stops its erasure and that of its patient, with or without encounters',
    async () => {
      const { patient, encounter } = await createPatient();
      await post('encounters', { id: phi('encounter'), patient_id: patient.id });
      const id = await hold('encounter', encounter.id);
      await expectRefused(`it is under legal hold (${id}, since `, 'encounter', encounter.id);
      for (const more of [[], ['--with-encounters']]) {
        const refusal = `Patient cannot be erased: a record that refers to it is under legal hold (${id}, since `;
        await expectRefused(refusal, 'patient', patient.id, ...more);
      }
      await release(id);
      expect((await erase('patient', patient.id, '--with-encounters')).code).toBe(0);
    },
    LONG_MS,
  );

  test('a hold on the workspace stops every erasure there, and none elsewhere', async () => {
    const [payer, elsewhere] = [samples.payer(), samples.payer()];
    await post('payers', payer);
    const { key } = await service.createKey('other');
    expect((await service.as(key).post('/integration/payers', elsewhere)).status).toBe(200);
    const changes = await changesBy(service, async () => {
      await release(await hold());
    });
    expect(changes.map(({ data }) => data)).toMatchObject([
      { workspace: clinic(), reason: CASE },
      { workspace: clinic(), reason: 'closed' },
    ]);
    const id = await hold();
    await expectRefused(
      `Payer cannot be erased: the workspace is under legal hold (${id}, since `,
      'payer',
      payer.id,
    );
    const other = await cliIn(
      service.workspaceId('other'),
      'records',
      'erase',
      'payer',
      elsewhere.id,
      '--reason',
      'x',
    );
    expect(other.code).toBe(0);
    await release(id);
  });

  test('what is held can be changed as ever', async () => {
    const payer = samples.payer();
    await post('payers', payer);
    const id = await hold('payer', payer.id);
    const appended = await appendedBy(service, () => post('payers', { ...payer, name: phi('Anew') }));
    expect(appended).toEqual([`clinic.payer-${encodeURIComponent(payer.id)}: PayerUpserted`]);
    await release(id);
  });

  test('a hold that cannot be is refused, and appends nothing', async () => {
    const payer = samples.payer();
    await post('payers', payer);
    expect((await erase('payer', payer.id)).code).toBe(0);
    const released = await hold();
    await release(released);
    const refusals: [string[], string, code?: number][] = [
      [['holds', 'create', 'payer', 'nobody', '--reason', CASE], 'Payer not found.'],
      [['holds', 'create', 'payer', payer.id, '--reason', CASE], 'A hold can no longer protect it.'],
      [['holds', 'create', 'payer', '--reason', CASE], 'specify the id of the record', 2],
      [['holds', 'create', '--reason', ' '], 'error: --reason must have 1 to 1000 characters', 2],
      [['holds', 'release', 'hold_none', '--reason', CASE], 'The workspace has no hold hold_none.'],
      [['holds', 'release', released, '--reason', CASE], `Hold ${released} was already released at 2`],
    ];
    const appended = await appendedBy(service, async () => {
      for (const [args, message, exitCode = 1] of refusals) {
        const { code, stdout, stderr } = await cli(...args);
        expect({ args, code, stdout }).toEqual({ args, code: exitCode, stdout: '' });
        expect(stderr).toContain(message);
      }
    });
    expect(appended).toEqual([]);
  });

  test('a hold that comes behind the tombstone of its patient is too late', async () => {
    const { patient, encounter } = await createPatient();
    const stream = recordStream(clinic(), 'patient', patient.id);
    const tombstone = { kind: 'patient', record_id: patient.id, reason: 'x', with_encounters: true } as const;
    // As an erasure leaves it that is cut off behind its first tombstone, until the service goes on with it.
    await appendTombstones(service.eventLog, caller(), stream, 'Patient', tombstone);
    const { code, stderr } = await cli('holds', 'create', 'encounter', encounter.id, '--reason', CASE);
    expect(code).toBe(1);
    expect(stderr).toMatch(/was already erased at 2\S+\. A hold can no longer protect it\./);
    await eventually(async () =>
      expect((await service.get(`/integration/encounters/${encounter.id}`)).status).toBe(410),
    );
  });

  /** The log, with `first` done before the first call of `method` that is about the stream. */
  function logWith(method: 'append' | 'readStream', stream: string, first: () => Promise<unknown>): EventLog {
    let pending: typeof first | undefined = first;
    return new Proxy(service.eventLog, {
      get(target, name) {
        const own = Reflect.get(target, name);
        if (typeof own !== 'function') return own;
        return async (...args: unknown[]) => {
          const now = name === method && args[0] === stream ? pending : undefined;
          if (now) pending = undefined;
          await now?.();
          return own.apply(target, args);
        };
      },
    });
  }

  test('of a hold and an erasure under way at once one wins, and the other says so', async () => {
    const [payer, kept] = [samples.payer(), samples.payer()];
    for (const one of [payer, kept]) await post('payers', one);
    const stream = recordStream(clinic(), 'payer', payer.id);
    const entry = catalogEntry('payer');

    const lost = await appendedBy(service, async () => {
      const tombstone = { kind: 'payer', record_id: payer.id, reason: 'x' };
      const eventLog = logWith('append', `${clinic()}.holds`, () =>
        appendTombstones(service.eventLog, caller(), stream, 'Payer', tombstone),
      );
      const adding = addHold(eventLog, caller(), { entry, id: payer.id }, CASE);
      await expect(adding).rejects.toMatchObject({ code: 'gone', erasedAt: expect.any(String) });
    });
    expect(lost).toEqual([
      `clinic.payer-${encodeURIComponent(payer.id)}: RecordErased`,
      'clinic.holds: HoldAdded',
      'clinic.holds: HoldReleased',
    ]);

    let holdId = '';
    const won = await appendedBy(service, async () => {
      const eventLog = logWith('readStream', recordStream(clinic(), 'payer', kept.id), async () => {
        holdId = await addHold(service.eventLog, caller(), { entry, id: kept.id }, CASE);
      });
      const readModels = await openReadModels(service.config.readModelUrl);
      const ports = { eventLog, readModels } as unknown as ErasurePorts;
      const erasing = eraseRecord(ports, caller(), entry, kept.id, { reason: 'x' });
      await expect(erasing).rejects.toMatchObject({ code: 'conflict', obstacle: 'held' });
      await readModels.close();
    });
    expect(won).toEqual([ADDED]);
    await release(holdId);
  });

  test('holds are listed, which is an access of its own; the audit trail has each step', async () => {
    const payer = samples.payer();
    await post('payers', payer);
    const ids = [await hold('payer', payer.id), await hold()];
    await release(ids[0] as string);
    let json = '';
    const accesses = await accessesBy(service, async () => {
      const table = await cli('holds', 'list');
      expect(table.stdout).toContain('HOLD');
      expect(table.stdout).toMatch(new RegExp(`^${ids[1]} +the workspace +2\\S+ +\\S+: ${CASE}$`, 'm'));
      expect(table.stdout).not.toContain(ids[0]);
      json = (await cli('holds', 'list', '--all', '--json')).stdout;
    });
    expect(accesses).toEqual([
      { action: 'hold.list', query: { all: false } },
      { action: 'hold.list', query: { all: true } },
    ]);
    const step = (reason: string) => ({
      at: expect.stringMatching(/Z$/),
      principal: expect.anything(),
      reason,
    });
    expect(JSON.parse(json).slice(-2)).toEqual([
      { id: ids[0], kind: 'payer', record_id: payer.id, added: step(CASE), released: step('closed') },
      { id: ids[1], kind: null, record_id: null, added: step(CASE), released: null },
    ]);
    await release(ids[1] as string);
    const appended = await appendedBy(service, async () => release(await hold('payer', payer.id)));
    expect(appended).toEqual([ADDED, RELEASED]);
    expect((await cli('verify')).code).toBe(0);
  });
});
