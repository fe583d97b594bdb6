import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { phi } from '../support/output.ts';
import { type Fields, pathOf, paths, type SpecKind, samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy, sharedService, type TestService } from '../support/service.ts';

onEmbeddedEngines(() => {
  let service: TestService;
  beforeAll(async () => {
    service = await sharedService();
  });
  afterAll(() => service.stop());

  /** Sends a record until a version of it is recorded later than those before: `as_of` can then tell them apart. */
  async function sendLater(kind: SpecKind, record: Fields, after: string): Promise<string> {
    return eventually(async () => {
      await service.post(paths[kind], record);
      const { updated_at } = (await service.get(pathOf(kind, record.id))).body;
      expect(updated_at > after).toBe(true);
      return updated_at;
    });
  }

  test('in a version, with its body and ETag', async () => {
    const patient = { ...samples.patient(), city: phi('Omaha') };
    const bodies: object[] = [];
    for (const city of [patient.city, null, phi('Lincoln')]) {
      await service.post(paths.patient, { ...patient, city });
      bodies.push((await service.get(pathOf('patient', patient.id))).body);
    }
    const appended = await appendedBy(service, async () => {
      for (const [at, body] of bodies.entries()) {
        const read = await service.get(`${pathOf('patient', patient.id)}?version=${at + 1}`);
        expect(read).toMatchObject({ status: 200, body });
        expect(read.body).toEqual(body);
        expect(read.headers.etag).toBe(`"${at + 1}"`);
      }
    });
    expect(appended).toEqual([]);
  });

  test('at a moment: the last version recorded at or before it', async () => {
    const [city, other] = [phi('Omaha'), phi('Lincoln')];
    const payer = { ...samples.payer(), city };
    await service.post(paths.payer, payer);
    const path = pathOf('payer', payer.id);
    const first = (await service.get(path)).body;
    const later = await sendLater('payer', { ...payer, city: other }, first.updated_at);
    const before = new Date(Date.parse(later) - 1).toISOString();
    const at = (as_of: string) => service.get(`${path}?as_of=${encodeURIComponent(as_of)}`);
    const firstAt = await at(first.updated_at);
    expect(firstAt.body.record.city).toBe(city);
    expect((await at(before)).body.record.city).toBe(city);
    const { items } = (await service.get(`${path}/history`)).body;
    const stood = items.find(({ recorded_at }: { recorded_at: string }) => recorded_at === later);
    expect((await at(later)).body).toMatchObject({ version: stood.version, record: { city: other } });
    expect((await at('2999-01-01')).body).toEqual((await service.get(path)).body);
    expect((await at(new Date(Date.parse(first.updated_at) - 1).toISOString())).status).toBe(404);
    expect((await at('1999-12-31')).status).toBe(404);
  });

  test('a moment is read in any form of ISO 8601, and as UTC without an offset', async () => {
    const payer = samples.payer();
    await service.post(paths.payer, payer);
    const path = pathOf('payer', payer.id);
    const { updated_at } = (await service.get(path)).body;
    const shifted = (hours: number) =>
      new Date(Date.parse(updated_at) + hours * 3_600_000).toISOString().slice(0, -1);
    const found = [
      updated_at,
      shifted(0),
      updated_at.toLowerCase(),
      updated_at.replace('.', ','),
      `${shifted(2)}%2B02:00`,
      `${shifted(2)}+0200`,
      `${shifted(-5)}-05`,
    ];
    for (const as_of of found) {
      expect([as_of, (await service.get(`${path}?as_of=${as_of}`)).status]).toEqual([as_of, 200]);
    }
    for (const as_of of [`${shifted(0)}%2B01:00`, updated_at.slice(0, 10)]) {
      expect([as_of, (await service.get(`${path}?as_of=${as_of}`)).status]).toEqual([as_of, 404]);
    }
  });
});
