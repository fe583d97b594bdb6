import type { RecordedEvent } from '../events/event.ts';
import { recordStream } from '../events/streamNames.ts';
import type { EventLog } from '../ports/eventLog.ts';
import { foldStream } from '../reads/foldStream.ts';
import { evolveRecord, type RecordState } from '../records/fold.ts';
import { billedRecord, recordKey } from './factsOf.ts';
import { textOf } from './faults.ts';
import type { BilledRecord } from './rule.ts';

/** A version of a record, and the event that made it. */
export interface Step {
  event: Pick<RecordedEvent, 'id' | 'position' | 'recordedAt' | 'metadata'>;
  kind: string;
  id: string;
  version: number;
  /** Undefined where it was erased. */
  record: BilledRecord | undefined;
}

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
    this.#versions.set(recordKey(kind, id), steps);
    const evolve = (before: RecordState | undefined, event: RecordedEvent) => {
      const state = evolveRecord(kind, before, event);
      const { id: eventId, position, metadata } = event;
      steps.push({
        event: { id: eventId, position, metadata, recordedAt: state.updatedAt },
        ...{ kind, id, version: state.version },
        record: billedRecord(state, id),
      });
      return state;
    };
    const isWanted = ({ recordedAt }: RecordedEvent) => Date.parse(recordedAt) <= this.#asOf;
    await foldStream(this.#eventLog, recordStream(this.#workspace, kind, id), evolve, { isWanted });
    return steps;
  }
}
