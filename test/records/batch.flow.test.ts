import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { answerOf, BATCH, linesOf, postLines, sendBatch } from '../support/client.ts';
import { phi } from '../support/output.ts';
import { pathOf, paths, samples } from '../support/samples.ts';
import { onSharedService } from '../support/servers.ts';
import { accessesBy, appendedBy, changesBy, type TestService } from '../support/service.ts';

onSharedService((start) => {
  let service: TestService;
  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.stop());

  /** One of each kind, in the order in which none but the last could be stored by itself. */
  const reversed = () => {
    const [payer, provider, facility] = [samples.payer(), samples.provider(), samples.facility()];
    const patient = { ...samples.patient(), primary_insurance: { payer_id: payer.id } };
    const encounter = {
      ...samples.encounter(patient.id),
      provider_id: provider.id,
      facility_id: facility.id,
    };
    return [
      { kind: 'encounter', record: encounter },
      { kind: 'patient', record: patient },
      { kind: 'facility', record: facility },
      { kind: 'provider', record: provider },
      { kind: 'payer', record: payer },
    ];
  };
  const line = ({ kind, record }: { kind: string; record: { id: string } }) =>
    `clinic.${kind}-${record.id}: ${kind[0]?.toUpperCase()}${kind.slice(1)}Upserted`;
  const accepted = (kind: string, id: string, line: number) => ({
    ...{ line, kind, id, status: 200, outcome: 'created', version: 1, warnings: [] },
  });

  test('lines in reverse dependency order are all stored, and answered in their order', async () => {
    const lines = reversed();
    const appended = await appendedBy(service, async () => {
      const { results, summary, headers } = await sendBatch(service, lines);
      expect(headers['content-type']).toBe('application/x-ndjson');
      expect(results).toEqual(lines.map(({ kind, record }, index) => accepted(kind, record.id, index + 1)));
      expect(summary).toEqual({
        ...{
          lines: 5,
          accepted: 5,
          created: 5,
          updated: 0,
          unchanged: 0,
          refused: 0,
          retryable: 0,
          codes: {},
        },
      });
    });
    expect(appended.toSorted()).toEqual(lines.map(line).toSorted());
    for (const { kind, record } of lines) {
      const { body } = await service.get(pathOf(kind as 'payer', record.id));
      expect(body).toMatchObject({ version: 1, record });
    }
    const { body } = await service.get(`${paths.encounter}?limit=1000`);
    expect(body.items.map(({ id }: { id: string }) => id)).toContain(lines[0]?.record.id);
  });

  test('each event has an id of its own, and all bear the id of the request', async () => {
    let requestId: unknown;
    const events = await changesBy(service, async () => {
      requestId = (await sendBatch(service, reversed())).headers['request-id'];
    });
    expect(new Set(events.map(({ id }) => id)).size).toBe(5);
    expect(new Set(events.map(({ metadata }) => metadata.requestId))).toEqual(new Set([requestId]));
    expect(events.map(({ id }) => id)).not.toContain(requestId);
  });

  test('of 300 lines three are bad: the answer says which and why, and the others are stored', async () => {
    const payers = Array.from({ length: 297 }, () => ({ kind: 'payer', record: samples.payer() }));
    const nowhere = phi('nowhere');
    const patient = { ...samples.patient(), primary_insurance: { payer_id: nowhere } };
    const lines: (object | string)[] = [...payers];
    lines.splice(50, 0, `{"kind": "payer", "record": {"id": "${phi('cut')}`);
    lines.splice(150, 0, { kind: 'payer', record: { id: 'unnamed' } });
    lines.splice(250, 0, { kind: 'patient', record: patient });
    let accesses: object[] = [];
    const appended = await appendedBy(service, async () => {
      accesses = await accessesBy(service, async () => {
        const { results, summary } = await sendBatch(service, lines);
        expect(results.filter(({ status }) => status !== 200)).toEqual([
          {
            ...{ line: 51, kind: null, id: null, status: 400, code: 'malformed_body', retryable: false },
            error: 'The line is not valid JSON.',
          },
          {
            ...{ line: 151, kind: 'payer', id: 'unnamed', status: 400, code: 'validation_failed' },
            error: 'Validation failed: name is required',
            details: [{ field: 'name', message: 'is required' }],
            retryable: false,
          },
          {
            ...{ line: 251, kind: 'patient', id: patient.id, status: 400, code: 'reference_not_found' },
            error: `Payer '${nowhere}' does not exist`,
            details: [
              {
                field: 'primary_insurance.payer_id',
                message: 'refers to a payer that does not exist',
                ...{ kind: 'payer', id: nowhere, code: 'reference_not_found' },
              },
            ],
            retryable: false,
          },
        ]);
        expect(results.map(({ line }) => line)).toEqual(lines.map((_, index) => index + 1));
        expect(summary).toMatchObject({
          ...{ lines: 300, accepted: 297, created: 297, refused: 3, retryable: 0 },
          codes: { malformed_body: 1, validation_failed: 1, reference_not_found: 1 },
        });
      });
    });
    expect(appended).toEqual(payers.map(line));
    expect(accesses).toEqual([
      {
        action: 'record.batch',
        outcome: 'refused',
        code: 'malformed_body',
        status: 200,
        method: 'POST',
        route: '/integration/batch',
        lines: {
          sent: 300,
          refused: { validation_failed: 1, malformed_body: 1, reference_not_found: 1 },
          fields: { name: 1, 'primary_insurance.payer_id': 1 },
          first: expect.any(Array),
        },
      },
    ]);
  });

  test('what refers to a line that is refused is refused as by itself', async () => {
    const payer = { id: phi('payer') };
    const patient = { ...samples.patient(), primary_insurance: { payer_id: payer.id } };
    const appended = await appendedBy(service, async () => {
      const { results } = await sendBatch(service, [
        { kind: 'patient', record: patient },
        { kind: 'payer', record: payer },
      ]);
      expect(results.map(({ code }) => code)).toEqual(['reference_not_found', 'validation_failed']);
    });
    expect(appended).toEqual([]);
  });

  test('versions of one record are stored in the order of their lines', async () => {
    const payer = samples.payer();
    const names = Array.from({ length: 20 }, (_, n) => `${phi('name')}-${n}`);
    const events = await changesBy(service, async () => {
      const { results, summary } = await sendBatch(
        service,
        names.map((name) => ({ kind: 'payer', record: { id: payer.id, name } })),
      );
      expect(results.map(({ version }) => version)).toEqual(names.map((_, n) => n + 1));
      expect(results.map(({ outcome }) => outcome)).toEqual(['created', ...Array(19).fill('updated')]);
      expect(summary).toMatchObject({ accepted: 20, created: 1, updated: 19 });
    });
    expect(events.map(({ data }) => data.name)).toEqual(names);
  });

  test('if_match holds against what is there, earlier lines included', async () => {
    const [there, fresh] = [samples.payer(), samples.payer()];
    await service.post(paths.payer, there);
    const missing = samples.payer();
    const lines = [
      { kind: 'payer', record: there, if_match: 2 },
      { kind: 'payer', record: there, if_match: 1 },
      { kind: 'payer', record: there, if_match: 1 },
      { kind: 'payer', record: there, if_match: '*' },
      { kind: 'payer', record: missing, if_match: '*' },
      { kind: 'payer', record: missing, if_match: 1 },
      { kind: 'payer', record: fresh },
      { kind: 'payer', record: fresh, if_match: 1 },
      { kind: 'payer', record: fresh, if_match: '*' },
    ];
    const appended = await appendedBy(service, async () => {
      const { results } = await sendBatch(service, lines);
      expect(results.map(({ status, version }) => [status, version])).toEqual([
        [412, 1],
        [200, 2],
        [412, 2],
        [200, 3],
        [412, undefined],
        [412, undefined],
        [200, 1],
        [200, 2],
        [200, 3],
      ]);
      expect(results[0]).toMatchObject({ code: 'version_conflict', error: 'The record is at version 1.' });
      expect(results[4]).toMatchObject({ code: 'version_conflict', error: 'The record does not exist.' });
    });
    expect(appended.toSorted()).toEqual(
      [...Array(2).fill(there), ...Array(3).fill(fresh)]
        .map(({ id }) => `clinic.payer-${id}: PayerUpserted`)
        .toSorted(),
    );
  });

  test('gzip, and a small array of lines, are taken as well', async () => {
    const [zipped, listed] = [reversed(), reversed()];
    const appended = await appendedBy(service, async () => {
      const gzip = { 'content-encoding': 'gzip' };
      const one = answerOf(await postLines(service, gzipSync(linesOf(zipped)), gzip));
      const other = answerOf(await service.post(BATCH, listed));
      for (const { results } of [one, other])
        expect(results.map(({ status }) => status)).toEqual(Array(5).fill(200));
      expect(other.results.map(({ line }) => line)).toEqual([1, 2, 3, 4, 5]);
    });
    expect(appended.toSorted()).toEqual([...zipped, ...listed].map(line).toSorted());
  });

  test('no lines are answered with the summary alone', async () => {
    const appended = await appendedBy(service, async () => {
      for (const response of [await postLines(service, ''), await service.post(BATCH, [])]) {
        expect(answerOf(response)).toMatchObject({ results: [], summary: { lines: 0, accepted: 0 } });
      }
    });
    expect(appended).toEqual([]);
  });

  test('warnings are those of the single request', async () => {
    const record = { ...samples.provider(), npi: '1234567890', nickname: 'x' };
    const { body } = await service.post(paths.provider, record);
    const { results } = await sendBatch(service, [{ kind: 'provider', record }]);
    expect(results).toMatchObject([{ status: 200, outcome: 'updated', version: 2, warnings: body.warnings }]);
    expect(body.warnings).toHaveLength(2);
  });

  test('another workspace knows nothing of it', async () => {
    const other = service.as((await service.createKey('other')).key);
    const [, patientLine, , , payerLine] = reversed();
    await sendBatch(service, [payerLine as object]);
    const appended = await appendedBy(service, async () => {
      const { results } = await sendBatch(other, [patientLine as object]);
      expect(results).toMatchObject([{ status: 400, code: 'reference_not_found' }]);
    });
    expect(appended).toEqual([]);
  });

  test('a key for one kind alone writes lines of that kind', async () => {
    const [encounter, patient, facility, provider, payer] = reversed();
    await sendBatch(service, [patient as object, facility as object, provider as object, payer as object]);
    const scheduling = service.as((await service.createKey('clinic', ['write:encounter'])).key);
    const appended = await appendedBy(service, async () => {
      const { results } = await sendBatch(scheduling, [payer as object, encounter as object]);
      expect(results).toMatchObject([
        { status: 403, code: 'permission_denied', kind: 'payer', retryable: false },
        { status: 200, kind: 'encounter' },
      ]);
    });
    expect(appended).toEqual([line(encounter as NonNullable<typeof encounter>)]);
  });
});
