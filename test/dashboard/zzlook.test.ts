import { afterAll, beforeAll, test } from '@jest/globals';
import { startDashboard, type TestDashboard, takePictures } from '../support/dashboard.ts';
let dashboard: TestDashboard;
beforeAll(async () => { dashboard = await startDashboard(); });
afterAll(() => dashboard.stop());
test('look', async () => {
  const { service } = dashboard;
  await service.post('/integration/payers', { id: 'p', name: 'x' });
  await service.post('/integration/payers', { id: 'p', name: 'y', city: 'Omaha' });
  const page = await dashboard.openAs('admin', '/account');
  const look = async (name: string) => { try { await takePictures(page, name); } catch (e) { console.log(name, String(e).slice(0, 300)); await page.setViewportSize({ width: 1280, height: 800 }); } };
  await look('account');
  const ws = service.url + '/dashboard/workspaces/' + service.workspaceId('clinic');
  for (const [name, path] of [['keys', '/keys'], ['keynew', '/keys/new'], ['webhooknew', '/webhooks/new'], ['records', '/records'], ['record', '/records/payers/p'], ['compare', '/records/payers/p/compare?from=1&to=2']] as const) {
    await page.goto(ws + path);
    await look(name);
  }
  await page.goto(service.url + '/dashboard/users');
  await look('users');
}, 120_000);
