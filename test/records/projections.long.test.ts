import { afterEach, beforeEach, expect, test } from 'vitest';
import { models, projections as registered } from '../../projections/index.ts';
import { modelName, readinessModel } from '../../projections/projection.ts';
import { documents, records, recordsModel } from '../../projections/records.ts';
import { openReadModels } from '../../src/server/openStorage.ts';
import type { ReadModels, Row } from '../../src/storage/readModels.ts';

import { type CliResult, runCli, storesOf } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { phi } from '../support/output.ts';
import { createEncounter, documentForm, documentsPath, samples } from '../support/samples.ts';
import { onEveryEngine, TestServer, testServerCommand } from '../support/servers.ts';
import { appendedBy, logLines, type TestService } from '../support/service.ts';

// A rebuild reads the whole log: that of the production engines' server is shared, and others filled it.
const command = process.env.TEST_PHASE === 'production' ? testServerCommand() : undefined;

const documentsModel = modelName(documents);
const WARN = 40;
const LONG_MS = 180_000;

onEveryEngine((start) => {
  let log: TestServer | undefined;
  let service: TestService;
  let readModels: ReadModels;
  // A test has read models of its own, as what it does to them others would see.
  beforeEach(async () => {
    log = command && new TestServer(command);
    await log?.start();
    service = await start(log && { EVENT_LOG_URL: log.url });
    readModels = await openReadModels(service.config.readModelUrl);
  });
  afterEach(async () => {
    await readModels.close();
    await service.stop();
    await log?.remove();
  });

  const projections = (...args: string[]): Promise<CliResult> =>
    runCli(['projections', ...args], { env: storesOf(service.config) });

  async function json(...args: string[]) {
    const result = await projections(...args, '--json');
    expect(result).toMatchObject({ code: 0, stderr: '' });
    return JSON.parse(result.stdout);
  }

  /** Ids with versions, in the order of the list. */
  async function listed(path = '/integration/payers') {
    const items: [string, number][] = [];
    for (let token = ''; ; ) {
      const { body } = await eventually(async () => {
        const answer = await service.get(`${path}?limit=200${token && `&page_token=${token}`}`);
        expect(answer.status).toBe(200);
        return answer;
      });
      for (const { id, document_id, version } of body.items) items.push([id ?? document_id, version]);
      if (body.next_page_token === null) return items;
      token = body.next_page_token;
    }
  }

  /** The rows of one's own records and documents. */
  async function ownRows(ids: { records: string[]; documents: string[] }): Promise<Row[]> {
    const [one, two] = await Promise.all([
      readModels.load(recordsModel, ids.records),
      readModels.load(documentsModel, ids.documents),
    ]);
    return [...one, ...two].sort((a, b) => a.position - b.position);
  }

  test('status tells of each read model how far it is, and how many rows and parked events it has', async () => {
    await service.post('/integration/payers', samples.payer());
    const head = await service.eventLog.head();
    const appended = await appendedBy(service, () =>
      eventually(async () => {
        const statuses = await json('status');
        const rows: Record<string, number> = { [recordsModel]: 1, [documentsModel]: 0 };
        expect(statuses).toEqual(
          models.map((model) => ({
            model,
            position: expect.any(Number),
            behind: 0,
            parked: 0,
            rows: rows[model] ?? expect.any(Number),
          })),
        );
        for (const { position } of statuses) expect(position).toBeGreaterThanOrEqual(head);
      }),
    );
    expect(appended).toEqual([]);
    const { code, stdout } = await projections('status');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^READ MODEL +POSITION +BEHIND +ROWS +PARKED\n/);
    expect(stdout).toMatch(new RegExp(`^${recordsModel} +\\d+ +0 +1 +0\\s*$`, 'm'));
  });

  test('a projection that is not there is refused, with the names of those that are', async () => {
    expect(await projections('rebuild', 'nothing')).toEqual({
      code: 1,
      stdout: '',
      stderr: `Projection nothing does not exist. The projections are ${registered.map(({ name }) => name).join(', ')}, readiness.\n`,
    });
  });

  test(
    'a rebuild ends in the same rows and lists',
    async () => {
      const encounter = await createEncounter(service);
      const ids = [phi('document'), phi('document'), phi('document')];
      for (const document_id of ids) {
        await service.upload(documentsPath(encounter), documentForm({ document_id }));
      }
      await service.delete(documentsPath(encounter, ids[1]));
      const payers = Array.from({ length: 20 }, samples.payer);
      for (const payer of [...payers, ...payers.slice(5)]) await service.post('/integration/payers', payer);
      const lists = () =>
        Promise.all(['/integration/payers', documentsPath(encounter)].map((path) => listed(path)));
      const before = await lists();
      expect(before[1]?.map(([id]) => id)).toEqual([ids[0], ids[2]]);
      const workspace = service.workspaceId('clinic');
      const own = {
        records: payers.map(({ id }) => `${workspace}.payer-${id}`),
        documents: ids.map((id) => `${workspace}.document-${encodeURIComponent(encounter)}%2F${id}`),
      };
      const rows = await ownRows(own);
      expect(rows).toHaveLength(23);

      const appended = await appendedBy(service, async () => {
        const all = await json('rebuild');
        expect(all.at(-1)).toEqual({ model: readinessModel, begun: true });
        const rebuilt = all.slice(0, -1);
        expect(rebuilt).toEqual(
          registered.map((projection) => ({
            model: modelName(projection),
            rowsBefore: expect.any(Number),
            rows: expect.any(Number),
            parked: 0,
          })),
        );
        for (const one of rebuilt) expect(one.rows).toBeGreaterThanOrEqual(one.rowsBefore);
      });
      expect(appended).toEqual([]);
      expect(await lists()).toEqual(before);
      expect(await ownRows(own)).toEqual(rows);
    },
    LONG_MS,
  );

  test(
    'while read models are rebuilt the service serves, and nothing that is written is lost',
    async () => {
      const rewritten = samples.payer();
      const versions = new Map<string, number>();
      // Of the projector: a list that lags on a busy machine is a request's.
      const problems = () => logLines('"task":').filter(({ level }) => level >= WARN);
      const before = problems();
      let stopping = false;
      const write = async () => {
        while (!stopping) {
          const created = samples.payer();
          for (const payer of [created, rewritten]) {
            const { status, body } = await service.post('/integration/payers', payer);
            expect(status).toBe(200);
            versions.set(payer.id, Math.max(body.version, versions.get(payer.id) ?? 0));
            const read = await service.get(`/integration/payers/${payer.id}`);
            expect(read.status).toBe(200);
            expect(read.body.version).toBeGreaterThanOrEqual(body.version);
          }
        }
      };
      const writers = Promise.all(Array.from({ length: 4 }, write));
      try {
        const { code, stderr, stdout } = await projections('rebuild');
        expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
        expect(stdout).toMatch(
          new RegExp(`^${recordsModel}: \\d+ rows, \\d+ before; 0 events parked\\.\n${documentsModel}: `),
        );
      } finally {
        stopping = true;
      }
      await writers;
      const found = new Map(await listed());
      expect(found).toEqual(versions);
      expect(problems()).toEqual(before);
    },
    LONG_MS,
  );

  test('a read model that was set back is caught up, although nothing is appended', async () => {
    const position = await service.eventLog.head();
    const payers = Array.from({ length: 5 }, samples.payer);
    for (const payer of payers) await service.post('/integration/payers', payer);
    const expected = payers.map(({ id }) => [id, 1]);
    expect(await listed()).toEqual(expected);
    const appended = await appendedBy(service, async () => {
      await readModels.write({ model: 'set_back', rows: [], checkpoint: position });
      await readModels.replace(recordsModel, 'set_back');
      expect(await listed()).toEqual(expected);
    });
    expect(appended).toEqual([]);
  });

  test(
    'a rebuild that has fewer rows is refused and changes nothing, unless it is accepted',
    async () => {
      const payer = samples.payer();
      await service.post('/integration/payers', payer);
      await readModels.drop(recordsModel);
      await eventually(async () => {
        const head = await service.eventLog.head();
        expect(await readModels.checkpoint(recordsModel)).toBeGreaterThanOrEqual(head);
      }, LONG_MS);
      const list = await listed();
      expect(list).toEqual([[payer.id, 1]]);
      const position = await readModels.checkpoint(recordsModel);
      const partition = `${service.workspaceId('clinic')}.payer`;
      const [row] = await readModels.load(recordsModel, [`${partition}-${payer.id}`]);
      const stray = { ...(row as Row), id: `${partition}-${phi('stray')}`, order: position + 1 };
      await readModels.write({ model: recordsModel, rows: [stray], checkpoint: position });
      const rows = await readModels.count(recordsModel);

      const refused = await projections('rebuild', records.name);
      expect(refused).toEqual({
        code: 1,
        stdout: '',
        stderr: `${recordsModel} has ${rows} rows, but only ${rows - 1} when rebuilt; it was left as it is.\n`,
      });
      expect(await readModels.load(recordsModel, [stray.id])).toEqual([stray]);
      expect(await readModels.count(recordsModel)).toBe(rows);
      expect(await readModels.count(`${recordsModel}_rebuild`)).toBe(0);

      const accepted = await json('rebuild', records.name, '--accept-fewer');
      expect(accepted).toEqual([
        { model: recordsModel, rowsBefore: rows, rows: rows - 1, parked: 0 },
        { model: readinessModel, begun: true },
      ]);
      expect(await readModels.load(recordsModel, [stray.id])).toEqual([]);
      expect(await listed()).toEqual(list);
    },
    LONG_MS,
  );
});
