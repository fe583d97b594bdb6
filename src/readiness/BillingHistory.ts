import type { RecordedEvent } from '../events/event.ts';
import {
  documentIdsOf,
  encounterReadinessStream,
  readinessStream,
  recordStream,
} from '../events/streamNames.ts';
import { type Evolve, foldStream } from '../reads/foldStream.ts';
import { documentRows } from '../reads/latestDocuments.ts';
import type { QueryPorts } from '../reads/readRecord.ts';
import { type DocumentCategory, type DocumentState, evolveDocument } from '../records/document.ts';
import { evolveRecord, type RecordState } from '../records/fold.ts';
import { type Billing, evolveBilling } from './billing.ts';
import { billedRecord, namedBy, recordKey } from './factsOf.ts';
import type { BilledRecord } from './rule.ts';
import { evolveRuleSettings, type RuleSettings } from './ruleSettings.ts';
import { readTaxonomySets, TAXONOMY } from './taxonomySet.ts';

/** A version of a record or document, of what the rules go by, or of what was billed, and the event that made it. */
export interface Step {
  event: Pick<RecordedEvent, 'id' | 'position' | 'recordedAt' | 'metadata'>;
  /**
   * Of a record or document; `workspace` for what that has set of the rules, `code_set` for a set that was loaded, `readiness` for what
   * was billed.
   */
  kind: string;
  id: string;
  version: number;
  /** Undefined where it was erased, and for what is no record. */
  record?: BilledRecord | undefined;
  /** Without a category where it was removed. */
  document?: { category?: DocumentCategory };
  /** What of them the event has set. */
  settings?: Partial<RuleSettings>;
  billing?: Billing;
}

/** What a state of a stream tells. */
type Told = Pick<Step, 'record' | 'document' | 'settings' | 'billing'> & { recordedAt?: string };

/**
 * All versions of an encounter, of what it referred to in any of them, of its documents where any are required, of what was billed of it,
 * and of what the rules go by, that were recorded up to a moment: by the log alone. Of documents, a read model tells where in the log they are.
 */
export class BillingHistory {
  readonly #ports: QueryPorts;
  readonly #workspace: string;
  readonly #asOf: number;
  readonly #versions = new Map<string, Step[]>();

  /** `asOf`: milliseconds since 1970. */
  constructor(ports: QueryPorts, workspace: string, asOf: number) {
    this.#ports = ports;
    this.#workspace = workspace;
    this.#asOf = asOf;
  }

  /** Every version, in the order of the log; empty where there was no such encounter. Rejects with `unavailable`, `unreadable`. */
  async steps(encounterId: string): Promise<Step[]> {
    const encounters = await this.#read('encounter', encounterId);
    if (encounters.length === 0) return [];
    const [settings] = await Promise.all([this.#readSettings(), this.#readTaxonomySets()]);
    if (settings.some(({ settings }) => settings?.requiredDocuments?.size)) {
      await this.#readDocuments(encounterId);
    }
    await this.#readBilling(encounterId);
    await this.#readAll(await this.#readAll(encounters));
    return [...this.#versions.values()].flat().sort((a, b) => a.event.position - b.event.position);
  }

  /** Every version of all that some versions name. */
  async #readAll(steps: readonly Step[]): Promise<Step[]> {
    const named = steps.flatMap(({ record }) => (record ? namedBy(record) : []));
    const distinct = new Map(named.map((one) => [recordKey(...one), one]));
    return (await Promise.all([...distinct.values()].map((one) => this.#read(...one)))).flat();
  }

  #read(kind: string, id: string): Promise<Step[]> {
    const evolve = (state: RecordState | undefined, event: RecordedEvent) => evolveRecord(kind, state, event);
    const stream = recordStream(this.#workspace, kind, id);
    return this.#fold(kind, id, stream, evolve, (state) => ({
      recordedAt: state.updatedAt,
      record: billedRecord(state, id),
    }));
  }

  async #readDocuments(encounterId: string): Promise<void> {
    const rows = await documentRows(this.#ports, this.#workspace, [encounterId]);
    const told = (state: DocumentState) => ({
      recordedAt: state.updatedAt,
      document: state.removed ? {} : { category: state.document.category },
    });
    await Promise.all(
      rows.map(({ id }) => this.#fold('document', documentIdsOf(id).documentId, id, evolveDocument, told)),
    );
  }

  #readSettings(): Promise<Step[]> {
    const stream = readinessStream(this.#workspace);
    return this.#fold('workspace', this.#workspace, stream, evolveRuleSettings, (settings) => ({ settings }));
  }

  async #readTaxonomySets(): Promise<void> {
    const sets = await readTaxonomySets(this.#ports.eventLog);
    const steps = sets
      .filter(({ event }) => this.#isWanted(event))
      .map(({ event, codes }) => ({
        ...{ event, kind: 'code_set', id: TAXONOMY, version: event.revision + 1 },
        settings: { taxonomyCodes: codes },
      }));
    this.#versions.set(recordKey('code_set', TAXONOMY), steps);
  }

  #isWanted({ recordedAt }: Pick<RecordedEvent, 'recordedAt'>): boolean {
    return Date.parse(recordedAt) <= this.#asOf;
  }

  #readBilling(encounterId: string): Promise<Step[]> {
    const stream = encounterReadinessStream(this.#workspace, encounterId);
    return this.#fold('readiness', encounterId, stream, evolveBilling, ({ billing }, before) =>
      billing === undefined || billing === before?.billing ? undefined : { billing },
    );
  }

  /** Every version in a stream that tells something; `toldBy` gives what a state tells, and since when where that is not the event's own time. */
  async #fold<State extends { version: number }>(
    kind: string,
    id: string,
    stream: string,
    evolve: Evolve<State>,
    toldBy: (state: State, before: State | undefined) => Told | undefined,
  ): Promise<Step[]> {
    const steps: Step[] = [];
    this.#versions.set(recordKey(kind, id), steps);
    const take: Evolve<State> = (before, event) => {
      const state = evolve(before, event);
      const toldNow = toldBy(state, before);
      if (toldNow === undefined) return state;
      const { recordedAt = event.recordedAt, ...told } = toldNow;
      const { id: eventId, position, metadata } = event;
      steps.push({
        event: { id: eventId, position, metadata, recordedAt },
        kind,
        id,
        version: state.version,
        ...told,
      });
      return state;
    };
    await foldStream(this.#ports.eventLog, stream, take, { isWanted: (event) => this.#isWanted(event) });
    return steps;
  }
}
