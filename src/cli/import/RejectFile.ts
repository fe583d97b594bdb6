import { closeSync, fchmodSync, openSync, writeSync } from 'node:fs';
import type { RecordKind } from '../../records/catalog.ts';
import { ImportError } from './importSource.ts';

/** One line of a reject file. It says which record and why; the record itself stays where it was read. */
export interface RejectLine {
  kind: RecordKind | null;
  /** Where it was read: `encounters.csv:12`. */
  source: string;
  id: unknown;
  /** HTTP status; null when there was no answer. */
  status: number | null;
  error: string;
  details?: unknown;
}

const OWNER_ONLY = 0o600;

/** The file of refused records, NDJSON. It is made with the first line, for its owner alone: ids are PHI. */
export class RejectFile {
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
  write(line: RejectLine): void {
    try {
      this.#descriptor ??= this.#create();
      writeSync(this.#descriptor, `${JSON.stringify(line)}\n`);
    } catch (error) {
      const { code } = error as { code?: string };
      throw new ImportError(`The reject file ${this.path} cannot be written (${code}).`);
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
