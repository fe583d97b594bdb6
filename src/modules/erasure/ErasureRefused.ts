import { ServiceError } from '../../platform/errors.ts';

/** The refusal (`conflict`) of an erasure that is blocked. */
export class ErasureRefused extends ServiceError {
  /** Whether it is blocked by a legal hold, or by records that refer to the record. */
  readonly obstacle: 'held' | 'referred_to';

  constructor(obstacle: ErasureRefused['obstacle'], message: string) {
    super('conflict', message);
    this.obstacle = obstacle;
  }
}
