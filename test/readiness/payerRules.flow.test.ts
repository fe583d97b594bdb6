import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { applySettings } from '../../src/modules/readiness/settings.ts';
import { candidateSettingsSchema } from '../../src/modules/readiness/simulation.ts';
import { temporaryFolder } from '../support/cli.ts';
import type { Client } from '../support/client.ts';
import { expectDocumented, fetchDocument, type OpenApi } from '../support/openapi.ts';
import { freshClaim, inWorkspace, readiness, sendClaim, whenPast, worklist } from '../support/readiness.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy, sharedService, type TestService } from '../support/service.ts';

const PATH = '/integration/readiness/payer-rules';

onEmbeddedEngines(() => {
  let service: TestService;
  let openapi: OpenApi;
  /** May change the rules, which a sender of records may not. */
  let keeper: Client;
  beforeAll(async () => {
    service = await sharedService();
    openapi = await fetchDocument(service);
    keeper = service.as((await service.createKey('clinic', ['settings'])).key);
  });
  afterAll(() => service.stop());

  const send = (
    method: 'PUT' | 'DELETE',
    path: string,
    body?: object,
    headers = {},
    client: Client = keeper,
  ) =>
    client.send(path, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      ...(body && { body: JSON.stringify(body) }),
    });
  const listed = async () => (await service.get(PATH)).body.rules;
  const written = (lines: string[]) => lines.filter((line) => line.startsWith('clinic.readiness:'));
  const ofPayer = (code: unknown) => ({
    payer: { code },
    field: 'patient.primary_insurance.policy_number',
    must: { pattern: 'M\\d{9}' },
    ...{ severity: 'blocks', text: 'Member IDs have an M and nine digits.' },
    codes: { status: ['164'], box: ['1a'] },
  });

  test('a rule finds from then on what it demands, as of its time and with its event as the cause', async () => {
    const claim = freshClaim({ payer: { payer_code: 'RULED' } });
    await sendClaim(service, claim);
    expect((await readiness(service, claim)).state).toBe('ready');
    const before = await whenPast(new Date().toISOString());
    const key = { 'idempotency-key': 'rule-1' };
    const rule = ofPayer('ruled');
    const appended = await appendedBy(service, async () => {
      const first = await send('PUT', `${PATH}/member_id`, rule, key);
      expectDocumented(openapi, 'setPayerRule', first);
      expect(first).toMatchObject({ status: 200, body: { outcome: 'updated' } });
      expect((await send('PUT', `${PATH}/member_id`, rule, key)).body).toEqual(first.body);
      expect((await send('PUT', `${PATH}/member_id`, rule)).body.outcome).toBe('unchanged');
    });
    expect(appended).toEqual(['clinic.readiness: PayerRulesSet']);
    const code = 'payer.member_id';
    const now = await readiness(service, claim);
    expect(now).toMatchObject({
      state: 'blocked',
      findings: [
        {
          ...{ rule: code, severity: 'blocks', owner: 'registration', text: rule.text },
          codes: { ...rule.codes, carc: [], rarc: [] },
          field: 'primary_insurance.policy_number',
          cause: { kind: 'workspace', principal: { type: 'api_key' } },
        },
      ],
    });
    expect((await readiness(service, claim, `?as_of=${before}`)).state).toBe('ready');
    const { items } = await worklist(service, `&rule=${code}`);
    expect(items.map(({ id }) => id)).toContain(claim.encounter.id);
    const causes = await service.get(`/integration/readiness/causes?rule=${code}&payer_id=${claim.payer.id}`);
    expectDocumented(openapi, 'listReadinessCauses', causes);
    expect(causes.body.items).toMatchObject([
      {
        rule: code,
        title: expect.stringMatching(/^Payer ID .*: Member IDs have an M and nine digits$/),
        encounters: 1,
        blocked: 1,
      },
    ]);
    const removed = await send('DELETE', `${PATH}/member_id`);
    expectDocumented(openapi, 'removePayerRule', removed);
    expect(removed.body.outcome).toBe('updated');
    expect((await readiness(service, claim)).state).toBe('ready');
    expect(await send('DELETE', `${PATH}/member_id`)).toMatchObject({
      status: 404,
      body: { code: 'not_found' },
    });
    expect((await worklist(service, `&payer_id=${claim.payer.id}`)).items).toMatchObject([
      { state: 'ready' },
    ]);
  });

  test('all rules can be replaced, exported and imported, each by one event', async () => {
    const rules = { one: ofPayer('ONE'), two: ofPayer('TWO') };
    const appended = await appendedBy(service, async () => {
      const replaced = await send('PUT', PATH, { rules });
      expectDocumented(openapi, 'setPayerRules', replaced);
      const read = await service.get(PATH);
      expectDocumented(openapi, 'listPayerRules', read);
      expect(read.body.rules).toEqual(rules);
      expect((await send('PUT', PATH, { rules: { two: rules.two } })).body.outcome).toBe('updated');
    });
    expect(written(appended)).toEqual(Array(2).fill('clinic.readiness: PayerRulesSet'));
    expect(await listed()).toEqual({ two: rules.two });
    const file = join(temporaryFolder(), 'rules.json');
    const importing = async (content: object) => {
      writeFileSync(file, JSON.stringify(content));
      return inWorkspace(service, 'readiness', 'import-rules', file);
    };
    const changed = await appendedBy(service, async () => {
      expect(await importing({ one: rules.one, two: null })).toMatchObject({ code: 0 });
      const wrong = { ...rules.one, must: { pattern: 'secret(a+)+' } };
      const refused = await importing({ three: wrong });
      expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('three.must.pattern') });
      expect(refused.stderr).not.toContain('secret');
    });
    expect(written(changed)).toEqual(['clinic.readiness: PayerRulesSet']);
    const { stdout } = await inWorkspace(service, 'readiness', 'export-rules');
    expect(JSON.parse(stdout)).toEqual({ one: rules.one });
    const table = await inWorkspace(service, 'readiness', 'rules');
    expect(table.stdout).toContain('payer.one');
    await send('PUT', PATH, { rules: {} });
  });

  test('a simulation tries rules and severities that are not in force', async () => {
    const claim = freshClaim({ payer: { payer_code: 'TRIED' }, patient: { gender: undefined } });
    await sendClaim(service, claim);
    await worklist(service);
    const file = join(temporaryFolder(), 'candidate.json');
    const payer_choices = [{ rule: 'gender_missing', choice: 'blocks', payer_id: claim.payer.id }];
    writeFileSync(file, JSON.stringify({ payer_rules: { tried: ofPayer('TRIED') }, payer_choices }));
    const appended = await appendedBy(service, async () => {
      const { stdout } = await inWorkspace(service, 'readiness', 'simulate', '--rules', file, '--json');
      const { byPayer, byRule } = JSON.parse(stdout);
      expect(byPayer).toEqual({ [String(claim.payer.id)]: { 'ready blocked': 1 } });
      expect(byRule).toEqual({ 'payer.tried': { found: 1, gone: 0, examples: [claim.encounter.id] } });
    });
    expect(written(appended)).toEqual([]);
    const principal = { type: 'operator', id: 'test' } as const;
    const caller = { workspace: service.workspaceId('clinic'), principal, requestId: uuidv7() };
    const candidates = candidateSettingsSchema.parse({
      payer_rules: { tried: ofPayer('TRIED') },
      payer_choices,
    });
    const applied = await appendedBy(service, () => applySettings(service.eventLog, caller, candidates));
    expect(written(applied)).toEqual([
      'clinic.readiness: PayerRulesSet',
      'clinic.readiness: ReadinessRuleSet',
    ]);
    expect((await readiness(service, claim)).findings).toMatchObject([
      { rule: 'gender_missing', severity: 'blocks' },
      { rule: 'payer.tried', severity: 'blocks' },
    ]);
    await send('DELETE', `${PATH}/tried`);
    await inWorkspace(
      service,
      'readiness',
      'set',
      'gender_missing',
      'default',
      '--payer',
      String(claim.payer.id),
    );
    const set = ['readiness', 'set', 'gender_missing', 'blocks', '--payer', String(claim.payer.id)];
    expect(written(await appendedBy(service, () => inWorkspace(service, ...set)))).toEqual([
      'clinic.readiness: ReadinessRuleSet',
    ]);
    expect((await readiness(service, claim)).state).toBe('blocked');
    set[3] = 'default';
    await inWorkspace(service, ...set);
    expect((await readiness(service, claim)).state).toBe('ready');
    expect(await inWorkspace(service, ...set.slice(0, 3), 'off', '--payer', 'nobody')).toMatchObject({
      code: 1,
    });
  });

  test('what is no rule is refused, and names what to mend', async () => {
    const rule = ofPayer('X');
    const appended = await appendedBy(service, async () => {
      for (const [path, body, field] of [
        [`${PATH}/x`, { ...rule, field: 'patient.phone' }, 'field'],
        [`${PATH}/x`, { ...rule, must: { pattern: '(a+)+secret' } }, 'must.pattern'],
        [PATH, { rules: { 'Member ID': rule } }, 'rules.Member ID'],
        [PATH, { rules: { x: { ...rule, text: ' ' } } }, 'rules.x.text'],
        [PATH, {}, 'rules'],
        [
          PATH,
          { rules: Object.fromEntries(Array.from({ length: 201 }, (_, at) => [`r${at}`, rule])) },
          'rules',
        ],
      ] as const) {
        const { status, body: answer } = await send('PUT', path, body);
        expect([path, status, answer.details?.[0]?.field]).toEqual([path, 400, field]);
        expect(JSON.stringify(answer)).not.toContain('secret');
      }
      expect((await send('PUT', `${PATH}/Member-ID`, rule)).status).toBe(404);
      expect((await service.get('/integration/readiness?rule=payer')).status).toBe(400);
      const sender = service.as((await service.createKey('clinic', ['write'])).key);
      for (const [method, path, body] of [
        ['PUT', PATH, { rules: {} }],
        ['PUT', `${PATH}/x`, rule],
        ['DELETE', `${PATH}/x`, undefined],
      ] as const) {
        expect(await send(method, path, body, {}, sender)).toMatchObject({ status: 403 });
      }
      const reader = service.as((await service.createKey('clinic', ['read'])).key);
      expect((await reader.get(PATH)).status).toBe(200);
    });
    expect(written(appended)).toEqual([]);
  });
});
