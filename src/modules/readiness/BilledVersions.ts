import type { UsedVersion } from '../../domain/events/encounterReadiness.ts';
import type { RecordedEvent } from '../../domain/events/event.ts';
import { recordStream } from '../../domain/events/streamNames.ts';
import type { RecordFields } from '../../domain/records/catalog.ts';
import { evolveRecord, type RecordState } from '../../domain/records/fold.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { foldStream } from '../records/queries/foldStream.ts';
import { type Billing, versionsOf } from './billing.ts';
import { billedRecord, partsOf, recordKey } from './rules/factsOf.ts';
import type { BilledVersion, BillingFacts } from './rules/rule.ts';

/**
 * The versions that were billed of some encounters of a workspace, with what stood in them. The log is asked for those alone that are no longer
 * the present ones, and once for each of them.
 */
export class BilledVersions {
  readonly #eventLog: EventLog;
  readonly #workspace: string;
  readonly #read = new Map<string, Promise<RecordFields | undefined>>();

  constructor(eventLog: EventLog, workspace: string) {
    this.#eventLog = eventLog;
    this.#workspace = workspace;
  }

  /**
   * Of one encounter. Without fields is what was erased, and what is no part of it any more: the field tells that names another record. Rejects
   * with `unavailable`, `unreadable`.
   */
  of(billing: Billing, facts: BillingFacts): Promise<BilledVersion[]> {
    const present = [...Object.values(partsOf(facts)), ...(facts.merged ?? [])];
    const versions = new Map(
      present.flatMap((record) => (record ? [[recordKey(record.kind, record.id), record]] : [])),
    );
    return Promise.all(
      versionsOf(billing).map(async (used) => {
        const record = versions.get(recordKey(used.kind, used.id));
        const isPresent = record?.version === used.version;
        const fields = isPresent || record === undefined ? record?.fields : await this.#fieldsOf(used);
        return { ...used, fields };
      }),
    );
  }

  #fieldsOf({ kind, id, version }: UsedVersion): Promise<RecordFields | undefined> {
    const key = `${version}-${recordKey(kind, id)}`;
    const reading = this.#read.get(key) ?? this.#fold(kind, id, version);
    this.#read.set(key, reading);
    return reading;
  }

  async #fold(kind: string, id: string, version: number): Promise<RecordFields | undefined> {
    const stream = recordStream(this.#workspace, kind, id);
    const evolve = (state: RecordState | undefined, event: RecordedEvent) => evolveRecord(kind, state, event);
    const state = await foldStream(this.#eventLog, stream, evolve, { version });
    return state?.version === version ? billedRecord(state, id)?.fields : undefined;
  }
}
