import { UnreadableError } from '../errors.ts';

/** What stands in a stream is not what the service appended. */
export class DamagedEvent extends UnreadableError {
  constructor() {
    super(
      'An event in this history cannot be read: its bytes differ from what was written. Nothing else is affected. Contact ' +
        'the operators of the service.',
    );
  }
}
