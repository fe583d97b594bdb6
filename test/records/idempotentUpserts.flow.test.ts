import { afterAll, beforeAll, expect, test } from 'vitest';
import { LaterClock } from '../support/eventually.ts';
import { expectReplay, isReplayed, keyed } from '../support/log.ts';
import { phi } from '../support/output.ts';
import { pathOf, paths, samples } from '../support/samples.ts';
import { onEveryEngine } from '../support/servers.ts';
import { appendedBy, changesBy, refusalsBy, type TestService } from '../support/service.ts';

const HOUR_MS = 3_600_000;

onEveryEngine((start) => {
  const clock = new LaterClock();
  let service: TestService;
  beforeAll(async () => {
    service = await start({}, { clock });
  });
  afterAll(() => service.stop());

  const lineOf = ({ id }: { id: string }) => `clinic.payer-${id}: PayerUpserted`;

  test('a repeat is given the first answer, and appends nothing', async () => {
    const payer = { ...samples.payer(), contact_email: 'nobody', favourite_colour: 'green' };
    const headers = keyed();
    const appended = await appendedBy(service, async () => {
      const first = await service.post(paths.payer, payer, headers);
      expect(first).toMatchObject({ status: 200, headers: { etag: '"1"' }, body: { outcome: 'created' } });
      expect(first.body.warnings.length).toBeGreaterThan(1);
      expect(isReplayed(first)).toBe(false);
      const reordered = Object.fromEntries(Object.entries(payer).toReversed());
      for (const sent of [payer, payer, reordered]) {
        const repeat = await service.post(paths.payer, sent, headers);
        expectReplay(repeat, first);
        expect(repeat.headers['request-id']).not.toBe(first.headers['request-id']);
      }
    });
    expect(appended).toEqual([lineOf(payer)]);
  });

  test('a repeat is given the first answer after other writes, too, and on another instance', async () => {
    const payer = samples.payer();
    const headers = keyed();
    const other = await service.another({});
    const appended = await appendedBy(service, async () => {
      const first = await service.post(paths.payer, payer, { ...headers, 'if-none-match': '*' });
      await service.post(paths.payer, payer);
      const repeat = await other.post(paths.payer, payer, { ...headers, 'if-none-match': '*' });
      expectReplay(repeat, first);
    });
    await other.stop();
    expect(appended).toEqual([lineOf(payer), lineOf(payer)]);
  });

  test('another payload, path or condition with the same key is refused', async () => {
    const payer = samples.payer();
    const headers = keyed();
    const appended = await appendedBy(service, async () => {
      await service.post(paths.payer, payer, headers);
      for (const answer of [
        await service.post(paths.payer, { ...payer, name: phi('Cigna') }, headers),
        await service.post(paths.facility, payer, headers),
        await service.post(paths.payer, payer, { ...headers, 'if-match': '"1"' }),
        await service.post(paths.payer, payer, { ...headers, 'if-none-match': '*' }),
      ]) {
        expect(answer).toMatchObject({ status: 422, body: { code: 'idempotency_key_reused' } });
        expect(isReplayed(answer)).toBe(false);
      }
    });
    expect(appended).toEqual([lineOf(payer)]);
  });

  test('the same key of another API key, or of another workspace, is another key', async () => {
    const payer = samples.payer();
    const headers = keyed();
    const others = await Promise.all([service.createKey('clinic'), service.createKey('hospital')]);
    const appended = await appendedBy(service, async () => {
      await service.post(paths.payer, payer, headers);
      for (const { key } of others) {
        const answer = await service.as(key).post(paths.payer, payer, headers);
        expect(answer.status).toBe(200);
        expect(isReplayed(answer)).toBe(false);
      }
    });
    expect(appended).toEqual([lineOf(payer), lineOf(payer), lineOf(payer).replace('clinic', 'hospital')]);
  });

  test('30 repeats at once on two instances append one event', async () => {
    const payer = samples.payer();
    const headers = keyed();
    const other = await service.another({});
    const appended = await appendedBy(service, async () => {
      const answers = await Promise.all(
        Array.from({ length: 30 }, (_, index) =>
          (index % 2 ? other : service).post(paths.payer, payer, headers),
        ),
      );
      const stored = answers.filter(({ status }) => status === 200);
      expect(stored.filter((answer) => !isReplayed(answer))).toHaveLength(1);
      expect(new Set(stored.map(({ body }) => JSON.stringify(body))).size).toBe(1);
      for (const answer of answers.filter(({ status }) => status !== 200)) {
        expect(answer).toMatchObject({ status: 409, body: { code: 'idempotency_key_in_use' } });
        expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
      }
    });
    await other.stop();
    expect(appended).toEqual([lineOf(payer)]);
  });

  test('a refused request leaves its key free: corrected, it is stored under the same one', async () => {
    const payer = samples.payer();
    const patient = { ...samples.patient(), primary_insurance: { payer_id: payer.id } };
    const headers = keyed();
    const appended = await appendedBy(service, async () => {
      const refused = await service.post(paths.patient, { ...patient, gender: 'unknown' }, headers);
      expect(refused).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
      const missing = await service.post(paths.patient, patient, headers);
      expect(missing).toMatchObject({ status: 400, body: { code: 'reference_not_found' } });
      const stale = await service.post(paths.patient, patient, { ...headers, 'if-match': '"1"' });
      expect(stale.status).toBe(400);
      await service.post(paths.payer, payer);
      const moved = await service.post(paths.patient, patient, { ...headers, 'if-match': '"1"' });
      expect(moved).toMatchObject({ status: 412, body: { code: 'version_conflict' } });
      const stored = await service.post(paths.patient, patient, headers);
      expect(stored).toMatchObject({ status: 200, body: { version: 1 } });
      expect(isReplayed(stored)).toBe(false);
      expect(isReplayed(await service.post(paths.patient, patient, headers))).toBe(true);
    });
    expect(appended).toEqual([lineOf(payer), `clinic.patient-${patient.id}: PatientUpserted`]);
  });

  test('after 24 hours a key is free again', async () => {
    const payer = samples.payer();
    const headers = keyed();
    const appended = await appendedBy(service, async () => {
      await service.post(paths.payer, payer, headers);
      clock.aheadMs += 23.9 * HOUR_MS;
      expect(isReplayed(await service.post(paths.payer, payer, headers))).toBe(true);
      clock.aheadMs += 0.2 * HOUR_MS;
      const anew = await service.post(paths.payer, payer, headers);
      expect(anew).toMatchObject({ status: 200, body: { version: 2 } });
      expect(isReplayed(anew)).toBe(false);
      expect(isReplayed(await service.post(paths.payer, payer, headers))).toBe(true);
    });
    expect(appended).toEqual([lineOf(payer), lineOf(payer)]);
  });

  test.each(['', 'ä', 'a\tb', 'x'.repeat(256)])('the key %j is refused', async (key) => {
    const payer = samples.payer();
    const appended = await appendedBy(service, async () => {
      const { status, body } = await service.post(paths.payer, payer, keyed(key));
      expect({ status, body }).toMatchObject({
        status: 400,
        body: { code: 'validation_failed', details: [{ field: 'Idempotency-Key' }] },
      });
    });
    expect(appended).toEqual([]);
  });

  test('a body too deep is refused, of a record and of a batch', async () => {
    const payer = samples.payer();
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    const body = `${JSON.stringify(payer).slice(0, -1)},"deep":${deep}}`;
    const appended = await appendedBy(service, async () => {
      const send = (path: string, text: string) =>
        service.send(path, {
          method: 'POST',
          body: text,
          headers: { ...keyed(), 'content-type': 'application/json' },
        });
      for (const refused of [
        await send(paths.payer, body),
        await send('/integration/batch', `[{"kind":"payer","record":${body}}]`),
      ]) {
        expect(refused).toMatchObject({ status: 413, body: { code: 'payload_too_large' } });
      }
    });
    expect(appended).toEqual([]);
  });

  test('a key may have 255 characters, be in quotes, and say anything that is printable', async () => {
    const keys = ['x'.repeat(255), `"${phi('key')}"`, `~ {"a": 'b'}, $; ${phi('key')}`];
    const payer = samples.payer();
    const appended = await appendedBy(service, async () => {
      for (const key of keys) {
        expect((await service.post(paths.payer, payer, keyed(key))).status).toBe(200);
        expect(isReplayed(await service.post(paths.payer, payer, keyed(key)))).toBe(true);
      }
    });
    expect(appended).toEqual(keys.map(() => lineOf(payer)));
  });

  test('the event of a keyed request bears the id of the request; reads ignore a key', async () => {
    const payer = samples.payer();
    let requestId: unknown;
    const events = await changesBy(service, async () => {
      requestId = (await service.post(paths.payer, payer, keyed())).headers['request-id'];
    });
    expect(events).toMatchObject([{ id: requestId, metadata: { requestId } }]);
    expect((await service.get(pathOf('payer', payer.id), keyed(''))).status).toBe(200);
  });

  test('a write that is skipped is repeated as skipped; a dry run keeps nothing', async () => {
    const payer = samples.payer();
    const headers = keyed();
    const appended = await appendedBy(service, async () => {
      const dry = await service.post(`${paths.payer}?dry_run=true`, payer, headers);
      expect(dry).toMatchObject({ status: 200, body: { dry_run: true, outcome: 'created' } });
      await service.post(paths.payer, payer, headers);
      const skipping = keyed();
      const skip = () => service.post(`${paths.payer}?unchanged=skip`, payer, skipping);
      const first = await skip();
      expect(first).toMatchObject({ status: 200, body: { version: 1, outcome: 'unchanged' } });
      await service.post(paths.payer, { ...payer, name: phi('Cigna') });
      const repeat = await skip();
      expectReplay(repeat, first);
    });
    expect(appended).toEqual([lineOf(payer), lineOf(payer)]);
  });

  test('a refused repeat is in the audit trail as any refused request is', async () => {
    const payer = samples.payer();
    const headers = keyed();
    await service.post(paths.payer, payer, headers);
    const refusals = await refusalsBy(service, () =>
      service.post(paths.payer, { ...payer, name: phi('Cigna') }, headers),
    );
    expect(refusals).toMatchObject([{ code: 'idempotency_key_reused', record_id: payer.id }]);
  });
});
