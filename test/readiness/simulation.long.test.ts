import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { noSettings } from '../../src/modules/readiness/rules/rule.ts';
import { type Simulation, simulate, withCandidates } from '../../src/modules/readiness/simulation.ts';
import { openReadModels } from '../../src/server/openStorage.ts';
import { temporaryFolder } from '../support/cli.ts';
import { sendBatch } from '../support/client.ts';
import { phi } from '../support/output.ts';
import { freshClaim, inStores, inWorkspace, sendClaim, worklist } from '../support/readiness.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { accessesBy, appendedBy, type TestService } from '../support/service.ts';

/** More than are evaluated in one step. */
const MANY = 520;
const rule = 'facility_tax_id';

onEmbeddedEngines((start) => {
  const folder = temporaryFolder();
  let service: TestService;
  beforeAll(async () => {
    service = await start();
    const claim = freshClaim({ facility: { tax_id: undefined } });
    const other = freshClaim({ facility: { tax_id: undefined }, payer: { payer_code: undefined } });
    for (const one of [claim, other, freshClaim()]) await sendClaim(service, one);
    const lines = Array.from({ length: MANY }, () => ({
      kind: 'encounter',
      record: { ...claim.encounter, id: phi('encounter') },
    }));
    expect((await sendBatch(service, lines)).status).toBe(200);
    await worklist(service);
  });
  afterAll(() => service.stop());

  const settings = (value: unknown) => {
    const path = join(folder, 'candidate.json');
    writeFileSync(path, JSON.stringify(value));
    return path;
  };
  const simulated = (...args: string[]) => inWorkspace(service, 'readiness', 'simulate', ...args);

  test('settings that are not in force are tried, and come true when they are', async () => {
    const path = settings({ rules: { [rule]: 'off' } });
    const state = join(folder, 'state.json');
    let result: Simulation | undefined;
    const accesses = await accessesBy(service, async () => {
      expect(
        await appendedBy(service, async () => {
          const { code, stdout, stderr } = await simulated('--rules', path, '--state', state, '--json');
          expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
          result = JSON.parse(stdout);
        }),
      ).toEqual([]);
    });
    expect(existsSync(state)).toBe(false);
    expect(result).toMatchObject({
      encounters: MANY + 3,
      flips: { 'blocked ready': MANY + 1 },
      byRule: { [rule]: { found: 0, gone: MANY + 2 } },
    });
    expect(Object.values(result?.byPayer ?? {})).toEqual([{ 'blocked ready': MANY + 1 }]);
    expect(accesses).toMatchObject([{ action: 'readiness.simulation', shown: { count: MANY + 3 } }]);
    const { stdout } = await simulated('--rules', path);
    expect(stdout).toContain(`Of ${MANY + 3} encounters ${MANY + 1} would be in another state.`);
    expect(stdout).toMatch(new RegExp(`^${rule} +0 +${MANY + 2} +encounter`, 'm'));
    expect((await worklist(service)).counts.states).toMatchObject({ ready: 1, blocked: MANY + 2 });
    await inWorkspace(service, 'readiness', 'set', rule, 'off');
    expect((await worklist(service)).counts.states).toMatchObject({ ready: MANY + 2, blocked: 1 });
    await inWorkspace(service, 'readiness', 'set', rule, 'default');
  });

  test('one that was cut off goes on where it was', async () => {
    const readModels = await openReadModels(service.config.readModelUrl);
    const ports = { eventLog: service.eventLog, readModels };
    const candidate = withCandidates(noSettings, { rules: { [rule]: 'warns' } });
    const question = { workspace: service.workspaceId('clinic'), present: noSettings, candidate };
    const steps = await Array.fromAsync(simulate(ports, question));
    expect(steps).toHaveLength(2);
    const rest = await Array.fromAsync(simulate(ports, question, steps[0]));
    expect(rest).toEqual(steps.slice(1));
    expect(rest[0]?.flips).toEqual({ 'blocked ready': MANY + 1 });
    await readModels.close();
  });

  test('payers are counted apart, whatever their ids are', async () => {
    const client = service.as((await service.createKey('odd_payers')).key);
    const ids = ['constructor', '__proto__', phi('payer')];
    for (const id of ids) {
      const claim = freshClaim({ facility: { tax_id: undefined } });
      claim.payer.id = id;
      Object.assign(claim.patient.primary_insurance as object, { payer_id: id });
      await sendClaim(client, claim);
    }
    await worklist(client);
    const path = settings({ rules: { [rule]: 'off' } });
    const args = ['--rules', path, '--workspace', service.workspaceId('odd_payers')];
    const { stdout, stderr } = await inStores(service, 'readiness', 'simulate', ...args, '--json');
    expect(stderr).toBe('');
    const { byPayer } = JSON.parse(stdout);
    expect(Object.entries(byPayer)).toEqual(ids.map((id) => [id, { 'blocked ready': 1 }]));
  });

  test('settings that cannot be are refused by their name', async () => {
    for (const [value, named] of [
      [{ rules: { nothing: 'off' } }, 'nothing'],
      [{ rules: { [rule]: 'maybe' } }, rule],
      [{ filing_limits: { default: 0 } }, 'filing_limits.default'],
      [{ filing_limit: 90 }, 'filing_limit'],
    ] as const) {
      const { code, stdout, stderr } = await simulated('--rules', settings(value));
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toContain(named);
    }
    const { code, stderr } = await simulated('--rules', join(folder, 'none.json'));
    expect(code).toBe(1);
    expect(stderr).toContain('none.json');
  });
});
