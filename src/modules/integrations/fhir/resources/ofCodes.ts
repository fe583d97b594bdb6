import type { z } from 'zod';
import { inTable } from '../../mapping.ts';
import type { CodeableConcept, codingSchema } from './dataTypes.ts';

export type Coding = z.infer<typeof codingSchema>;

/**
 * Returns the entry of a source's table for the first of these codes that it has, with their system as prefix or
 * without.
 */
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

/** Returns the codes of concepts, in order. */
export function codingsOf(concepts: readonly (CodeableConcept | undefined)[]): Coding[] {
  return concepts.flatMap((concept) => concept?.coding ?? []);
}
