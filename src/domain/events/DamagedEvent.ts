import { DAMAGE_ADVICE, UnreadableError } from '../../platform/errors.ts';
import type { RecordedEvent } from './event.ts';

/** A stream contains something that the service did not append. */
export class DamagedEvent extends UnreadableError {
  constructor(event?: Pick<RecordedEvent, 'stream' | 'position'>) {
    super(
      'internal',
      `An event in this history cannot be read: its bytes differ from what was written. ${DAMAGE_ADVICE}`,
      event,
    );
  }
}
