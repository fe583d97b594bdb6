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

/** Bytes that begin as a PDF does. */
export function pdf(content = 'hello'): Buffer {
  return Buffer.from(`%PDF-1.7\n${content}\n%%EOF\n`);
}
