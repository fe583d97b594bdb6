import { type Command, InvalidArgumentError } from 'commander';
import { feedEventTypes } from '../../modules/eventStream/cloudEvent.ts';
import { parsePosition } from '../../modules/eventStream/position.ts';
import { addServiceOptions, type ServiceOptions } from '../lib/serviceOptions.ts';

/** Which service to ask for which events. */
export interface StreamOptions extends ServiceOptions {
  from: string;
  types?: string;
}

function parseFrom(text: string): string {
  if (text === 'now' || text === 'start' || parsePosition(text) !== undefined) return text;
  throw new InvalidArgumentError(
    'Specify now, start, or the position of an event, such as 0000000000008135.',
  );
}

const known = feedEventTypes.map(({ type }) => type);

function parseTypes(text: string): string {
  const types = text.split(',').map((type) => type.trim());
  if (types.every((type) => known.includes(type))) return types.join();
  throw new InvalidArgumentError(`Specify one or more of ${known.join(', ')}, separated by commas.`);
}

/** Adds the options of commands that follow the event stream. */
export function addStreamOptions(command: Command): Command {
  return addServiceOptions(command, 'events')
    .option(
      '--from <place>',
      'now; start, the first event ever; or the position to resume after',
      parseFrom,
      'now',
    )
    .option(
      '--types <list>',
      'only events of these types, such as chartledger.patient.upserted.v1',
      parseTypes,
    );
}
