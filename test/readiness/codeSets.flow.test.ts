import { writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCli, storesOf, temporaryFolder } from '../support/cli.ts';
import { expectDocumented, fetchDocument } from '../support/openapi.ts';
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

  const NPPES = '"NPI","Entity Type Code","Replacement NPI","NPI Deactivation Date","NPI Reactivation Date"';
  const CLIA = 'PRVDR_NUM,PGM_TRMNTN_CD,TRMNTN_EXPRTN_DT\n';

  test.each([
    ['payers', 'Name\nElm\n', /has no column Payer ID/],
    ['payers', 'Payer ID\n,\n', /is not well-formed CSV/],
    ['payers', 'Payer ID\n-\n', /has no payer IDs/],
    ['payers', '', /is empty: load the file that your clearinghouse publishes/],
    ['payers', 'Payer ID\n', /has no rows below its header/],
    ['nppes', 'NPI\n1234567893\n', /has no column Entity Type Code/],
    ['nppes', '', /is empty/],
    ['nppes', 'NPI\n', /has no column Entity Type Code/],
    ['nppes', `${NPPES}\n`, /has no rows below its header/],
    ['nppes', `${NPPES}\n"1234567893","1","","",""`, /ends within a line.*download it again/],
    ['nppes', `${NPPES}\n"1234567893","1","","","02`, /is not well-formed CSV/],
    ['nppes', `${NPPES}\n"1234567893","1"\n`, /is not well-formed CSV/],
    ['clia', '', /is empty/],
    ['clia', CLIA, /has no rows below its header/],
    ['clia', `${CLIA}28D1234567,00,202801`, /ends within a line/],
    ['clia', 'NPI\n1234567893\n', /has no column PRVDR_NUM/],
  ])('a file for %s with %j is refused, also while no record has a number', async (set, content, why) => {
    const events = await installationEvents(service, async () => {
      const { code, stdout, stderr } = await cli('load', set, fileOf(content));
      expect([code, stdout]).toEqual([1, '']);
      expect(stderr).toMatch(why);
    });
    expect(events.filter(({ type }) => type === 'CodeSetLoaded')).toEqual([]);
  });

  test('a set that is loaded counts in all workspaces from then on, which is an event of the installation', async () => {
    const first = await load(`${HEADER}${rowsOf(codes)},,,,,,,\n\n`, '--release', '25.1');
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
      '--release',
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

  const registry = (header: string, ...rows: string[]) => `${[header, ...rows].join('\n')}\n`;
  /** Loads a set; gives the event, and what the command says. */
  const loadSet = async (set: string, content: string, ...args: string[]) => {
    let stdout = '';
    const events = await installationEvents(service, async () => {
      const result = await cli('load', set, fileOf(content), ...args);
      expect(result).toMatchObject({ code: 0, stderr: '' });
      stdout = result.stdout;
    });
    const [event] = events.filter(({ type }) => type === 'CodeSetLoaded');
    return { event: event as NonNullable<typeof event>, stdout };
  };
  const listed = async () => {
    const answer = await service.get('/integration/readiness/code-sets');
    expectDocumented(await fetchDocument(service), 'listCodeSets', answer);
    return answer.body;
  };

  test('of NPPES what it says of the NPIs of records is kept, and found in their claims', async () => {
    const claim = freshClaim({ provider: { npi: '1500000009' }, facility: { npi: '1600000008' } });
    await sendClaim(service, claim);
    expect(await readiness(service, claim)).toMatchObject({ state: 'ready' });
    const known = '"1234567893","1","","",""';
    const first = await loadSet(
      'nppes',
      registry(NPPES, known, '"1093817462","2","","",""', '"1600000008","","","02/01/2026",""'),
      ...['--release', '2026-11-08'],
    );
    expect(first.event).toMatchObject({
      stream: '*.code_set-nppes',
      data: {
        ...{ set: 'nppes', release: '2026-11-08', codes: ['1093817462', '1234567893', '1600000008'] },
        ...{ organizations: ['1093817462'], ended: { '1600000008': '2026-02-01' }, unknown: ['1500000009'] },
      },
    });
    expect(first.stdout).toMatch(/3 codes of records, 1 of them ended; 1 of records are not in the file/);
    const { state, findings } = await readiness(service, claim);
    const cause = { kind: 'code_set', id: 'nppes', version: 1, event_id: first.event.id };
    expect(state).toBe('blocked');
    expect(findings).toMatchObject([
      { rule: 'npi_unknown', record: { kind: 'provider' }, cause, since: first.event.recordedAt },
      { rule: 'npi_deactivated', record: { kind: 'facility' }, cause },
    ]);
    expect(await listed()).toMatchObject({
      code_sets: expect.arrayContaining([
        expect.objectContaining({ set: 'nppes', release: '2026-11-08', codes: 3, ended: 1, unknown: 1 }),
      ]),
    });
    // Reactivated, and assigned by now; the facility has the NPI of a person.
    await whenPast(first.event.recordedAt);
    const second = registry(
      ...[NPPES, known, '"1093817462","2","","",""', '"1500000009","1","","",""'],
      '"1600000008","1","","02/01/2026","02/15/2026"',
    );
    const { event } = await loadSet('nppes', second);
    expect(event.data).not.toHaveProperty('release');
    expect(await readiness(service, claim)).toMatchObject({
      ...{ state: 'ready', findings: [{ rule: 'npi_entity_type', record: { kind: 'facility' } }] },
    });
    const then = await readiness(service, claim, `?as_of=${first.event.recordedAt}`);
    expect(then).toMatchObject({ state: 'blocked' });
  });

  test('a file of changes of NPPES is refused, as it has few of the NPIs of records', async () => {
    const events = await installationEvents(service, async () => {
      const weekly = fileOf(registry(NPPES, '"1700000007","1","","",""'));
      const { code, stderr } = await cli('load', 'nppes', weekly);
      expect(code).toBe(1);
      expect(stderr).toMatch(/has 1 rows, with 0 of the \d+ numbers of records. Load the whole file/);
    });
    expect(events.filter(({ type }) => type === 'CodeSetLoaded')).toEqual([]);
  });

  test('CLIA numbers that have ended, or are not listed, are found, others are not kept', async () => {
    const claims = ['28D1234567', '28D7654321', '28D0000001', 'pending'].map((clia_number) =>
      freshClaim({ facility: { clia_number } }),
    );
    for (const claim of claims) await sendClaim(service, claim);
    const { event } = await loadSet(
      'clia',
      registry(
        'PRVDR_NUM,PGM_TRMNTN_CD,TRMNTN_EXPRTN_DT',
        ...['28D1234567,00,20260101', '28D7654321,07,20260201', '05D1111111,00,20280101'],
      ),
    );
    expect(event.data).toEqual({
      ...{ set: 'clia', codes: ['28D1234567', '28D7654321'], ended: { '28D7654321': '2026-02-01' } },
      unknown: ['28D0000001'],
    });
    const rulesOf = async (claim: (typeof claims)[number]) =>
      (await readiness(service, claim)).findings.map(({ rule }) => rule);
    expect(await Promise.all(claims.map(rulesOf))).toEqual([
      ...[[], ['clia_unlisted'], ['clia_unlisted'], ['clia_number_form']],
    ]);
  });

  test('a payer ID that the clearinghouse does not list blocks; its columns are named', async () => {
    const known = freshClaim();
    const other = freshClaim({ payer: { payer_code: 'elm01' } });
    for (const claim of [known, other]) await sendClaim(service, claim);
    const { event, stdout } = await loadSet(
      'payers',
      registry('Name,primary_payer_id,Aliases', 'Elm,60054,"ELM00, ELM02"', 'Oak,60055,'),
      ...['--column', 'Primary Payer ID', 'Aliases'],
    );
    expect(event.data).toEqual({ set: 'payers', codes: ['60054', '60055', 'ELM00', 'ELM02'] });
    expect(stdout).toBe('Code set payers: 4 codes.\n');
    expect(await readiness(service, known)).toMatchObject({ state: 'ready' });
    expect(await readiness(service, other)).toMatchObject({
      state: 'blocked',
      findings: [{ rule: 'payer_code_unlisted', cause: { kind: 'code_set', id: 'payers' } }],
    });
    await loadSet('payers', registry('Payer ID', '60054', '60055', 'ELM01'));
    expect(await readiness(service, other)).toMatchObject({ state: 'ready' });
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
    ['nothing', '', /is empty/],
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
    const column = ['--column', 'Code'];
    expect(await cli('load', 'nucc', fileOf(HEADER), ...column)).toMatchObject({ code: 1, stdout: '' });
  });
});
