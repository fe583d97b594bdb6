import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeStores } from '../../bench/support/chartledger.ts';
import type { Outcome, Torture } from '../scenario.ts';
import { disturbed } from '../support/disturbed.ts';
import { startCommand } from '../support/TorturedService.ts';

const OPEN_FILES = 300;
const CONNECTIONS = 600;

/** More connections are opened than the service may have files. */
export async function fewFiles(torture: Torture): Promise<Outcome> {
  const stores = await makeStores(torture, { RATE_LIMIT_PER_MINUTE: '0' }, ['write', 'read']);
  return disturbed(torture, {
    stores,
    command: ['sh', '-c', `ulimit -n ${OPEN_FILES} && exec "$@"`, 'sh', ...startCommand],
    async disturb(service) {
      const { hostname, port } = new URL(await service.url());
      const sockets: Socket[] = [];
      for (let n = 0; n < CONNECTIONS; n += 1) {
        const socket = connect(Number(port), hostname);
        socket.on('error', () => undefined);
        sockets.push(socket);
      }
      await sleep(torture.short ? 3_000 : 30_000);
      const kept = sockets.filter((socket) => !socket.destroyed && !socket.readableEnded).length;
      for (const socket of sockets) socket.destroy();
      await sleep(1_000);
      return {
        figures: [
          ['few files: it may open', OPEN_FILES],
          ['connections offered', CONNECTIONS],
          ['of them kept', kept],
        ],
        failures: [],
      };
    },
  });
}
