import { z } from 'zod';
import { dataAs, type RecordedEvent } from '../../domain/events/event.ts';
import { sourcesStream } from '../../domain/events/streams.ts';
import { upcast } from '../../domain/events/upcasting.ts';
import { identifier, requiredName } from '../../domain/records/schema/fields.ts';
import { canonicalNetwork, isInNetworks } from '../../platform/networks.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { type KeyState, keysOfSender } from '../auth/apiKeys.ts';
import { AggregateCache, foldStream } from '../records/queries/records.ts';
import {
  fhirRules,
  hl7Rules,
  type MappingRule,
  mappingPlaces,
  mappingSchema,
  mappingsOfFormat,
} from './mapping.ts';

/** How what is sent in a format is read. */
export const rulesOf: Record<SourceFormat, readonly MappingRule[]> = { fhir: fhirRules, hl7v2: hl7Rules };

/** Data of `SourceConfigured`: all of the source; any earlier configuration with that id no longer applies. */
export interface SourceConfigured {
  source: Source;
}

/** Data of `SourceRemoved`. */
export interface SourceRemoved {
  source_id: string;
}

/** The sources of a workspace, as folded from its stream. */
export interface SourceState {
  /** How many events were folded. */
  version: number;
  /** By their ids, in the order in which they were first configured. */
  sources: ReadonlyMap<string, Source>;
}

const noSources: SourceState = { version: 0, sources: new Map() };

/** Folds the next event of the stream of sources; the given state is not changed. Throws an `UnreadableError`. */
export function evolveSources(state: SourceState | undefined, event: RecordedEvent): SourceState {
  const { type, data } = upcast(event);
  const sources = new Map(state?.sources);
  if (type === 'SourceConfigured') {
    const { source } = dataAs<SourceConfigured>(data);
    sources.set(source.id, source);
  } else {
    sources.delete(dataAs<SourceRemoved>(data).source_id);
  }
  return { version: event.revision + 1, sources };
}

/**
 * Resolves with the sources of a workspace with the version of their stream, as of every change acknowledged before
 * the call. Rejects with `unavailable` and `unreadable`.
 */
export async function readSourceState(eventLog: EventLog, workspace: string): Promise<SourceState> {
  return (await foldStream(eventLog, sourcesStream(workspace), evolveSources)) ?? noSources;
}

/** The sources of workspaces, for requests: a change made anywhere takes effect here within a second. */
export class SourceCache {
  readonly #folds: AggregateCache<SourceState>;

  constructor(eventLog: EventLog) {
    this.#folds = new AggregateCache(eventLog, sourcesStream, evolveSources);
  }

