import type { StateStore } from '../../ports/stateStore.ts';

/** What the thread of a state store carries out. */
export type StateMethod = Exclude<keyof StateStore, 'close'>;

/** To the thread: a call, by the arguments of the port's method, a table by its name; or to end. */
export type StateCall = { number: number; method: StateMethod; args: unknown[] } | 'close';

/** From the thread: what a call came to; where it failed, what is the matter with the file, where that is known. */
export type StateAnswer = { number: number } & ({ result: unknown } | { problem: string | undefined });
