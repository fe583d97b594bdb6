import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { Readable } from 'node:stream';
import { crc32, deflateRawSync } from 'node:zlib';
import { v7 as uuidv7 } from 'uuid';
import type { z } from 'zod';
import type { JsonObject, NewEvent, RecordedEvent } from '../../src/domain/events/event.ts';
import { documentStream } from '../../src/domain/events/streams.ts';
import { catalogEntry } from '../../src/domain/records/catalog.ts';
import { referenceOf } from '../../src/domain/records/schema/fields.ts';
import type { CatalogEntry, RecordFields } from '../../src/domain/records/schema/kind.ts';
import type { Appended, EventLog, ExpectedRevision } from '../../src/storage/eventLog.ts';
import type { Client } from './client.ts';
import { phi } from './output.ts';

/** Fresh records of each kind, valid and complete enough to be accepted; their values are noted as PHI. */
export const samples = {
  payer: () => ({ id: phi('payer'), name: phi('Aetna') }),
  patient: () => ({
    id: phi('patient'),
    first_name: phi('Maria'),
    last_name: phi('Lopez'),
    date_of_birth: '1984-02-29',
  }),
  provider: () => ({ id: phi('provider'), first_name: phi('Ada'), last_name: phi('Nguyen') }),
  facility: () => ({ id: phi('facility'), name: phi('Elm Street Clinic') }),
  encounter: (patientId: string) => ({ id: phi('encounter'), patient_id: patientId }),
};

/** A fresh record of any kind: its required fields, by its examples. It refers to the ids of `referred`, by kind. */
export function sampleOf({ kind, schema }: CatalogEntry, referred: Record<string, string>): RecordFields {
  const fields = Object.entries<z.ZodType>(schema.shape).filter(
    ([, field]) => !field.safeParse(undefined).success,
  );
  const sampleValue = (name: string, field: z.ZodType): unknown => {
    const reference = referenceOf(field);
    if (reference) return referred[reference.kind];
    const [example] = (field.meta()?.examples ?? []) as unknown[];
    const fresh = phi(name === 'id' ? kind : String(example));
    return field.safeParse(fresh).success ? fresh : example;
  };
  return Object.fromEntries(fields.map(([name, field]) => [name, sampleValue(name, field)])) as RecordFields;
}

/** Bytes that begin as a PDF does. */
export function pdf(content = 'hello'): Buffer {
  return Buffer.from(`%PDF-1.7\n${content}\n%%EOF\n`);
}

/** Makes a patient and an encounter; answers with the encounter's id. */
export async function createEncounter(client: Client, id = phi('encounter')): Promise<string> {
  const patient = samples.patient();
  await client.post('/integration/patients', patient);
  const { status } = await client.post('/integration/encounters', { id, patient_id: patient.id });
  if (status !== 200) throw new Error('the encounter was not made');
  return id;
}

/** The path of an encounter's documents, or of one of them. */
export function documentsPath(encounterId: string, documentId?: string): string {
  const collection = `/integration/encounters/${encodeURIComponent(encounterId)}/documents`;
  return documentId === undefined ? collection : `${collection}/${encodeURIComponent(documentId)}`;
}

interface Upload {
  document_id?: string;
  category?: string;
  content?: Buffer;
  filename?: string;
}

/** A whole form for an upload; the document's id is fresh unless given. */
export function documentForm(upload: Upload = {}): FormData {
  const {
    document_id = phi('document'),
    category = 'lab_results',
    content = pdf(),
    filename = 'report.pdf',
  } = upload;
  const form = new FormData();
  form.append('document_id', document_id);
  form.append('category', category);
  form.append('file', new Blob([new Uint8Array(content)]), filename);
  return form;
}

/** How `appendedBy` shows an event of a document. */
export function documentLine(encounterId: string, documentId: string, type = 'DocumentUploaded'): string {
  return `${documentStream('clinic', encounterId, documentId)}: ${type}`;
}

/** One part of a form, to the byte: its header lines and its content. */
export type Part = [headers: string, content: string | Buffer];

export const boundary = 'test-boundary';

export const part = {
  field: (name: string, value: string | Buffer): Part => [
    `Content-Disposition: form-data; name="${name}"`,
    value,
  ],
  file: (content: Buffer, filename = 'report.pdf', name = 'file'): Part => [
    `Content-Disposition: form-data; name="${name}"; filename="${filename}"\r\nContent-Type: application/octet-stream`,
    content,
  ],
};

