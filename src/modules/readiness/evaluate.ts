import { bodyOf, type Incomplete } from '../../../projections/projection.ts';
import { documentsModel, recordsModel } from '../../../projections/records.ts';
import type { Position } from '../../domain/events/event.ts';
import type { ReadinessState } from '../../domain/events/readinessEvents.ts';
import { kindPartition, recordIdOf, recordStream } from '../../domain/events/streams.ts';
import { type RecordState, visitList } from '../../domain/records/fold.ts';
import { encounter } from '../../domain/records/kinds/encounter.ts';
import { UnreadableError } from '../../platform/errors.ts';
import type { ReadModels, Row } from '../../storage/readModels.ts';
import { caughtUp } from '../records/queries/paging.ts';
import type { QueryPorts } from '../records/queries/records.ts';
import { readBilling, readClaims } from './billing.ts';
import { isFilingDue } from './rules/dates.ts';
import { duplicateOfBilled, suspectedDuplicate } from './rules/encounter.ts';
import {
  billedRecord,
  factsOf,
  type Named,
  namedBy,
  partsOf,
  recordKey,
  sameVisitOf,
} from './rules/facts.ts';
import { type Filing, filingOf } from './rules/filing.ts';
import { appliesAt, type Finding, findingsOf, readinessState } from './rules/index.ts';
import {
  type BilledRecord,
  type BillingFacts,
  documentCategories,
  isOff,
  type RuleSettings,
  readRuleSettings,
} from './rules/rule.ts';

/** Maximum number of encounters looked at that belong or belonged to one visit: those created first. */
const MOST_LOOKED_AT = 20;

type VisitRows = ReadonlyMap<string, readonly Row<RecordState | Incomplete>[]>;

/**
 * Resolves with the rows of the first encounters, in the order of creation, that belong or belonged to the visits of
 * some encounters, by the `visitList` of each. Rejects with `unavailable`.
 */
export async function visitRows(
  readModels: ReadModels,
  workspace: string,
  encounters: readonly BilledRecord[],
): Promise<VisitRows> {
  const lists = [...new Set(encounters.flatMap(({ fields }) => visitList(fields) ?? []))];
  if (lists.length === 0) return new Map();
  const partition = kindPartition(workspace, encounter.kind);
  const heads = await readModels.heads(recordsModel, { partition, lists, limit: MOST_LOOKED_AT });
  return new Map(lists.map((list, at) => [list, heads[at] ?? []]));
}

type Records = Map<string, BilledRecord | undefined>;
/** Where in the log the latest versions are. */
type Positions = Map<BilledRecord, Position>;

/** Resolves with those of some encounters, by their ids, for which something may have been billed or answered. Rejects with `unavailable`. */
export type MayBeBilled = (encounterIds: readonly string[]) => Promise<ReadonlySet<string>>;

/** Any of them: the log says which. */
export const anyOf: MayBeBilled = async (ids) => new Set(ids);

/** What the rules find in an encounter, and on what basis. */
export interface Evaluation {
  facts: BillingFacts;
  /** Including those that will begin or end by themselves some day. */
  findings: Finding[];
  /** Until when the payer takes a claim; undefined as for `filingOf`. */
  filing?: Filing | undefined;
  /** Of the last write of the claim's records, of those at fault, or of what was billed. */
  position: Position;
  /** What the facts were chosen from: the claim's records, and all that ever belonged to the encounter's visit. */
  chosenFrom: readonly PlacedRecord[];
}

/** A record, undefined where it was erased or cannot be read, and where in the log its latest version is. */
export interface PlacedRecord {
  record: BilledRecord | undefined;
  position: Position;
}

/**
 * Resolves with what the rules find in these encounters, by their ids, based on the read models of records and
 * documents and on the log of what was billed and answered; without those that do not exist, or cannot be read. `mayBeBilled`:
 * which of them may have been billed; of others the log is asked only about those that are `isUnsure`, where a filing limit would
 * be a finding. Rejects with `unavailable`.
 */
