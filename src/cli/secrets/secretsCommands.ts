import type { Command } from 'commander';
import { rotatePseudonyms } from '../../app/keys/rotatePseudonyms.ts';
import { rotateSigningKey } from '../../app/keys/rotateSigningKey.ts';
import { rotateWebhookSecretsKey } from '../../app/keys/rotateWebhookSecretsKey.ts';
import { count, example, writeLine } from '../output.ts';

const WAS_KNOWN = 'A rotation was under way, and is at its end now; no other one was begun.';

async function rotateWebhooks({ force = false }: { force?: boolean }): Promise<void> {
  const { sealed, wasKnown } = await rotateWebhookSecretsKey(force);
  if (wasKnown) writeLine(WAS_KNOWN);
  writeLine(
    `The secrets of ${count(sealed)} webhooks were sealed anew. They are the same: receivers notice nothing.`,
  );
}

async function rotateSigning(): Promise<void> {
  const { keyId, wasKnown } = await rotateSigningKey();
  if (wasKnown) writeLine(WAS_KNOWN);
  writeLine(
    `From now on the key ${keyId} signs. Who checks signatures gets it, and how it came after those before, by:`,
  );
  writeLine('  chartledger signing-key > chartledger.pem');
}

async function rotateAllPseudonyms(): Promise<void> {
  const { epoch, wasKnown } = await rotatePseudonyms();
  if (wasKnown) writeLine(WAS_KNOWN);
  writeLine(
    `The hashes of the de-identified view are of epoch ${epoch} now: none of them is what it was. Each event tells its readers so ` +
      '(pseudonymepoch); who joins by hashes reads again from the beginning.',
  );
}

/** `chartledger secrets` */
export function addSecretsCommands(program: Command): void {
  const secrets = program.command('secrets').description("Change the service's own keys.");
  const rotate = secrets
    .command('rotate')
    .description(
      'Let a new key take the place of one of the service, also while it runs. Cut off, run it again. A key that is a setting ' +
        'stands there with the new one behind it, separated by a comma, in every process beforehand.',
    );
  rotate
    .command('signing')
    .description(
      'The key that signs exports, heads, proofs, certificates and backups. Both keys sign the change, and the log tells of it: what the ' +
        'old key signed before still verifies, with either; what it signs later does not.',
    )
    .addHelpText('after', example('chartledger secrets rotate signing'))
    .action(rotateSigning);
  rotate
    .command('webhooks')
    .description(
      'The key that seals the secrets of webhooks, and keys what is kept of idempotency keys. The secrets stay what they are, and are ' +
        'sealed anew; requests that were sent before are known when they are sent again.',
    )
    .option(
      '--force',
      'also within a day of the last change: requests from before that one are then written again',
    )
    .addHelpText('after', example('chartledger secrets rotate webhooks'))
    .action(rotateWebhooks);
  rotate
    .command('pseudonyms')
    .description(
      'The key of the hashes in the de-identified view. All hashes are others from then on, also those of what was read before; the ' +
        'events tell the epoch that their hashes are of.',
    )
    .addHelpText('after', example('chartledger secrets rotate pseudonyms'))
    .action(rotateAllPseudonyms);
}
