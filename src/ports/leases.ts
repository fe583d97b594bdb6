/**
 * Leases: of all instances, one at a time does what a lease stands for.
 *
 * Methods reject with `ServiceError('unavailable')` when the store is away or does not answer within three seconds.
 */
export interface Leases {
  /**
   * Takes or renews a lease; true when `owner` holds it for `forMs` from the moment of the call. The owner renews well
   * before that is over. Another owner gets it at the earliest `forMs` after the last renewal, when it keeps asking at
   * short intervals. Clocks of different machines are never compared.
   */
  acquire(name: string, owner: string, forMs: number): Promise<boolean>;

  /** Gives a lease back; nothing happens when `owner` does not hold it. */
  release(name: string, owner: string): Promise<void>;

  close(): Promise<void>;
}
