import type { Operation } from '../operation.ts';
import type { MappingContext } from './MappingContext.ts';
import { patientIdIn, patientIdTold, patientOf } from './patient.ts';
import type { Segment } from './Segment.ts';

interface Survivor {
  segment: Segment;
  id: string | undefined;
}

/**
 * Merges patients: each MRG names the one that ends, the preceding PID the one that survives (HL7 v2.5.1, 3.3.40).
 */
export function merge(context: MappingContext): Operation[] {
  if (context.message.first('PID') === undefined) {
    context.refuse('100', 'PID^1', 'Send a PID segment.');
    return [];
  }
  const operations: Operation[] = [];
  const merges = new Set<Segment | undefined>();
  let survivor: Survivor | undefined;
  for (const segment of context.message.segments) {
    if (segment.name === 'PID') {
      const id = patientIdIn(context, segment, 3);
      survivor = { segment, id };
      if (id !== undefined) operations.push(...patientOf(context, id, 'ifNamed', segment));
    } else if (segment.name === 'MRG') {
      merges.add(survivor?.segment);
      const id = patientIdIn(context, segment, 1);
      if (survivor === undefined) context.refuse('100', segment.at(), 'Send a PID segment before it.');
      else operations.push(...mergeOf(context, segment, id, survivor));
    }
  }
  for (const pid of context.message.all('PID')) {
    if (!merges.has(pid)) context.refuse('100', pid.at(), 'Send an MRG segment after it.');
  }
  return operations;
}

function mergeOf(
  context: MappingContext,
  segment: Segment,
  id: string | undefined,
  { id: into, segment: pid }: Survivor,
): Operation[] {
  if (id === undefined || into === undefined) return [];
  if (id !== into) {
    const origins = { merged_into: patientIdTold(context, into, pid).origin };
    return [{ type: 'merge', id, into, at: segment.at(), origins }];
  }
  context.warn('204', segment.at(1), 'This is the surviving patient, so nothing is merged.');
  return [];
}
