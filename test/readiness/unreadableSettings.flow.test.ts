import { afterAll, beforeAll, expect, test } from 'vitest';
import { readinessStream } from '../../src/domain/events/streams.ts';
import { eventually } from '../support/eventually.ts';
import { freshClaim, sendClaim, worklist } from '../support/readiness.ts';
import { TestWorkspace } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy, type TestService } from '../support/service.ts';

onEmbeddedEngines((start) => {
  let service: TestService;
  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.stop());

  test('rule settings that cannot be read keep the worklists of no other workspaces', async () => {
    const { key } = await service.createKey('unread', ['write', 'read']);
    const unread = service.as(key);
    const claims = [freshClaim(), freshClaim()] as const;
    await sendClaim(unread, claims[0]);
    expect((await worklist(unread)).items).toMatchObject([{ id: claims[0].encounter.id, state: 'ready' }]);

    const workspace = new TestWorkspace(service.workspaceId('unread'));
    const event = workspace.event({ rule: 'facility_tax_id', choice: 'off' }, 'ReadinessRuleSet');
    const newer = { ...event, metadata: { ...event.metadata, schemaVersion: 2 } };
    const appended = await appendedBy(service, async () => {
      await service.eventLog.append(readinessStream(workspace.id), newer, 'any');
    });
    expect(appended).toEqual(['unread.readiness: ReadinessRuleSet']);
    await sendClaim(unread, claims[0], 'encounter');

    await sendClaim(service, claims[1]);
    expect((await worklist(service)).items).toMatchObject([{ id: claims[1].encounter.id, state: 'ready' }]);
    await eventually(async () => {
      const { status, body } = await unread.get('/integration/readiness');
      expect([status, body.code]).toEqual([503, 'unreadable']);
    });
  });
});
