import { afterAll, beforeAll, expect, test } from 'vitest';
import { phi } from '../support/output.ts';
import { pathOf, paths, samples } from '../support/samples.ts';
import { onSharedService } from '../support/servers.ts';
import { changesBy, type TestService } from '../support/service.ts';

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);

onSharedService((start) => {
  let service: TestService;
  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.stop());

  test('two clients that upsert one record 200 times each, all at once, make 400 versions', async () => {
    const payer = samples.payer();
    const second = await service.createKey('clinic');
    const clients = [service, service.as(second.key)];
    const names = new Map<number, string>();
    const events = await changesBy(service, async () => {
      const answers = clients.flatMap((client) =>
        numbers(200).map(async () => {
          const name = phi('Aetna');
          const { status, body } = await client.post(paths.payer, { ...payer, name });
          expect(status).toBe(200);
          names.set(body.version, name);
        }),
      );
      await Promise.all(answers);
    });
    const upserts = events.filter(({ type }) => type === 'PayerUpserted');
    expect([...names.keys()].sort((a, b) => a - b)).toEqual(numbers(400).map((index) => index + 1));
    expect(upserts.map(({ revision }) => revision)).toEqual(numbers(400));
    expect(upserts.map(({ data }) => data.name)).toEqual(numbers(400).map((index) => names.get(index + 1)));
    expect(new Set(upserts.map(({ metadata }) => metadata.principal.id)).size).toBe(2);
    const { body } = await service.get(pathOf('payer', payer.id));
    expect(body).toMatchObject({ version: 400, record: { name: names.get(400) } });
  });

  test('patches of different fields sent at once are all in the record', async () => {
    const payer = samples.payer();
    const fields = ['payer_code', 'payer_type', 'address_line1', 'address_line2', 'city'];
    const values = Object.fromEntries(fields.map((field) => [field, phi(field)]));
    const events = await changesBy(service, async () => {
      const sent = fields.map((field) => service.post(paths.payer, { ...payer, [field]: values[field] }));
      expect((await Promise.all(sent)).map(({ status }) => status)).toEqual(fields.map(() => 200));
    });
    expect(events).toHaveLength(fields.length);
    const { body } = await service.get(pathOf('payer', payer.id));
    expect(body.record).toEqual({ ...payer, ...values, country: 'US' });
  });

  test('of 50 conditional writes on one version, one is taken', async () => {
    const payer = samples.payer();
    await service.post(paths.payer, payer);
    const events = await changesBy(service, async () => {
      const sent = numbers(50).map(() => service.post(paths.payer, payer, { 'if-match': '"1"' }));
      const statuses = (await Promise.all(sent)).map(({ status }) => status);
      expect(statuses.sort()).toEqual([200, ...numbers(49).map(() => 412)]);
    });
    expect(events).toHaveLength(1);
  });

  test('of 50 creations of one record, one is taken', async () => {
    const payer = samples.payer();
    const events = await changesBy(service, async () => {
      const sent = numbers(50).map(() => service.post(paths.payer, payer, { 'if-none-match': '*' }));
      const statuses = (await Promise.all(sent)).map(({ status }) => status);
      expect(statuses.filter((status) => status === 200)).toHaveLength(1);
      expect(statuses.filter((status) => status === 412)).toHaveLength(49);
    });
    expect(events).toHaveLength(1);
  });

  test('records with the same ids, sent at once into two workspaces, stay apart', async () => {
    const other = service.as((await service.createKey('other')).key);
    const payers = numbers(50).map(samples.payer);
    const events = await changesBy(service, async () => {
      const sent = payers.flatMap((payer) => [
        service.post(paths.payer, payer),
        other.post(paths.payer, { ...payer, city: 'Elsewhere' }),
      ]);
      const answers = await Promise.all(sent);
      expect(answers.filter(({ status, body }) => status !== 200 || body.version !== 1)).toEqual([]);
    });
    expect(events.filter(({ type }) => type === 'PayerUpserted')).toHaveLength(100);
    for (const payer of payers.slice(0, 5)) {
      const [mine, theirs] = await Promise.all(
        [service, other].map((one) => one.get(pathOf('payer', payer.id))),
      );
      expect(mine?.body.record.city).toBeUndefined();
      expect(theirs?.body.record.city).toBe('Elsewhere');
    }
  });
});