/** The body of a form, to the byte, with the boundary `boundary`; `end` false leaves out what closes it. */
export function formBody(parts: Part[], end = true): Buffer {
  const pieces = parts.flatMap(([headers, content]) => [
    Buffer.from(`--${boundary}\r\n${headers}\r\n\r\n`),
    Buffer.from(content),
    Buffer.from('\r\n'),
  ]);
  return Buffer.concat(end ? [...pieces, Buffer.from(`--${boundary}--\r\n`)] : pieces);
}

export const formType = { 'content-type': `multipart/form-data; boundary=${boundary}` };

interface ZipOptions {
  /** Compress the entries; default false. */
  deflate?: boolean;
  /** Say sizes after the data, as programs that write to a pipe do; default false. */
  streamed?: boolean;
}

/** A ZIP file of these entries in this order. */
export function zip(entries: [name: string, content: string | Buffer][], options: ZipOptions = {}): Buffer {
  const { deflate = false, streamed = false } = options;
  const files: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const [name, content] of entries) {
    const raw = Buffer.from(content);
    const data = deflate ? deflateRawSync(raw) : raw;
    const sums = Buffer.alloc(12);
    sums.writeUInt32LE(crc32(raw), 0);
    sums.writeUInt32LE(data.length, 4);
    sums.writeUInt32LE(raw.length, 8);
    const common = Buffer.alloc(10);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(streamed ? 8 : 0, 2);
    common.writeUInt16LE(deflate ? 8 : 0, 4);
    const lengths = Buffer.alloc(4);
    lengths.writeUInt16LE(Buffer.byteLength(name), 0);
    const local = Buffer.concat([
      Buffer.from('PK\x03\x04'),
      common,
      streamed ? Buffer.alloc(12) : sums,
      lengths,
      Buffer.from(name),
      data,
      streamed ? Buffer.concat([Buffer.from('PK\x07\x08'), sums]) : Buffer.alloc(0),
    ]);
    const place = Buffer.alloc(14);
    place.writeUInt32LE(offset, 10);
    const made = Buffer.from([20, 0]);
    directory.push(Buffer.from('PK\x01\x02'), made, common, sums, lengths, place, Buffer.from(name));
    files.push(local);
    offset += local.length;
  }
  const listing = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06');
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(listing.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...files, listing, end]);
}

const MAIN = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml';
const contentTypes: [string, string] = [
  '[Content_Types].xml',
  `<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Override PartName="/word/document.xml" ContentType="${MAIN}"/></Types>`,
];
const relations: [string, string] = ['_rels/.rels', '<?xml version="1.0"?><Relationships/>'];
const text: [string, string] = ['word/document.xml', '<?xml version="1.0"?><document>Seen today.</document>'];

export interface DocxOptions extends ZipOptions {
  /** Where the list of content types stands: Word writes it first, LibreOffice and others last. */
  contentTypes?: 'first' | 'last';
  /** Entries between, such as pictures. */
  more?: [string, Buffer][];
}

/** A DOCX file, small but whole. */
export function docx(options: DocxOptions = {}): Buffer {
  const parts = [relations, ...(options.more ?? []), text];
  return zip(options.contentTypes === 'last' ? [...parts, contentTypes] : [contentTypes, ...parts], options);
}

export type Fields = Record<string, unknown> & { id: string };

/** An existing record of each kind that others refer to. */
export type Referred = Record<Exclude<SpecKind, 'encounter'>, string>;

/** Where each kind is sent and read (spec section 4). */
export const paths: Record<SpecKind, string> = {
  patient: '/integration/patients',
  payer: '/integration/payers',
  provider: '/integration/providers',
  facility: '/integration/facilities',
  encounter: '/integration/encounters',
};

/** The path of one record. */
export function pathOf(kind: SpecKind, id: string): string {
  return `${paths[kind]}/${encodeURIComponent(id)}`;
}

/** Makes one record of each kind that others refer to. */
export async function upsertReferred(client: Client): Promise<Referred> {
  const made = {
    payer: samples.payer(),
    patient: samples.patient(),
    provider: samples.provider(),
    facility: samples.facility(),
  };
  for (const [kind, record] of Object.entries(made)) {
    const { status } = await client.post(paths[kind as SpecKind], record);
    if (status !== 200) throw new Error(`the ${kind} was answered with ${status}`);
  }
  return {
    payer: made.payer.id,
    patient: made.patient.id,
    provider: made.provider.id,
    facility: made.facility.id,
  };
}

