import type { Operation } from '../../operation.ts';
import type { MappingContext } from '../MappingContext.ts';

/** What an event's message says, those first that others refer to. What is wrong with it goes to the context. */
export type MapEvent = (context: MappingContext) => Operation[];

/** The events of one type of message that are taken, by their code. */
export type EventMappings = ReadonlyMap<string, MapEvent>;
