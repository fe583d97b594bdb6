import type { z } from 'zod';
import { inTable } from '../../sources/mapping.ts';
import type { CodeableConcept, codingSchema } from './dataTypes.ts';

export type Coding = z.infer<typeof codingSchema>;

/** What a source's table has for the first of such codes that it has, preceded by their system or alone. */
export function ofCodes<Entry>(
  entries: Readonly<Record<string, Entry>> | undefined,
  codings: readonly Coding[],
): Entry | undefined {
  if (entries === undefined) return undefined;
  for (const { system, code } of codings) {
    if (code === undefined) continue;
    const found = inTable(entries, `${system}|${code}`) ?? inTable(entries, code);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The codes of concepts, in their order. */
export function codingsOf(concepts: readonly (CodeableConcept | undefined)[]): Coding[] {
  return concepts.flatMap((concept) => concept?.coding ?? []);
}