/** A fresh record with the required fields alone. */
export function minimal(kind: SpecKind, referred: Referred): Fields {
  return sampleOf(catalogEntry(kind), referred);
}

/** The record with one field set; a dotted field is set in an insurance object. `undefined` leaves the field out. */
export function withField(record: Fields, field: string, value: unknown, { payer }: Referred): Fields {
  const [outer, inner] = field.split('.') as [string, string | undefined];
  const set = inner === undefined ? value : { payer_id: payer, [inner]: value };
  return JSON.parse(JSON.stringify({ ...record, [outer]: set }));
}

/** Values that the field's row allows, all of them where the row lists them. */
export function allowedValues({ is, required }: FieldRow, referred: Referred): unknown[] {
  switch (is.type) {
    case 'id':
      return [phi('another-id')];
    case 'text':
      return required ? [phi('Text')] : [phi('Text'), ''];
    case 'date':
      return ['1984-02-29', '2026-03-14T09:30:00Z'];
    case 'boolean':
      return [true, false];
    case 'insurance':
      return [{ payer_id: referred.payer }];
    case 'reference':
      return [referred[is.to as keyof Referred]];
    case 'oneOf':
      return is.values;
    case 'digits':
      return ['0123456789'.slice(0, is.count), '9876543210'.slice(0, is.count)];
    case 'characters':
      return ['NE', 'zz', 'é1'].map((value) => value.padEnd(is.count).slice(0, is.count));
  }
}

const someNumber = 918_273_645;
const notText = [someNumber, true, ['array-element'], { key: 'object-value' }];

/** Values that the field's row rules out. */
export function refusedValues({ is, required }: FieldRow): unknown[] {
  switch (is.type) {
    case 'id':
    case 'reference':
      return [...notText, '', 'x'.repeat(256), 'line\nbreak', 'nul\u0000'];
    case 'text':
      return [...notText, 'x'.repeat(1001), ...(required ? [''] : [])];
    case 'date':
      return [...notText, '', phi('yesterday'), '2026-02-30', '14.03.2026'];
    case 'boolean':
      return ['true', 1, 0, '', ['array-element'], {}];
    case 'insurance':
      return [someNumber, phi('insurance'), true, ['array-element']];
    case 'oneOf':
      return [...notText, '', phi('unlisted'), is.values[0]?.toUpperCase()];
    case 'digits': {
      const fitting = '1357924680'.slice(0, is.count);
      return [
        ...notText,
        '',
        fitting.slice(1),
        `${fitting}1`,
        `${fitting.slice(1)}x`,
        ` ${fitting}`,
        '１２３４',
      ];
    }
    case 'characters':
      return [...notText, '', 'N', 'Nebraska'];
  }
}

const WAVE = 200;

/** Events of a workspace, a fresh one unless named, for tests that talk to an event log itself. */
export class TestWorkspace {
  readonly id: string;
  /** Prefix of its streams. */
  readonly prefix: string;

  constructor(id = `w${randomBytes(6).toString('hex')}`) {
    this.id = id;
    this.prefix = `${id}.`;
  }

  stream(name = randomBytes(6).toString('hex')): string {
    return this.prefix + name;
  }

  event(data: JsonObject = {}, type = `Tested-${this.id}`): NewEvent {
    const requestId = uuidv7();
    return {
      id: uuidv7(),
      type,
      data,
      metadata: {
        workspace: this.id,
        principal: { type: 'operator', id: 'test' },
        requestId,
        $correlationId: requestId,
        schemaVersion: 1,
      },
    };
  }

  append(
    log: EventLog,
    stream: string,
    data?: JsonObject,
    expected: ExpectedRevision = 'any',
  ): Promise<Appended> {
    return log.append(stream, this.event(data), expected);
  }

  /** Appends `count` events, of data `{n: 0}`, `{n: 1}` …, to the streams by turns, hundreds at once. */
  async appendMany(log: EventLog, count: number, streams: string[] = [this.stream()]): Promise<Appended[]> {
    const places: Appended[] = [];
    while (places.length < count) {
      const wave = Array.from({ length: Math.min(WAVE, count - places.length) }, (_, at) => {
        const n = places.length + at;
        return this.append(log, streams[n % streams.length] as string, { n });
      });
      places.push(...(await Promise.all(wave)));
    }
    return places;
  }
}

