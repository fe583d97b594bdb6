import type { Message } from '../../messages/message.ts';
import type { KeyState } from '../../principals/keys/keyState.ts';
import type { Configuration } from '../sources/configurations.ts';
import type { Source } from '../sources/source.ts';
import { presentSource } from './presentSource.ts';

/** Returns the source by which a message was read; undefined where that was not configured. */
export function sourceAt(
  configurations: readonly Configuration[],
  message: Message,
  known: Pick<KeyState, 'keys'>,
): Source | undefined {
  const configured = configurations.findLast(({ number, at }) =>
    message.configuration === undefined ? at <= message.received_at : number === message.configuration,
  );
  return presentSource(configured?.sources ?? [], message, known);
}
