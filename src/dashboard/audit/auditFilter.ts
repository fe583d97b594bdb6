import type { Request } from 'express';
import { z } from 'zod';
import { auditFacets } from '../../../projections/audit/auditSignature.ts';
import type { AuditFilter } from '../../audit/readAuditTrail.ts';
import { accessActions } from '../../audit/recordAccess.ts';
import { sightedThing } from '../../audit/SightedThing.ts';
import { Sightings } from '../../audit/Sightings.ts';
import { recordStream } from '../../events/streamNames.ts';
import { eventTypes } from '../../events/upcast.ts';
import type { EventLog } from '../../ports/eventLog.ts';
import { catalog } from '../../records/catalog.ts';
import { subjectKinds } from '../../records/eventSubject.ts';
import { requiredDate } from '../../records/fields.ts';
import { instantOf } from '../../records/instantOf.ts';
import { validate, validationError } from '../../records/validate.ts';
import { filledQuery } from '../records/recordQuery.ts';
import { type Html, html } from '../shell/html.ts';
import type { Refusal } from '../shell/sentForm.ts';
import { filterForm } from '../ui/filterForm.ts';
import { input, messageOf, select } from '../ui/formFields.ts';
import { titleOf } from '../ui/words.ts';
import { actionText } from './auditTexts.ts';

/** One that was sent twice counts as none. */
const value = z.string().optional().catch(undefined);
const moment = requiredDate('2026-03-14T12:00').optional();

const querySchema = z.object({
  from: moment,
  to: moment,
  principal: value,
  kind: value,
  id: value,
  action: value,
  outcome: value,
  /** Who has seen the record of that kind and id, instead of what was done with it by name. */
  seen: value,
  page_token: value,
});

/** The names of what the trail can be limited by, and of the page. */
export const auditParameters: readonly string[] = Object.keys(querySchema.shape);

/** What the form of the audit trail was sent with. Times without an offset are UTC. */
export type AuditQuery = z.infer<typeof querySchema>;

/** The query of the page's address. Throws `validation_failed`. */
export function auditQuery(req: Request): AuditQuery {
  const query = validate(querySchema, filledQuery(req));
  if (query.seen !== undefined && (recordKindOf(query) === undefined || query.id === undefined)) {
    throw validationError([{ field: 'seen', message: 'needs a kind of record and a record id' }]);
  }
  return query;
}

function recordKindOf({ kind }: AuditQuery): string | undefined {
  return catalog.find((entry) => entry.kind === kind)?.kind;
}

/** What the query limits the trail to, as sent: for links, and for what the audit trail tells of the read itself. */
export function limitsOf({ page_token: _token, ...limits }: AuditQuery): Record<string, string> {
  return Object.fromEntries(
    Object.entries(limits).filter((limit): limit is [string, string] => limit[1] !== undefined),
  );
}

/** What the query asks for, of a workspace's trail. Rejects with `unavailable`. */
export async function auditFilter(
  eventLog: EventLog,
  workspace: string,
  query: AuditQuery,
): Promise<AuditFilter> {
  const filter: AuditFilter = {};
  for (const facet of auditFacets) if (query[facet] !== undefined) filter[facet] = query[facet];
  for (const bound of ['from', 'to'] as const) {
    const sent = query[bound];
    if (sent !== undefined) filter[bound] = new Date(instantOf(sent)).toISOString();
  }
  const kind = recordKindOf(query);
  if (query.seen === undefined || kind === undefined || query.id === undefined) return filter;
  const { kind: _kind, id: _id, ...others } = filter;
  const thing = await sightedThing(eventLog, recordStream(workspace, kind, query.id));
  return { ...others, seen: new Sightings([thing]) };
}

interface Option {
  value: string;
  text: string;
}

const settingKinds = ['api_key', 'webhook', 'workspace'];
const actions = [...eventTypes().filter((type) => type !== 'AccessRecorded'), ...accessActions];
const isOfInstallation = (action: string) => /^(?:User|Setup|sign_|audit\.)/.test(action);
const isOfWorkspace = (action: string) => !/^(?:User|Setup|sign_)/.test(action);

const byText = (a: Option, b: Option) => a.text.localeCompare(b.text);

/** The form that limits the trail: of one workspace, or of the installation. `principals` are those to choose among. */
export function auditForm(
  path: string,
  sent: Record<string, string>,
  principals: readonly Option[],
  isInstallation: boolean,
  refusal?: Refusal,
): Html {
  const choice = (name: string, label: string, anyText: string, options: readonly Option[]) => {
    const chosen = sent[name] ?? '';
    const isListed = chosen === '' || options.some((option) => option.value === chosen);
    const listed = isListed ? options : [{ value: chosen, text: chosen }, ...options];
    return select({ name, label, value: chosen, options: [{ value: '', text: anyText }, ...listed] });
  };
  const inputOf = (name: string, label: string, type: 'datetime-local' | 'search') =>
    input({
      name,
      label,
      type,
      value: shown(sent[name], type),
      error: messageOf(refusal?.details, name),
      ...(type === 'datetime-local' && { step: 1 }),
    });
  const kinds = isInstallation ? ['user'] : [...subjectKinds, ...settingKinds];
  const known = actions.filter(isInstallation ? isOfInstallation : isOfWorkspace);
  return filterForm(
    path,
    html`${inputOf('from', 'From (UTC)', 'datetime-local')}
${inputOf('to', 'Before (UTC)', 'datetime-local')}
${choice('principal', 'Who', 'Anyone', principals)}
${choice('action', 'What', 'Anything', known.map((action) => ({ value: action, text: actionText(action) })).sort(byText))}
${choice(
  'kind',
  'Kind',
  'Any kind',
  kinds.map((kind) => ({ value: kind, text: titleOf(kind) })),
)}
${inputOf('id', isInstallation ? 'User id' : 'Record id', 'search')}
${
  !isInstallation &&
  select({
    name: 'seen',
    label: 'Of the record',
    value: sent.seen ?? '',
    options: [
      { value: '', text: 'Entries that name it' },
      { value: 'yes', text: 'Who has seen it: also lists, streams, webhooks' },
    ],
    error: messageOf(refusal?.details, 'seen'),
  })
}
${choice('outcome', 'Outcome', 'Any outcome', [
  { value: 'accepted', text: 'Accepted' },
  { value: 'refused', text: 'Refused' },
])}`,
  );
}

/** What a field of that type can show. */
function shown(sent: string | undefined, type: 'datetime-local' | 'search'): string | undefined {
  if (type !== 'datetime-local' || !requiredDate('').safeParse(sent).success) return sent;
  return new Date(instantOf(sent as string)).toISOString().slice(0, 19);
}
