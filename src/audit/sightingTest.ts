import type { AuditEntry } from '../../projections/audit/auditEntry.ts';
import { type AuditFacetValues, signatureTest } from '../../projections/audit/auditSignature.ts';
import type { Position } from '../events/event.ts';
import { covers, type Shown } from '../events/shown.ts';
import { recordStream } from '../events/streamNames.ts';
import type { EventLog } from '../ports/eventLog.ts';
import type { AccessAction } from './recordAccess.ts';

const PAGE = 500;

/** A record that people may have seen, with the places of its versions in the log. */
export interface SightedRecord {
  kind: string;
  id: string;
  versions: { position: Position; type: string }[];
}

/** Accesses whose entries tell ranges of the log, not a record. */
const rangeActions: readonly AccessAction[] = [
  'record.list',
  'retention.list',
  'events.read',
  'events.sent',
  'webhook.sent',
  'export',
];

/** A record, whose versions lie where its stream says; without any when there is none. Rejects with `unavailable`. */
export async function sightedRecord(
  eventLog: EventLog,
  workspace: string,
  kind: string,
  id: string,
): Promise<SightedRecord> {
  const stream = recordStream(workspace, kind, id);
  const versions: SightedRecord['versions'] = [];
  for (;;) {
    const events = await eventLog.readStream(stream, { from: versions.length, limit: PAGE });
    versions.push(...events.map(({ position, type }) => ({ position, type })));
    if (events.length < PAGE) return { kind, id, versions };
  }
}

/**
 * Whether an entry of the audit trail tells of an access by which somebody saw the record, or may have: it lies where a
 * list, a stream, an export or a webhook was shown events.
 */
export function isSighting(entry: AuditEntry, { kind, id, versions }: SightedRecord): boolean {
  const { type, action, code, shown } = entry;
  if (type !== 'AccessRecorded' || code !== undefined) return false;
  if (shown === undefined) return entry.kind === kind && entry.id === id;
  const [first] = versions;
  if (action === 'record.list' || action === 'retention.list')
    return entry.kind === kind && first !== undefined && covers(shown, first.position);
  // It goes up to its own entry.
  const sent = action === 'export' ? { ...shown, ranges: upTo(entry.position, shown) } : shown;
  return versions.some((version) => wasSent(version, sent));
}

function upTo(position: Position, { ranges }: Shown): Shown['ranges'] {
  return ranges.map(({ from }) => ({ from, to: position }));
}

function wasSent({ position, type }: SightedRecord['versions'][number], shown: Shown): boolean {
  return (shown.event_types?.includes(type) ?? true) && covers(shown, position);
}

/** A test for signatures (`signatureTest`) that passes over chunks in which there is no sighting. */
export function sightingTest(
  { kind, id }: SightedRecord,
  others: AuditFacetValues,
): (text: string) => boolean {
  const wanted = [{ kind, id }, ...rangeActions.map((action) => ({ action }))];
  // Two actions at once are not to be had.
  const tests = wanted
    .filter((one) => !('action' in one) || others.action === undefined || others.action === one.action)
    .map((one) => signatureTest({ ...others, ...one }));
  return (signatures) => tests.some((test) => test(signatures));
}
