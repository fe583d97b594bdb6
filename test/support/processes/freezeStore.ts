import { createHash, generateKeyPairSync } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { destination } from 'pino';
import type { NewEvent, RecordedEvent } from '../../../src/domain/events/event.ts';
import { eventTypes } from '../../../src/domain/events/upcasting.ts';
import { loadConfig } from '../../../src/platform/config.ts';
import { createLogger } from '../../../src/platform/logging.ts';
import { openEventLog } from '../../../src/server/openStorage.ts';
import { startService } from '../../../src/server/service.ts';
import { runCli } from '../cli.ts';
import { Client } from '../client.ts';
import { eventually } from '../eventually.ts';
import { type FrozenStore, frozenPaths, streamLines } from '../files.ts';
import { documentForm, documentsPath, pdf } from '../samples.ts';
import { readAll } from '../service.ts';

/**
 * Made the store in `test/fixtures/stores/0.1.0`: `node test/support/processes/freezeStore.ts FOLDER`, run once, by the release that it is of. A later
 * release that changes what is stored gets a store beside it, and none is ever made anew: they stand for those of users.
 */
const [to = ''] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'chartledger-freeze-'));
const { privateKey } = generateKeyPairSync('ed25519');
const settings: Record<string, string> = {
  SIGNING_KEY: privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64'),
  ...Object.fromEntries(
    ['DEIDENTIFICATION_KEY', 'WEBHOOK_SECRETS_KEY', 'TOTP_SECRETS_KEY'].map((name) => [
      name,
      createHash('sha256').update(name).digest('base64'),
    ]),
  ),
};
const places = { PUBLIC_URL: 'https://chartledger.example.com' };
const env = {
  ...settings,
  DATA_DIR: folder,
  PORT: '0',
  RATE_LIMIT_PER_MINUTE: '0',
  REQUEST_THREADS: '1',
  ...places,
};
const service = await startService(loadConfig(env), createLogger('silent', destination(2)));
const cli = async (...args: string[]) => {
  const { code, stdout, stderr } = await runCli(args, { env });
  if (code !== 0) throw new Error(`chartledger ${args.join(' ')}: ${stderr}`);
  return stdout;
};
const inClinic = (...args: string[]) => cli(...args, '--workspace', 'clinic');
const sent = async (answer: Promise<{ status: number; text: string }>) => {
  const { status, text } = await answer;
  if (status !== 200) throw new Error(`${status}: ${text}`);
};

const permissions = ['--permissions', 'write,read,events,webhooks'];
const { id: keyId, key } = JSON.parse(
  await inClinic('keys', 'create', '--create-workspace', '--name', 'EMR', '--json', ...permissions),
);
const client = new Client(service.url, key);
const post = (path: string, body: object) => sent(client.post(path, body));

// What an EMR sends, changes and takes away.
await inClinic('sources', 'set', 'lab', '--format', 'hl7v2', '--patient-authority', 'HOSP');
await post('/integration/payers', { id: 'payer-1', name: 'Aetna', payer_code: '60054' });
await post('/integration/payers', { id: 'payer-gone', name: 'Gone' });
await post('/integration/providers', {
  ...{ id: 'provider-1', first_name: 'Ada', last_name: 'Nguyen', npi: '1234567893' },
  ...{ taxonomy_code: '207Q00000X', role: 'attending_physician' },
});
await post('/integration/facilities', { id: 'facility-1', name: 'Elm Street Clinic', npi: '1093817462' });
const patient = { id: 'patient/1', first_name: 'María', last_name: 'López', date_of_birth: '1984-02-29' };
await post('/integration/patients', patient);
await post('/integration/patients', {
  ...patient,
  ...{ phone: '+1 402 555 0143', city: 'Omaha', state: 'NE' },
  primary_insurance: { payer_id: 'payer-1', policy_number: 'W123456789' },
});
const encounter = {
  ...{ id: 'encounter-1', patient_id: patient.id, provider_id: 'provider-1' },
  ...{ facility_id: 'facility-1', date_of_service: '2026-03-14T09:30:00Z', visit_type: 'office_visit' },
};
await post('/integration/encounters', encounter);
await post('/integration/encounters', { ...encounter, is_completed: true });
const documents = documentsPath(encounter.id);
const upload = (document_id: string, content: string) =>
  sent(client.upload(documents, documentForm({ document_id, content: pdf(content) })));
