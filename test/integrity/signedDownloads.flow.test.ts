import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCli, temporaryFolder } from '../support/cli.ts';
import { type BrowserlessSession, signedIn } from '../support/dashboard.ts';
import { unzipped } from '../support/files.ts';
import { createEncounter, samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { accessesBy, type TestService } from '../support/service.ts';

const hasTools = ['python3', 'openssl'].every((tool) => spawnSync(tool, ['version']).error === undefined);
const month = new Date().toISOString().slice(0, 7);

onEmbeddedEngines((start) => {
  let service: TestService;
  let visitor: BrowserlessSession;
  let root: string;
  const patient = samples.patient();
  const record = `/records/patients/${patient.id}`;
  beforeAll(async () => {
    service = await start({ RATE_LIMIT_PER_MINUTE: '0' });
    root = `/workspaces/${service.workspaceId('clinic')}`;
    await service.post('/integration/patients', patient);
    await createEncounter(service);
    ({ visitor } = await signedIn(service, 'compliance', service.workspaceId('clinic')));
    const { key } = await service.createKey('clinic', ['settings']);
    await service.as(key).send(`/integration/patients/${patient.id}/vip`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ vip: true }),
    });
    await visitor.get(root + record);
  });
  afterAll(() => service.stop());

  const downloads = [
    ['audit', '/audit', '/audit/export?format=csv', { format: 'csv' }],
    ['access', `/audit/report?month=${month}`, `/audit/report/export?month=${month}`, { month }],
    ['changes', '/changes?from=2020-01-01', '/changes/export?from=2020-01-01&format=csv', { format: 'csv' }],
    ['worklist', '/readiness?state=any', '/readiness/export?state=any', { state: 'any' }],
    ['history', `${record}/timeline`, `${record}/timeline/export`, { kind: 'patients', id: patient.id }],
    [
      'disclosures',
      `${record}/disclosures`,
      `${record}/disclosures/export?form=access_report&format=csv`,
      { id: patient.id },
    ],
  ] as const;

  /** Returns the files of a download with its manifest, written to a folder, and what it is. */
  async function download(path: string) {
    const { status, headers, bytes } = await visitor.get(
      `${root}${path}${path.includes('?') ? '&' : '?'}signed=yes`,
    );
    expect([status, headers['content-type']]).toEqual([200, 'application/zip']);
    const files = await unzipped(bytes);
    const [name = ''] = files.keys();
    const folder = temporaryFolder();
    for (const [file, content] of files) writeFileSync(join(folder, file), content);
    return { files, name, path: join(folder, name), key: join(folder, 'chartledger.pem') };
  }

  describe.each(downloads)('the download of the kind %s', (report, page, path, query) => {
    test('is offered with its manifest, which the program and the offline recipe verify', async () => {
      expect((await visitor.get(root + page)).text).toContain('Export with manifest');
      const { files, name, path: file, key } = await download(path);
      expect([...files.keys()]).toEqual([name, `${name}.manifest.json`, 'chartledger.pem']);
      const manifest = JSON.parse(String(files.get(`${name}.manifest.json`)));
      expect(manifest).toMatchObject({ report, query, workspace: service.workspaceId('clinic') });
      expect(await runCli(['verify', file, '--public-key', key])).toMatchObject({ code: 0, stderr: '' });
      if (hasTools) {
        const recipe = spawnSync('python3', ['examples/verify_offline.py', file, key]);
        expect([recipe.status, String(recipe.stderr)]).toEqual([0, '']);
      }
      writeFileSync(file, String(files.get(name)).replace(/\n[^\n]*\n$/, '\n'));
      const cut = await runCli(['verify', file, '--public-key', key]);
      expect([cut.code, /has \d+ lines, but the manifest says \d+/.test(cut.stdout + cut.stderr)]).toEqual([
        1,
        true,
      ]);
    });

    test('is the same file without one, and in the audit trail alike', async () => {
      const accesses = (work: () => Promise<unknown>) => accessesBy(service, work);
      const signed = await accesses(() => download(path));
      const plain = await accesses(async () => {
        const { headers } = await visitor.get(root + path);
        expect(headers['content-type']).not.toBe('application/zip');
      });
      expect(signed.map(({ action }) => action)).toEqual(plain.map(({ action }) => action));
      expect(signed.length).toBeGreaterThan(0);
    });
  });

  test('a page that is no report has no manifest', async () => {
    expect((await visitor.get(`${root}/audit?signed=yes`)).status).toBe(400);
  });
});
