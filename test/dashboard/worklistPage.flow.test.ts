import { afterAll, beforeAll, expect, test } from 'vitest';
import { progressNote } from '../../src/dashboard/pages/readiness/worklist.ts';
import type { DisclosedRange } from '../../src/domain/events/payloads.ts';
import { UserDirectory } from '../../src/modules/auth/users.ts';
import { sendBatch } from '../support/client.ts';
import { type BrowserlessSession, signedIn } from '../support/dashboard.ts';
import { eventually } from '../support/eventually.ts';
import { phi } from '../support/output.ts';
import {
  billedPath,
  type Claim,
  countDays,
  freshClaim,
  inWorkspace,
  sendClaim,
  worklist,
} from '../support/readiness.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { accessesBy, appendedBy, changesBy, type TestService } from '../support/service.ts';

const A_PAGE = 50;
/** More than a part of an export has, and than the page of a record looks at. */
const MANY = 201;
const month = new Date().toISOString().slice(0, 7);

/** A day of some year, as charts name it. */
const inWords = (day: string, parts: Intl.DateTimeFormatOptions) =>
  new Date(day).toLocaleDateString('en-US', { timeZone: 'UTC', year: 'numeric', ...parts });

onEmbeddedEngines((start) => {
  let service: TestService;
  let visitor: BrowserlessSession;
  let root: string;
  let userId: string;
  /** Of these, one lacks a policy number, one is ready, one lacks the payer's code, and has a ZIP code of another state. */
  const [unnumbered, billable, uncoded] = [
    freshClaim({ encounter: { date_of_service: `${month}-01` } }),
    freshClaim(),
    freshClaim({ payer: { payer_code: undefined }, patient: { zip_code: '10001' } }),
  ] as [Claim, Claim, Claim];
  const numbered = unnumbered.patient.primary_insurance as Record<string, unknown>;
  unnumbered.patient.primary_insurance = {
    ...numbered,
    ...{ policy_number: undefined, effective_date: undefined, termination_date: undefined },
  };
  beforeAll(async () => {
    service = await start();
    root = `/workspaces/${service.workspaceId('clinic')}`;
    ({ visitor, id: userId } = await signedIn(service, 'compliance'));
    // What is there before the worklist is begun is not announced.
    await worklist(service);
    for (const claim of [unnumbered, billable, uncoded]) await sendClaim(service, claim);
    await worklist(service);
  });
  afterAll(() => service.stop());

  const show = async (path: string) => {
    const { status, text } = await visitor.get(root + path);
    expect([path, status]).toEqual([path, 200]);
    return text;
  };
  /** The encounters of a page, in their order. */
  const listed = (page: string) =>
    [...page.matchAll(/<th scope="row"[^>]*><a href="[^"]+\/encounters\/([^"/]+)"[^>]*>/g)].map(([, id]) =>
      decodeURIComponent(id ?? ''),
    );
  const idsOf = (...claims: Claim[]) => claims.map(({ encounter }) => encounter.id);
  /** Links by what they say, below the workspace. */
  const links = (page: string, part: RegExp) =>
    Object.fromEntries(
      [
        ...(part.exec(page)?.[0] ?? '').matchAll(
          /<a href="\/dashboard([^"]+)"[^>]*>([^<]+?) ?<strong>([\d,]+)/g,
        ),
      ].map(([, href = '', name, count]) => [
        `${name}: ${count}`,
        href.replaceAll('&amp;', '&').replace(root, ''),
      ]),
    );
  const tabs = (page: string) => links(page, /<nav class="tabs" aria-label="States">.*?<\/nav>/s);
  /** What the first column of counts leads to, by the defects and their counts. */
  const defects = (page: string) =>
    Object.fromEntries(
      [
        ...page.matchAll(
          /<th scope="row">([^<]+)<\/th><td data-title="All" class="number"><strong><a href="\/dashboard([^"]+)">([\d,]+)</g,
        ),
      ].map(([, name, href = '', count]) => [
        `${name}: ${count}`,
        href.replaceAll('&amp;', '&').replace(root, ''),
      ]),
    );
  const recordPath = (plural: string, { id }: Record<string, unknown>) =>
    `/records/${plural}/${encodeURIComponent(String(id))}`;

  test('shows what is blocked, with names, and where the fault is', async () => {
    // Whose write it was is known once the change is announced in the log, which is soon after the worklist has it.
    const by = '<small class="muted"><bdi>Test key</bdi></small>';
    await eventually(async () => expect(await show('/readiness')).toContain(by));
    let page = '';
    const accesses = await accessesBy(service, async () => {
      expect(await appendedBy(service, async () => (page = await show('/readiness')))).toEqual([]);
    });
    expect(listed(page)).toEqual(idsOf(unnumbered, uncoded));
    expect(page).toContain(`${String(unnumbered.patient.first_name)} `);
    expect(page).toContain(
      `href="/dashboard${root}${recordPath('patients', unnumbered.patient)}" title="No member ID. Patient: Primary insurance, policy number">No member ID</a>`,
    );
    expect(page).toMatch(/warns<\/span> <a [^>]+>ZIP code of another state<\/a>/);
    expect(page).toContain(by);
    expect(page).toMatch(
      new RegExp(
        `<pre id="for-others"[^>]*>[^<]*No member ID: Patient [^<]*${unnumbered.patient.id}[^<]*Encounter ${unnumbered.encounter.id} of `,
      ),
    );
    expect(tabs(page)).toEqual({
      'Blocked: 2': '/readiness?state=blocked',
      'Ready: 1': '/readiness?state=ready',
      'Self-pay: 0': '/readiness?state=self_pay',
      'Rejected: 0': '/readiness?state=rejected',
      'Not completed: 0': '/readiness?state=not_completed',
      'Void: 0': '/readiness?state=voided',
      'All: 3': '/readiness?state=any',
    });
    expect(accesses).toContainEqual({
      ...{ action: 'record.readiness', kind: 'encounter', query: { limit: A_PAGE, state: 'blocked' } },
      shown: {
        ...{ ranges: [], count: 2 },
        things: expect.arrayContaining([{ kind: 'encounter', record_id: unnumbered.encounter.id }]),
      },
    });
    const named = accesses.filter(({ action }) => action === 'record.list').map(({ kind }) => kind);
    expect([...new Set(named)].toSorted()).toEqual(['facility', 'patient', 'payer', 'provider']);
  });

  test('its states, rules and months lead to what they count', async () => {
    const page = await show('/readiness');
    expect(defects(page)).toMatchObject({
      'No member ID: 1': '/readiness?state=blocked&rule=policy_number_missing&by=payer#list',
    });
    const follow = async (path = '') => listed(await show(path));
    expect(await follow(defects(page)['No member ID: 1'])).toEqual(idsOf(unnumbered));
    const byProvider = await show('/readiness?by=provider');
    expect(byProvider).toContain(
      `>${unnumbered.provider.first_name} ${unnumbered.provider.last_name}</bdi></th>`,
    );
    expect(await follow(tabs(page)['Ready: 1'])).toEqual(idsOf(billable));
    expect(await follow(tabs(page)['All: 3'])).toEqual(idsOf(unnumbered, billable, uncoded));
    const bar = `href="/dashboard${root}([^"]+)" aria-label="${inWords(`${month}-01`, { month: 'short' })}: 1"`;
    const [, path = ''] = new RegExp(bar).exec(page) ?? [];
    expect(await follow(path.replaceAll('&amp;', '&'))).toEqual(idsOf(unnumbered));
  });

  test('is narrowed by a form whose state stands in the address', async () => {
    const [payer, facility] = [String(uncoded.payer.id), String(uncoded.facility.id)];
    const ofPayer = await show(`/readiness?state=any&payer_id=${encodeURIComponent(payer)}`);
    expect(listed(ofPayer)).toEqual(idsOf(uncoded));
    expect(ofPayer).toContain('<option value="any" selected>');
    expect(Object.keys(tabs(ofPayer))).toContain('Blocked: 1');
    for (const page of [
      ofPayer,
      await show('/readiness?answered=false'),
      await show('/readiness?owner=practice'),
    ])
      expect(page).not.toContain('By month of service');
    const query = new URLSearchParams({ payer_id: payer, facility_id: facility, from: '2026-03-01' });
    const several = await show(`/readiness?${query}`);
    expect(listed(several)).toEqual(idsOf(uncoded));
    expect(defects(several)).toMatchObject({ 'No payer ID: 1': expect.stringContaining('from=2026-03-01') });
    const none = await show('/readiness?rule=clia_number&state=ready&to=2020-01-01');
    expect(none).toContain('No encounters match.');
    for (const bad of ['from=yesterday', 'rule=none', 'state=done', 'page_token=x', 'payer_id=no']) {
      const { status, text } = await visitor.get(`${root}/readiness?${bad}`);
      expect([bad, status, listed(text)]).toEqual([bad, 400, []]);
    }
  });

  test('says that nothing matches where nothing does, not that all is well', async () => {
    for (const empty of ['to=2020-01-01', 'state=blocked&from=2020-01-01&to=2020-01-01']) {
      const text = await show(`/readiness?${empty}`);
      expect(text).toContain('No encounters match.');
      expect(text).not.toContain('All rules are met.');
      expect(text).not.toContain('Nothing blocks');
    }
    const ofBillable = await show(`/readiness?payer_id=${encodeURIComponent(String(billable.payer.id))}`);
    expect(ofBillable).toContain('No defects block encounters.');
    expect(ofBillable).toContain('Nothing blocks the billing of these encounters.');
    const accesses = await accessesBy(service, async () => {
      for (const kind of ['payer', 'facility', 'provider']) {
        const refused = await service.get(`/integration/readiness?${kind}_id=nobody`);
        expect(refused.status).toBe(400);
        expect(refused.body.details).toEqual([
          { field: `${kind}_id`, message: `must be the id of an existing ${kind}` },
        ]);
        const page = await visitor.get(`${root}/readiness?${kind}_id=nobody`);
        expect([page.status, page.text.includes(`must be the id of an existing ${kind}`)]).toEqual([
          400,
          true,
        ]);
        expect((await visitor.get(`${root}/readiness/export?${kind}_id=nobody`)).status).toBe(400);
      }
    });
    expect(accesses.filter(({ action }) => action === 'record.readiness')).toEqual([]);
  });

  test('is exported as it is narrowed, a line for each finding', async () => {
    let text = '';
    let type: unknown;
    const accesses = await accessesBy(service, async () => {
      const answer = await visitor.get(`${root}/readiness/export?state=any&rule=payer_code_missing`);
      ({ text } = answer);
      type = answer.headers['content-type'];
    });
    expect(type).toBe('text/csv; charset=utf-8');
    const { encounter, patient, payer, facility, provider } = uncoded;
    const own = [encounter.id, 'blocked', encounter.date_of_service];
    const person = (one: Record<string, unknown>) => `${one.first_name} ${one.last_name}`;
    const referred = [
      ...[patient.id, person(patient), payer.id, payer.name],
      ...[facility.id, facility.name, provider.id, person(provider)],
    ];
    const line = (...cells: unknown[]) => [...own, ...referred, ...cells].join();
    const [header, ...lines] = text.split('\r\n');
    expect(header).toBe(
      'encounter_id,state,date_of_service,patient_id,patient_name,payer_id,payer_name,facility_id,facility_name,provider_id,provider_name,defect,rule,severity,record_kind,record_id,field,billed_at,claim_id,filing_last_day',
    );
    expect(lines).toEqual([
      line('No payer ID', 'payer_code_missing', 'blocks', 'payer', payer.id, 'payer_code', '', '', ''),
      line(
        'ZIP code of another state',
        'zip_of_other_state',
        'warns',
        'patient',
        patient.id,
        'state',
        '',
        '',
        '',
      ),
      '',
    ]);
    expect(accesses[0]).toMatchObject({
      action: 'readiness.export',
      query: { rule: 'payer_code_missing', format: 'csv' },
      shown: { count: 1 },
    });
    expect(
      accesses
        .slice(1)
        .map(({ action, kind }) => [action, kind])
        .sort(),
    ).toEqual(['facility', 'patient', 'payer', 'provider'].map((kind) => ['readiness.export', kind]));
    const exported = async () => (await show('/readiness/export?state=ready')).split('\r\n')[1];
    expect(await exported()).toMatch(new RegExp(`^${billable.encounter.id},ready,.*,,,,,,,,,$`));
    const claim_id = phi('claim');
    const billed = await changesBy(service, () => service.post(billedPath(billable), { claim_id }));
    expect(billed).toMatchObject([{ type: 'EncounterBilled' }]);
    await eventually(async () =>
      expect(await exported()).toMatch(
        new RegExp(`^${billable.encounter.id},ready,.*,,,,,,,${billed[0]?.recordedAt},${claim_id},$`),
      ),
    );
    expect(await show('/readiness?state=ready&billed=true')).toContain('>Billed</span>');
    expect(await show('/readiness?state=ready&billed=false')).not.toContain('>Billed</span>');
  });

  test('the page of a record says what it blocks', async () => {
    const of = (plural: string, record: Record<string, unknown>, what: string) =>
      eventually(async () => {
        const page = await show(recordPath(plural, record));
        const [part = ''] = /<h2>What it blocks<\/h2>.*?(?=<h2|<\/section>)/s.exec(page) ?? [];
        expect(part).toContain(what);
        expect(part).not.toContain('every change yet');
        return part;
      });
    const payer = await of('payers', uncoded.payer, 'Blocks 1 encounter.');
    const path = `/readiness?payer_id=${encodeURIComponent(String(uncoded.payer.id))}`;
    expect(payer).toContain(`href="/dashboard${root}${path}&amp;rule=payer_code_missing"`);
    expect(payer).toContain(`href="/dashboard${root}${path}&amp;state=blocked"`);
    const facility = await of('facilities', uncoded.facility, 'Blocks no encounters.');
    expect(facility).toMatch(/for any reason: 1/);
    await of('providers', uncoded.provider, 'Blocks no encounters.');
    const patient = await of('patients', unnumbered.patient, 'Blocks 1 encounter.');
    expect(patient).toMatch(/patients\/[^/]+\/encounters">No member ID<\/a>: 1 encounter/);
    await of('patients', uncoded.patient, 'Blocks no encounters.');
  });

  test('is shown in pages', async () => {
    const claim = freshClaim({ payer: { payer_code: undefined } });
    await sendClaim(service, claim);
    // All of them are of one visit.
    await inWorkspace(service, 'readiness', 'set', 'suspected_duplicate', 'off');
    const send = async (length: number) => {
      const lines = Array.from({ length }, () => ({
        kind: 'encounter',
        record: { ...claim.encounter, id: phi('encounter') },
      }));
      await sendBatch(service, lines);
      await worklist(service, path.replace('/readiness?', '&'));
      return lines.map(({ record }) => record.id);
    };
    const path = `/readiness?payer_id=${encodeURIComponent(String(claim.payer.id))}`;
    const ids = [claim.encounter.id, ...(await send(A_PAGE))];
    const first = await show(path);
    const [, next = ''] = /<a href="\/dashboard([^"]+)#list" rel="next">Next page/.exec(first) ?? [];
    const second = await show(next.replaceAll('&amp;', '&').replace(root, ''));
    expect(second).not.toContain('rel="next"');
    expect([...listed(first), ...listed(second)]).toEqual(ids);
    expect(listed(first)).toHaveLength(A_PAGE);

    ids.push(...(await send(MANY - ids.length)));
    let exported = '';
    const accesses = await accessesBy(service, async () => {
      exported = await show(path.replace('?', '/export?'));
    });
    const lines = exported.trimEnd().split('\r\n').slice(1);
    expect(lines.map((line) => line.split(',')[0])).toEqual(ids);
    const things = accesses.flatMap(({ shown }) => (shown as unknown as DisclosedRange).things ?? []);
    const seen = things.filter(({ kind }) => kind === 'encounter').map(({ record_id }) => record_id);
    expect(seen).toEqual(ids);
    const payer = await show(recordPath('payers', claim.payer));
    expect(payer).toContain('Of the first 200 encounters that depend on it, it blocks 200.');
    expect(payer).toContain(`for any reason: ${MANY}`);
  });

  test('the audit trail tells exports from what was looked at', async () => {
    await show('/readiness');
    await show('/readiness/export?state=ready');
    const whats = async (query: string) => {
      const trail = await show(`/audit?principal=${userId}${query}`);
      return [...trail.matchAll(/<details class="entry"><summary><span>([^<]+)/g)].map(([, what]) =>
        what?.trim(),
      );
    };
    const [exported, read] = ['Encounter readiness exported', 'Encounter readiness read'];
    const all = await whats('');
    expect([all[0], all.includes(read)]).toEqual([exported, true]);
    const others = await whats('&without_views=yes');
    expect(others[0]).toBe(exported);
    expect(others).not.toContain(read);
  });

  test('shows how it came to this, day by day', async () => {
    const workspace = service.workspaceId('clinic');
    expect(await show('/readiness')).toContain('The trend starts at the end of the first day.');
    await countDays(service, workspace, [7]);
    const yesterday = new Date(Date.now() - 86_400_000).toISOString();
    const day = inWords(yesterday, { month: 'short', day: 'numeric' });
    const chart = (page: string) => /<h2>Day by day.*?<\/section>/s.exec(page)?.[0] ?? '';
    expect(chart(await show('/readiness'))).toContain(`<title>${day}: 7</title>`);
    expect(chart(await show('/readiness?state=any'))).toContain(`<title>${day}: 9</title>`);
    expect(chart(await show('/readiness?rule=facility_tax_id'))).toContain(`<title>${day}: 7</title>`);
    expect(chart(await show(`/readiness?payer_id=${billable.payer.id}`))).toBe('');
  });

  test('void encounters are told from others, and are blocked by nothing', async () => {
    const claim = freshClaim({ payer: { payer_code: undefined }, encounter: { voided_at: '2026-03-20' } });
    await sendClaim(service, claim);
    await worklist(service);
    const page = await show('/readiness?state=voided');
    expect(listed(page)).toEqual(idsOf(claim));
    expect(tabs(page)).toHaveProperty('Void: 1');
    const [, line] = (await show('/readiness/export?state=voided')).split('\r\n');
    expect(line).toMatch(new RegExp(`^${claim.encounter.id},voided,.*,,,,,$`));
    expect(await show('/records?kind=encounters&sort=-updated_at')).toContain('>void</span>');
    expect(await show(recordPath('payers', claim.payer))).toContain('Blocks no encounters.');
  });

  test('a finding is answered from the list and from the page of the encounter', async () => {
    const claim = freshClaim({ payer: { payer_code: undefined }, patient: { zip_code: '10001' } });
    await sendClaim(service, claim);
    await worklist(service);
    const list = `/readiness?state=blocked&payer_id=${encodeURIComponent(String(claim.payer.id))}`;
    const answerLinks = (page: string) =>
      Object.fromEntries(
        [...page.matchAll(/href="\/dashboard([^"]+)" aria-label="Answer: ([^"]+)"/g)].map(
          ([, href = '', defect]) => [defect, href.replaceAll('&amp;', '&').replace(root, '')],
        ),
      );
    const { 'No payer ID': path = '' } = answerLinks(await show(list));
    const accesses = await accessesBy(service, async () => {
      const page = await show(path);
      expect(page).toContain('Answer: No payer ID');
      expect(page).toContain(`>${claim.payer.name}</bdi>`);
    });
    expect(accesses[0]).toMatchObject({ action: 'record.readiness', record_id: claim.encounter.id });
    const send = (to: string, form: Record<string, string>) =>
      visitor.post(root + to, { version: '1', ...form });
    const until = '2999-06-30';
    const reason = phi('Applied for');
    const refused = await changesBy(service, async () => {
      for (const [form, status, said] of [
        [{ answer: 'accepted', until }, 400, 'id="reason-error"'],
        [{ answer: 'accepted', reason, until: '2020-01-01' }, 400, `value="${reason}"`],
        [{ answer: 'snoozed', snoozed_until: 'soon' }, 400, 'id="snoozed_until-error"'],
        [{ answer: 'noted', note: reason, version: '2' }, 412, 'This has changed since the page was opened.'],
      ] as const) {
        const answer = await send(path, form);
        expect([form, answer.status, answer.text.includes(said)]).toEqual([form, status, true]);
      }
    });
    expect(refused).toEqual([]);
    const answered = await changesBy(service, async () => {
      const back = await send(path, { answer: 'accepted', reason, until });
      expect(back.headers.location).toBe(`/dashboard${root}${list}&by=payer#list`);
      await send(path, { answer: 'assigned', assigned_to: 'maria' });
    });
    const payer = { kind: 'payer', id: claim.payer.id, version: 1 };
    const own = { encounter_id: claim.encounter.id, rule: 'payer_code_missing', record: payer };
    expect(answered).toMatchObject([
      { type: 'FindingAnswered', data: { ...own, answer: 'accepted', reason, until } },
      { type: 'FindingAnswered', data: { ...own, answer: 'assigned', assigned_to: 'maria' } },
    ]);
    const ready = await show(list.replace('blocked', 'ready'));
    expect(ready).toMatch(/accepted until Jun 30, 2999<\/span> <span [^>]+>assigned to maria</);
    expect(listed(await show('/readiness?state=any&assigned_to=maria'))).toEqual(idsOf(claim));
    expect(listed(await show(list))).toEqual([]);
    const record = await show(recordPath('encounters', claim.encounter));
    expect(record).toContain(`>accepted</span>`);
    expect(record).toContain(`<bdi>${reason}</bdi>`);
    const fromRecord = answerLinks(record)['No payer ID'] ?? '';
    expect(await show(fromRecord)).toContain('value="reopened"');
    const reopened = await send(fromRecord, { answer: 'reopened' });
    expect(reopened.headers.location).toBe(`/dashboard${root}${recordPath('encounters', claim.encounter)}`);
    expect(listed(await show(list))).toEqual(idsOf(claim));
    const gone = await show(path.replace('payer_code_missing', 'clia_number'));
    expect(gone).toContain('The rule no longer finds anything there.');
  });

  test('a finding is answered in all encounters that have it, and those of other records are not', async () => {
    const claim = freshClaim({ payer: { payer_code: undefined } });
    const other = freshClaim({ payer: { payer_code: undefined } });
    const second = {
      ...claim,
      encounter: { ...claim.encounter, id: phi('second'), date_of_service: '2026-03-12' },
    };
    for (const one of [claim, other]) await sendClaim(service, one);
    await sendClaim(service, second, 'encounter');
    await worklist(service);
    const query = { rule: 'payer_code_missing', kind: 'payer', record_id: String(claim.payer.id) };
    const path = `${recordPath('encounters', claim.encounter)}/readiness/answer?${new URLSearchParams(query)}`;
    expect(await show(path)).toContain('name="all"');
    const answered = await changesBy(service, async () => {
      const form = { version: '1', answer: 'snoozed', snoozed_until: '2999-06-30', all: 'on' };
      expect((await visitor.post(root + path, form)).status).toBe(303);
    });
    const ids = answered.map(({ data }) => data.encounter_id);
    expect(ids.toSorted()).toEqual([claim.encounter.id, second.encounter.id].map(String).toSorted());
    expect(await show('/readiness')).toContain('The finding was snoozed. Encounters: 2.');
  });

  test('fields for people suggest the users of the workspace and its keys, and no others', async () => {
    const [own, other] = [phi('lab'), phi('lab')];
    const workspace = service.workspaceId('clinic');
    await service.keys.createKey(workspace, own, ['read']);
    await service.createKey('south');
    const south = service.workspaceId('south');
    await service.keys.createKey(south, other, ['read']);
    const colleague = await signedIn(service, 'billing', workspace);
    const stranger = await signedIn(service, 'billing', south);
    const users = await UserDirectory.open(service.eventLog);
    const nameOf = ({ id }: { id: string }) => String(users.find(id)?.name);
    users.close();
    const query = { rule: 'payer_code_missing', kind: 'payer', record_id: String(uncoded.payer.id) };
    const answer = `/records/encounters/${uncoded.encounter.id}/readiness/answer?${new URLSearchParams(query)}`;
    for (const [path, field] of [
      ['/readiness', 'assigned_to'],
      [answer, 'assigned_to'],
      [`/records/encounters/${uncoded.encounter.id}/timeline`, 'who'],
    ] as const) {
      const page = await show(path);
      expect(page).toContain(` list="${field}-list"`);
      const list = page.split(`<datalist id="${field}-list">`)[1]?.split('</datalist>')[0];
      expect([path, list]).toEqual([path, expect.stringContaining(nameOf(colleague))]);
      expect(list).not.toContain(nameOf(stranger));
      expect(list?.includes(own)).toBe(field === 'who');
      expect(list).not.toContain(other);
    }
  });

  test('the days up to a filing limit are those of the workspace', async () => {
    // A zone in which it is not the day of UTC.
    const zone = new Date().getUTCHours() < 10 ? 'Pacific/Niue' : 'Pacific/Kiritimati';
    const dayBefore = (days: number) =>
      new Intl.DateTimeFormat('en-CA', { timeZone: zone }).format(Date.now() - days * 86_400_000);
    const [dueToday, past] = [1, 2].map((days) =>
      freshClaim({ payer: { payer_code: undefined }, encounter: { date_of_service: dayBefore(days) } }),
    ) as [Claim, Claim];
    past.encounter = { ...dueToday.encounter, id: phi('encounter'), date_of_service: dayBefore(2) };
    await sendClaim(service, dueToday);
    await sendClaim(service, past, 'encounter');
    const payer = String(dueToday.payer.id);
    await inWorkspace(service, 'readiness', 'set-time-zone', zone);
    await inWorkspace(service, 'readiness', 'set-filing-limit', '1d', '--payer', payer);
    await worklist(service);
    const ofPayer = `/readiness?payer_id=${encodeURIComponent(payer)}`;
    const page = await show(ofPayer);
    const agesIn = (shown: string) =>
      shown.match(/<dt>(Lost|Past).*?<\/dd>/g)?.map((age) => age.replace(/href="[^"]*"/, ''));
    for (const others of ['any', 'ready'])
      expect(agesIn(await show(`${ofPayer}&state=${others}`))).toEqual(agesIn(page));
    for (const [age, claim] of [
      ['Lost this week', dueToday],
      ['Past the filing limit', past],
    ] as const) {
      const [, href = '', count] =
        new RegExp(`<dt>${age}</dt><dd><a href="([^"]+)">(\\d+)</a>`).exec(page) ?? [];
      expect(count).toBe('1');
      const list = await show(href.replaceAll('&amp;', '&').replace(/^.*(?=\/readiness)|#list$/g, ''));
      const encounters = list.split('id="list"')[1]?.match(/records\/encounters\/[\w-]+"/g);
      expect(new Set(encounters)).toEqual(new Set([`records/encounters/${claim.encounter.id}"`]));
    }
  });

  test('each cell of the matrix leads to exactly the encounters that it counts', async () => {
    const insured = Array.from({ length: 7 }, (_, at) => {
      const claim = freshClaim({ payer: { payer_code: undefined } });
      const id = `${claim.payer.id},& ${at}`;
      claim.payer.id = id;
      claim.patient.primary_insurance = { ...(claim.patient.primary_insurance as object), payer_id: id };
      return claim;
    });
    const uninsured = [freshClaim(), freshClaim()];
    for (const { patient } of uninsured) patient.primary_insurance = null;
    for (const claim of [...insured, ...uninsured]) await sendClaim(service, claim);
    await worklist(service);
    // Of a page at most, for the list to have all.
    const cells = (page: string) =>
      [
        ...page.matchAll(
          /<td data-title="([^"]+)" class="number">(?:<strong>)?(?:<a href="\/dashboard([^"]+)#list">)?([\d,]+)</g,
        ),
      ]
        .map(([, column = '', href, count]) => ({
          column,
          path: href?.replaceAll('&amp;', '&').replace(root, ''),
          count: Number(count?.replaceAll(',', '')),
        }))
        .filter(({ count }) => count <= A_PAGE);
    for (const by of ['payer', 'facility', 'provider']) {
      const found = cells(await show(`/readiness?by=${by}`));
      expect(found.map(({ column }) => column)).toContain('Others');
      for (const { path = '', count } of found)
        expect([path, listed(await show(path)).length]).toEqual([path, count]);
    }
    const none = cells(await show('/readiness')).find(({ column }) => column === 'No payer');
    expect(none?.count).toBeGreaterThanOrEqual(2);
    const without = await show(none?.path ?? '');
    expect(listed(without)).toEqual(expect.arrayContaining(idsOf(...uninsured)));
    expect(without).toContain('Only encounters without a payer.');
    // What is narrowed to others counts, and leads, within these.
    const others = cells(await show('/readiness')).find(({ column }) => column === 'Others');
    for (const { path = '', count } of cells(await show(others?.path ?? ''))) {
      expect([path, listed(await show(path)).length]).toEqual([path, count]);
    }
    for (const { path } of cells(await show(String(others?.path).replace('by=payer', 'by=facility'))))
      if (path !== undefined) expect(path).toContain('without=payer');
    expect((await visitor.get(`${root}/readiness?without=payer&besides=%25ZZ`)).status).toBe(200);
    expect((await visitor.get(`${root}/readiness?without=patient`)).status).toBe(400);
  });

  test('the overview says since which day more is blocked', async () => {
    await countDays(service, service.workspaceId('clinic'), [0]);
    const yesterday = new Date(Date.now() - 86_400_000).toISOString();
    const day = inWords(yesterday, { month: 'short', day: 'numeric' });
    expect(await show('')).toMatch(
      new RegExp(`<strong>[\\d,]+</strong> more encounters blocked than at the end of ${day}<`),
    );
  });
});

test('says how far it is where it is not current, and nothing else', () => {
  const payer = { kind: 'payer', id: 'payer-1', done: 1_200, total: 100_000 };
  const others = ['workspace', 'code_set'].map((kind) => ({ ...payer, kind }));
  const underWay = [payer, ...others];
  const note = String(progressNote('clinic', { isCurrent: false, underWay }, '/here'));
  expect(note).toContain('<a href="/dashboard/workspaces/clinic/records/payers/payer-1">payer-1</a>');
  for (const what of ['</a>', 'A change to the rule settings', 'A newly loaded code set']) {
    expect(note).toContain(`${what} is being applied: 1,200 of 100,000 encounters.`);
  }
  expect(note).toContain('<a href="/here">Reload</a>');
  expect(progressNote('clinic', { isCurrent: true, underWay: [] }, '/here')).toBeUndefined();
});
