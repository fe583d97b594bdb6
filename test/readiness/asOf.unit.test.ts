import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { records } from '../../projections/records.ts';
import type { JsonObject, RecordedEvent } from '../../src/domain/events/event.ts';
import { claimParts } from '../../src/domain/events/readinessEvents.ts';
import {
  codeSetStream,
  documentStream,
  encounterReadinessStream,
  kindOfStream,
  readinessStream,
  recordIdOf,
  recordStream,
} from '../../src/domain/events/streams.ts';
import { currentVersion } from '../../src/domain/events/upcasting.ts';
import { catalogEntry } from '../../src/domain/records/catalog.ts';
import { evolveRecord, type RecordState } from '../../src/domain/records/fold.ts';
import { type Readiness, readReadiness } from '../../src/modules/readiness/queries.ts';
import { CODE_SET_LOADED, type CodeSetContent } from '../../src/modules/readiness/rules/codeSets.ts';
import { billedRecord, factsOf, recordKey } from '../../src/modules/readiness/rules/facts.ts';
import { appliesAt, type Finding, findingsOf, rules } from '../../src/modules/readiness/rules/index.ts';
import type { PayerRule } from '../../src/modules/readiness/rules/payerRuleData.ts';
import { noSettings, type RuleSettings, ruleChoices } from '../../src/modules/readiness/rules/rule.ts';
import type { QueryPorts } from '../../src/modules/records/queries/records.ts';
import { ServiceError } from '../../src/platform/errors.ts';
import type { EventLog } from '../../src/storage/eventLog.ts';
import type { HeadsQuery, PageQuery, Row } from '../../src/storage/readModels.ts';

import { type Claim, claimWith, type Fields, otherEncounter } from '../support/readiness.ts';
import { type Changes, NOW, payerRuleExamples, ruleExamples } from '../support/ruleExamples.ts';

const DAY_MS = 86_400_000;
/** For each rule. */
const RUNS = 2;
const workspace = 'clinic';
const kinds = ['payer', 'provider', 'facility', 'patient', 'encounter'] as const;
const metadata = {
  ...{ workspace, requestId: 'test', $correlationId: 'test' },
  principal: { type: 'operator', id: 'test' },
} as const;

/** A log in memory, which is given a clock. */
class FakeLog implements Pick<EventLog, 'readStream' | 'head'> {
  readonly events: RecordedEvent[];
  /** What was sent last of each record of the claim. */
  readonly #sent = new Map<string, Fields>();

  constructor(events: RecordedEvent[] = []) {
    this.events = events;
  }

  /** What it held at a moment. */
  upTo(moment: number): FakeLog {
    return new FakeLog(this.events.filter(({ recordedAt }) => Date.parse(recordedAt) <= moment));
  }

  append(time: number, stream: string, type: string, data: object): void {
    const position = this.events.length;
    const revision = this.events.filter((event) => event.stream === stream).length;
    const at = { stream, revision, position, recordedAt: new Date(time).toISOString() };
    const own = { ...metadata, schemaVersion: currentVersion(type) };
    this.events.push({ id: `event-${position}`, type, data: data as JsonObject, metadata: own, ...at });
  }

  /** Makes the records what they are in this claim; those that are so already get no event. */
  write(time: number, { other, payers = [], ...changes }: Changes): void {
    const claim: Claim = structuredClone(claimWith(changes));
    for (const payer of payers) {
      const id = String(payer.id ?? 'z');
      this.#send(time, 'payer', { name: 'Other', ...payer, id }, `payer ${id}`);
    }
    for (const kind of kinds) this.#send(time, kind, claim[kind]);
    if (other) this.#send(time, 'encounter', otherEncounter(other), 'other');
  }

