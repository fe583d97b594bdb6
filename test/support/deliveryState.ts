import {
  DeliveryState,
  type DeliveryStatePorts,
  type Waiting,
} from '../../src/modules/webhooks/sessionState.ts';
import type { Webhook } from '../../src/modules/webhooks/webhook.ts';
import { type Clock, systemClock } from '../../src/storage/rateLimiters.ts';
import type { StateStore } from '../../src/storage/stateStore.ts';

/** A log from which nothing is erased. */
export const nothingErased = { look: async () => undefined, has: async () => false };

/** The ports of a delivery over a log that knows every position and holds no notes; `more` overrides them. */
export function statePorts(
  stateStore: StateStore,
  more: Partial<DeliveryStatePorts> = {},
): DeliveryStatePorts {
  return {
    stateStore,
    clock: systemClock,
    eventLog: {
      identity: async () => 'log',
      hasPosition: async () => true,
      readStream: async () => [],
    },
    readModels: { load: async () => [], page: async () => [] },
    onStateLost: () => undefined,
    erased: nothingErased,
    ...more,
  };
}

/** Takes the state of a webhook over, as its only owner can. */
export async function openState(
  stateStore: StateStore,
  webhook: Webhook,
  more: Partial<DeliveryStatePorts> = {},
): Promise<DeliveryState> {
  const state = await DeliveryState.open(statePorts(stateStore, more), webhook);
  if (state === undefined) throw new Error('somebody else took it');
  return state;
}

/** A record that waits, and is due. */
export function waitingRecord(
  stream: string,
  more: Partial<Waiting> = {},
  clock: Clock = systemClock,
): Waiting {
  const now = clock.elapsed();
  return {
    ...{ stream, next: 2, last: 2, position: 10, before: 9, since: 1_000, tries: 1, step: 1, woken: false },
    ...{ tried: now, due: now, delayMs: 0, triedVersion: 1 },
    ...more,
  };
}
