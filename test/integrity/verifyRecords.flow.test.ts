import { readdirSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { MongoClient } from 'mongodb';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { auditModel } from '../../projections/auditTrail.ts';
import { documentSearchModel } from '../../projections/documentSearch.ts';
import { models } from '../../projections/index.ts';
import { readinessModel } from '../../projections/projection.ts';
import { documentsModel, encountersModel, recordsModel } from '../../projections/records.ts';
import { openReadModels } from '../../src/server/openStorage.ts';
import type { ModelName, ReadModels, Row } from '../../src/storage/readModels.ts';

import { runCli, runInWorkspace, storesOf } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { documentForm, documentsPath, pathOf, paths, samples } from '../support/samples.ts';
import { onEmbeddedEngines, onEveryEngine } from '../support/servers.ts';
import { inShort, installationEvents, type TestService } from '../support/service.ts';

const LONG_MS = 60_000;

onEveryEngine((start) => {
  let service: TestService;
  let readModels: ReadModels;
  const patient = samples.patient();
  const encounter = samples.encounter(patient.id);
  const payer = { ...samples.payer(), city: 'Omaha' };
  beforeAll(async () => {
    service = await start();
    readModels = await openReadModels(service.config.readModelUrl);
    await service.post(paths.patient, patient);
    await service.post(paths.encounter, encounter);
    await service.upload(documentsPath(encounter.id), documentForm({ document_id: 'd1' }));
    for (const city of ['Lincoln', payer.city]) await service.post(paths.payer, { ...payer, city });
    const erased = samples.patient();
    const itsEncounter = samples.encounter(erased.id);
    await service.post(paths.patient, erased);
    await service.post(paths.encounter, itsEncounter);
    await service.upload(documentsPath(itsEncounter.id), documentForm({ document_id: 'd1' }));
    await projected();
    const because = ['--reason', 'asked for', '--with-encounters'];
    expect(await runInWorkspace(service, 'records', 'erase', 'patient', erased.id, ...because)).toMatchObject(
      {
        code: 0,
      },
    );
    await service.post(paths.patient, erased);
    await projected();
  });
  afterAll(async () => {
    await readModels.close();
    await service.stop();
  });

  // Otherwise the projector would write again what a test changes.
  beforeEach(() => projected());

  const stream = (rest: string) => `${service.workspaceId('clinic')}.${rest}`;
  const verify = (...options: string[]) => runInWorkspace(service, 'verify', ...options);
  const filesLeft = () => readdirSync(service.config.dataDir).filter((name) => name.startsWith('verify-'));

  async function projected(): Promise<void> {
    const head = await service.eventLog.head();
    await eventually(async () => {
      for (const model of models) expect(await readModels.checkpoint(model)).toBeGreaterThanOrEqual(head);
    }, LONG_MS);
  }

  async function removeRow(model: string, id: string): Promise<void> {
    const { readModelUrl } = service.config;
    if (readModelUrl.startsWith('mongodb')) {
      const client = await MongoClient.connect(readModelUrl);
      await client.db().collection<{ _id: string }>(`rows.${model}`).deleteOne({ _id: id });
      await client.close();
      return;
    }
    const db = new DatabaseSync(readModelUrl.slice('sqlite:'.length), { timeout: 10_000 });
    db.prepare(`DELETE FROM "model_${model}" WHERE id = ?`).run(id);
    db.close();
  }

  /** Makes a stored row another one, which its store finds as sound as any. */
  async function replaceRow(model: string, id: string, change: (row: Row) => Row): Promise<Row> {
    const [row] = await readModels.load(model, [id]);
    await removeRow(model, id);
    await readModels.write({ model, rows: [change(row as Row)], checkpoint: 0 });
    return row as Row;
  }

  test('what is stored is what the log says, also while writes go on; nothing is left of the comparison', async () => {
    let isVerified = false;
    const writing = (async () => {
      for (let is_completed = false; !isVerified; is_completed = !is_completed) {
        await service.post(paths.payer, payer);
        await service.post(paths.encounter, { ...encounter, is_completed });
        await service.post(paths.patient, samples.patient());
        await service.get(pathOf('patient', patient.id));
      }
    })();
    const { code, stdout, stderr } = await verify('--records').finally(() => {
      isVerified = true;
    });
    await writing;
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/\n[\d,]+ rows of 7 read models compared with the log\n/);
    expect(filesLeft()).toEqual([]);
  });

  onEmbeddedEngines(() => {
    const changed = 'a row is not what the log says';
    const other = (row: Row): Row => ({ ...row, body: { ...row.body, version: 0 } });
    const earlier = (row: Row): Row => ({ ...row, position: row.position - 1 });
    const document = `document-${encodeURIComponent(`${encounter.id}/d1`)}`;
    const cases: [what: string, model: ModelName, id: string, problem: string, change: typeof other][] = [
      ['a record', recordsModel, `payer-${payer.id}`, changed, other],
      ['a list', recordsModel, `payer-${payer.id}`, changed, (row) => ({ ...row, lists: ['x'] })],
      ['an earlier version', recordsModel, `payer-${payer.id}`, 'a row lacks an event', earlier],
      [
        ...(['a partition', encountersModel, `encounter-${encounter.id}`, changed] as const),
        (row) => ({ ...row, partition: 'x' }),
      ],
      [
        'terms of the search',
        recordsModel,
        `patient-${patient.id}`,
        changed,
        (row) => ({ ...row, search: { terms: ['x'], since: row.position } }),
      ],
      ['what the search finds of a document', documentSearchModel, document, changed, other],
      ['a document', documentsModel, document, changed, other],
      [
        ...(['the worklist', readinessModel, `encounter-${encounter.id}`, changed] as const),
        (row) => ({ ...row, body: { ...row.body, state: 'ready' } }),
      ],
      [
        ...(['when a finding begins', readinessModel, `encounter-${encounter.id}`, changed] as const),
        (row) => ({ ...row, body: { ...row.body, findings: [], flips_at: 1 } }),
      ],
    ];
    test.each(cases)(
      '%s changed in the store is named by verify --records, and by no other check',
      async (_what, model, name, problem, change) => {
        await projected();
        const row = await replaceRow(model, stream(name), change);
        expect(await verify()).toMatchObject({ code: 0, stderr: '' });
        expect(await verify('--records')).toEqual(named(model, problem));
        expect(filesLeft()).toEqual([]);
        await replaceRow(model, stream(name), () => row);
      },
    );
  });

  test('a row that was removed, and one that comes from no event, are named', async () => {
    await projected();
    const id = stream(`payer-${payer.id}`);
    const [row] = (await readModels.load(recordsModel, [id])) as [Row];
    await removeRow(recordsModel, id);
    expect(await verify('--records')).toEqual(named(recordsModel, 'a row is missing'));
    const added = { ...row, id: `${id}x`, order: row.order + 0.5 };
    await readModels.write({ model: recordsModel, rows: [row, added], checkpoint: 0 });
    expect(await verify('--records')).toEqual(named(recordsModel, 'a row comes from no event'));
    await removeRow(recordsModel, added.id);
    expect(await verify('--records')).toMatchObject({ code: 0, stderr: '' });

    const encounterId = stream(`encounter-${encounter.id}`);
    const [entry] = (await readModels.load(readinessModel, [encounterId])) as [Row];
    await removeRow(readinessModel, encounterId);
    expect(await verify('--records')).toEqual(named(readinessModel, 'a row is missing'));
    const other = { ...entry, id: stream('encounter-other'), order: entry.order + 0.5 };
    await readModels.write({ model: readinessModel, rows: [entry, other], checkpoint: 0 });
    expect(await verify('--records')).toEqual(named(readinessModel, 'a row comes from no event'));
    await removeRow(readinessModel, other.id);
  });

  function named(model: string, problem: string) {
    const rebuild = `chartledger projections rebuild ${model.replace(/_v\d+$/, '')}`;
    const place = 'partition \\S+, position \\d+';
    return {
      code: 1,
      stdout: expect.stringMatching(/^\d+ events verified, /),
      stderr: expect.stringMatching(
        `^${model}: ${problem}: ${place}\\. To restore what the log says, run: ${rebuild}\\n$`,
      ),
    };
  }
});

