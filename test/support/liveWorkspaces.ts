import { expect } from 'vitest';
import type { CloudEvent } from '../../src/modules/eventStream/cloudEvents.ts';
import { formatPosition } from '../../src/modules/eventStream/position.ts';
import type { Client } from './client.ts';
import { samples } from './samples.ts';
import { readAll, type TestService } from './service.ts';

const AT_ONCE = 8;

/** Workspaces of a service for tests that read live events. */
export class LiveWorkspaces {
  readonly #service: TestService;
  #workspaces = 0;

  constructor(service: TestService) {
    this.#service = service;
  }

  /** A new workspace, with a client whose key may write and read events. */
  async fresh() {
    this.#workspaces += 1;
    const label = `live${this.#workspaces}`;
    const key = await this.#service.createKey(label, ['write', 'events']);
    return { label, key, client: this.#service.as(key.key) };
  }

  /** What the log holds of a workspace, as `sequence` and id of each event. */
  async logged(label: string): Promise<string[][]> {
    const prefix = `${this.#service.workspaceId(label)}.payer-`;
    const events = (await readAll(this.#service.eventLog)).filter(({ stream }) => stream.startsWith(prefix));
    return events.map(({ position, id }) => [formatPosition(position), id]);
  }
}

/** Events as `LiveWorkspaces.logged` has them. */
export const shortly = (events: CloudEvent[]) => events.map(({ sequence, id }) => [sequence, id]);

/** Sends payers, some of them again and again, several at once: so many, or until it is told to stop. */
export async function writePayers(client: Client, count: number | { stop: boolean }): Promise<void> {
  const payers = Array.from({ length: 50 }, samples.payer);
  let next = 0;
  const goesOn = () => (typeof count === 'number' ? next < count : !count.stop);
  const chain = async () => {
    while (goesOn()) {
      const payer = payers[next % payers.length];
      next += 1;
      const { status } = await client.post('/integration/payers', {
        ...payer,
        fax: String(next),
      });
      expect(status).toBe(200);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, chain));
}
