import type { CatalogEntry } from '../../domain/records/catalog.ts';
import type { RecordState } from '../../domain/records/fold.ts';
import { feedEventTypes } from './cloudEvent.ts';
import type { Deidentifier } from './Deidentifier.ts';

/** A record in a snapshot, as left by the events up to its version. */
export interface SnapshotLine {
  /** As in its events: `{kind}/{percent-encoded id}`. */
  subject: string;
  version: number;
  created_at: string;
  updated_at: string;
  /** The fields as sent, merged; none is `null`, and defaults are not included. */
  record: Record<string, unknown>;
  /** As in its events. */
  pseudonymepoch?: number;
}

/** Returns a record as a snapshot shows it; with a deidentifier, as the de-identified view shows its events. */
export function snapshotLine(
  workspace: string,
  { kind, eventType }: CatalogEntry,
  { fields, version, createdAt, updatedAt }: RecordState,
  deidentify?: Deidentifier,
): SnapshotLine {
  const subject = `${kind}/${encodeURIComponent(fields.id)}`;
  if (deidentify === undefined) {
    return { subject, version, created_at: createdAt, updated_at: updatedAt, record: fields };
  }
  const type = feedEventTypes.find((one) => one.eventType === eventType)?.type as string;
  const shown = deidentify(workspace, {
    specversion: '1.0',
    id: '',
    source: '',
    type,
    subject,
    time: updatedAt,
    datacontenttype: 'application/json',
    sequence: '',
    data: { version, sent: fields, changed: [] },
  });
  const created_at = `${createdAt.slice(0, 4)}${shown.time.slice(4)}`;
  const { subject: hashed, time: updated_at, pseudonymepoch, data } = shown;
  return {
    ...{ subject: hashed, version, created_at, updated_at, record: data.sent },
    ...(pseudonymepoch !== undefined && { pseudonymepoch }),
  };
}
