import { ServiceError } from '../platform/errors.ts';

/** The error for an event whose id is not a UUID. */
export function idNotUuid(): ServiceError {
  return new ServiceError('validation_failed', 'The id of an event must be a UUID.');
}

/** The error for an event whose metadata name another workspace than its stream does. */
export function otherWorkspace(): ServiceError {
  return new ServiceError('validation_failed', 'The stream belongs to another workspace than the event.');
}

/** The error for an event larger than `MAX_EVENT_BYTES`. */
export function eventTooLarge(): ServiceError {
  return new ServiceError('payload_too_large', 'The event is larger than 1 MiB.');
}

/** The error for an append whose expectation does not hold; `version` is the stream's actual version, 0 for none. */
export function versionConflict(version: number | bigint): ServiceError {
  if (Number(version) === 0) return new ServiceError('version_conflict', 'The record does not exist.');
  return new ServiceError('version_conflict', `The record is at version ${version}.`, {
    version: Number(version),
  });
}

/** The error for repeating the append of an event that was removed from its stream by something else than the service. */
export function eventRemoved(): ServiceError {
  return new ServiceError('gone', 'The event was removed from the event log.');
}

/** The error for following a log after a position that it does not have. */
export function positionUnknown(): ServiceError {
  return new ServiceError('validation_failed', 'The log has no event at that position.');
}