/** An event of a payer as a log gives it, made up where a test says nothing of it. */
export function payerEvent({
  id = 'event-1',
  workspace = 'clinic',
  ...more
}: Pick<RecordedEvent, 'stream' | 'revision' | 'position' | 'data'> &
  Partial<RecordedEvent> & { workspace?: string }): RecordedEvent {
  return {
    id,
    type: 'PayerUpserted',
    recordedAt: new Date(0).toISOString(),
    metadata: {
      workspace,
      principal: { type: 'operator', id: 'test' },
      requestId: id,
      $correlationId: id,
      schemaVersion: 1,
    },
    ...more,
  };
}

/** What a field may hold, as the specification's tables say it (section 2). */
export type FieldType =
  | { type: 'id' | 'text' | 'date' | 'boolean' | 'insurance' }
  | { type: 'reference'; to: string }
  | { type: 'oneOf'; values: string[] }
  | { type: 'digits' | 'characters'; count: number };

/** One row of a table; `field` is dotted inside an insurance object. */
export interface FieldRow {
  field: string;
  required: boolean;
  is: FieldType;
}

const id: FieldType = { type: 'id' };
const textRule: FieldType = { type: 'text' };
const date: FieldType = { type: 'date' };
const boolean: FieldType = { type: 'boolean' };
const insurance: FieldType = { type: 'insurance' };
const refersTo = (to: string): FieldType => ({ type: 'reference', to });
const oneOf = (...values: string[]): FieldType => ({ type: 'oneOf', values });
const digits = (count: number): FieldType => ({ type: 'digits', count });
const characters = (count: number): FieldType => ({ type: 'characters', count });

type SpecFields = Record<string, FieldType>;

function rows(required: SpecFields, optional: SpecFields): FieldRow[] {
  return [
    ...Object.entries(required).map(([field, is]) => ({ field, required: true, is })),
    ...Object.entries(optional).map(([field, is]) => ({ field, required: false, is })),
  ];
}

const address = {
  address_line_1: textRule,
  address_line_2: textRule,
  city: textRule,
  state: textRule,
  zip_code: textRule,
  country: textRule,
};

/** Section 2.2. */
export const insuranceRows = rows(
  { payer_id: refersTo('payer') },
  {
    policy_number: textRule,
    group_number: textRule,
    effective_date: date,
    termination_date: date,
    subscriber_id: textRule,
    subscriber_first_name: textRule,
    subscriber_last_name: textRule,
    subscriber_relationship: oneOf('self', 'spouse', 'child', 'other'),
    subscriber_date_of_birth: date,
    subscriber_address_line_1: textRule,
    subscriber_city: textRule,
    subscriber_state: textRule,
    subscriber_zip_code: textRule,
    subscriber_country: textRule,
  },
);

/** Sections 2.1 and 2.3 to 2.6. */
export const specTables = {
  patient: rows(
    { id, first_name: textRule, last_name: textRule, date_of_birth: date },
    {
      gender: oneOf('male', 'female', 'other'),
      phone: textRule,
      email: textRule,
      ssn_last4: digits(4),
      ...address,
      state: characters(2),
      primary_insurance: insurance,
      secondary_insurance: insurance,
      tertiary_insurance: insurance,
      // Beyond the specification.
      merged_into: refersTo('patient'),
    },
  ),
  payer: rows(
    { id, name: textRule },
    {
      payer_code: textRule,
      payer_type: textRule,
      contact_email: textRule,
      contact_phone: textRule,
      fax: textRule,
      website: textRule,
      address_line1: textRule,
      address_line2: textRule,
      city: textRule,
      state: textRule,
      zip_code: textRule,
      country: textRule,
    },
  ),
  provider: rows(
    { id, first_name: textRule, last_name: textRule },
    {
      npi: digits(10),
      email: textRule,
      phone: textRule,
      role: oneOf(
        'attending_physician',
        'rendering_provider',
        'referring_provider',
        'billing_provider',
        'operating_physician',
      ),
      taxonomy_code: textRule,
      specialty: textRule,
      ...address,
    },
  ),
  facility: rows(
    { id, name: textRule },
    {
      npi: digits(10),
      facility_type: oneOf(
        'hospital',
        'clinic',
        'ambulatory_surgery_center',
        'skilled_nursing_facility',
        'laboratory',
        'pharmacy',
        'home_health',
        'telehealth',
        'other',
      ),
      phone: textRule,
      fax: textRule,
      email: textRule,
      tax_id: textRule,
      clia_number: textRule,
      ...address,
    },
  ),
  encounter: rows(
    { id, patient_id: refersTo('patient') },
    {
      provider_id: refersTo('provider'),
      rendering_provider_id: refersTo('provider'),
      facility_id: refersTo('facility'),
      date_of_service: date,
      visit_type: oneOf(
        'office_visit',
        'telehealth',
        'inpatient',
        'outpatient',
        'emergency',
        'observation',
        'surgical',
      ),
      status: textRule,
      is_completed: boolean,
      // Beyond the specification.
      voided_at: date,
      void_reason: textRule,
    },
  ),
} satisfies Record<string, FieldRow[]>;

