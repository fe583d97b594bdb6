import { writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCli, storesOf, temporaryFolder } from '../support/cli.ts';
import { freshClaim, readiness, sendClaim, whenPast, worklist } from '../support/readiness.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { installationEvents, type TestService } from '../support/service.ts';

const HEADER = 'Code,Grouping,Classification,Specialization,Definition,Notes,"Display Name",Section\n';
/** As many codes as a set has, with the one of the claims of tests. */
const codes = [
  '207Q00000X',
  ...Array.from({ length: 599 }, (_, number) => `3${String(number).padStart(8, '0')}X`),
];
const ADDED = '2084A0401X';

function rowsOf(all: readonly string[]): string {
  return all
    .map((code) => `${code},Group,"Family, Medicine",,"Of two\nlines: caf\u00e9",,Name,Individual\n`)
    .join('');
}

onEmbeddedEngines((start) => {
  const folder = temporaryFolder();
  let service: TestService;
  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.stop());

  const cli = (...args: string[]) =>
    runCli(['code-sets', ...args], { env: { ...storesOf(service.config), DATA_DIR: folder } });
  const fileOf = (content: string | Buffer) => {
    const path = join(folder, 'nucc.csv');
    writeFileSync(path, content);
    return path;
  };
  /** Loads a file twice; gives the one event that it makes. */
  const load = async (content: string | Buffer, ...args: string[]) => {
    const events = await installationEvents(service, async () => {
      const path = fileOf(content);
      for (const _ of ['first', 'again']) {
        expect(await cli('load', 'nucc', path, ...args)).toMatchObject({ code: 0, stderr: '' });
      }
    });
    const [event] = events.filter(({ type }) => type === 'CodeSetLoaded');
    expect(events.filter(({ type }) => type === 'CodeSetLoaded')).toHaveLength(1);
    return event as NonNullable<typeof event>;
  };

  test('a set that is loaded counts in all workspaces from then on, which is an event of the installation', async () => {
    const first = await load(`${HEADER}${rowsOf(codes)},,,,,,,\n\n`, '--as', '25.1');
    expect(first).toMatchObject({
      stream: '*.code_set-nucc',
      data: { set: 'nucc', release: '25.1', codes: codes.toSorted() },
      metadata: { workspace: '*', principal: { type: 'operator', id: userInfo().username } },
    });
    const claim = freshClaim({ provider: { taxonomy_code: ADDED } });
    await sendClaim(service, claim);
    expect(await readiness(service, claim)).toMatchObject({
      state: 'blocked',
      findings: [{ rule: 'taxonomy_code', cause: { kind: 'encounter', version: 1 } }],
    });
    const second = await load(
      Buffer.from(`\ufeff${HEADER}${rowsOf([...codes, ADDED])}`, 'utf8'),
      '--as',
      '26.0',
    );
    await whenPast(second.recordedAt);
    expect(await readiness(service, claim)).toMatchObject({ state: 'ready', findings: [] });
    const third = await load(Buffer.from(HEADER + rowsOf(codes), 'latin1'));
    const { findings } = await readiness(service, claim);
    expect(findings).toMatchObject([
      {
        ...{ rule: 'taxonomy_code', since: third.recordedAt },
        cause: {
          ...{ kind: 'code_set', id: 'nucc', version: third.revision + 1, event_id: third.id },
          principal: { type: 'operator' },
        },
      },
    ]);
    const listedAs = async () =>
      (await worklist(service, `&facility_id=${claim.facility.id}`)).items.map(({ state }) => state);
    expect(await listedAs()).toEqual(['blocked']);
    const then = await readiness(service, claim, `?as_of=${second.recordedAt}`);
    expect(then).toMatchObject({ state: 'ready', findings: [] });
    const listed = JSON.parse((await cli('list', '--json')).stdout);
    expect(listed.slice(-3)).toMatchObject([
      { set: 'nucc', release: '25.1', codes: 600 },
      { release: '26.0', codes: 601, loaded_at: second.recordedAt },
      { release: null, codes: 600, loaded_by: userInfo().username },
    ]);
    await load(HEADER + rowsOf([...codes, ADDED]));
    expect(await listedAs()).toEqual(['ready']);
  });

  test.each([
    ['a few codes', HEADER + rowsOf(codes.slice(0, 499)), /has 499 codes/],
    [
      'a code twice',
      HEADER + rowsOf([...codes, '207Q00000X']),
      /line 1203 has a code that is also in an earlier/,
    ],
    ['what is no code', HEADER + rowsOf(['207Q00000', ...codes]), /line 3 has no taxonomy code/],
    ['another header', `Id,Name\n${'1,a\n'.repeat(600)}`, /has no column Code/],
    ['nothing', '', /has 0 codes/],
    ['a broken row', `${HEADER}207Q00000X,"open\n${rowsOf(codes)}`, /is not well-formed CSV/],
  ])('a file with %s is refused, and says why', async (_what, content, why) => {
    const events = await installationEvents(service, async () => {
      const { code, stdout, stderr } = await cli('load', 'nucc', fileOf(content));
      expect([code, stdout]).toEqual([1, '']);
      expect(stderr).toMatch(why);
    });
    expect(events.filter(({ type }) => type === 'CodeSetLoaded')).toEqual([]);
  });

  test('what is no file, or no set that is known, is refused', async () => {
    expect(await cli('load', 'nucc', join(folder, 'none.csv'))).toMatchObject({ code: 1, stdout: '' });
    expect(await cli('load', 'icd10', fileOf(HEADER + rowsOf(codes)))).toMatchObject({ code: 2 });
  });
});
