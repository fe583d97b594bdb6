import { z } from 'zod';
import type { HashedEvent } from '../../domain/eventLeaf.ts';
import type { ErasedEvent, Position } from '../../domain/events/event.ts';
import type { Hash, HashTree } from '../../domain/hashTree.ts';
import type { FileDigest } from './ExportFile.ts';

import { type SigningKey, signObject } from './SigningKey.ts';
import { type LastEvent, signatureFields, signTreeHead, treeHeadSchema } from './treeHead.ts';

export type ExportFormat = 'ndjson' | 'csv';

/** A line of an NDJSON export: the whole event, and its place in the workspace's hash tree. */
export interface ExportedEvent extends HashedEvent {
  position: Position;
  /** Index of the leaf in the tree: 0 is the first event of the workspace. */
  index: number;
  leaf: Hash;
}

/** A line for an erased event: a later tombstone names it. */
export interface ErasedLine extends Omit<ErasedEvent, 'leaf'> {
  index: number;
  leaf: Hash;
  erased: true;
}

/** What to export. */
export interface ExportJob {
  workspace: string;
  filters: ExportFilters;
  format: ExportFormat;
}

/** An event that was written, as far as the manifest needs it. */
export interface WrittenEvent {
  position: Position;
  recordedAt: string;
}

/** The progress of an export; as JSON, all that is needed to resume. */
export interface ExportProgress {
  /** All events up to and including this position are done. */
  position: Position;
  /** Where the export ends: with its entry in the audit trail. */
  until: Position;
  /** Of all events read of the workspace. */
  tree: HashTree;
  lastEvent: LastEvent | null;
  /** Number of events and bytes written. */
  events: number;
  bytes: number;
  first: WrittenEvent | null;
  last: WrittenEvent | null;
}

/** The destination of an export. */
export interface ExportSink {
  write(text: string): Promise<void>;
  /** Called after each batch; `progress` covers exactly what was written. */
  reached(progress: Readonly<ExportProgress>): Promise<void>;
}

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
