import { gzipSync } from 'node:zlib';
import { MAX_VALUES } from '../../../src/api/server/body.ts';
import { documentsPath, docx } from '../../../test/support/samples.ts';

import { makeStores } from '../../bench/support/chartledger.ts';
import { residentMegabytes, threadUsages } from '../../bench/support/processUsage.ts';
import type { Outcome, Scenario, Torture } from '../scenario.ts';
import { send } from '../support/send.ts';
import { TorturedService } from '../support/TorturedService.ts';

const MB = 1024 * 1024;
/** How much of each kind is sent at once, as it is unpacked. */
const TOTAL_MB = 64;
/** What that may cost. */
const MOST_MEMORY_MB = 200;
const MOST_SECONDS = 1;
const MEMORY_EVERY_MS = 5;
/** An empty object and its comma count as two values. */
const MOST_OBJECTS = MAX_VALUES / 2 - 10;

/** A body that is small in bytes, or soon refused, and costs far more where it is not bounded by what it says. */
interface NastyBody {
  path: string;
  type: string;
  content: Buffer;
}

const ENCOUNTER = 'nasty-encounter';
const mllp = 'MSH|^~\\&|A|B|C|D|20260314||ADT^A01|1|P|2.5.1\r';

/** Fills a body of that many bytes with repetitions of a piece. */
function filled(bytes: number, before: string, piece: string, after: string): Buffer {
  const count = Math.floor((bytes - before.length - after.length) / piece.length);
  return Buffer.from(`${before}${piece.repeat(count)}${after}`);
}

const json = (content: Buffer, path = '/integration/payers'): NastyBody => ({
  path,
  type: 'application/json',
  content,
});
const fhir = (content: Buffer): NastyBody => ({ path: '/fhir', type: 'application/fhir+json', content });
const bulk = (content: Buffer): NastyBody => ({
  path: '/fhir/$import',
  type: 'application/fhir+ndjson',
  content,
});
const hl7 = (content: Buffer): NastyBody => ({ path: '/hl7/v2', type: 'application/hl7-v2', content });

/** Repeats a line up to that many bytes. */
function lines(bytes: number, line: Buffer): Buffer {
  const whole = Buffer.concat([line, Buffer.from('\n')]);
  return Buffer.concat(Array.from({ length: Math.floor(bytes / whole.length) }, () => whole));
}

function multipart(file: Buffer, more = ''): NastyBody {
  const part = (head: string) => `--nasty\r\nContent-Disposition: form-data; ${head}\r\n\r\n`;
  const before = `${more}${part('name="file"; filename="a.docx"')}`;
  const content = Buffer.concat([Buffer.from(before), file, Buffer.from('\r\n--nasty--\r\n')]);
  return { path: documentsPath(ENCOUNTER), type: 'multipart/form-data; boundary=nasty', content };
}

const patient = '{"resourceType":"Patient","id":"1","x":[';
const distinct = (count: number) => Array.from({ length: count }, (_, n) => `"k${n}":{}`).join();

/** By name; made when they are sent. */
const nastyBodies: Record<string, () => NastyBody> = {
  'JSON: brackets': () => json(filled(MB, '', '[', '')),
  'JSON: empty objects': () => json(filled(MB, '[', '{},', '{}]')),
  'JSON: as many values as a body may have': () =>
    json(Buffer.from(`{"id":"x","x":[${'{},'.repeat(MOST_OBJECTS)}{}],"y":"${'y'.repeat(MB - 40_000)}"}`)),
  'JSON: distinct names': () =>
    json(Buffer.from(`{"id":"x",${distinct(MOST_OBJECTS)},"y":"${'y'.repeat(MB - 80_000)}"}`)),
  'JSON: escapes': () => json(filled(MB, '{"id":"x","x":"', '\\ud83d\\ude00', '"}')),
  'batch: empty objects in a line': () => ({
    ...json(
      lines(TOTAL_MB * MB, filled(MB - 1, '{"kind":"payer","record":[', '{},', '{}]}')),
      '/integration/batch',
    ),
    type: 'application/x-ndjson',
  }),
  'batch: as many values as lines may have': () => ({
    ...json(
      lines(TOTAL_MB * MB, Buffer.from(`{"kind":"payer","x":[${'1,'.repeat(MAX_VALUES - 10)}1]}`)),
      '/integration/batch',
    ),
    type: 'application/x-ndjson',
  }),
  'batch: blanks': () => ({
    ...json(lines(TOTAL_MB * MB, filled(MB - 1, '', ' ', '')), '/integration/batch'),
    type: 'application/x-ndjson',
  }),
  'FHIR: brackets': () => fhir(filled(16 * MB, '{"resourceType":"Bundle","type":', '[', '')),
  'FHIR: empty objects': () => fhir(filled(16 * MB, '{"resourceType":"Bundle","x":[', '{},', '{}]}')),
  'FHIR: as many values as a body may have': () =>
    fhir(
      Buffer.from(`{"resourceType":"Bundle","x":[${'{},'.repeat(249_990)}{}],"y":"${'y'.repeat(14 * MB)}"}`),
    ),
  'Bulk Data: empty objects': () => bulk(lines(TOTAL_MB * MB, filled(16 * MB - 1, patient, '{},', '{}]}'))),
  'Bulk Data: as many values as a line may have': () =>
    bulk(lines(9 * MB, Buffer.from(`${patient}${'{},'.repeat(49_990)}{}]}`))),
  'Bulk Data: long texts': () => bulk(lines(TOTAL_MB * MB, filled(16 * MB - 1, `${patient}"`, 'é', '"]}'))),
  'HL7: line ends': () => hl7(filled(8 * MB, mllp, 'A\r', '')),
  'HL7: separators': () => hl7(lines(8 * MB, filled(MB - 1, `${mllp}PID|1||`, '|', '\r'))),
  'HL7: repetitions': () => hl7(lines(8 * MB, filled(MB - 1, `${mllp}PID|1||`, '1~', '\r'))),
  'HL7: escapes': () => hl7(lines(8 * MB, filled(MB - 1, `${mllp}PID|1||1||`, '\\.br\\', '\r'))),
  'ZIP: 100,000 entries': () => {
    const more = Array.from({ length: 60_000 }, (_, n): [string, Buffer] => [`p/${n}`, Buffer.alloc(0)]);
    return multipart(docx({ contentTypes: 'last', more }));
  },
  'multipart: beginnings of boundaries': () => multipart(filled(16 * MB, '', '\r\n--nast', '')),
};

