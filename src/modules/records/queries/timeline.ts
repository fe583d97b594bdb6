import { patientReferencesModel, referrersPartition } from '../../../../projections/records.ts';
import { kindOfStream, recordIdOf, recordStream } from '../../../domain/events/streams.ts';
import { encounter } from '../../../domain/records/kinds/encounter.ts';
import { patient } from '../../../domain/records/kinds/patient.ts';
import type { CatalogEntry } from '../../../domain/records/schema/kind.ts';
import { ServiceError, UnreadableError } from '../../../platform/errors.ts';
import {
  beforeVersion,
  type HistoryPorts,
  type RecordVersion,
  readRecordAt,
  readRecordHistory,
} from './history.ts';
import { caughtUp, decodeToken, encodeToken, type Page, type PageRequest } from './paging.ts';
import type { QueryPorts, RecordView } from './records.ts';

/** Encounters looked at for one answer. */
const MOST_ENCOUNTERS_AT = 200;
const AT_ONCE = 16;

/** The encounters of a patient at a moment. */
interface EncountersAt {
  /** As they were then, most recently changed first. */
  items: RecordView[];
  /** Whether all were looked at; if not, only the patient's first 200 were. */
  isWhole: boolean;
  /** The caller's ids of the encounters left out because an event in their history cannot be read by this process. */
  unreadable: string[];
}

/**
 * Resolves with the encounters that belonged to a patient at an instant (ms since 1970 UTC), whoever they belong to
 * now, from the log; those erased since are left out. Rejects with `unavailable`.
 */
export async function encountersAt(
  ports: QueryPorts,
  workspace: string,
  patientId: string,
  asOf: number,
): Promise<EncountersAt> {
  await caughtUp(ports, patientReferencesModel, 'list of encounters');
  const partition = referrersPartition(recordStream(workspace, patient.kind, patientId));
  const rows = await ports.readModels.page(patientReferencesModel, {
    partition,
    limit: MOST_ENCOUNTERS_AT + 1,
  });
  const ids = rows
    .slice(0, MOST_ENCOUNTERS_AT)
    .filter(({ body }) => kindOfStream(body.stream) === encounter.kind)
    .map(({ body }) => recordIdOf(body.stream));
  const items: RecordView[] = [];
  const unreadable: string[] = [];
  const look = async (id: string) => {
    try {
      const view = await readRecordAt(ports, workspace, encounter, id, { asOf });
      if (view.record.patient_id === patientId) items.push(view);
    } catch (error) {
      if (error instanceof UnreadableError) unreadable.push(id);
      else if (!isAbsent(error)) throw error;
    }
  };
  for (let at = 0; at < ids.length; at += AT_ONCE) {
    await Promise.all(ids.slice(at, at + AT_ONCE).map(look));
  }
  return {
    items: items.toSorted((a, b) => b.updated_at.localeCompare(a.updated_at)),
    isWhole: rows.length <= MOST_ENCOUNTERS_AT,
    unreadable,
  };
}

/** Whether a record did not exist yet, or was erased since. */
function isAbsent(error: unknown): boolean {
  return error instanceof ServiceError && (error.code === 'not_found' || error.code === 'gone');
}

const CHUNK = 200;
/** Versions looked at for one page: where the field changed rarely, a page ends before it is full. */
const MAX_SCANNED = 2_000;

/**
 * Resolves with a page of the versions of a record that changed one field, newest first, each with its changes to
 * that field only. `field` is dotted inside an insurance; an insurance's name stands for all of its fields. Where few
 * of many versions changed it, a page may have fewer than `limit` entries, or none, and still have a token. Rejects
 * as `readRecordHistory` does.
 */
export async function readFieldHistory(
  ports: HistoryPorts,
  workspace: string,
  entry: CatalogEntry,
  id: string,
  field: string,
  { limit, pageToken }: PageRequest,
): Promise<Page<RecordVersion>> {
  const stream = recordStream(workspace, entry.kind, id);
  const scope = ['field', stream, field];
  const items: RecordVersion[] = [];
  let before = pageToken === undefined ? undefined : decodeToken(pageToken, scope);
  for (let scanned = 0; scanned < MAX_SCANNED; scanned += CHUNK) {
    const inner = before === undefined ? undefined : beforeVersion(stream, before);
    const request = { limit: CHUNK, pageToken: inner };
    const page = await readRecordHistory(ports, workspace, entry, id, request);
    for (const version of page.items) {
      const changes = version.changes.filter((one) => isOf(field, one.field));
      if (changes.length === 0) continue;
      const last = items.at(-1);
      if (last && items.length === limit) return { items, next_page_token: encodeToken(last.version, scope) };
      items.push({ ...version, changes });
    }
    if (page.next_page_token === null) return { items, next_page_token: null };
    before = page.items.at(-1)?.version;
  }
  return { items, next_page_token: before === undefined ? null : encodeToken(before, scope) };
}

function isOf(field: string, changed: string): boolean {
  return changed === field || changed.startsWith(`${field}.`);
}
