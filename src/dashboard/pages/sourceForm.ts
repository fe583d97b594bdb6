import { validationError } from '../../domain/records/schema/validation.ts';
import type { KeyDirectory } from '../../modules/auth/keyDirectory.ts';
import { mappingOptions, mappingPlaces } from '../../modules/integrations/mapping.ts';
import { configureSource, removeSource } from '../../modules/integrations/sourceCommands.ts';
import {
  DEFAULT_RETENTION_DAYS,
  DEFAULT_TIME_ZONE,
  idSystemTypes,
  readSources,
  type Source,
  type SourceInput,
  sourceFormats,
} from '../../modules/integrations/sources.ts';
import type { FieldMessage } from '../../platform/errors.ts';
import { confirmedChange, formError, input, messageOf, select, textArea } from '../components/forms.ts';
import { breadcrumb } from '../components/layout.ts';
import {
  type DashboardRoute,
  type Html,
  html,
  integrators,
  type Page,
  problemOf,
  type Refusal,
  type Reply,
  textOf,
  type Visit,
} from '../components/page.ts';
import { code } from '../components/text.ts';
import { sourcePath, sourcesPath, sourcesSection } from '../components/urls.ts';
import { formatTexts } from './messages.ts';
import { findSource, type SourcePagePorts } from './sources.ts';

/** What becomes of insurances that a message with insurances does not name. */
const insuranceChoices = [
  { value: '', text: 'Those that a message does not name stay' },
  { value: 'whole', text: 'Whole sets: those that a message with insurances does not name end' },
];

const bundlesChoices = [
  { value: '', text: 'Batches and transactions' },
  {
    value: 'any',
    text: 'Also search sets, collections, histories and messages, as batches of their resources',
  },
];

const othersChoices = [
  { value: '', text: 'Reject them (AR)' },
  { value: 'accept', text: 'Acknowledge (AA) and count them, and keep nothing' },
];

const systemField = (type: string) => `id_systems.${type}`;
const names = [
  ...['id', 'format', 'key', 'time_zone', 'retention_days'],
  ...['mllp.networks', 'mllp.certificates', 'mllp.port'],
  ...idSystemTypes.map(systemField),
  ...['bundles', 'patient_authority', 'visit_authority', 'visit_from', 'insurance_sets', 'others'],
  ...['facility.id', 'facility.name', 'mapping'],
];

/** The settings of a source in the form of its fields, by their names; empty where nothing is set. */
type SourceTexts = Readonly<Record<string, string>>;

/** Returns a source, in the form of its fields. */
function sourceTexts(source: Source): SourceTexts {
  const { id, format, key = '', time_zone, retention_days: days = '' } = source;
  const { networks, certificates, port } = source.mllp ?? {};
  const { id_systems = {}, patient_authority = '', visit_authority = '', facility, mapping } = source;
  const { visit_from = [], insurance_sets = '', others = '', bundles = '' } = source;
  const systems = Object.entries(id_systems).map(([type, uri]) => [systemField(type), uri]);
  return {
    ...{ id, format, key, time_zone, retention_days: String(days), patient_authority, visit_authority },
    ...{
      visit_from: visit_from.join(', '),
      insurance_sets: insurance_sets === 'whole' ? insurance_sets : '',
      others: others === 'accept' ? others : '',
      bundles: bundles === 'any' ? bundles : '',
    },
    'mllp.networks': networks?.join(', ') ?? '',
    'mllp.certificates': certificates?.join('; ') ?? '',
    'mllp.port': String(port ?? ''),
    ...Object.fromEntries(systems),
    ...(mapping && { mapping: JSON.stringify(mapping, undefined, 2) }),
    ...(facility && { 'facility.id': facility.id, 'facility.name': facility.name }),
  };
}

/** Returns what the fields were sent with, as typed. */
function sourceTextsSent(form: Visit['form']): SourceTexts {
  return Object.fromEntries(names.map((name) => [name, textOf(form, name)]));
}

