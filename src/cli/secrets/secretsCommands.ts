import type { Command } from 'commander';
import { rotateSigningKey } from '../../app/keys/rotateSigningKey.ts';
import { example, writeLine } from '../output.ts';

async function rotateSigning(): Promise<void> {
  const { keyId, wasKnown } = await rotateSigningKey();
  if (wasKnown) writeLine('A rotation was under way, and is at its end now; no other one was begun.');
  writeLine(
    `From now on the key ${keyId} signs. Who checks signatures gets it, and how it came after those before, by:`,
  );
  writeLine('  chartledger signing-key > chartledger.pem');
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
}
