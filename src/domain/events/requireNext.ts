import { DAMAGE_ADVICE, UnreadableError } from '../../platform/errors.ts';
import type { RecordedEvent } from './event.ts';

/** A stream lacks an event, so later ones must not be folded. */
export class MissingVersion extends UnreadableError {
  /** `event`: the next one that can be read. */
  constructor(version: number, event?: Pick<RecordedEvent, 'stream' | 'position'>) {
    super(
      'internal',
      `Version ${version} of this history is missing or can no longer be read, so nothing after it is shown. ${DAMAGE_ADVICE}`,
      event,
    );
  }
}

/** Throws `MissingVersion` unless the event directly follows `version`; 0 is before the first. */
export function requireNext(
  version: number,
  event: Pick<RecordedEvent, 'revision' | 'stream' | 'position'>,
): void {
  if (event.revision !== version) throw new MissingVersion(version + 1, event);
}