  #send(time: number, kind: string, given: Fields, part = kind): void {
    const fields = JSON.parse(JSON.stringify(given)) as Fields;
    const before = this.#sent.get(part);
    if (JSON.stringify(before) === JSON.stringify(fields)) return;
    this.#sent.set(part, fields);
    const cleared = Object.keys(before ?? {}).filter((field) => !(field in fields));
    const data = { ...fields, ...Object.fromEntries(cleared.map((field) => [field, null])) };
    this.append(time, recordStream(workspace, kind, String(fields.id)), catalogEntry(kind).eventType, data);
  }

  set(time: number, type: string, data: object): void {
    this.append(time, readinessStream(workspace), type, data);
  }

  setAll(
    time: number,
    {
      filingLimits,
      requiredDocuments = new Map(),
      billingEntities,
      codeSets = {},
    }: Partial<RuleSettings> = {},
  ): void {
    for (const [set, { codes, organizations, ended, unknown }] of Object.entries(codeSets)) {
      const lists = { codes: [...codes], organizations: [...organizations], unknown: [...unknown] };
      this.load(time, set, { ...lists, ended: Object.fromEntries(ended) });
    }
    if (filingLimits) this.set(time, 'FilingLimitSet', { limit: filingLimits.default ?? null });
    if (billingEntities) this.set(time, 'BillingEntitySet', { entity: billingEntities.default ?? null });
    for (const [payer_id, limit] of filingLimits?.byPayer ?? []) {
      this.set(time, 'FilingLimitSet', { payer_id, limit });
    }
    for (const [visit_type, categories] of requiredDocuments) {
      for (const category of categories)
        this.set(time, 'RequiredDocumentSet', { visit_type, category, required: true });
    }
  }

  load(time: number, set: string, content: CodeSetContent): void {
    this.append(time, codeSetStream(set), CODE_SET_LOADED, { set, ...content });
  }

  /** Uploads a document of a category, or removes it where it is there. */
  toggle(time: number, category: string): void {
    const stream = documentStream(workspace, 'e', category);
    const isThere = this.events.findLast((event) => event.stream === stream)?.type === 'DocumentUploaded';
    const ids = { encounter_id: 'e', document_id: category };
    if (isThere) this.append(time, stream, 'DocumentRemoved', ids);
    else this.append(time, stream, 'DocumentUploaded', { ...ids, category });
  }

  /** Bills the encounter, or the other one, as everything is. */
  bill(time: number, part: 'encounter' | 'other' = 'encounter'): void {
    const versions = claimParts.map((part) => {
      const kind = part === 'rendering_provider' ? 'provider' : part;
      const id = String(this.#sent.get(kind === 'encounter' ? part : kind)?.id);
      const stream = recordStream(workspace, kind, id);
      return { part, kind, id, version: this.events.filter((event) => event.stream === stream).length };
    });
    const encounter_id = String(this.#sent.get(part)?.id);
    const data = { encounter_id, claim_id: `claim-${this.events.length}`, versions };
    this.append(time, encounterReadinessStream(workspace, encounter_id), 'EncounterBilled', data);
  }

  async head(): Promise<number> {
    return this.events.length;
  }

  /** Where the documents of the encounter are, as a read model knows. */
  async page(_model: string, { partition }: PageQuery): Promise<{ id: string }[]> {
    if (partition !== recordStream(workspace, 'encounter', 'e')) return [];
    const streams = this.events.map(({ stream }) => stream);
    return [...new Set(streams.filter((stream) => stream.includes('.document-')))].map((id) => ({ id }));
  }

  /** Encounters by their visits, as the read model of records knows. */
  async heads(_model: string, { partition, lists, limit }: HeadsQuery): Promise<Row[][]> {
    const rows = new Map<string, Row>();
    for (const event of this.events.filter(({ type }) => records.eventTypes?.includes(type))) {
      const before = rows.get(event.stream) as Parameters<typeof records.evolve>[0];
      const [row] = [records.evolve(before, event)].flat() as [Row];
      rows.set(event.stream, row);
    }
    const listed = [...rows.values()].filter((row) => row.partition === partition);
    return lists.map((list) => listed.filter((row) => row.lists?.includes(list)).slice(0, limit));
  }

  async checkpoint(): Promise<number> {
    return this.head();
  }

  async readStream(stream: string, { from = 0, limit }: { from?: number; limit: number }) {
    return this.events.filter((event) => event.stream === stream).slice(from, from + limit);
  }
}

function read(log: FakeLog, asOf?: number): Promise<Readiness> {
  return readReadiness({ eventLog: log, readModels: log } as unknown as QueryPorts, workspace, 'e', asOf);
}

/** What is told of the encounter, now or as of a moment, or why nothing is. */
async function told(log: FakeLog, asOf?: number): Promise<object> {
  try {
    return await read(log, asOf);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return { code: error.code };
  }
}

async function findingsAt(log: FakeLog, moment: number): Promise<string[]> {
  const { findings } = await read(log, moment);
  return findings.map(({ rule }) => rule.code);
}

const claims = Object.values(ruleExamples).flatMap(({ finds, passes }) => [
  ...finds.map(([changes]) => changes),
  ...passes,
]);

function voided({ encounter, ...changes }: Changes): Changes {
  return { ...changes, encounter: { ...encounter, voided_at: '2026-03-15' } };
}

type Work =
  | { changes: Changes }
  | { rule: string; choice: string }
  | { limit: string | null; payer_type?: string }
  | { entity: string | null; facility_id?: string }
  | { time_zone: string | null }
  | (CodeSetContent & { set: string })
  | { category: string }
  | { rules: Record<string, PayerRule | null> }
  | 'bill';

/** What may happen behind the first finding, each after some time. */
const happening: fc.Arbitrary<{ afterMs: number; work: Work }> = fc.record({
  afterMs: fc.constantFrom(0, 1, 3_600_000, DAY_MS, 20 * DAY_MS),
  work: fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom(...claims).map((changes) => ({ changes })) },
    { weight: 4, arbitrary: fc.constantFrom(...claims).map((changes) => ({ changes: voided(changes) })) },
    fc.record({
      rule: fc.constantFrom(...rules.map(({ code }) => code)),
      choice: fc.constantFrom(...ruleChoices, 'default'),
    }),
    {
      weight: 2,
      arbitrary: fc
        .constantFrom(
          {},
          { date_of_service: '2026-03-15' },
          { facility_id: undefined },
          { voided_at: '2026-03-15' },
        )
        .map((other) => ({ changes: { other } })),
    },
    fc.record({ limit: fc.constantFrom(null, 'P1D', 'P30D', 'P6M', 'P2Y') }),
    fc.record({ limit: fc.constantFrom(null, 'P90D'), payer_type: fc.constant('medicare') }),
    fc.record({ entity: fc.constantFrom(null, 'facility', 'provider') }),
    fc.record({ entity: fc.constantFrom(null, 'provider'), facility_id: fc.constant('f') }),
    fc.record({ time_zone: fc.constantFrom(null, 'America/Chicago', 'Pacific/Auckland') }),
    fc.record({
      set: fc.constantFrom('nucc', 'payers'),
      codes: fc.constantFrom<string[]>(['207Q00000X'], ['101Y00000X', '60054']),
    }),
    fc.record({
      set: fc.constant('nppes'),
      codes: fc.constantFrom<string[]>(['1234567893', '1093817462'], ['1234567893']),
      organizations: fc.constantFrom<string[]>([], ['1093817462'], ['1234567893']),
      unknown: fc.constantFrom<string[]>([], ['1093817462']),
    }),
    fc
      .constantFrom(...Object.entries(payerRuleExamples))
      .chain(([id, { rule }]) => fc.record({ rules: fc.constantFrom({ [id]: rule }, { [id]: null }) })),
    fc.record({ category: fc.constantFrom('referral', 'discharge_summary') }),
    fc.constant('bill' as const),
  ),
});

