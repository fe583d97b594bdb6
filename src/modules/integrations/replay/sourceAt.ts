import type { KeyState } from '../../auth/keyState.ts';
import type { Configuration } from '../configurations.ts';
import type { Message } from '../messages/message.ts';
import type { Source } from '../source.ts';
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
