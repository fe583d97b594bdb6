import { UnreadableError } from '../errors.ts';
import type { RecordedEvent } from './event.ts';

/** A stream contains something that the service did not append. */
export class DamagedEvent extends UnreadableError {
  constructor(event?: Pick<RecordedEvent, 'stream' | 'position'>) {
    super(
      'An event in this history cannot be read: its bytes differ from what was written. Nothing else is affected. Contact ' +
        'the operators of the service.',
      event,
    );
  }
}
