import { closeSync, fchmodSync, openSync, writeSync } from 'node:fs';
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

const OWNER_ONLY = 0o600;

/** A file of lines about records, NDJSON. It is made with the first line, for its owner alone: ids are PHI. */
export class ReportFile<Line extends ReportLine> {
  readonly path: string;
  #descriptor: number | undefined;

  constructor(path: string) {
    this.path = path;
  }

  /** Whether anything was written. */
  get written(): boolean {
    return this.#descriptor !== undefined;
  }

  /** Appends a line. Throws `ImportError` when that fails. */
  write(line: Line): void {
    try {
      this.#descriptor ??= this.#create();
      writeSync(this.#descriptor, `${JSON.stringify(line)}\n`);
    } catch (error) {
      const { code } = error as { code?: string };
      throw new ImportError(`The file ${this.path} cannot be written (${code}).`);
    }
  }

  #create(): number {
    const descriptor = openSync(this.path, 'w', OWNER_ONLY);
    fchmodSync(descriptor, OWNER_ONLY);
    return descriptor;
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
  }
}
