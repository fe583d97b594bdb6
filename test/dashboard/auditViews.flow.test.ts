import { afterAll, beforeAll, expect, test } from 'vitest';
import { signedIn } from '../support/dashboard.ts';
import { samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { accessesBy, appendedBy, type TestService } from '../support/service.ts';

onEmbeddedEngines((start) => {
  let service: TestService;
  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.stop());

  test('the audit trail leaves out what users looked at, and nothing else, where that is asked for', async () => {
    const { visitor } = await signedIn(service, 'compliance');
    const root = `/workspaces/${service.workspaceId('clinic')}`;
    const payer = samples.payer();
    const appended = await appendedBy(service, async () => {
      await service.post('/integration/payers', payer);
      await service.get(`/integration/payers/${payer.id}`);
      await visitor.get(`${root}/records/payers/${payer.id}/timeline`);
      await visitor.get(`${root}/keys`);
    });
    expect(appended).toContain(`clinic.payer-${payer.id}: PayerUpserted`);
    const whats = async (query: string) => {
      const { text } = await visitor.get(`${root}/audit${query}`);
      return [
        ...text.matchAll(/<th scope="row" class="cut"><details class="entry"><summary><span>([^<]+)/g),
      ].map(([, what]) => what?.trim());
    };
    const others = ['Request refused', 'Record read', 'Payer upserted'];
    expect((await whats('')).slice(0, 4)).toEqual([
      'Request refused',
      'Record read',
      'Record read',
      'Payer upserted',
    ]);
    const { text } = await visitor.get(`${root}/audit`);
    // One view of the record's page is one row, as is the earlier look at the trail, which named the payer.
    expect(text.match(/<small class="muted">and 1 more<\/small>/g)).toHaveLength(2);
    expect(text).toMatch(/On the same page<\/dt><dd><ul class="plain"><li>History read/);
    expect((await whats('?without_views=yes')).slice(0, 3)).toEqual(others);
    expect((await whats('?action=record.history')).slice(0, 1)).toEqual(['History read']);
  });

  test('the audit trail shows what was requested, and finds by a record who searched the trail for it', async () => {
    const { visitor } = await signedIn(service, 'compliance');
    const path = `/workspaces/${service.workspaceId('clinic')}/audit`;
    const payer = samples.payer();
    await service.post('/integration/payers', payer);
    await visitor.get(`${path}?kind=payer&id=${payer.id}&seen=yes`);
    await visitor.get(`${path}?kind=%3Cb%3E&id=${payer.id}`);
    const accesses = await accessesBy(service, async () => {
      const { text } = await visitor.get(`${path}?action=audit.read&id=${payer.id}`);
      expect(text).toContain(`id: ${payer.id}; kind: payer; seen: yes`);
      expect(text).toContain(`id: ${payer.id}; kind: &lt;b&gt;`);
    });
    // The name of the payer is shown with the entries about it.
    expect(accesses).toEqual([
      { action: 'audit.read', query: { action: 'audit.read', id: payer.id } },
      { action: 'record.list', kind: 'payer', query: { fields: 'name' }, shown: expect.anything() },
    ]);
  });

  test('users without a role in a workspace are no choices there, except one who is looked for', async () => {
    const { visitor } = await signedIn(service, 'compliance', service.workspaceId('clinic'));
    const { id } = await signedIn(service, 'billing', service.workspaceId('lab'));
    const root = `/workspaces/${service.workspaceId('clinic')}`;
    for (const list of ['/audit?', '/changes?from=2020-01-01&']) {
      expect((await visitor.get(`${root}${list}`)).text).not.toContain(id);
      expect((await visitor.get(`${root}${list}principal=${id}`)).text).toContain(`value="${id}" selected`);
    }
  });
});
