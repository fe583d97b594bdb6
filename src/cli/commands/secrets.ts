import type { Command } from 'commander';
import { rotatePseudonyms, rotateSigningKey, rotateWebhookSecretsKey } from '../../server/keyRotation.ts';
import { counted, example, writeLine } from '../lib/terminal.ts';

const ROTATION_RESUMED = 'A rotation was under way, and is at its end now; no other one was begun.';

async function rotateWebhooks({ force = false }: { force?: boolean }): Promise<void> {
  const { sealed, wasKnown } = await rotateWebhookSecretsKey(force);
  if (wasKnown) writeLine(ROTATION_RESUMED);
  writeLine(
    `The secrets of ${counted(sealed, 'webhook')} were sealed again. They are the same: receivers notice nothing.`,
  );
}

async function rotateSigning(): Promise<void> {
  const { keyId, wasKnown } = await rotateSigningKey();
  if (wasKnown) writeLine(ROTATION_RESUMED);
  writeLine(
    `From now on the key ${keyId} signs. Who checks signatures gets it, and how it came after those before, by:`,
  );
  writeLine('  chartledger secrets show signing > chartledger.pem');
}

async function rotateAllPseudonyms(): Promise<void> {
  const { epoch, wasKnown } = await rotatePseudonyms();
  if (wasKnown) writeLine(ROTATION_RESUMED);
  writeLine(
    `The hashes of the de-identified view are of epoch ${epoch} now: none of them is what it was. Each event names the epoch ` +
      '(pseudonymepoch); who joins by hashes reads again from the beginning.',
  );
}

/** `chartledger secrets rotate …` */
export function addRotateCommands(secrets: Command): void {
  const rotate = secrets
    .command('rotate')
    .description(
      "Replace one of the service's keys with a new one, even while the service is running. If " +
        'interrupted, run it again. If the key is given as a setting, first append the new key to it in ' +
        'every process, separated by a comma.',
    );
  rotate
    .command('signing')
    .description(
      'Rotate the key that signs exports, heads, proofs, certificates and backups. Both keys sign the ' +
        'change, which is recorded in the log: anything the old key signed before still verifies with ' +
        'either key; anything it signs later does not.',
    )
    .addHelpText('after', example('chartledger secrets rotate signing'))
    .action(rotateSigning);
  rotate
    .command('webhooks')
    .description(
      'Rotate the key that seals webhook secrets and keys the stored digests of idempotency keys. The ' +
        'secrets do not change and are resealed; requests sent before the rotation are still recognized ' +
        'when they are sent again.',
    )
    .option(
      '--force',
      'rotate even within a day of the last rotation; requests sent before that one are then written again ' +
        'if repeated',
    )
    .addHelpText('after', example('chartledger secrets rotate webhooks'))
    .action(rotateWebhooks);
  rotate
    .command('pseudonyms')
    .description(
      'Rotate the key of the hashes in the de-identified view. From then on all hashes differ, including ' +
        'those of data that was read before; each event states the epoch of its hashes.',
    )
    .addHelpText('after', example('chartledger secrets rotate pseudonyms'))
    .action(rotateAllPseudonyms);
}