  /**
   * Resolves with the configured sources of a workspace, as of a second ago or later. Rejects with `unavailable` and
   * `unreadable`.
   */
  async of(workspace: string): Promise<Source[]> {
    const { sources } = (await this.#folds.current(workspace)) ?? noSources;
    return [...sources.values()];
  }
}

/** The names that identify a certificate. */
interface CertificateNames {
  /** SHA-256, in the form returned by `canonicalCertificate`. */
  fingerprint: string;
  /** In the form returned by `canonicalCertificate`. */
  subject: string;
}

/**
 * Returns the name of a certificate in canonical form: its SHA-256 fingerprint (`0D:E5:…`, accepted with or without
 * colons), or its whole subject, attributes with their types in alphabetical order (`CN=lab,O=Hospital`), accepted in
 * any order, separated by commas or as lines. Undefined for anything else.
 */
export function canonicalCertificate(text: string): string | undefined {
  const hex = text.replaceAll(':', '').trim();
  if (/^[0-9a-f]{64}$/i.test(hex)) return hex.toUpperCase().replace(/..(?=.)/g, '$&:');
  // A backslash removes the meaning of a comma or plus sign (RFC 4514); one with nothing to remove is an end, too.
  const parts = [...text.matchAll(/((?:\\.|[^\\,+\n])*)([,+\n\\]|$)/g)];
  if (parts.some(([, , end]) => end === '\\')) return undefined;
  const named = parts.map(([, part = '']) => part.trim()).filter((part) => part !== '');
  const attributes = named.map((part) => /^([a-z][a-z0-9.-]*|[0-9.]+)\s*=\s*(\S.*)$/i.exec(part));
  if (attributes.length === 0 || attributes.includes(null)) return undefined;
  return attributes
    .map((attribute) => `${attribute?.[1]?.toUpperCase()}=${attribute?.[2]}`)
    .toSorted()
    .join(',');
}

/** The sources of a workspace as one event left them. */
export interface Configuration {
  /** From 1 on, within the workspace. */
  number: number;
  /** Since when they applied: ISO 8601, UTC. */
  at: string;
  sources: readonly Source[];
}

interface Configured {
  version: number;
  state: SourceState;
  all: Configuration[];
}

/**
 * Resolves with all configurations that a workspace has had, oldest first. Rejects with `unavailable` and
 * `unreadable`.
 */
export async function readConfigurations(eventLog: EventLog, workspace: string): Promise<Configuration[]> {
  const folded = await foldStream<Configured>(eventLog, sourcesStream(workspace), (before, event) => {
    const state = evolveSources(before?.state, event);
    const configuration = {
      number: state.version,
      at: event.recordedAt,
      sources: [...state.sources.values()],
    };
    return { version: state.version, state, all: [...(before?.all ?? []), configuration] };
  });
  return folded?.all ?? [];
}

/**
 * Returns the number of the configuration that made a source what it is now; undefined where it is not configured.
 */
export function numberOf(configurations: readonly Configuration[], sourceId: string): number | undefined {
  let found: { number: number; source: Source } | undefined;
  for (const { number, sources } of configurations) {
    const source = sources.find(({ id }) => id === sourceId);
    if (source === undefined) found = undefined;
    else if (source !== found?.source) found = { number, source };
  }
  return found?.number;
}

const MOST = 50;

const network = named(canonicalNetwork, 'must be a network such as 192.0.2.0/24 or 2001:db8::/32');
const certificate = named(
  canonicalCertificate,
  'must be the SHA-256 fingerprint or the full subject of a certificate, such as CN=lab,O=Hospital',
);

/** The binding of a source to MLLP connections, as validated. */
const mllpBindingSchema = z
  .object({
    certificates: listOf(certificate).optional(),
    networks: listOf(network).optional(),
    port: z.int().min(1).max(65_535).optional(),
  })
  .refine(({ certificates, networks }) => certificates !== undefined || networks !== undefined, {
    error: 'requires networks or certificates; a port does not identify a sender',
  });

/**
 * The connections whose messages belong to a source: everything named must match.
 *
 * - `certificates`: with one of these client certificates, by its SHA-256 fingerprint or its subject.
 * - `networks`: from one of these, in CIDR notation.
 * - `port`: to this one of the ports on which the service listens; to any of them if left out.
 */
export type MllpBinding = z.output<typeof mllpBindingSchema>;

/** A connection, as far as it distinguishes sources. */
export interface Peer {
  /** IP address of the sender. */
  address: string;
  /** The port on which it was accepted. */
  port: number;
  /** The client's certificate, where it has one that the service trusts. */
  certificate?: CertificateNames | undefined;
}

/**
 * Returns how surely a connection matches a binding: 0 not at all, 1 by its network, 2 by the subject of its
 * certificate, 3 by its fingerprint.
 */
export function claimOf({ certificates, networks, port }: MllpBinding, peer: Peer): 0 | 1 | 2 | 3 {
  if (port !== undefined && port !== peer.port) return 0;
  if (networks !== undefined && !isInNetworks(networks, peer.address)) return 0;
  if (certificates === undefined) return 1;
  if (peer.certificate === undefined) return 0;
  if (certificates.includes(peer.certificate.fingerprint)) return 3;
  return certificates.includes(peer.certificate.subject) ? 2 : 0;
}

/** Whether there may be a connection that both bindings claim with equal certainty. */
export function overlap(one: MllpBinding, other: MllpBinding): boolean {
  if (one.port !== undefined && other.port !== undefined && one.port !== other.port) return false;
  if (one.networks && other.networks && !intersect(one.networks, other.networks)) return false;
  if (one.certificates === undefined || other.certificates === undefined) {
    return one.certificates === other.certificates;
  }
  return one.certificates.some((name) => other.certificates?.includes(name));
}

/** Returns the parts of a binding, for people: `192.0.2.0/24`, `CN=lab,O=Hospital`, `port 2576`. */
export function bindingTexts({ networks = [], certificates = [], port }: MllpBinding): string[] {
  return [...networks, ...certificates, ...(port === undefined ? [] : [`port ${port}`])];
}

/** Of two networks that have an address in common, one includes all of the other. */
function intersect(some: readonly string[], others: readonly string[]): boolean {
  const reach = (networks: readonly string[], into: readonly string[]) =>
    networks.some((one) => isInNetworks(into, one.split('/')[0] as string));
  return reach(some, others) || reach(others, some);
}

function named(canonical: (text: string) => string | undefined, message: string) {
  return z.string().transform((text, context) => {
    const found = canonical(text);
    if (found !== undefined) return found;
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  });
}

/** Without duplicates. */
function listOf<Schema extends z.ZodType<string>>(schema: Schema) {
  return z
    .array(schema)
    .min(1, { error: 'must name at least one' })
    .max(MOST, { error: `must be at most ${MOST}` })
    .transform((all) => [...new Set(all)]);
}

/**
 * Resolves with the configured sources of a workspace, in the order in which they were first configured, as of every
 * change acknowledged before the call. Rejects with `unavailable` and `unreadable`.
 */
export async function readSources(eventLog: EventLog, workspace: string): Promise<Source[]> {
  const { sources } = await readSourceState(eventLog, workspace);
  return [...sources.values()];
}

/** What a source sends. */
export const sourceFormats = ['fhir', 'hl7v2'] as const;
export type SourceFormat = (typeof sourceFormats)[number];

/** The FHIR resource types that have an id system. */
export const idSystemTypes = [
  'Patient',
  'Coverage',
  'Organization',
  'Location',
  'Practitioner',
  'Encounter',
  'DocumentReference',
] as const;
export type IdSystemType = (typeof idSystemTypes)[number];

/** Used where what is sent has no time zone, and its source has none either. */
export const DEFAULT_TIME_ZONE = 'UTC';

/** How long the messages of a source are kept that has no setting for it. */
export const DEFAULT_RETENTION_DAYS = 90;
const MAX_RETENTION_DAYS = 3_650;

/** Id of the source that applies where a workspace has configured none; no configured source has it. */
export const BUILT_IN_SOURCE = 'default';

const id = z
  .string()
  .regex(/^[a-z0-9_-]{1,64}$/, { error: 'must be 1 to 64 characters: a to z, 0 to 9, _ or -' })
  .refine((value) => value !== BUILT_IN_SOURCE, {
    error: 'must not be default, which is reserved for the source of a workspace that has configured none',
  });

const timeZone = z.string().refine(isTimeZone, {
  error: 'must be a time zone from the IANA database, such as America/Chicago',
});

const system = z
  .string()
  .max(1000)
  .refine((value) => /^\S+$/.test(value) && URL.canParse(value), {
    error: 'must be a URI, such as urn:oid:2.16.840.1.113883.19.5 or https://hospital.example/mrn',
  });

const facilitySchema = z.object({
  id: identifier("The caller's facility identifier", 'facility-3001'),
  name: requiredName('Elm Street Clinic'),
});

/** What a source of a format may have besides what every source has. */
const ownFields = {
  fhir: ['id_systems', 'bundles'],
  hl7v2: [
    ...(['mllp', 'patient_authority', 'visit_authority', 'visit_from'] as const),
    ...(['insurance_sets', 'others', 'facility'] as const),
  ],
} as const satisfies Record<SourceFormat, readonly string[]>;

/** The Bundles that a source may send: those that request something, or also those that only contain resources. */
export const bundleChoices = ['requests', 'any'] as const;

/** Whether the insurances in a message are all that its patient has. */
export const insuranceSets = ['parts', 'whole'] as const;

/** What becomes of messages that are not for this service. */
export const otherChoices = ['reject', 'accept'] as const;

/** The configuration of a source, as validated; `time_zone` may be left out. */
export const sourceSchema = z
  .object({
    id,
    format: z.enum(sourceFormats),
    key: z.string().optional(),
    mllp: mllpBindingSchema.optional(),
    time_zone: timeZone.default(DEFAULT_TIME_ZONE),
    id_systems: z.partialRecord(z.enum(idSystemTypes), system).optional(),
    bundles: z.enum(bundleChoices).optional(),
    patient_authority: authority().optional(),
    visit_authority: authority().optional(),
    visit_from: z.array(z.enum(mappingPlaces.visit_id)).min(1).max(3).optional(),
    insurance_sets: z.enum(insuranceSets).optional(),
    others: z.enum(otherChoices).optional(),
    facility: facilitySchema.optional(),
    mapping: mappingSchema.optional(),
    retention_days: z.int().min(1).max(MAX_RETENTION_DAYS).optional(),
  })
  .superRefine((source, context) => {
    for (const format of sourceFormats) {
      if (format === source.format) continue;
      const foreign: string[][] = [
        ...ownFields[format].filter((name) => source[name] !== undefined).map((name) => [name]),
        ...mappingsOfFormat[format]
          .filter((name) => source.mapping?.[name] !== undefined)
          .map((name) => ['mapping', name]),
      ];
      const message = `is only for sources of the format ${format}`;
      for (const path of foreign) context.addIssue({ code: 'custom', path, message });
    }
    if (source.visit_from !== undefined && source.mapping?.visit_id !== undefined) {
      const message = 'must not be set together with visit_from, which replaces it';
      context.addIssue({ code: 'custom', path: ['mapping', 'visit_id'], message });
    }
  });

/**
 * Describes an EMR that sends FHIR or HL7 v2 to a workspace.
 *
 * - `key`: id of the API key with which it sends over HTTP.
 * - `mllp` (HL7 v2): the connections by which it sends over MLLP. With neither it is the workspace's default source
 *   of its format.
 * - `time_zone`: from the IANA database, for times that are sent without an offset.
 * - `id_systems` (FHIR): by resource type, the system of the identifier that is the record's id.
 * - `bundles` (FHIR): with `any`, Bundles of the types searchset, collection, history and message are batches.
 * - `patient_authority`, `visit_authority` (HL7 v2): the assigning authority (CX.4) of the identifier in PID-3 and
 *   PV1-19 that is the record's id.
 * - `visit_from` (HL7 v2): where the id of an encounter is, the place that counts most first; default: PV1-19, then
 *   PID-18 with a warning.
 * - `insurance_sets` (HL7 v2): with `whole`, insurances that a message does not name end, if it names any.
 * - `others` (HL7 v2): with `accept`, messages of other types and events are acknowledged with `AA`, counted, and not
 *   kept.
 * - `facility` (HL7 v2): where encounters are that name no facility.
 * - `mapping`: where the usual rules are wrong about this EMR.
 * - `retention_days`: how long its messages are kept as they arrived; default: `DEFAULT_RETENTION_DAYS`.
 */
export type Source = z.output<typeof sourceSchema>;
export type SourceInput = z.input<typeof sourceSchema>;

/** Returns the schema of an assigning authority, as CX.4 names it. */
function authority() {
  return z
    .string()
    .min(1)
    .max(255)
    .regex(/^\P{Cc}*$/u, { error: 'must not contain control characters' });
}

function isTimeZone(name: string): boolean {
  // `Intl` also knows offsets, such as +05:00.
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }) !== undefined;
  } catch {
    return false;
  }
}

