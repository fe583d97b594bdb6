import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { recordsModel } from '../../projections/records.ts';
import { runCli, storesOf } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { pathOf, paths, samples } from '../support/samples.ts';
import { newEvents, startTestService, type TestService } from '../support/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.stop());

/** Other letters in the stored text of a row, as a damaged page may have them. */
function damage(stream: string, from: string, to: string): void {
  const db = new DatabaseSync(service.config.readModelUrl.slice('sqlite:'.length), { timeout: 10_000 });
  const { changes } = db
    .prepare(`UPDATE "model_${recordsModel}" SET body = replace(body, ?, ?) WHERE id = ?`)
    .run(from, to, stream);
  db.close();
  expect(changes).toBe(1);
}

test('what a damaged row says is answered to nobody: the record comes from the log, lists are 503 until a rebuild', async () => {
  const payer = { ...samples.payer(), city: 'Omaha' };
  await service.post(paths.payer, payer);
  const path = pathOf('payer', payer.id);
  await eventually(async () => expect((await service.get(paths.payer)).body.items).toHaveLength(1));
  const changed = await newEvents(service, async () =>
    damage(`${service.workspaceId('clinic')}.payer-${payer.id}`, 'Omaha', 'Omxha'),
  );
  expect(changed).toEqual([]);

  expect(await service.get(path)).toMatchObject({ status: 200, body: { record: { city: 'Omaha' } } });
  expect(await service.send(paths.payer)).toMatchObject({ status: 503, body: { code: 'unavailable' } });

  const env = { ...storesOf(service.config), DATA_DIR: service.config.dataDir };
  expect(await runCli(['projections', 'rebuild', 'records'], { env })).toMatchObject({ code: 0 });
  await eventually(async () => {
    const { status, body } = await service.get(paths.payer);
    expect([status, body.items]).toMatchObject([200, [{ id: payer.id, record: { city: 'Omaha' } }]]);
  });
});
