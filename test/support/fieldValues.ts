import { catalogEntry } from '../../src/domain/records/catalog.ts';
import type { Client } from './client.ts';
import { phi } from './phi.ts';
import { sampleOf, samples } from './samples.ts';
import type { FieldRow, SpecKind } from './specTables.ts';

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
