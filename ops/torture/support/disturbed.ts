import { choices } from '../../../test/support/choices.ts';
import type { Stores } from '../../bench/support/chartledger.ts';
import type { Outcome, Torture } from '../scenario.ts';
import { checkStores } from './checkStores.ts';
import { Ledger } from './Ledger.ts';
import { startWriters } from './startWriters.ts';
import { TorturedService } from './TorturedService.ts';

interface Disturbance {
  stores: Stores;
  /** In addition to those of the stores. */
  env?: Record<string, string>;
  command?: string[];
  /** Default: 8. */
  writers?: number;
  /** How long a writer waits before its next write. Default: not at all. */
  pauseMs?: number;
  /** Does what is to be endured, while writers write; `answers` counts what they got until now, by kind. */
  disturb(service: TorturedService, answers: ReadonlyMap<string, number>): Promise<Outcome>;
}

/** Lets writers write to a service during a disturbance; afterwards everything must be as the responses said. */
export async function disturbed(
  { seed }: Torture,
  { stores, env = {}, command, writers: count = 8, pauseMs = 0, disturb }: Disturbance,
): Promise<Outcome> {
  const service = new TorturedService({ ...stores.env, ...env }, command);
  const ledger = new Ledger();
  await service.start();
  const writers = startWriters({
    service,
    stores,
    ledger,
    count,
    pauseMs,
    choices: (n) => choices(seed + n),
  });
  const endured = await disturb(service, writers.answers);
  const written = await writers.stop();
  // What a process was unsure about is settled by the next one.
  await service.end();
  const checked = await checkStores(stores, await service.start(), ledger);
  await service.end();
  const all = [endured, written, checked];
  return {
    figures: all.flatMap(({ figures }) => figures),
    failures: all.flatMap(({ failures }) => failures),
  };
}
