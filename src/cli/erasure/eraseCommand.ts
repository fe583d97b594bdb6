import { Argument, type Command } from 'commander';
import { withErasure } from '../../app/withErasure.ts';
import { loadSigningKey } from '../../app/withStores.ts';
import { eraseRecord } from '../../erasure/eraseRecord.ts';
import { purgeErased } from '../../erasure/purgeErased.ts';
import type { RecordedEvent } from '../../events/event.ts';
import { kindOfStream } from '../../events/streamNames.ts';
import { writeWhole } from '../../evidence/export/ExportFile.ts';
import { certifyErasure } from '../../evidence/proof/erasureCertificate.ts';
import { catalog, catalogEntry } from '../../records/catalog.ts';
import { ofFile } from '../ofFile.ts';
import { count, example, writeLine, writeTable } from '../output.ts';
import { leftInFilesLine } from './erasureLines.ts';

interface EraseOptions {
  workspace: string;
  reason: string;
  withEncounters?: boolean;
  scavenge?: boolean;
  certificate?: string;
}

/** `chartledger erase` */
export function addEraseCommand(program: Command): void {
  program
    .command('erase')
    .description(
      'Erase a record for good: its events, an encounter’s documents with their bytes, and what was derived from them. What ' +
        'stays are its id, who erased it, when and why, and hashes that prove the log whole. The service must be running. ' +
        'Backups made before still hold it.',
    )
    .addArgument(new Argument('<kind>', 'kind of the record').choices(catalog.map(({ kind }) => kind)))
    .argument('<id>', 'id that the record was sent with')
    .requiredOption('--workspace <id>', 'the workspace of the record')
    .requiredOption('--reason <text>', 'why, in words that do not say whom it concerns: it is kept')
    .option('--with-encounters', 'of a patient: its encounters with their documents, too')
    .option('--scavenge', 'on EventStoreDB: have the server take the bytes out of its files now')
    .option(
      '--certificate <file>',
      'where a signed statement of what was erased is written: it is checked offline',
    )
    .addHelpText(
      'after',
      example(
        'chartledger erase patient patient-1001 --workspace clinic --reason "Request 2026-117" --with-encounters',
      ),
    )
    .action(
      (kind: string, id: string, { workspace, scavenge = false, certificate, ...options }: EraseOptions) =>
        withErasure(workspace, async (ports, caller) => {
          const erased = await eraseRecord(ports, caller, catalogEntry(kind), id, options);
          const byKind = [...Map.groupBy(erased, ({ stream }) => kindOfStream(stream))];
          writeTable(
            ['KIND', 'ERASED', 'VERSIONS'],
            byKind.map(([one, tombstones]) => [one, count(tombstones.length), count(versionsOf(tombstones))]),
          );
          if (certificate !== undefined) {
            const signed = await certifyErasure(ports, erased, await loadSigningKey());
            await ofFile(certificate, () => writeWhole(certificate, signed));
          }
          await purgeErased(ports, { scavenge });
          writeLine(leftInFilesLine(ports.eventLog.scavenges, scavenge));
        }),
    );
}

function versionsOf(tombstones: RecordedEvent[]): number {
  return tombstones.reduce((total, { revision, data }) => total + revision + 1 - Number(data.parts), 0);
}
