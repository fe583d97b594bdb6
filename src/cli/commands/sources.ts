import { type Command, InvalidArgumentError, Option } from 'commander';
import { mappingPlaces, setIn } from '../../modules/integrations/mapping.ts';
import { UnusedMessages } from '../../modules/integrations/messages/unused.ts';
import { configureSource, removeSource } from '../../modules/integrations/sourceCommands.ts';
import {
  bindingTexts,
  bundleChoices,
  DEFAULT_RETENTION_DAYS,
  DEFAULT_TIME_ZONE,
  type IdSystemType,
  idSystemTypes,
  insuranceSets,
  isDefault,
  otherChoices,
  readSources,
  type Source,
  type SourceFormat,
  type SourceInput,
  sourceFormats,
} from '../../modules/integrations/sources.ts';
import { loadConfig } from '../../platform/config.ts';
import { notFound } from '../../platform/errors.ts';
import { openOwnStateStore } from '../../server/openStorage.ts';
import { withWorkspace } from '../../server/stores.ts';
import { terminal } from '../../server/terminal.ts';
import { readJsonFile } from '../lib/files.ts';
import { count, example, printable, writeJson, writeLine, writeTable } from '../lib/terminal.ts';

/** Lists the sources of a workspace. */
async function listSources({ workspace, json }: { workspace: string; json?: boolean }): Promise<void> {
  const sources = await withWorkspace(workspace, ({ eventLog }) => readSources(eventLog, workspace));
  if (json) writeJson(sources.map(sourceView));
  else if (sources.length === 0) writeLine(`There are no sources yet in workspace ${workspace}.`);
  else
    writeTable(
      ['SOURCE', 'FORMAT', 'KEY', 'MLLP', 'TIME ZONE', 'IDS, FACILITY, MAPPING'],
      sources.map((source) => [
        source.id,
        source.format,
        source.key ?? (isDefault(source) ? 'any other' : '-'),
        source.mllp
          ? bindingTexts(source.mllp)
              .map((text) => printable(text))
              .join(', ')
          : '-',
        source.time_zone,
        settingsOf(source).join(', ') || '-',
      ]),
    );
}

interface ShowOptions {
  workspace: string;
  json?: boolean;
}

/** Shows a source, with the messages that were not used. */
async function showSource(id: string, { workspace, json }: ShowOptions): Promise<void> {
  const { source, unused } = await withWorkspace(workspace, async ({ eventLog }) => {
    const found = (await readSources(eventLog, workspace)).find((one) => one.id === id);
    if (found === undefined) throw notFound('Source');
    const stateStore = await openOwnStateStore(loadConfig(terminal().env), eventLog);
    try {
      return { source: found, unused: (await new UnusedMessages(stateStore).of(workspace)).get(id) ?? [] };
    } finally {
      await stateStore.close();
    }
  });
  if (json) {
    writeJson({ ...sourceView(source), unused });
    return;
  }
  writeLine(`Source ${id} in workspace ${workspace}: what is sent as ${source.format} ${senderOf(source)}.`);
  for (const setting of settingsOf(source)) writeLine(setting);
  if (unused.length === 0) return;
  writeTable(
    ['NOT USED', 'MESSAGES', 'LAST'],
    unused.map(({ event, count: times, last_at }) => [event, count(times), last_at]),
  );
}

const nothingConfigured = {
  key: null,
  mllp: null,
  id_systems: {},
  bundles: null,
  patient_authority: null,
  visit_authority: null,
  visit_from: null,
  insurance_sets: null,
  others: null,
  facility: null,
  mapping: {},
  retention_days: DEFAULT_RETENTION_DAYS,
};

/** Returns a source's form in JSON. */
function sourceView({ id, format, time_zone, ...configured }: Source) {
  return { id, format, time_zone, ...nothingConfigured, ...configured };
}

function settingsOf({ id_systems, facility, mapping, ...source }: Source): string[] {
  const named = {
    ...id_systems,
    bundles: source.bundles,
    patient: source.patient_authority,
    visit: source.visit_authority,
    visit_from: source.visit_from?.join(','),
    insurance_sets: source.insurance_sets,
    others: source.others,
    facility: facility && `${facility.id} (${facility.name})`,
    ...Object.fromEntries(setIn(mapping).map(([option, what]) => [option, mappedTo(what)])),
  };
  return Object.entries(named).flatMap(([name, value]) =>
    value === undefined ? [] : `${name}=${printable(value)}`,
  );
}

/** Returns a place as it is; for codes, how many there are. */
function mappedTo(what: string | Record<string, string>): string {
  return typeof what === 'string' ? what : `${count(Object.keys(what).length)} codes`;
}

type IdSystems = Partial<Record<IdSystemType, string>>;

