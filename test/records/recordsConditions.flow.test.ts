import { afterAll, beforeAll, expect, test } from 'vitest';
import { pathOf, paths, samples } from '../support/samples.ts';
import { onSharedService } from '../support/servers.ts';
import { appendedBy, type TestService } from '../support/service.ts';

onSharedService((start) => {
  let service: TestService;
  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.stop());

  const post = (payer: { id: string }, headers: Record<string, string>) =>
    service.post(paths.payer, payer, headers);

  test('If-Match writes when the version is the current one, and answers with the next', async () => {
    const payer = samples.payer();
    const line = `clinic.payer-${payer.id}: PayerUpserted`;
    const appended = await appendedBy(service, async () => {
      await post(payer, {});
      const { headers } = await service.get(pathOf('payer', payer.id));
      const second = await post(payer, { 'if-match': String(headers.etag) });
      expect(second).toMatchObject({ status: 200, headers: { etag: '"2"' }, body: { version: 2 } });
      const third = await post(payer, { 'if-match': ' "2" ' });
      expect(third).toMatchObject({ status: 200, body: { version: 3 } });
    });
    expect(appended).toEqual([line, line, line]);
  });

  test('If-Match is answered with 412 when the version has moved on, or is not there yet', async () => {
    const payer = samples.payer();
    await post(payer, {});
    await post(payer, {});
    const appended = await appendedBy(service, async () => {
      for (const version of ['1', '3', '999999999999999']) {
        const answer = await post(payer, { 'if-match': `"${version}"` });
        expect(answer).toMatchObject({
          status: 412,
          headers: { etag: '"2"' },
          body: { code: 'version_conflict', error: 'The record is at version 2.', version: 2 },
        });
      }
      const absent = await post(samples.payer(), { 'if-match': '"1"' });
      expect(absent).toMatchObject({ status: 412, body: { code: 'version_conflict' } });
      expect(absent.headers.etag ?? absent.body.version).toBeUndefined();
    });
    expect(appended).toEqual([]);
    expect((await service.get(pathOf('payer', payer.id))).body.version).toBe(2);
  });

  test('If-Match: * writes what is there, and a weak tag is taken for a strong one', async () => {
    const payer = samples.payer();
    const line = `clinic.payer-${payer.id}: PayerUpserted`;
    const appended = await appendedBy(service, async () => {
      expect(await post(payer, { 'if-match': '*' })).toMatchObject({
        status: 412,
        body: { code: 'version_conflict', error: 'The record does not exist.' },
      });
      await post(payer, {});
      expect(await post(payer, { 'if-match': '*' })).toMatchObject({ status: 200, body: { version: 2 } });
      expect(await post(payer, { 'if-match': 'W/"2"' })).toMatchObject({ status: 200, body: { version: 3 } });
      expect(await post(payer, { 'if-match': 'W/"2"' })).toMatchObject({ status: 412, body: { version: 3 } });
    });
    expect(appended).toEqual([line, line, line]);
  });

  test('If-None-Match: * creates, and never updates', async () => {
    const payer = samples.payer();
    const appended = await appendedBy(service, async () => {
      expect(await post(payer, { 'if-none-match': '*' })).toMatchObject({
        status: 200,
        body: { version: 1 },
      });
      expect(await post(payer, { 'if-none-match': '*' })).toMatchObject({
        status: 412,
        body: { code: 'version_conflict' },
      });
    });
    expect(appended).toEqual([`clinic.payer-${payer.id}: PayerUpserted`]);
  });

  test.each([
    { 'if-match': '1' },
    { 'if-match': '"0"' },
    { 'if-match': '"-1"' },
    { 'if-match': '"one"' },
    { 'if-match': '"1", "2"' },
    { 'if-match': '*, "1"' },
    { 'if-match': 'w/"1"' },
    { 'if-match': '"9999999999999999"' },
    { 'if-match': '' },
    { 'if-none-match': '"1"' },
    { 'if-match': '"1"', 'if-none-match': '*' },
  ])('the condition %j is refused with 400', async (headers) => {
    const payer = samples.payer();
    await post(payer, {});
    const appended = await appendedBy(service, async () => {
      const { status, body } = await post(payer, headers as Record<string, string>);
      expect({ status, body }).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
    });
    expect(appended).toEqual([]);
  });

  test('of two writers that saw the same version, one wins and the other is told', async () => {
    const payer = samples.payer();
    await post(payer, {});
    for (let version = 1; version <= 20; version++) {
      const answers = await Promise.all(
        ['first', 'second'].map((name) => post({ ...payer, name } as never, { 'if-match': `"${version}"` })),
      );
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 412]);
    }
    expect((await service.get(pathOf('payer', payer.id))).body.version).toBe(21);
  });
});
