import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RecordedEvent } from '../../src/domain/events/event.ts';
import type { Caller } from '../../src/domain/events/newEvent.ts';
import { setFilingLimit } from '../../src/modules/readiness/settings.ts';
import { choices } from '../support/choices.ts';
import { runCli, storesOf, temporaryFolder } from '../support/cli.ts';
import { type BrowserlessSession, signedIn } from '../support/dashboard.ts';
import { expectDocumented, fetchDocument } from '../support/openapi.ts';
import { phi } from '../support/output.ts';
import {
  billable,
  billedPath,
  type Claim,
  freshClaim,
  readiness,
  readinessPath,
  sendClaim,
  sendLater,
  whenPast,
  worklist,
} from '../support/readiness.ts';
import { pathOf } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { accessesBy, appendedBy, newEvents, refusalsBy, type TestService } from '../support/service.ts';

const { primary_insurance: primary } = billable.patient;
const SEED = 7;
const WRITES = 25;

function operator(service: TestService): Caller {
  return {
    workspace: service.workspaceId('clinic'),
    principal: { type: 'operator', id: 'test' },
    requestId: uuidv7(),
  };
}

onEmbeddedEngines((start) => {
  const folder = temporaryFolder();
  let service: TestService;
  let visitor: BrowserlessSession;
  beforeAll(async () => {
    service = await start();
    ({ visitor } = await signedIn(service, 'compliance'));
  });
  afterAll(() => service.stop());

  const recordPage = (plural: string, { id }: Record<string, unknown>) =>
    `/workspaces/${service.workspaceId('clinic')}/records/${plural}/${encodeURIComponent(String(id))}`;
  const pageOf = ({ encounter }: Claim) => recordPage('encounters', encounter);

  test('a claim in which nothing is wrong is ready; one that is not completed is not, whatever it has', async () => {
    const claim = freshClaim();
    await sendClaim(service, claim);
    expect(await readiness(service, claim)).toMatchObject({ state: 'ready', version: 1, findings: [] });
    await sendLater(service, claim, 'encounter', { is_completed: false });
    expect((await readiness(service, claim)).state).toBe('not_completed');
  });

  test('an encounter of a patient who pays is self-pay once nothing blocks it, and is not listed as ready', async () => {
    const claim = freshClaim({ payer: { payer_code: undefined, payer_type: 'Self-Pay' } });
    claim.patient.primary_insurance = { payer_id: claim.payer.id };
    await sendClaim(service, claim);
    expect(await readiness(service, claim)).toMatchObject({ state: 'self_pay', findings: [] });
    expect((await visitor.get(pageOf(claim))).text).toContain('The patient pays: no claim is to be sent.');
    const ofPayer = `&payer_id=${claim.payer.id}`;
    const { items, counts } = await worklist(service, `${ofPayer}&state=self_pay`);
    expect([items.map(({ state }) => state), counts.states]).toMatchObject([
      ['self_pay'],
      { self_pay: 1, ready: 0 },
    ]);
    expect((await worklist(service, `${ofPayer}&state=ready`)).items).toEqual([]);
    await sendLater(service, claim, 'payer', { payer_type: 'Private' });
    expect(await readiness(service, claim)).toMatchObject({
      ...{ state: 'blocked', found: expect.arrayContaining(['payer_code_missing payer.payer_code']) },
    });
  });

  test('a void encounter is voided, whatever else, and not billed; it counts again once that is cleared', async () => {
    const claim = freshClaim({ payer: { payer_code: undefined } });
    await sendClaim(service, claim);
    const bill = () => service.post(billedPath(claim), { claim_id: phi('claim') });
    expect((await bill()).status).toBe(200);
    const [voided_at, void_reason] = ['2026-03-20', phi('Entered twice')];
    const since = await sendLater(service, claim, 'encounter', { voided_at, void_reason });
    const isVoid = { state: 'voided', version: 2, found: ['changed_after_billing encounter.voided_at'] };
    expect(await readiness(service, claim)).toMatchObject(isVoid);
    const appended = await appendedBy(service, async () => {
      const refused = await bill();
      expect(refused).toMatchObject({ status: 409, body: { code: 'conflict' } });
      expectDocumented(await fetchDocument(service), 'recordEncounterBilled', refused);
    });
    expect(appended).toEqual([]);
    const text = (await visitor.get(pageOf(claim))).text.replaceAll(/<\/?bdi>/g, '');
    for (const what of [
      'It is void and must not be billed.',
      `<dt>Void since</dt><dd><time datetime="${voided_at}"`,
    ]) {
      expect(text).toContain(what);
    }
    expect(text).toContain(`<dt>Reason</dt><dd>${void_reason}</dd>`);
    await sendLater(service, claim, 'encounter', { is_completed: false });
    expect((await readiness(service, claim)).state).toBe('voided');
    const cleared = { is_completed: true, voided_at: null, void_reason: null };
    const again = await sendLater(service, claim, 'encounter', cleared);
    expect(await readiness(service, claim)).toMatchObject({
      state: 'blocked',
      findings: [{ rule: 'payer_code_missing', since: again, cause: { kind: 'encounter', version: 4 } }],
    });
    expect(await readiness(service, claim, `?as_of=${since}`)).toMatchObject(isVoid);
  });

  test('what is wrong blocks or warns, what blocks first', async () => {
    const claim = freshClaim({
      encounter: { date_of_service: '2091-05-01', facility_id: undefined },
      patient: { primary_insurance: { ...primary, termination_date: '2021-12-31' }, zip_code: '10001' },
      provider: { npi: '0000000006', taxonomy_code: '000000000X' },
    });
    await sendClaim(service, claim);
    const { state, found } = await readiness(service, claim);
    expect(state).toBe('blocked');
    expect(found).toEqual([
      'service_date_in_future encounter.date_of_service',
      'provider_npi provider.npi',
      'taxonomy_code provider.taxonomy_code',
      'facility_missing encounter.facility_id',
      'coverage_not_in_force patient.primary_insurance.termination_date',
      'zip_of_other_state patient.state',
    ]);
    // A finding that warns alone blocks nothing.
    const warned = freshClaim({ patient: { zip_code: '10001' } });
    await sendClaim(service, warned);
    expect(await readiness(service, warned)).toMatchObject({
      state: 'ready',
      found: ['zip_of_other_state patient.state'],
    });
  });

  test('a finding tells which write of whom brought it about, and since when it stands', async () => {
    const claim = freshClaim();
    await sendClaim(service, claim);
    const { policy_number: _, ...bare } = claim.patient.primary_insurance as Record<string, unknown>;
    const since = await sendLater(service, claim, 'patient', { primary_insurance: bare });
    await sendLater(service, claim, 'patient', { city: phi('Lincoln') });
    await sendLater(service, claim, 'encounter', { status: 'billed' });
    const { findings } = await readiness(service, claim);
    const patient = { kind: 'patient', id: claim.patient.id };
    expect(findings).toEqual([
      expect.objectContaining({
        ...{ rule: 'policy_number_missing', field: 'primary_insurance.policy_number', since },
        record: { ...patient, version: 3 },
        cause: {
          ...{ ...patient, version: 2, event_id: expect.any(String) },
          principal: { type: 'api_key', id: expect.stringMatching(/^key_/), name: 'Test key' },
        },
      }),
    ]);
    // What was mended and broken again stands since the second time.
    await sendLater(service, claim, 'patient', { primary_insurance: { ...bare, policy_number: 'W1' } });
    expect((await readiness(service, claim)).state).toBe('ready');
    const again = await sendLater(service, claim, 'patient', { primary_insurance: bare });
    expect((await readiness(service, claim)).findings).toMatchObject([
      { since: again, cause: { version: 5 } },
    ]);
  });

  test('as of a moment it is what a service would say that was fed only up to then', async () => {
    const claim = freshClaim({ encounter: { is_completed: false } });
    await sendClaim(service, claim);
    const other = freshClaim({ payer: { payer_code: undefined }, provider: { npi: undefined } });
    await sendClaim(service, other, 'payer', 'provider');
    const insured = (changes: object) => ({
      primary_insurance: { ...(claim.patient.primary_insurance as object), ...changes },
    });
    let limit = 'P99Y';
    const changeLimitLater = async () => {
      limit = limit === 'P1D' ? 'P99Y' : 'P1D';
      const data = { limit, payer_id: String(claim.payer.id) };
      const [set] = await newEvents(service, () => setFilingLimit(service.eventLog, operator(service), data));
      return whenPast((set as RecordedEvent).recordedAt);
    };
    const billLater = async (path: string, body: object) => {
      await service.post(path, body);
      return whenPast(new Date().toISOString());
    };
    const others: Record<string, (change: object) => Promise<string>> = {
      'filing limit': changeLimitLater,
      billed: (claimed) => billLater(billedPath(claim), claimed),
      acknowledged: (why) => billLater(`${billedPath(claim)}/acknowledge`, why),
    };
    const changes: ['filing limit' | 'billed' | 'acknowledged' | keyof Claim, object][] = [
      ['filing limit', {}],
      ['billed', { claim_id: 'first' }],
      ['billed', { claim_id: 'second' }],
      ['acknowledged', { reason: 'Known' }],
      ['encounter', { is_completed: true }],
      ['encounter', { voided_at: '2026-03-20' }],
      ['encounter', { voided_at: null }],
      ['encounter', { date_of_service: '2091-05-01' }],
      ['encounter', { date_of_service: '2026-03-14' }],
      ['encounter', { rendering_provider_id: other.provider.id }],
      ['encounter', { rendering_provider_id: null }],
      ['encounter', { facility_id: null }],
      ['encounter', { facility_id: claim.facility.id }],
      ['patient', insured({ policy_number: null })],
      ['patient', insured({ payer_id: other.payer.id })],
      ['patient', insured({ termination_date: '2021-12-31' })],
      ['patient', { primary_insurance: null }],
      ['provider', { npi: '0000000006' }],
      ['provider', { npi: '1234567893' }],
      ['facility', { tax_id: null }],
      ['facility', { tax_id: '12-3456789' }],
      ['payer', { payer_code: null }],
    ];
    const told: { at: string; body: object }[] = [];
    const next = choices(SEED);
    for (let write = 0; write < WRITES; write += 1) {
      const [kind, change] = changes[next(changes.length)] as (typeof changes)[number];
      const at = await (others[kind]?.(change) ?? sendLater(service, claim, kind as keyof Claim, change));
      const { as_of: _, ...body } = (await service.get(readinessPath(claim))).body;
      told.push({ at, body });
    }
    expect(new Set(told.map(({ body }) => JSON.stringify(body))).size).toBeGreaterThan(5);
    for (const { at, body } of told) {
      const { as_of, ...then } = (await service.get(`${readinessPath(claim)}?as_of=${at}`)).body;
      expect(as_of).toBe(at);
      expect(then).toEqual(body);
    }
  });

  test('is read with the permission to read all kinds, and the audit trail tells of what was shown', async () => {
    const claim = freshClaim({ payer: { payer_code: undefined } });
    await sendClaim(service, claim);
    const one = service.as((await service.createKey('clinic', ['read:encounter'])).key);
    const refusals = await refusalsBy(service, async () => {
      expect(await one.get(readinessPath(claim))).toMatchObject({
        status: 403,
        body: { code: 'permission_denied' },
      });
    });
    expect(refusals).toHaveLength(1);
    const accesses = await accessesBy(service, async () => {
      expect(await appendedBy(service, () => readiness(service, claim))).toEqual([]);
    });
    expect(accesses).toEqual([
      {
        ...{ action: 'record.readiness', kind: 'encounter', record_id: claim.encounter.id },
        shown: {
          ranges: [],
          things: [
            { kind: 'encounter', record_id: claim.encounter.id },
            { kind: 'payer', record_id: claim.payer.id },
          ],
        },
      },
    ]);
  });

  test('the page of an encounter tells it, now and as it was, with the way to the record and the write', async () => {
    const claim = freshClaim();
    await sendClaim(service, claim);
    const page = pageOf(claim);
    const show = async (query = '') => {
      const { status, text } = await visitor.get(page + query);
      expect(status).toBe(200);
      return text;
    };
    const { updated_at: ready } = (await service.get(pathOf('encounter', String(claim.encounter.id)))).body;
    await sendLater(service, claim, 'facility', { tax_id: null });
    const facility = recordPage('facilities', claim.facility);
    let text = '';
    const accesses = await accessesBy(service, async () => {
      text = await show();
    });
    expect(text).toContain('A payer would refuse it.');
    expect(text).toContain(`<a href="/dashboard${facility}">Facility</a>: Tax ID`);
    expect(text).toContain(`<a href="/dashboard${facility}?version=2">facility, version 2</a>`);
    expect(accesses).toContainEqual(
      expect.objectContaining({ action: 'record.readiness', record_id: claim.encounter.id }),
    );
    const then = await show(`?as_of=${ready}`);
    expect(then).toContain('Nothing blocks billing.');
    expect(then).not.toContain('A payer would refuse it.');
  });

  test('what is not there, or not yet, or no more, has none', async () => {
    const claim = freshClaim();
    expect(await service.get(readinessPath(claim))).toMatchObject({
      status: 404,
      body: { code: 'not_found' },
    });
    await sendClaim(service, claim);
    const before = await service.get(`${readinessPath(claim)}?as_of=2020-01-01`);
    expect(before).toMatchObject({
      status: 404,
      body: { error: 'The encounter did not exist at that time.' },
    });
    const bad = await service.get(`${readinessPath(claim)}?as_of=yesterday`);
    expect(bad).toMatchObject({ status: 400, body: { details: [{ field: 'as_of' }] } });
    const erasing = [
      'records',
      'erase',
      'encounter',
      String(claim.encounter.id),
      '--reason',
      'Request 2026-117',
    ];
    const erased = await runCli([...erasing, '--workspace', service.workspaceId('clinic')], {
      env: { ...storesOf(service.config), DATA_DIR: folder },
    });
    expect(erased).toMatchObject({ code: 0 });
    expect(await service.get(readinessPath(claim))).toMatchObject({ status: 410, body: { code: 'gone' } });
  });
});
