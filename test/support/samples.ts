import type { z } from 'zod';
import { referenceOf } from '../../src/domain/records/schema/fields.ts';
import type { CatalogEntry, RecordFields } from '../../src/domain/records/schema/kind.ts';

import { phi } from './phi.ts';

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
