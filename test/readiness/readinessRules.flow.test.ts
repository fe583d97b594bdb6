import { afterAll, beforeAll, expect, test } from 'vitest';
import { freshClaim, readiness, sendClaim } from '../support/claims.ts';
import { runCli, storesOf, temporaryFolder } from '../support/cli.ts';
import { onEveryEngine } from '../support/engines.ts';
import { eventually } from '../support/eventually.ts';
import { pathOf } from '../support/fieldValues.ts';
import { appendedBy, type TestService } from '../support/service.ts';

onEveryEngine((start) => {
  const folder = temporaryFolder();
  let service: TestService;
  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.stop());

  test('a workspace sets what becomes of a rule, which is an event; as of a time before it is as it was', async () => {
    const claim = freshClaim({ provider: { taxonomy_code: undefined }, payer: { payer_code: undefined } });
    await sendClaim(service, claim);
    const { updated_at: before } = (await service.get(pathOf('encounter', String(claim.encounter.id)))).body;
    const cli = (...args: string[]) =>
      runCli(['readiness', ...args, '--workspace', service.workspaceId('clinic')], {
        env: { ...storesOf(service.config), DATA_DIR: folder },
      });
    const set = async (rule: string, choice: string) => {
      const appended = await appendedBy(service, async () => {
        expect(await cli('set', rule, choice)).toMatchObject({ code: 0, stderr: '' });
        expect(await cli('set', rule, choice)).toMatchObject({ code: 0 });
      });
      expect(appended).toEqual(['clinic.readiness: ReadinessRuleSet']);
    };
    const first = await readiness(service, claim);
    expect(first).toMatchObject({
      state: 'blocked',
      found: ['payer_code_missing payer.payer_code', 'taxonomy_code_missing provider.taxonomy_code'],
    });
    await eventually(() => expect(Date.now()).toBeGreaterThan(Date.parse(before)));
    await set('payer_code_missing', 'off');
    expect(await readiness(service, claim)).toMatchObject({
      state: 'ready',
      found: ['taxonomy_code_missing provider.taxonomy_code'],
    });
    await set('taxonomy_code_missing', 'blocks');
    const { state, findings } = await readiness(service, claim);
    expect(state).toBe('blocked');
    // It stood before, too.
    expect(findings).toMatchObject([{ severity: 'blocks', cause: { kind: 'encounter', version: 1 } }]);
    await set('payer_code_missing', 'default');
    expect((await readiness(service, claim)).findings).toMatchObject([
      { rule: 'taxonomy_code_missing' },
      {
        rule: 'payer_code_missing',
        cause: { kind: 'workspace', id: service.workspaceId('clinic'), principal: { type: 'operator' } },
      },
    ]);
    const { found, findings: then } = await readiness(service, claim, `?as_of=${before}`);
    expect([found, then]).toEqual([first.found, first.findings]);
    const listed = JSON.parse((await cli('rules', '--json')).stdout);
    expect(listed).toContainEqual(
      expect.objectContaining({ rule: 'taxonomy_code_missing', choice: 'blocks', default: 'warns' }),
    );
    expect(await cli('set', 'no_such_rule', 'off')).toMatchObject({ code: 1, stdout: '' });
    expect((await cli('set', 'payer_code_missing', 'maybe')).code).not.toBe(0);
    await set('taxonomy_code_missing', 'default');
  });
});
