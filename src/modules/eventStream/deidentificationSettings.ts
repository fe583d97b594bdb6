import { isDeepStrictEqual } from 'node:util';
import { dataAs, type JsonObject, type Position, type RecordedEvent } from '../../domain/events/event.ts';
import { type Caller, newEvent } from '../../domain/events/newEvent.ts';
import { deidentificationStream } from '../../domain/events/streams.ts';
import { upcast } from '../../domain/events/upcasting.ts';
import { validationError } from '../../domain/records/schema/validation.ts';
import { appendDecided, type EventLog } from '../../storage/eventLog.ts';
import { findPreviousAppend } from '../idempotency/keys.ts';

/**
 * How the de-identified view shows dates. `years`: only their years (Safe Harbor, 45 CFR 164.514(b)(2)); `shifted`: all dates of a patient earlier by
 * the same secret number of days, which only an expert can determine to be de-identified (Expert Determination, 164.514(b)(1)).
 */
export const dateChoices = ['years', 'shifted'] as const;
export type DateChoice = (typeof dateChoices)[number];

/** The methods of 45 CFR 164.514(b) by which data are de-identified. */
export const deidentificationMethods = ['safe_harbor', 'expert_determination'] as const;
export type DeidentificationMethod = (typeof deidentificationMethods)[number];

/** How the de-identified view of a workspace is made. */
export interface DeidentificationSettings {
  dates: DateChoice;
  /** The determination that shifted dates rest on, as stated; null with `years`. */
  determination: string | null;
  /** The first three digits of ZIP codes that are shown. */
  zipAreas: ReadonlySet<string>;
}

/** The settings of a workspace that has set nothing. */
export const safeHarbor: DeidentificationSettings = {
  dates: 'years',
  determination: null,
  zipAreas: new Set(),
};

/** Returns the method by which the data is de-identified. */
export function methodOf({ dates }: DeidentificationSettings): DeidentificationMethod {
  return dates === 'shifted' ? 'expert_determination' : 'safe_harbor';
}

/** Returns the settings as the API and the command line show them. */
export function shownSettings({ zipAreas, ...others }: DeidentificationSettings) {
  return { method: methodOf({ zipAreas, ...others }), ...others, zip_areas: [...zipAreas] };
}

/** What is to be set; what is not given stays as it is. */
export interface DeidentificationChanges {
  dates?: DateChoice | undefined;
  /** With `shifted`: who determined that the risk is very small, and in which report. */
  determination?: string | undefined;
  /** In place of those before. */
  zip_areas?: readonly string[] | undefined;
}

/** Data of `DeidentificationSet`: what was set. */
interface DeidentificationSet {
  dates?: DateChoice;
  determination?: string;
  /** Ascending. */
  zip_areas?: string[];
}

/** The settings that were in force, each for the events after a position. */
export interface SettingsState {
  /** How many events were folded. */
  version: number;
  /** Oldest first. */
  known: readonly { after: Position; settings: DeidentificationSettings }[];
}

export const noSettings: SettingsState = { version: 0, known: [] };
/** Events read at once. */
const PAGE = 100;

/** Folds the next event of the stream. Throws an `UnreadableError` for one that only a newer version of the service can read. */
export function evolveSettings({ known }: SettingsState, event: RecordedEvent): SettingsState {
  const { dates, determination, zip_areas: areas } = dataAs<DeidentificationSet>(upcast(event).data);
  const { settings: before = safeHarbor } = known.at(-1) ?? {};
  const settings = {
    ...before,
    ...(dates !== undefined && { dates, determination: determination ?? null }),
    ...(areas !== undefined && { zipAreas: new Set(areas) }),
  };
  return { version: event.revision + 1, known: [...known, { after: event.position, settings }] };
}

async function readOn(
  eventLog: Pick<EventLog, 'readStream'>,
  workspace: string,
  known: SettingsState,
): Promise<SettingsState> {
  for (let state = known; ; ) {
    const options = { from: state.version, limit: PAGE };
    const events = await eventLog.readStream(deidentificationStream(workspace), options);
    state = events.reduce(evolveSettings, state);
    if (events.length < PAGE) return state;
  }
}

