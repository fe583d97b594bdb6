import { afterAll, beforeAll, expect, test } from 'vitest';
import { signedIn } from '../support/dashboard.ts';
import { eventually } from '../support/eventually.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { changesBy, type TestService } from '../support/service.ts';

onEmbeddedEngines((start) => {
  let service: TestService;
  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.stop());

  test('a deleted workspace is only listed as such, with its audit trail; nobody chooses or activates it', async () => {
    const id = service.workspaceId('gone');
    await service.createKey('gone');
    const { visitor } = await signedIn(service, 'admin');
    const row = async () => {
      const { text } = await visitor.get('/workspaces');
      return (
        text
          .split('<tr')
          .slice(1)
          .find((one) => one.includes(`/dashboard/workspaces/${id}"`)) ?? ''
      );
    };
    expect(await row()).toContain(`aria-label="Deactivate ${id}"`);
    await service.keys.startDeletion(id, { reason: 'Contract ended', messages: 0 });
    await eventually(async () => expect(await row()).toContain('>deleting<'));
    expect(await row()).not.toContain('/activate"');
    await service.keys.completeDeletion(id, { records: {}, documents: 0 });
    await eventually(async () => expect(await row()).toContain('>deleted<'));
    expect(await row()).not.toContain('/activate"');
    expect(await row()).toMatch(/\/keys">0</);
    const trail = await visitor.get(`/workspaces/${id}/audit`);
    expect([trail.status, trail.text.includes('Workspace deleted')]).toEqual([200, true]);

    const other = service.workspaceId('clinic');
    for (const path of [
      '/overview',
      `/workspaces/${other}/keys`,
      '/users/invite',
      '/reference/operations/getPatient',
    ])
      expect([path, (await visitor.get(path)).text.includes(id)]).toEqual([path, false]);
    await visitor.get('/workspaces');
    const changes = await changesBy(service, async () => {
      for (const path of [`/workspaces/${id}/activate`, `/workspaces/${id}/keys/new`, '/workspaces']) {
        const sent = await visitor.post(path, { id, name: 'EMR', permissions: 'write' });
        expect([path, sent.status]).toEqual([path, 409]);
        expect(sent.text).toContain(`Workspace ${id} was deleted. Its id is never used again.`);
      }
    });
    expect(changes).toEqual([]);
  });
});
