import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../src/domain/events/event.ts';
import { UserManager } from '../../src/modules/auth/userManager.ts';
import { UserDirectory } from '../../src/modules/auth/users.ts';
import { openStateStore } from '../../src/server/openStorage.ts';
import type { StateStore } from '../../src/storage/stateStore.ts';
import { runCli, storesOf } from '../support/cli.ts';
import { type BrowserlessSession, StoredSession, signedIn } from '../support/dashboard.ts';
import { eventually } from '../support/eventually.ts';
import { phi } from '../support/output.ts';
import { createEncounter, documentForm, documentsPath, samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { accessesBy, appendedBy, type TestService } from '../support/service.ts';

const OFFER = 'Open this record with a reason';
const REASON = 'The claims desk is closed, and the payer is on the telephone.';

onEmbeddedEngines((start) => {
  let service: TestService;
  let stateStore: StateStore;
  let workspace: string;
  let root: string;
  let record: string;
  let encounter: string;
  const patient = { ...samples.patient(), last_name: phi('Featherstonehaugh') };
  const other = { ...samples.patient(), last_name: phi('Cholmondeley') };
  beforeAll(async () => {
    service = await start({ RATE_LIMIT_PER_MINUTE: '0', TRUST_PROXY: '1' });
    stateStore = await openStateStore(service.config.stateUrl);
    workspace = service.workspaceId('clinic');
    root = `/workspaces/${workspace}`;
    record = `${root}/records/patients/${patient.id}`;
    const client = service.as((await service.createKey('clinic', ['write'])).key);
    for (const one of [patient, other]) await client.post('/integration/patients', one);
    const id = await createEncounter(client);
    encounter = `${root}/records/encounters/${id}`;
    await client.upload(documentsPath(id), documentForm());
    await service.keys.setBreakGlass(workspace, 'allow');
  });
  afterAll(async () => {
    await stateStore.close();
    await service.stop();
  });

  const visitorOf = async (role: 'auditor' | 'viewer' | 'integrator') => {
    const { visitor, id } = await signedIn(service, role, workspace);
    await visitor.get('/account');
    return { visitor, id };
  };
  const offers = async (visitor: BrowserlessSession, path: string) => {
    const { status, text } = await visitor.get(path);
    return [status, text.includes(OFFER), text.includes(patient.last_name)];
  };
  const refused = [403, false, false];
  const offered = [403, true, false];
  const open = [200, false, true];
  const breakGlass = (visitor: BrowserlessSession, reason = REASON, path = record) =>
    visitor.post(`${path}/break-glass`, { reason });

  test.each(['auditor', 'viewer', 'integrator'] as const)(
    'a user with the role %s opens one record with a reason',
    async (role) => {
      const { visitor } = await visitorOf(role);
      await eventually(async () => expect(await offers(visitor, record)).toEqual(offered));
      const before = Date.now();
      const accesses = await accessesBy(service, async () => {
        const sent = await breakGlass(visitor);
        expect([sent.status, sent.headers.location]).toEqual([303, `/dashboard${record}`]);
        const page = await visitor.get(record);
        expect([page.status, page.text.includes(patient.last_name)]).toEqual([200, true]);
        expect(page.text).toContain('This record is open to you until');
        expect(page.text).not.toContain('Printable page');
      });
      const [opened, read] = accesses;
      expect(opened).toEqual({
        ...{ action: 'record.break_glass', kind: 'patient', record_id: patient.id },
        query: { reason: REASON, until: expect.stringMatching(/Z$/) },
      });
      const { until } = (opened as JsonObject).query as { until: string };
      expect(Date.parse(until)).toBeGreaterThanOrEqual(before + 30 * 60_000);
      expect(Date.parse(until)).toBeLessThanOrEqual(Date.now() + 30 * 60_000);
      expect(read).toMatchObject({ action: 'record.read', record_id: patient.id });
      for (const tab of ['/timeline', '/encounters', '/documents', '/fields/last_name']) {
        expect([tab, (await visitor.get(record + tab)).status]).toEqual([tab, 200]);
      }
      for (const path of [`${root}/records/patients/${other.id}`, encounter, `${encounter}/documents`])
        expect([path, ...(await offers(visitor, path))]).toEqual([path, ...offered]);
      for (const path of [
        `${record}/print`,
        `${record}/timeline/export`,
        `${record}/copy`,
        `${root}/records?kind=patients`,
        `${root}/search`,
      ])
        expect([path, ...(await offers(visitor, path))]).toEqual([path, ...refused]);
    },
  );

  test('a document is opened with its encounter', async () => {
    const { visitor } = await visitorOf('viewer');
    await visitor.get(encounter);
    expect((await breakGlass(visitor, REASON, encounter)).status).toBe(303);
    const page = await visitor.get(`${encounter}/documents`);
    const [path] = /(?<=href="\/dashboard)[^"]+\/documents\/[^"/]+(?=")/.exec(page.text) ?? [];
    expect((await visitor.get(path as string)).status).toBe(200);
    expect((await visitor.get(`${path}/download`)).status).toBe(200);
    expect(await offers(visitor, record)).toEqual(offered);
  });

  describe('nothing is opened, and nothing is recorded as opened,', () => {
    const opens = async (work: () => Promise<unknown>) =>
      (await accessesBy(service, work)).filter(({ action }) => action === 'record.break_glass');

    test('without a reason, or a token of the form', async () => {
      const { visitor } = await visitorOf('viewer');
      await visitor.get(record);
      const appended = await opens(async () => {
        const empty = await breakGlass(visitor, ' ');
        expect([empty.status, empty.text.includes('Reason must have 1 to 1000 characters')]).toEqual([
          400,
          true,
        ]);
        const forged = await visitor.post(`${record}/break-glass`, { reason: REASON, csrf_token: 'none' });
        expect(forged.status).toBe(403);
      });
      expect(appended).toEqual([]);
      expect(await offers(visitor, record)).toEqual(offered);
    });

    test('where the workspace refuses it; what was open is closed', async () => {
      const { visitor } = await visitorOf('viewer');
      await visitor.get(record);
      await breakGlass(visitor);
      expect(await offers(visitor, record)).toEqual(open);
      await service.keys.setBreakGlass(workspace, 'refuse');
      await eventually(async () => expect(await offers(visitor, record)).toEqual(refused));
      expect(await opens(async () => expect((await breakGlass(visitor)).status).toBe(403))).toEqual([]);
      await service.keys.setBreakGlass(workspace, 'allow');
      await eventually(async () => expect(await offers(visitor, record)).toEqual(open));
    });

    test('in another workspace', async () => {
      await service.createKey('other');
      const elsewhere = service.workspaceId('other');
      await service.keys.setBreakGlass(elsewhere, 'allow');
      const { visitor } = await visitorOf('viewer');
      await visitor.get(record);
      const path = record.replace(workspace, elsewhere);
      expect(
        await opens(async () => expect((await breakGlass(visitor, REASON, path)).status).toBe(404)),
      ).toEqual([]);
      await breakGlass(visitor);
      expect(await offers(visitor, path)).toEqual([404, false, false]);
    });

    test('for a user who was disabled', async () => {
      const { visitor, id } = await visitorOf('viewer');
      await visitor.get(record);
      await breakGlass(visitor);
      const users = await UserDirectory.open(service.eventLog);
      await new UserManager(users, { principal: { type: 'operator', id: 'test' } }).setState(id, 'disabled');
      users.close();
      await eventually(async () => expect((await visitor.get(record)).status).toBe(303));
      expect(await opens(async () => expect((await breakGlass(visitor)).status).toBe(303))).toEqual([]);
    });

    test('after the time has passed', async () => {
      const { visitor } = await visitorOf('viewer');
      await visitor.get(record);
      await breakGlass(visitor);
      await StoredSession.ofVisitor(visitor, stateStore).endOpenedRecord();
      expect(await offers(visitor, record)).toEqual(offered);
    });
  });

  test('the command line allows and refuses it, and lists which', async () => {
    const cli = (...args: string[]) => runCli(['workspaces', ...args], { env: storesOf(service.config) });
    await service.createKey('chosen');
    const id = service.workspaceId('chosen');
    const appended = await appendedBy(service, async () => {
      const { stdout } = await cli('set', id, '--break-glass', 'allow');
      expect(stdout).toBe(
        `Users of workspace ${id} without the right for a record may open it with a reason.\n`,
      );
      expect((await cli('set', id, '--break-glass', 'allow')).code).toBe(0);
      const listed = JSON.parse((await cli('list', '--json')).stdout);
      expect(listed).toContainEqual(expect.objectContaining({ id, break_glass: 'allow' }));
      expect((await cli('set', id, '--break-glass', 'refuse')).code).toBe(0);
    });
    expect(appended).toEqual(['access: WorkspaceBreakGlassSet', 'access: WorkspaceBreakGlassSet']);
  });

  test('a user with the right for the record needs no reason', async () => {
    const { visitor } = await signedIn(service, 'compliance', workspace);
    await visitor.get(record);
    expect(
      await accessesBy(service, async () => expect((await breakGlass(visitor)).status).toBe(303)),
    ).toEqual([]);
  });

  test('is in the audit trail with its reason', async () => {
    const { visitor } = await visitorOf('auditor');
    const { text } = await visitor.get(`${root}/audit?action=record.break_glass`);
    expect(text).toContain('Record opened without the right, with a reason');
    expect(text).toContain(REASON);
  });
});
