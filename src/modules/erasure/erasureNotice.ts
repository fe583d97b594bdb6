import { z } from 'zod';
import { principalTypes } from '../../domain/events/eventMetadata.ts';
import { type SigningKey, signObject } from '../integrity/SigningKey.ts';
import { signatureFields } from '../integrity/treeHead.ts';

/**
 * A completed erasure of one stream. It identifies the stream by places in the log, so that a notice reveals nothing to anyone
 * who has neither the log nor a backup of it.
 */
const noticedErasureSchema = z.strictObject({
  /** Position of its last tombstone. */
  tombstone: z.int().min(1),
  /** The start of the stream: position and id of its first event. */
  first: z.strictObject({ position: z.int().min(1), event_id: z.string() }),
  /** The request that asked for it; the same for everything erased together. */
  erasure_id: z.string(),
  /** Who requested it. */
  principal: z.strictObject({ type: z.enum(principalTypes), id: z.string() }),
  /** When the log recorded the tombstone, ISO 8601, UTC. */
  erased_at: z.string(),
});
export type NoticedErasure = z.infer<typeof noticedErasureSchema>;

/** A signed statement of all erasures completed between two positions of the log. */
export const erasureNoticeSchema = z.strictObject({
  type: z.literal('chartledger.erasures.v1'),
  /** Identity of the event log. */
  log: z.uuid(),
  /** It covers tombstones after this position; earlier ones are covered by other notices. */
  after: z.int().min(0),
  /** It covers tombstones up to and including this position. */
  until: z.int().min(0),
  /** It covers all erasures completed by then; ISO 8601, UTC. */
  as_of: z.string(),
  erasures: z.array(noticedErasureSchema),
  ...signatureFields,
});
export type ErasureNotice = z.infer<typeof erasureNoticeSchema>;

/** Prefix of the names of all files of notices, and of no heads: a workspace's id is followed by a hyphen. */
export const NOTICES = 'erasures.';
const POSITION_DIGITS = 16;

/**
 * Signs a notice for a file with that name. A notice that is sent once more, because nobody knows that it was, gets another name: a
 * place keeps what it has.
 */
export function signNotice(
  notice: Omit<ErasureNotice, 'type' | keyof typeof signatureFields>,
  signingKey: SigningKey,
): { name: string; text: string } {
  const signed = signObject({ type: 'chartledger.erasures.v1' as const, ...notice }, signingKey);
  const [after, until] = [notice.after, notice.until].map((at) => String(at).padStart(POSITION_DIGITS, '0'));
  const signedAt = new Date().toISOString().replaceAll(/[-:.]/g, '');
  const name = `${NOTICES}${after}-${until}-${signedAt}.json`;
  return { name, text: `${JSON.stringify(signed, undefined, 2)}\n` };
}
