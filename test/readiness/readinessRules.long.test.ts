import { afterAll, beforeAll, expect, test } from 'vitest';
import { signedIn } from '../support/dashboard.ts';
import { eventually } from '../support/eventually.ts';
import { eventsOf } from '../support/log.ts';
import { phi } from '../support/output.ts';
import {
  billable,
  billedPath,
  freshClaim,
  inWorkspace,
  readiness,
  readinessPath,
  sendClaim,
  whenPast,
  worklist,
} from '../support/readiness.ts';
import { documentForm, documentsPath, pathOf } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy, newEvents, type TestService } from '../support/service.ts';

const now = Date.now();

/** A day in UTC, so many days after the one on which the test began. */
function dayFromToday(days: number): string {
  return new Date(now + days * 86_400_000).toISOString().slice(0, 10);
}

onEmbeddedEngines((start) => {
  let service: TestService;
  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.stop());

  const cli = (...args: string[]) => inWorkspace(service, 'readiness', ...args);

  test('a workspace sets what becomes of a rule, which is an event; as of a time before it is as it was', async () => {
    const claim = freshClaim({ provider: { taxonomy_code: undefined }, payer: { payer_code: undefined } });
    await sendClaim(service, claim);
    const { updated_at: before } = (await service.get(pathOf('encounter', String(claim.encounter.id)))).body;
    const set = async (rule: string, choice: string) => {
      const appended = await appendedBy(service, async () => {
        expect(await cli('set', rule, choice)).toMatchObject({ code: 0, stderr: '' });
        expect(await cli('set', rule, choice)).toMatchObject({ code: 0 });
      });
      expect(appended).toEqual(['clinic.readiness: ReadinessRuleSet']);
    };
    const first = await readiness(service, claim);
    expect(first).toMatchObject({
      state: 'blocked',
      found: ['payer_code_missing payer.payer_code', 'taxonomy_code_missing provider.taxonomy_code'],
    });
    await eventually(() => expect(Date.now()).toBeGreaterThan(Date.parse(before)));
    await set('payer_code_missing', 'off');
    expect(await readiness(service, claim)).toMatchObject({
      state: 'ready',
      found: ['taxonomy_code_missing provider.taxonomy_code'],
    });
    await set('taxonomy_code_missing', 'blocks');
    const { state, findings } = await readiness(service, claim);
    expect(state).toBe('blocked');
    // It stood before, too.
    expect(findings).toMatchObject([{ severity: 'blocks', cause: { kind: 'encounter', version: 1 } }]);
    await set('payer_code_missing', 'default');
    expect((await readiness(service, claim)).findings).toMatchObject([
      { rule: 'taxonomy_code_missing' },
      {
        rule: 'payer_code_missing',
        cause: { kind: 'workspace', id: service.workspaceId('clinic'), principal: { type: 'operator' } },
      },
    ]);
    const { found, findings: then } = await readiness(service, claim, `?as_of=${before}`);
    expect([found, then]).toEqual([first.found, first.findings]);
    const listed = JSON.parse((await cli('rules', '--json')).stdout);
    expect(listed).toContainEqual(
      expect.objectContaining({ rule: 'taxonomy_code_missing', choice: 'blocks', default: 'warns' }),
    );
    expect(await cli('set', 'no_such_rule', 'off')).toMatchObject({ code: 1, stdout: '' });
    expect((await cli('set', 'payer_code_missing', 'maybe')).code).not.toBe(0);
    await set('taxonomy_code_missing', 'default');
  });

  test('a filing limit is an event; what is too late is a finding from the day on which it becomes so', async () => {
    const payer = billable.patient.primary_insurance;
    const claim = freshClaim({
      encounter: { date_of_service: dayFromToday(-40) },
      patient: { primary_insurance: { ...payer, effective_date: undefined, termination_date: undefined } },
    });
    await sendClaim(service, claim);
    const id = String(claim.payer.id);
    const limit = async (...args: string[]) => {
      const appended = await appendedBy(service, async () => {
        expect(await cli('set-filing-limit', ...args)).toMatchObject({ code: 0, stderr: '' });
        expect(await cli('set-filing-limit', ...args)).toMatchObject({ code: 0 });
      });
      expect(appended).toEqual(['clinic.readiness: FilingLimitSet']);
    };
    expect(await readiness(service, claim)).toMatchObject({ filing: null });
    await limit('365d');
    const last_day = dayFromToday(325);
    expect(await readiness(service, claim)).toMatchObject({
      state: 'ready',
      findings: [],
      filing: { limit: 'P365D', last_day },
    });
    const tomorrow = await readiness(service, claim, `?as_of=${dayFromToday(1)}`);
    expect(tomorrow).toMatchObject({ filing: { last_day, days_left: 324 } });
    const [item] = (await worklist(service, `&payer_id=${id}`)).items;
    expect(item).toMatchObject({ filing: { last_day } });
    await limit('30', '--payer', id);
    const cause = { kind: 'workspace', id: service.workspaceId('clinic'), principal: { type: 'operator' } };
    expect(await readiness(service, claim)).toMatchObject({
      ...{ state: 'blocked', filing: { last_day: dayFromToday(-10) } },
      findings: [{ rule: 'timely_filing', field: 'filing', cause }],
    });
    await limit('45', '--payer', id);
    const { state, findings } = await readiness(service, claim);
    expect([state, findings]).toMatchObject(['ready', [{ rule: 'filing_limit_near', cause }]]);
    const then = await readiness(service, claim, `?as_of=${dayFromToday(8)}`);
    expect(then).toMatchObject({
      state: 'blocked',
      findings: [{ rule: 'timely_filing', since: `${dayFromToday(6)}T00:00:00.000Z`, cause }],
    });
    const listed = JSON.parse((await cli('rules', '--json')).stdout);
    expect(listed).toContainEqual(
      expect.objectContaining({
        rule: 'timely_filing',
        time_zone: 'UTC',
        limits: [
          { payer_id: id, payer_type: null, limit: 'P45D' },
          { payer_id: null, payer_type: 'medicare', limit: 'P1Y' },
          { payer_id: null, payer_type: 'tricare', limit: 'P1Y' },
          { payer_id: null, payer_type: 'medicaid', limit: 'P12M' },
          { payer_id: null, payer_type: null, limit: 'P365D' },
        ],
      }),
    );
    expect((await cli('rules')).stdout).toMatch(/\nall other payers +365 days\n/);
    await limit('none', '--payer', id);
    expect(await readiness(service, claim)).toMatchObject({ state: 'ready', findings: [] });
    await limit('none');
    const refused = await appendedBy(service, async () => {
      expect(await cli('set-filing-limit', '30', '--payer', 'nobody')).toEqual({
        ...{ code: 1, stdout: '' },
        stderr: expect.stringContaining('has no payer with that id'),
      });
      for (const limit of ['0', '1.5', 'soon', '10000', '2w']) {
        expect(await cli('set-filing-limit', limit)).toMatchObject({ code: 2, stdout: '' });
      }
      expect(await cli('set-filing-limit', '366', '--payer-type', 'medicare')).toMatchObject({
        ...{ code: 1, stdout: '' },
        stderr: expect.stringContaining('for 1 year'),
      });
      expect(await cli('set-time-zone', 'Chicago')).toMatchObject({ code: 1, stdout: '' });
      expect(await cli('set-billing-entity', 'facility', '--facility', 'nowhere')).toMatchObject({ code: 1 });
    });
    expect(refused).toEqual([]);
  });

  test('the limits of the law and of a type of payers are sorted by, in the time zone of the workspace', async () => {
    const payer = billable.patient.primary_insurance;
    const served = { date_of_service: `${dayFromToday(-40)}T03:00:00Z` };
    const insurance = { ...payer, policy_number: '1EG4TE5MK73', effective_date: undefined };
    const claims = ['Medicare', 'Medicaid', 'Private', 'Self-Pay'].map((payer_type) =>
      freshClaim({
        ...{ encounter: served, payer: { payer_type } },
        patient: { primary_insurance: { ...insurance, termination_date: undefined } },
      }),
    );
    for (const claim of claims) await sendClaim(service, claim);
    const ids = claims.map(({ encounter }) => encounter.id);
    const deadlines = async () => {
      const { items } = await worklist(service, '&sort=filing', { limit: 3 });
      return items
        .filter(({ id }) => ids.includes(id))
        .map(({ id, filing }) => ({ at: ids.indexOf(id), limit: filing?.limit, day: filing?.last_day }));
    };
    const aYear = (day: string) => {
      const date = new Date(`${day}T00:00:00Z`);
      return new Date(date.setUTCFullYear(date.getUTCFullYear() + 1)).toISOString().slice(0, 10);
    };
    const none = [{ at: 2 }, { at: 3 }];
    const year = aYear(dayFromToday(-40));
    const dueIn = async (days: string) => {
      const { items, counts } = await worklist(service, `&${days}`);
      expect(counts).toBe(null);
      return items.map(({ id }) => ids.indexOf(id)).filter((at) => at >= 0);
    };
    expect(await deadlines()).toEqual([
      { at: 0, limit: 'P1Y', day: year },
      { at: 1, limit: 'P12M', day: year },
      ...none,
    ]);
    expect(await dueIn(`filing_from=${year}&filing_to=${year}`)).toEqual([0, 1]);
    expect(await dueIn(`filing_from=${year}`)).toEqual([0, 1]);
    expect(await dueIn(`filing_to=${dayFromToday(100)}`)).toEqual([]);
    const appended = await appendedBy(service, async () => {
      for (const _ of [1, 2]) {
        expect(await cli('set-filing-limit', '6m', '--payer-type', 'medicaid')).toMatchObject({ code: 0 });
        expect(await cli('set-time-zone', 'America/Chicago')).toMatchObject({ code: 0 });
      }
    });
    expect(appended).toEqual(['clinic.readiness: FilingLimitSet', 'clinic.readiness: BillingTimeZoneSet']);
    const local = aYear(dayFromToday(-41));
    expect(await deadlines()).toEqual([
      { at: 1, limit: 'P6M', day: expect.any(String) },
      { at: 0, limit: 'P1Y', day: local },
      ...none,
    ]);
    const { found, filing } = await readiness(service, claims[0] as (typeof claims)[0]);
    expect([found, filing]).toEqual([[], { limit: 'P1Y', last_day: local, days_left: expect.any(Number) }]);
    await cli('set-time-zone', 'none');
    await cli('set-filing-limit', 'none', '--payer-type', 'medicaid');
  });

  test('who bills is an event; what the billing entity lacks is a finding from then on', async () => {
    const claim = freshClaim({ facility: { npi: undefined }, provider: { tax_id: undefined } });
    await sendClaim(service, claim);
    const set = async (...args: string[]) => {
      const appended = await appendedBy(service, async () => {
        for (const _ of [1, 2])
          expect(await cli('set-billing-entity', ...args)).toMatchObject({ code: 0, stderr: '' });
      });
      expect(appended).toEqual(['clinic.readiness: BillingEntitySet']);
    };
    const told = async () => {
      const { state, found } = await readiness(service, claim);
      return [state, found];
    };
    expect(await told()).toEqual(['ready', ['facility_npi_missing facility.npi']]);
    await set('facility');
    expect(await told()).toEqual(['blocked', ['billing_npi facility.npi']]);
    const { items } = await worklist(service, `&facility_id=${claim.facility.id}`);
    expect(items[0]).toMatchObject({ state: 'blocked', findings: [{ rule: 'billing_npi' }] });
    await set('provider', '--facility', String(claim.facility.id));
    const both = ['provider_tax_id provider.tax_id', 'facility_npi_missing facility.npi'];
    expect(await told()).toEqual(['blocked', both]);
    expect((await cli('rules')).stdout).toMatch(/\nall other facilities +the facility\n/);
    await set('none', '--facility', String(claim.facility.id));
    await set('none');
    expect(await told()).toEqual(['ready', ['facility_npi_missing facility.npi']]);
  });

  test('who was billed in time meets the filing limit, on the worklist as well', async () => {
    const payer = billable.patient.primary_insurance;
    const claim = freshClaim({
      encounter: { date_of_service: dayFromToday(-40) },
      patient: { primary_insurance: { ...payer, effective_date: undefined, termination_date: undefined } },
    });
    const limit = (days: string) => cli('set-filing-limit', days, '--payer', String(claim.payer.id));
    const told = async () => {
      const { state, found } = await readiness(service, claim);
      const { items } = await worklist(service, `&payer_id=${claim.payer.id}`);
      const listed = items.map((item) => [item.state, item.findings.map(({ rule }) => rule)]);
      expect(listed).toEqual([[state, found.map((one) => one.split(' ')[0])]]);
      return { state, found };
    };
    await sendClaim(service, claim, 'payer');
    await limit('45');
    await sendClaim(service, claim);
    const near = { state: 'ready', found: ['filing_limit_near encounter.filing'] };
    expect(await told()).toEqual(near);
    const { as_of: before } = (await service.get(readinessPath(claim))).body;
    await whenPast(before);
    const billed = await newEvents(service, async () => {
      const { body } = await service.post(billedPath(claim), { claim_id: phi('claim') });
      expect(body.warnings).toEqual([]);
      expect(await told()).toEqual({ state: 'ready', found: [] });
    });
    const own = billed.filter(({ stream }) => /\.readiness-/.test(stream));
    expect(own).toMatchObject([
      { type: 'EncounterBilled' },
      {
        type: 'EncounterReadinessChanged',
        data: { to: 'ready', rules: [], cause: { kind: 'readiness', event_id: own[0]?.id } },
      },
    ]);
    const { key } = await service.createKey('clinic', ['events']);
    const stream = await service.as(key).get('/events?kinds=readiness&view=deidentified');
    const { sent } = eventsOf(stream).at(-1)?.data ?? {};
    expect(sent).toMatchObject({ to: 'ready', cause: { kind: 'readiness', id: sent?.encounter_id } });
    expect(await readiness(service, claim, `?as_of=${before}`)).toMatchObject(near);
    // The claim came too late for this one.
    await limit('30');
    expect(await told()).toEqual({ state: 'blocked', found: ['timely_filing encounter.filing'] });
    await limit('none');
  });

  test('a required document is an event; without one an encounter of the visit type is not ready', async () => {
    const claim = freshClaim({
      encounter: { visit_type: 'inpatient' },
      facility: { facility_type: 'hospital' },
    });
    const { encounter, facility } = claim;
    await sendClaim(service, claim);
    const require = async (...args: string[]) => {
      const appended = await appendedBy(service, async () => {
        for (const _ of ['first', 'again']) {
          expect(await cli('require-document', ...args)).toMatchObject({ code: 0, stderr: '' });
        }
      });
      expect(appended).toEqual(['clinic.readiness: RequiredDocumentSet']);
    };
    const listed = async () =>
      (await worklist(service, `&facility_id=${facility.id}`)).items.map(({ state }) => state);
    await require('telehealth', 'consent_form');
    expect(await readiness(service, claim)).toMatchObject({ state: 'ready', findings: [] });
    await require('inpatient', 'discharge_summary');
    expect(await readiness(service, claim)).toMatchObject({
      state: 'blocked',
      findings: [{ rule: 'document_missing', field: 'documents', cause: { kind: 'workspace' } }],
    });
    expect(await listed()).toEqual(['blocked']);
    const form = documentForm({ category: 'discharge_summary' });
    const id = String(form.get('document_id'));
    const [uploaded] = await newEvents(service, () =>
      service.upload(documentsPath(String(encounter.id)), form),
    );
    await whenPast(String(uploaded?.recordedAt));
    expect(await readiness(service, claim)).toMatchObject({ state: 'ready', findings: [] });
    expect(await listed()).toEqual(['ready']);
    const [removed] = await newEvents(service, () => service.delete(documentsPath(String(encounter.id), id)));
    expect(await readiness(service, claim)).toMatchObject({
      state: 'blocked',
      findings: [
        {
          ...{ rule: 'document_missing', since: removed?.recordedAt },
          record: { kind: 'encounter', version: 1 },
          cause: { kind: 'document', id, version: 2, event_id: removed?.id, principal: { type: 'api_key' } },
        },
      ],
    });
    expect(await listed()).toEqual(['blocked']);
    const page = `/workspaces/${service.workspaceId('clinic')}/records/encounters/${encounter.id}`;
    const { visitor } = await signedIn(service, 'compliance');
    expect((await visitor.get(page)).text).toContain(
      `<a href="/dashboard${page}/documents/${id}">document, version 2</a>`,
    );
    const then = await readiness(service, claim, `?as_of=${uploaded?.recordedAt}`);
    expect(then).toMatchObject({ state: 'ready', findings: [] });
    const rules = JSON.parse((await cli('rules', '--json')).stdout);
    expect(rules.find(({ rule }: { rule: string }) => rule === 'document_missing').required).toEqual([
      { visit_type: 'telehealth', category: 'consent_form' },
      { visit_type: 'inpatient', category: 'discharge_summary' },
    ]);
    expect((await cli('rules')).stdout).toMatch(/\ninpatient +discharge_summary\n$/);
    await require('inpatient', 'discharge_summary', '--remove');
    expect(await listed()).toEqual(['ready']);
    await require('telehealth', 'consent_form', '--remove');
    expect(await cli('require-document', 'surgery', 'referral')).toMatchObject({ code: 2 });
  });
});
