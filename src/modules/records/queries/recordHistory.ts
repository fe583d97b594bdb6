import { erasureStep } from '../../../domain/events/recordErased.ts';
import { recordStream } from '../../../domain/events/streamNames.ts';
import { upcast } from '../../../domain/events/upcast.ts';
import type { CatalogEntry, RecordFields } from '../../../domain/records/catalog.ts';
import { diffFields, type FieldChange } from '../../../domain/records/diff.ts';
import { evolveRecord, mergeFields, type RecordState } from '../../../domain/records/fold.ts';
import { fieldOrder } from '../../../domain/records/schema/fieldOrder.ts';
import { notFound } from '../../../platform/errors.ts';
import type { EventLog } from '../../../storage/eventLog.ts';
import { fieldsBefore } from './fieldsBefore.ts';
import type { Evolve } from './foldStream.ts';
import type { Page, PageRequest } from './page.ts';
import { type RecordView, toRecordView } from './readRecord.ts';
import { type Moment, stateAt } from './stateAt.ts';
import {
  type EventPage,
  type HistoryPorts,
  readEventPage,
  toEntries,
  type VersionEntry,
} from './versionPage.ts';

const noFields = {} as RecordFields;

/** One version of a record: who sent it, and its changes to the folded fields, whatever was sent. */
export interface RecordVersion extends VersionEntry {
  outcome: 'created' | 'updated' | 'unchanged' | 'erased';
  changes: FieldChange[];
}

/**
 * Resolves with a page of a record's versions, newest first; rejects with `not_found` when the record does not exist.
 */
export async function readRecordHistory(
  ports: HistoryPorts,
  workspace: string,
  entry: CatalogEntry,
  id: string,
  request: PageRequest,
): Promise<Page<RecordVersion>> {
  const { eventLog } = ports;
  const stream = recordStream(workspace, entry.kind, id);
  const page = await readEventPage(eventLog, stream, request, true);
  const { events, next_page_token } = page;
  if (events.length === 0 && request.pageToken === undefined) throw notFound(entry.title);
  const changes = await changesOf(eventLog, entry, stream, page);
  const entries = await toEntries(ports, events);
  return { items: entries.map((one, at) => ({ ...one, ...(changes[at] as Changes) })), next_page_token };
}

type Changes = Pick<RecordVersion, 'outcome' | 'changes'>;

/** Resolves with what each event of a page, newest first, did to the folded fields. */
async function changesOf(
  eventLog: EventLog,
  entry: CatalogEntry,
  stream: string,
  { events, before: older }: EventPage,
): Promise<Changes[]> {
  const oldest = events.at(-1);
  if (oldest === undefined) return [];
  const sent = events.map((event) => ({ event, fields: upcast(event).data as RecordFields }));
  const named = new Set(sent.flatMap(({ fields }) => Object.keys(fields)));
  let before = await fieldsBefore(eventLog, stream, oldest, named, older);
  return sent
    .toReversed()
    .map(({ event, fields }): Changes => {
      const erasure = erasureStep(event);
      if (erasure === 'done') before = undefined;
      if (erasure) return { outcome: erasure === 'done' ? 'erased' : 'unchanged', changes: [] };
      const after = mergeFields(before ?? noFields, fields);
      const changes = inSchemaOrder(entry, diffFields(before, after));
      const outcome = before === undefined ? 'created' : changes.length > 0 ? 'updated' : 'unchanged';
      before = after;
      return { outcome, changes };
    })
    .toReversed();
}

/** Resolves with a record as it was at a moment; rejects with `not_found` when it did not exist then. */
export async function readRecordAt(
  eventLog: EventLog,
  workspace: string,
  entry: CatalogEntry,
  id: string,
  moment: Moment,
): Promise<RecordView> {
  const stream = recordStream(workspace, entry.kind, id);
  const evolve: Evolve<RecordState> = (state, event) => evolveRecord(entry.kind, state, event);
  return toRecordView(await stateAt(eventLog, stream, entry.title, evolve, moment));
}

/** Sorts changes into the schema's field order, wherever a page begins. */
function inSchemaOrder(entry: CatalogEntry, changes: FieldChange[]): FieldChange[] {
  const place = fieldOrder(entry);
  return changes.toSorted((a, b) => place(a.field) - place(b.field));
}