await upload('document-1', 'first');
await upload('document-1', 'second');
await upload('document-2', 'removed');
await sent(client.delete(documentsPath(encounter.id, 'document-2')));
const message = readFileSync('test/fixtures/hl7/adt-a28-person.hl7');
const headers = { 'content-type': 'application/hl7-v2' };
await sent(client.send('/hl7/v2', { method: 'POST', headers, body: message }));
await post(`/integration/encounters/${encounter.id}/billed`, { claim_id: 'claim-1' });
await post('/integration/providers', { id: 'provider-1', first_name: 'Ada', last_name: 'Brook' });
await post(`/integration/encounters/${encounter.id}/billed/acknowledge`, { reason: 'A new name' });

// An encounter that is erased again, with its document and what was billed of it.
await post('/integration/encounters', { ...encounter, id: 'encounter-2', is_completed: true });
await sent(client.upload(documentsPath('encounter-2'), documentForm({ document_id: 'document-3' })));
await post('/integration/encounters/encounter-2/billed', { claim_id: 'claim-2' });

// What operators do.
await inClinic('readiness', 'set', 'facility_tax_id', 'warns');
await inClinic('readiness', 'set-filing-limit', '365');
await inClinic('readiness', 'require-document', 'inpatient', 'discharge_summary');
const { id: holdId } = JSON.parse(
  await inClinic('holds', 'create', 'patient', patient.id, '--reason', 'Case 2026-17', '--json'),
);
await inClinic('holds', 'release', holdId, '--reason', 'Case closed');
await inClinic('records', 'erase', 'payer', 'payer-gone', '--reason', 'Asked for');
await inClinic('records', 'erase', 'encounter', 'encounter-2', '--reason', 'Asked for');
await cli('keys', 'set', keyId, '--rate-limit', '6000/min');
const hook = ['--url', 'https://billing.example.com/hooks', '--payload', 'full', '--json'];
const { id: webhook } = JSON.parse(await inClinic('webhooks', 'create', ...hook));
await inClinic('webhooks', 'set', webhook, '--state', 'disabled');
await inClinic('sources', 'delete', 'lab');

// The rest is what people do on pages and what happens by itself: events of this release as its tests keep them.
const log = await openEventLog(loadConfig(env).eventLogUrl);
interface Fixture {
  given: string[];
  event: RecordedEvent;
}
const isThere = async (type: string) => (await readAll(log)).some((event) => event.type === type);
const append = async (type: string) => {
  const read = (name: string): Fixture =>
    JSON.parse(readFileSync(`test/fixtures/events/${name}.json`, 'utf8'));
  const { given, event } = read(`${type}.v1`);
  for (const one of [...given.map((name) => read(name).event), event]) {
    if (one !== event && (await isThere(one.type))) continue;
    const { id, type: name, data, metadata, stream }: NewEvent & { stream: string } = one;
    await log.append(stream, { id, type: name, data, metadata }, 'any');
  }
};
await eventually(async () => {
  if (!(await isThere('EncounterReadinessChanged'))) throw new Error('readiness is not told yet');
}, 60_000);
for (const type of eventTypes()) if (!(await isThere(type))) await append(type);

// What this release serves of it, and how it proves it.
const answers: FrozenStore['answers'] = {};
for (const path of frozenPaths) {
  await eventually(async () => {
    const { status, body } = await client.get(path);
    if (status !== 200) throw new Error(`${path}: ${status}`);
    answers[path] = body;
  }, 60_000);
}
const events = streamLines(await client.get('/events?limit=1000', { accept: 'application/x-ndjson' }));
const heads: FrozenStore['heads'] = {};
for (const workspace of ['clinic', '*']) {
  const place = join(folder, 'head.json');
  await cli('verify', '--workspace', workspace, '--save-head', place);
  heads[workspace] = JSON.parse(readFileSync(place, 'utf8'));
  rmSync(place);
}
const types = [...new Set((await readAll(log)).map(({ type }) => type))].sort();
await log.close();
await service.stop();

mkdirSync(to, { recursive: true });
for (const name of ['events.db', 'state.db']) {
  const database = new DatabaseSync(join(folder, name));
  database.exec(`VACUUM INTO '${join(to, name)}'`);
  database.close();
}
for (const name of readdirSync(folder).filter((one) => !/\.db|session-secret/.test(one))) {
  cpSync(join(folder, name), join(to, name), { recursive: true });
}
const frozen: FrozenStore = { settings: { ...settings, ...places }, key, types, answers, events, heads };
writeFileSync(join(to, 'frozen.json'), `${JSON.stringify(frozen, undefined, 2)}\n`);
rmSync(folder, { recursive: true });
process.exit();