/** Sends bodies whose cost is not in their bytes. */
export const bodies: Scenario = {
  name: 'bodies',
  description: `Bodies of JSON, batches, FHIR, HL7, ZIP and forms that are made to cost as much as possible: ${TOTAL_MB} MB of each kind concurrently, as they are unpacked, compressed where that is possible. They may cost ${MOST_MEMORY_MB} MB of memory and ${MOST_SECONDS} s of the thread that answers requests, and none may end the service.`,
  async run(torture: Torture): Promise<Outcome> {
    const figures: Outcome['figures'] = [];
    const failures: string[] = [];
    const stores = await makeStores(torture, { RATE_LIMIT_PER_MINUTE: '0' });
    for (const [name, make] of Object.entries(nastyBodies)) {
      const { memory, seconds, statuses } = await cost(stores, make());
      const figure = `${Math.round(memory)} MB, ${seconds.toFixed(2)} s, ${statuses.join(', ')}`;
      torture.progress(`${name}: ${figure}`);
      figures.push([name, figure]);
      if (memory > MOST_MEMORY_MB) failures.push(`${name}: ${Math.round(memory)} MB`);
      if (seconds > MOST_SECONDS) failures.push(`${name}: ${seconds.toFixed(2)} s`);
      if (statuses.some((status) => status === 0 || status === 500)) failures.push(`${name}: ${statuses}`);
    }
    return { figures, failures };
  },
};

/** Measures what bodies cost a service that was just started, and has answered. */
async function cost(
  { env, key: { key } }: Awaited<ReturnType<typeof makeStores>>,
  { path, type, content }: NastyBody,
): Promise<{ memory: number; seconds: number; statuses: number[] }> {
  const service = new TorturedService(env);
  const url = await service.start();
  const authorized = { 'x-api-key': key };
  const upsert = (plural: string, record: object) => {
    const headers = { ...authorized, 'content-type': 'application/json' };
    const body = JSON.stringify(record);
    return send(url, false, { method: 'POST', path: `/integration/${plural}`, headers, body });
  };
  await upsert('patients', {
    ...{ id: 'nasty-patient', first_name: 'Maria', last_name: 'Lopez', date_of_birth: '1984-02-29' },
  });
  await upsert('encounters', { id: ENCOUNTER, patient_id: 'nasty-patient' });
  const isForm = type.startsWith('multipart');
  const headers = {
    ...{ ...authorized, 'content-type': type },
    ...(!isForm && { 'content-encoding': 'gzip' }),
  };
  const body = isForm ? content : gzipSync(content);
  const count = Math.max(1, Math.floor((TOTAL_MB * MB) / content.length));
  const before = { memory: residentMegabytes(service.pid).all, thread: mainThread(service.pid) };
  let most = before.memory;
  const watch = setInterval(() => {
    most = Math.max(most, residentMegabytes(service.pid).all);
  }, MEMORY_EVERY_MS);
  const answers = await Promise.all(
    Array.from({ length: count }, () => send(url, false, { method: 'POST', path, headers, body })),
  );
  clearInterval(watch);
  const seconds = (mainThread(service.pid) - before.thread) / 1_000_000;
  const { status } = await send(url, false, { path: '/healthz' });
  await service.end();
  const statuses = [...new Set([...answers.map((answer) => answer.status), ...(status === 200 ? [] : [0])])];
  return { memory: most - before.memory, seconds, statuses };
}

/** Returns the processor time of the thread that answers requests, in microseconds. */
function mainThread(pid: number): number {
  return threadUsages(pid).get(String(pid))?.microseconds ?? Number.NaN;
}
