import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { projections } from '../../projections/index.ts';
import { modelName } from '../../projections/projection.ts';
import { openReadModels } from '../../src/server/openStorage.ts';

import { runCli, storesOf, temporaryFolder } from '../support/cli.ts';
import { search } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { storedFiles } from '../support/files.ts';
import { eventsOf } from '../support/log.ts';
import { phi } from '../support/output.ts';
import { documentForm, documentsPath, samples } from '../support/samples.ts';
import { onEveryEngine } from '../support/servers.ts';
import { appendedBy, type TestService } from '../support/service.ts';

const LONG_MS = 120_000;
const MOST_BYTES = 100_000_000;
const PATIENTS = '/integration/patients';
const ENCOUNTERS = '/integration/encounters';

onEveryEngine((start) => {
  const folder = temporaryFolder();
  let service: TestService;
  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.stop());

  const clinic = () => service.workspaceId('clinic');
  const cli = (...args: string[]) =>
    runCli([...args, '--workspace', clinic()], {
      env: { ...storesOf(service.config), DATA_DIR: folder },
    });
  const erase = (kind: string, id: string, ...more: string[]) =>
    cli('records', 'erase', kind, id, '--reason', 'Request 2026-117', ...more);
  const post = async (path: string, body: object) => {
    const answer = await service.post(path, body);
    expect(answer.status).toBe(200);
    return answer.body;
  };

  /** A patient of two versions with an encounter and a document, and the values that must go. */
  async function createPatient() {
    const secrets = { last_name: phi('Lopez'), address: phi('Street') };
    const patient = { ...samples.patient(), ...secrets };
    await post(PATIENTS, patient);
    await post(PATIENTS, { ...patient, last_name: phi('Diaz') });
    const encounter = { id: phi('encounter'), patient_id: patient.id };
    await post(ENCOUNTERS, encounter);
    const filename = `${phi('scan')}.pdf`;
    const form = documentForm({ filename });
    expect((await service.upload(documentsPath(encounter.id), form)).status).toBe(200);
    const documentId = form.get('document_id') as string;
    const values = [secrets.last_name, secrets.address, filename.slice(0, -4)];
    return { patient, encounter, documentId, values };
  }

  /** What the API tells of the workspace's events, as text. */
  const wholeStream = async () => {
    const { key } = await service.createKey('clinic', ['events']);
    return service.as(key).get('/events?limit=10000');
  };

  test(
    'a patient goes with encounters and documents, wherever it was, and says since when',
    async () => {
      const other = await createPatient();
      const { patient, encounter, documentId, values } = await createPatient();
      const files = storesOf(service.config).DOCUMENTS_URL?.startsWith('file:')
        ? storedFiles(service.config).objects.length
        : undefined;
      const appended = await appendedBy(service, async () => {
        const { code, stdout, stderr } = await erase('patient', patient.id, '--with-encounters');
        expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
        expect(stdout).toMatch(/patient +1 +2\n/);
        expect(stdout).toMatch(/encounter +1 +1\n/);
        expect(stdout).toMatch(/document +1 +1\n/);
      });
      const one = `clinic.encounter-${encodeURIComponent(encounter.id)}`;
      expect(appended.map((line) => line.replace(/.*: /, ''))).toEqual([
        'RecordErased',
        'RecordErased',
        'DocumentErased',
      ]);
      expect(appended[1]).toBe(`${one}: RecordErased`);

      // Within a second it is known to every process that serves requests.
      await eventually(async () => {
        expect((await service.get(documentsPath(encounter.id))).status).toBe(410);
        const refused = { id: phi('encounter'), patient_id: patient.id, provider_id: 'nobody' };
        const { body } = await service.post(ENCOUNTERS, refused);
        expect(body.details.map(({ kind }: { kind: string }) => kind)).toEqual(['patient', 'provider']);
      });
      for (const [path, title] of [
        [`${PATIENTS}/${patient.id}`, 'Patient'],
        [`${PATIENTS}/${patient.id}?version=1`, 'Patient'],
        [`${PATIENTS}/${patient.id}?as_of=2100-01-01`, 'Patient'],
        [`${ENCOUNTERS}/${encounter.id}`, 'Encounter'],
        [documentsPath(encounter.id), 'Encounter'],
        [documentsPath(encounter.id, documentId), 'Document'],
      ] as const) {
        const { status, body } = await service.get(path);
        expect({ path, status, body }).toMatchObject({
          path,
          status: 410,
          body: { code: 'gone', error: `${title} was erased.`, erased_at: expect.any(String) },
        });
      }
      const refused = await appendedBy(service, async () => {
        expect((await service.upload(documentsPath(encounter.id), documentForm())).status).toBe(404);
        expect((await service.delete(documentsPath(encounter.id, documentId))).status).toBe(404);
        const orphan = await service.post(ENCOUNTERS, { id: phi('encounter'), patient_id: patient.id });
        expect(orphan.body).toMatchObject({ code: 'reference_not_found' });
      });
      expect(refused).toEqual([]);

      for (const [id, found] of [
        [patient.id, []],
        [encounter.id, []],
        [documentId, []],
        [other.patient.id, [other.patient.id]],
      ] as const) {
        const { items } = (await search(service, { q: id })).body;
        expect([id, items.map((item: { id: string }) => item.id)]).toEqual([id, found]);
      }
      const list = await service.get(`${PATIENTS}?limit=1000`);
      const ids = list.body.items.map(({ id }: { id: string }) => id);
      expect(ids).toContain(other.patient.id);
      expect(ids).not.toContain(patient.id);
      const history = await service.get(`${PATIENTS}/${patient.id}/history`);
      expect(history.body.items).toMatchObject([{ version: 3, outcome: 'erased', changes: [] }]);
      const files2 = await service.get(`${documentsPath(encounter.id, documentId)}/history`);
      expect(files2.body.items).toMatchObject([{ version: 2, type: 'DocumentErased', filename: null }]);

      const stream = await wholeStream();
      const told = eventsOf(stream).filter(({ subject }) => subject === `patient/${patient.id}`);
      expect(told).toMatchObject([
        {
          type: 'chartledger.patient.erased.v1',
          data: { version: 3, sent: { id: patient.id }, changed: [] },
        },
      ]);
      const csv = join(folder, 'all.csv');
      expect((await cli('export', '--format', 'csv', '--out', csv)).code).toBe(0);
      for (const value of values) {
        expect(stream.text).not.toContain(value);
        expect(readFileSync(csv, 'utf8')).not.toContain(value);
        // The search keeps the words of a value apart, without their case.
        for (const { name, bytes } of storedBytes())
          expect([name, bytes.includes(value), bytes.includes(value.slice(-8))]).toEqual([
            name,
            false,
            false,
          ]);
      }
      if (files !== undefined) expect(storedFiles(service.config).objects).toHaveLength(files - 1);
      expect((await service.get(`${PATIENTS}/${other.patient.id}`)).body.record.last_name).toMatch(/^Diaz/);
    },
    LONG_MS,
  );

  /**
   * All files of the embedded engines, read by another process: when this one closes a file, it loses SQLite's locks on it, and the
   * next process that closes the database deletes the write-ahead log, which is in use (https://sqlite.org/howtocorrupt.html, 2.2).
   */
  function storedBytes(): { name: string; bytes: Buffer }[] {
    const { eventLogUrl } = service.config;
    if (!eventLogUrl.startsWith('sqlite:')) return [];
    const data = eventLogUrl.slice('sqlite:'.length).replace(/[^/]*$/, '');
    return readdirSync(data, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((name) => ({ name, bytes: execFileSync('cat', [name], { maxBuffer: MOST_BYTES }) }));
  }

  test('what others refer to is not erased, and the answer says how many do', async () => {
    const { patient } = await createPatient();
    await post(ENCOUNTERS, { id: phi('encounter'), patient_id: patient.id });
    const appended = await appendedBy(service, async () => {
      const { code, stderr } = await erase('patient', patient.id);
      expect(code).toBe(1);
      expect(stderr).toContain('2 encounters still refer to it');
      expect((await erase('patient', 'nobody')).stderr).toContain('Patient not found');
      expect((await cli('records', 'erase', 'patient', patient.id, '--reason', ' ')).stderr).toContain(
        'reason',
      );
    });
    expect(appended).toEqual([]);
    expect((await service.get(`${PATIENTS}/${patient.id}`)).status).toBe(200);
  });

  test('the id may be used again: the record is new, and its version goes on', async () => {
    const payer = samples.payer();
    const path = '/integration/payers';
    await post(path, payer);
    expect((await erase('payer', payer.id)).code).toBe(0);
    expect((await erase('payer', payer.id)).stderr).toContain('was erased');
    // It has nothing in memory: for a moment those that were there take the payer to be there.
    await service.restart();
    const stale = await service.post(path, payer, { 'if-match': '"2"' });
    expect(stale.status).toBe(412);
    const created = await service.post(path, { id: payer.id, name: 'Anew' }, { 'if-none-match': '*' });
    expect(created.body).toMatchObject({ outcome: 'created', version: 3 });
    const again = await service.post(path, payer, { 'if-none-match': '*' });
    expect(again.status).toBe(412);
    expect((await service.get(`${path}/${payer.id}`)).body).toMatchObject({
      version: 3,
      record: { id: payer.id, name: 'Anew' },
    });
    const history = await service.get(`${path}/${payer.id}/history`);
    expect(history.body.items).toMatchObject([
      { version: 3, outcome: 'created' },
      { version: 2, outcome: 'erased' },
    ]);
    expect((await erase('payer', payer.id)).code).toBe(0);
    await service.restart();
    const third = await post(path, payer);
    expect(third).toMatchObject({ outcome: 'created', version: 5 });
    const list = await service.get(`${path}?limit=1000`);
    const listed = list.body.items.filter(({ id }: { id: string }) => id === payer.id);
    expect(listed).toMatchObject([{ version: 5 }]);
  });

  test('heads saved before and after hold, and exports; what was erased is told', async () => {
    const head = join(folder, 'before.json');
    const { patient } = await createPatient();
    expect((await cli('verify', '--save-head', head)).code).toBe(0);
    expect((await erase('patient', patient.id, '--with-encounters')).code).toBe(0);
    const verified = await cli('verify', '--head', head, '--save-head', join(folder, 'after.json'));
    expect({ code: verified.code, stderr: verified.stderr }).toEqual({ code: 0, stderr: '' });
    expect(verified.stdout).toMatch(/events erased, as tombstones say:\n/);
    expect(verified.stdout).toMatch(
      new RegExp(`\\.patient-${patient.id}, 2 versions, by operator \\S+: Request 2026-117`),
    );
    expect((await cli('verify', '--head', join(folder, 'after.json'))).code).toBe(0);
    const out = join(folder, 'whole.ndjson');
    const old = await service.get(`${PATIENTS}/${patient.id}/history/1/proof`);
    expect(old).toMatchObject({ status: 410, body: { code: 'gone' } });
    expect((await cli('export', '--format', 'ndjson', '--out', out)).code).toBe(0);
    const pem = join(folder, 'key.pem');
    const env = { ...storesOf(service.config), DATA_DIR: folder };
    writeFileSync(pem, (await runCli(['secrets', 'show', 'signing'], { env })).stdout);
    const offline = () => runCli(['verify', out, '--public-key', pem], { env: {} });
    expect((await offline()).code).toBe(0);
    expect(readFileSync(out, 'utf8')).toContain('"erased":true');
  });

  test('a certificate says what was erased, and is checked offline', async () => {
    const { patient, encounter } = await createPatient();
    const [file, pem] = [join(folder, 'certificate.json'), join(folder, 'key.pem')];
    const env = { ...storesOf(service.config), DATA_DIR: folder };
    writeFileSync(pem, (await runCli(['secrets', 'show', 'signing'], { env })).stdout);
    // Again while the tree lags, as the command asks for.
    await eventually(async () => {
      const erased = await erase('patient', patient.id, '--with-encounters', '--certificate', file);
      expect(erased).toMatchObject({ code: 0, stdout: expect.not.stringContaining('cannot be created yet') });
    }, LONG_MS);
    const check = () => runCli(['verify', file, '--public-key', pem], { env: {} });
    const held = await check();
    expect({ code: held.code, stderr: held.stderr }).toEqual({ code: 0, stderr: '' });
    expect(held.stdout).toContain('3 erasures in ');
    expect(held.stdout).toContain(`.encounter-${encounter.id}, 1 version, by operator `);
    const text = readFileSync(file, 'utf8');
    for (const [from, to, said] of [
      ['2026-117', '2026-118', 'signature'],
      ['"index": ', '"index": 1', 'signature'],
      ['"index": ', '"more": 1, "index": ', 'tombstones.0.more does not have the form'],
      ['"key_id"', '"key"', 'does not have the form'],
    ] as const) {
      writeFileSync(file, text.replace(from, to));
      const refused = await check();
      expect(refused.code).toBe(1);
      expect(refused.stderr).toContain('The certificate is not valid: ');
      expect(refused.stderr).toContain(said);
    }
  });

  test('read models built anew hold the same tree', async () => {
    const head = join(folder, 'kept.json');
    expect((await cli('verify', '--save-head', head)).code).toBe(0);
    const readModels = await openReadModels(service.config.readModelUrl);
    for (const projection of projections) await readModels.drop(modelName(projection));
    await readModels.close();
    await eventually(async () => expect((await service.get(PATIENTS)).status).toBe(200));
    await eventually(async () => {
      const { code, stdout } = await cli('verify', '--head', head);
      expect({ code, stdout }).toEqual({
        code: 0,
        stdout: expect.stringMatching(/ [1-9][\d,]* of them against/),
      });
    });
  });
});
