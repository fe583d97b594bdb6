import { ServiceError } from '../platform/errors.ts';

/** The error for a writer whose read model was reset: dropped, replaced, or its store lost its last writes. */
export function setBack(): ServiceError {
  return new ServiceError('conflict', 'The read model was reset. Continue from its checkpoint.');
}

/** Whether a write was refused because the read model was reset. */
export function isSetBack(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'conflict';
}
