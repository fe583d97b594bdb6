import { z } from 'zod';
import { claimParts } from '../../domain/events/encounterReadiness.ts';
import type { Caller } from '../../domain/events/newEvent.ts';
import { catalog, catalogEntry } from '../../domain/records/catalog.ts';
import { outcomes } from '../../domain/records/judgeChange.ts';
import { identifier } from '../../domain/records/schema/fields.ts';
import type { BillingWritten } from '../../modules/readiness/writeBilling.ts';
import { fieldMessageSchema, versionNumber } from '../schemas/answerSchemas.ts';
import { recordPath } from '../schemas/documentedParameters.ts';
import { tagOf } from '../schemas/kindNames.ts';
import { accessSubject, pathId } from '../schemas/parameters.ts';
import { callerOf, type Exchange } from '../server/exchange.ts';
import { onceIfKeyed } from '../server/once.ts';
import type { RecordWritePorts } from './writeOnce.ts';

const entry = catalogEntry('encounter');

/** A claim's id, as its sender calls it. */
export const claimId = identifier("The caller's id for the claim that was sent", 'claim-7001');

/** The version of the encounter, where one is requested. */
export const wantedVersion = z
  .int({ error: 'must be a whole number' })
  .min(1, { error: 'must be at least 1' })
  .optional()
  .meta({
    description: 'The version of the encounter that you mean: 412 if it is no longer current',
    examples: [2],
  });

/** The versions on which a claim is based. */
export const usedVersionsSchema = z
  .array(
    z
      .object({
        part: z.enum(claimParts).meta({ description: 'The role of the record in the claim' }),
        kind: z.enum(catalog.map(({ kind }) => kind)),
        id: z.string().meta({ description: "The caller's id of the record" }),
        version: versionNumber,
      })
      .meta({ id: 'UsedVersion', description: 'A record, in the version that a claim is based on.' }),
  )
  .meta({ description: 'The versions that the claim is based on; roles that it does not have are omitted' });

export const exampleVersions: z.infer<typeof usedVersionsSchema> = [
  { part: 'encounter', kind: 'encounter', id: 'encounter-4001', version: 2 },
  { part: 'patient', kind: 'patient', id: 'patient-1001', version: 7 },
  { part: 'payer', kind: 'payer', id: 'payer-aetna', version: 1 },
];

/** The response to a report on an encounter in billing. */
export const billingWrittenSchema = z
  .object({
    success: z.literal(true),
    message: z.string(),
    version: versionNumber.meta({ description: 'The current version of the encounter', examples: [2] }),
    outcome: z.enum(outcomes).meta({
      description:
        '`created`: billed for the first time; `updated`: something had been recorded before; ' +
        '`unchanged`: everything was already recorded',
    }),
    versions: usedVersionsSchema,
    warnings: z.array(fieldMessageSchema).meta({
      description: 'The findings of its readiness, prefixed with the kind of the record: `patient.zip_code`',
    }),
  })
  .meta({ id: 'BillingWritten', description: 'Something was recorded about the billing of an encounter.' });

export const exampleWritten: z.infer<typeof billingWrittenSchema> = {
  ...{ success: true, message: 'Encounter billed', version: 2, outcome: 'created' },
  versions: exampleVersions,
  warnings: [],
};

/** What both writes have in common. */
export const billingEndpoint = {
  ...({ method: 'post', tag: tagOf(entry), permission: 'write', takesIdempotencyKey: true } as const),
  params: recordPath(entry),
  subject: ({ req }: Exchange) => accessSubject('encounter', req.params.id),
} as const;

/**
 * Does what both writes have in common, once for each `Idempotency-Key`; one that changed nothing is counted for the
 * audit trail.
 */
export async function billingOnce(
  ports: RecordWritePorts,
  exchange: Exchange,
  input: unknown,
  message: string,
  write: (caller: Caller, encounterId: string) => Promise<BillingWritten>,
) {
  const id = pathId(exchange.req, 'id', entry.title);
  const written = await onceIfKeyed(ports, exchange, input, (caller) => write(caller, id));
  const { outcome } = written;
  if (outcome === 'unchanged') ports.tally.add(callerOf(exchange), 'record.unchanged');
  return { body: { success: true, message, ...written } } as const;
}
