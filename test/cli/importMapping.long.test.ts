import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { spawnCli, temporaryFolder } from '../support/cli.ts';
import { phi } from '../support/output.ts';
import { samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy, type TestService } from '../support/service.ts';

onEmbeddedEngines((start) => {
  let service: TestService;
  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.stop());

  const mapping = {
    files: {
      'persons.csv': {
        kind: 'patient',
        fields: {
          id: 'NO',
          first_name: 'GIVEN',
          last_name: 'FAMILY',
          date_of_birth: 'BORN',
          gender: { column: 'SEX', values: { W: 'female', M: 'male' } },
          primary_insurance: { when: { PLAN: { not: '' } }, fields: { payer_id: 'PLAN' } },
        },
      },
      'plans.csv': { kind: 'payer', fields: { id: 'CODE', name: 'NAME', payer_type: { value: 'Private' } } },
    },
  };

  /** Imports CSV files, given as lines, by a mapping. */
  async function importMapped(files: Record<string, string[]>, by: unknown, args: string[] = []) {
    const cwd = temporaryFolder();
    for (const [name, lines] of Object.entries(files)) writeFileSync(join(cwd, name), lines.join('\n'));
    writeFileSync(join(cwd, 'ours.json'), JSON.stringify(by));
    const command = ['import', '.', '--mapping', 'ours.json', '--url', service.url, ...args];
    const env = { CHARTLEDGER_API_KEY: service.key as string };
    return { ...(await spawnCli(command, { cwd, env })), cwd };
  }

  test('CSV goes in by a mapping, and texts that it does not know are warnings without them', async () => {
    const [payer, insured, other] = [samples.payer(), samples.patient(), samples.patient()];
    const files = {
      'persons.csv': [
        'NO,GIVEN,FAMILY,BORN,SEX,PLAN',
        `${insured.id},${insured.first_name},${insured.last_name},1984-02-29,w,${payer.id}`,
        `${other.id},${other.first_name},${other.last_name},1984-02-29,QQQ,`,
      ],
      'plans.csv': ['CODE,NAME', `${payer.id},${payer.name}`],
    };
    const appended = await appendedBy(service, async () => {
      const { code, stdout, stderr, cwd } = await importMapped(files, mapping);
      expect(code).toBe(0);
      expect(stdout).toMatch(/^1 +patient +gender +is omitted: the mapping has no value for this text$/m);
      const report = readdirSync(cwd).find((name) => name.startsWith('warnings-')) as string;
      expect(JSON.parse(readFileSync(join(cwd, report), 'utf8'))).toMatchObject({ source: 'persons.csv:3' });
      expect(stdout + stderr + readFileSync(join(cwd, report), 'utf8')).not.toContain('QQQ');
    });
    expect(appended).toEqual([
      `clinic.payer-${payer.id}: PayerUpserted`,
      `clinic.patient-${insured.id}: PatientUpserted`,
      `clinic.patient-${other.id}: PatientUpserted`,
    ]);
    const read = await service.get(`/integration/patients/${insured.id}`);
    expect(read.body.record).toMatchObject({ gender: 'female', primary_insurance: { payer_id: payer.id } });
  });

  test('with --unchanged skip, what is so already gets no version', async () => {
    const payers = [samples.payer(), samples.payer()];
    const rows = () => payers.map(({ id, name }) => `${id},${name}`);
    const plans = { files: { 'plans.csv': mapping.files['plans.csv'] } };
    const skip = () =>
      importMapped({ 'plans.csv': ['CODE,NAME', ...rows()] }, plans, ['--unchanged', 'skip', '--json']);
    await skip();
    const [, second] = payers;
    if (second) second.name = phi('Humana');
    const appended = await appendedBy(service, async () => {
      const { code, stdout } = await skip();
      expect({ code, ...JSON.parse(stdout) }).toMatchObject({
        code: 0,
        accepted: 2,
        updated: 1,
        unchanged: 1,
      });
    });
    expect(appended).toEqual([`clinic.payer-${second?.id}: PayerUpserted`]);
  });

  test('a mapping that does not fit is one line and exit code 1, before anything is sent', async () => {
    const files = { 'plans.csv': ['CODE,TITLE', `${phi('payer')},Aetna`] };
    const wrongField = {
      files: { 'plans.csv': { kind: 'payer', fields: { id: 'CODE', name: 'TITLE', typ: 'X' } } },
    };
    const refused: [unknown, string][] = [
      [mapping, 'plans.csv lacks NAME. Nothing was imported.'],
      [
        wrongField,
        'ours.json: files.plans.csv.fields.typ: Payer has no such field; its fields are id, name,',
      ],
    ];
    const appended = await appendedBy(service, async () => {
      for (const [by, message] of refused) {
        const { code, stdout, stderr } = await importMapped(files, by);
        expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
        expect(stderr.trimEnd().split('\n').at(-1)).toContain(message);
      }
    });
    expect(appended).toEqual([]);
  });
});
