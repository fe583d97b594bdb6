import { notFound } from '../../errors.ts';
import { recordStream } from '../../events/streamNames.ts';
import { upcast } from '../../events/upcast.ts';
import type { EventLog } from '../../ports/eventLog.ts';
import type { CatalogEntry, RecordFields } from '../../records/catalog.ts';
import { diffFields, type FieldChange } from '../../records/diff.ts';
import { evolveRecord, mergeFields, type RecordState } from '../../records/fold.ts';
import type { Evolve } from '../foldStream.ts';
import type { Page, PageRequest } from '../page.ts';
import { type RecordView, toRecordView } from '../readRecord.ts';
import { fieldsBefore } from './fieldsBefore.ts';
import { type Moment, stateAt } from './stateAt.ts';
import { type HistoryPorts, readEventPage, toEntries, type VersionEntry } from './versionPage.ts';

/** One version of a record: who sent it, and what it changed of the folded fields, whatever was sent. */
export interface RecordVersion extends VersionEntry {
  outcome: 'created' | 'updated' | 'unchanged';
  changes: FieldChange[];
}

/** A page of a record's versions, newest first; `not_found` when it does not exist. */
export async function readRecordHistory(
  ports: HistoryPorts,
  workspace: string,
  entry: CatalogEntry,
  id: string,
  request: PageRequest,
): Promise<Page<RecordVersion>> {
  const { eventLog } = ports;
  const stream = recordStream(workspace, entry.kind, id);
  const { events, next_page_token } = await readEventPage(eventLog, stream, request);
  const oldest = events.at(-1);
  if (oldest === undefined) throw notFound(entry.title);
  const sent = events.map((event) => upcast(event).data as RecordFields);
  const named = new Set(sent.flatMap((fields) => Object.keys(fields)));
  let fields = await fieldsBefore(eventLog, stream, oldest.revision, named);
  const changes = sent
    .toReversed()
    .map((next) => {
      const before = fields;
      fields = mergeFields(before, next);
      return inSchemaOrder(entry, diffFields(before, fields));
    })
    .toReversed();
  const entries = await toEntries(ports, events);
  return { items: entries.map((one, at) => toVersion(one, changes[at] ?? [])), next_page_token };
}

/** A record as it was at a moment; `not_found` when it was not. */
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

/** Changes in the order in which the schema has the fields, wherever a page begins. */
function inSchemaOrder({ schema }: CatalogEntry, changes: FieldChange[]): FieldChange[] {
  const order = Object.keys(schema.shape);
  const place = ({ field }: FieldChange) => order.indexOf(field.split('.')[0] as string);
  return changes.toSorted((a, b) => place(a) - place(b));
}

function toVersion(entry: VersionEntry, changes: FieldChange[]): RecordVersion {
  const outcome = entry.version === 1 ? 'created' : changes.length > 0 ? 'updated' : 'unchanged';
  return { ...entry, outcome, changes };
}
