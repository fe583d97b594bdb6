import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BrowserlessSession, signedIn } from '../support/dashboard.ts';
import { samples } from '../support/samples.ts';
import { changesBy, startTestService, type TestService } from '../support/service.ts';

let service: TestService;
let admin: BrowserlessSession;
let root: string;
const patient = { ...samples.patient(), id: 'patient-summary' };

beforeAll(async () => {
  service = await startTestService();
  root = `/workspaces/${service.workspaceId('clinic')}`;
  await service.post('/integration/patients', patient);
  ({ visitor: admin } = await signedIn(service, 'admin'));
});
afterAll(() => service.stop());

const unescaped = (text: string) => text.replaceAll('&quot;', '"').replaceAll('&#39;', "'").trim();

/** What a page says is wrong: the lines of its summary, and what stands at its fields. */
function saidBy(page: string) {
  const [, summary = ''] =
    /<div class="error-summary" role="alert" tabindex="-1" autofocus>(.*?)<\/div>/s.exec(page) ?? [];
  const lines = [...summary.matchAll(/<(?:p|li)>(?:<a href="#([^"]+)">)?([^<]+)/g)].map(
    ([, id, text = '']) => ({
      id,
      text: unescaped(text),
    }),
  );
  const fields = [...page.matchAll(/<small class="error" id="([^"]+)-error">([^<]+)</g)].map(
    ([, id = '', text = '']) => ({
      id,
      text: unescaped(text),
    }),
  );
  return { lines, fields };
}

const record = 'records/patients/patient-summary';

test.each([
  ['/users/new', { name: '', role: 'viewer', workspaces: '*' }, ['The name of a user must have']],
  ['/users/new', { name: 'Ada', role: 'viewer' }, ['Choose at least one workspace, or all of them.']],
  ['/users/new', { name: 'Ada', role: 'king', workspaces: '*' }, ['Choose a role.']],
  ['/workspaces', { id: 'No spaces' }, ['The id of a workspace must']],
  ['ROOT/keys/new', { name: '', permissions: 'write' }, ['The name of a key must']],
  ['ROOT/keys/new', { name: 'EMR' }, ['A key needs at least one permission.']],
  [
    'ROOT/keys/new',
    { name: 'EMR', permissions: 'write', rate_limit: '0', networks: '10.0.0.0/8, here' },
    ['Networks item 2 must be', 'Requests a minute '],
  ],
  [
    'ROOT/webhooks/new',
    { url: '', start: 'now', kinds: 'patient', payload: 'thin', unchanged: 'no' },
    [
      'URL must not be empty.',
      'Payload must be one of',
      'Events that changed no field of their record must be one of',
    ],
  ],
  [
    'ROOT/webhooks/new',
    { url: 'ftp://x', start: 'now', kinds: 'patient', payload: 'full', unchanged: 'send' },
    ['URL must'],
  ],
  [
    'ROOT/sources/new',
    { id: 'a b', format: 'hl7v2', retention_days: '0', mapping: '{"no": 1}' },
    ['ID must be', 'Message retention, in days must be', '"no" is not a known option'],
  ],
  [
    'ROOT/settings',
    { part: 'office-hours', from: '25', to: '19:00' },
    ['From must be a time such as 07:00.', 'must have at least one day'],
  ],
  [
    'ROOT/notifications',
    { topics: 'webhook_failing', mail: '', url: 'no address' },
    ['Webhook URL must not contain spaces'],
  ],
  [`ROOT/${record}/hold`, { reason: '' }, ['Reason must have 1 to']],
  [`ROOT/${record}/erase`, { reason: 'asked', record_id: 'other' }, ['Type the ID of the patient']],
  ['ROOT/reason', { read_reason: '' }, ['Reason ']],
  ['ROOT/audit/report/vip', { patient: 'nobody' }, ['There is no patient with this ID.']],
  ['ROOT/search', { q: 'x'.repeat(2_000) }, ['Search for must']],
  ['ROOT/readiness/simulation', { 'filing_limits.default': 'long' }, ['Of all payers must be days']],
  ['ROOT/readiness/simulation', { from: 'x' }, ['From is not valid.']],
  ['ROOT/readiness/simulation', { payer_rules: '[' }, ['Rules to try, as JSON must be a JSON object']],
  [
    '/account/password',
    { present: 'wrong', password: 'a good long one', again: 'another long one' },
    ['The passwords do not match.'],
  ],
  ['/account/time-zone', { time_zone: 'Mars/Base' }, ['Choose a time zone from the list.']],
])(
  '%s refuses %j with one summary whose links lead to the fields, and appends nothing',
  async (path, form, texts) => {
    const address = path.replace('ROOT', root);
    await admin.get(address);
    let text = '';
    const appended = await changesBy(service, async () => {
      ({ text } = await admin.post(address, form));
    });
    expect(appended).toEqual([]);
    expectSummary(text, texts);
  },
);

test.each([
  ['ROOT/records?kind=patients&as_of=yesterday', ['As of (UTC) must']],
  ['ROOT/records?kind=encounters&date_of_service_from=x', ['Date of service, from must']],
  ['ROOT/records?kind=patients&id=nobody', ['There is no patient with this ID.']],
  [`ROOT/${record}?as_of=yesterday`, ['As of (UTC) must']],
  [`ROOT/${record}?as_of=2001-01-01T00:00:00Z`, ['The patient did not exist at that time.']],
  [`ROOT/${record}/timeline?from=x`, ['From (UTC) must']],
  ['ROOT/readiness?from=x', ['Date of service, from must']],
  ['ROOT/audit?from=x', ['From (UTC) must']],
  ['ROOT/requests?from=x', ['From (UTC) must']],
  ['ROOT/changes?from=x', ['From (UTC) must']],
  [`ROOT/${record}/disclosures?from=x`, ['From (UTC) must']],
])('%s says what is wrong with its filter in one summary', async (path, texts) => {
  const { text } = await admin.get(path.replace('ROOT', root));
  expectSummary(text, texts);
});

/** Each fault once in the summary, by the name that the form has for the field, and once at the field. */
function expectSummary(page: string, texts: readonly string[]): void {
  const { lines, fields } = saidBy(page);
  expect(lines.map((line) => line.text)).toEqual(texts.map((text) => expect.stringContaining(text)));
  expect(page).not.toContain('Validation failed:');
  expect(page.split('autofocus').length).toBe(2);
  expect(lines.flatMap(({ id }) => id ?? [])).toEqual(fields.map(({ id }) => id));
  for (const { id, text } of fields) {
    expect(page.indexOf('error-summary')).toBeLessThan(page.indexOf(` id="${id}"`));
    expect(page).toContain(` id="${id}"`);
    expect(text).toMatch(/^[\p{Lu}"].*[.?!]$/u);
  }
}
