import { afterAll, beforeAll, expect, test } from 'vitest';
import { treeModel } from '../../projections/tree.ts';
import type { RecordedEvent } from '../../src/domain/events/event.ts';
import { openReadModels } from '../../src/server/openStorage.ts';
import { EvidencePage } from '../support/dashboard.ts';
import { eventually } from '../support/eventually.ts';
import { phi } from '../support/output.ts';
import { samples } from '../support/samples.ts';
import { openLogFile, readAll, startTestService, type TestService } from '../support/service.ts';

const LONG_MS = 60_000;

let service: TestService;
let page: EvidencePage;
let event: RecordedEvent;
const payer = { ...samples.payer(), name: phi('Aetna') };

beforeAll(async () => {
  service = await startTestService();
  await service.post('/integration/payers', payer);
  page = await EvidencePage.open(service);
  const head = await service.eventLog.head();
  const readModels = await openReadModels(service.config.readModelUrl);
  await eventually(async () => expect(await readModels.checkpoint(treeModel)).toBeGreaterThanOrEqual(head));
  await readModels.close();
  const payers = (await readAll(service.eventLog)).filter(({ type }) => type === 'PayerUpserted');
  event = payers[0] as RecordedEvent;
}, LONG_MS);
afterAll(() => service.stop());

/** Gives the event other data, past the service. */
function change(data: string): void {
  const db = openLogFile(service);
  const { changes } = db.prepare('UPDATE events SET data = ? WHERE position = ?').run(data, event.position);
  db.close();
  expect(changes).toBe(1);
}

test('without heads the history is held against the read model; the page says that none was sent', async () => {
  const shown = await page.verified();
  expect(shown).toContain('No head has been sent yet.');
  expect(shown).toContain('Verification passed');
  expect((await page.visitor.get(page.path('/head'))).status).toBe(404);
});

test(
  'what was changed is named; the result stays when the service starts again',
  async () => {
    change(JSON.stringify(event.data).replace('Aetna', 'Cigna'));
    const said = `The event at position ${event.position} was changed: stream ${event.stream}, version 1, event ${event.id}.`;
    const shown = await page.verified();
    change(JSON.stringify(event.data));
    expect(shown).toContain('Verification failed');
    expect(shown).toContain(said);
    await service.restart();
    const again = await EvidencePage.open(service);
    expect(await again.text()).toContain(said);
    expect(await again.text()).toContain(`Requested by ${page.userName} (user)`);
    page = again;
  },
  LONG_MS,
);

test('an export that comes to an event which cannot be read fails, and the next one is whole', async () => {
  await page.visitor.get(page.path());
  const download = () => page.visitor.post(page.path('/export'), { format: 'ndjson' });
  change('{');
  const broken = await download().then(
    ({ status }) => status,
    () => 'broken off',
  );
  expect([409, 'broken off']).toContain(broken);
  change(JSON.stringify(event.data));
  expect(await download()).toMatchObject({ status: 200, headers: { 'content-type': 'application/zip' } });
});
