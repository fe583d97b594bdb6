import { canonicalJson } from '../../domain/events/canonicalJson.ts';
import type { Position } from '../../domain/events/event.ts';
import { uploadedBy } from '../../domain/records/document.ts';
import type { CopiedPlace } from '../../storage/logCopy.ts';
import { isEvent, Trees, toRecorded } from './copiedPlace.ts';
import type { Manifest, Segment } from './manifest.ts';

/** Compares the events of a backup with its manifest. */
export class LogCheck {
  /** By stream, the last upload of each document that was not removed since. */
  readonly documents = new Map<string, { objectId: string; position: Position }>();
  events = 0;
  readonly #trees = new Trees();
  readonly #problems: string[] = [];
  #isWhole = true;
  #last: Position = 0;

  /** Takes the next segment; undefined if it cannot be read. */
  take({ name, first, last, events }: Segment, places: CopiedPlace[] | undefined): void {
    this.#isWhole &&= places !== undefined;
    if (places === undefined) return;
    const isAsTold = places[0]?.position === first && places.at(-1)?.position === last;
    if (!isAsTold || places.length !== events || first <= this.#last)
      this.#problems.push(`The file ${name} does not contain the events that the manifest lists.`);
    for (const place of places) this.#place(place);
    this.#last = last;
  }

  /** Returns what is wrong with the log as a whole. */
  problems(manifest: Manifest): string[] {
    if (!this.#isWhole || this.#problems.length > 0) return this.#problems;
    if (this.events !== manifest.events)
      return ['The number of events in the backup differs from its manifest.'];
    return manifest.trees
      .filter(({ workspace, ...tree }) => {
        const { size, chain, subtrees } = this.#trees.get(workspace);
        return canonicalJson(tree) !== canonicalJson({ size, chain, subtrees });
      })
      .map(({ workspace }) => `The events of ${workspace} do not match its hash tree.`);
  }

  #place(place: CopiedPlace): void {
    this.events += 1;
    if ('leaf' in place) this.#trees.take(place);
    if (!isEvent(place)) return;
    const event = toRecorded(place);
    this.#trees.take(event);
    const { stream, position, type } = event;
    if (type === 'DocumentUploaded')
      this.documents.set(stream, { objectId: uploadedBy(event).object_id, position });
    else this.documents.delete(stream);
  }
}
