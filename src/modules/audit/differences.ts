import type { Principal } from '../../domain/events/event.ts';
import type { Caller } from '../../domain/events/newEvent.ts';
import { csvLine } from '../../platform/csv.ts';
import type { ChangedRecord, DifferenceSelection } from '../records/queries/changes.ts';
import type { PrincipalNames } from '../records/queries/principalNames.ts';
import type { QueryPorts } from '../records/queries/records.ts';
import type { LaterWrite } from '../records/queries/selectedWrites.ts';
import {
  accessTo,
  type ChangeFormat,
  cell,
  differencesList,
  listParts,
  type NameOf,
  shownParts,
  withName,
} from './changes.ts';
import { recordAccess } from './recordAccess.ts';

/**
 * What became of a record or document between two moments; `removed`: only of a document; `unreadable`: it has an event that cannot be
 * read.
 */
export const differences = ['created', 'changed', 'removed', 'erased', 'unreadable'] as const;
export type Difference = (typeof differences)[number];

/** Returns what became of a record or document. */
export function differenceOf({ kind, unreadable, erased, created, fields }: ChangedRecord): Difference {
  if (unreadable) return 'unreadable';
  if (erased) return 'erased';
  if (created) return 'created';
  const isRemoved = kind === 'document' && fields.some(({ field, to }) => field === 'file' && to === null);
  return isRemoved ? 'removed' : 'changed';
}

/** The differences between two moments of a workspace. */
export interface Differences {
  /** Resolves with how many there are. Rejects with `unavailable`. */
  counts(): Promise<DifferenceCounts>;
  /** Yields them, some records at a time; the audit trail has the versions of each part before. Rejects with `unavailable`. */
  parts(): AsyncGenerator<ChangedRecord[]>;
}

/**
 * Resolves with what is different in the caller's workspace at two moments; the audit trail has the request. Rejects with
 * `unavailable`.
 */
export async function recordedDifferences(
  ports: QueryPorts,
  caller: Caller,
  selection: DifferenceSelection,
): Promise<Differences> {
  const list = differencesList(ports.eventLog, caller, selection);
  await recordAccess(ports.eventLog, caller, accessTo(list));
  return {
    async counts() {
      const counts = new DifferenceCounts();
      for await (const part of listParts(ports.readModels, caller, list))
        for (const record of part) counts.add(record);
      return counts;
    },
    parts: () => shownParts(ports, caller, list),
  };
}

/** How many records and fields are different, by kind, field and sender. */
export class DifferenceCounts {
  readonly #kinds = new Map<string, Map<Difference, number>>();
  readonly #fields = new Map<string, number>();
  readonly #senders = new Map<string, { principal: Principal; records: number; fields: number }>();

  add(record: ChangedRecord): void {
    const difference = differenceOf(record);
    const ofKind = this.#kinds.get(record.kind) ?? new Map<Difference, number>();
    this.#kinds.set(record.kind, ofKind.set(difference, (ofKind.get(difference) ?? 0) + 1));
    const seen = new Set<string>();
    for (const { field, principal } of writesOf(record)) {
      const key = `${principal.type} ${principal.id}`;
      const sender = this.#senders.get(key) ?? { principal, records: 0, fields: 0 };
      this.#senders.set(key, sender);
      if (!seen.has(key)) sender.records += 1;
      seen.add(key);
      if (field === undefined) continue;
      sender.fields += 1;
      if (difference !== 'changed') continue;
      const name = `${record.kind}.${field}`;
      this.#fields.set(name, (this.#fields.get(name) ?? 0) + 1);
    }
  }

  /** Who caused differences: whose names a view shows. */
  get principals(): Principal[] {
    return [...this.#senders.values()].map(({ principal }) => principal);
  }

  /**
   * Returns the counts as they are shown: `records` by kind and by what became of them; `fields` of changed records, as `kind.field`;
   * `senders` by the last write of each field. The most come first.
   */
  view(nameOf: NameOf) {
    const byCount = <Item>(items: Item[], countOf: (item: Item) => number) =>
      items.toSorted((one, other) => countOf(other) - countOf(one));
    return {
      records: Object.fromEntries([...this.#kinds].map(([kind, counts]) => [kind, countsOf(counts)])),
      fields: Object.fromEntries(byCount([...this.#fields], ([, count]) => count)),
      senders: byCount(
        [...this.#senders.values()].map((sender) => withName(sender, nameOf)),
        ({ records }) => records,
      ),
    };
  }
}

const countsOf = (counts: ReadonlyMap<Difference, number>) =>
  Object.fromEntries(differences.map((difference) => [difference, counts.get(difference) ?? 0]));

/** Returns the write of each difference of a record; of an erased one, the erasure. */
function writesOf({ erased, erasure, fields }: ChangedRecord): (LaterWrite & { field?: string })[] {
  return erased && erasure ? [erasure] : fields;
}

/** Returns a record as it is shown, with what its senders are called. */
export function differenceView(record: ChangedRecord, nameOf: NameOf) {
  const { kind, id, document_id, erased, erasure } = record;
  const fields = erased ? [] : record.fields.map((field) => withName(field, nameOf));
  return {
    ...{ kind, id, ...(document_id !== undefined && { document_id }), change: differenceOf(record) },
    ...(erased && erasure && { erasure: withName(erasure, nameOf) }),
    fields,
  };
}

/** Returns the senders of records whose names a view shows. */
export const sendersOf = (records: readonly ChangedRecord[]) =>
  records.flatMap((record) => writesOf(record).map(({ principal }) => principal));

/** The columns of differences as CSV. */
const header = [
  ...['kind', 'id', 'document_id', 'change', 'field', 'from', 'to', 'version', 'changed_at'],
  ...['principal_type', 'principal_id', 'principal_name'],
];

/**
 * Yields differences as a file, several lines at a time: a JSON object with the counts and the records; or CSV, with a line for each
 * field and each record that was erased or cannot be read, and without counts. It has values of records. Rejects with `unavailable`.
 */
export async function* differencesText(
  compared: Differences,
  names: PrincipalNames,
  { since, until }: DifferenceSelection,
  format: ChangeFormat,
): AsyncGenerator<string> {
  const nameOf = names.nameOf.bind(names);
  if (format === 'csv') yield csvLine(header);
  else {
    const counts = await compared.counts();
    await names.learn(counts.principals);
    yield `{"since":"${since}","until":"${until}","counts":${JSON.stringify(counts.view(nameOf))},"items":[`;
  }
  let isFirst = true;
  for await (const records of compared.parts()) {
    await names.learn(sendersOf(records));
    for (const record of records) {
      const item = () => `${isFirst ? '' : ','}\n  ${JSON.stringify(differenceView(record, nameOf))}`;
      yield format === 'csv' ? differenceLines(record, nameOf) : item();
      isFirst = false;
    }
  }
  if (format === 'json') yield '\n]}\n';
}

/** Returns the lines of a record as CSV. */
function differenceLines(record: ChangedRecord, nameOf: NameOf): string {
  const { kind, id, document_id } = record;
  const about = [kind, id, document_id, differenceOf(record)];
  const by = ({ version, at, principal }: LaterWrite) => [
    ...[version, at, principal.type, principal.id, nameOf(principal)],
  ];
  if (record.erased || record.unreadable)
    return csvLine([...about, '', '', '', ...(record.erasure ? by(record.erasure) : [])]);
  return record.fields
    .map((change) => csvLine([...about, change.field, cell(change.from), cell(change.to), ...by(change)]))
    .join('');
}
