import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectDocumented, fetchDocument } from '../support/openapi.ts';
import { phi } from '../support/output.ts';
import {
  type Claim,
  freshClaim,
  inWorkspace,
  readiness,
  readinessPath,
  sendClaim,
  sendLater,
  whenPast,
  worklist,
} from '../support/readiness.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy, newEvents, sharedService, type TestService } from '../support/service.ts';

const DAY_MS = 86_400_000;
const dayIn = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 10);

onEmbeddedEngines(() => {
  let service: TestService;
  beforeAll(async () => {
    service = await sharedService();
  });
  afterAll(() => service.stop());

  const answersPath = (claim: Claim) => `${readinessPath(claim)}/answers`;
  const answer = (claim: Claim, body: object, headers = {}) =>
    service.post(answersPath(claim), body, headers);
  const streamOf = ({ encounter }: Claim) => `clinic.readiness-${encodeURIComponent(String(encounter.id))}`;
  const item = async ({ encounter, payer }: Claim, query = '') =>
    (await worklist(service, `&payer_id=${payer.id}${query}`)).items.find(({ id }) => id === encounter.id);
  const rule = 'facility_tax_id';
  /** A claim that this rule blocks. */
  const blocked = async () => {
    const claim = freshClaim({ facility: { tax_id: undefined } });
    await sendClaim(service, claim);
    return claim;
  };
  const accepted = () => ({ rule, answer: 'accepted', reason: phi('Applied for'), until: dayIn(30) });

  test('what is accepted blocks no longer, until the record at fault changes', async () => {
    const claim = await blocked();
    const other = {
      ...claim,
      encounter: { ...claim.encounter, id: phi('encounter'), date_of_service: '2026-03-12' },
    };
    await sendClaim(service, other, 'encounter');
    const before = await whenPast(new Date().toISOString());
    const given = { ...accepted(), record: { kind: 'facility', id: claim.facility.id }, version: 1 };
    const openapi = await fetchDocument(service);
    const key = { 'idempotency-key': phi('key') };
    const appended = await appendedBy(service, async () => {
      const first = await answer(claim, given, key);
      expectDocumented(openapi, 'answerReadinessFinding', first);
      expect(first).toMatchObject({ status: 200, body: { version: 1, outcome: 'updated' } });
      expect((await answer(claim, given, key)).body).toEqual(first.body);
      expect((await answer(claim, given)).body.outcome).toBe('unchanged');
      await worklist(service);
    });
    expect(appended).toEqual([`${streamOf(claim)}: FindingAnswered`]);
    const { reason, until } = given;
    const [finding] = (await readiness(service, claim)).findings;
    expect(finding).toMatchObject({
      ...{ rule, severity: 'blocks' },
      answers: { accepted: { reason, until, version: 1, principal: { name: 'Test key' } } },
    });
    expect((await readiness(service, claim)).state).toBe('ready');
    expect(await item(claim)).toMatchObject({
      state: 'ready',
      findings: [{ rule, answer: { accepted_until: until } }],
    });
    expect((await readiness(service, claim, `?as_of=${until}T23:59:59Z`)).state).toBe('ready');
    expect((await readiness(service, claim, `?as_of=${dayIn(31)}`)).state).toBe('blocked');
    // It was blocked then, and the other encounter of the facility still is.
    expect((await readiness(service, claim, `?as_of=${before}`)).state).toBe('blocked');
    expect(await item(other)).toMatchObject({ state: 'blocked', findings: [{ answer: null }] });
    const { body: causes } = await service.get(
      `/integration/readiness/causes?facility_id=${claim.facility.id}`,
    );
    expect(causes.items).toMatchObject([{ rule, encounters: 2, blocked: 1 }]);
    await sendLater(service, claim, 'facility', { name: phi('Elm') });
    expect((await readiness(service, claim)).state).toBe('blocked');
    expect(await item(claim)).toMatchObject({ state: 'blocked', findings: [{ answer: null }] });
  });

  test('it can be assigned, noted, snoozed and reopened, and the worklist is narrowed by that', async () => {
    const claim = await blocked();
    const [to, note] = [phi('maria'), phi('Asked the tax office')];
    const isListed = async (query: string) => (await item(claim, query)) !== undefined;
    expect([await isListed('&answered=false'), await isListed('&answered=true')]).toEqual([true, false]);
    const appended = await appendedBy(service, async () => {
      for (const given of [
        { answer: 'assigned', assigned_to: to },
        { answer: 'noted', note },
        { answer: 'snoozed', until: dayIn(1) },
      ]) {
        expect((await answer(claim, { rule, ...given })).body).toMatchObject({ outcome: 'updated' });
        expect((await answer(claim, { rule, ...given })).body).toMatchObject({ outcome: 'unchanged' });
      }
      await worklist(service);
    });
    // None of these changes whether it can be billed.
    expect(appended).toEqual(Array(3).fill(`${streamOf(claim)}: FindingAnswered`));
    expect([await isListed('&answered=false'), await isListed('&answered=true')]).toEqual([false, true]);
    expect(await item(claim, `&assigned_to=${to}&state=blocked`)).toMatchObject({
      findings: [
        { rule, answer: { snoozed_until: dayIn(1), assigned_to: to, is_noted: true, accepted_until: null } },
      ],
    });
    expect((await readiness(service, claim)).findings).toMatchObject([
      { answers: { assigned: { to }, noted: { note, version: 1 }, snoozed: { until: dayIn(1) } } },
    ]);
    for (const given of [{ answer: 'reopened' }, { answer: 'assigned', assigned_to: null }]) {
      expect((await answer(claim, { rule, ...given })).body).toMatchObject({ outcome: 'updated' });
    }
    const { findings } = (await item(claim)) ?? {};
    expect(findings).toMatchObject([{ answer: { snoozed_until: null, assigned_to: null, is_noted: true } }]);
    expect(await isListed(`&assigned_to=${to}`)).toBe(false);
    // A note is about one version of the record.
    await sendLater(service, claim, 'facility', { city: 'Lincoln' });
    expect(await isListed('&answered=false')).toBe(true);
  });

  test('the last day ends in the time zone of the workspace', async () => {
    const claim = await blocked();
    const until = dayIn(10);
    await answer(claim, { ...accepted(), until });
    const next = dayIn(11);
    const statesAt = async (...times: string[]) => {
      const states: string[] = [];
      for (const time of times)
        states.push((await readiness(service, claim, `?as_of=${next}T${time}Z`)).state);
      return states;
    };
    expect(await statesAt('00:00:00', '09:59:59', '10:00:00')).toEqual(['blocked', 'blocked', 'blocked']);
    // Nobody sets clocks there.
    expect(await inWorkspace(service, 'readiness', 'set-time-zone', 'Pacific/Honolulu')).toMatchObject({
      code: 0,
    });
    expect(await statesAt('00:00:00', '09:59:59', '10:00:00')).toEqual(['ready', 'ready', 'blocked']);
    expect(await item(claim)).toMatchObject({ findings: [{ answer: { accepted_until: until } }] });
    expect(await inWorkspace(service, 'readiness', 'set-time-zone', 'none')).toMatchObject({ code: 0 });
  });

  test('it is the same when the worklist is built again, and erased with the encounter', async () => {
    const claim = await blocked();
    await answer(claim, accepted());
    const before = await item(claim);
    expect(before?.state).toBe('ready');
    expect(await inWorkspace(service, 'readiness', 'set', 'gender_missing', 'off')).toMatchObject({
      code: 0,
    });
    expect(await item(claim)).toEqual(before);
    const erase = [
      'records',
      'erase',
      'encounter',
      String(claim.encounter.id),
      '--reason',
      'Request 2026-117',
    ];
    expect(await inWorkspace(service, ...erase)).toMatchObject({ code: 0 });
    await sendClaim(service, claim, 'encounter');
    expect((await readiness(service, claim)).findings).toMatchObject([{ rule, answers: {} }]);
  });

  test('the command answers several encounters, each by an event', async () => {
    const claims = [await blocked(), await blocked()];
    const ids = claims.map(({ encounter }) => String(encounter.id));
    const events = await newEvents(service, async () => {
      const given = ['accepted', ...ids, '--reason', phi('Known'), '--until', dayIn(2)];
      const { code, stdout } = await inWorkspace(service, 'readiness', 'answer', rule, ...given);
      expect([code, stdout.trim().split('\n')]).toEqual([
        0,
        ids.map((id) => `Rule ${rule} in encounter ${id}: accepted.`),
      ]);
      await worklist(service);
    });
    const answered = events.filter(({ type }) => type === 'FindingAnswered');
    expect(answered.map(({ metadata }) => metadata.principal.type)).toEqual(['operator', 'operator']);
    for (const claim of claims) expect((await item(claim))?.state).toBe('ready');
    const none = await inWorkspace(service, 'readiness', 'answer', rule, 'snoozed', ...ids);
    expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining('until') });
  });

  test('a cause is answered in parts, once, and not for what comes later', async () => {
    const claim = await blocked();
    const others = [2, 3, 4].map((day) => ({
      ...claim,
      encounter: { ...claim.encounter, id: phi('encounter'), date_of_service: `2026-03-0${day}` },
    }));
    for (const one of others) await sendClaim(service, one, 'encounter');
    const elsewhere = await blocked();
    await worklist(service);
    const path = '/integration/readiness/causes/answers';
    const given = { ...accepted(), record: { kind: 'facility', id: claim.facility.id }, version: 1 };
    const openapi = await fetchDocument(service);
    const all = async () => {
      const sums = { updated: 0, unchanged: 0, gone: 0, parts: 0 };
      for (let page_token: string | undefined | null; page_token !== null; ) {
        const part = await service.post(path, { ...given, limit: 3, ...(page_token && { page_token }) });
        expect(part.status).toBe(200);
        expectDocumented(openapi, 'answerReadinessCause', part);
        for (const name of ['updated', 'unchanged', 'gone'] as const) sums[name] += part.body[name];
        sums.parts += 1;
        page_token = part.body.next_page_token;
      }
      return sums;
    };
    const events = await newEvents(service, async () => {
      const { parts, ...sums } = await all();
      expect(sums).toEqual({ updated: 4, unchanged: 0, gone: 0 });
      expect(parts).toBeGreaterThan(1);
      expect(await all()).toMatchObject({ updated: 0, unchanged: 4, gone: 0 });
      await worklist(service);
    });
    const answered = events.filter(({ type }) => type === 'FindingAnswered');
    expect(answered.map(({ data }) => data.encounter_id).toSorted()).toEqual(
      [claim, ...others].map(({ encounter }) => encounter.id).toSorted(),
    );
    expect(new Set(answered.map(({ id }) => id)).size).toBe(4);
    expect(answered[0]?.metadata.requestId).toBe(answered[1]?.metadata.requestId);
    for (const one of [claim, ...others]) expect((await item(one))?.state).toBe('ready');
    const later = {
      ...claim,
      encounter: { ...claim.encounter, id: phi('encounter'), date_of_service: '2026-03-09' },
    };
    await sendClaim(service, later, 'encounter');
    expect((await item(later))?.state).toBe('blocked');
    expect((await item(elsewhere))?.state).toBe('blocked');
    const command = ['answer', rule, 'assigned', '--all', '--record', `facility/${claim.facility.id}`];
    const { code, stdout } = await inWorkspace(service, 'readiness', ...command, '--to', 'maria');
    expect([code, stdout]).toEqual([0, `Rule ${rule}: assigned in 5 encounters, 0 unchanged, 0 gone.\n`]);
    const refused: [object, number, string[]][] = [
      [{ ...given, record: undefined }, 400, ['record']],
      [{ ...given, limit: 501 }, 400, ['limit']],
      [{ ...given, page_token: 'x' }, 400, ['page_token']],
      [{ ...given, until: dayIn(-2) }, 400, ['until']],
      [{ ...given, note: 'Too much' }, 400, ['note']],
      [{ ...given, version: 2 }, 412, []],
    ];
    const appended = await appendedBy(service, async () => {
      for (const [body, status, fields] of refused) {
        const response = await service.post(path, body);
        const named = (response.body.details ?? []).map(({ field }: { field: string }) => field);
        expect([response.status, named]).toEqual([status, fields]);
        expectDocumented(openapi, 'answerReadinessCause', response);
      }
    });
    expect(appended.filter((line) => !line.startsWith('access: '))).toEqual([]);
  });

  test('what nothing is wrong with, or is not said in full, is refused', async () => {
    const claim = await blocked();
    const both = freshClaim({
      patient: { address_line_1: undefined },
      facility: { address_line_1: undefined },
    });
    await sendClaim(service, both);
    const record = { kind: 'facility', id: 'other' };
    const refused: [Claim, object, number, string[]][] = [
      [claim, { ...accepted(), rule: 'provider_npi' }, 409, []],
      [claim, { ...accepted(), record }, 409, []],
      [claim, { ...accepted(), version: 2 }, 412, []],
      [claim, { ...accepted(), until: undefined }, 400, ['until']],
      [claim, { ...accepted(), reason: ' ' }, 400, ['reason']],
      [claim, { ...accepted(), note: 'Too much' }, 400, ['note']],
      [claim, { ...accepted(), until: dayIn(-2) }, 400, ['until']],
      [claim, { ...accepted(), until: '2026-02-30' }, 400, ['until']],
      [claim, { ...accepted(), answer: 'done' }, 400, ['answer']],
      [claim, { ...accepted(), severity: 'off' }, 400, ['severity']],
      [claim, { rule, answer: 'assigned' }, 400, ['assigned_to']],
      [both, { ...accepted(), rule: 'address_incomplete' }, 400, ['record']],
      [freshClaim(), accepted(), 404, []],
    ];
    const openapi = await fetchDocument(service);
    const appended = await appendedBy(service, async () => {
      for (const [about, body, status, fields] of refused) {
        const response = await answer(about, body);
        expect([
          response.status,
          (response.body.details ?? []).map(({ field }: { field: string }) => field),
        ]).toEqual([status, fields]);
        expectDocumented(openapi, 'answerReadinessFinding', response);
      }
      const reader = service.as((await service.createKey('clinic', ['read'])).key);
      expect((await reader.post(answersPath(claim), accepted())).status).toBe(403);
    });
    expect(appended.filter((line) => !line.startsWith('access: '))).toEqual([]);
  });
});
