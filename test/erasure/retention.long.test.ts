import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { recordStream } from '../../src/domain/events/streams.ts';
import { AccessIndex, accessedSubject } from '../../src/modules/audit/accessIndex.ts';
import { readAuditTrail } from '../../src/modules/audit/trail.ts';
import { openReadModels } from '../../src/server/openStorage.ts';

import { runCli, storesOf, temporaryFolder } from '../support/cli.ts';
import { momentBetween, sixYearsAfter, withClockAt } from '../support/erasure.ts';
import { eventually } from '../support/eventually.ts';
import { phi } from '../support/output.ts';
import { documentForm, documentsPath, samples } from '../support/samples.ts';
import { onEveryEngine } from '../support/servers.ts';
import { accessesBy, appendedBy, changesBy, type TestService } from '../support/service.ts';

const LONG_MS = 120_000;
const LONG_AGO = '2015-03-14';

onEveryEngine((start) => {
  const folder = temporaryFolder();
  let service: TestService;
  let label = '';
  let send: (plural: string, body: object) => Promise<void>;
  let workspaces = 0;
  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.stop());

  const workspace = () => service.workspaceId(label);
  const client = async () => service.as((await service.createKey(label)).key);
  beforeEach(async () => {
    workspaces += 1;
    label = `kept${workspaces}`;
    const own = await client();
    send = async (plural, body) => expect((await own.post(`/integration/${plural}`, body)).status).toBe(200);
    await eventually(async () => expect((await own.get('/integration/patients')).status).toBe(200));
  });

  const cli = (args: string[], more: Record<string, string> = {}) =>
    runCli(args, { env: { ...storesOf(service.config), DATA_DIR: folder, ...more } });
  const choose = async (choice: string) =>
    expect((await cli(['retention', 'set', choice, '--workspace', workspace()])).code).toBe(0);
  const retention = (time: number, verb: 'list' | 'apply', ...more: string[]) =>
    withClockAt(time, () => cli(['retention', verb, '--workspace', workspace(), ...more]));
  const listed = async (time: number) => {
    const { code, stdout, stderr } = await retention(time, 'list', '--format', 'json');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return JSON.parse(stdout) as { kind: string; id: string; state: string; encounters: number }[];
  };
  const namesOf = (found: { kind: string; id: string; state: string }[]) =>
    found.map(({ kind, id, state }) => `${kind} ${id} ${state}`);

  const patient = async (more: object = {}) => {
    const one = { ...samples.patient(), last_name: phi('Lopez'), ...more };
    await send('patients', one);
    return one;
  };
  const encounter = async (patient_id: string, more: object = {}) => {
    const one = { id: phi('encounter'), patient_id, date_of_service: LONG_AGO, ...more };
    await send('encounters', one);
    return one.id;
  };
  const payer = async () => {
    const one = samples.payer();
    await send('payers', one);
    return one;
  };

  test('a workspace keeps everything until it has a retention, by itself or by the setting', async () => {
    const appended = await changesBy(service, async () => {
      const { code, stderr } = await cli(['retention', '--workspace', workspace()]);
      expect(code).toBe(1);
      expect(stderr).toContain(`Workspace ${workspace()} keeps everything.`);
      for (const [choice, message] of [
        ['5', 'Retention must be 6 to 100 years.'],
        ['101', 'Retention must be 6 to 100 years.'],
        ['for ever', 'Specify a number of years, off, or default.'],
      ] as const) {
        const refused = await cli(['retention', 'set', choice, '--workspace', workspace()]);
        expect(refused.stderr).toContain(message);
        expect(refused.code).not.toBe(0);
      }
    });
    expect(appended).toEqual([]);
    const setting = { RETENTION_YEARS: '8' };
    const own = async (choice: string) => {
      const { stdout } = await cli(['retention', 'set', choice, '--workspace', workspace()], setting);
      return stdout.replace(/.*: /, '').trim();
    };
    const changes = await changesBy(service, async () => {
      expect(await own('default')).toBe('8 years by default.');
      expect(await own('10')).toBe('10 years.');
      expect(await own('10')).toBe('10 years.');
      expect(await own('off')).toBe('off.');
    });
    expect(changes.map(({ type, data }) => [type, data])).toEqual(
      [10, 'off'].map((choice) => ['WorkspaceRetentionSet', { workspace: workspace(), retention: choice }]),
    );
    expect((await cli(['retention', '--workspace', workspace()], setting)).code).toBe(1);
    const list = await cli(['workspaces', 'list']);
    expect(list.stdout).toMatch(
      new RegExp(`^${workspace()} +active +\\S+ +off +append +refuse +allow +-$`, 'm'),
    );
    await choose('default');
    const byDefault = await cli(['retention', '--workspace', workspace()], setting);
    expect(byDefault.stdout).toContain('Retention of 8 years: ');
  });

  describe('records of all ages', () => {
    let time = 0;
    let due: string[] = [];
    let kept: string[] = [];
    let heldPatient = '';
    let usedPayer = '';
    let single = '';

    beforeEach(async () => {
      await choose('6');
      const [gonePayer, keptPayer, unusedPayer] = [await payer(), await payer(), await payer()];
      const insured = ({ id: payer_id }: { id: string }) => ({
        primary_insurance: { payer_id, policy_number: phi('W1') },
      });
      const gone = await patient(insured(gonePayer));
      const goneEncounter = await encounter(gone.id);
      const own = await client();
      expect((await own.upload(documentsPath(goneEncounter), documentForm())).status).toBe(200);
      const alone = await patient();
      const dated = await patient(insured(keptPayer));
      await encounter(dated.id);
      await encounter(dated.id, { date_of_service: '2999-01-01' });
      const held = await patient();
      const heldEncounter = await encounter(held.id);
      const documented = await patient();
      const documentedEncounter = await encounter(documented.id);
      const changed = await patient();
      const oldEncounter = await encounter(changed.id);
      const hold = [
        'holds',
        'create',
        'encounter',
        heldEncounter,
        '--workspace',
        workspace(),
        '--reason',
        'x',
      ];
      expect((await cli(hold)).code).toBe(0);
      time = sixYearsAfter(await momentBetween(service));

      await send('patients', { ...changed, city: 'Omaha' });
      expect((await own.upload(documentsPath(documentedEncounter), documentForm())).status).toBe(200);
      const young = await patient();

      heldPatient = held.id;
      usedPayer = keptPayer.id;
      single = oldEncounter;
      due = [
        `patient ${gone.id} due`,
        `patient ${alone.id} due`,
        `encounter ${oldEncounter} due`,
        `payer ${gonePayer.id} due`,
        `payer ${unusedPayer.id} due`,
      ];
      kept = [dated, held, documented, changed, young].map(({ id }) => id);
    });

    /** The accesses by which somebody may have seen a record. */
    const seenBy = async (kind: string, id: string) => {
      const { eventLog } = service;
      const readModels = await openReadModels(service.config.readModelUrl);
      const seen = new AccessIndex([await accessedSubject(eventLog, recordStream(workspace(), kind, id))]);
      const request = { limit: 100, pageToken: undefined };
      const { items } = await readAuditTrail({ eventLog, readModels }, workspace(), { seen }, request);
      await readModels.close();
      return items.map(({ action }) => action);
    };

    test(
      'what nobody changed, and what has no encounter dated within the time, is listed, and that is an access',
      async () => {
        let found: Awaited<ReturnType<typeof listed>> = [];
        const accesses = await accessesBy(service, async () => {
          found = await listed(time);
        });
        // Encounters of patients that stay for another reason are old, too.
        const dated = found.filter(({ kind }) => kind === 'encounter').map(({ id }) => id);
        expect(dated).toContain(single);
        expect(dated).toHaveLength(2);
        const others = found.filter(({ kind }) => kind !== 'encounter');
        expect(namesOf(others).toSorted()).toEqual(
          [
            ...due.filter((one) => !one.startsWith('encounter')),
            `patient ${heldPatient} held`,
            `payer ${usedPayer} referred_to`,
          ].toSorted(),
        );
        expect(found[0]).toMatchObject({ encounters: 1, last_encounter: '2015-03-14T00:00:00.000Z' });
        const query = { years: 6, before: expect.stringMatching(/Z$/) };
        const shown = (kind: string, count: number) => ({
          action: 'retention.list',
          query,
          kind,
          shown: { ranges: expect.any(Array), count },
        });
        expect(accesses).toEqual([
          { action: 'retention.list', query },
          shown('patient', 3),
          shown('encounter', 2),
          shown('payer', 3),
        ]);

        expect(await seenBy('patient', heldPatient)).toContain('retention.list');
        expect(await seenBy('patient', kept.at(-1) as string)).not.toContain('retention.list');

        const table = (await retention(time, 'list')).stdout.split('\n');
        expect(table[0]).toMatch(/^Retention of 6 years: what nobody changed, .* since 2\d{3}-\d\d-\d\d\.$/);
        expect(table).toContain(
          'Due: 6. Encounters that go with patients: 1. Under legal hold: 1. Still referred to: 1.',
        );
        const csv = (await retention(time, 'list', '--format', 'csv')).stdout.split('\r\n');
        expect(csv[0]).toBe('kind,id,state,last_change,last_encounter,encounters');
        expect(csv).toHaveLength(found.length + 2);
      },
      LONG_MS,
    );

    test(
      'it is erased with --apply, in the name of the policy; the rest stays, and how much is told',
      async () => {
        let result = {};
        const changes = await changesBy(service, async () => {
          const { code, stdout, stderr } = await retention(time, 'apply', '--json');
          expect(code).toBe(0);
          expect(stderr).toMatch(
            /^Erased: 2\. Encounters that went with patients: 1\. Under legal hold: 1\. /,
          );
          result = JSON.parse(stdout);
        });
        expect(result).toEqual({
          erased: 6,
          encounters: 1,
          held: 1,
          referred_to: 1,
          changed: 0,
          unreadable: 0,
        });
        expect(changes.map(({ type }) => type).toSorted()).toEqual([
          'DocumentErased',
          ...Array<string>(7).fill('RecordErased'),
        ]);
        for (const { data } of changes) {
          expect(data.reason).toMatch(
            /^Retention of 6 years: not changed, and without an encounter, since 2\d{3}-\d\d-\d\d$/,
          );
        }
        const own = await client();
        const status = async (one: string) => {
          const [kind = '', id = ''] = one.split(' ');
          return (await own.get(`/integration/${kind}s/${id}`)).status;
        };
        for (const one of due) expect([one, await status(one)]).toEqual([one, 410]);
        for (const id of kept) expect([id, await status(`patient ${id}`)]).toEqual([id, 200]);

        const again = await appendedBy(service, async () => {
          expect(namesOf(await listed(time))).toEqual([
            `patient ${heldPatient} held`,
            `payer ${usedPayer} referred_to`,
          ]);
          const { code, stdout } = await retention(time, 'apply');
          expect(code).toBe(0);
          expect(stdout).toContain('Erased: 0.');
        });
        expect(again).toEqual([]);
        expect((await cli(['verify', '--workspace', workspace()])).code).toBe(0);
      },
      LONG_MS,
    );

    test(
      'with a limit it goes on the next time; applying is an access',
      async () => {
        const accesses = await accessesBy(service, async () => {
          for (const left of [6, 5]) {
            expect((await listed(time)).filter(({ state }) => state === 'due')).toHaveLength(left);
            expect((await retention(time, 'apply', '--limit', '1')).code).toBe(0);
          }
        });
        const applied = accesses.filter(({ action }) => action === 'retention.apply');
        expect(applied).toEqual([
          { action: 'retention.apply', query: { years: 6, before: expect.anything(), limit: 1 } },
          { action: 'retention.apply', query: { years: 6, before: expect.anything(), limit: 1 } },
        ]);
      },
      LONG_MS,
    );
  });
});
