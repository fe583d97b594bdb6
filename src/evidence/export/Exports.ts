import type { Readable } from 'node:stream';
import { ServiceError } from '../../errors.ts';
import type { Position } from '../../events/event.ts';
import { SharedPlaces } from '../../threads/SharedPlaces.ts';
import type { ExportJob } from './exportEvents.ts';

/** Exports under way at once in the process: each holds a thread. */
export const MOST_EXPORTS = 2;

/** Makes a ZIP of an export off the request path, at the pace at which it is read. */
export type RunExport = (job: ExportJob, until: Position, isSigned: boolean) => Readable;

export interface ExportsPorts {
  run: RunExport;
  /** Whether manifests can be signed: not in a process from which the key is kept. */
  signs(): Promise<boolean>;
  /** Of `MOST_EXPORTS`; its own, where no other thread makes exports. */
  places?: SharedPlaces;
}

/** Exports that are downloaded from this process. */
export class Exports {
  readonly #ports: ExportsPorts;
  readonly #streams = new Set<Readable>();
  readonly #places: SharedPlaces;

  constructor(ports: ExportsPorts) {
    this.#ports = ports;
    this.#places = ports.places ?? new SharedPlaces(MOST_EXPORTS);
  }

  /**
   * Begins one, once `record` has told the audit trail of it: it ends at the position that this gives. Rejects with `conflict`
   * while too many are under way. Whoever gets the stream reads it to its end, or destroys it.
   */
  async start(job: ExportJob, record: () => Promise<Position>): Promise<Readable> {
    if (!this.#places.take()) {
      throw new ServiceError(
        'conflict',
        `${MOST_EXPORTS} exports are in progress. Try again when one has finished.`,
      );
    }
    try {
      const stream = this.#ports.run(job, await record(), await this.#ports.signs());
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

  /** Breaks off those that are under way. */
  close(): void {
    for (const stream of this.#streams) stream.destroy(new Error('the service ends'));
  }
}
