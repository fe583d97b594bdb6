import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCli, storesOf, temporaryFolder } from '../support/cli.ts';
import { sendBatch } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { phi } from '../support/output.ts';
import { freshClaim, sendClaim } from '../support/readiness.ts';
import { pathOf, paths } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy, sharedService, type TestService } from '../support/service.ts';

const future = { date_of_service: '2091-05-01' };
const told = {
  future: {
    field: 'date_of_service',
    message: 'The date of service is in the future: nothing can be billed before then.',
  },
  facility: {
    field: 'facility_id',
    message: 'A claim needs the place of service. This field is empty.',
  },
};
/** The remark on a field of which nothing is known. */
const perhapsMissing = (field: string) => ({
  field,
  message:
    'was not sent, though the encounter is completed; billing needs it, now or from an earlier version',
});

onEmbeddedEngines(() => {
  const folder = temporaryFolder();
  let service: TestService;
  beforeAll(async () => {
    service = await sharedService();
  });
  afterAll(() => service.stop());

  /** A claim whose encounter is not sent yet. */
  async function claimWithout(changes: object) {
    const claim = freshClaim({ encounter: changes as Record<string, unknown> });
    await sendClaim(service, claim, 'payer', 'provider', 'facility', 'patient');
    return claim;
  }

  /** What the service answers to a write of an encounter, and how many events that was. */
  async function warningsOf(work: () => Promise<{ status: number; body: { warnings: object[] } }>) {
    let warnings: object[] = [];
    const appended = await appendedBy(service, async () => {
      const { status, body } = await work();
      expect(status).toBe(200);
      ({ warnings } = body);
    });
    return { warnings, events: appended.length };
  }

  test('an encounter in which nothing is wrong has none, whatever is wrong with what it names', async () => {
    const { encounter, ...claim } = freshClaim({
      provider: { npi: undefined },
      payer: { payer_code: undefined },
    });
    await sendClaim(service, { encounter, ...claim }, 'payer', 'provider', 'facility', 'patient');
    expect(await warningsOf(() => service.post(paths.encounter, encounter))).toEqual({
      warnings: [],
      events: 1,
    });
  });

  test('of a new encounter all is known: what a rule finds in it is said, and once', async () => {
    const { encounter } = await claimWithout({ ...future, facility_id: undefined });
    const open = { ...encounter, is_completed: false };
    expect(await warningsOf(() => service.post(`${paths.encounter}?dry_run=true`, open))).toEqual({
      warnings: [{ field: 'date_of_service', message: 'lies in the future' }],
      events: 0,
    });
    const both = [told.future, told.facility];
    expect(await warningsOf(() => service.post(`${paths.encounter}?dry_run=true`, encounter))).toEqual({
      warnings: both,
      events: 0,
    });
    expect(await warningsOf(() => service.post(paths.encounter, encounter))).toEqual({
      warnings: both,
      events: 1,
    });
  });

  test('of one that is there, what is cleared is known, and what is not sent where the record is looked at', async () => {
    const { encounter } = await claimWithout({ facility_id: undefined });
    const { id, patient_id, provider_id, date_of_service, visit_type } = encounter;
    expect(
      await warningsOf(() => service.post(paths.encounter, { ...encounter, is_completed: false })),
    ).toEqual({
      warnings: [],
      events: 1,
    });
    const least = { id, patient_id, is_completed: true };
    const post = (query: string, fields: object) =>
      warningsOf(() => service.post(`${paths.encounter}${query}`, fields));
    expect(await post('', { ...least, facility_id: null, provider_id, date_of_service, visit_type })).toEqual(
      {
        warnings: [told.facility],
        events: 1,
      },
    );
    expect(await post('', least)).toEqual({
      warnings: ['date_of_service', 'provider_id', 'facility_id', 'visit_type'].map(perhapsMissing),
      events: 1,
    });
    expect(await post('?dry_run=true', least)).toEqual({ warnings: [told.facility], events: 0 });
    expect(await post('?unchanged=skip', least)).toEqual({ warnings: [told.facility], events: 0 });
    // Whether it is completed is not known.
    expect(await post('', { id, patient_id })).toEqual({ warnings: [], events: 1 });
  });

  test('a patch tells of the whole encounter, also of what it does not send', async () => {
    const { encounter } = await claimWithout({ facility_id: undefined, is_completed: false });
    await service.post(paths.encounter, encounter);
    const patch = (fields: object) =>
      warningsOf(() => service.patch(pathOf('encounter', String(encounter.id)), fields));
    expect(await patch({ status: 'seen' })).toEqual({ warnings: [], events: 1 });
    expect(await patch({ is_completed: true })).toEqual({ warnings: [told.facility], events: 1 });
    expect(await patch(future)).toEqual({ warnings: [told.future, told.facility], events: 1 });
    expect(await patch({ voided_at: '2026-03-20' })).toEqual({ warnings: [], events: 1 });
    expect(await patch({ voided_at: null })).toEqual({ warnings: [told.future, told.facility], events: 1 });
    expect(await patch({ is_completed: null })).toEqual({ warnings: [], events: 1 });
  });

  test('a line of a batch is answered as the single request is', async () => {
    const { encounter } = await claimWithout({ ...future, facility_id: undefined });
    const { id, patient_id } = encounter;
    const lines = [encounter, { id, patient_id, is_completed: true }].map((record) => ({
      kind: 'encounter',
      record,
    }));
    const appended = await appendedBy(service, async () => {
      const { results } = await sendBatch(service, lines);
      expect(results).toMatchObject([
        { status: 200, warnings: [told.future, told.facility] },
        {
          status: 200,
          warnings: ['date_of_service', 'provider_id', 'facility_id', 'visit_type'].map(perhapsMissing),
        },
      ]);
    });
    expect(appended).toHaveLength(2);
  });

  test('of one that is sent as void nothing is said but what is doubtful in any', async () => {
    const { encounter } = await claimWithout({ ...future, facility_id: undefined });
    const sent = { ...encounter, voided_at: '2026-03-20', void_reason: phi('Entered twice') };
    expect(await warningsOf(() => service.post(paths.encounter, sent))).toEqual({
      warnings: [{ field: 'date_of_service', message: 'lies in the future' }],
      events: 1,
    });
  });

  test('what a workspace has switched off is not said, soon after it was set', async () => {
    const { encounter } = await claimWithout({ ...future, facility_id: undefined });
    const set = async (choice: string) => {
      const workspace = ['--workspace', service.workspaceId('clinic')];
      const env = { ...storesOf(service.config), DATA_DIR: folder };
      const { code } = await runCli(['readiness', 'set', 'facility_missing', choice, ...workspace], { env });
      expect(code).toBe(0);
    };
    const nowSaid = (expected: object[]) =>
      eventually(async () => {
        const { body } = await service.post(`${paths.encounter}?dry_run=true`, encounter);
        expect(body.warnings).toEqual(expected);
      });
    const appended = await appendedBy(service, async () => {
      await set('off');
      await nowSaid([told.future]);
      await set('default');
      await nowSaid([told.future, told.facility]);
    });
    expect(appended).toEqual(Array(2).fill('clinic.readiness: ReadinessRuleSet'));
  });
});
