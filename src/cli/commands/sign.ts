import type { Command } from 'commander';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import { writeWhole } from '../../modules/integrity/exportArchive.ts';
import { digestOf, manifestPath, signReport } from '../../modules/integrity/manifest.ts';
import { loadSigningKey, withCurrentModels, withWorkspace } from '../../server/stores.ts';
import { ofFile, requireFree } from '../lib/files.ts';
import { example, writeLine } from '../lib/terminal.ts';

interface SignOptions {
  workspace: string;
  force?: boolean;
}

async function sign(path: string, { workspace, force = false }: SignOptions): Promise<void> {
  const digest = await ofFile(path, () => digestOf(path));
  await ofFile(manifestPath(path), () => requireFree(manifestPath(path), force));
  await withWorkspace(workspace, ({ eventLog, caller }) =>
    withCurrentModels(eventLog, async (readModels) => {
      const { bytes, sha256 } = digest;
      await recordAccess(eventLog, caller, { action: 'file.signed', query: { bytes, sha256 } });
      const origin = { workspace, report: 'file', query: {} } as const;
      const manifest = await signReport({ eventLog, readModels }, origin, digest, () =>
        loadSigningKey(eventLog),
      );
      await ofFile(path, () => writeWhole(manifestPath(path), manifest));
    }),
  );
  writeLine(`${manifestPath(path)} is the manifest of ${path}.`);
}

/** `chartledger sign` */
export function addSignCommand(program: Command): void {
  program
    .command('sign')
    .description(
      'Sign a file that is handed over, such as a printable page saved as PDF: its SHA-256 becomes part of the audit trail, ' +
        'and a signed manifest next to the file states it (see `verify`). The signature says that the file had this ' +
        'content at this time, not that the content is true.',
    )
    .argument('<file>', 'the file')
    .requiredOption('--workspace <id>', 'the workspace that it is about')
    .option('--force', 'replace an existing manifest')
    .addHelpText(
      'after',
      example(
        'chartledger sign accounting.pdf --workspace clinic',
        'chartledger verify accounting.pdf --public-key chartledger.pem',
      ),
    )
    .action(sign);
}