/** Parses a text as JSON; invalid JSON stays a text, and is refused by name. */
function mappingSent(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/**
 * Returns the source that the fields describe, unchecked; an empty one sets nothing. What they do not contain stays
 * as it was `before`.
 */
function sourceSent(texts: SourceTexts, before: Partial<Source> = {}): SourceInput {
  const filled = (name: string) => texts[name] || undefined;
  const systems = idSystemTypes.flatMap((type) => {
    const uri = filled(systemField(type));
    return uri === undefined ? [] : [[type, uri]];
  });
  const [facilityId, facilityName] = [filled('facility.id'), filled('facility.name')];
  const days = filled('retention_days');
  const given = {
    ...{ key: filled('key'), time_zone: filled('time_zone'), mllp: mllpSent(texts) },
    id_systems: systems.length === 0 ? undefined : Object.fromEntries(systems),
    ...{ patient_authority: filled('patient_authority'), visit_authority: filled('visit_authority') },
    visit_from: filled('visit_from') && listed(texts.visit_from ?? '', /,/),
    ...{ insurance_sets: filled('insurance_sets'), others: filled('others'), bundles: filled('bundles') },
    facility: facilityId || facilityName ? { id: facilityId, name: facilityName } : undefined,
    retention_days: days === undefined ? undefined : Number(days),
    mapping: mappingSent(filled('mapping')),
  };
  const all = { ...before, ...given, id: filled('id'), format: filled('format') };
  const set = Object.entries(all).filter(([, value]) => value !== undefined);
  // What is missing is refused by name.
  return Object.fromEntries(set) as SourceInput;
}

function listed(text: string, separator: RegExp): string[] {
  const parts = text.split(separator).map((part) => part.trim());
  return parts.filter(Boolean);
}

function mllpSent(texts: SourceTexts): SourceInput['mllp'] {
  const { 'mllp.networks': networks = '', 'mllp.certificates': certificates = '', 'mllp.port': port } = texts;
  if (!networks && !certificates && !port) return undefined;
  return {
    ...(networks && { networks: listed(networks, /,/) }),
    // Subjects contain commas of their own.
    ...(certificates && { certificates: listed(certificates, /;/) }),
    ...(port && { port: Number(port) }),
  };
}

/** Returns the fields of a source, with what was wrong with them. `keys` are those of the workspace. */
function sourceFields(
  texts: SourceTexts,
  keys: readonly { value: string; text: string }[],
  details: readonly FieldMessage[] = [],
): Html {
  const line = (name: string, label: string, hint?: string) =>
    input({
      ...{ name, label, hint, value: texts[name], error: messageOf(details, name) },
      autocomplete: 'off',
    });
  const choice = (
    name: string,
    label: string,
    options: readonly { value: string; text: string }[],
    hint?: string,
  ) => select({ name, label, options, hint, value: texts[name], error: messageOf(details, name) });
  const formats = sourceFormats.map((value) => ({ value, text: formatTexts[value] }));
  const anyKey = { value: '', text: 'None, or any key that no other source of the format has' };
  return html`${choice('format', 'Format', formats)}
${choice('key', 'API key', [anyKey, ...keys], 'The key that the EMR uses over HTTP. Each key can belong to one source per format, and one source per format can have neither a key nor MLLP connections.')}
${line('time_zone', 'Time zone', `For times sent without an offset, such as America/Chicago. Empty: ${DEFAULT_TIME_ZONE}.`)}
${input({
  ...{ name: 'retention_days', label: 'Message retention, in days', type: 'number', min: 1 },
  value: texts.retention_days,
  hint: `How long messages are kept as received. Empty: ${DEFAULT_RETENTION_DAYS}.`,
  error: messageOf(details, 'retention_days'),
})}
<fieldset class="of-fhir">
<legend>FHIR: identifier systems of record IDs</legend>
${wrong(details, 'id_systems')}
<div class="field-grid">${idSystemTypes.map((type) => line(systemField(type), type))}</div>
<small class="muted">URIs, such as https://hospital.example/mrn or urn:oid:2.16.840.1.113883.19.5. Empty: the resource ID.</small>
${choice('bundles', 'Bundles', bundlesChoices)}
</fieldset>
<fieldset class="of-hl7v2">
<legend>HL7 v2: MLLP connections</legend>
${wrong(details, 'mllp')}
${line('mllp.networks', 'Networks', 'Addresses that it connects from, separated by commas: 192.0.2.0/24, 2001:db8::/32.')}
${line('mllp.certificates', 'Client certificates', 'SHA-256 fingerprints or whole subjects, separated by semicolons: CN=lab,O=Hospital. If networks are given as well, both must match.')}
${line('mllp.port', 'Port', 'One of the ports in MLLP_PORT. Empty: any of them.')}
</fieldset>
<fieldset class="of-hl7v2">
<legend>HL7 v2: IDs and facility</legend>
${line('patient_authority', 'Assigning authority of patients', 'CX.4 of the identifier in PID-3 that is the patient ID. Empty: the first.')}
${line('visit_authority', 'Assigning authority of visits', 'CX.4 of the identifier in PV1-19 that is the encounter ID. Empty: the first.')}
${line('visit_from', 'Visit number', `Where the encounter ID is, in order of preference: ${mappingPlaces.visit_id.join(', ')}. Empty: PV1-19, then PID-18 with a warning.`)}
${choice('insurance_sets', 'Insurances', insuranceChoices)}
${choice('others', 'Messages that are not for this service', othersChoices)}
${wrong(details, 'facility')}
${line('facility.id', 'Facility ID', 'For encounters without a facility.')}
${line('facility.name', 'Facility name')}
</fieldset>
${textArea({
  ...{ name: 'mapping', label: 'Mapping, as JSON', rows: 6, value: texts.mapping },
  hint: html`Where the default rules do not fit this EMR, such as ${code('{"visit_types": {"OBV": "observation"}}')}: ${mappingOptions.join(', ')}. Empty: none.`,
  error: mappingProblems(details),
})}`;
}

/** Returns what is wrong with the options of the mapping, each by its name. */
function mappingProblems(details: readonly FieldMessage[]): string | undefined {
  const found = details.filter(({ field }) => field === 'mapping' || field.startsWith('mapping.'));
  const texts = found.map(({ field, message }) =>
    field === 'mapping' ? message : `"${field.slice('mapping.'.length)}" ${message}`,
  );
  return texts.length === 0 ? undefined : texts.join('; ');
}

/** Returns what is wrong with a group of fields. */
function wrong(details: readonly FieldMessage[], name: string): Html | undefined {
  const message = messageOf(details, name);
  return message === undefined ? undefined : html`<p class="error">${message}</p>`;
}

/** The forms for a new source and for changing one, and the page that asks whether to remove one. */
export function sourceFormRoutes(ports: SourcePagePorts): DashboardRoute[] {
  const path = '/workspaces/:workspace/sources';
  return [
    {
      method: 'get',
      path: `${path}/new`,
      roles: integrators,
      handle: async (visit) => ({ page: newPage(ports, visit, {}) }),
    },
    {
      method: 'post',
      path: `${path}/new`,
      roles: integrators,
      handle: (visit) => configureNew(ports, visit),
    },
    {
      method: 'get',
      path: `${path}/:source/edit`,
      roles: integrators,
      async handle(visit) {
        const source = await findSource(ports.eventLog, visit);
        return { page: editPage(ports, visit, source, sourceTexts(source)) };
      },
    },
    {
      method: 'post',
      path: `${path}/:source/edit`,
      roles: integrators,
      handle: (visit) => change(ports, visit),
    },
    ...removal(ports),
  ];
}

async function configureNew(ports: SourcePagePorts, visit: Visit): Promise<Reply> {
  const texts = sourceTextsSent(visit.form);
  try {
    const sources = await readSources(ports.eventLog, visit.workspace);
    if (sources.some(({ id }) => id === texts.id)) {
      throw validationError([{ field: 'id', message: 'is used by another source' }]);
    }
    return await configured(ports, visit, sourceSent(texts));
  } catch (error) {
    return { page: newPage(ports, visit, texts, problemOf(error)) };
  }
}

async function change(ports: SourcePagePorts, visit: Visit): Promise<Reply> {
  const source = await findSource(ports.eventLog, visit);
  const texts = { ...sourceTextsSent(visit.form), id: source.id };
  try {
    return await configured(ports, visit, sourceSent(texts, source));
  } catch (error) {
    return { page: editPage(ports, visit, source, texts, problemOf(error)) };
  }
}

async function configured(
  ports: SourcePagePorts,
  { caller, workspace, notice }: Visit,
  sent: SourceInput,
): Promise<Reply> {
  await ports.directory.refresh();
  const { id } = await configureSource(ports, caller, sent);
  notice(`Source ${id} was saved. It applies to new messages.`);
  return { redirect: sourcesPath(workspace) };
}

function newPage(ports: SourcePagePorts, visit: Visit, texts: SourceTexts, refusal?: Refusal): Page {
  const id = input({
    ...{ name: 'id', label: 'ID', value: texts.id, isRequired: true, autocomplete: 'off' },
    hint: '1 to 64 characters: a to z, 0 to 9, _ and -.',
    error: messageOf(refusal?.details, 'id'),
  });
  const action = `${sourcesPath(visit.workspace)}/new`;
  return formPage(ports, visit, { title: 'Configure a source', action, texts, refusal, first: id });
}

function editPage(
  ports: SourcePagePorts,
  visit: Visit,
  { id }: Source,
  texts: SourceTexts,
  refusal?: Refusal,
): Page {
  const action = sourcePath(visit.workspace, id, 'edit');
  return formPage(ports, visit, { title: `Edit source ${id}`, action, texts, refusal });
}

/** Returns the way to a page about a source. */
function sourceCrumbs(workspace: string) {
  return breadcrumb([{ text: sourcesSection, path: sourcesPath(workspace) }]);
}

interface SourceForm {
  title: string;
  /** Below `/dashboard`. */
  action: string;
  texts: SourceTexts;
  refusal: Refusal | undefined;
  /** What it asks for before everything else. */
  first?: ReturnType<typeof input>;
}

function formPage(
  { directory }: SourcePagePorts,
  { workspace, csrf }: Visit,
  { title, action, texts, refusal, first }: SourceForm,
): Page {
  return {
    title,
    section: sourcesSection,
    ...(refusal && { status: refusal.status }),
    body: html`${sourceCrumbs(workspace)}
<h1>${title}</h1>
<p>Changes apply to new messages. Existing records stay as they are.</p>
${formError(refusal)}
<form method="post" action="/dashboard${action}">${csrf}
${first}
${sourceFields(texts, keyChoices(directory, workspace, texts.key), refusal?.details)}
<div class="actions"><button type="submit">Save source</button>
<a role="button" class="outline secondary" href="/dashboard${sourcesPath(workspace)}">Cancel</a></div>
</form>`,
  };
}

/** Returns the keys that a source may have, and the one that it has. */
function keyChoices(directory: KeyDirectory, workspace: string, chosen: string | undefined) {
  return directory
    .keysOf(workspace)
    .filter(({ id, state }) => state !== 'deleted' || id === chosen)
    .map(({ id, name, state }) => ({ value: id, text: `${name} (${state === 'deleted' ? state : id})` }));
}

function removal({ eventLog }: SourcePagePorts): DashboardRoute[] {
  return confirmedChange<Source>({
    roles: integrators,
    path: '/workspaces/:workspace/sources/:source/remove',
    find: (visit) => findSource(eventLog, visit),
    question: ({ id }, { workspace }) => ({
      title: `Remove the source ${id}?`,
      section: sourcesSection,
      breadcrumb: sourceCrumbs(workspace),
      text: html`New messages from its EMR are read by the default source of its format. Everything it has sent is kept.`,
      button: 'Remove source',
      isDangerous: true,
      back: sourcesPath(workspace),
    }),
    async make({ id }, { caller, workspace, notice }) {
      await removeSource(eventLog, caller, id);
      notice(`Source ${id} was removed.`);
      return { redirect: sourcesPath(workspace) };
    },
  });
}