export async function evaluate(
  { eventLog, readModels }: QueryPorts,
  workspace: string,
  encounterIds: readonly string[],
  settings: RuleSettings,
  mayBeBilled: MayBeBilled,
  isUnsure: (encounterId: string) => boolean = () => false,
): Promise<Map<string, Evaluation>> {
  const records: Records = new Map();
  const positions: Positions = new Map();
  const load = (named: readonly Named[]) => loadRecords(readModels, workspace, { records, positions }, named);
  const encounters = await load(encounterIds.map((id) => ['encounter', id]));
  for (let found = encounters; found.length > 0; ) found = await load(found.flatMap(namedBy));
  const { requiredDocuments } = settings;
  const now = Date.now();
  const all = encounterIds.flatMap((id) => factsOf(records, id) ?? []);
  const own = await mayBeBilled(encounterIds);
  const asked = all.filter(
    (facts) =>
      own.has(facts.encounter.id) || (isUnsure(facts.encounter.id) && isFilingDue(facts, settings, now)),
  );
  const compared =
    isOff(settings, suspectedDuplicate) && isOff(settings, duplicateOfBilled) ? [] : encounters;
  const [documents, billed, visits] = await Promise.all([
    documentCategories(readModels, workspace, encounters, requiredDocuments),
    readBilling(eventLog, workspace, asked),
    loadVisits(readModels, workspace, positions, compared),
  ]);
  const othersOf = ([id, { members }]: [string, Visit]) =>
    members.flatMap(({ record }) => (record && record.id !== id ? [record.id] : []));
  const others = new Set(isOff(settings, duplicateOfBilled) ? [] : [...visits].flatMap(othersOf));
  const sameVisitBilled = await readClaims(eventLog, workspace, [...(await mayBeBilled([...others]))]);
  return new Map(
    all.flatMap((named) => {
      const { id } = named.encounter;
      const billing = billed.get(id);
      if (billing instanceof UnreadableError) return [];
      const { position = 0, ...billedFacts } = billing ?? {};
      const facts = {
        ...{ ...named, ...billedFacts },
        ...{ documents: documents.get(id), sameVisit: visits.get(id)?.sameVisit, sameVisitBilled },
      };
      const findings = findingsOf(facts, settings);
      const others = [...(facts.merged ?? []), ...(facts.otherPayers ?? [])];
      const parts = [...Object.values(partsOf(facts)), ...others].filter(isPresent);
      const used = [...parts, ...findings.map(({ record }) => record)];
      const written = used.map((record) => positions.get(record) ?? 0);
      const placed = parts.map((record) => ({ record, position: positions.get(record) ?? 0 }));
      const chosenFrom = [...placed, ...(visits.get(id)?.members ?? [])];
      const filing = filingOf(facts, settings);
      return [[id, { facts, findings, filing, position: Math.max(...written, position), chosenFrom }]];
    }),
  );
}

function isPresent<Item>(item: Item | undefined): item is Item {
  return item !== undefined;
}

/** The encounters that ever belonged to the visit of one, and the others of them that do now. */
interface Visit {
  members: PlacedRecord[];
  sameVisit: BilledRecord[];
}

/** Resolves with the visits of some encounters, by their ids. */
async function loadVisits(
  readModels: ReadModels,
  workspace: string,
  positions: Positions,
  encounters: readonly BilledRecord[],
): Promise<Map<string, Visit>> {
  const rows = await visitRows(readModels, workspace, encounters);
  return new Map(
    encounters.map((encounter) => {
      const found = rows.get(visitList(encounter.fields) ?? '') ?? [];
      const members = found.map((row) => ({ record: recordOf(row, positions), position: row.position }));
      const records = members.map(({ record }) => record);
      return [encounter.id, { members, sameVisit: sameVisitOf(encounter, records) }];
    }),
  );
}

/** Returns the record of a row, noting its position; undefined where there is none, or it cannot be read. */
function recordOf(row: Row<RecordState | Incomplete>, positions: Positions): BilledRecord | undefined {
  const state = bodyOf(row);
  const record = state && billedRecord(state, recordIdOf(row.id));
  if (record) positions.set(record, row.position);
  return record;
}

/** Adds the latest versions of what is named and not yet present; resolves with those that were added. */
async function loadRecords(
  readModels: ReadModels,
  workspace: string,
  { records, positions }: { records: Records; positions: Positions },
  named: readonly Named[],
): Promise<BilledRecord[]> {
  const wanted = new Map<string, Named>();
  for (const [kind, id] of named) {
    if (!records.has(recordKey(kind, id))) wanted.set(recordStream(workspace, kind, id), [kind, id]);
  }
  if (wanted.size === 0) return [];
  const rows = await readModels.load(recordsModel, [...wanted.keys()]);
  return rows.flatMap((row) => {
    const [kind = '', id = ''] = wanted.get(row.id) ?? [];
    const record = recordOf(row, positions);
    records.set(recordKey(kind, id), record);
    return record ? [record] : [];
  });
}

/**
 * Resolves with the current state of these encounters, by their ids, including every write acknowledged before the
 * call. Rejects with `unavailable`, also where a read model is too far behind.
 */
export async function readinessOf(
  ports: QueryPorts,
  workspace: string,
  encounterIds: readonly string[],
): Promise<Map<string, ReadinessState>> {
  await caughtUp(ports, recordsModel, 'readiness');
  const settings = await readRuleSettings(ports.eventLog, workspace);
  if (settings.requiredDocuments.size > 0) await caughtUp(ports, documentsModel, 'readiness');
  const evaluated = await evaluate(ports, workspace, encounterIds, settings, anyOf);
  const now = Date.now();
  return new Map(
    [...evaluated].map(([id, { facts, findings }]) => [
      id,
      readinessState(
        facts,
        findings.filter((finding) => appliesAt(finding, now)),
        now,
      ),
    ]),
  );
}
