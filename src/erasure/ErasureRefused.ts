import { ServiceError } from '../errors.ts';

/** The refusal (`conflict`) of an erasure that something stands in the way of. */
export class ErasureRefused extends ServiceError {
  /** Whether a legal hold does, or records that refer to it. */
  readonly obstacle: 'held' | 'referred_to';

  constructor(obstacle: ErasureRefused['obstacle'], message: string) {
    super('conflict', message);
    this.obstacle = obstacle;
  }
}
