import { z } from 'zod';
import { versionNumber } from '../schemas/answerSchemas.ts';
import { exampleRequestId } from '../schemas/examples.ts';
import { wholeNumber } from '../schemas/parameters.ts';

/** What a path that ends in a version has in addition to the record's path. */
export const versionPath = { version: versionNumber };

/** Query of a proof. */
export const proofQuerySchema = z.object({
  tree_size: wholeNumber(1)
    .optional()
    .meta({
      description:
        'Prove it for the tree as it was when the workspace had this many events, for example the `size` ' +
        'of a signed head that you have; default: the current tree',
      examples: [1024],
    }),
});

const hash = z.string().meta({ description: 'SHA-256, lowercase hex' });

const treeFields = {
  workspace: z.string(),
  size: z.int().min(1).meta({ description: 'Number of events in the tree' }),
  root: hash,
};

export const proofSchema = z
  .object({
    type: z.literal('chartledger.proof.v1'),
    event: z
      .object({
        id: z.string(),
        type: z.string(),
        stream: z.string(),
        revision: z.int().min(0).meta({ description: 'The version minus one' }),
        recordedAt: z.string(),
        metadata: z.record(z.string(), z.unknown()),
        data: z.record(z.string(), z.unknown()),
      })
      .meta({ description: 'The event as stored in the event log: everything that its leaf covers' }),
    leaf: hash.meta({ description: 'SHA-256 of a zero byte and the canonical JSON (RFC 8785) of `event`' }),
    index: z
      .int()
      .min(0)
      .meta({ description: 'Index of the leaf in the tree; 0 is the first event of the workspace' }),
    inclusion: z
      .array(hash)
      .meta({ description: 'The inclusion proof (RFC 9162, section 2.1.3), deepest node first' }),
    tree_head: z
      .discriminatedUnion('type', [
        z.object({ type: z.literal('chartledger.tree_root.v1'), ...treeFields }),
        z.object({
          type: z.literal('chartledger.tree_head.v1'),
          ...treeFields,
          chain: hash,
          last_event_id: z.string(),
          last_event_recorded_at: z.string().optional(),
          created_at: z.string(),
          key_rotations: z
            .array(z.record(z.string(), z.unknown()))
            .optional()
            .meta({ description: 'How the key succeeded earlier keys, if there were any' }),
          key_id: z.string(),
          signature: z.string(),
        }),
      ])
      .meta({
        description:
          'The tree that contains the event: the last signed head that was sent, if it contains the ' +
          'event; otherwise an unsigned root (`tree_root`), to be compared with a signed head',
      }),
  })
  .meta({
    id: 'Proof',
    description:
      "Proves that an event is in its workspace's hash tree. Verify it offline with `chartledger verify`.",
  });

/** A payer's only event, which is the second event of its workspace. */
export const proofExample: z.output<typeof proofSchema> = {
  type: 'chartledger.proof.v1',
  event: {
    id: exampleRequestId,
    type: 'PayerUpserted',
    stream: 'clinic.payer-payer-aetna',
    revision: 0,
    recordedAt: '2026-03-14T09:30:00.000Z',
    metadata: {
      workspace: 'clinic',
      principal: { type: 'api_key', id: 'key_4fTq9LmZs2Xw8RbC' },
      requestId: exampleRequestId,
      $correlationId: exampleRequestId,
      schemaVersion: 1,
      salt: 'a55d9c3d96ead1893725dd28d6e14517',
    },
    data: { id: 'payer-aetna', name: 'Aetna' },
  },
  leaf: 'afe583cee6814f60319f3b67bfab1b20142fb309c027da247889eac2524a29c5',
  index: 1,
  inclusion: ['6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d'],
  tree_head: {
    type: 'chartledger.tree_root.v1',
    workspace: 'clinic',
    size: 2,
    root: '96cec825a5319ff604cbed2534961e372e3387975b27e2e381c85c9562e353d5',
  },
};
