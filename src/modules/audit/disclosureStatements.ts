import { dataAs, type Position, type RecordedEvent } from '../../domain/events/event.ts';
import {
  DISCLOSURES_ERASED,
  type DisclosureAdded,
  type DisclosurePurposeStated,
  erasureStep,
} from '../../domain/events/payloads.ts';
import { disclosuresStream } from '../../domain/events/streams.ts';
import { upcast } from '../../domain/events/upcasting.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { foldStream } from '../records/queries/records.ts';

/** An event in which somebody stated something about a disclosure. */
export type Statement<Data> = Pick<RecordedEvent, 'id' | 'position' | 'recordedAt' | 'metadata'> & {
  data: Data;
};

/** What people stated about disclosures of a patient's data, as folded from its `disclosuresStream`. */
export interface StatementsState {
  version: number;
  /** Of the first event since the last erasure. */
  since?: Position;
  /** Disclosures that the service did not make. */
  added: readonly Statement<DisclosureAdded>[];
  /** The purposes stated last, by the id of the entry. */
  purposes: ReadonlyMap<string, Statement<DisclosurePurposeStated>>;
}

export const noStatements: StatementsState = { version: 0, added: [], purposes: new Map() };

/** Folds the next event of a `disclosuresStream`. Throws an `UnreadableError`. */
export function evolveStatements(state = noStatements, event: RecordedEvent): StatementsState {
  const version = event.revision + 1;
  const read = upcast(event);
  if (event.type === DISCLOSURES_ERASED)
    return erasureStep(read) === 'done' ? { ...noStatements, version } : { ...state, version };
  const next = { ...state, version, since: state.since ?? event.position };
  if (event.type === 'DisclosureAdded')
    return { ...next, added: [...state.added, { ...read, data: dataAs<DisclosureAdded>(read.data) }] };
  const data = dataAs<DisclosurePurposeStated>(read.data);
  return { ...next, purposes: new Map([...state.purposes, [data.event_id, { ...read, data }]]) };
}

/** Returns what was stated about disclosures of several patients, who are one person. Rejects with `unreadable` and `unavailable`. */
export async function readStatements(
  eventLog: EventLog,
  workspace: string,
  patientIds: readonly string[],
): Promise<Pick<StatementsState, 'added' | 'purposes'>> {
  const states = await Promise.all(
    patientIds.map((id) => foldStream(eventLog, disclosuresStream(workspace, id), evolveStatements)),
  );
  const found = states.filter((state) => state !== undefined);
  return {
    added: found.flatMap(({ added }) => added),
    purposes: new Map(
      found.flatMap(({ purposes }) => [...purposes]).toSorted(([, a], [, b]) => a.position - b.position),
    ),
  };
}
