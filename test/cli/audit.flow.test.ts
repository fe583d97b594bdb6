import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCli, storesOf } from '../support/cli.ts';
import { phi } from '../support/output.ts';
import { samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { accessesBy, appendedBy, sharedService, type TestService } from '../support/service.ts';

onEmbeddedEngines(() => {
  let service: TestService;
  const patient = samples.patient();
  beforeAll(async () => {
    service = await sharedService();
    expect((await service.post('/integration/patients', patient)).status).toBe(200);
    expect((await service.post('/integration/patients', { id: patient.id })).status).toBe(400);
    expect((await service.get(`/integration/patients/${patient.id}`)).status).toBe(200);
    expect((await service.get('/integration/patients')).status).toBe(200);
  });
  afterAll(() => service.stop());

  const audit = (...args: string[]) => runCli(['audit', ...args], { env: storesOf(service.config) });
  const ofClinic = (...args: string[]) => audit('--workspace', service.workspaceId('clinic'), ...args);
  const actionsOf = async (...args: string[]) => {
    const { code, stdout, stderr } = await ofClinic('--format', 'json', ...args);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return JSON.parse(stdout).map(({ action, type }: Record<string, string>) => action ?? type);
  };

  test('each filter finds its entries, newest first, and reading is an entry itself', async () => {
    expect(await actionsOf('--kind', 'patient', '--id', patient.id)).toEqual([
      'record.read',
      'request.refused',
      'PatientUpserted',
    ]);
    expect(await actionsOf('--outcome', 'refused')).toEqual(['request.refused']);
    expect(await actionsOf('--action', 'record.list')).toEqual(['record.list']);
    expect(await actionsOf('--action', 'record.list', '--until', '2020-01-01')).toEqual([]);
    expect(await actionsOf('--kind', 'patient', '--id', patient.id, '--seen')).toEqual([
      'record.list',
      'record.read',
    ]);
    const encounter = phi('encounter');
    await service.post('/integration/encounters', { id: encounter, patient_id: patient.id });
    await service.get(`/integration/encounters/${encodeURIComponent(encounter)}`);
    expect(await actionsOf('--kind', 'patient', '--id', patient.id, '--seen')).toEqual([
      'record.read',
      'record.list',
      'record.read',
    ]);
    expect(await actionsOf('--since', '2020-01-01', '--limit', '1')).toEqual(['audit.export']);
    const accesses = await accessesBy(service, () => ofClinic('--outcome', 'refused', '--limit', '5'));
    expect(accesses).toEqual([{ action: 'audit.read', query: { outcome: 'refused', limit: 5 } }]);
  });

  test('who looked up who has seen a record is found by that record, with what was searched for', async () => {
    const { id } = samples.payer();
    await service.post('/integration/payers', { ...samples.payer(), id });
    await ofClinic('--kind', 'payer', '--id', id, '--seen');
    await service.get('/integration/payers?limit=7');
    const about = ['--kind', 'payer', '--id', id] as const;
    const query = `id=${id}&kind=payer&seen=all`;
    const json = JSON.parse((await ofClinic(...about, '--action', 'audit.read', '--format', 'json')).stdout);
    expect(json).toMatchObject([{ action: 'audit.read', kind: 'payer', record_id: id, query }]);
    const table = (await ofClinic(...about, '--action', 'audit.read')).stdout.trimEnd().split('\n');
    expect(table.slice(1)).toEqual([expect.stringMatching(new RegExp(` payer ${id} ${query}$`))]);
    const csv = (await ofClinic('--action', 'record.list', '--limit', '1', '--format', 'csv')).stdout;
    expect(csv.split('\r\n')[0]).toMatch(/,status,query,fields,/);
    expect(csv.split('\r\n')[1]).toContain(',limit=7,');
    expect(await actionsOf(...about, '--seen')).toEqual(['record.list']);
  });

  test('table and CSV hold the same entries', async () => {
    const table = (await ofClinic('--action', 'PatientUpserted')).stdout.trimEnd().split('\n');
    expect(table).toEqual([
      expect.stringMatching(/^TIME +WHO +ACTION +OUTCOME +FROM +ON$/),
      expect.stringMatching(
        /^\S+Z {2}Test key +PatientUpserted +accepted {2}127\.0\.0\.1 {2}patient \S+ version 1$/,
      ),
    ]);
    const csv = (await ofClinic('--action', 'PatientUpserted', '--format', 'csv')).stdout
      .trimEnd()
      .split('\n');
    expect(csv).toEqual([
      expect.stringMatching(/^position,recorded_at,/),
      expect.stringContaining(`,patient,${patient.id},`),
    ]);
  });

  test('the trail of the installation has no workspace', async () => {
    const { code, stdout } = await audit('--installation', '--format', 'json');
    expect(code).toBe(0);
    const again = JSON.parse((await audit('--installation', '--format', 'json')).stdout);
    expect(again.length).toBeGreaterThan(JSON.parse(stdout).length);
    expect(again[0]).toMatchObject({ action: 'audit.export' });
  });

  test('what cannot be asked is refused, and tells the log nothing', async () => {
    const appended = await appendedBy(service, async () => {
      const accesses = await accessesBy(service, async () => {
        expect(await audit()).toMatchObject({ code: 2, stdout: '' });
        expect((await audit('--workspace', 'a', '--installation')).stderr).toContain(
          'specify either --workspace',
        );
        expect(await audit('--workspace', 'nobody')).toMatchObject({
          code: 1,
          stderr: 'Workspace nobody does not exist.\n',
        });
        const seen = await ofClinic('--seen');
        expect(seen).toMatchObject({ code: 2, stdout: '' });
        expect(seen.stderr).toContain('requires a kind of record and a record id');
      });
      expect(accesses).toEqual([]);
    });
    expect(appended).toEqual([]);
  });

  test('while no service runs, the trail is read again and again, each time with the entry of the last', async () => {
    await service.restart(async () => {
      const counts: number[] = [];
      for (let reads = 0; reads < 3; reads += 1) {
        const { code, stdout, stderr } = await ofClinic('--action', 'audit.export', '--format', 'json');
        expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
        counts.push(JSON.parse(stdout).length);
      }
      const [first = 0] = counts;
      expect(counts).toEqual([first, first + 1, first + 2]);
      const workspace = service.workspaceId('clinic');
      for (let reports = 0; reports < 2; reports += 1) {
        const of = ['disclosures', 'patient', patient.id, '--workspace', workspace, '--format', 'json'];
        const report = await runCli(of, { env: storesOf(service.config) });
        expect(report).toMatchObject({ code: 0, stderr: '' });
      }
    });
  });
});
