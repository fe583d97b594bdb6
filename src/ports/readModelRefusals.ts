import { ServiceError } from '../errors.ts';

/** The refusal of a writer whose read model was set back: dropped, replaced, or its store lost its last writes. */
export function setBack(): ServiceError {
  return new ServiceError('conflict', 'The read model was reset. Continue from its checkpoint.');
}

/** Whether a write was refused because the read model was set back. */
export function isSetBack(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'conflict';
}
