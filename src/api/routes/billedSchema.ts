import { z } from 'zod';
import type { Billing } from '../../modules/readiness/billing.ts';
import type { PrincipalNames } from '../../modules/records/queries/PrincipalNames.ts';
import { principal, timestamp } from '../schemas/answerSchemas.ts';
import { claimId, usedVersionsSchema } from './billingSchemas.ts';

const done = {
  at: timestamp('When it was recorded'),
  principal: principal('Who recorded it'),
  versions: usedVersionsSchema,
};

/** What was billed for an encounter. */
export const billedSchema = z
  .object({
    claim_id: claimId,
    ...done,
    acknowledged: z
      .object({ ...done, reason: z.string().meta({ description: 'The reason, as sent' }) })
      .optional()
      .meta({
        description:
          'The last acknowledgment of changes since then, up to these versions; omitted if there was none',
      }),
  })
  .meta({ id: 'Billed', description: 'The last billing of an encounter.' });

/** Returns what was billed, as the interface reports it; the names of the principals must have been learnt. */
export function viewBilling(
  { claimId: claim_id, acknowledged, ...billed }: Billing,
  names: PrincipalNames,
): z.infer<typeof billedSchema> {
  const view = ({ at, principal: by, versions }: Pick<Billing, 'at' | 'principal' | 'versions'>) => ({
    at,
    principal: { ...by, name: names.nameOf(by) ?? null },
    versions: [...versions],
  });
  if (acknowledged === undefined) return { claim_id, ...view(billed) };
  const { reason } = acknowledged;
  return { claim_id, ...view(billed), acknowledged: { ...view(acknowledged), reason } };
}