function carryOut(log: FakeLog, time: number, work: Work): void {
  if (work === 'bill') log.bill(time);
  else if ('changes' in work) log.write(time, work.changes);
  else if ('rule' in work) log.set(time, 'ReadinessRuleSet', work);
  else if ('category' in work) log.toggle(time, work.category);
  else if ('rules' in work) log.set(time, 'PayerRulesSet', work);
  else if ('limit' in work) log.set(time, 'FilingLimitSet', work);
  else if ('entity' in work) log.set(time, 'BillingEntitySet', work);
  else if ('time_zone' in work) log.set(time, 'BillingTimeZoneSet', work);
  else log.load(time, work.set, work);
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] });
});
afterEach(() => {
  vi.useRealTimers();
});

test.each(rules)(
  '$code: as of any moment it is what a log told that was fed only up to then',
  async ({ code }) => {
    const { finds, settings, isBilled, isOtherBilled } = ruleExamples[code] as (typeof ruleExamples)[string];
    const happenings = fc.array(happening, { minLength: 3, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...finds), happenings, async ([changes], later) => {
        const log = new FakeLog();
        const begun = NOW - DAY_MS;
        log.setAll(begun, settings);
        log.write(begun, {});
        if (isBilled) log.bill(begun);
        log.write(NOW, changes);
        if (isOtherBilled) log.bill(NOW, 'other');
        expect(await findingsAt(log, begun)).not.toContain(code);
        expect(await findingsAt(log, NOW)).toContain(code);
        let time = NOW;
        for (const { afterMs, work } of later) {
          time += afterMs;
          carryOut(log, time, work);
        }
        for (const { recordedAt } of log.events) {
          for (const moment of [-1, 0, 7 * DAY_MS].map((ms) => Date.parse(recordedAt) + ms)) {
            vi.setSystemTime(moment);
            const then = await told(log.upTo(moment));
            vi.setSystemTime(time + 1_000 * DAY_MS);
            expect(await told(log, moment)).toEqual(then);
          }
        }
      }),
      { numRuns: RUNS },
    );
  },
);

