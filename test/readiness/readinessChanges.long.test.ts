import { afterAll, beforeAll, expect, test } from 'vitest';
import { encounterReadinessStream, readinessStream } from '../../src/events/streamNames.ts';
import type { Claim } from '../support/billing.ts';
import { freshClaim, sendClaim } from '../support/claims.ts';
import { onEveryEngine } from '../support/engines.ts';
import { pathOf } from '../support/fieldValues.ts';
import { phi } from '../support/phi.ts';
import type { TestService } from '../support/service.ts';
import { inStores, inWorkspace, worklist } from '../support/worklists.ts';

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
  });
});
