import { closeSync, fchmodSync, fstatSync, fsyncSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import type { FieldMessage } from '../../errors.ts';
import { ImportError } from './importSource.ts';

interface ReportLine {
  kind: string | null;
  /** Where it was read: `encounters.csv:12`. */
  source: string;
  id: unknown;
}

/** A record that was refused, and why; the record itself stays where it was read. */
export interface RejectLine extends ReportLine {
  /** HTTP status; null when there was no answer, or nothing to send. */
  status: number | null;
  error: string;
  details?: unknown;
}

/** A record that was accepted with remarks. */
export interface WarningLine extends ReportLine {
  warnings: FieldMessage[];
}

/** A report as far as an import has come. */
export interface ReportPlace {
  path: string;
  /** Bytes. */
  size: number;
}

const OWNER_ONLY = 0o600;

/** A file of lines about records, NDJSON. It is made with the first line, for its owner alone: ids are PHI. */
export class ReportFile<Line extends ReportLine> {
  readonly path: string;
  #size: number;
  #descriptor: number | undefined;

  /** Lines behind the place are those of an import that was cut off before it noted them: they go. */
  constructor({ path, size }: ReportPlace) {
    this.path = path;
    this.#size = size;
  }

  /** Whether anything was written. */
  get written(): boolean {
    return this.#size > 0;
  }

  /** Appends a line. Throws `ImportError` when that fails. */
  write(line: Line): void {
    this.#trying(() => {
      this.#descriptor ??= this.#open();
      this.#size += writeSync(this.#descriptor, `${JSON.stringify(line)}\n`, this.#size);
    });
  }

  /** Makes durable what was written; gives how far that goes. Throws `ImportError` when that fails. */
  settle(): ReportPlace {
    const descriptor = this.#descriptor;
    if (descriptor !== undefined) this.#trying(() => fsyncSync(descriptor));
    return { path: this.path, size: this.#size };
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
  }

  #trying(work: () => void): void {
    try {
      work();
    } catch (error) {
      const { code } = error as { code?: string };
      throw new ImportError(`The file ${this.path} cannot be written (${code}).`);
    }
  }

  #open(): number {
    const descriptor = this.#size > 0 ? this.#reopen() : openSync(this.path, 'w', OWNER_ONLY);
    fchmodSync(descriptor, OWNER_ONLY);
    return descriptor;
  }

  /** The file that is there, cut to the size; one that was taken away meanwhile begins anew. */
  #reopen(): number {
    const descriptor = openSync(this.path, 'a+', OWNER_ONLY);
    closeSync(descriptor);
    const again = openSync(this.path, 'r+');
    this.#size = Math.min(this.#size, fstatSync(again).size);
    ftruncateSync(again, this.#size);
    return again;
  }
}
