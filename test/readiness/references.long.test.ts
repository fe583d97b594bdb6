import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type FanOut, fanOutsModel, fanOutsPartition } from '../../src/modules/readiness/worklistFanOut.ts';
import { openReadModels } from '../../src/server/openStorage.ts';
import { sendBatch } from '../support/client.ts';
import { phi } from '../support/output.ts';
import { type Claim, freshClaim, sendClaim, worklist } from '../support/readiness.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { newEvents, type TestService } from '../support/service.ts';

/** More than are evaluated with the change itself. */
const MANY = 230;
const LAST_DAY = '2026-03-14';
const DAY_MS = 86_400_000;

function daysBefore(days: number): string {
  return new Date(Date.parse(LAST_DAY) - days * DAY_MS).toISOString().slice(0, 10);
}

/** Changes of records on which many encounters depend. */
onEmbeddedEngines((start) => {
  let service: TestService;
  let claim: Claim;
  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.stop());

  beforeEach(async () => {
    claim = freshClaim({ encounter: { date_of_service: LAST_DAY } });
    Object.assign(claim.patient.primary_insurance as object, { effective_date: '2020-01-01' });
    await sendClaim(service, claim);
    // Each on a day of its own, so that none is a duplicate.
    const lines = Array.from({ length: MANY }, (_, n) => ({
      kind: 'encounter',
      record: { ...claim.encounter, id: phi('encounter'), date_of_service: daysBefore(n + 1) },
    }));
    expect((await sendBatch(service, lines)).status).toBe(200);
    expect(await states()).toEqual({
      ready: MANY + 1,
      self_pay: 0,
      blocked: 0,
      rejected: 0,
      not_completed: 0,
      voided: 0,
    });
  });

  const states = async () => (await worklist(service, `&payer_id=${claim.payer.id}`)).counts.states;

  /** The records on whose account encounters were evaluated, or are, once the worklist is current. */
  async function evaluatedFor(): Promise<string[]> {
    await states();
    const readModels = await openReadModels(service.config.readModelUrl);
    const workspace = service.workspaceId('clinic');
    const rows = await Promise.all(
      [fanOutsPartition(workspace), `${workspace} done`].map((partition) =>
        readModels.page(fanOutsModel, { partition, limit: 1_000 }),
      ),
    );
    await readModels.close();
    return rows.flat().map(({ id, body }) => ('kind' in body ? (body as FanOut).kind : id));
  }

  test('what is sent again with other contact details, or as it was, evaluates no encounter', async () => {
    const before = await evaluatedFor();
    const kinds = ['payer', 'provider', 'facility', 'patient'] as const;
    const contacts = { payer: 'contact_phone', provider: 'phone', facility: 'phone', patient: 'phone' };
    const events = await newEvents(service, async () => {
      await sendClaim(service, claim, ...kinds);
      for (const kind of kinds) Object.assign(claim[kind], { [contacts[kind]]: '+1 402 555 0107' });
      await sendClaim(service, claim, ...kinds);
      expect(await evaluatedFor()).toEqual(before);
    });
    const upserts = ['PayerUpserted', 'ProviderUpserted', 'FacilityUpserted', 'PatientUpserted'];
    expect(events.map(({ type }) => type).filter((type) => type !== 'AccessRecorded')).toEqual([
      ...upserts,
      ...upserts,
    ]);
    expect(await states()).toMatchObject({ ready: MANY + 1 });
  });

  test('changes that follow one another reach every encounter, which has what the last one says', async () => {
    const before = await evaluatedFor();
    for (const payer_code of ['60055', null, '60056', null]) {
      Object.assign(claim.payer, { payer_code });
      await sendClaim(service, claim, 'payer');
    }
    expect(await states()).toEqual({
      ready: 0,
      blocked: MANY + 1,
      self_pay: 0,
      rejected: 0,
      not_completed: 0,
      voided: 0,
    });
    expect((await evaluatedFor()).length).toBeGreaterThan(before.length);
    Object.assign(claim.payer, { payer_code: '60054' });
    await sendClaim(service, claim, 'payer');
    await sendClaim(service, claim, 'payer');
    expect(await states()).toMatchObject({ ready: MANY + 1, blocked: 0 });
  });
});
