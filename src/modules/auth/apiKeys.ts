import { createHash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { z } from 'zod';
import {
  dataAs,
  type Position,
  type Principal,
  type RecordedEvent,
  type ReturnChoice,
  type UnchangedChoice,
} from '../../domain/events/event.ts';
import { type DisclosureTerms, type NullableTerms, termsOf } from '../../domain/events/payloads.ts';
import { upcast } from '../../domain/events/upcasting.ts';
import { requiredDate } from '../../domain/records/schema/fields.ts';
import { instantOf } from '../../domain/records/schema/isoDates.ts';
import { validate, validationError } from '../../domain/records/schema/validation.ts';
import { ServiceError } from '../../platform/errors.ts';
import { canonicalNetwork } from '../../platform/networks.ts';
import { MAX_RETENTION_YEARS, MIN_RETENTION_YEARS } from '../../platform/settings.ts';
import type { OfficeHours } from '../audit/accessReview.ts';
import type { Permission } from './permissions.ts';
import type { PublicKey } from './publicKeys.ts';

const PREFIX = 'clk_';
/** No other key starts with this: the random characters contain no underscore. */
const TEST_PREFIX = 'clk_test_';
const RANDOM_LENGTH = 32;
const CHECK_LENGTH = 6;
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const shape = new RegExp(`^${PREFIX}(?:test_)?[0-9A-Za-z]{${RANDOM_LENGTH + CHECK_LENGTH}}$`);

function randomBase62(length: number): string {
  return Array.from({ length }, () => BASE62[randomInt(BASE62.length)]).join('');
}

function checksum(body: string): string {
  let rest = crc32(body);
  let digits = '';
  for (let place = 0; place < CHECK_LENGTH; place++) {
    digits = BASE62[rest % BASE62.length] + digits;
    rest = Math.floor(rest / BASE62.length);
  }
  return digits;
}

/** Generates an API key: `clk_`, 32 random base62 characters, 6 base62 characters of the CRC32 of everything before them. */
export function generateApiKey(): string {
  return generateKey(PREFIX);
}

/** Generates a sandbox key: the same with the prefix `clk_test_`. */
export function generateTestKey(): string {
  return generateKey(TEST_PREFIX);
}

function generateKey(prefix: string): string {
  const body = prefix + randomBase62(RANDOM_LENGTH);
  return body + checksum(body);
}

/** Generates an id for things that people and logs refer to: the prefix, `_`, and 16 random base62 characters. */
export function generateId(prefix: string): string {
  return `${prefix}_${randomBase62(16)}`;
}

/** Whether a text can be an API key at all: recognizes typos without a lookup. */
export function looksLikeApiKey(text: string): boolean {
  return shape.test(text) && checksum(text.slice(0, -CHECK_LENGTH)) === text.slice(-CHECK_LENGTH);
}

/** What is stored of a key: its SHA-256, lower-case hex. A key has 190 random bits, so no salt is needed. */
export function hashApiKey(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}

/** Restrictions on the use of a key, as in its events; what is absent does not restrict it. */
export interface KeyLimits {
  /** The key is refused from this time, ISO 8601, UTC. */
  expires_at?: string | undefined;
  /** In CIDR notation: requests from anywhere else are refused. */
  networks?: readonly string[] | undefined;
  /** Requests per minute, counted for this key instead of for the client address. */
  rate_limit?: number | undefined;
}

export const limitNames = ['expires_at', 'networks', 'rate_limit'] as const satisfies (keyof KeyLimits)[];

/** Limits in which `null` removes one. */
export type NullableLimits = { [Name in keyof KeyLimits]?: KeyLimits[Name] | null };

const MAX_NETWORKS = 50;
const MAX_RATE_LIMIT = 1_000_000;

/** The last end that ISO 8601 can write with a year of four digits. */
const LAST_END = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** Returns the end of a key at a moment (milliseconds since 1970), ISO 8601; beyond the calendar, its last moment. */
export function endAt(moment: number): string {
  return new Date(Math.min(moment, LAST_END)).toISOString();
}

const network = z.string().transform((text, context) => {
  const found = canonicalNetwork(text);
  if (found !== undefined) return found;
  context.addIssue({ code: 'custom', message: 'must be a network such as 192.0.2.0/24 or 2001:db8::/32' });
  return z.NEVER;
});

const schema = z.object({
  expires_at: requiredDate('2027-06-30').nullable().optional(),
  networks: z
    .array(network)
    .max(MAX_NETWORKS, { error: `must have at most ${MAX_NETWORKS} networks` })
    .nullable()
    .optional(),
  rate_limit: z.int().min(1).max(MAX_RATE_LIMIT).nullable().optional(),
});

/**
 * Validates limits at a moment (milliseconds since 1970): the expiry is in the future, networks are normalized and unique; an
 * empty list becomes `null`. Throws `validation_failed` with one detail per bad field.
 */
export function parseLimits(input: NullableLimits, now: number): NullableLimits {
  const sent = validate(schema, input);
  const parsed: NullableLimits = { ...sent };
  if (sent.expires_at) {
    const end = instantOf(sent.expires_at);
    if (end <= now) throw validationError([{ field: 'expires_at', message: 'must be in the future' }]);
    parsed.expires_at = endAt(end);
  }
  if (sent.networks) parsed.networks = sent.networks.length === 0 ? null : [...new Set(sent.networks)];
  return parsed;
}

/** Returns the limits among the given fields, omitting those not set; as separate members, as in events. */
export function limitsOf(fields: NullableLimits): KeyLimits {
  const given = limitNames.flatMap((name) => {
    const value = fields[name];
    return value === undefined || value === null ? [] : [[name, value]];
  });
  return Object.fromEntries(given);
}

/** Returns a sentence for each limit, for display; none if there are no limits. */
export function limitSentences({ expires_at: end, networks, rate_limit: rate }: KeyLimits): string[] {
  return [
    ...(end === undefined ? [] : [`It expires at ${end}.`]),
    ...(networks === undefined ? [] : [`It is accepted only from ${networks.join(', ')}.`]),
    ...(rate === undefined ? [] : [`Its own limit: ${rate} requests per minute.`]),
  ];
}

export interface Workspace {
  id: string;
  /** `deleting`: its records are being erased, and it can never be activated again. */
  state: 'active' | 'deactivated' | 'deleting' | 'deleted';
  createdAt: string;
  /** Once its deletion has started. */
  deletion?: WorkspaceDeletion;
  /** Whether it is for testing: its keys are test keys, and it may be emptied. Fixed at creation. */
  sandbox?: boolean;
  /** How long its records are kept; undefined: as set by `RETENTION_YEARS`. */
  retention?: RetentionChoice;
  /** What happens to a write that changes no field, unless the request says; undefined: `append`. */
  unchanged?: UnchangedChoice;
  /** Whether users without the right for a record may open it with a reason; undefined: `refuse`. */
  breakGlass?: BreakGlassChoice;
  /** The name of the organization that it belongs to, for what is handed over. */
  organization?: string | undefined;
  /** What happens to a write of a record that was erased; undefined: `allow`. */
  returns?: ReturnChoice;
  /** Whether everybody who reads has to say why; undefined: `optional`. */
  reason?: ReasonChoice;
  /** When people work in it; undefined: at any time. */
  officeHours?: OfficeHours | undefined;
}

/** Whether everybody who reads has to say why. */
export const reasonChoices = ['required', 'optional'] as const;
export type ReasonChoice = (typeof reasonChoices)[number];

/** Whether users without the right for a record may open it with a reason. */
export const breakGlassChoices = ['allow', 'refuse'] as const;
export type BreakGlassChoice = (typeof breakGlassChoices)[number];

/** The deletion of a workspace, from its start. */
export interface WorkspaceDeletion extends WorkspaceDeletionStarted {
  /** Position of the event that started it. */
  since: Position;
  /** The event that completed it. */
  completed?: Pick<RecordedEvent, 'stream' | 'revision'>;
}

export interface ApiKey {
  id: string;
  workspace: string;
  name: string;
  permissions: Permission[];
  /** SHA-256 of the key, lower-case hex. */
  sha256: string;
  state: 'active' | 'deactivated' | 'deleted';
  createdAt: string;
  createdBy: Principal;
  /** The key is refused from this time, ISO 8601; undefined: it does not expire. */
  expiresAt?: string;
  /** Where requests may come from, in CIDR notation; undefined: anywhere. */
  networks?: readonly string[];
  /** Requests per minute, if the key has its own limit. */
  rateLimit?: number;
  /** Id of the first key of its sender: a rotation replaces the key, and the sender stays the same. */
  sender: string;
  /** Id of the key that replaced it. */
  replacedBy?: string;
  /** Recipient and purpose of what is read with it; absent if not stated. */
  terms?: DisclosureTerms;
  /** With which its holder signs the requests for access tokens; absent if there are none. */
  publicKeys?: readonly PublicKey[];
}

/** All workspaces and keys, folded from the stream of keys. */
export interface KeyState {
  workspaces: Map<string, Workspace>;
  keys: Map<string, ApiKey>;
  keyIdByHash: Map<string, string>;
  /** Revision of the last event folded; -1 before the first. */
  revision: number;
}

export function noKeys(): KeyState {
  return { workspaces: new Map(), keys: new Map(), keyIdByHash: new Map(), revision: -1 };
}

/** Data of `WorkspaceCreated`. */
export interface WorkspaceCreated {
  workspace: string;
  sandbox?: boolean;
}

/** Data of `ApiKeyCreated`. */
export interface ApiKeyCreated extends DisclosureTerms, KeyLimits {
  key_id: string;
  name: string;
  permissions: Permission[];
  sha256: string;
  public_keys?: readonly PublicKey[];
}

/** Data of `ApiKeyUpdated`: the terms that changed, for all keys of the sender; `null` withdraws one. */
interface ApiKeyUpdated extends NullableTerms {
  key_id: string;
}

/** Data of `ApiKeyLimitsSet`: the limits that changed; `null` removes one. */
export interface ApiKeyLimitsSet extends NullableLimits {
  key_id: string;
}

/** Data of `ApiKeyPublicKeysSet`: all public keys that its holder has from then on. */
export interface ApiKeyPublicKeysSet {
  key_id: string;
  public_keys: readonly PublicKey[];
}

/** Data of `WorkspaceRetentionSet`. */
export interface WorkspaceRetentionSet {
  workspace: string;
  /** Years, or `off`, or `default`. */
  retention: RetentionChoice;
}

/** Data of `WorkspaceReasonSet`. */
export interface WorkspaceReasonSet {
  workspace: string;
  reason: ReasonChoice;
}

/** Data of `WorkspaceOrganizationSet`; `null` withdraws the name. */
export interface WorkspaceOrganizationSet {
  workspace: string;
  organization: string | null;
}

/** Data of `WorkspaceUnchangedSet`. */
export interface WorkspaceUnchangedSet {
  workspace: string;
  unchanged: UnchangedChoice;
}

/** Data of `WorkspaceBreakGlassSet`. */
export interface WorkspaceBreakGlassSet {
  workspace: string;
  break_glass: BreakGlassChoice;
}

/** Data of `WorkspaceReturnsSet`. */
export interface WorkspaceReturnsSet {
  workspace: string;
  returns: ReturnChoice;
}

/** Data of `WorkspaceOfficeHoursSet`; null: people work at any time. */
export interface WorkspaceOfficeHoursSet {
  workspace: string;
  office_hours: OfficeHours | null;
}

/** Throws `conflict` when a workspace is deleted, or its deletion has started. */
export function refuseDeleted(workspace: Pick<Workspace, 'id' | 'state' | 'deletion'> | undefined): void {
  if (workspace?.deletion === undefined) return;
  const { id, state } = workspace;
  throw new ServiceError(
    'conflict',
    state === 'deleted'
      ? `Workspace ${id} was deleted. Its id is never used again.`
      : `Workspace ${id} is being deleted. Run \`chartledger workspaces delete ${id} --confirm ${id}\` to continue.`,
  );
}

/** Data of `WorkspaceDeletionStarted`. */
export interface WorkspaceDeletionStarted {
  workspace: string;
  reason: string;
  /** Messages of EMRs that it had. */
  messages: number;
}

/** Data of `WorkspaceDeleted`: what was erased since the deletion started. */
export interface WorkspaceDeleted {
  workspace: string;
  reason: string;
  /** By kind. */
  records: { [kind: string]: number };
  documents: number;
  messages: number;
}

/** Data of `ApiKeyRotated`: the replacement is created, and the key expires. */
export interface ApiKeyRotated {
  key_id: string;
  /** ISO 8601. */
  expires_at: string;
  replacement: ApiKeyCreated;
}

/** Whether a key has expired at a moment (milliseconds since 1970), whatever its state. */
export function isExpired({ expiresAt }: ApiKey, now: number): boolean {
  return expiresAt !== undefined && Date.parse(expiresAt) <= now;
}

/** Returns the state of a key at a moment (milliseconds since 1970), for display. */
export function stateOf(key: ApiKey, now: number): ApiKey['state'] | 'expired' {
  return key.state !== 'deleted' && isExpired(key, now) ? 'expired' : key.state;
}

/** Returns the ids of all keys of a key's sender, oldest first; only its own if the key is unknown. */
export function keysOfSender({ keys }: Pick<KeyState, 'keys'>, keyId: string): string[] {
  const ids: string[] = [];
  for (let id = keys.get(keyId)?.sender ?? keyId; ; ) {
    ids.push(id);
    const next = keys.get(id)?.replacedBy;
    if (next === undefined) return ids;
    id = next;
  }
}

/** Returns the limits of a key, as in events. */
export function limitsOfKey({ expiresAt, networks, rateLimit }: ApiKey): KeyLimits {
  return limitsOf({ expires_at: expiresAt, networks, rate_limit: rateLimit });
}

/** Returns when a replaced key expires: at a moment (milliseconds since 1970), or earlier if it would have expired anyway. */
export function endOfReplaced({ expiresAt }: ApiKey, at: number): string {
  return expiresAt !== undefined && Date.parse(expiresAt) < at ? expiresAt : endAt(at);
}

/** Returns when the replacement of a key expires if created now: it has the same lifetime. */
export function endOfReplacement({ createdAt, expiresAt }: ApiKey, now: number): string | undefined {
  if (expiresAt === undefined) return undefined;
  return endAt(now + Date.parse(expiresAt) - Date.parse(createdAt));
}

function withLimits(
  { expiresAt: _end, networks: _from, rateLimit: _rate, ...key }: ApiKey,
  limits: KeyLimits,
): ApiKey {
  const { expires_at: expiresAt, networks, rate_limit: rateLimit } = limits;
  return {
    ...key,
    ...(expiresAt && { expiresAt }),
    ...(networks && { networks }),
    ...(rateLimit && { rateLimit }),
  };
}

function addKey(
  known: KeyState,
  { metadata, recordedAt }: RecordedEvent,
  made: ApiKeyCreated,
  sender = made.key_id,
): void {
  const { key_id: id, name, permissions, sha256, public_keys: publicKeys } = made;
  const { workspace, principal: createdBy } = metadata;
  const terms = termsOf(made);
  const key: ApiKey = {
    id,
    workspace,
    name,
    permissions,
    sha256,
    state: 'active',
    createdAt: recordedAt,
    createdBy,
    sender,
    ...(terms && { terms }),
    ...(publicKeys && { publicKeys }),
  };
  known.keys.set(id, withLimits(key, limitsOf(made)));
  known.keyIdByHash.set(sha256, id);
}

function setWorkspaceState(known: KeyState, event: RecordedEvent, state: Workspace['state']): void {
  const workspace = known.workspaces.get(event.metadata.workspace);
  if (workspace) known.workspaces.set(workspace.id, { ...workspace, state });
}

function setKeyState(known: KeyState, event: RecordedEvent, state: ApiKey['state']): void {
  const key = known.keys.get(event.data.key_id as string);
  if (key) known.keys.set(key.id, { ...key, state });
}

function updateKey(known: KeyState, { data }: RecordedEvent): void {
  const { key_id, ...changed } = dataAs<ApiKeyUpdated>(data);
  for (const id of keysOfSender(known, key_id)) {
    const key = known.keys.get(id);
    if (key === undefined) continue;
    const { terms: before, ...rest } = key;
    const terms = termsOf({ ...before, ...changed });
    known.keys.set(id, { ...rest, ...(terms && { terms }) });
  }
}

function setLimits(known: KeyState, { data }: RecordedEvent): void {
  const { key_id, ...changed } = dataAs<ApiKeyLimitsSet>(data);
  const key = known.keys.get(key_id);
  if (key) known.keys.set(key_id, withLimits(key, limitsOf({ ...limitsOfKey(key), ...changed })));
}

function setPublicKeys(known: KeyState, { data }: RecordedEvent): void {
  const { key_id, public_keys } = dataAs<ApiKeyPublicKeysSet>(data);
  const key = known.keys.get(key_id);
  if (key === undefined) return;
  const { publicKeys: _before, ...rest } = key;
  known.keys.set(key_id, { ...rest, ...(public_keys.length > 0 && { publicKeys: public_keys }) });
}

const folds: Record<string, (known: KeyState, event: RecordedEvent) => void> = {
  WorkspaceCreated(known, { data, metadata: { workspace: id }, recordedAt: createdAt }) {
    const { sandbox } = dataAs<WorkspaceCreated>(data);
    known.workspaces.set(id, { id, state: 'active', createdAt, ...(sandbox && { sandbox }) });
  },
  WorkspaceDeactivated: (known, event) => setWorkspaceState(known, event, 'deactivated'),
  WorkspaceActivated: (known, event) => setWorkspaceState(known, event, 'active'),
  WorkspaceRetentionSet(known, { data, metadata }) {
    const { retention } = dataAs<WorkspaceRetentionSet>(data);
    const workspace = known.workspaces.get(metadata.workspace);
    if (workspace) known.workspaces.set(workspace.id, { ...workspace, retention });
  },
  WorkspaceUnchangedSet(known, { data, metadata }) {
    const { unchanged } = dataAs<WorkspaceUnchangedSet>(data);
    const workspace = known.workspaces.get(metadata.workspace);
    if (workspace) known.workspaces.set(workspace.id, { ...workspace, unchanged });
  },
  WorkspaceBreakGlassSet(known, { data, metadata }) {
    const { break_glass: breakGlass } = dataAs<WorkspaceBreakGlassSet>(data);
    const workspace = known.workspaces.get(metadata.workspace);
    if (workspace) known.workspaces.set(workspace.id, { ...workspace, breakGlass });
  },
  WorkspaceReasonSet(known, { data, metadata }) {
    const { reason } = dataAs<WorkspaceReasonSet>(data);
    const workspace = known.workspaces.get(metadata.workspace);
    if (workspace) known.workspaces.set(workspace.id, { ...workspace, reason });
  },
  WorkspaceOrganizationSet(known, { data, metadata }) {
    const { organization } = dataAs<WorkspaceOrganizationSet>(data);
    const workspace = known.workspaces.get(metadata.workspace);
    if (workspace)
      known.workspaces.set(workspace.id, { ...workspace, organization: organization ?? undefined });
  },
  WorkspaceReturnsSet(known, { data, metadata }) {
    const { returns } = dataAs<WorkspaceReturnsSet>(data);
    const workspace = known.workspaces.get(metadata.workspace);
    if (workspace) known.workspaces.set(workspace.id, { ...workspace, returns });
  },
  WorkspaceOfficeHoursSet(known, { data, metadata }) {
    const { office_hours: hours } = dataAs<WorkspaceOfficeHoursSet>(data);
    const workspace = known.workspaces.get(metadata.workspace);
    if (workspace) known.workspaces.set(workspace.id, { ...workspace, officeHours: hours ?? undefined });
  },
  WorkspaceDeletionStarted(known, { data, metadata, position: since }) {
    const { reason, messages } = dataAs<WorkspaceDeletionStarted>(data);
    const workspace = known.workspaces.get(metadata.workspace);
    if (workspace === undefined) return;
    const deletion = { workspace: workspace.id, reason, messages, since };
    known.workspaces.set(workspace.id, { ...workspace, state: 'deleting', deletion });
  },
  WorkspaceDeleted(known, { metadata, stream, revision }) {
    const workspace = known.workspaces.get(metadata.workspace);
    if (workspace?.deletion === undefined) return;
    const deletion = { ...workspace.deletion, completed: { stream, revision } };
    known.workspaces.set(workspace.id, { ...workspace, state: 'deleted', deletion });
    for (const key of known.keys.values()) {
      if (key.workspace === workspace.id) known.keys.set(key.id, { ...key, state: 'deleted' });
    }
  },
  ApiKeyCreated: (known, event) => addKey(known, event, dataAs<ApiKeyCreated>(event.data)),
  ApiKeyUpdated: updateKey,
  ApiKeyLimitsSet: setLimits,
  ApiKeyPublicKeysSet: setPublicKeys,
  ApiKeyRotated(known, event) {
    const { key_id, expires_at: expiresAt, replacement } = dataAs<ApiKeyRotated>(event.data);
    const key = known.keys.get(key_id);
    addKey(known, event, replacement, key?.sender);
    if (key) known.keys.set(key_id, { ...key, expiresAt, replacedBy: replacement.key_id });
  },
  ApiKeyDeactivated: (known, event) => setKeyState(known, event, 'deactivated'),
  ApiKeyActivated: (known, event) => setKeyState(known, event, 'active'),
  ApiKeyDeleted: (known, event) => setKeyState(known, event, 'deleted'),
};

/**
 * Folds the next event of the stream of keys into `known`, in place. Throws, and changes nothing, when the event has an unknown
 * schema version: this process can then no longer tell who may do what.
 */
export function evolveKeys(known: KeyState, event: RecordedEvent): void {
  const fold = folds[event.type];
  if (fold) fold(known, upcast(event));
  known.revision = event.revision;
}

/** The setting of a workspace: a number of years, to keep everything, or the value of `RETENTION_YEARS`. */
export type RetentionChoice = number | 'off' | 'default';

/** How long records are kept. */
export interface RetentionPolicy {
  years: number;
  /** A record has expired when it was not changed, and has no encounter dated, at or after this: ISO 8601, UTC. */
  before: string;
}

/** Throws `validation_failed` for too few or too many years. */
export function requireRetention(choice: RetentionChoice): void {
  if (typeof choice === 'string') return;
  if (Number.isInteger(choice) && choice >= MIN_RETENTION_YEARS && choice <= MAX_RETENTION_YEARS) return;
  throw new ServiceError(
    'validation_failed',
    `Retention must be ${MIN_RETENTION_YEARS} to ${MAX_RETENTION_YEARS} years. HIPAA requires documentation to be kept for six years (45 CFR ` +
      '164.316); states require more for medical records.',
  );
}

/** Returns the policy that applies to a workspace at a moment (milliseconds since 1970); undefined: everything is kept. */
export function retentionPolicy(
  choice: RetentionChoice,
  setting: number | undefined,
  now: number,
): RetentionPolicy | undefined {
  const years = choice === 'default' ? setting : choice;
  if (years === undefined || years === 'off') return undefined;
  const before = new Date(now);
  before.setUTCFullYear(before.getUTCFullYear() - years);
  return { years, before: before.toISOString() };
}

/** Returns the policy that applies to a workspace, in words: `7 years`, `off`, `7 years by default`. */
export function retentionText(choice: RetentionChoice, setting: number | undefined): string {
  if (choice === 'default') return `${retentionText(setting ?? 'off', setting)} by default`;
  return choice === 'off' ? choice : `${choice} years`;
}
