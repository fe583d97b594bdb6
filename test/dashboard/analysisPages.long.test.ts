import { afterAll, beforeAll, expect, test } from 'vitest';
import { simulationTable } from '../../src/modules/readiness/jobs.ts';
import type { Scorecard } from '../../src/modules/readiness/scorecard.ts';
import { openSimulation } from '../../src/modules/readiness/simulation.ts';
import { openReadModels, openStateStore } from '../../src/server/openStorage.ts';

import { sendBatch } from '../support/client.ts';
import { type BrowserlessSession, signedIn } from '../support/dashboard.ts';
import { eventually } from '../support/eventually.ts';
import { phi } from '../support/output.ts';
import {
  billedPath,
  type Claim,
  freshClaim,
  inWorkspace,
  sendClaim,
  worklist,
} from '../support/readiness.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { accessesBy, appendedBy, changesBy, type TestService } from '../support/service.ts';

const MANY = 520;

onEmbeddedEngines((start) => {
  let service: TestService;
  let visitor: BrowserlessSession;
  let root: string;
  let keys: { emr: string; billing: string };
  /** Two encounters rest on the payer. */
  const claim: Claim = freshClaim({ payer: { payer_code: undefined } });
  const second = { ...claim.encounter, id: phi('encounter') };
  const placeless = { ...claim.encounter, id: phi('encounter'), facility_id: undefined };
  const draft = { ...placeless, id: phi('encounter'), is_completed: false };
  const voided = { ...placeless, id: phi('encounter'), voided_at: '2026-03-20' };

  beforeAll(async () => {
    service = await start();
    root = `/workspaces/${service.workspaceId('clinic')}`;
    ({ visitor } = await signedIn(service, 'compliance'));
    const [emr, office] = [await service.createKey('clinic'), await service.createKey('clinic')];
    const billing = service.as(office.key);
    keys = { emr: emr.id, billing: office.id };
    await sendClaim(service.as(emr.key), claim);
    for (const one of [second, placeless, draft, voided]) {
      expect((await service.as(emr.key).post('/integration/encounters', one)).status).toBe(200);
    }
    // Two encounters of one visit only warn here, also once one is billed.
    await inWorkspace(service, 'readiness', 'set', 'duplicate_of_billed', 'off');
    // That what was billed is mended later is no defect.
    expect((await billing.post(billedPath(claim), { claim_id: phi('claim') })).status).toBe(200);
    // The key of billing mends what the EMR sent, and clears a number by itself.
    await sendClaim(billing, { ...claim, payer: { ...claim.payer, payer_code: '60054' } }, 'payer');
    await sendClaim(billing, { ...claim, facility: { ...claim.facility, tax_id: null } }, 'facility');
    await worklist(service);
  });
  afterAll(() => service.stop());

  const show = async (path: string) => {
    const { status, text } = await visitor.get(root + path);
    expect([path, status]).toEqual([path, 200]);
    return text;
  };
  const send = async (path: string, form: Record<string, string>) => {
    await show(path);
    return visitor.post(root + path, form);
  };
  /** The page once the run has ended. */
  const ended = async (path: string) => {
    await eventually(async () => expect((await visitor.get(`${root}${path}/state`)).text).toContain('ended'));
    return show(path);
  };

  test('the scorecard tells by key and field what came in, and how many encounters it delayed', async () => {
    const path = '/readiness/scorecard';
    expect(await show(path)).not.toContain('Export as CSV');
    expect((await visitor.get(`${root}${path}/export`)).status).toBe(404);
    const accesses = await accessesBy(service, async () => {
      expect(await appendedBy(service, () => send(path, { from: '2020-01-01' }))).toEqual([]);
    });
    expect(accesses).toMatchObject([{ action: 'readiness.scorecard', query: { from: '2020-01-01' } }]);
    const page = await ended(path);
    expect(page).toContain('Payer: Payer code');
    const { stdout } = await inWorkspace(service, 'readiness', 'scorecard', '--format', 'json');
    const card = JSON.parse(stdout) as Scorecard;
    const told = card.rows.map(({ principal, kind, field, rules, defects, open, encounters_delayed }) => ({
      row: [principal.id, `${kind}.${field}`, ...rules].join(' '),
      ...{ defects, open, encounters_delayed },
    }));
    expect(card).toMatchObject({ encounters: 5, unreadable: 0 });
    expect(told).toEqual(
      expect.arrayContaining([
        {
          row: `${keys.emr} payer.payer_code payer_code_missing`,
          defects: 1,
          open: 0,
          encounters_delayed: 3,
        },
        {
          row: `${keys.emr} encounter.facility_id facility_missing`,
          defects: 1,
          open: 1,
          encounters_delayed: 1,
        },
        {
          row: `${keys.billing} facility.tax_id facility_tax_id`,
          defects: 1,
          open: 1,
          encounters_delayed: 2,
        },
        // Two of one visit, and the draft beside the one that is completed.
        {
          row: `${keys.emr} encounter.date_of_service suspected_duplicate`,
          defects: 3,
          open: 3,
          encounters_delayed: 0,
        },
      ]),
    );
    expect(told).toHaveLength(4);
    const mended = card.rows.find(({ field }) => field === 'payer_code');
    expect(mended?.median_ms).toBeGreaterThan(0);
    const csv = (await inWorkspace(service, 'readiness', 'scorecard', '--format', 'csv')).stdout;
    expect((await visitor.get(`${root}${path}/export`)).text).toBe(csv);
    expect(csv.split('\r\n')).toHaveLength(told.length + 2);
    expect((await inWorkspace(service, 'readiness', 'scorecard', '--until', '2000-01-01')).stdout).toBe(
      '0 encounters.\n',
    );
  });

  test('a day that is none is refused, and nothing begins', async () => {
    for (const path of ['/readiness/scorecard', '/readiness/simulation']) {
      const before = await show(path);
      const accesses = await accessesBy(service, async () => {
        const { status, text } = await send(path, { from: 'May', 'rules.facility_tax_id': 'off' });
        expect(status).toBe(400);
        expect(text).toContain('id="from-error"');
      });
      expect(accesses.filter(({ action }) => action !== 'record.list')).toEqual([]);
      expect((await show(path)).includes('Started')).toBe(before.includes('Started'));
    }
  });

  test('settings are tried on the page as by the command', async () => {
    const lines = Array.from({ length: MANY }, () => ({
      kind: 'encounter',
      record: { ...claim.encounter, id: phi('encounter') },
    }));
    expect((await sendBatch(service, lines)).status).toBe(200);
    await worklist(service);
    const path = '/readiness/simulation';
    const none = await send(path, {});
    expect(none.status).toBe(400);
    expect(none.text).toContain('Choose at least one setting that differs');
    expect((await send(path, { 'rules.facility_tax_id': 'off' })).status).toBe(303);
    let page = '';
    const accesses = await accessesBy(service, async () => {
      expect(await appendedBy(service, async () => (page = await ended(path)))).toEqual([]);
    });
    expect(page).toContain(
      `Of ${MANY + 5} encounters, <strong>${MANY + 2}</strong> would be in a different state`,
    );
    expect(page).toContain(`title="${String(claim.payer.id)}"><bdi>${claim.payer.name}</bdi></a>`);
    expect(page).toContain(`The first 200 of ${MANY + 2}.`);
    expect(page).toMatch(
      new RegExp(
        `<bdi>${claim.patient.first_name} [^<]+, [^<]+</bdi></a> <small[^>]*><bdi>${second.id}</bdi></small></th><td[^>]*>Blocked</td><td[^>]*>Ready`,
      ),
    );
    const [, again = ''] = /href="\/dashboard([^"]+)">Change and try again/.exec(page) ?? [];
    const filled = await visitor.get(again.replaceAll('&amp;', '&').replace('#settings', ''));
    expect(filled.text).toMatch(/name="rules.facility_tax_id"[^>]*>.*?<option value="off" selected>/s);
    expect(page).not.toContain('Apply these settings');
    expect(accesses).toMatchObject([
      { action: 'readiness.simulation', shown: { count: MANY + 5, things: { length: 200 } } },
      { action: 'record.list', kind: 'encounter' },
      { action: 'record.list', kind: 'payer' },
      { action: 'record.list', kind: 'patient' },
      { action: 'record.list', kind: 'payer' },
    ]);
    expect((await worklist(service)).counts.states).toMatchObject({ blocked: MANY + 3 });
  });

  test('a simulation that was broken off goes on where it was', async () => {
    const workspace = service.workspaceId('clinic');
    const readModels = await openReadModels(service.config.readModelUrl);
    const stateStore = await openStateStore(service.config.stateUrl);
    const candidates = { rules: { facility_tax_id: 'warns' as const } };
    const simulation = await openSimulation(
      { eventLog: service.eventLog, readModels },
      { workspace, candidates },
    );
    const [first, last] = await Array.fromAsync(simulation.results(undefined));
    if (first === undefined) throw new Error('nothing was found');
    const long = new Date(Date.now() - 60_000).toISOString();
    const [row] = await stateStore.load(simulationTable, [workspace]);
    const body = {
      ...{ workspace, asked_by: { type: 'user' as const, id: 'usr_1' }, started_at: long, updated_at: long },
      ...{
        candidates,
        days: {},
        total: simulation.total,
        found: { question: simulation.question, result: first },
      },
    };
    const revision = (row?.revision ?? 0) + 1;
    await stateStore.swap(
      simulationTable,
      { id: workspace, partition: workspace, order: 0, revision, body },
      row?.revision,
    );
    const path = '/readiness/simulation';
    expect(await show(path)).toContain('Interrupted');
    expect((await send(path, { go_on: 'yes' })).status).toBe(303);
    expect(await ended(path)).toContain(`<strong>${last?.flips['blocked ready']}</strong>`);
    const [done] = await stateStore.load(simulationTable, [workspace]);
    expect(done?.body).toMatchObject({ outcome: 'done', found: { result: last } });
    await Promise.all([readModels.close(), stateStore.close()]);
  });

  test('administrators put in force what was simulated, and only that', async () => {
    const path = '/readiness/simulation';
    const { visitor: admin } = await signedIn(service, 'admin');
    const { text } = await admin.get(root + path);
    const [, started_at = ''] = /name="started_at" value="([^"]+)"/.exec(text) ?? [];
    const apply = (from: BrowserlessSession, form: Record<string, string>) =>
      from.post(`${root}${path}/apply`, form);
    const refused = await changesBy(service, async () => {
      expect((await apply(visitor, { started_at })).status).toBe(403);
      const stale = await apply(admin, { started_at: '2026-03-14T00:00:00.000Z' });
      expect([stale.status, stale.text.includes('Other settings were simulated since.')]).toEqual([
        409,
        true,
      ]);
    });
    expect(refused).toEqual([]);
    const changes = await changesBy(service, async () => {
      for (const _ of ['once', 'again']) expect((await apply(admin, { started_at })).status).toBe(303);
    });
    expect(changes).toMatchObject([
      { type: 'ReadinessRuleSet', data: { rule: 'facility_tax_id', choice: 'warns' } },
    ]);
    expect((await worklist(service)).counts.states).toMatchObject({ blocked: 1 });
  });

  test('settings of each kind are put in force as they were tried', async () => {
    const { visitor: admin } = await signedIn(service, 'admin');
    const path = '/readiness/simulation';
    const payer = String(claim.payer.id);
    const letter = {
      payer: { code: '60054' },
      field: 'patient.primary_insurance.policy_number',
      must: { pattern: 'M\\d{9}' },
      ...{ severity: 'warns', text: 'Member IDs have an M and nine digits.' },
    };
    const text = 'Payer ID 60054: Member IDs have an M and nine digits';
    const tried = {
      ...{ 'rules.facility_tax_id': 'default', 'filing_limits.default': '1y' },
      ...{ payer_id: payer, payer_limit: '90d', visit_type: 'surgical', category: 'consent_form' },
      ...{ rule_id: 'letter', rule_payer_code: '60054', rule_severity: 'warns', rule_text: letter.text },
      ...{ rule_field: letter.field, rule_must: 'pattern', rule_value: letter.must.pattern },
      ...{ when_field: 'patient.gender', when_must: 'one_of', when_value: 'female, other' },
    };
    const rule = { ...letter, when: [{ field: 'patient.gender', must: { one_of: ['female', 'other'] } }] };
    await admin.get(root + path);
    const json = (sent: object) => ({ payer_rules: JSON.stringify(sent) });
    for (const [wrong, field, why] of [
      [{ payer_rules: '{' }, 'payer_rules', 'Must be a JSON object'],
      [json([]), 'payer_rules', 'Must be a JSON object'],
      [
        json({ other: { ...letter, must: { pattern: '(a+)+' } } }),
        'payer_rules',
        'Other, must, pattern must be',
      ],
      [{ rule_id: '' }, 'rule_id', 'Is required'],
      [{ rule_id: 'Letter' }, 'rule_id', 'Must be lower-case letters'],
      [{ rule_value: '(a+)+' }, 'rule_value', 'Must be a pattern'],
      [{ rule_field: '' }, 'rule_field', 'Is required'],
      [{ rule_text: '' }, 'rule_text', 'Is required'],
      [{ when_value: 'none' }, 'when_value', 'Must have values of the field'],
    ] as const) {
      const refused = await admin.post(root + path, { ...tried, ...wrong });
      const [, shown = ''] = new RegExp(`id="${field}-error">([^<]+)<`).exec(refused.text) ?? [];
      expect([refused.status, field, shown]).toEqual([400, field, expect.stringContaining(why)]);
    }
    expect((await admin.post(root + path, tried)).status).toBe(303);
    const page = await ended(path);
    const [, again = ''] = /href="\/dashboard([^"]+)">Change and try again/.exec(page) ?? [];
    const query = new URL(again.replaceAll('&amp;', '&'), service.url).searchParams;
    expect(Object.fromEntries(query)).toEqual(tried);
    expect(page).toContain(`<code dir="auto">letter</code>: ${text} (warns)`);
    expect(page).toMatch(new RegExp(`>${text}</span></th><td[^>]*>[1-9]`));
    const [, started_at = ''] =
      /name="started_at" value="([^"]+)"/.exec((await admin.get(root + path)).text) ?? [];
    const changes = await changesBy(service, () => admin.post(`${root}${path}/apply`, { started_at }));
    expect(changes.map(({ type, data }) => [type, data])).toEqual([
      ['PayerRulesSet', { rules: { letter: rule } }],
      ['FilingLimitSet', { payer_id: payer, limit: 'P90D' }],
      ['FilingLimitSet', { limit: 'P1Y' }],
      ['ReadinessRuleSet', { rule: 'facility_tax_id', choice: 'default' }],
      ['RequiredDocumentSet', { visit_type: 'surgical', category: 'consent_form', required: true }],
    ]);
    const second = await admin.post(root + path, { 'payer_rule.letter': 'removed' });
    expect(second.status).toBe(303);
    const removal = await ended(path);
    expect(removal).toContain('<code dir="auto">letter</code>: removed');
    expect(removal).toContain('payer_rule.letter=removed');
    // An address that servers and proxies refuse leads nowhere.
    const many = Array.from({ length: 200 }, (_, at) => `M${String(at).padStart(90, '0')}`).join(',');
    const long = { ...tried, rule_must: 'one_of', rule_value: many };
    expect((await admin.post(root + path, long)).status).toBe(303);
    const [, short = ''] = /href="\/dashboard([^"]+)">Change and try again/.exec(await ended(path)) ?? [];
    expect(short).toContain('payer_limit=90d');
    expect(short.length).toBeLessThan(4_000);
    await worklist(service);
    const list = await show('/readiness?state=any&rule=payer.letter');
    expect(list).toContain(`<option value="payer.letter" selected>${text}</option>`);
    expect(list).toContain(`>${text}</a>`);
  });
});
