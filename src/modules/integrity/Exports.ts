import type { Readable } from 'node:stream';
import type { Position } from '../../domain/events/event.ts';
import type { Caller } from '../../domain/events/newEvent.ts';
import { ServiceError } from '../../platform/errors.ts';
import { SharedPlaces } from '../../platform/threads/SharedPlaces.ts';
import type { ExportJob } from './manifest.ts';

/** Maximum number of concurrent exports in the process: each occupies a thread. */
export const MOST_EXPORTS = 2;

/** Creates a ZIP of an export outside the request path, at the pace at which it is read. */
export type RunExport = (job: ExportJob, caller: Caller, until: Position, isSigned: boolean) => Readable;

export interface ExportsPorts {
  run: RunExport;
  /** Whether manifests can be signed: not in a process that does not have the key. */
  signs(): Promise<boolean>;
  /** The places of `MOST_EXPORTS`; private ones if no other thread exports. */
  places?: SharedPlaces;
}

/** Exports downloaded from this process. */
export class Exports {
  readonly #ports: ExportsPorts;
  readonly #streams = new Set<Readable>();
  readonly #places: SharedPlaces;

  constructor(ports: ExportsPorts) {
    this.#ports = ports;
    this.#places = ports.places ?? new SharedPlaces(MOST_EXPORTS);
  }

  /**
   * Starts an export once `record` has added it to the audit trail; it ends at the position returned by `record`. Rejects with
   * `conflict` while too many are under way. The caller must read the stream to its end, or destroy it.
   */
  async start(job: ExportJob, caller: Caller, record: () => Promise<Position>): Promise<Readable> {
    if (!this.#places.take()) {
      throw new ServiceError(
        'conflict',
        `${MOST_EXPORTS} exports are in progress. Try again when one has finished.`,
      );
    }
    try {
      const stream = this.#ports.run(job, caller, await record(), await this.#ports.signs());
      this.#streams.add(stream);
      stream.once('close', () => {
        this.#streams.delete(stream);
        this.#places.give();
      });
      return stream;
    } catch (error) {
      this.#places.give();
      throw error;
    }
  }

  /** Aborts the exports under way. */
  close(): void {
    for (const stream of this.#streams) stream.destroy(new Error('the service ends'));
  }
}
