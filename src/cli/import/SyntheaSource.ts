import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream';
import { CsvError, parse } from 'csv-parse';
import type { RecordKind } from '../../records/catalog.ts';
import { ImportError, type ImportSource, type SourceRecord } from './importSource.ts';
import { readText } from './readText.ts';
import {
  type CsvRow,
  mapEncounter,
  mapOrganization,
  mapPatient,
  mapPayer,
  mapProvider,
} from './syntheaMapping.ts';

const files: Record<RecordKind, string> = {
  payer: 'payers.csv',
  patient: 'patients.csv',
  provider: 'providers.csv',
  facility: 'organizations.csv',
  encounter: 'encounters.csv',
};

const TRANSITIONS_FILE = 'payer_transitions.csv';

const mappings: Record<Exclude<RecordKind, 'patient'>, (row: CsvRow) => Record<string, unknown>> = {
  payer: mapPayer,
  provider: mapProvider,
  facility: mapOrganization,
  encounter: mapEncounter,
};

interface NumberedRow {
  row: CsvRow;
  /** The line on which it ends; the header is line 1. A CRLF inside quotes counts as two (csv-parse). */
  line: number;
}

/**
 * A folder of CSV files as Synthea exports them. Files that are missing are passed over, as long as there is one.
 * Held in memory is only each patient's latest payer transition.
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

  /** The files of records that are not there. */
  get missingFiles(): string[] {
    return Object.values(files).filter((file) => !this.#present.has(file));
  }

  async survey(_onUnreadable: unknown, stop: AbortSignal): Promise<Map<RecordKind, number>> {
    const counts = new Map<RecordKind, number>();
    for (const [kind, file] of Object.entries(files) as [RecordKind, string][]) {
      let count = 0;
      for await (const _row of this.#rows(file)) {
        if (stop.aborted) break;
        count++;
      }
      if (count > 0) counts.set(kind, count);
    }
    return counts;
  }

  async *records(kind: RecordKind): AsyncGenerator<SourceRecord> {
    const file = files[kind];
    const map = kind === 'patient' ? await this.#patientMapping() : mappings[kind];
    for await (const { row, line } of this.#rows(file)) {
      yield { kind, source: `${file}:${line}`, record: map(row) };
    }
  }

  async #patientMapping(): Promise<(row: CsvRow) => Record<string, unknown>> {
    const latest = new Map<string, CsvRow>();
    for await (const { row } of this.#rows(TRANSITIONS_FILE)) {
      const known = latest.get(row.PATIENT ?? '');
      if (!known || (row.START_DATE ?? '') >= (known.START_DATE ?? '')) latest.set(row.PATIENT ?? '', row);
    }
    return (row) => mapPatient(row, latest.get(row.Id ?? ''));
  }

  async *#rows(file: string): AsyncGenerator<NumberedRow> {
    if (!this.#present.has(file)) return;
    const parser = parse({ columns: true, info: true, skip_empty_lines: true });
    pipeline(readText(join(this.#folder, file)), parser, () => undefined);
    try {
      for await (const { record, info } of parser) yield { row: record, line: info.lines };
    } catch (error) {
      if (error instanceof CsvError) {
        throw new ImportError(`${file} is not well-formed CSV, at line ${error.lines} (${error.code}).`);
      }
      throw error;
    }
  }
}
