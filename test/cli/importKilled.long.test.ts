import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CliResult, spawnCli, temporaryFolder } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { Follower } from '../support/log.ts';
import { phi } from '../support/output.ts';
import { createEncounter, documentLine, pdf, samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy, type TestService } from '../support/service.ts';

const LONG_MS = 120_000;
const PAYERS = 1_500;
const DOCUMENTS = 30;

onEmbeddedEngines((start) => {
  let service: TestService;
  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.stop());

  /** Runs an import in a folder, killed whenever so many more events are there, until it ends by itself. */
  async function importKilled(args: string[], cwd: string, kills: number[]): Promise<CliResult> {
    const env = { CHARTLEDGER_API_KEY: service.key as string };
    const run = (kill?: AbortSignal) =>
      spawnCli(['import', ...args, '--url', service.url, '--json'], { cwd, env, ...(kill && { kill }) });
    const progress = new Follower(service.eventLog, { after: await service.eventLog.head() });
    for (const count of kills) {
      const kill = new AbortController();
      const running = run(kill.signal);
      await eventually(() => expect(progress.events.length).toBeGreaterThan(count), LONG_MS);
      kill.abort();
      expect((await running).code).toBe(null);
    }
    await progress.stop();
    return run();
  }

  test('records of an import that is killed go in once each, and what is refused is listed once', async () => {
    const folder = temporaryFolder();
    const payers = Array.from({ length: PAYERS }, samples.payer);
    const lines = payers.map((record) => JSON.stringify({ kind: 'payer', record }));
    const nameless = JSON.stringify({ kind: 'payer', record: { id: phi('payer') } });
    writeFileSync(join(folder, 'records.ndjson'), ['no JSON', nameless, ...lines, nameless].join('\n'));
    const args = ['records.ndjson', '--format', 'ndjson', '--reject-file', 'refused.ndjson'];
    const appended = await appendedBy(service, async () => {
      const { code, stdout } = await importKilled(args, folder, [200, 800]);
      expect(code).toBe(1);
      expect(JSON.parse(stdout)).toMatchObject({
        accepted: PAYERS,
        created: PAYERS,
        updated: 0,
        rejected: 3,
      });
    });
    const refused = readFileSync(join(folder, 'refused.ndjson'), 'utf8').trimEnd().split('\n');
    expect(refused.map((line) => JSON.parse(line).source)).toEqual([
      'records.ndjson:1',
      'records.ndjson:2',
      `records.ndjson:${PAYERS + 3}`,
    ]);
    expect(readdirSync(folder).toSorted()).toEqual(['records.ndjson', 'refused.ndjson']);
    expect(appended.toSorted()).toEqual(
      payers.map(({ id }) => `clinic.payer-${id}: PayerUpserted`).toSorted(),
    );
  });

  test('documents of an import that is killed go in once each', async () => {
    const encounter = await createEncounter(service);
    const folder = temporaryFolder();
    const documents = Array.from({ length: DOCUMENTS }, () => phi('document'));
    mkdirSync(join(folder, 'scans', encounter), { recursive: true });
    for (const id of documents) writeFileSync(join(folder, 'scans', encounter, `${id}.pdf`), pdf(id));
    const appended = await appendedBy(service, async () => {
      const { code, stdout } = await importKilled(['--documents', 'scans'], folder, [1, 10]);
      expect({ code, ...JSON.parse(stdout) }).toMatchObject({
        code: 0,
        accepted: DOCUMENTS,
        created: DOCUMENTS,
      });
    });
    expect(appended.toSorted()).toEqual(documents.map((id) => documentLine(encounter, id)).toSorted());
    expect(readdirSync(folder)).toEqual(['scans']);
  });

  test('what a killed import had begun to write is gone at its end', async () => {
    const folder = temporaryFolder();
    const record = samples.payer();
    writeFileSync(join(folder, 'records.ndjson'), JSON.stringify({ kind: 'payer', record }));
    writeFileSync(join(folder, 'progress.json.1.new'), '{"run":');
    writeFileSync(join(folder, 'progress.json.my.new'), 'of somebody else');
    const args = ['records.ndjson', '--format', 'ndjson', '--state-file', 'progress.json'];
    const appended = await appendedBy(service, async () => {
      expect(await importKilled(args, folder, [])).toMatchObject({ code: 0 });
    });
    expect(appended).toEqual([`clinic.payer-${record.id}: PayerUpserted`]);
    expect(readdirSync(folder).toSorted()).toEqual(['progress.json.my.new', 'records.ndjson']);
  });
});
