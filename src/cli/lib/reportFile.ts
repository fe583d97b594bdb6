import { Readable } from 'node:stream';
import type { Command } from 'commander';
import { writeWhole } from '../../modules/integrity/exportArchive.ts';
import { digestOf, manifestPath, type ReportOrigin, signReport } from '../../modules/integrity/manifest.ts';
import type { QueryPorts } from '../../modules/records/queries/records.ts';
import { loadSigningKey } from '../../server/stores.ts';
import { ofFile, requireFree, writeWholeFile } from './files.ts';
import { writeLine } from './terminal.ts';

/** Where a report is written. */
export interface OutOptions {
  /** Default: standard output, without a manifest. */
  out?: string;
  force?: boolean;
}

/** Adds `--out` and `--force` to a command that prints a report. */
export function addOutOptions(command: Command): Command {
  return command
    .option(
      '--out <file>',
      'the file to write, with a signed manifest next to it (see `verify`; default: standard output, without ' +
        'a manifest)',
    )
    .option('--force', 'replace an existing file');
}

/**
 * Rejects with `conflict` when the file of a report cannot be written: before the report is in the audit trail. Ends the command
 * for a table, which is cut to the width of the terminal.
 */
export async function requireOut(
  { out, force = false, format }: OutOptions & { format: string },
  command: Command,
): Promise<void> {
  if (out === undefined) return;
  if (format === 'table') command.error('error: --out requires --format csv or json');
  await ofFile(out, () => requireFree(out, force));
}

/**
 * Writes a report that is in the audit trail to a file, and its signed manifest next to it. Rejects with `conflict` when they
 * cannot be written, with `unavailable`, and as `texts` does.
 */
export async function writeReport(
  ports: QueryPorts,
  origin: ReportOrigin,
  out: string,
  texts: AsyncIterable<string> | string[],
): Promise<void> {
  await ofFile(out, () =>
    writeWholeFile(out, Readable.from(texts), async (part) => {
      const digest = await digestOf(part);
      const manifest = await signReport(ports, origin, digest, () => loadSigningKey(ports.eventLog));
      await writeWhole(manifestPath(out), manifest);
    }),
  );
  writeLine(`${out}; ${manifestPath(out)} is the manifest.`);
}
