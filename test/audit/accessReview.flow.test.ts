import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ReportRow } from '../../src/modules/audit/accessReport.ts';
import { runCli, storesOf, temporaryFolder } from '../support/cli.ts';
import { retryWhileLagging } from '../support/client.ts';
import { type BrowserlessSession, signedIn } from '../support/dashboard.ts';
import { phi } from '../support/output.ts';
import { samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { accessesBy, appendedBy, type TestService } from '../support/service.ts';

const month = new Date().toISOString().slice(0, 7);
const NOTE = 'In order: the patient is on the board, and was registered that day.';

onEmbeddedEngines((start) => {
  let service: TestService;
  let workspace: string;
  let root: string;
  let admin: BrowserlessSession;
  let auditor: BrowserlessSession;
  const vip = { ...samples.patient(), last_name: phi('Featherstonehaugh') };
  const other = samples.patient();
  const put = (key: string, path: string, body: object) =>
    service.as(key).send(path, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  beforeAll(async () => {
    service = await start({ RATE_LIMIT_PER_MINUTE: '0', TRUST_PROXY: '1' });
    workspace = service.workspaceId('clinic');
    root = `/workspaces/${workspace}/audit/report`;
    for (const one of [vip, other]) await service.post('/integration/patients', one);
    ({ visitor: admin } = await signedIn(service, 'admin', workspace));
    ({ visitor: auditor } = await signedIn(service, 'auditor', workspace));
    for (const visitor of [admin, auditor]) await visitor.get('/account');
  });
  afterAll(() => service.stop());

  const cli = (...args: string[]) => runCli(['audit', ...args], { env: storesOf(service.config) });
  const rowsOver = async (key: string): Promise<ReportRow[]> => {
    const answer = await retryWhileLagging(
      () => service.as(key).get(`/integration/audit/report?month=${month}`),
      ({ status, text }) => (status === 503 ? text : undefined),
    );
    expect(answer.status).toBe(200);
    return answer.text
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line));
  };

  test('a patient is marked as VIP over HTTP, at the command line and on the page, each once', async () => {
    const { key } = await service.createKey('clinic', ['settings']);
    const path = `/integration/patients/${vip.id}/vip`;
    const appended = await appendedBy(service, async () => {
      for (const isVip of [true, true, false])
        expect((await put(key, path, { vip: isVip })).body).toMatchObject({ success: true });
      expect((await cli('vip', vip.id, '--workspace', workspace)).stdout).toBe(
        `Patient ${vip.id} is marked as VIP.\n`,
      );
      expect((await cli('vip', vip.id, '--workspace', workspace, '--remove')).code).toBe(0);
      expect((await admin.post(`${root}/vip`, { patient: vip.id })).status).toBe(303);
      expect((await admin.get(root)).text).toContain(`Remove the mark of ${vip.id}`);
    });
    const types = ['Marked', 'Unmarked', 'Marked', 'Unmarked', 'Marked'];
    expect(appended).toEqual(types.map((type) => `clinic.access_review: Vip${type}`));
    const trail = await auditor.get(
      `/workspaces/${workspace}/audit?kind=patient&id=${vip.id}&action=VipMarked`,
    );
    expect(trail.text).toContain('Vip marked');
    expect((await service.get(`/integration/patients/${vip.id}`)).text).not.toContain('vip"');
  });

  test('who may not, or names no patient, marks nobody', async () => {
    const { key } = await service.createKey('clinic', ['settings']);
    const { key: audit } = await service.createKey('clinic', ['audit']);
    const appended = await appendedBy(service, async () => {
      expect((await put(audit, `/integration/patients/${vip.id}/vip`, { vip: false })).status).toBe(403);
      expect((await put(key, `/integration/patients/${phi('none')}/vip`, { vip: true })).status).toBe(404);
      expect((await put(key, `/integration/patients/${vip.id}/vip`, { vip: 'yes' })).status).toBe(400);
      expect((await auditor.post(`${root}/vip`, { remove: vip.id })).status).toBe(403);
      expect((await admin.post(`${root}/vip`, { patient: '' })).status).toBe(404);
    });
    expect(appended).toEqual([]);
  });

  test('access to a VIP is in the report, which is itself in the trail, and a row is judged', async () => {
    for (const { id } of [vip, other]) await admin.get(`/workspaces/${workspace}/records/patients/${id}`);
    const { key } = await service.createKey('clinic', ['audit']);
    let rows: ReportRow[] = [];
    const looks = await accessesBy(service, async () => {
      rows = await rowsOver(key);
    });
    expect(looks).toContainEqual({ action: 'audit.report', query: { month } });
    expect(rows).toEqual([
      expect.objectContaining({ reason: 'vip', kind: 'patient', record_id: vip.id, principal_type: 'user' }),
    ]);
    const [{ id }] = rows as [ReportRow];
    const page = await auditor.get(`${root}?month=${month}`);
    expect([page.status, page.text.includes(vip.id), page.text.includes(vip.last_name)]).toEqual([
      200,
      true,
      false,
    ]);
    expect(page.text).not.toContain('Mark as VIP');
    const judgments = '/integration/audit/report/judgments';
    const appended = await appendedBy(service, async () => {
      expect((await auditor.post(`${root}/judge`, { month, row: id, note: NOTE })).status).toBe(303);
      expect((await service.as(key).post(judgments, { month, id, note: 'Not in order' })).status).toBe(200);
      const judged = await cli('judge', id, '--workspace', workspace, '--month', month, '--note', NOTE);
      expect(judged.stdout).toBe(`The judgment of row ${id} is recorded.\n`);
      expect((await service.as(key).post(judgments, { month, id, note: ' ' })).status).toBe(400);
      const unknown = { month: '2026-01', id, note: NOTE };
      expect((await service.as(key).post(judgments, unknown)).status).toBe(404);
      expect((await service.post(judgments, { month, id, note: NOTE })).status).toBe(403);
    });
    expect(appended).toEqual(Array(3).fill('clinic.access_review: AccessJudged'));
    expect(await rowsOver(key)).toEqual([
      expect.objectContaining({ id, note: NOTE, judged_by: expect.any(String) }),
    ]);
    expect((await auditor.get(`${root}?month=${month}`)).text).toContain(NOTE);
    const file = await auditor.get(`${root}/export?month=${month}`);
    expect(file.text.split('\r\n')).toHaveLength(3);
    expect(file.text).toContain(NOTE);
    const table = await cli('report', '--workspace', workspace, '--month', month);
    expect(table.stdout).toContain(id);
    const json = await cli('report', '--workspace', workspace, '--month', month, '--format', 'json');
    expect(JSON.parse(json.stdout)).toMatchObject({ id, note: NOTE });
  });

  test('the report replaces a file only when that is asked for', async () => {
    const out = join(temporaryFolder(), 'access.csv');
    writeFileSync(out, 'another report');
    const env = { ...storesOf(service.config), DATA_DIR: service.config.dataDir };
    const args = ['audit', 'report', '--workspace', workspace, '--month', month, '--format', 'csv'];
    const report = (...more: string[]) => runCli([...args, '--out', out, ...more], { env });
    expect((await report()).code).toBe(1);
    expect(readFileSync(out, 'utf8')).toBe('another report');
    expect(await report('--force')).toMatchObject({ code: 0, stderr: '' });
    expect(readFileSync(out, 'utf8')).toContain('principal_id');
  });

  test('a month that is none is refused', async () => {
    const { key } = await service.createKey('clinic', ['audit']);
    for (const query of ['', '?month=2026', '?month=2026-13', `?month=${month}&more=1`])
      expect((await service.as(key).get(`/integration/audit/report${query}`)).status).toBe(400);
    const page = await auditor.get(`${root}?month=2026-13`);
    expect([page.status, page.text.includes('must be a month such as 2026-03')]).toEqual([400, true]);
    expect((await cli('report', '--workspace', workspace, '--month', 'May')).code).not.toBe(0);
  });

  test('office hours are set at the command line, in the time zone of the workspace', async () => {
    const set = (hours: string) =>
      runCli(['workspaces', 'set', workspace, '--office-hours', hours], { env: storesOf(service.config) });
    const appended = await appendedBy(service, async () => {
      expect((await set('mon-fri 07:00-19:00')).code).toBe(0);
      expect((await set('fri-mon 07:00-24:00')).code).toBe(0);
      expect((await set('none')).code).toBe(0);
      for (const bad of ['19:00-07:00', '7-19', 'mon-day 07:00-19:00', ''])
        expect((await set(bad)).code).not.toBe(0);
    });
    expect(appended).toEqual(Array(3).fill('access: WorkspaceOfficeHoursSet'));
    const events = await service.eventLog.readStream('access', { direction: 'backwards', limit: 3 });
    expect(events.map(({ data }) => data.office_hours)).toEqual([
      null,
      { from: '07:00', to: '24:00', days: ['sun', 'mon', 'fri', 'sat'] },
      { from: '07:00', to: '19:00', days: ['mon', 'tue', 'wed', 'thu', 'fri'] },
    ]);
  });
});
