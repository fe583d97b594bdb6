import { recordsModel } from '../../../projections/records.ts';
import type { Position, RecordedEvent } from '../../domain/events/event.ts';
import {
  codeSetStream,
  documentIdsOf,
  encounterReadinessStream,
  readinessStream,
  recordIdOf,
  recordStream,
} from '../../domain/events/streams.ts';
import { type DocumentCategory, type DocumentState, evolveDocument } from '../../domain/records/document.ts';
import { evolveRecord, type RecordState } from '../../domain/records/fold.ts';
import { documentRows } from '../records/queries/documents.ts';
import { caughtUp } from '../records/queries/paging.ts';
import { type Evolve, foldStream, type QueryPorts } from '../records/queries/records.ts';
import { type Billing, claimOf, evolveBilling, versionsOf } from './billing.ts';
import { visitRows } from './evaluate.ts';
import type { AllAnswers } from './rules/answers.ts';
import { type CodeSets, codeSetNames, readLoadedSets } from './rules/codeSets.ts';
import { duplicateOfBilled, suspectedDuplicate } from './rules/encounter.ts';
import {
  billedRecord,
  factsOf,
  type Named,
  namedBy,
  reachedFrom,
  recordKey,
  sameVisitOf,
} from './rules/facts.ts';
import { type Finding, findingsOf } from './rules/index.ts';
import {
  type BilledRecord,
  type BilledVersion,
  type BillingFacts,
  evolveRuleSettings,
  isOff,
  noSettings,
  type RuleSettings,
} from './rules/rule.ts';

/** A version of a record or document, of the rule settings, or of what was billed, and the event that created it. */
export interface Step {
  event: Pick<RecordedEvent, 'id' | 'position' | 'recordedAt' | 'metadata'>;
  /**
   * Of a record or document; `workspace` for its rule settings, `code_set` for a set that was loaded, `readiness` for
   * what was billed or answered.
   */
  kind: string;
  id: string;
  version: number;
  /** Undefined where it was erased, and for anything that is not a record. */
  record?: BilledRecord | undefined;
  /** Without a category where it was removed. */
  document?: { category?: DocumentCategory };
  /** The settings that the event has set. */
  settings?: Partial<RuleSettings>;
  /** The code set that the event has loaded, by its name. */
  codeSets?: CodeSets;
  billing?: Billing;
  answers?: AllAnswers;
}

/** The steps in streams on which other encounters may depend as well, by the names of the streams. */
export interface CachedSteps {
  get(stream: string): Promise<Step[]> | undefined;
  set(stream: string, steps: Promise<Step[]>): unknown;
}

/** Only the one encounter depends on these. */
const ownKinds = ['encounter', 'document', 'readiness'];

/** What a state of a stream reports. */
type StreamState = Pick<Step, 'record' | 'document' | 'settings' | 'billing' | 'answers'> & {
  recordedAt?: string;
};

/**
 * All versions, recorded up to a moment, of an encounter, of what it referred to in any of them and what that refers
 * to in turn, of other encounters of its visits, of its documents where any are required, of what was billed for it,
 * and of the rule settings: from the log alone. Read models only tell where in the log other encounters and documents
 * are.
 */
export class BillingHistory {
  readonly #ports: QueryPorts;
  readonly #workspace: string;
  readonly #asOf: number;
  readonly #remembered: CachedSteps | undefined;
  readonly #versions = new Map<string, Step[]>();

  /**
   * `asOf`: milliseconds since 1970. `remembered`: what was read for other encounters of the workspace as of the same
   * moment; what is read for this one is added.
   */
  constructor(ports: QueryPorts, workspace: string, asOf: number, remembered?: CachedSteps) {
    this.#ports = ports;
    this.#workspace = workspace;
    this.#asOf = asOf;
    this.#remembered = remembered;
  }

