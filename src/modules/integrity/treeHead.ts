import { z } from 'zod';
import type { RecordedEvent } from '../../domain/events/event.ts';
import { type HashTree, treeRoot } from '../../domain/hashTree.ts';
import { keyRotationSchema } from './keyRotation.ts';
import { type SigningKey, signObject } from './SigningKey.ts';

/** SHA-256, lower-case hex. */
export const hashSchema = z.string().regex(/^[0-9a-f]{64}$/);

/** The signature fields, see `Signed`. */
export const signatureFields = {
  key_rotations: z.array(keyRotationSchema).optional(),
  key_id: z.string(),
  signature: z.base64(),
};

/** A signed statement of what a workspace's log held at some time: `size` events, and their tree and chain. */
export const treeHeadSchema = z.strictObject({
  type: z.literal('chartledger.tree_head.v1'),
  workspace: z.string(),
  /** Number of events. */
  size: z.int().min(1),
  root: hashSchema,
  chain: hashSchema,
  last_event_id: z.string(),
  /** When the log recorded that event, ISO 8601, UTC; absent in heads of earlier versions. */
  last_event_recorded_at: z.string().optional(),
  /** ISO 8601, UTC. */
  created_at: z.string(),
  ...signatureFields,
});

export type TreeHead = z.infer<typeof treeHeadSchema>;

/** The last event that a head covers. */
export type LastEvent = Pick<RecordedEvent, 'id'> & Partial<Pick<RecordedEvent, 'recordedAt'>>;

/** Signs the contents of a workspace's log up to its event `last`. */
export function signTreeHead(
  workspace: string,
  tree: HashTree,
  last: LastEvent | null,
  signingKey: SigningKey,
): TreeHead {
  const { size, chain } = tree;
  return signObject(
    {
      type: 'chartledger.tree_head.v1' as const,
      workspace,
      size,
      root: treeRoot(tree),
      chain,
      last_event_id: last?.id ?? '',
      ...(last?.recordedAt && { last_event_recorded_at: last.recordedAt }),
      created_at: new Date().toISOString(),
    },
    signingKey,
  );
}