/** Returns the settings in force for an event at a position. */
export type SettingsAt = (position: Position) => DeidentificationSettings;

/**
 * The settings of workspaces by position: the view of an event depends on those that were in force when it was recorded, so it is the same in every
 * replay.
 */
export class DeidentificationHistory {
  readonly #eventLog: Pick<EventLog, 'readStream'>;
  readonly #read = new Map<string, { state: SettingsState; upTo: Position }>();

  constructor(eventLog: Pick<EventLog, 'readStream'>) {
    this.#eventLog = eventLog;
  }

  /**
   * Resolves with the settings for the events of a workspace up to a position that the log has reached. Rejects with `unreadable` and
   * `unavailable`.
   */
  async of(workspace: string, upTo: Position): Promise<SettingsAt> {
    let read = this.#read.get(workspace) ?? { state: noSettings, upTo: -1 };
    if (read.upTo < upTo) {
      read = { state: await readOn(this.#eventLog, workspace, read.state), upTo };
      this.#read.set(workspace, read);
    }
    const { known } = read.state;
    return (position) => known.findLast(({ after }) => after < position)?.settings ?? safeHarbor;
  }
}

/** Resolves with the settings of a workspace, as of every event acknowledged before the call. Rejects with `unreadable` and `unavailable`. */
export async function readDeidentification(
  eventLog: EventLog,
  workspace: string,
): Promise<DeidentificationSettings> {
  const { known } = await readOn(eventLog, workspace, noSettings);
  return known.at(-1)?.settings ?? safeHarbor;
}

const MAX_DETERMINATION = 1_000;
/** The first three digits of a ZIP code; 000 stands for those of all areas that must not be shown. */
export const ZIP_AREA = /^(?!000)\d{3}$/;

/** Returns the determination, which shifted dates need, and others must not have. Throws `validation_failed`. */
export function requireDetermination({
  dates,
  determination,
}: Pick<DeidentificationChanges, 'dates' | 'determination'>): string | undefined {
  const said = determination?.trim();
  const isShifted = dates === 'shifted';
  if (isShifted ? said && said.length <= MAX_DETERMINATION : said === undefined) return said;
  const message = isShifted
    ? `must name the expert determination that shifted dates rest on, in 1 to ${MAX_DETERMINATION} characters`
    : 'belongs to shifted dates';
  throw validationError([{ field: 'determination', message }]);
}

/** Returns the data of the event that brings about the changes; undefined where it is so already. */
function dataOf(
  before: DeidentificationSettings,
  { dates, determination, zip_areas: areas }: DeidentificationChanges,
): DeidentificationSet | undefined {
  const said = requireDetermination({ dates, determination });
  if (areas?.some((area) => !ZIP_AREA.test(area)))
    throw validationError([{ field: 'zip_areas', message: 'must have three digits each, and not be 000' }]);
  const sorted = areas && [...new Set(areas)].sort();
  const isSame = dates === before.dates && (said ?? null) === before.determination;
  const data: DeidentificationSet = {
    ...(dates !== undefined && !isSame && { dates, ...(said !== undefined && { determination: said }) }),
    ...(sorted && !isDeepStrictEqual(sorted, [...before.zipAreas]) && { zip_areas: sorted }),
  };
  return Object.keys(data).length === 0 ? undefined : data;
}

/**
 * Sets how the de-identified view of the caller's workspace is made, for the events that are recorded from then on; appends nothing when it is so
 * already. Rejects with `validation_failed` for shifted dates without a determination and for areas that are not three digits, with `unreadable`
 * and `unavailable`.
 */
export async function setDeidentification(
  eventLog: EventLog,
  caller: Caller,
  changes: DeidentificationChanges,
): Promise<void> {
  const { workspace } = caller;
  const stream = deidentificationStream(workspace);
  if (await findPreviousAppend(eventLog, stream, caller)) return;
  const read = () => readOn(eventLog, workspace, noSettings);
  await appendDecided(eventLog, stream, read, ({ known }) => {
    const data = dataOf(known.at(-1)?.settings ?? safeHarbor, changes);
    return data && newEvent(caller, 'DeidentificationSet', { ...data } as JsonObject);
  });
}