onEmbeddedEngines((start) => {
  test('without a workspace, the rows of all are compared, and the audit trail says that somebody did', async () => {
    const service = await start();
    try {
      await service.post(paths.payer, samples.payer());
      await service.createKey('other');
      const readModels = await openReadModels(service.config.readModelUrl);
      const env = { ...storesOf(service.config), DATA_DIR: service.config.dataDir };
      const verify = (...more: string[]) => runCli(['verify', '--records', ...more], { env });
      await eventually(async () => expect(await readModels.count(auditModel)).toBeGreaterThan(1));
      const recorded = await installationEvents(service, async () =>
        expect(await verify()).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+ rows of 7 /) }),
      );
      expect(inShort(recorded)).toEqual(['verify']);
      const id = service.workspaceId('other');
      await eventually(async () => expect(await readModels.load(auditModel, [id])).toHaveLength(1));
      const [row] = (await readModels.load(auditModel, [id])) as [Row];
      const added = { ...row, id: `${id}/12`, partition: `${id} chunks`, position: 1 };
      await readModels.write({ model: auditModel, rows: [added], checkpoint: 0 });
      await readModels.close();
      expect((await verify()).stderr).toMatch(
        `${auditModel}: a row comes from no event: partition ${id} chunks`,
      );
      expect(await verify('--head', 'head.json')).toMatchObject({ code: 2 });
    } finally {
      await service.stop();
    }
  });
});
