import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newEvent } from '../../src/domain/events/newEvent.ts';
import type { EncounterBilled } from '../../src/domain/events/readinessEvents.ts';
import { encounterReadinessStream } from '../../src/domain/events/streams.ts';
import { temporaryFolder } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { expectDocumented, fetchDocument } from '../support/openapi.ts';
import { phi } from '../support/output.ts';
import {
  billedPath,
  type Claim,
  freshClaim,
  inStores,
  inWorkspace,
  readiness,
  sendClaim,
  sendLater,
  worklist,
} from '../support/readiness.ts';
import { paths, samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy, changesBy, type TestService } from '../support/service.ts';

const LONG_MS = 60_000;

onEmbeddedEngines((start) => {
  const folder = temporaryFolder();
  let service: TestService;
  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.stop());

  const clinic = () => service.workspaceId('clinic');
  const cli = (...args: string[]) => inWorkspace(service, ...args);
  const post = async (path: string, body: object) => {
    expect((await service.post(path, body)).status).toBe(200);
  };

  const bill = (claim: Claim, body: object, headers = {}) => service.post(billedPath(claim), body, headers);
  const acknowledge = (claim: Claim, body: object) => service.post(`${billedPath(claim)}/acknowledge`, body);
  const streamOf = ({ encounter }: Claim) => `clinic.readiness-${encodeURIComponent(String(encounter.id))}`;
  /** A claim that was billed, and its id. */
  const billedClaim = async (changes: Partial<Claim> = {}) => {
    const claim = freshClaim(changes);
    await sendClaim(service, claim);
    const claim_id = phi('claim');
    expect(await bill(claim, { claim_id })).toMatchObject({ status: 200, body: { outcome: 'created' } });
    return { claim, claim_id };
  };

  test('what was billed is recorded with the versions of everything used, once', async () => {
    const claim = freshClaim();
    await sendClaim(service, claim);
    await sendClaim(service, claim, 'provider');
    expect((await readiness(service, claim)).billed).toBeNull();
    const claim_id = phi('claim');
    const { encounter, patient, payer, provider, facility } = claim;
    const versions = [
      { part: 'encounter', kind: 'encounter', id: encounter.id, version: 1 },
      { part: 'patient', kind: 'patient', id: patient.id, version: 1 },
      { part: 'payer', kind: 'payer', id: payer.id, version: 1 },
      { part: 'provider', kind: 'provider', id: provider.id, version: 2 },
      { part: 'rendering_provider', kind: 'provider', id: provider.id, version: 2 },
      { part: 'facility', kind: 'facility', id: facility.id, version: 1 },
    ];
    const openapi = await fetchDocument(service);
    const key = { 'idempotency-key': phi('key') };
    const events = await changesBy(service, async () => {
      const first = await bill(claim, { claim_id, version: 1 }, key);
      expectDocumented(openapi, 'recordEncounterBilled', first);
      expect(first.body).toEqual({
        ...{ success: true, message: 'Encounter billed', version: 1, outcome: 'created' },
        ...{ versions, warnings: [] },
      });
      const repeated = await bill(claim, { claim_id, version: 1 }, key);
      expect(repeated.body).toEqual(first.body);
      expect(repeated.headers['idempotent-replayed']).toBe('true');
      expect((await bill(claim, { claim_id })).body).toMatchObject({ outcome: 'unchanged', versions });
    });
    expect(events).toMatchObject([
      { type: 'EncounterBilled', data: { encounter_id: encounter.id, claim_id, versions } },
    ]);
    const { billed, state, found } = await readiness(service, claim);
    expect(billed).toEqual({
      ...{ claim_id, versions, at: events[0]?.recordedAt },
      principal: { type: 'api_key', id: expect.stringMatching(/^key_/), name: 'Test key' },
    });
    expect({ state, found }).toEqual({ state: 'ready', found: [] });
    const again = await appendedBy(service, async () => {
      expect((await bill(claim, { claim_id: phi('claim') })).body.outcome).toBe('updated');
    });
    expect(again).toEqual([`${streamOf(claim)}: EncounterBilled`]);
  });

  test('what repeats a billed encounter is blocked, and names the claim; what was billed is not', async () => {
    const { claim, claim_id } = await billedClaim();
    const twin = { ...claim, encounter: { ...claim.encounter, id: phi('encounter') } };
    const events = await changesBy(service, () => sendClaim(service, twin, 'encounter'));
    expect(events).toMatchObject([{ type: 'EncounterUpserted' }]);
    const repeats = `&facility_id=${claim.facility.id}`;
    const record = { kind: 'encounter', id: claim.encounter.id };
    const openapi = await fetchDocument(service);
    const { state, findings } = await readiness(service, twin);
    expect(state).toBe('blocked');
    expect(findings).toMatchObject([
      {
        rule: 'duplicate_of_billed',
        claim_id,
        record: { ...record, version: 1 },
        cause: { id: twin.encounter.id },
      },
      { rule: 'suspected_duplicate', record },
    ]);
    expect(await readiness(service, claim)).toMatchObject({
      ...{ state: 'ready', findings: [{ rule: 'suspected_duplicate' }], billed: { claim_id } },
    });
    const { items } = await worklist(service, repeats);
    expect(items).toMatchObject([
      { id: claim.encounter.id, state: 'ready', billed: { claim_id } },
      { id: twin.encounter.id, state: 'blocked', billed: null },
    ]);
    const unbilled = await service.get(`/integration/readiness?billed=false&limit=1${repeats}`);
    expectDocumented(openapi, 'listReadiness', unbilled);
    expect((await service.get('/integration/readiness?billed=yes')).status).toBe(400);
    // Billed all the same, it is no claim to come.
    const later = phi('claim');
    expect((await bill(twin, { claim_id: later })).body).toMatchObject({ outcome: 'created' });
    expect(await readiness(service, twin)).toMatchObject({ state: 'ready', billed: { claim_id: later } });
    expect((await worklist(service, `${repeats}&billed=false`)).items).toEqual([]);
  });

  test('what is billed blocks what repeats it, since then and by whoever billed it; an erasure ends that', async () => {
    const claim = freshClaim();
    const twin = { ...claim, encounter: { ...claim.encounter, id: phi('encounter') } };
    await sendClaim(service, claim);
    await sendClaim(service, twin, 'encounter');
    const repeats = `&facility_id=${claim.facility.id}`;
    expect(await readiness(service, twin)).toMatchObject({ state: 'ready' });
    const events = await changesBy(service, () => bill(claim, { claim_id: phi('claim') }));
    const [billed] = events;
    const { findings } = await readiness(service, twin);
    expect(findings[0]).toMatchObject({
      ...{ rule: 'duplicate_of_billed', since: billed?.recordedAt },
      cause: { kind: 'encounter', id: claim.encounter.id, version: 1, event_id: billed?.id },
    });
    const blocked = [{ id: twin.encounter.id, state: 'blocked' }];
    expect((await worklist(service, `${repeats}&billed=false`)).items).toMatchObject(blocked);
    await cli('records', 'erase', 'encounter', String(claim.encounter.id), '--reason', 'Request 2026-120');
    expect(await readiness(service, twin)).toMatchObject({ state: 'ready', findings: [] });
    expect((await worklist(service, repeats)).items).toMatchObject([{ state: 'ready', findings: [] }]);
  });

  test('what cannot be billed, or not so, is refused and leaves no event; what is not ready is told', async () => {
    const claim = freshClaim({ patient: { zip_code: undefined } });
    expect((await bill(claim, { claim_id: 'c' })).status).toBe(404);
    await sendClaim(service, claim);
    const reader = service.as((await service.createKey('clinic', ['read', 'write:encounter'])).key);
    const appended = await appendedBy(service, async () => {
      expect(await bill(claim, {})).toMatchObject({
        status: 400,
        body: { details: [{ field: 'claim_id' }] },
      });
      expect(await bill(claim, { claim_id: 'c', version: 2 })).toMatchObject({
        status: 412,
        body: { code: 'version_conflict', version: 1 },
      });
      expect((await reader.post(billedPath(claim), { claim_id: 'c' })).status).toBe(403);
      expect(await acknowledge(claim, { reason: 'None' })).toMatchObject({
        status: 409,
        body: { code: 'conflict' },
      });
      expect(await acknowledge(claim, { reason: ' ' })).toMatchObject({
        status: 400,
        body: { details: [{ field: 'reason' }] },
      });
    });
    expect(appended).toEqual([]);
    expect((await bill(claim, { claim_id: 'c' })).body.warnings).toMatchObject([
      { field: 'patient.zip_code', message: expect.any(String) },
    ]);
    await cli('records', 'erase', 'encounter', String(claim.encounter.id), '--reason', 'Request 2026-117');
    expect(await bill(claim, { claim_id: 'c' })).toMatchObject({ status: 410, body: { code: 'gone' } });
  });

  test('a later change of what a claim carries is a finding, until it is billed again or acknowledged', async () => {
    const { claim } = await billedClaim();
    // No claim carries these.
    await sendLater(service, claim, 'patient', { phone: '+1 402 555 0107' });
    await sendLater(service, claim, 'encounter', { status: 'billed' });
    expect((await readiness(service, claim)).found).toEqual([]);
    const insured = claim.patient.primary_insurance as object;
    const since = await sendLater(service, claim, 'patient', {
      primary_insurance: { ...insured, policy_number: phi('W1') },
    });
    await sendLater(service, claim, 'patient', {
      primary_insurance: { ...insured, policy_number: phi('W2') },
    });
    await sendLater(service, claim, 'provider', { npi: '2000000002' });
    const { state, findings, found } = await readiness(service, claim);
    expect({ state, found }).toEqual({
      state: 'ready',
      found: [
        'changed_after_billing patient.primary_insurance.policy_number',
        'changed_after_billing provider.npi',
      ],
    });
    expect(findings).toMatchObject([
      {
        ...{ severity: 'warns', billed_version: 1, since },
        record: { kind: 'patient', id: claim.patient.id, version: 4 },
        cause: { kind: 'patient', version: 3, principal: { type: 'api_key', name: 'Test key' } },
      },
      { billed_version: 1, record: { kind: 'provider', version: 2 }, cause: { version: 2 } },
    ]);
    const reason = phi('Accepted');
    const appended = await appendedBy(service, async () => {
      const first = await acknowledge(claim, { reason, version: 2 });
      expectDocumented(await fetchDocument(service), 'acknowledgeBillingChanges', first);
      expect(first.body).toMatchObject({ outcome: 'updated', version: 2, warnings: [] });
      expect((await acknowledge(claim, { reason })).body.outcome).toBe('unchanged');
    });
    expect(appended).toEqual([`${streamOf(claim)}: BillingChangeAcknowledged`]);
    const then = await readiness(service, claim);
    expect(then.found).toEqual([]);
    expect(then.billed?.versions).toContainEqual(expect.objectContaining({ part: 'patient', version: 1 }));
    expect(then.billed?.acknowledged).toMatchObject({
      versions: expect.arrayContaining([expect.objectContaining({ part: 'patient', version: 4 })]),
      ...{ reason, principal: { type: 'api_key', name: 'Test key' } },
    });
    // What changes later is one again, and as of before the first ones are told.
    await sendLater(service, claim, 'facility', { tax_id: '12-3456780' });
    await sendLater(service, claim, 'encounter', { rendering_provider_id: null, facility_id: null });
    expect((await readiness(service, claim)).found).toEqual([
      'facility_missing encounter.facility_id',
      'changed_after_billing encounter.facility_id',
    ]);
    expect((await readiness(service, claim, `?as_of=${since}`)).found).toEqual([
      'changed_after_billing patient.primary_insurance.policy_number',
    ]);
    await bill(claim, { claim_id: phi('claim') });
    const last = await readiness(service, claim);
    expect(last.found).toEqual(['facility_missing encounter.facility_id']);
    expect(last.billed?.acknowledged).toBeUndefined();
  });

  test('the worklist lists what has changed since it was billed, as it is announced; a workspace can let it block', async () => {
    const { claim } = await billedClaim();
    const ofFacility = `&facility_id=${claim.facility.id}`;
    const listed = async () => {
      const { items, counts } = await worklist(service, ofFacility);
      return { counts: counts.rules, found: items.map(({ state, findings }) => [state, ...findings]) };
    };
    const announced = async () => {
      const stream = encounterReadinessStream(clinic(), String(claim.encounter.id));
      const events = await service.eventLog.readStream(stream, { limit: 100 });
      return events.filter(({ type }) => type === 'EncounterReadinessChanged').map(({ data }) => data);
    };
    expect(await listed()).toEqual({ counts: {}, found: [['ready']] });
    await sendLater(service, claim, 'provider', { npi: '2000000002' });
    const rule = 'changed_after_billing';
    const record = { kind: 'provider', id: claim.provider.id };
    const finding = { rule, severity: 'warns', owner: 'billing', field: 'npi', record, answer: null };
    const changed = { counts: { [rule]: 1 }, found: [['ready', finding]] };
    expect(await listed()).toEqual(changed);
    expect((await announced()).at(-1)).toMatchObject({
      ...{ from: 'ready', to: 'ready', rules: [rule], cause: { kind: 'provider', version: 2 } },
    });
    expect((await inStores(service, 'projections', 'rebuild', 'readiness')).code).toBe(0);
    expect(await listed()).toEqual(changed);
    await cli('readiness', 'set', rule, 'blocks');
    expect(await listed()).toMatchObject({ found: [['blocked', { severity: 'blocks' }]] });
    expect(await readiness(service, claim)).toMatchObject({
      ...{ state: 'blocked', findings: [{ rule, severity: 'blocks', field: 'npi' }] },
    });
    await cli('readiness', 'set', rule, 'default');
    expect(await listed()).toEqual(changed);
    await acknowledge(claim, { reason: phi('Accepted') });
    expect(await listed()).toEqual({ counts: {}, found: [['ready']] });
    expect((await announced()).at(-1)).toMatchObject({ rules: [], cause: { kind: 'readiness' } });
  });

  test(
    'what became of an encounter in billing is erased with it, also what comes late; used again, the id begins anew',
    async () => {
      const patient = samples.patient();
      const encounter = { id: phi('encounter'), patient_id: patient.id };
      const [claim, head] = [phi('claim'), join(folder, 'head.json')];
      const stream = encounterReadinessStream(clinic(), encounter.id);
      const billLate = () => {
        const principal = { type: 'operator', id: 'test' } as const;
        const caller = { workspace: clinic(), principal, requestId: randomUUID() };
        const data: EncounterBilled = { encounter_id: encounter.id, claim_id: claim, versions: [] };
        return service.eventLog.append(stream, newEvent(caller, 'EncounterBilled', { ...data }), 'any');
      };
      const types = async () =>
        (await service.eventLog.readStream(stream, { limit: 10 })).map(({ type }) => type);
      const erase = async (kind: string, id: string, ...more: string[]) => {
        const { code, stdout, stderr } = await cli(
          'records',
          'erase',
          kind,
          id,
          '--reason',
          'Request 2026-117',
          ...more,
        );
        expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
        return stdout;
      };
      /** The read models may lag. */
      const verified = (...args: string[]) =>
        eventually(async () => expect((await cli('verify', ...args)).code).toBe(0));
      await post(paths.patient, patient);
      await post(paths.encounter, encounter);
      await billLate();
      await billLate();
      await verified('--save-head', head);
      const certificate = join(folder, 'certificate.json');
      const appended = await appendedBy(service, async () => {
        const told = await erase('patient', patient.id, '--with-encounters', '--certificate', certificate);
        expect(told).toMatch(/readiness +1 +2\n/);
      });
      expect(appended).toContain(`clinic.readiness-${encodeURIComponent(encounter.id)}: ReadinessErased`);
      expect(await types()).toEqual(['ReadinessErased']);
      for (const { name, bytes } of storedBytes())
        expect([name, bytes.includes(claim)]).toEqual([name, false]);
      const out = join(folder, 'whole.ndjson');
      expect((await cli('export', '--format', 'ndjson', '--out', out)).code).toBe(0);
      expect(readFileSync(out, 'utf8')).not.toContain(claim);
      expect(readFileSync(certificate, 'utf8')).toContain('ReadinessErased');
      await verified('--head', head);
      // One that was let in before.
      await billLate();
      await eventually(async () => expect(await types()).toEqual(['ReadinessErased']));
      await service.restart();
      await post(paths.patient, patient);
      await post(paths.encounter, encounter);
      await billLate();
      expect(await types()).toEqual(['ReadinessErased', 'EncounterBilled']);
      expect(await erase('encounter', encounter.id)).toMatch(/readiness +1 +6\n/);
      expect(await types()).toEqual(['ReadinessErased']);
    },
    LONG_MS,
  );

  /** All files of the embedded engines. */
  function storedBytes(): { name: string; bytes: Buffer }[] {
    const { eventLogUrl } = service.config;
    if (!eventLogUrl.startsWith('sqlite:')) return [];
    const data = eventLogUrl.slice('sqlite:'.length).replace(/[^/]*$/, '');
    return readdirSync(data, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((name) => ({ name, bytes: readFileSync(name) }));
  }
});
