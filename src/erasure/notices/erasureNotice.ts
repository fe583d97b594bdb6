import { z } from 'zod';
import { principalTypes } from '../../events/eventMetadata.ts';
import { type SigningKey, signObject } from '../../evidence/keys/SigningKey.ts';
import { signatureFields } from '../../evidence/treeHead.ts';

/**
 * An erasure of one stream that is finished. Whom it concerned is found by places in the log, so that nobody learns it from the
 * notice who does not have the log or a backup of it.
 */
const noticedErasureSchema = z.strictObject({
  /** Position of its last tombstone. */
  tombstone: z.int().min(1),
  /** Where the stream began: position and id of its first event. */
  first: z.strictObject({ position: z.int().min(1), event_id: z.string() }),
  /** The request that asked for it; the same for all that was erased together. */
  erasure_id: z.string(),
  /** Who asked for it. */
  principal: z.strictObject({ type: z.enum(principalTypes), id: z.string() }),
  /** When the log took the tombstone, ISO 8601, UTC. */
  erased_at: z.string(),
});
export type NoticedErasure = z.infer<typeof noticedErasureSchema>;

/** A signed statement of all erasures that were finished between two positions of the log. */
export const erasureNoticeSchema = z.strictObject({
  type: z.literal('chartledger.erasures.v1'),
  /** Identity of the event log. */
  log: z.uuid(),
  /** It tells of tombstones behind this position: up to there other notices do. */
  after: z.int().min(0),
  /** It tells of tombstones up to this one. */
  until: z.int().min(0),
  /** It tells of all erasures that were finished by then; ISO 8601, UTC. */
  as_of: z.string(),
  erasures: z.array(noticedErasureSchema),
  ...signatureFields,
});
export type ErasureNotice = z.infer<typeof erasureNoticeSchema>;

/** What the names of all files of notices begin with, and those of no heads: after the id of a workspace comes a hyphen. */
export const NOTICES = 'erasures.';
const POSITION_DIGITS = 16;

/** Signs a notice, for a file of that name. */
export function signNotice(
  notice: Omit<ErasureNotice, 'type' | keyof typeof signatureFields>,
  signingKey: SigningKey,
): { name: string; text: string } {
  const signed = signObject({ type: 'chartledger.erasures.v1' as const, ...notice }, signingKey);
  const [after, until] = [notice.after, notice.until].map((at) => String(at).padStart(POSITION_DIGITS, '0'));
  const name = `${NOTICES}${after}-${until}-${notice.as_of.replaceAll(/[-:.]/g, '')}.json`;
  return { name, text: `${JSON.stringify(signed, undefined, 2)}\n` };
}
