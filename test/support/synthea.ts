import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parse } from 'csv-parse/sync';
import { temporaryFolder } from './cli.ts';

/** The CSV of a Synthea population. */
export const syntheaFolder = resolve(process.cwd(), '../shared/data/synthea');
export const isSyntheaThere = existsSync(syntheaFolder);
if (!isSyntheaThere) process.stdout.write('Skipped: the Synthea export is not beside the repository.\n');

export function exportRows(file: string): Record<string, string>[] {
  return parse(readFileSync(join(syntheaFolder, file)), { columns: true, bom: true });
}

/** The export with these patients alone. */
export function exportOf(patients: readonly string[]): string {
  const part = temporaryFolder();
  for (const name of readdirSync(syntheaFolder)) {
    const text = readFileSync(join(syntheaFolder, name), 'utf8');
    const isOfPatients = ['patients.csv', 'encounters.csv', 'payer_transitions.csv'].includes(name);
    const [header, ...rows] = text.split('\n');
    const kept = rows.filter((row) => !isOfPatients || patients.some((id) => row.includes(id)));
    writeFileSync(join(part, name), [header, ...kept, ''].join('\n'));
  }
  return part;
}
