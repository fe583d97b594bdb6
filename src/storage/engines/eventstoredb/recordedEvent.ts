import type {
  AllStreamResolvedEvent,
  RecordedEvent as DriverEvent,
  Position as DriverPosition,
  ReadPosition,
} from '@eventstore/db-client';
import { DamagedEvent } from '../../../domain/events/DamagedEvent.ts';
import {
  dataAs,
  isJsonObject,
  type JsonObject,
  type Position,
  type RecordedEvent,
  type UnreadableEvent,
} from '../../../domain/events/event.ts';
import type { EventMetadata } from '../../../domain/events/eventMetadata.ts';
import { mayContain } from '../../../domain/events/streamNames.ts';
import { unusable } from './drivers/attempt.ts';
import { ERASURES_STREAM, type Erasure, toErasure } from './erasureNote.ts';

/** A place in the log; `event` is undefined when it does not hold one of this service's events, nor claims to. */
export interface LogEntry {
  position: Position;
  event: RecordedEvent | UnreadableEvent | undefined;
  /** False for the server's own events, which it removes by itself. */
  lasts?: boolean;
  /** The note of a removal at this place. */
  erasure?: Erasure | undefined;
}

/** Names of the server's own streams start with this. */
export function isSystemStream(name: string): boolean {
  return name.startsWith('$');
}

/** Returns the commit position: it fits a safe integer up to logs of 9 petabytes, and equals the prepare position. */
export function toPosition(position: DriverPosition | undefined): Position {
  if (position === undefined) {
    const problem =
      'The server of the event log reports no positions: EventStoreDB 23.10 or newer is needed.';
    throw unusable(undefined, problem);
  }
  return Number(position.commit);
}

/** Returns the driver's form of a position; 0 is before the first event. */
export function fromPosition(position: Position): ReadPosition {
  return position === 0 ? 'start' : { commit: BigInt(position), prepare: BigInt(position) };
}

export function toRecordedEvent(event: DriverEvent): RecordedEvent {
  return {
    id: event.id,
    type: event.type,
    data: event.data as JsonObject,
    metadata: dataAs<EventMetadata>(event.metadata as object),
    stream: event.streamId,
    revision: Number(event.revision),
    position: toPosition(event.position),
    recordedAt: event.created.toISOString(),
  };
}

/** Converts an event in one of this service's streams. Throws `DamagedEvent` for what the service did not write there. */
export function toStreamEvent(event: DriverEvent): RecordedEvent {
  if (!isOurs(event) || isMisplaced(event))
    throw new DamagedEvent({ stream: event.streamId, position: toPosition(event.position) });
  return toRecordedEvent(event);
}

/** Converts an entry of the whole log. Other applications may write anything to the same server. */
export function toLogEntry({ event }: Pick<AllStreamResolvedEvent, 'event'>): LogEntry {
  const position = toPosition(event?.position);
  if (event === undefined || isSystemStream(event.streamId))
    return { position, event: undefined, lasts: false };
  if (event.streamId === ERASURES_STREAM) {
    const erasure = isJsonObject(event.data) ? toErasure(event.data) : undefined;
    return { position, event: undefined, lasts: true, erasure };
  }
  if (!isOurs(event)) return { position, event: undefined, lasts: true };
  const recorded = toRecordedEvent(event);
  return { position, event: isMisplaced(event) ? toMisplaced(recorded) : recorded, lasts: true };
}

function toMisplaced({ id, type, stream, revision, position }: RecordedEvent): UnreadableEvent {
  return { id, type, stream, revision, position, misplaced: true };
}

function isMisplaced({ streamId, metadata }: DriverEvent): boolean {
  return !mayContain(streamId, dataAs<EventMetadata>(metadata as object).workspace);
}

function isOurs({ streamId, isJson, data, metadata }: DriverEvent): boolean {
  if (isSystemStream(streamId) || !isJson || !isJsonObject(data) || !isJsonObject(metadata)) return false;
  return typeof metadata.workspace === 'string';
}
