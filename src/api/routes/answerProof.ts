import type { z } from 'zod';
import { validate } from '../../domain/records/schema/validate.ts';
import { type AccessRecorded, recordAccess } from '../../modules/audit/recordAccess.ts';
import { eventOfVersion, proveEvent } from '../../modules/integrity/proveEvent.ts';
import { sentHeads } from '../../modules/integrity/sentHeads.ts';
import type { QueryPorts } from '../../modules/records/queries/readRecord.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { StateStore } from '../../storage/stateStore.ts';
import { callerOf, type Exchange } from '../server/exchange.ts';
import { proofQuerySchema, type proofSchema } from './proofSchemas.ts';

export type ProofPorts = QueryPorts & { stateStore: StateStore };

/** What is to be proved: its stream, what people call it, and what the audit trail says. */
interface ProofSubject {
  stream: string;
  title: string;
  access: AccessRecorded;
}

/**
 * Responds with the proof of a version, with a signed head where one was sent that covers the version. Recorded in
 * the audit trail.
 */
export async function answerProof(
  { eventLog, readModels, stateStore }: ProofPorts,
  exchange: Exchange,
  { stream, title, access }: ProofSubject,
): Promise<{ body: z.output<typeof proofSchema> }> {
  const caller = callerOf(exchange);
  const { workspace } = caller;
  const version = pathVersion(exchange, title);
  const { tree_size } = validate(proofQuerySchema, exchange.req.query);
  const recorded = await eventOfVersion(eventLog, stream, version, title);
  const signed = (await sentHeads(stateStore, [workspace])).get(workspace);
  const { proof } = await proveEvent({ eventLog, readModels }, recorded, { treeSize: tree_size, signed });
  const query = { version, ...(tree_size !== undefined && { tree_size }) };
  await recordAccess(eventLog, caller, { ...access, query });
  const { event } = proof;
  return { body: { ...proof, event: { ...event, metadata: { ...event.metadata } } } };
}

/** Returns the version named in the path. Throws `not_found` for one that nothing can have. */
function pathVersion({ req }: Exchange, title: string): number {
  const text = String(req.params.version);
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new ServiceError('not_found', `The ${title.toLowerCase()} has no such version.`);
}
