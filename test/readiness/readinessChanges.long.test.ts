import { afterAll, beforeAll, expect, test } from 'vitest';
import { encounterReadinessStream, readinessStream } from '../../src/domain/events/streams.ts';
import { sendBatch } from '../support/client.ts';
import { phi, phiName } from '../support/output.ts';
import {
  type Claim,
  countsOf,
  freshClaim,
  inStores,
  inWorkspace,
  readiness,
  sendClaim,
  worklist,
} from '../support/readiness.ts';
import { pathOf } from '../support/samples.ts';
import { onEveryEngine } from '../support/servers.ts';
import type { TestService } from '../support/service.ts';

onEveryEngine((start) => {
  let service: TestService;
  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.stop());

  test('a rule that is set where there are no encounters changes nothing else', async () => {
    const quiet = service.as((await service.createKey('quiet', ['read'])).key);
    const workspace = service.workspaceId('quiet');
    const set = ['readiness', 'set', 'facility_tax_id', 'off', '--workspace', workspace];
    expect(await inStores(service, ...set)).toMatchObject({ code: 0 });
    expect(await worklist(quiet)).toMatchObject({ items: [], counts: { rules: {} } });
    const events = await service.eventLog.readStream(readinessStream(workspace), { limit: 10 });
    expect(events.map(({ type }) => type)).toEqual(['ReadinessRuleSet']);
  });

  test('readiness that changes is announced once, with the write that led to it', async () => {
    const claim = freshClaim({ encounter: { is_completed: false } });
    await sendClaim(service, claim);
    const ofFacility = `&facility_id=${claim.facility.id}`;
    const stream = encounterReadinessStream(service.workspaceId('clinic'), String(claim.encounter.id));
    const announced = async () => {
      await worklist(service, ofFacility);
      return (await service.eventLog.readStream(stream, { limit: 100 })).map(({ type, data, metadata }) => {
        expect({ type, principal: metadata.principal }).toEqual({
          ...{ type: 'EncounterReadinessChanged', principal: { id: 'readiness', type: 'service' } },
        });
        const { encounter_id, rules_version, ...told } = data;
        expect(encounter_id).toBe(claim.encounter.id);
        return told;
      });
    };
    const change = async (kind: keyof Claim, fields: object) => {
      Object.assign(claim[kind], fields);
      await sendClaim(service, claim, kind);
      const { version } = (await service.get(pathOf(kind, String(claim[kind].id)))).body;
      return { kind, id: claim[kind].id, version, event_id: expect.any(String) };
    };
    expect(await announced()).toEqual([]);
    const completed = await change('encounter', { is_completed: true });
    const first = { from: 'not_completed', to: 'ready', rules: [], cause: completed };
    expect(await announced()).toEqual([first]);
    const cleared = await change('payer', { payer_code: null });
    const second = { from: 'ready', to: 'blocked', rules: ['payer_code_missing'], cause: cleared };
    expect(await announced()).toEqual([first, second]);
    await change('payer', { name: phi('Elm') });
    expect(await announced()).toEqual([first, second]);
    const more = await change('facility', { tax_id: null });
    const both = ['facility_tax_id', 'payer_code_missing'];
    const third = { from: 'blocked', to: 'blocked', rules: both, cause: more };
    expect(await announced()).toEqual([first, second, third]);
    // A change of the rules is of all encounters, and announced for none; nor is what was built anew.
    await inWorkspace(service, 'readiness', 'set', 'facility_tax_id', 'off');
    expect(await announced()).toEqual([first, second, third]);
    const [set, applied] = await service.eventLog.readStream(readinessStream(service.workspaceId('clinic')), {
      limit: 10,
    });
    expect(applied).toMatchObject({
      type: 'ReadinessRulesApplied',
      data: { cause: set?.id, before: { blocked: 1 }, after: { blocked: 1 } },
    });
    await inWorkspace(service, 'readiness', 'set', 'facility_tax_id', 'default');
    await announced();
    await inStores(service, 'projections', 'rebuild', 'readiness');
    expect(await announced()).toEqual([first, second, third]);
    const mended = await change('payer', { payer_code: '60054' });
    const fourth = { from: 'blocked', to: 'blocked', rules: ['facility_tax_id'], cause: mended };
    expect(await announced()).toEqual([first, second, third, fourth]);
    const voided = await change('encounter', { voided_at: '2026-03-20' });
    const fifth = { from: 'blocked', to: 'voided', rules: [], cause: voided };
    expect(await announced()).toEqual([first, second, third, fourth, fifth]);
    const cause = await change('encounter', { voided_at: null });
    const sixth = { ...fourth, from: 'voided', cause };
    expect(await announced()).toEqual([first, second, third, fourth, fifth, sixth]);
  });

  test('of writes that come together, the one that led to it is told', async () => {
    const claim = freshClaim();
    await sendClaim(service, claim);
    const ofFacility = `&facility_id=${claim.facility.id}`;
    await worklist(service, ofFacility);
    const lines = [
      { kind: 'payer', record: { ...claim.payer, payer_code: null } },
      { kind: 'patient', record: { ...claim.patient, first_name: phiName('Eva') } },
      { kind: 'facility', record: { ...claim.facility, name: phi('Elm') } },
    ];
    expect((await sendBatch(service, lines)).status).toBe(200);
    await worklist(service, ofFacility);
    const stream = encounterReadinessStream(service.workspaceId('clinic'), String(claim.encounter.id));
    const [, told] = await service.eventLog.readStream(stream, { limit: 10 });
    expect(told?.data).toMatchObject({
      ...{ from: 'ready', to: 'blocked', rules: ['payer_code_missing'] },
      cause: { kind: 'payer', id: claim.payer.id, version: 2 },
    });
  });

  test('encounters follow what others become of their visit', async () => {
    const claim = freshClaim();
    const twin = { ...claim, encounter: { ...claim.encounter, id: phi('encounter') } };
    const elsewhere = freshClaim();
    await sendClaim(service, claim);
    await sendClaim(service, elsewhere, 'payer', 'patient');
    const [first, second] = [claim, twin].map(({ encounter }) => encounter.id);
    const both = { [`${first}`]: [second], [`${second}`]: [first] };
    const alone = { [`${first}`]: [], [`${second}`]: [] };
    /** The encounters that are at fault in each, by the worklist, and by the log. */
    const told = async (...claims: Claim[]) => {
      const { items, counts } = await worklist(service, `&facility_id=${claim.facility.id}`);
      const listed = items.map(({ id, findings }) => [id, findings.map(({ record }) => record.id)]);
      expect(counts).toEqual(countsOf(items));
      const read = claims.map(async (one) => {
        const { findings } = await readiness(service, one);
        return [one.encounter.id, findings.map(({ record }) => record.id)];
      });
      expect(listed).toEqual(await Promise.all(read));
      return Object.fromEntries(listed);
    };
    const move = async (fields: object) => {
      Object.assign(twin.encounter, fields);
      await sendClaim(service, twin, 'encounter');
      return told(claim, twin);
    };
    expect(await told(claim)).toEqual({ [`${first}`]: [] });
    expect(await move({})).toEqual(both);
    expect((await readiness(service, claim)).findings).toMatchObject([
      {
        ...{ rule: 'suspected_duplicate', severity: 'warns', field: 'date_of_service' },
        record: { kind: 'encounter', id: second, version: 1 },
        cause: { kind: 'encounter', id: second, version: 1 },
      },
    ]);
    expect(await move({ date_of_service: '2026-03-15' })).toEqual(alone);
    expect(await move({ date_of_service: '2026-03-14' })).toEqual(both);
    expect(await move({ patient_id: elsewhere.patient.id })).toEqual(alone);
    expect(await move({ patient_id: claim.patient.id, status: 'seen' })).toEqual(both);
    expect(await move({ voided_at: '2026-03-20' })).toEqual(alone);
    expect(await move({ voided_at: null })).toEqual(both);
    await inWorkspace(
      service,
      'records',
      'erase',
      'encounter',
      String(second),
      '--reason',
      'Request 2026-119',
    );
    expect(await told(claim)).toEqual({ [`${first}`]: [] });
    const stream = encounterReadinessStream(service.workspaceId('clinic'), String(first));
    const events = await service.eventLog.readStream(stream, { limit: 20 });
    const found = ['suspected_duplicate'];
    expect(events.map(({ data: { rules, cause } }) => [rules, (cause as { id: string }).id])).toEqual([
      [[], first],
      ...[found, [], found, [], found, [], found, []].map((rules) => [rules, second]),
    ]);
  });

  test('an encounter that was erased is in the worklist no more', async () => {
    const claim = freshClaim();
    await sendClaim(service, claim);
    const ofFacility = `&facility_id=${claim.facility.id}`;
    expect((await worklist(service, ofFacility)).items).toHaveLength(1);
    const erasing = [
      'records',
      'erase',
      'encounter',
      String(claim.encounter.id),
      '--reason',
      'Request 2026-118',
    ];
    const erased = await inWorkspace(service, ...erasing);
    expect(erased).toMatchObject({ code: 0 });
    expect(await worklist(service, ofFacility)).toEqual({
      items: [],
      counts: {
        states: { ready: 0, self_pay: 0, blocked: 0, rejected: 0, not_completed: 0, voided: 0 },
        rules: {},
      },
    });
  });
});
