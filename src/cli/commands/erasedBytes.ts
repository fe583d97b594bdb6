import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import type { Position } from '../../domain/events/event.ts';
import { type PurgePorts, untilPurged } from '../../modules/erasure/purge.ts';
import {
  isErased,
  type NodeState,
  readScavenges,
  requestScavenges,
} from '../../modules/erasure/scavenges.ts';
import { ignoreUnavailable } from '../../platform/retry.ts';
import { terminal } from '../../server/terminal.ts';
import { writeLine } from '../lib/terminal.ts';

const ASK_MS = 500;

const stateTexts: Record<NodeState, string> = {
  waiting: 'waits for its turn',
  scavenging: 'scavenges',
  failed: 'its scavenge failed: another one follows',
  unreachable: 'cannot be reached: it is asked again',
  erased: 'nothing is left in its files',
};

export interface ScavengeOptions {
  scavenge?: boolean;
  wait?: boolean;
}

/** Adds the options of commands that erase. */
export function addScavengeOptions(command: Command): Command {
  return command
    .option(
      '--scavenge',
      'on EventStoreDB and KurrentDB: have the service scavenge every node, one after the other, until the ' +
        'bytes are gone from the files of all',
    )
    .option('--wait', 'with --scavenge: return when they are gone, and show the progress of each node');
}

/** Ends the command with a usage error for options that do not go together. */
export function checkScavengeOptions({ scavenge, wait }: ScavengeOptions, command: Command): void {
  if (wait && !scavenge) command.error('error: --wait is only for --scavenge');
}

/**
 * Waits until the service has removed the bytes of what was erased up to a position from the stores' files, requests or awaits
 * scavenges, and says what the files still contain. A service that is not running, or lags, does it later: that is not a failure,
 * and false is returned.
 */
export async function finishBytes(
  ports: PurgePorts,
  position: Position,
  { scavenge, wait }: ScavengeOptions,
  write: (line: string) => void = writeLine,
): Promise<boolean> {
  const isPurged = (await ignoreUnavailable(untilPurged(ports, position).then(() => true))) ?? false;
  if (!isPurged)
    write(
      'The erasure is recorded, and nobody is given the record any more. The service completes the rest.',
    );
  if (ports.eventLog.scavenger === undefined) {
    if (isPurged) write('Nothing of it is left in the files of the stores.');
    return isPurged;
  }
  if (scavenge) await requestScavenges(ports, position);
  if (!scavenge)
    write(
      'The files of the event log hold it until each of its nodes has scavenged: run the command again with --scavenge.',
    );
  else if (!wait)
    write(
      'The service has every node of the event log scavenge, one after the other, until nothing of it is left in their files. ' +
        'To see which nodes still hold it: chartledger doctor',
    );
  else {
    await untilScavenged(ports, position);
    write('Nothing of it is left in the files of the event log, on any node.');
  }
  return isPurged;
}

/** Shows the progress of each node until the files of none contain anything of what was erased up to a position. */
async function untilScavenged(ports: PurgePorts, position: Position): Promise<void> {
  const shown = new Map<string, NodeState>();
  for (;;) {
    const scavenges = await ignoreUnavailable(readScavenges(ports));
    for (const { node, state } of scavenges?.nodes ?? []) {
      if (shown.get(node) === state) continue;
      shown.set(node, state);
      terminal().stderr.write(`${node}: ${stateTexts[state]}\n`);
    }
    if (isErased(scavenges, position)) return;
    await sleep(ASK_MS);
  }
}
