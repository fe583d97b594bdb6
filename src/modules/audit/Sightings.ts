import type { AuditEntry } from '../../../projections/auditEntry.ts';
import { type AuditFacetValues, anySignatureTest } from '../../../projections/auditSignature.ts';
import type { Position } from '../../domain/events/event.ts';
import { RECORD_ERASED, tombstoneTypes } from '../../domain/events/recordErased.ts';
import type { Shown } from '../../domain/events/shown.ts';
import { eventTypesOf } from '../../domain/records/eventSubject.ts';
import type { AccessAction } from './recordAccess.ts';
import type { SightedThing, SightedVersion } from './SightedThing.ts';

/** Accesses whose entries name ranges of the log, or several records, not a single one. */
const rangeActions: readonly AccessAction[] = [
  'record.list',
  'record.search',
  'record.readiness',
  'readiness.export',
  'readiness.simulation',
  'retention.list',
  'events.read',
  'events.sent',
  'webhook.sent',
  'webhook.attempts',
  'export',
];
/** Those of them that are recorded after the data were sent: within minutes, unless the log was unreachable. */
const recordedLater: readonly string[] = ['events.sent', 'webhook.sent'] satisfies AccessAction[];
const LATER_MS = 86_400_000;

interface Place {
  thing: SightedThing;
  version: SightedVersion;
}

/** What an entry names by id; without a document id, all documents of the encounter. */
interface Named extends Pick<SightedThing, 'kind' | 'id'> {
  documentId: string | undefined;
}

/** What an access showed, or may have shown: versions of a thing; none when the entry names the thing. */
export interface Sighting {
  thing: SightedThing;
  versions: number[];
}

/**
 * Determines by which accesses one of several things was seen, or may have been: those that name one, and those to lists,
 * streams, exports and webhooks that were shown its events.
 */
export class Sightings {
  readonly #named = new Map<string, SightedThing[]>();
  /** By ascending position. */
  readonly #places: Place[];

  constructor(things: readonly SightedThing[]) {
    for (const thing of things) {
      const name = nameOf(thing);
      this.#named.set(name, [...(this.#named.get(name) ?? []), thing]);
    }
    this.#places = things
      .flatMap((thing) => thing.versions.map((version) => ({ thing, version })))
      .sort((a, b) => a.version.position - b.version.position);
  }

  /** Returns a test for signatures (`anySignatureTest`) that skips chunks without a sighting with these values. */
  signatureTest(others: AuditFacetValues): (signatures: string) => boolean {
    const named = [...this.#named.values()].flatMap((things) =>
      things.slice(0, 1).map(({ kind, id }) => ({ kind, id })),
    );
    const ranges = rangeActions
      .filter((action) => others.action === undefined || others.action === action)
      .map((action) => ({ action }));
    return anySignatureTest([...named, ...ranges].map((one) => ({ ...others, ...one })));
  }

  /** Whether an audit trail entry records such an access. */
  has(entry: AuditEntry): boolean {
    return !this.#shownBy(entry).next().done;
  }

  /** Returns what an audit trail entry showed of these things. */
  in(entry: AuditEntry): Sighting[] {
    const sightings = new Map<SightedThing, Sighting>();
    for (const { thing, version } of this.#shownBy(entry)) {
      const sighting = sightings.get(thing) ?? { thing, versions: [] };
      if (version) sighting.versions.push(version.version);
      sightings.set(thing, sighting);
    }
    return [...sightings.values()];
  }

  *#shownBy(entry: AuditEntry): Generator<{ thing: SightedThing; version?: SightedVersion }> {
    const { type, action, code, shown, kind, id, documentId } = entry;
    // Who has read the trail of a record has seen no field of it.
    if (type !== 'AccessRecorded' || code !== undefined || action?.startsWith('audit.')) return;
    if (shown === undefined) {
      if (kind !== undefined && id !== undefined) yield* this.#namedBy({ kind, id, documentId });
    } else if (shown.things) {
      for (const one of shown.things)
        yield* this.#namedBy({ kind: one.kind, id: one.record_id, documentId: one.document_id });
    } else if (action === 'record.list' || action === 'retention.list') {
      for (const place of this.#within(shown)) {
        if (place.thing.kind === kind && wasListed(place, entry)) yield { thing: place.thing };
      }
    } else {
      for (const place of this.#within(sentBy(entry, shown))) {
        if (wasSent(place, entry, shown)) yield place;
      }
    }
  }

  *#namedBy({ kind, id, documentId }: Named): Generator<{ thing: SightedThing }> {
    for (const thing of this.#named.get(nameOf({ kind, id })) ?? []) {
      if (documentId === undefined || thing.documentId === documentId) yield { thing };
    }
  }

  *#within({ ranges }: Pick<Shown, 'ranges'>): Generator<Place> {
    for (const { from, to } of ranges) {
      for (let at = this.#firstAt(from); at < this.#places.length; at++) {
        const place = this.#places[at] as Place;
        if (place.version.position > to) break;
        yield place;
      }
    }
  }

  /** Returns the index of the first place at or after a position. */
  #firstAt(position: Position): number {
    let [low, high] = [0, this.#places.length];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if ((this.#places[middle] as Place).version.position < position) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function nameOf({ kind, id }: Pick<SightedThing, 'kind' | 'id'>): string {
  return `${kind} ${id}`;
}

/** An export extends up to its own entry, unless the entry states how many events it wrote. */
function sentBy({ action, position }: AuditEntry, shown: Shown): Pick<Shown, 'ranges'> {
  const isOpen = action === 'export' && shown.count === undefined;
  return isOpen ? { ranges: shown.ranges.map(({ from }) => ({ from, to: position })) } : shown;
}

/** Lists are recorded by where records begin; for a record whose beginning was erased, perhaps by its tombstones. */
function wasListed({ thing, version }: Place, { position }: AuditEntry): boolean {
  const isBeginning = version === thing.versions[0] || isTombstone(version);
  return (
    isBeginning &&
    thing.versions.some(
      (one) =>
        !isTombstone(one) &&
        one.position < position &&
        (one.erasedBy === undefined || position < one.erasedBy.position),
    )
  );
}

function wasSent({ thing, version }: Place, entry: AuditEntry, { event_types }: Shown): boolean {
  return (
    !wasErasedBefore(version, entry) && (event_types === undefined || isOneOf(event_types, thing, version))
  );
}

function wasErasedBefore(
  { erasedBy }: SightedVersion,
  { action = '', position, recordedAt }: AuditEntry,
): boolean {
  if (erasedBy === undefined || position < erasedBy.position) return false;
  const isLate = recordedLater.includes(action);
  return !isLate || Date.parse(recordedAt) > Date.parse(erasedBy.recordedAt) + LATER_MS;
}

/** Whether a version belongs to what was limited to some event types, named as in the log or in the stream. */
function isOneOf(eventTypes: readonly string[], { kind }: SightedThing, { type }: SightedVersion): boolean {
  const types = eventTypesOf(kind).filter((one) => one !== RECORD_ERASED);
  if (type === undefined) return types.some((one) => eventTypes.includes(one));
  if (type !== RECORD_ERASED) return eventTypes.includes(type);
  // An export names the tombstones of all kinds alike, besides the changes of its own kind.
  const isOfKind = types.some((one) => eventTypes.includes(one));
  return eventTypes.includes(`${type}/${kind}`) || (isOfKind && eventTypes.includes(type));
}

function isTombstone({ type }: SightedVersion): boolean {
  return type !== undefined && tombstoneTypes.includes(type);
}
