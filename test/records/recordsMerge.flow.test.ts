import { afterAll, beforeAll, expect, test } from 'vitest';
import { phi } from '../support/output.ts';
import {
  minimal,
  pathOf,
  paths,
  type Referred,
  type SpecKind,
  samples,
  upsertReferred,
} from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { changesBy, sharedService, type TestService } from '../support/service.ts';

onEmbeddedEngines(() => {
  let service: TestService;
  let referred: Referred;
  beforeAll(async () => {
    service = await sharedService();
    referred = await upsertReferred(service);
  });
  afterAll(() => service.stop());

  /** Sends these in turn, checks that each became one event as sent, and gives the record as read back. */
  async function upsert(kind: SpecKind, ...sent: ({ id: string } & Record<string, unknown>)[]) {
    const events = await changesBy(service, async () => {
      for (const record of sent) {
        const { status } = await service.post(paths[kind], record);
        expect(status).toBe(200);
      }
    });
    expect(events.map(({ data }) => data)).toEqual(sent);
    const { body } = await service.get(pathOf(kind, sent[0]?.id ?? ''));
    return body;
  }

  test('a sent field replaces, an omitted one stays, null clears', async () => {
    const patient = samples.patient();
    const { record } = await upsert(
      'patient',
      { ...patient, email: 'old@example.com', phone: '4025550100', city: 'Omaha' },
      { ...patient, email: 'new@example.com', city: null },
    );
    expect(record).toEqual({ ...patient, email: 'new@example.com', phone: '4025550100', country: 'US' });
  });

  test.each(['payer', 'patient', 'provider', 'facility', 'encounter'] as const)(
    'the same %s sent again is a new version of the same record, and no duplicate',
    async (kind) => {
      const sent = minimal(kind, referred);
      const view = await upsert(kind, sent, sent, sent);
      expect(view).toMatchObject({ id: sent.id, version: 3, record: sent });
      const { body } = await service.get(`${paths[kind]}?limit=1000`);
      expect(body.items.filter((item: { id: string }) => item.id === sent.id)).toEqual([view]);
    },
  );

  test('country reads as US while nobody sent one, and the default is in no event', async () => {
    const payer = samples.payer();
    expect((await upsert('payer', payer)).record.country).toBe('US');
    expect((await upsert('payer', { ...payer, country: 'CA' })).record.country).toBe('CA');
    expect((await upsert('payer', payer)).record.country).toBe('CA');
    expect((await upsert('payer', { ...payer, country: null })).record.country).toBe('US');
  });

  test('provider_id reads as the rendering provider while none is sent, and that is in no event', async () => {
    const encounter = samples.encounter(referred.patient);
    const other = samples.provider();
    await service.post(paths.provider, other);
    expect((await upsert('encounter', encounter)).record).toEqual(encounter);
    const { record } = await upsert('encounter', { ...encounter, provider_id: referred.provider });
    expect(record.rendering_provider_id).toBe(referred.provider);
    const rendered = await upsert('encounter', { ...encounter, rendering_provider_id: other.id });
    expect(rendered.record).toMatchObject({
      provider_id: referred.provider,
      rendering_provider_id: other.id,
    });
    const cleared = await upsert('encounter', { ...encounter, rendering_provider_id: null });
    expect(cleared.record.rendering_provider_id).toBe(referred.provider);
  });

  test('is_completed stays true until false is sent', async () => {
    const encounter = samples.encounter(referred.patient);
    expect(
      (await upsert('encounter', { ...encounter, is_completed: true }, encounter)).record.is_completed,
    ).toBe(true);
    expect((await upsert('encounter', { ...encounter, is_completed: false })).record.is_completed).toBe(
      false,
    );
  });

  test('an insurance replaces the one of its rank whole; the other ranks stay; null clears a rank', async () => {
    const patient = samples.patient();
    const other = samples.payer();
    await service.post(paths.payer, other);
    const primary = { payer_id: referred.payer, policy_number: phi('policy'), group_number: phi('group') };
    const secondary = { payer_id: referred.payer, subscriber_relationship: 'spouse' };
    const tertiary = { payer_id: other.id };
    const ranked = {
      primary_insurance: primary,
      secondary_insurance: secondary,
      tertiary_insurance: tertiary,
    };
    const read = { ...patient, country: 'US' };

    expect((await upsert('patient', { ...patient, ...ranked })).record).toEqual({ ...read, ...ranked });
    // Spec 4.1 rule 2: a request that omits the insurance objects does not remove them.
    expect((await upsert('patient', patient)).record).toEqual({ ...read, ...ranked });

    const replaced = { payer_id: other.id, policy_number: phi('policy'), group_number: null };
    const { group_number: _cleared, ...kept } = replaced;
    expect((await upsert('patient', { ...patient, primary_insurance: replaced })).record).toEqual({
      ...read,
      ...ranked,
      primary_insurance: kept,
    });
    const { secondary_insurance: _none, ...rest } = ranked;
    expect((await upsert('patient', { ...patient, secondary_insurance: null })).record).toEqual({
      ...read,
      ...rest,
      primary_insurance: kept,
    });
  });

  test('a version that is refused changes nothing', async () => {
    const facility = samples.facility();
    const before = await upsert('facility', { ...facility, city: 'Omaha' });
    const events = await changesBy(service, async () => {
      const { status } = await service.post(paths.facility, { ...facility, city: 'Lincoln', npi: '12' });
      expect(status).toBe(400);
    });
    expect(events).toEqual([]);
    expect((await service.get(pathOf('facility', facility.id))).body).toEqual(before);
  });
});
