import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { spawnCli, temporaryFolder } from '../support/cli.ts';
import { phi } from '../support/output.ts';
import { createEncounter, documentLine, documentsPath, pdf, samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy, sharedService, type TestService } from '../support/service.ts';

onEmbeddedEngines(() => {
  let service: TestService;
  beforeAll(async () => {
    service = await sharedService();
  });
  afterAll(() => service.stop());

  function folderOf(files: Record<string, Buffer | string>): string {
    const folder = temporaryFolder();
    for (const [name, content] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), content);
    }
    return folder;
  }

  async function importAll(args: string[]) {
    const cwd = temporaryFolder();
    const env = { CHARTLEDGER_API_KEY: service.key as string };
    return { ...(await spawnCli(['import', ...args, '--url', service.url, '--json'], { cwd, env })), cwd };
  }

  test('documents go in by their paths, after the records', async () => {
    const [patient, id] = [samples.patient(), `${phi('visit')}/1`];
    const [scan, report] = [phi('scan'), phi('report')];
    const lines = [
      { kind: 'encounter', record: { id, patient_id: patient.id } },
      { kind: 'patient', record: patient },
    ];
    const records = folderOf({ 'records.ndjson': lines.map((line) => JSON.stringify(line)).join('\n') });
    const name = encodeURIComponent(id);
    const documents = folderOf({
      [`${name}/${scan}.pdf`]: pdf('scan'),
      [`${name}/lab_results/${report}.PDF`]: pdf('report'),
      [`${name}/.hidden`]: '',
    });
    const appended = await appendedBy(service, async () => {
      const { code, stdout, stderr } = await importAll([
        join(records, 'records.ndjson'),
        ...['--format', 'ndjson', '--documents', documents, '--category', 'consent_form'],
      ]);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(JSON.parse(stdout)).toMatchObject({
        accepted: 4,
        created: 4,
        by_kind: { document: { accepted: 2, rejected: 0 } },
      });
    });
    expect(appended.slice(0, 2)).toEqual([
      `clinic.patient-${patient.id}: PatientUpserted`,
      `clinic.encounter-${encodeURIComponent(id)}: EncounterUpserted`,
    ]);
    expect(appended.slice(2).toSorted()).toEqual(
      [scan, report].map((document) => documentLine(id, document)).toSorted(),
    );
    const stored = await service.send(documentsPath(id, report));
    expect(stored.text).toBe(pdf('report').toString());
  });

  test('what is no document, or refused, is listed, and the rest goes in', async () => {
    const id = await createEncounter(service);
    const [good, bad, stray] = [phi('good'), phi('bad'), phi('encounter')];
    const documents = folderOf({
      'loose.pdf': pdf(),
      [`${id}/notes.txt`]: 'text',
      [`${id}/xrays/a.pdf`]: pdf(),
      [`${id}/%/a.pdf`]: pdf(),
      '%zz/a.pdf': pdf(),
      [`${id}/${good}.pdf`]: pdf(),
      [`${id}/${bad}.pdf`]: 'no PDF at all',
      [`${stray}/a.pdf`]: pdf(),
    });
    const appended = await appendedBy(service, async () => {
      const { code, stdout, cwd } = await importAll(['--documents', documents]);
      expect(code).toBe(1);
      expect(JSON.parse(stdout)).toMatchObject({
        accepted: 1,
        rejected: 7,
        by_kind: { document: { accepted: 1, rejected: 2 } },
      });
      const [file = '', ...more] = readdirSync(cwd);
      expect(more).toEqual([]);
      const lines = readFileSync(join(cwd, file), 'utf8').trimEnd().split('\n');
      const rejected = lines.map((line) => JSON.parse(line)).filter(({ kind }) => kind === 'document');
      expect(rejected.map(({ source, status }) => [source, status]).toSorted()).toEqual(
        [
          [`${id}/${bad}.pdf`, 400],
          [`${stray}/a.pdf`, 404],
        ].toSorted(),
      );
    });
    expect(appended).toEqual([documentLine(id, good)]);
  });

  test('a file with the ids of another one is listed, and does not replace it', async () => {
    const id = await createEncounter(service);
    const document = phi('document');
    const documents = folderOf({
      [`${id}/${document}.pdf`]: pdf('first'),
      [`${id}/lab_results/${document}.pdf`]: pdf('second'),
      [`${id}/referral/${document.replace('d', '%64')}.PDF`]: pdf('third'),
    });
    const appended = await appendedBy(service, async () => {
      const { code, stdout, cwd } = await importAll(['--documents', documents]);
      expect(code).toBe(1);
      expect(JSON.parse(stdout)).toMatchObject({ accepted: 1, rejected: 2 });
      const lines = readFileSync(join(cwd, readdirSync(cwd)[0] as string), 'utf8')
        .trimEnd()
        .split('\n');
      const error = `Its encounter and document id are those of ${id}/${document}.pdf.`;
      expect(lines.map((line) => JSON.parse(line).error)).toEqual([error, error]);
    });
    expect(appended).toEqual([documentLine(id, document)]);
    expect((await service.send(documentsPath(id, document))).text).toBe(pdf('first').toString());
  });
});
