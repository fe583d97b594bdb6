import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runInWorkspace, temporaryFolder } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { phi } from '../support/output.ts';
import { type PostgresServer, postgresPrograms, startPostgres } from '../support/postgres.ts';
import { billedPath, freshClaim, sendClaim } from '../support/readiness.ts';
import { documentForm, documentsPath, samples } from '../support/samples.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { tableIn } from '../support/warehouse.ts';

const LONG_MS = 120_000;

if (postgresPrograms === undefined) process.stdout.write('Not run: PostgreSQL is not installed.\n');

let service: TestService;
let server: PostgresServer;
let client: pg.Client;
beforeAll(async () => {
  if (postgresPrograms === undefined) return;
  [service, server] = await Promise.all([startTestService(), startPostgres(postgresPrograms)]);
  client = new pg.Client(server.url);
  await client.connect();
}, LONG_MS);
afterAll(async () => {
  await client?.end();
  await server?.stop();
  await service?.stop();
});

const sink = (...args: string[]) => runInWorkspace(service, 'sink', ...args);
async function write(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await sink(...args);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout;
}
const post = async (path: string, record: object) =>
  expect((await service.post(path, record)).status).toBe(200);
const schemaOf = (view = '') => `"${service.workspaceId('clinic')}${view}"`;

/** The rows of a table, as `tableIn` has them. */
async function rowsOf(table: string, view = ''): Promise<Record<string, unknown>[]> {
  const { rows, fields } = await client.query(`SELECT * FROM ${schemaOf(view)}.${table} ORDER BY 1`);
  const [{ name: key = '' } = {}] = fields;
  return rows.map((row) => ({
    ...Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)),
    ...(key === 'position' && { position: BigInt(row[key]) }),
  }));
}

test.skipIf(postgresPrograms === undefined)(
  'after several runs the tables have the rows of the Parquet files, in both views, and nothing of what was erased',
  async () => {
    const claim = freshClaim({ encounter: { status: phi('seen') } });
    await sendClaim(service, claim);
    await write('postgres', server.url);
    const { patient, encounter } = claim;
    await post('/integration/patients', { ...patient, city: phi('Omaha'), first_name: 'Zoë "O\'\\u0000"' });
    const place = documentsPath(String(encounter.id));
    const [scan, note] = [phi('scan'), phi('note')];
    for (const document_id of [scan, note])
      expect((await service.upload(place, documentForm({ document_id }))).status).toBe(200);
    const leaver = { ...samples.patient(), city: phi('Gone') };
    await post('/integration/patients', leaver);
    const claimId = phi('claim');
    await post(billedPath(claim), { claim_id: claimId });
    const adjustments = [{ group: 'CO', code: '16' }];
    await post(`${billedPath(claim)}/${claimId}/outcome`, { source: '835', outcome: 'denied', adjustments });
    await write('postgres', server.url);
    expect(await rowsOf('patients')).toContainEqual(expect.objectContaining({ id: leaver.id }));

    expect((await service.delete(documentsPath(String(encounter.id), note))).status).toBe(200);
    const erased = await runInWorkspace(
      service,
      'records',
      'erase',
      'patient',
      leaver.id,
      '--reason',
      'asked',
    );
    expect(erased.code).toBe(0);
    const [folder, deidentified] = [temporaryFolder(), temporaryFolder()];
    await eventually(async () => {
      for (const options of [[], ['--deidentified']]) {
        await write('parquet', options.length === 0 ? folder : deidentified, ...options);
        await write('postgres', server.url, ...options);
      }
      expect(await write('parquet', folder)).toBe('Nothing has changed.\n');
    });
    const records = ['patients', 'payers', 'providers', 'facilities', 'encounters', 'documents'];
    const versions = ['patient', 'payer', 'provider', 'facility', 'encounter', 'document'].map(
      (kind) => `${kind}_versions`,
    );
    for (const table of [...records, ...versions, 'readiness', 'access'])
      expect([table, await rowsOf(table)]).toEqual([table, await tableIn(folder, table)]);
    for (const table of [...records, ...versions, 'readiness'])
      expect([table, await rowsOf(table, '_deidentified')]).toEqual([
        table,
        await tableIn(deidentified, table),
      ]);
    expect((await rowsOf('patients')).map(({ id }) => id)).toEqual([patient.id]);
    expect(JSON.stringify(await rowsOf('patients'))).not.toContain(leaver.city);
    expect((await rowsOf('patient_versions')).map(({ id, version }) => [id, version])).toEqual([
      [patient.id, 1],
      [patient.id, 2],
      [leaver.id, 2],
    ]);
  },
  LONG_MS,
);

test.skipIf(postgresPrograms === undefined)(
  'a commit that fails leaves the tables of the position before; the next run makes up for it',
  async () => {
    const schema = schemaOf();
    const stateOf = async () => (await client.query(`SELECT position FROM ${schema}.warehouse_state`)).rows;
    const [payer, patient] = [samples.payer(), samples.patient()];
    await post('/integration/payers', payer);
    await post('/integration/patients', patient);
    const before = [await stateOf(), await rowsOf('payers')];
    await client.query(`ALTER TABLE ${schema}.patients RENAME TO aside`);
    expect(await sink('postgres', server.url)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('failed with 42P01'),
    });
    expect([await stateOf(), await rowsOf('payers')]).toEqual(before);
    await client.query(`ALTER TABLE ${schema}.aside RENAME TO patients`);
    await write('postgres', server.url);
    expect((await rowsOf('payers')).map(({ id }) => id)).toContain(payer.id);
    expect((await rowsOf('patients')).map(({ id }) => id)).toContain(patient.id);
  },
  LONG_MS,
);

test.skipIf(postgresPrograms === undefined)('tables of others are not taken for a warehouse', async () => {
  await client.query('CREATE DATABASE others');
  const url = server.url.replace('/postgres?', '/others?');
  const other = new pg.Client(url);
  await other.connect();
  await other.query(`CREATE SCHEMA ${schemaOf()}; CREATE TABLE ${schemaOf()}.patients (mine text)`);
  expect(await sink('postgres', url)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('not of a warehouse'),
  });
  await other.end();
  expect(await sink('postgres', '/tmp')).toMatchObject({ code: 2 });
});
