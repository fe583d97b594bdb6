import { erasureStep } from '../../../domain/events/recordErased.ts';
import { recordStream } from '../../../domain/events/streamNames.ts';
import { upcast } from '../../../domain/events/upcast.ts';
import type { RecordFields } from '../../../domain/records/catalog.ts';
import { evolveRecord, type RecordState } from '../../../domain/records/fold.ts';
import type { EventLog } from '../../../storage/eventLog.ts';
import { foldStream } from '../../records/queries/foldStream.ts';

/** A write to a record; without fields, it erased the record. */
export interface OtherWrite {
  at: string;
  fields: RecordFields | undefined;
}

/** What the log says about a record. */
export interface LoggedRecord {
  /** Its present state; undefined where there is none. */
  present: RecordState | undefined;
  /** Writes that come from none of the messages being read again, oldest first. */
  others: readonly OtherWrite[];
}

interface Logged {
  version: number;
  state: RecordState;
  others: OtherWrite[];
}

/**
 * The records of a workspace, in terms of writes other than those of messages being read again; each is read once.
 */
export class OtherWrites {
  readonly #eventLog: EventLog;
  readonly #workspace: string;
  readonly #replayed: ReadonlySet<string>;
  readonly #read = new Map<string, Promise<LoggedRecord>>();

  /** `replayed`: the ids of the messages. */
  constructor(eventLog: EventLog, workspace: string, replayed: ReadonlySet<string>) {
    this.#eventLog = eventLog;
    this.#workspace = workspace;
    this.#replayed = replayed;
  }

  /** Rejects with `unavailable` and `unreadable`. */
  of(kind: string, id: string): Promise<LoggedRecord> {
    const stream = recordStream(this.#workspace, kind, id);
    const reading = this.#read.get(stream) ?? this.#load(kind, stream);
    this.#read.set(stream, reading);
    return reading;
  }

  async #load(kind: string, stream: string): Promise<LoggedRecord> {
    const logged = await foldStream<Logged>(this.#eventLog, stream, (before, event) => {
      const state = evolveRecord(kind, before?.state, event);
      const others = before?.others ?? [];
      const erasure = erasureStep(event);
      const isReplayed = this.#replayed.has(event.metadata.source?.message ?? '');
      if (erasure === 'done') others.push({ at: event.recordedAt, fields: undefined });
      else if (erasure === undefined && !isReplayed) {
        others.push({ at: event.recordedAt, fields: upcast(event).data as RecordFields });
      }
      return { version: state.version, state, others };
    });
    const present = logged?.state.erased ? undefined : logged?.state;
    return { present, others: logged?.others ?? [] };
  }
}
