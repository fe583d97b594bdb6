import { UnreadableError } from '../errors.ts';

/** A stream contains something that the service did not append. */
export class DamagedEvent extends UnreadableError {
  constructor() {
    super(
      'An event of this history cannot be read: its bytes are not what was written. Nothing else is affected; tell ' +
        'the operators of the service.',
    );
  }
}
