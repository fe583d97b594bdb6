import { closeSync, fchmodSync, fstatSync, fsyncSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import type { FieldMessage } from '../../../platform/errors.ts';
import { ImportError } from './importSource.ts';

interface ReportLine {
  kind: string | null;
  /** Where it was read: `encounters.csv:12`. */
  source: string;
  id: unknown;
}

/** A record that was refused, and why; the record itself stays where it was read. */
export interface RejectLine extends ReportLine {
  /** HTTP status; null when there was no response, or nothing to send. */
  status: number | null;
  error: string;
  details?: unknown;
}

/** A record that was accepted with warnings. */
export interface WarningLine extends ReportLine {
  warnings: FieldMessage[];
}

/** A report, up to the progress of an import. */
export interface ReportPlace {
  path: string;
  /** In bytes. */
  size: number;
}

const OWNER_ONLY = 0o600;

/** A file of lines about records, NDJSON. It is created with the first line, accessible only to its owner: ids are PHI. */
export class ReportFile<Line extends ReportLine> {
  readonly path: string;
  #size: number;
  #descriptor: number | undefined;

  /** Lines after the place were written by an interrupted import before it saved its progress: they are removed. */
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

  /** Makes what was written durable; returns how far it extends. Throws `ImportError` when that fails. */
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

  /** Opens the existing file, truncated to the size; one that was removed in the meantime starts afresh. */
  #reopen(): number {
    const descriptor = openSync(this.path, 'a+', OWNER_ONLY);
    closeSync(descriptor);
    const again = openSync(this.path, 'r+');
    this.#size = Math.min(this.#size, fstatSync(again).size);
    ftruncateSync(again, this.#size);
    return again;
  }
}