  /**
   * Resolves with every version, in the order of the log; empty where there was no such encounter. `isPresent`:
   * include other encounters that were written just now. `mayBeBilled`: false where it is known that nothing was billed or answered. Rejects with
   * `unavailable`, `unreadable`.
   */
  async steps(encounterId: string, { isPresent = true, mayBeBilled = true } = {}): Promise<Step[]> {
    const encounters = await this.#read('encounter', encounterId);
    if (encounters.length === 0) return [];
    const [settings] = await Promise.all([this.#readSettings(), this.#readCodeSets()]);
    if (settings.some(({ settings }) => settings?.requiredDocuments?.size)) {
      await this.#readDocuments(encounterId);
    }
    const present = { ...noSettings, ...settings.at(-1)?.settings };
    if ([suspectedDuplicate, duplicateOfBilled].some((rule) => !isOff(present, rule))) {
      if (isPresent) await caughtUp(this.#ports, recordsModel, 'readiness');
      await this.#readOthers(encounterId, encounters);
    }
    if (mayBeBilled) await this.#readBilling(encounterId);
    await this.#readNamed(encounters);
    return [...this.#versions.values()].flat().sort((a, b) => a.event.position - b.event.position);
  }

  /**
   * Reads every version of what the encounter rested on at any time. What a version names counts only while it is in force: of patients
   * who were merged back and forth, all others would otherwise be found.
   */
  async #readNamed(encounters: readonly Step[]): Promise<void> {
    const seen = new Map<string, Span[]>();
    const isSeen = ({ named, span: [from, before] }: NamedSpan) => {
      const key = recordKey(...named);
      const spans = seen.get(key) ?? [];
      if (spans.some((one) => one[0] <= from && one[1] >= before)) return true;
      seen.set(key, [...spans, [from, before]]);
      return false;
    };
    for (let found = namesIn(encounters, ALWAYS); found.length > 0; ) {
      const fresh = found.filter((one) => !isSeen(one));
      const unread = new Map(fresh.map(({ named }) => [recordKey(...named), named]));
      for (const key of this.#versions.keys()) unread.delete(key);
      await Promise.all([...unread.values()].map((one) => this.#read(...one)));
      found = fresh.flatMap(({ named, span }) =>
        namesIn(this.#versions.get(recordKey(...named)) ?? [], span),
      );
    }
  }

  #read(kind: string, id: string): Promise<Step[]> {
    const evolve = (state: RecordState | undefined, event: RecordedEvent) => evolveRecord(kind, state, event);
    const stream = recordStream(this.#workspace, kind, id);
    return this.#fold(kind, id, stream, evolve, (state) => ({
      recordedAt: state.updatedAt,
      record: billedRecord(state, id),
    }));
  }

  /**
   * Reads every version, and what was billed, of the other encounters that belong or belonged to a visit to which the encounter belongs or
   * belonged.
   */
  async #readOthers(encounterId: string, encounters: readonly Step[]): Promise<void> {
    const versions = encounters.flatMap(({ record }) => record ?? []);
    const rows = await visitRows(this.#ports.readModels, this.#workspace, versions);
    const ids = new Set([...rows.values()].flat().map(({ id }) => recordIdOf(id)));
    ids.delete(encounterId);
    await Promise.all([...ids].flatMap((id) => [this.#read('encounter', id), this.#readBilling(id)]));
  }

  async #readDocuments(encounterId: string): Promise<void> {
    const rows = await documentRows(this.#ports, this.#workspace, [encounterId]);
    const stepOf = (state: DocumentState) => ({
      recordedAt: state.updatedAt,
      document: state.removed ? {} : { category: state.document.category },
    });
    await Promise.all(
      rows.map(({ id }) => this.#fold('document', documentIdsOf(id).documentId, id, evolveDocument, stepOf)),
    );
  }

  #readSettings(): Promise<Step[]> {
    const stream = readinessStream(this.#workspace);
    return this.#fold('workspace', this.#workspace, stream, evolveRuleSettings, (settings) => ({ settings }));
  }

  async #readCodeSets(): Promise<void> {
    await Promise.all(
      codeSetNames.map((name) =>
        this.#collect('code_set', name, codeSetStream(name), async () =>
          (await readLoadedSets(this.#ports.eventLog, name))
            .filter(({ event }) => this.#isWanted(event))
            .map(({ event, ...set }) => ({
              ...{ event, kind: 'code_set', id: name, version: event.revision + 1 },
              codeSets: { [name]: set },
            })),
        ),
      ),
    );
  }

  #isWanted({ recordedAt }: Pick<RecordedEvent, 'recordedAt'>): boolean {
    return Date.parse(recordedAt) <= this.#asOf;
  }

  #readBilling(encounterId: string): Promise<Step[]> {
    const stream = encounterReadinessStream(this.#workspace, encounterId);
    return this.#fold('readiness', encounterId, stream, evolveBilling, ({ billing, answers }, before) => {
      if (billing !== undefined && billing !== before?.billing) return { billing };
      return answers !== undefined && answers !== before?.answers ? { answers } : undefined;
    });
  }

  /**
   * Resolves with every version in a stream that reports something; `stepOf` returns what a state reports, and since
   * when where that is not the event's own time.
   */
  #fold<State extends { version: number }>(
    kind: string,
    id: string,
    stream: string,
    evolve: Evolve<State>,
    stepOf: (state: State, before: State | undefined) => StreamState | undefined,
  ): Promise<Step[]> {
    const steps: Step[] = [];
    const take: Evolve<State> = (before, event) => {
      const state = evolve(before, event);
      const step = stepOf(state, before);
      if (step === undefined) return state;
      const { recordedAt = event.recordedAt, ...content } = step;
      const { id: eventId, position, metadata } = event;
      steps.push({
        event: { id: eventId, position, metadata, recordedAt },
        kind,
        id,
        version: state.version,
        ...content,
      });
      return state;
    };
    return this.#collect(kind, id, stream, async () => {
      await foldStream(this.#ports.eventLog, stream, take, { isWanted: (event) => this.#isWanted(event) });
      return steps;
    });
  }

  /** Takes the steps in a stream, reading it unless that has already been done. */
  async #collect(kind: string, id: string, stream: string, read: () => Promise<Step[]>): Promise<Step[]> {
    const remembered = ownKinds.includes(kind) ? undefined : this.#remembered;
    const reading = remembered?.get(stream) ?? read();
    remembered?.set(stream, reading);
    const steps = await reading;
    this.#versions.set(recordKey(kind, id), steps);
    return steps;
  }
}

/** A part of the log: from a position on, before another one. */
type Span = readonly [from: Position, before: Position];

const ALWAYS: Span = [0, Number.POSITIVE_INFINITY];

/** What versions of a record name, and a span in which they do without interruption. */
interface NamedSpan {
  named: Named;
  span: Span;
}

/** Returns what the versions of a record name that are in force within a span. */
function namesIn(versions: readonly Step[], [from, before]: Span): NamedSpan[] {
  const found = new Map<string, NamedSpan[]>();
  for (const [index, { event, record }] of versions.entries()) {
    const begin = Math.max(from, event.position);
    const end = Math.min(before, versions[index + 1]?.event.position ?? before);
    if (record === undefined || begin >= end) continue;
    for (const named of namedBy(record)) {
      const key = recordKey(...named);
      const spans = found.get(key) ?? [];
      const last = spans.at(-1);
      if (last === undefined || last.span[1] < begin) spans.push({ named, span: [begin, end] });
      else last.span = [last.span[0], end];
      found.set(key, spans);
    }
  }
  return [...found.values()].flat();
}

/** A finding, and what caused it. */
export interface CausedFinding extends Finding {
  /** The write from which it has followed without interruption. */
  cause: Step;
  /** Since when it has stood, in ISO 8601: the moment of that write, or a later one at which it began by itself. */
  since: string;
}

/**
 * What the rules find in an encounter after each of the versions on which it depends, taken in the order of the log.
 */
export class ReadinessReplay {
  readonly #encounterId: string;
  readonly #records: Map<string, BilledRecord | undefined>;
  /** The steps of records, each by its version. */
  readonly #versions = new Map<string, Step>();
  /** Categories of documents by their ids; undefined once removed. */
  readonly #documents = new Map<string, DocumentCategory | undefined>();
  #settings: RuleSettings;
  #facts: BillingFacts | undefined;
  /** What was billed of the encounter, and of others of its visits, by their ids. */
  readonly #billings = new Map<string, Billing>();
  #answers: AllAnswers | undefined;
  /** What the facts rest on, by `recordKey`; undefined before the first step. */
  #reached: ReadonlySet<string> | undefined;
  #known = new Map<string, CausedFinding>();

  /** From the beginning of the log; or, for an encounter that was not billed, from where there were these records and settings. */
  constructor(encounterId: string, records: readonly BilledRecord[] = [], settings = noSettings) {
    this.#encounterId = encounterId;
    this.#records = new Map(records.map((record) => [recordKey(record.kind, record.id), record]));
    this.#settings = settings;
  }

  /** Undefined where the encounter does not exist, or was erased. */
  get facts(): BillingFacts | undefined {
    return this.#facts;
  }

  get settings(): RuleSettings {
    return this.#settings;
  }

  get billing(): Billing | undefined {
    return this.#billings.get(this.#encounterId);
  }

  get answers(): AllAnswers | undefined {
    return this.#answers;
  }

  /** Including those that will begin or end by themselves some day. */
  get findings(): CausedFinding[] {
    return [...this.#known.values()];
  }

  /** Takes the next step; returns false where the encounter does not depend on it, so that nothing has changed. */
  apply(step: Step): boolean {
    if (step.settings) this.#settings = { ...this.#settings, ...step.settings };
    else if (step.codeSets)
      this.#settings = { ...this.#settings, codeSets: { ...this.#settings.codeSets, ...step.codeSets } };
    else if (step.document) this.#documents.set(step.id, step.document.category);
    else if (step.billing) this.#billings.set(step.id, step.billing);
    else if (step.answers) this.#answer(step.id, step.answers);
    else if (!this.#applyRecord(step)) return false;
    this.#reached = reachedFrom(this.#records, this.#encounterId);
    const facts = factsOf(this.#records, this.#encounterId);
    const documents = new Set([...this.#documents.values()].filter((one) => one !== undefined));
    const { billing } = this;
    const claims = [...this.#billings].map(([id, one]) => [id, claimOf(one)] as const);
    this.#facts = facts && {
      ...facts,
      documents,
      sameVisit: sameVisitOf(facts.encounter, [...this.#records.values()]),
      sameVisitBilled: new Map(claims),
      claim: billing && claimOf(billing),
      billed: billing && this.#billedVersions(billing),
      firstBilled: billing?.firstBilled,
      answers: this.#answers,
    };
    const found = this.#facts === undefined ? [] : findingsOf(this.#facts, this.#settings);
    this.#known = new Map(
      found.map((finding) => {
        const key = keyOf(finding);
        const cause = this.#known.get(key)?.cause ?? this.#causeOf(finding, step);
        return [key, { ...finding, cause, since: sinceOf(finding, cause) }];
      }),
    );
    return true;
  }

  /** What is answered for other encounters of its visits does not concern it. */
  #answer(encounterId: string, answers: AllAnswers | undefined): void {
    if (encounterId === this.#encounterId) this.#answers = answers;
  }

  /** Returns false where the encounter does not rest on the record. */
  #applyRecord(step: Step): boolean {
    const { kind, id, version, record } = step;
    const key = recordKey(kind, id);
    this.#records.set(key, record);
    this.#versions.set(versionKey(kind, id, version), step);
    if (kind !== 'encounter') return this.#reached?.has(key) !== false;
    if (record !== undefined) return true;
    // What was billed and answered is erased along with it.
    this.#billings.delete(id);
    this.#answer(id, undefined);
    return true;
  }

  #billedVersions(billing: Billing): BilledVersion[] {
    return versionsOf(billing).map((used) => {
      const step = this.#versions.get(versionKey(used.kind, used.id, used.version));
      return { ...used, fields: step?.record?.fields };
    });
  }

  /**
   * Billing changes no record: where it came too late for a change, the change is the cause. What the billing of another encounter
   * brought about has that encounter as its cause, in the version of then.
   */
  #causeOf({ record: { kind, id, version } }: Finding, step: Step): Step {
    if (step.billing === undefined) return step;
    if (step.id !== this.#encounterId) return { ...step, kind, id, version };
    return this.#versions.get(versionKey(kind, id, version)) ?? step;
  }
}

function versionKey(kind: string, id: string, version: number): string {
  return `${version}-${recordKey(kind, id)}`;
}

/** Returns a key by which a finding is recognized in every version. */
function keyOf({ rule, record, field, from, until }: Finding): string {
  return JSON.stringify([rule.code, record.kind, record.id, field, from, until]);
}

function sinceOf({ from = -Infinity }: Finding, { event }: Step): string {
  return from > Date.parse(event.recordedAt) ? new Date(from).toISOString() : event.recordedAt;
}
