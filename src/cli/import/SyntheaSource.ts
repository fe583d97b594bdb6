import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { RecordKind } from '../../records/catalog.ts';
import { ImportError, type ImportSource, type SourceRecord, type UnreadableEntry } from './importSource.ts';
import {
  missingColumns,
  readSyntheaFile,
  type SyntheaFile,
  type SyntheaRow,
  syntheaFiles,
} from './syntheaFiles.ts';
import {
  mapEncounter,
  mapOrganization,
  mapPatient,
  mapPayer,
  mapProvider,
  mappingWarnings,
} from './syntheaMapping.ts';

const files = {
  payer: 'payers.csv',
  patient: 'patients.csv',
  provider: 'providers.csv',
  facility: 'organizations.csv',
  encounter: 'encounters.csv',
} as const satisfies Partial<Record<RecordKind, SyntheaFile>>;

const TRANSITIONS_FILE = 'payer_transitions.csv';

type Transition = SyntheaRow<typeof TRANSITIONS_FILE>;

type Mapping = (row: SyntheaRow<SyntheaFile>) => Record<string, unknown>;

const mappings = {
  payer: mapPayer,
  provider: mapProvider,
  facility: mapOrganization,
  encounter: mapEncounter,
};

function isMapped(kind: string): kind is keyof typeof files {
  return Object.hasOwn(files, kind);
}

/**
 * A folder of CSV files as Synthea exports them, in either generation. Files that are missing are passed over, as long
 * as there is one. Held in memory is only each patient's latest payer transition.
 */
export class SyntheaSource implements ImportSource {
  readonly #folder: string;
  readonly #present: Set<string>;

  private constructor(folder: string, present: Set<string>) {
    this.#folder = folder;
    this.#present = present;
  }

  /** Looks what is there. Rejects with `ImportError` when the folder is not there or holds none of the files. */
  static async open(folder: string): Promise<SyntheaSource> {
    const names = await readdir(folder).catch(({ code }: { code?: string }) => {
      throw new ImportError(`${folder} is not a folder that can be read (${code}). Name the folder of CSVs.`);
    });
    const present = new Set(names);
    if (!Object.values(files).some((file) => present.has(file))) {
      throw new ImportError(`${folder} holds none of ${Object.values(files).join(', ')}.`);
    }
    return new SyntheaSource(folder, present);
  }

  /** What an import of this folder will lack: whole files. */
  get missingFiles(): SyntheaFile[] {
    return syntheaFiles.filter((file) => !this.#present.has(file));
  }

  /** The columns that its files should have and have not. Rejects with `ImportError`. */
  async missingColumns(): Promise<{ file: SyntheaFile; columns: string[] }[]> {
    const missing = [];
    for (const file of syntheaFiles) {
      if (!this.#present.has(file)) continue;
      const columns = await missingColumns(join(this.#folder, file));
      if (columns.length > 0) missing.push({ file, columns });
    }
    return missing;
  }

  async survey(
    onUnreadable: (entry: UnreadableEntry) => void,
    stop: AbortSignal,
  ): Promise<Map<string, number>> {
    const counts = new Map<string, number>();
    const refuse = (file: string, line: number, error: string) =>
      onUnreadable({ source: `${file}:${line}`, error });
    for (const [kind, file] of Object.entries(files)) {
      let count = 0;
      for await (const entry of this.#entries(file)) {
        if (stop.aborted) break;
        if ('error' in entry) refuse(file, entry.line, entry.error);
        else count++;
      }
      if (count > 0) counts.set(kind, count);
    }
    for await (const entry of this.#entries(TRANSITIONS_FILE)) {
      if ('error' in entry) refuse(TRANSITIONS_FILE, entry.line, entry.error);
    }
    return counts;
  }

  async *records(kind: string): AsyncGenerator<SourceRecord> {
    if (!isMapped(kind)) return;
    const file = files[kind];
    const map = (kind === 'patient' ? await this.#patientMapping() : mappings[kind]) as Mapping;
    for await (const entry of this.#entries(file)) {
      if ('error' in entry) continue;
      const { line, row } = entry;
      yield { kind, source: `${file}:${line}`, record: map(row), warnings: mappingWarnings(row) };
    }
  }

  async #patientMapping(): Promise<(row: SyntheaRow<'patients.csv'>) => Record<string, unknown>> {
    const latest = new Map<string, Transition>();
    for await (const entry of this.#entries(TRANSITIONS_FILE)) {
      if ('error' in entry) continue;
      const { row } = entry;
      const known = latest.get(row.PATIENT ?? '');
      if (!known || (row.START_DATE ?? '') >= (known.START_DATE ?? '')) latest.set(row.PATIENT ?? '', row);
    }
    return (row) => mapPatient(row, latest.get(row.Id ?? ''));
  }

  async *#entries<File extends SyntheaFile>(file: File) {
    if (this.#present.has(file)) yield* readSyntheaFile<File>(join(this.#folder, file));
  }
}
