import type { RecordedEvent } from '../../domain/events/event.ts';

/** Bytes of the document store that a backup has to contain. */
export interface WantedObject {
  id: string;
  size: number;
  /** Lower-case hex. */
  sha256: string;
  /** The event that names it; absent for a message. */
  document?: Pick<RecordedEvent, 'stream' | 'revision' | 'position'>;
}
