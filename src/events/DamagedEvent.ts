import { UnreadableError } from '../errors.ts';

/** What stands in a stream is not what the service appended. */
export class DamagedEvent extends UnreadableError {
  constructor() {
    super(
      'An event of this history cannot be read: its bytes are not what was written. Nothing else is affected; tell ' +
        'the operators of the service.',
    );
  }
}
