import type { Operation } from '../operation.ts';
import type { MappingContext } from './MappingContext.ts';

/** Returns what an event's message says, starting with what the rest refers to. Problems are noted in the context. */
export type MapEvent = (context: MappingContext) => Operation[];

/** The accepted events of one type of message, by their code. */
export type EventMappings = ReadonlyMap<string, MapEvent>;