/** The values of the options of `addSourceOptions`. */
interface SourceOptions {
  format?: SourceFormat;
  key?: string;
  mllpNetwork?: string[];
  mllpCertificate?: string[];
  mllpPort?: number;
  timeZone?: string;
  idSystem?: IdSystems;
  bundles?: string;
  patientAuthority?: string;
  visitAuthority?: string;
  visitFrom?: string[];
  insuranceSets?: string;
  others?: string;
  facility?: string;
  facilityName?: string;
  /** Path of a file. */
  mapping?: string;
  retentionDays?: number;
}

/** `Patient=https://hospital.example/mrn`, may be repeated. */
function parseIdSystem(text: string, before: IdSystems = {}): IdSystems {
  const [type, ...uri] = text.split('=');
  const known = idSystemTypes.find((one) => one === type);
  if (known !== undefined && uri.length > 0) return { ...before, [known]: uri.join('=') };
  throw new InvalidArgumentError(`Specify TYPE=URI, where TYPE is one of ${idSystemTypes.join(', ')}.`);
}

/** `192.0.2.0/24,2001:db8::/32`, may be repeated. */
function parseNetworks(text: string, before: string[] = []): string[] {
  return [...before, ...text.split(',').map((part) => part.trim())];
}

/** Adds the options that configure a source. */
function addSourceOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--format <format>', 'what the source sends; required for a new one').choices(sourceFormats),
    )
    .option(
      '--key <key-id>',
      'the API key that it sends with; without it, and without --mllp-…, it is the default source of the ' +
        'format',
    )
    .option(
      '--mllp-network <cidr>',
      'HL7 v2: it sends over MLLP from this network, such as 192.0.2.0/24; separate several with commas, ' +
        'or repeat the option',
      parseNetworks,
    )
    .option(
      '--mllp-certificate <name>',
      'HL7 v2: it sends over MLLP with the client certificate that has this SHA-256 fingerprint or full ' +
        'subject, such as CN=lab,O=Hospital; repeat the option for each',
      (name: string, before: string[] = []) => [...before, name],
    )
    .option(
      '--mllp-port <port>',
      'HL7 v2: it sends over MLLP only to this port, one of those in MLLP_PORT',
      Number,
    )
    .option(
      '--time-zone <zone>',
      `the time zone of times that it sends without an offset (default: ${DEFAULT_TIME_ZONE})`,
    )
    .option(
      '--id-system <type=uri>',
      'FHIR: the system of the identifiers used as record ids, by resource type ' +
        `(${idSystemTypes.join(', ')}); repeat the option for each`,
      parseIdSystem,
    )
    .addOption(
      new Option(
        '--bundles <types>',
        'FHIR: with any, POST /fhir also takes Bundles of the types searchset, collection, history and message, as a batch ' +
          'of their resources (default: requests)',
      ).choices(bundleChoices),
    )
    .option(
      '--patient-authority <name>',
      'HL7 v2: the assigning authority of the identifier in PID-3 that is the id of the patient',
    )
    .option(
      '--visit-authority <name>',
      'HL7 v2: the assigning authority of the identifier in PV1-19 that is the id of the encounter',
    )
    .option(
      '--visit-from <places>',
      `HL7 v2: where the id of the encounter is, of ${mappingPlaces.visit_id.join(', ')}, separated by commas; the first that ` +
        'is not empty counts (default: PV1-19, then PID-18 with a warning)',
      (text: string) => text.split(',').map((place) => place.trim()),
    )
    .addOption(
      new Option(
        '--insurance-sets <sets>',
        'HL7 v2: with whole, a message that has insurances (IN1) has all of them, and the others end; with parts, they ' +
          'stay (default: parts)',
      ).choices(insuranceSets),
    )
    .addOption(
      new Option(
        '--others <choice>',
        'HL7 v2: what becomes of messages that are not for this service, such as ORU: with accept, they are acknowledged ' +
          'with AA, counted and not kept; with reject, they get AR (default: reject)',
      ).choices(otherChoices),
    )
    .option('--facility <id>', 'HL7 v2: the facility for encounters that do not name one')
    .option('--facility-name <name>', 'HL7 v2: the name of that facility')
    .option(
      '--mapping <file>',
      "a JSON file with this EMR's exceptions to the default mapping: codes, and where fields are found",
    )
    .option(
      '--retention-days <days>',
      `how long its original messages are kept (default: ${DEFAULT_RETENTION_DAYS})`,
      Number,
    );
}

