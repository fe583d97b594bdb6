import { afterAll, beforeAll, expect, test } from 'vitest';
import { answerOf, BATCH, linesOf, postLines, sendBatch } from '../support/client.ts';
import { phi } from '../support/output.ts';
import { pathOf, paths, samples } from '../support/samples.ts';
import { onSharedService } from '../support/servers.ts';
import { accessesBy, appendedBy, type TestService } from '../support/service.ts';

onSharedService((start) => {
  let service: TestService;
  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.stop());

  const payerLines = (count: number) =>
    Array.from({ length: count }, () => ({ kind: 'payer', record: samples.payer() }));
  const withKey = (key = phi('key')) => ({ 'idempotency-key': key });

  test('with the same key a batch writes nothing twice, answers as before, and goes on with what was refused', async () => {
    const payer = samples.payer();
    const patient = { ...samples.patient(), primary_insurance: { payer_id: payer.id } };
    const lines = [...payerLines(3), { kind: 'patient', record: patient }];
    const key = withKey();
    const appended = await appendedBy(service, async () => {
      const first = await sendBatch(service, lines, key);
      expect(first.headers['idempotent-replayed']).toBeUndefined();
      expect(first.results.map(({ status }) => status)).toEqual([200, 200, 200, 400]);
      // The stream goes on meanwhile.
      await service.post(paths.payer, lines[0]?.record);
      await service.post(paths.payer, payer);
      const again = await sendBatch(service, lines, key);
      expect(again.headers['idempotent-replayed']).toBe('true');
      expect(again.results.slice(0, 3)).toEqual(first.results.slice(0, 3));
      expect(again.results[3]).toMatchObject({ status: 200, outcome: 'created', version: 1 });
      expect((await sendBatch(service, lines, key)).results).toEqual(again.results);
    });
    expect(appended).toEqual([
      ...lines.slice(0, 3).map(({ record }) => `clinic.payer-${record.id}: PayerUpserted`),
      `clinic.payer-${lines[0]?.record.id}: PayerUpserted`,
      `clinic.payer-${payer.id}: PayerUpserted`,
      `clinic.patient-${patient.id}: PatientUpserted`,
    ]);
  });

  test('a repeat stores no refused line behind a later one of its record, in whichever group they are', async () => {
    const payer = samples.payer();
    const [old, renamed] = [phi('Old'), phi('New')].map((name) => ({ ...payer, name }));
    const lines = [
      { kind: 'payer', record: old, if_match: '*' },
      ...payerLines(600),
      { kind: 'payer', record: renamed },
      { kind: 'payer', record: payer, if_match: 7 },
    ];
    const key = withKey();
    const statuses = async () => {
      const { results, summary } = await sendBatch(service, lines, key);
      expect(summary).toMatchObject({ accepted: 601 });
      return [results[0], ...results.slice(-2)].map((result) => result?.status);
    };
    const appended = await appendedBy(service, async () => {
      expect(await statuses()).toEqual([412, 200, 412]);
      for (let repeat = 1; repeat <= 2; repeat += 1) expect(await statuses()).toEqual([409, 200, 412]);
    });
    expect(appended).toHaveLength(601);
    expect((await service.get(pathOf('payer', payer.id))).body.record.name).toBe(renamed?.name);
  });

  test('so it does where the later line comes in a later step, as it refers to another patient', async () => {
    const [patient, main] = [samples.patient(), samples.patient()];
    const lines = [
      { kind: 'patient', record: { ...patient, city: phi('Old') }, if_match: '*' },
      { kind: 'patient', record: main },
      { kind: 'patient', record: { ...patient, merged_into: main.id } },
    ];
    const key = withKey();
    const appended = await appendedBy(service, async () => {
      for (const first of [412, 409]) {
        const { results } = await sendBatch(service, lines, key);
        expect(results.map(({ status }) => status)).toEqual([first, 200, 200]);
      }
    });
    expect(appended).toHaveLength(2);
  });

  test('a repeat after a restart answers as before, conditions included', async () => {
    const there = samples.payer();
    await service.post(paths.payer, there);
    const lines = [{ kind: 'payer', record: there, if_match: 1 }, ...payerLines(2)];
    const key = withKey();
    const appended = await appendedBy(service, async () => {
      const first = await sendBatch(service, lines, key);
      expect(first.summary).toMatchObject({ accepted: 3 });
      await service.restart();
      await service.post(paths.payer, there);
      expect((await sendBatch(service, lines, key)).results).toEqual(first.results);
    });
    expect(appended).toHaveLength(4);
  });

  test('other lines under the same key are refused with 422, and another key is another batch', async () => {
    const [lines, others] = [payerLines(2), payerLines(2)];
    const key = withKey();
    const appended = await appendedBy(service, async () => {
      await sendBatch(service, lines, key);
      const refused = await postLines(service, linesOf(others), key);
      expect(refused).toMatchObject({ status: 422, body: { code: 'idempotency_key_reused' } });
      const { results } = await sendBatch(service, lines, withKey());
      expect(results.map(({ version }) => version)).toEqual([2, 2]);
    });
    expect(appended).toHaveLength(4);
  });

  test('an array of lines takes a key as well', async () => {
    const lines = payerLines(2);
    const key = withKey();
    const appended = await appendedBy(service, async () => {
      const first = answerOf(await service.post(BATCH, lines, key));
      expect(answerOf(await service.post(BATCH, lines, key)).results).toEqual(first.results);
    });
    expect(appended).toHaveLength(2);
  });

  test('unchanged=skip stores only what changes, and is one entry of the audit trail', async () => {
    const lines = payerLines(5);
    await sendBatch(service, lines);
    const renamed = { kind: 'payer', record: { id: lines[1]?.record.id ?? '', name: phi('Renamed') } };
    const fresh = { kind: 'payer', record: samples.payer() };
    const sent = [...lines.with(1, renamed), fresh, fresh];
    let accesses: object[] = [];
    const appended = await appendedBy(service, async () => {
      accesses = await accessesBy(service, async () => {
        const response = await service.send(`${BATCH}?unchanged=skip`, {
          method: 'POST',
          body: linesOf(sent),
          headers: { 'content-type': 'application/x-ndjson' },
        });
        const { results, summary } = answerOf(response);
        expect(results.map(({ outcome, version }) => `${outcome} ${version}`)).toEqual([
          'unchanged 1',
          'updated 2',
          'unchanged 1',
          'unchanged 1',
          'unchanged 1',
          'created 1',
          'unchanged 1',
        ]);
        expect(summary).toMatchObject({
          lines: 7,
          accepted: 7,
          created: 1,
          updated: 1,
          unchanged: 5,
          refused: 0,
        });
      });
    });
    expect(appended.toSorted()).toEqual(
      [renamed, fresh].map(({ record }) => `clinic.payer-${record.id}: PayerUpserted`).toSorted(),
    );
    expect(accesses).toEqual([{ action: 'record.unchanged', count: 5 }]);
  });

  test('a dry run writes nothing, and sees what the batch itself would write', async () => {
    const there = samples.payer();
    await service.post(paths.payer, there);
    const payer = samples.payer();
    const patient = { ...samples.patient(), primary_insurance: { payer_id: payer.id } };
    const lost = { ...samples.patient(), primary_insurance: { payer_id: phi('nowhere') } };
    const lines = [
      { kind: 'patient', record: patient },
      { kind: 'patient', record: lost },
      { kind: 'payer', record: payer },
      { kind: 'payer', record: { ...there, city: 'Omaha' } },
      { kind: 'payer', record: there, if_match: 7 },
    ];
    let accesses: object[] = [];
    const appended = await appendedBy(service, async () => {
      accesses = await accessesBy(service, async () => {
        const response = await service.post(`${BATCH}?dry_run=true`, lines);
        const { results, summary } = answerOf(response);
        expect(results).toMatchObject([
          { status: 200, outcome: 'created', dry_run: true },
          { status: 400, code: 'reference_not_found' },
          { status: 200, outcome: 'created', changed_fields: expect.arrayContaining(['name']) },
          { status: 200, outcome: 'updated', version: 2, changed_fields: ['city'] },
          { status: 412, version: 1 },
        ]);
        expect(summary).toMatchObject({ lines: 5, accepted: 3, refused: 2 });
      });
    });
    expect(appended).toEqual([]);
    expect(accesses).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ action: 'record.batch' }),
        { action: 'record.dry_run', count: 3 },
      ]),
    );
    expect((await service.get(pathOf('payer', payer.id))).status).toBe(404);
  });

  test('a header of a single write, and a parameter that is not known, are refused', async () => {
    const appended = await appendedBy(service, async () => {
      const body = linesOf(payerLines(1));
      expect(await postLines(service, body, { 'if-match': '"1"' })).toMatchObject({ status: 400 });
      const unknown = await service.post(`${BATCH}?dry-run=true`, payerLines(1));
      expect(unknown).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
    });
    expect(appended).toEqual([]);
  });
});
