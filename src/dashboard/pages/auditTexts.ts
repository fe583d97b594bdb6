import type { Shown, ShownThing } from '../../domain/events/shown.ts';
import type { AccessAction } from '../../modules/audit/recordAccess.ts';
import { wordsOf } from '../components/words.ts';

const accessTexts: Record<AccessAction, string> = {
  'record.read': 'Record read',
  'record.list': 'Records listed',
  'record.search': 'Records searched',
  'record.history': 'History read',
  'record.proof': 'Version proof read',
  'record.readiness': 'Encounter readiness read',
  'readiness.export': 'Encounter readiness exported',
  'readiness.simulation': 'Readiness settings simulated',
  'readiness.scorecard': 'Readiness scorecard generated',
  'message.list': 'Messages listed',
  'message.read': 'Message read',
  'record.disclosures': 'Disclosures reported',
  'record.unchanged': 'Unchanged records skipped',
  'record.dry_run': 'Dry runs answered',
  'record.batch': 'Batch lines refused',
  'document.list': 'Documents listed',
  'document.download': 'Document downloaded',
  'document.history': 'Document history read',
  'document.proof': 'Document version proof read',
  'events.read': 'Events read',
  'events.subscribe': 'Event stream opened',
  'events.sent': 'Events sent to stream',
  'webhook.sent': 'Messages sent to webhook',
  'webhook.attempts': 'Webhook attempts read',
  export: 'Events exported',
  verify: 'Log verified',
  'hold.list': 'Legal holds listed',
  'retention.list': 'Records beyond retention listed',
  'retention.apply': 'Retention applied',
  'workspace.reset': 'Sandbox reset',
  'audit.read': 'Audit trail read',
  'audit.export': 'Audit trail exported',
  'request.refused': 'Request refused',
  'key.unknown': 'Unknown API keys refused',
  sign_in: 'Signed in',
  'sign_in.refused': 'Sign-in refused',
  sign_out: 'Signed out',
};

/**
 * Returns what was done, in words: by its action for an `AccessRecorded`, otherwise by the event's type
 * (`PatientUpserted`).
 */
export function actionText(action: string): string {
  const known = accessTexts[action as AccessAction];
  if (known !== undefined) return known;
  const words = action.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return words.replace(/^Api key/, 'API key');
}

/** Returns what was requested, for people: `kind: patient, id: patient-1001`. */
export function queryText(query: Record<string, unknown>): string {
  const text = (value: unknown) => (typeof value === 'object' ? JSON.stringify(value) : String(value));
  return Object.entries(query)
    .map(([name, value]) => `${wordsOf(name)}: ${Array.isArray(value) ? value.join(', ') : text(value)}`)
    .join('; ');
}

/** Maximum number of shown things that are named. */
const MOST_NAMED = 5;

/**
 * Returns what was shown or sent, for people: `12 at 8135–9120, 9300, deidentified`, or `1: patient patient-1001`.
 */
export function shownText({ count, ranges, things, view }: Shown): string {
  if (things) return thingsText(things);
  const places = ranges.map(({ from, to }) => (from === to ? `${from}` : `${from}–${to}`)).join(', ');
  return `${count === undefined ? 'Positions' : `${count} at`} ${places}${view === undefined ? '' : `, ${view}`}`;
}

function thingsText(things: readonly ShownThing[]): string {
  if (things.length === 0) return 'Nothing found';
  const named = things
    .slice(0, MOST_NAMED)
    .map(({ kind, record_id, document_id }) => `${kind} ${document_id ?? record_id}`);
  const more = things.length - named.length;
  return `${things.length}: ${named.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
