import type { StateStore } from '../../stateStore.ts';

/** The methods carried out by the thread of a state store. */
export type StateMethod = Exclude<keyof StateStore, 'purge' | 'close'>;

/** To the thread: a call, with the arguments of the port's method, a table by its name; or to end. */
export type StateCall = { number: number; method: StateMethod; args: unknown[] } | 'close';

/** From the thread: the result of a call; if it failed, what is wrong with the file, if known. */
export type StateAnswer = { number: number } & ({ result: unknown } | { problem: string | undefined });
