import { auditEntry } from '../../../projections/auditAggregation.ts';
import { dataAs, type Position, type RecordedEvent } from '../../domain/events/event.ts';
import { erasureStep, placesListedIn, type RecordErased } from '../../domain/events/payloads.ts';
import { kindOfStream } from '../../domain/events/streams.ts';
import { UnknownSchemaVersion } from '../../domain/events/upcasting.ts';
import { dottedFields, viewRecord } from '../../domain/records/fold.ts';
import type { RecordFields } from '../../domain/records/schema/kind.ts';
import { UnreadableError } from '../../platform/errors.ts';
import { type EventBatch, type EventLog, inLogOrder } from '../../storage/eventLog.ts';
import type { Cell, Column, Table, TableChanges, TableRow } from '../../storage/warehouse.ts';
import { type Change, ChangedFields } from '../eventStream/changedFields.ts';
import {
  type CloudEvent,
  type EventView,
  feedEventType,
  feedLogTypes,
  toCloudEvent,
} from '../eventStream/cloudEvents.ts';
import {
  beginningOfYear,
  createDeidentifier,
  type Deidentifier,
  type PseudonymKey,
} from '../eventStream/deidentification.ts';
import {
  DeidentificationHistory,
  type DeidentificationMethod,
  type SettingsAt,
  safeHarbor,
} from '../eventStream/deidentificationSettings.ts';
import { toLine } from '../integrity/export.ts';
import { accessTable, columnOf, type SubjectTables, subjectTables } from './tables.ts';

type Cells = Readonly<Record<string, unknown>>;

/** Derives the changes of a warehouse's tables from the events of a workspace, in log order. */
export class WarehouseRows {
  readonly #eventLog: EventLog;
  readonly #workspace: string;
  readonly #deidentify: Deidentifier | undefined;
  readonly #hasTimes: boolean;
  readonly #changedFields: ChangedFields;
  readonly #history: DeidentificationHistory;
  readonly #tables: ReadonlyMap<string, SubjectTables>;
  #settingsAt: SettingsAt = () => safeHarbor;
  #changes = new Map<string, TableChanges>();
  /** Events that contributed since the last `take`. */
  events = 0;

  /** `pseudonyms`: the key of the hashes; undefined for the full view. */
  constructor(eventLog: EventLog, workspace: string, view: EventView, pseudonyms: PseudonymKey | undefined) {
    this.#eventLog = eventLog;
    this.#workspace = workspace;
    if (view !== 'full' && pseudonyms) this.#deidentify = createDeidentifier(pseudonyms, view);
    this.#hasTimes = view !== 'deidentified';
    this.#changedFields = new ChangedFields(eventLog);
    this.#history = new DeidentificationHistory(eventLog);
    this.#tables = subjectTables(view);
  }

  /** Returns the changes by table since the last call. */
  take(): Map<string, TableChanges> {
    const changes = this.#changes;
    this.#changes = new Map();
    this.events = 0;
    return changes;
  }

  /**
   * Adds the next events of the workspace's streams. An event that cannot be read has no row. Rejects with `unavailable`, and with
   * `unreadable` at an event that only a newer version of the service can read.
   */
  async add(batch: EventBatch): Promise<void> {
    const read = batch.events.filter(({ type }) => feedLogTypes.has(type));
    const changes = await this.#changedFields.changes(read);
    if (this.#deidentify) this.#settingsAt = await this.#history.of(this.#workspace, batch.position);
    const changeOf = new Map(read.map((event, index) => [event.position, changes[index]]));
    for (const event of inLogOrder(batch)) {
      if (!('data' in event)) this.#count(event.stream, event.position);
      else if (event.type === 'AccessRecorded') this.#addAccess(event);
      else {
        const change = changeOf.get(event.position);
        if (change instanceof UnknownSchemaVersion) throw change;
        if (change instanceof UnreadableError) this.#count(event.stream, event.position);
        else if (change) await this.#addChange(event, change);
      }
    }
  }

  #count(stream: string, position: Position): void {
    const tables = this.#tables.get(kindOfStream(stream));
    if (tables) this.#set(tables.log, BigInt(position), null);
  }

