/**
 * Leases: only one instance at a time does what a lease stands for.
 *
 * Methods reject with `ServiceError('unavailable')` when the store is unreachable or does not answer within three seconds.
 */
export interface Leases {
  /**
   * Acquires or renews a lease; true when `owner` holds it for `forMs` from the moment of the call. The owner renews it well
   * before it expires. Another owner acquires it `forMs` after the last renewal at the earliest, if it keeps asking at short
   * intervals. Clocks of different machines are never compared.
   */
  acquire(name: string, owner: string, forMs: number): Promise<boolean>;

  /** Releases a lease; does nothing when `owner` does not hold it. */
  release(name: string, owner: string): Promise<void>;

  close(): Promise<void>;
}
