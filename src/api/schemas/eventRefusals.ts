import { ServiceError } from '../../platform/errors.ts';
import { eventMediaTypes } from './eventsQuery.ts';

/** Returns the refusal of an `Accept` that allows none of the forms in which events are sent. */
export function notAcceptable(): ServiceError {
  return new ServiceError('not_acceptable', `Accept ${Object.values(eventMediaTypes).join(' or ')}.`);
}

/** Returns the refusal of a name that no event schema has. */
export function schemaNotFound(): ServiceError {
  return new ServiceError('not_found', 'No schema has this name. GET /asyncapi/json lists them all.');
}