test('a code set that is loaded is the cause of what it brings about', async () => {
  const log = new FakeLog();
  vi.setSystemTime(NOW);
  log.write(NOW, { provider: { taxonomy_code: '207Q00000X' } });
  log.load(NOW, 'nucc', { codes: ['101Y00000X'] });
  const { findings } = await read(log);
  const found = findings.find(({ rule }) => rule.code === 'taxonomy_code');
  expect(found?.cause.kind).toBe('code_set');
});

const PATIENT = 'PatientUpserted';
const patientStream = (id: string) => recordStream(workspace, 'patient', id);

/** Appends a patient like that of the claim. */
function addPatient(log: FakeLog, id: string, changes: Fields = {}): void {
  log.append(NOW, patientStream(id), PATIENT, { ...claimWith({}).patient, ...changes, id });
}

function merge(log: FakeLog, id: string, into: string | null): void {
  log.append(NOW, patientStream(id), PATIENT, { id, merged_into: into });
}

test('of patients who were merged back and forth, those are read on whom the encounter rested', async () => {
  const log = new FakeLog();
  log.write(NOW, {});
  const { id = '' } = claimWith({}).patient as { id?: string };
  const others = Array.from({ length: 50 }, (_, index) => `m${index}`);
  for (const other of others) addPatient(log, other);
  for (const [index, other] of others.entries()) {
    const next = others[index + 1];
    if (next === undefined) continue;
    merge(log, other, next);
    merge(log, other, null);
  }
  merge(log, id, 'm0');
  const reading = vi.spyOn(log, 'readStream');
  const { facts } = await read(log);
  expect(facts.patient?.id).toBe('m0');
  const streams = new Set(reading.mock.calls.map(([stream]) => stream));
  expect([...streams].filter((stream) => stream.includes('.patient-')).sort()).toEqual(
    [patientStream('m0'), patientStream(id)].sort(),
  );
});

/** What the rules found after each event, from all records, whatever rests on them. */
function foundAfterEach(log: FakeLog): string[][] {
  const states = new Map<string, RecordState>();
  return log.events.map((event) => {
    states.set(event.stream, evolveRecord(kindOfStream(event.stream), states.get(event.stream), event));
    const all = [...states].flatMap(([stream, state]) => billedRecord(state, recordIdOf(stream)) ?? []);
    const facts = factsOf(new Map(all.map((one) => [recordKey(one.kind, one.id), one])), 'e');
    if (facts === undefined) return [];
    return findingsOf(facts, noSettings)
      .filter((one) => appliesAt(one, NOW))
      .map(keyOf);
  });
}

const keyOf = ({ rule, record, field }: Finding) => `${rule.code} ${record.kind}-${record.id} ${field}`;

test('however patients are merged, findings have the writes as causes from which they have stood', async () => {
  const others = ['a', 'b', 'c', 'd'];
  const { id = '' } = claimWith({}).patient as { id?: string };
  const anyone = fc.constantFrom(id, ...others);
  const into = fc.oneof(anyone, fc.constant(null));
  const change = fc.oneof(
    { weight: 3, arbitrary: fc.record({ of: anyone, merged_into: into }) },
    fc.record({ of: anyone, city: fc.constantFrom(null, 'Omaha') }),
    fc.record({ patient_id: anyone }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 5, maxLength: 40 }), async (changes) => {
      const log = new FakeLog();
      vi.setSystemTime(NOW);
      for (const other of others) addPatient(log, other, other === 'b' ? { city: null } : {});
      log.write(NOW, {});
      for (const { ...fields } of changes) {
        if ('of' in fields) {
          const { of, ...data } = fields;
          log.append(NOW, patientStream(of), PATIENT, { id: of, ...data });
        } else {
          const encounter = { id: 'e', ...fields };
          log.append(NOW, recordStream(workspace, 'encounter', 'e'), 'EncounterUpserted', encounter);
        }
      }
      const found = foundAfterEach(log);
      const { findings } = await read(log);
      expect(findings.map(keyOf).sort()).toEqual(found.at(-1)?.sort());
      for (const finding of findings) {
        const since = found.findLastIndex((keys) => !keys.includes(keyOf(finding))) + 1;
        expect(finding.cause.event.position).toBe(since);
      }
    }),
    { numRuns: 100 },
  );
});
