import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BrowserlessSession, signedIn } from '../support/dashboard.ts';
import { eventually } from '../support/eventually.ts';
import {
  changesBy,
  openConnection,
  rawRequest,
  startTestService,
  statusesOf,
  type TestService,
} from '../support/service.ts';

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

const hours: Form = { part: 'office-hours', from: '07:00', to: '19:00', days: 'mon' };

test.each([
  [{ part: 'break-glass', break_glass: 'allow' }, 'WorkspaceBreakGlassSet', { break_glass: 'allow' }],
  [{ part: 'reason', reason: 'required' }, 'WorkspaceReasonSet', { reason: 'required' }],
  [hours, 'WorkspaceOfficeHoursSet', { office_hours: { from: '07:00', to: '19:00', days: ['mon'] } }],
])('each form is one event: %j; what stays the same appends nothing', async (form, type, data) => {
  const workspace = service.workspaceId('clinic');
  expect(await appended(form, 303)).toEqual([[type, { workspace, ...data }]]);
  expect(await appended(form, 303)).toEqual([]);
});

test('the page has what was set; without office hours people work at any time', async () => {
  const { text } = await admin.get(path);
  for (const shown of [
    'value="allow" selected',
    'value="required" selected',
    'value="07:00"',
    'value="mon" checked',
  ])
    expect(text).toContain(shown);
  expect(text).not.toContain('value="sun" checked');
  expect(await appended({ ...hours, from: '', to: '' }, 303)).toEqual([
    ['WorkspaceOfficeHoursSet', { workspace: service.workspaceId('clinic'), office_hours: null }],
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
    expect(await appended({ ...hours, ...change }, 400)).toEqual([]);
    const { text } = await admin.post(path, { ...hours, ...change });
    expect(text).toContain(message);
    expect(text).toContain('value="mon"');
  },
);

const determination = 'Report of J. Doe, PhD';
const view: Form = { part: 'deidentification', dates: 'years', determination: '', zip_areas: '' };

test('the de-identified view is set by one event, as by the API; ZIP areas are a list or a table of the Census', async () => {
  const census = `zcta,population\n68101,20000\n68102,1\n10001,20000\n${'x'.repeat(200_000)}`;
  const table = census.replace(/x+/, (blanks) => '\n'.repeat(blanks.length));
  const set = 'DeidentificationSet';
  expect(await appended({ ...view, zip_areas: '681\r\n021' }, 303)).toEqual([
    [set, { zip_areas: ['021', '681'] }],
  ]);
  expect(await appended({ ...view, zip_areas: table }, 303)).toEqual([[set, { zip_areas: ['681'] }]]);
  const shifted = { ...view, dates: 'shifted', determination };
  expect(await appended(shifted, 303)).toEqual([[set, { dates: 'shifted', determination, zip_areas: [] }]]);
  const { text } = await admin.get(path);
  expect(text).toContain('value="shifted" selected');
  expect(text).toContain(`value="${determination}"`);
  expect(await appended(shifted, 303)).toEqual([]);
  // A determination belongs to shifted dates only.
  expect(await appended({ ...view, determination }, 303)).toEqual([[set, { dates: 'years' }]]);
});

test.each([
  [{ dates: 'shifted' }, 'must name the expert determination'],
  [{ dates: 'moved' }, 'must be one of years, shifted'],
  [{ zip_areas: '681\n68102' }, 'line 2 is not the first three digits'],
])(
  'a view that is none is refused with what was entered, and appends nothing: %j',
  async (change, message) => {
    const sent = { ...view, zip_areas: '681', ...change };
    expect(await appended(sent, 400)).toEqual([]);
    const { text } = await admin.post(path, sent);
    expect(text).toContain(message);
    // The other forms have what is in force.
    expect(text.match(/name="days" value="\w+" checked/g)).toHaveLength(7);
    expect(text).toContain(`>${sent.zip_areas}</textarea>`);
  },
);

test('a form that is none of the page is refused', async () => {
  expect(await appended({ part: 'other' }, 400)).toEqual([]);
});

test('forms of other pages stay small', async () => {
  const { text, status } = await admin.post(path.replace('settings', 'returned'), {
    choice: 'x'.repeat(110_000),
  });
  expect(status).toBe(413);
  expect(text).toContain('larger than 100 KB');
});

test('a form is saved while another one of the same network arrives slowly', async () => {
  await admin.get(path);
  const head = { 'content-type': 'application/x-www-form-urlencoded', 'content-length': '100' };
  const slow = rawRequest('POST', '/dashboard/sign-in', { ...head, expect: '100-continue' });
  const { socket, received } = openConnection(service.url, slow);
  await eventually(() => expect(statusesOf(received())).toEqual([100]));
  const { status } = await admin.post(path, { part: 'break-glass', break_glass: 'refuse' });
  socket.destroy();
  expect(status).toBe(303);
});

test('only administrators of all workspaces see it, and no workspace but an existing one has it', async () => {
  const { visitor } = await signedIn(service, 'compliance');
  expect((await visitor.get(path)).status).toBe(403);
  expect((await admin.get('/workspaces/nowhere/settings')).status).toBe(404);
});
