import { z } from 'zod';
import type { FileDigest } from './ExportFile.ts';
import type { ExportJob, ExportProgress } from './exportEvents.ts';
import { type SigningKey, signObject } from './SigningKey.ts';
import { signatureFields, signTreeHead, treeHeadSchema } from './treeHead.ts';

/** The filters of an export. */
export const filtersSchema = z.strictObject({
  /** Only events recorded at or after this; ISO 8601, UTC. */
  from: z.string().nullable(),
  /** Only events recorded before this; ISO 8601, UTC. */
  to: z.string().nullable(),
  kind: z.string().nullable(),
});

/** Describes an export: kept in a file beside it, and verifiable with the public key alone. */
export const manifestSchema = z.strictObject({
  type: z.literal('chartledger.export_manifest.v1'),
  workspace: z.string(),
  filters: filtersSchema,
  format: z.enum(['ndjson', 'csv']),
  /** Number of events in the file. */
  events: z.int().min(0),
  first_position: z.int().nullable(),
  last_position: z.int().nullable(),
  first_recorded_at: z.string().nullable(),
  last_recorded_at: z.string().nullable(),
  /** Size of the file. */
  bytes: z.int().min(0),
  /** Of the file, lower-case hex. */
  sha256: z.string(),
  /** Covers all the workspace's events up to the export's end, including those that the filters omitted. */
  tree_head: treeHeadSchema,
  /** ISO 8601, UTC. */
  created_at: z.string(),
  ...signatureFields,
});

export type ExportFilters = z.infer<typeof filtersSchema>;
export type ExportManifest = z.infer<typeof manifestSchema>;

/** Creates and signs the manifest of a complete export. */
export function signManifest(
  job: ExportJob,
  { tree, lastEvent, events, first, last }: ExportProgress,
  digest: FileDigest,
  signingKey: SigningKey,
): ExportManifest {
  return signObject(
    {
      type: 'chartledger.export_manifest.v1' as const,
      ...job,
      events,
      first_position: first?.position ?? null,
      last_position: last?.position ?? null,
      first_recorded_at: first?.recordedAt ?? null,
      last_recorded_at: last?.recordedAt ?? null,
      ...digest,
      tree_head: signTreeHead(job.workspace, tree, lastEvent, signingKey),
      created_at: new Date().toISOString(),
    },
    signingKey,
  );
}

/** Returns the path of an export's manifest. */
export function manifestPath(path: string): string {
  return `${path}.manifest.json`;
}

/** Whether an export holds every event of its workspace. */
export function isComplete(filters: ExportFilters): boolean {
  return !isLimitedByTime(filters) && filters.kind === null;
}

export function isLimitedByTime({ from, to }: ExportFilters): boolean {
  return from !== null || to !== null;
}
