import { ServiceError } from '../../../errors.ts';
import { eventMediaTypes } from './eventsQuery.ts';

/** The refusal of an `Accept` that allows no form in which events are sent. */
export function notAcceptable(): ServiceError {
  return new ServiceError('not_acceptable', `Accept ${Object.values(eventMediaTypes).join(' or ')}.`);
}

/** There is no event schema of a name. */
export function schemaNotFound(): ServiceError {
  return new ServiceError('not_found', 'No schema has this name. GET /asyncapi/json lists them all.');
}
