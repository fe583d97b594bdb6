import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCli, storesOf, temporaryFolder } from '../support/cli.ts';
import type { Client, TestResponse } from '../support/client.ts';
import { EventReader, eventsOf } from '../support/log.ts';
import { documentForm, documentsPath, paths, pdf, samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy, sharedService, type TestService } from '../support/service.ts';

const SKIP = '/events?unchanged=skip';

onEmbeddedEngines(() => {
  const folder = temporaryFolder();
  let service: TestService;
  let workspaces = 0;
  beforeAll(async () => {
    service = await sharedService();
  });
  afterAll(() => service.stop());

  async function fresh(): Promise<{ client: Client; workspace: string }> {
    workspaces += 1;
    const label = `unchanged${workspaces}`;
    const { key } = await service.createKey(label, ['write', 'read', 'events']);
    return { client: service.as(key), workspace: service.workspaceId(label) };
  }

  const versionsIn = (page: TestResponse) => eventsOf(page).map(({ data }) => data.version);

  /** Types and versions: `patient upserted 1`. */
  const typesIn = (page: TestResponse) =>
    eventsOf(page).map(({ type, data }) => `${type.split('.').slice(1, 3).join(' ')} ${data.version}`);

  test('a page leaves out what changed nothing, and goes on behind it', async () => {
    const { client } = await fresh();
    const payer = samples.payer();
    const cities = [undefined, undefined, 'Omaha', 'Omaha', 'Omaha', 'Lincoln', 'Lincoln'];
    for (const city of cities) await client.post(paths.payer, { ...payer, ...(city && { city }) });
    const appended = await appendedBy(service, async () => {
      const page = await client.get(SKIP);
      expect(versionsIn(page)).toEqual([1, 3, 6]);
      expect(versionsIn(await client.get('/events?unchanged=send'))).toEqual([1, 2, 3, 4, 5, 6, 7]);
      expect(versionsIn(await client.get('/events'))).toHaveLength(7);
      const first = await client.get(`${SKIP}&limit=2`);
      expect(versionsIn(first)).toEqual([1, 3]);
      const after = first.headers['chartledger-position'];
      const rest = await client.get(`${SKIP}&limit=2&after=${after}`);
      expect(versionsIn(rest)).toEqual([6]);
      const end = rest.headers['chartledger-position'];
      expect(versionsIn(await client.get(`${SKIP}&after=${end}`))).toEqual([]);
      expect(versionsIn(await client.get(`/events?after=${end}`))).toEqual([]);
      expect((await client.get('/events?unchanged=maybe')).status).toBe(400);
    });
    expect(appended).toEqual([]);
  });

  test('a stream leaves it out while it catches up, and live', async () => {
    const { client } = await fresh();
    const payer = samples.payer();
    for (const name of ['Aetna', 'Aetna', 'Cigna']) await client.post(paths.payer, { ...payer, name });
    const skipping = await EventReader.open(client, SKIP);
    const sending = await EventReader.open(client);
    await skipping.count(2);
    await sending.count(3);
    for (const name of ['Cigna', 'Cigna', 'Humana']) await client.post(paths.payer, { ...payer, name });
    await sending.count(6);
    expect((await skipping.count(3)).map(({ data }) => data.version)).toEqual([1, 3, 6]);
    expect(skipping.lastEventId).toBe(sending.lastEventId);
    skipping.kill();
    sending.kill();
  });

  test('first versions, erasures and what follows them are never left out; documents count, too', async () => {
    const { client, workspace } = await fresh();
    const patient = samples.patient();
    const encounter = samples.encounter(patient.id);
    await client.post(paths.patient, patient);
    await client.post(paths.encounter, encounter);
    const documents = documentsPath(encounter.id);
    const scan = { document_id: 'scan-1', filename: 'scan.pdf', content: pdf('the same') };
    for (let times = 0; times < 2; times += 1) {
      expect((await client.upload(documents, documentForm(scan))).status).toBe(200);
    }
    expect((await client.delete(`${documents}/scan-1`)).status).toBe(200);
    expect(typesIn(await client.get(SKIP))).toEqual([
      'patient upserted 1',
      'encounter upserted 1',
      'document uploaded 1',
      'document removed 3',
    ]);
    const erased = await runCli(
      [
        'records',
        'erase',
        'patient',
        patient.id,
        '--with-encounters',
        '--reason',
        'Test',
        '--workspace',
        workspace,
      ],
      { env: { ...storesOf(service.config), DATA_DIR: folder } },
    );
    expect(erased.code).toBe(0);
    await client.post(paths.patient, patient);
    await client.post(paths.patient, patient);
    const skipped = typesIn(await client.get(SKIP));
    expect(skipped).toEqual(
      expect.arrayContaining(['patient erased 2', 'encounter erased 2', 'document erased 4']),
    );
    expect(skipped.at(-1)).toBe('patient upserted 3');
    expect(typesIn(await client.get('/events'))).toEqual([...skipped, 'patient upserted 4']);
  });
});