/** Returns what options give of a source. Rejects with `conflict` and `validation_failed` when the mapping file cannot be read. */
async function sourceOfOptions(options: SourceOptions): Promise<Partial<SourceInput>> {
  const {
    format,
    key,
    mllpNetwork: networks,
    mllpCertificate: certificates,
    mllpPort: port,
    timeZone,
    idSystem,
    bundles,
    patientAuthority,
    visitAuthority,
    visitFrom,
    insuranceSets: sets,
    others,
    facility,
    facilityName,
    mapping,
    retentionDays,
  } = options;
  const mllp = definedOf({ networks, certificates, port });
  const hasFacility = facility !== undefined || facilityName !== undefined;
  return definedOf({
    format,
    time_zone: timeZone,
    key,
    mllp: Object.keys(mllp).length > 0 ? mllp : undefined,
    id_systems: idSystem,
    bundles,
    patient_authority: patientAuthority,
    visit_authority: visitAuthority,
    visit_from: visitFrom,
    insurance_sets: sets,
    others,
    retention_days: retentionDays,
    mapping: mapping === undefined ? undefined : await readJsonFile(mapping),
    // Missing parts are refused by name.
    facility: hasFacility ? { id: facility, name: facilityName } : undefined,
  });
}

function definedOf(fields: object) {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

interface SetOptions extends SourceOptions {
  workspace: string;
  replace?: boolean;
  json?: boolean;
}

/** `chartledger sources …` */
export function addSourceCommands(sources: Command): void {
  sources
    .command('list')
    .description('List the sources of a workspace.')
    .requiredOption('--workspace <id>', 'the workspace')
    .option('--json', 'print a JSON array')
    .addHelpText('after', example('chartledger sources list --workspace clinic'))
    .action(listSources);

  sources
    .command('show')
    .description(
      'Show a source, and how many messages of which event it sent that were acknowledged and not used (--others accept).',
    )
    .argument('<id>', 'the id of the source, as listed')
    .requiredOption('--workspace <id>', 'the workspace')
    .option('--json', 'print the source as JSON')
    .addHelpText('after', example('chartledger sources show lab --workspace clinic'))
    .action(showSource);

  addSourceOptions(
    sources
      .command('set')
      .description(
        'Create a source, or set what it is configured with. Options that are not given keep their values, or with --replace are ' +
          'no longer set.',
      )
      .argument('<id>', 'the id of the source: 1 to 64 of a to z, 0 to 9, _ and -')
      .requiredOption('--workspace <id>', 'the workspace'),
  )
    .option('--replace', 'set the whole configuration')
    .option('--json', 'print the source as JSON')
    .addHelpText(
      'after',
      example(
        'chartledger sources set epic --workspace clinic --format fhir --key key_4fTq9LmZs2Xw8RbC --id-system Patient=https://hospital.example/mrn',
        'chartledger sources set lab --workspace clinic --format hl7v2 --time-zone America/Chicago --patient-authority HOSP --facility main --facility-name "Main Campus"',
        'chartledger sources set lab --workspace clinic --format hl7v2 --mllp-network 192.0.2.0/24',
      ),
    )
    .action(setSource);

  sources
    .command('delete')
    .description('Delete a source. Everything that it sent is kept.')
    .argument('<id>', 'the id of the source, as listed')
    .requiredOption('--workspace <id>', 'the workspace')
    .addHelpText('after', example('chartledger sources delete epic --workspace clinic'))
    .action((id: string, { workspace }: { workspace: string }) =>
      withWorkspace(workspace, async ({ eventLog, caller }) => {
        await removeSource(eventLog, caller, id);
        writeLine(`Deleted source ${id} of workspace ${workspace}.`);
      }),
    );
}

async function setSource(
  id: string,
  { workspace, replace, json, ...options }: SetOptions,
  command: Command,
): Promise<void> {
  const given = await sourceOfOptions(options);
  const source = await withWorkspace(workspace, async ({ caller, ...ports }) => {
    const sources = replace ? [] : await readSources(ports.eventLog, workspace);
    const input = { time_zone: DEFAULT_TIME_ZONE, ...sources.find((one) => one.id === id), ...given, id };
    const { format } = input;
    if (format === undefined)
      return command.error('error: specify the format of the new source with --format');
    return configureSource(ports, caller, { ...input, format });
  });
  if (json) {
    writeJson(sourceView(source));
    return;
  }
  writeLine(`Source ${id} in workspace ${workspace}: what is sent as ${source.format} ${senderOf(source)}.`);
}

function senderOf(source: Source): string {
  if (isDefault(source)) return 'with any key without a separate source';
  const { key, mllp } = source;
  return [
    ...(key === undefined ? [] : [`with key ${key}`]),
    ...(mllp === undefined
      ? []
      : [
          `over MLLP (${bindingTexts(mllp)
            .map((text) => printable(text))
            .join(', ')})`,
        ]),
  ].join(' and ');
}