/** The kinds of the specification; the catalog may have more. */
export type SpecKind = keyof typeof specTables;
export const specKinds = Object.keys(specTables) as SpecKind[];

/** A kind's rows, followed by those of each insurance object in it. */
export function allRows(kind: SpecKind): FieldRow[] {
  const own = specTables[kind];
  const nested = own
    .filter(({ is }) => is.type === 'insurance')
    .flatMap(({ field }) => insuranceRows.map((row) => ({ ...row, field: `${field}.${row.field}` })));
  return [...own, ...nested];
}

const CHUNK = Buffer.alloc(256 * 1024, 'chartledger\n');

/** The bytes of a PDF of this size, without holding them. */
export function* pdfBytes(size: number): Generator<Buffer> {
  const start = Buffer.from('%PDF-1.7\n');
  yield start;
  for (let left = size - start.length; left > 0; left -= CHUNK.length) yield CHUNK.subarray(0, left);
}

/** The form around a file: what goes before its bytes, and what after. */
function around(documentId: string): [Buffer, Buffer] {
  const fields = [part.field('document_id', documentId), part.field('category', 'medical_record')];
  const whole = formBody([...fields, part.file(Buffer.alloc(0))]);
  const after = Buffer.from(`\r\n--${boundary}--\r\n`);
  return [whole.subarray(0, whole.length - after.length), after];
}

/** Begins an upload over HTTP: everything up to the file's first bytes has been sent. */
export function beginUpload(client: Client, encounterId: string, documentId: string): ClientRequest {
  const { hostname, port } = new URL(client.url);
  const headers = { ...formType, ...(client.key !== undefined && { 'x-api-key': client.key }) };
  const outgoing = request({
    hostname,
    port,
    path: documentsPath(encounterId),
    method: 'POST',
    headers,
    agent: false,
  });
  outgoing.on('error', () => undefined);
  outgoing.write(Buffer.concat([around(documentId)[0], Buffer.from('%PDF-1.7\n')]));
  return outgoing;
}

interface UploadAnswer {
  status: number;
  body: Record<string, unknown>;
}

async function readAnswer(res: IncomingMessage): Promise<UploadAnswer> {
  const chunks: Buffer[] = [];
  for await (const chunk of res) chunks.push(chunk);
  return { status: res.statusCode ?? 0, body: JSON.parse(Buffer.concat(chunks).toString()) };
}

/** Sends a small file and the end of an upload that was begun; answers with the status and body. */
export async function endUpload(outgoing: ClientRequest): Promise<UploadAnswer> {
  outgoing.end(Buffer.concat([...pdfBytes(1_000), around('')[1]]));
  const [res] = (await once(outgoing, 'response')) as [IncomingMessage];
  return readAnswer(res);
}

/** Uploads a PDF of this size out of a generator, with `Content-Length` or chunked; answers with the status and body. */
export function streamUpload(
  client: Client,
  encounterId: string,
  documentId: string,
  size: number,
  chunked: boolean,
): Promise<UploadAnswer> {
  const [before, after] = around(documentId);
  const { hostname, port } = new URL(client.url);
  const length = chunked ? {} : { 'content-length': String(before.length + size + after.length) };
  return new Promise((resolve, reject) => {
    const headers = { ...formType, ...length, 'x-api-key': client.key ?? '' };
    const outgoing = request(
      { hostname, port, path: documentsPath(encounterId), method: 'POST', headers, agent: false },
      (res) => resolve(readAnswer(res)),
    );
    outgoing.on('error', reject);
    const bytes = function* () {
      yield before;
      yield* pdfBytes(size);
      yield after;
    };
    Readable.from(bytes()).pipe(outgoing);
  });
}