/** A key with which something was sent, and those known, which say what other keys its sender has. */
interface SentWith {
  keyId: string;
  known: Pick<KeyState, 'keys'>;
}

/**
 * Returns the source of what was sent in a format with a key: that of the key, otherwise that of the newest other key
 * of the same sender, otherwise the workspace's default one for the format, otherwise one with nothing configured
 * (`default`). Without a key it is a default one.
 */
export function sourceOf(sources: readonly Source[], format: SourceFormat, sentWith?: SentWith): Source {
  const ofFormat = sources.filter((source) => source.format === format);
  return (
    (sentWith && sourceOfSender(ofFormat, sentWith)) ??
    ofFormat.find(isDefault) ?? {
      id: BUILT_IN_SOURCE,
      format,
      time_zone: DEFAULT_TIME_ZONE,
    }
  );
}

function sourceOfSender(sources: readonly Source[], { keyId, known }: SentWith): Source | undefined {
  const own = sources.find(({ key }) => key === keyId);
  if (own !== undefined || sources.length === 0) return own;
  const byKey = new Map(sources.map((source) => [source.key, source]));
  const named = keysOfSender(known, keyId).findLast((id) => byKey.has(id));
  return named === undefined ? undefined : byKey.get(named);
}

/** Whether it applies where no other source of its format does. */
export function isDefault({ key, mllp }: Source): boolean {
  return key === undefined && mllp === undefined;
}
