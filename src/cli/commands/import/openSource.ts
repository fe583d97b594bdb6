import { findPackageJSON } from 'node:module';
import { dirname, join } from 'node:path';
import { terminal } from '../../../server/terminal.ts';
import { FhirFolder } from './FhirFolder.ts';
import { ImportError, type ImportSource } from './importSource.ts';
import { MappedSource } from './MappedSource.ts';
import { NdjsonSource } from './NdjsonSource.ts';
import { readMapping } from './readMapping.ts';

const ownMappings = join(dirname(findPackageJSON('.', import.meta.url) as string), 'assets', 'mappings');
/** The generations of Synthea's CSV, latest first. */
const syntheaMappings = ['synthea.json', 'synthea-before-3.1.json'].map((name) => join(ownMappings, name));

interface SourceOptions {
  format?: 'ndjson' | 'synthea' | 'fhir';
  mapping?: string;
  allowMissing?: boolean;
}

/** An input, and the digest of what converts it to records. */
export interface OpenedSource {
  source: ImportSource;
  digest: string;
}

/** Opens the records at a path. Rejects with `ImportError`. */
export async function openSource(path: string, options: SourceOptions): Promise<OpenedSource> {
  if (options.mapping === undefined && options.format === 'ndjson') {
    return { source: new NdjsonSource(path), digest: 'ndjson' };
  }
  if (options.mapping === undefined && options.format === 'fhir') {
    return { source: await FhirFolder.open(path), digest: 'fhir' };
  }
  const mappings = options.mapping === undefined ? syntheaMappings : [options.mapping];
  const { source, missing } = await openMapped(path, mappings);
  for (const file of source.missingFiles)
    terminal().stderr.write(`${file} does not exist and was skipped.\n`);
  const columns = missing.map(({ file, columns }) => `${file} lacks ${columns.join(', ')}`).join('; ');
  const opened = { source, digest: source.mapping.digest };
  if (missing.length === 0) return opened;
  if (!options.allowMissing) {
    throw new ImportError(
      `${columns}. Nothing was imported. To import records without these columns, use --allow-missing.`,
    );
  }
  terminal().stderr.write(`${columns}: imported without.\n`);
  return opened;
}

/** Opens the input with the mapping that fits it best, the first if several do. */
async function openMapped(path: string, mappings: readonly string[]) {
  const opened = await Promise.all(
    mappings.map(async (file) => {
      const source = await MappedSource.open(path, await readMapping(file));
      const missing = await source.missingColumns();
      return { source, missing, count: missing.flatMap(({ columns }) => columns).length };
    }),
  );
  return opened.reduce((best, other) => (other.count < best.count ? other : best));
}
