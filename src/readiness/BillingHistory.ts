import type { RecordedEvent } from '../events/event.ts';
import { recordStream } from '../events/streamNames.ts';
import type { EventLog } from '../ports/eventLog.ts';
import { foldStream } from '../reads/foldStream.ts';
import { catalogEntry } from '../records/catalog.ts';
import { evolveRecord, type RecordState, viewRecord } from '../records/fold.ts';
import { textOf } from './faults.ts';
import type { BilledRecord, BillingFacts } from './rule.ts';

/** A version of a record, and the event that made it. */
export interface Step {
  event: Pick<RecordedEvent, 'id' | 'position' | 'recordedAt' | 'metadata'>;
  kind: string;
  id: string;
  version: number;
  /** Undefined where it was erased. */
  record: BilledRecord | undefined;
}

const keyOf = (kind: string, id: string) => `${kind}-${id}`;

/**
 * All versions of an encounter, and of what it referred to in any of them, that were recorded up to a moment: by the log
 * alone.
 */
export class BillingHistory {
  readonly #eventLog: EventLog;
  readonly #workspace: string;
  readonly #asOf: number;
  readonly #versions = new Map<string, Step[]>();

  /** `asOf`: milliseconds since 1970. */
  constructor(eventLog: EventLog, workspace: string, asOf: number) {
    this.#eventLog = eventLog;
    this.#workspace = workspace;
    this.#asOf = asOf;
  }

  /** Every version, in the order of the log; empty where there was no such encounter. Rejects with `unavailable`, `unreadable`. */
  async steps(encounterId: string): Promise<Step[]> {
    const encounters = await this.#read('encounter', encounterId);
    const named = (field: string) => encounters.map(({ record }) => textOf(record, field));
    const [patients] = await Promise.all([
      this.#readAll('patient', named('patient_id')),
      this.#readAll('provider', [...named('provider_id'), ...named('rendering_provider_id')]),
      this.#readAll('facility', named('facility_id')),
    ]);
    await this.#readAll(
      'payer',
      patients.map(({ record }) => textOf(record, 'primary_insurance.payer_id')),
    );
    return [...this.#versions.values()].flat().sort((a, b) => a.event.position - b.event.position);
  }

  async #readAll(kind: string, ids: (string | undefined)[]): Promise<Step[]> {
    const distinct = [...new Set(ids)].filter((id) => id !== undefined);
    return (await Promise.all(distinct.map((id) => this.#read(kind, id)))).flat();
  }

  async #read(kind: string, id: string): Promise<Step[]> {
    const steps: Step[] = [];
    this.#versions.set(keyOf(kind, id), steps);
    const evolve = (before: RecordState | undefined, event: RecordedEvent) => {
      const state = evolveRecord(kind, before, event);
      const { id: eventId, position, metadata } = event;
      steps.push({
        event: { id: eventId, position, metadata, recordedAt: state.updatedAt },
        ...{ kind, id, version: state.version },
        record: billed(state, id),
      });
      return state;
    };
    const isWanted = ({ recordedAt }: RecordedEvent) => Date.parse(recordedAt) <= this.#asOf;
    await foldStream(this.#eventLog, recordStream(this.#workspace, kind, id), evolve, { isWanted });
    return steps;
  }
}

function billed(state: RecordState, id: string): BilledRecord | undefined {
  if (state.erased) return undefined;
  return { kind: catalogEntry(state.kind).kind, id, version: state.version, fields: viewRecord(state) };
}

/** The facts about an encounter among the records that stand; undefined where the encounter is not among them. */
export function factsOf(
  records: ReadonlyMap<string, BilledRecord | undefined>,
  encounterId: string,
): BillingFacts | undefined {
  const encounter = records.get(keyOf('encounter', encounterId));
  if (encounter === undefined) return undefined;
  const named = (kind: string, holder: BilledRecord | undefined, field: string) => {
    const id = textOf(holder, field);
    return id === undefined ? undefined : records.get(keyOf(kind, id));
  };
  const patient = named('patient', encounter, 'patient_id');
  return {
    encounter,
    patient,
    provider: named('provider', encounter, 'provider_id'),
    renderingProvider: named('provider', encounter, 'rendering_provider_id'),
    facility: named('facility', encounter, 'facility_id'),
    payer: named('payer', patient, 'primary_insurance.payer_id'),
  };
}

/** Carries the records that stand on by a step. */
export function take(records: Map<string, BilledRecord | undefined>, { kind, id, record }: Step): void {
  records.set(keyOf(kind, id), record);
}
