import { type Command, InvalidArgumentError, Option } from 'commander';
import {
  DEFAULT_RETENTION_DAYS,
  DEFAULT_TIME_ZONE,
  type IdSystemType,
  idSystemTypes,
  type SourceFormat,
  type SourceInput,
  sourceFormats,
} from '../../modules/integrations/source.ts';
import { readJsonFile } from '../lib/readJsonFile.ts';

type IdSystems = Partial<Record<IdSystemType, string>>;

/** The values of the options of `addSourceOptions`. */
export interface SourceOptions {
  format: SourceFormat;
  key?: string;
  mllpNetwork?: string[];
  mllpCertificate?: string[];
  mllpPort?: number;
  timeZone: string;
  idSystem?: IdSystems;
  patientAuthority?: string;
  visitAuthority?: string;
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
export function addSourceOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--format <format>', 'what the source sends').choices(sourceFormats).makeOptionMandatory(),
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
    .option('--time-zone <zone>', 'the time zone of times that it sends without an offset', DEFAULT_TIME_ZONE)
    .option(
      '--id-system <type=uri>',
      'FHIR: the system of the identifiers used as record ids, by resource type ' +
        `(${idSystemTypes.join(', ')}); repeat the option for each`,
      parseIdSystem,
    )
    .option(
      '--patient-authority <name>',
      'HL7 v2: the assigning authority of the identifier in PID-3 that is the id of the patient',
    )
    .option(
      '--visit-authority <name>',
      'HL7 v2: the assigning authority of the identifier in PV1-19 that is the id of the encounter',
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

/** Returns the source given by options. Rejects with `conflict` and `validation_failed` when the mapping file cannot be read. */
export async function sourceOfOptions(id: string, options: SourceOptions): Promise<SourceInput> {
  const {
    format,
    key,
    mllpNetwork: networks,
    mllpCertificate: certificates,
    mllpPort: port,
    timeZone,
    idSystem,
    patientAuthority,
    visitAuthority,
    facility,
    facilityName,
    mapping,
    retentionDays,
  } = options;
  const mllp = definedOf({ networks, certificates, port });
  const hasFacility = facility !== undefined || facilityName !== undefined;
  const given = {
    key,
    mllp: Object.keys(mllp).length > 0 ? mllp : undefined,
    id_systems: idSystem,
    patient_authority: patientAuthority,
    visit_authority: visitAuthority,
    retention_days: retentionDays,
    mapping: mapping === undefined ? undefined : await readJsonFile(mapping),
    // Missing parts are refused by name.
    facility: hasFacility ? { id: facility, name: facilityName } : undefined,
  };
  return { id, format, time_zone: timeZone, ...definedOf(given) };
}

function definedOf(fields: object) {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