  #set(table: Table, key: string | bigint, row: TableRow | null): void {
    const changes = this.#changes.get(table.name) ?? new Map();
    this.#changes.set(table.name, changes);
    changes.set(key, row);
    this.events += 1;
  }

  #addAccess(event: RecordedEvent): void {
    if (this.#deidentify || isOfWarehouse(event)) return;
    const line = toLine(auditEntry(event), undefined);
    this.#set(accessTable, BigInt(event.position), rowOf(accessTable.columns, line));
  }

  async #addChange(event: RecordedEvent, change: Change): Promise<void> {
    const feedType = feedEventType(event);
    // Of the tombstones of an erasure, the last one has a row.
    if (feedType === undefined) return this.#count(event.stream, event.position);
    const tables = this.#tables.get(feedType.kind);
    if (tables === undefined) return;
    const shown = this.#shown(event, feedType.kind, change);
    const id = idOf(shown);
    const fields = cellsOf(feedType.kind, shown.data.sent);
    const isErasure = erasureStep(event) !== undefined;
    if (isErasure) await this.#removeErased(event, tables.log);
    const eventCells = { ...this.#eventCells(event, shown), id: id || undefined };
    const row = rowOf(tables.log.columns, isErasure ? eventCells : { ...fields, ...eventCells });
    this.#set(tables.log, BigInt(event.position), row);
    const { current } = tables;
    if (current === undefined || change.after === undefined) return;
    const { createdAt, updatedAt, erased, removed } = change.after;
    const times = { created_at: this.#time(createdAt), updated_at: this.#time(updatedAt) };
    const cells = {
      ...fields,
      id,
      version: shown.data.version,
      ...times,
      deidentification: methodShown(shown),
    };
    this.#set(current, id, erased || removed ? null : rowOf(current.columns, cells));
  }

  #eventCells({ position, metadata }: RecordedEvent, shown: CloudEvent): Cells {
    return {
      position,
      version: shown.data.version,
      type: shown.type,
      recorded_at: shown.time,
      event_id: shown.id,
      changed: shown.data.changed.join(' '),
      deidentification: methodShown(shown),
      principal_type: metadata.principal.type,
      principal_id: metadata.principal.id,
      source_id: metadata.source?.id,
      request_id: metadata.requestId,
      reverts: metadata.reverts,
    };
  }

  /** Returns the event with all fields that the record has after it. */
  #shown(event: RecordedEvent, kind: string, { after, changed }: Change): CloudEvent {
    const cloudEvent = toCloudEvent(event, changed);
    if (after !== undefined && after.erased === undefined) {
      const fields = JSON.parse(after.text) as RecordFields;
      cloudEvent.data.sent = kind === 'document' ? fields : viewRecord({ kind, fields });
    }
    return this.#deidentify?.(this.#workspace, cloudEvent, this.#settingsAt(event.position)) ?? cloudEvent;
  }

  #time(time: string): string {
    return this.#hasTimes ? time : beginningOfYear(time);
  }

  /** Removes the rows of all that an erasure removes, given its last tombstone. */
  async #removeErased(tombstone: RecordedEvent, log: Table): Promise<void> {
    const { part, parts } = dataAs<RecordErased>(tombstone.data);
    let tombstones = [tombstone];
    if (part > 1) {
      const from = tombstone.revision - parts + 1;
      tombstones = await this.#eventLog.readStream(tombstone.stream, { from, limit: parts });
    }
    for (const { position } of tombstones.flatMap(placesListedIn)) this.#set(log, BigInt(position), null);
  }
}

/** Returns by which method the data of a row of the de-identified view is de-identified. */
function methodShown({ deidentification }: CloudEvent): DeidentificationMethod {
  return deidentification ?? 'safe_harbor';
}

/** Whether an access is the writing of a warehouse: it has no row, so that writing one does not change it. */
function isOfWarehouse({ data }: RecordedEvent): boolean {
  const { format } = (data.query ?? {}) as { format?: unknown };
  return data.action === 'export' && (format === 'parquet' || format === 'postgres');
}

/** The id of what an event is about; for a document, the ids of its encounter and its own, percent-encoded. */
function idOf({ subject }: CloudEvent): string {
  const [kind, ...ids] = subject.split('/');
  return kind === 'document' ? ids.join('/') : ids.map(decodeURIComponent).join('');
}

/** Returns the fields of an event by column: those of an insurance in columns of their own, anything else nested as JSON. */
function cellsOf(kind: string, sent: Record<string, unknown>): Cells {
  if (kind === 'readiness') return sent;
  return Object.fromEntries([...dottedFields(sent)].map(([field, value]) => [columnOf(field), value]));
}

function rowOf(columns: readonly Column[], cells: Cells): TableRow {
  return columns.map((column) => cellOf(column, cells[column.name]));
}

function cellOf({ type }: Column, value: unknown): Cell {
  if (value === undefined || value === null) return null;
  if (type === 'timestamp') return new Date(value as string);
  if (type === 'bigint') return BigInt(value as number);
  if (type === 'boolean' || type === 'integer') return value as boolean | number;
  return typeof value === 'object' ? JSON.stringify(value) : String(value).toWellFormed();
}
