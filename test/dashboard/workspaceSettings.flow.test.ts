import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BrowserlessSession, signedIn } from '../support/dashboard.ts';
import { changesBy, startTestService, type TestService } from '../support/service.ts';

let service: TestService;
let admin: BrowserlessSession;
let path: string;

beforeAll(async () => {
  service = await startTestService();
  path = `/workspaces/${service.workspaceId('clinic')}/settings`;
  ({ visitor: admin } = await signedIn(service, 'admin'));
});
afterAll(() => service.stop());

type Form = Record<string, string>;

/** The settings that a form appends to the log. */
async function appended(form: Form, status: number): Promise<unknown[]> {
  await admin.get(path);
  const events = await changesBy(service, async () => {
    expect((await admin.post(path, form)).status).toBe(status);
  });
  return events.map(({ type, data }) => [type, data]);
}

const chosen: Form = { break_glass: 'allow', reason: 'required', from: '07:00', to: '19:00', days: 'mon' };

test('a form sets break-glass, reasons and office hours; what stays the same appends nothing', async () => {
  const workspace = service.workspaceId('clinic');
  expect(await appended(chosen, 303)).toEqual([
    ['WorkspaceBreakGlassSet', { workspace, break_glass: 'allow' }],
    ['WorkspaceReasonSet', { workspace, reason: 'required' }],
    ['WorkspaceOfficeHoursSet', { workspace, office_hours: { from: '07:00', to: '19:00', days: ['mon'] } }],
  ]);
  const { text } = await admin.get(path);
  for (const shown of [
    'value="allow" selected',
    'value="required" selected',
    'value="07:00"',
    'value="mon" checked',
  ])
    expect(text).toContain(shown);
  expect(text).not.toContain('value="sun" checked');
  expect(await appended(chosen, 303)).toEqual([]);
  expect(await appended({ ...chosen, from: '', to: '' }, 303)).toEqual([
    ['WorkspaceOfficeHoursSet', { workspace, office_hours: null }],
  ]);
});

test.each([
  [{ from: '7', to: '19:00' }, 'must be a time such as 07:00'],
  [{ from: '07:00', to: '' }, 'must be a time such as 19:00'],
  [{ from: '19:00', to: '07:00' }, 'must be after the begin'],
  [{ days: '' }, 'must have at least one day'],
])(
  'hours that are none are refused with what was entered, and append nothing: %j',
  async (change, message) => {
    expect(await appended({ ...chosen, ...change }, 400)).toEqual([]);
    const { text } = await admin.post(path, { ...chosen, ...change });
    expect(text).toContain(message);
    expect(text).toContain('value="mon"');
  },
);

test('only administrators of all workspaces see it, and no workspace but an existing one has it', async () => {
  const { visitor } = await signedIn(service, 'compliance');
  expect((await visitor.get(path)).status).toBe(403);
  expect((await admin.get('/workspaces/nowhere/settings')).status).toBe(404);
});
