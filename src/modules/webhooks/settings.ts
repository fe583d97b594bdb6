import { isIP } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import type { Position } from '../../domain/events/event.ts';
import type { Caller } from '../../domain/events/newEvent.ts';
import { everyTerm } from '../../domain/events/payloads.ts';
import { requiredDate, text } from '../../domain/records/schema/fields.ts';
import { instantOf, storedDate } from '../../domain/records/schema/isoDates.ts';
import { exactObject, validate, validationError } from '../../domain/records/schema/validation.ts';
import { ServiceError, unavailable } from '../../platform/errors.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import type { ReadModels } from '../../storage/readModels.ts';
import { disclosureTermsShape } from '../audit/disclosureTerms.ts';
import type { KeyState } from '../auth/apiKeys.ts';
import type { Permission } from '../auth/permissions.ts';
import { feedEventTypes, unchangedEvents } from '../eventStream/cloudEvents.ts';
import { parsePosition, requirePosition, startAt } from '../eventStream/position.ts';
import { type Webhook, type WebhookPayload, type WebhookSettings, webhookPayloads } from './webhook.ts';

/** Where messages may be sent. */
export interface EgressPolicy {
  /**
   * Whether an IP address may be connected to: over `https:` any public one, and over both protocols those of the
   * networks that were opened. False for anything that is not an IP address.
   */
  allows(address: string, protocol: string): boolean;
  /** Whether any network was opened, and with it `http:`. */
  readonly opensNetworks: boolean;
}

type Address = ReturnType<typeof ipaddr.parse>;
type Network = ReturnType<typeof ipaddr.parseCIDR>;

/**
 * Everything allocated for public use (RFC 4291, section 2.4); what lies outside embeds or stands for other
 * addresses.
 */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3');

/** A cloud's services for its own machines at addresses that look public: Azure's WireServer. */
const metadataServers = new Set(['168.63.129.16']);

function inNetwork(address: Address, [network, bits]: Network): boolean {
  return address.kind() === network.kind() && address.match(network, bits);
}

function isPublic(address: Address): boolean {
  if (metadataServers.has(address.toString()) || address.range() !== 'unicast') return false;
  return address.kind() === 'ipv4' || inNetwork(address, globalUnicast);
}

/** Returns the rules with some networks opened, each in CIDR notation. Throws when one is invalid. */
export function createEgressPolicy(openNetworks: readonly string[]): EgressPolicy {
  const networks = openNetworks.map((network) => ipaddr.parseCIDR(network));
  return {
    opensNetworks: networks.length > 0,
    allows(text, protocol) {
      if (isIP(text) === 0) return false;
      // An IPv4 address mapped into IPv6 is treated as the IPv4 address.
      const address = ipaddr.process(text);
      if (networks.some((network) => inNetwork(address, network))) return true;
      return protocol === 'https:' && isPublic(address);
    },
  };
}

export const MAX_URL_LENGTH = 2_048;

const LOCAL_NAME = /(?:^|\.)localhost\.?$/;

/** Returns the host of a parsed URL as resolvers and sockets take it: an IPv6 address without its brackets. */
function hostOf({ hostname }: URL): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
}

/** Whether a name refers to the machine itself, whatever a name server says (RFC 6761, section 6.3). */
export function isLocalName(hostname: string): boolean {
  return LOCAL_NAME.test(hostname);
}

/**
 * Returns what is wrong with the URL of a webhook, addressed to its owner; undefined when nothing is known to be.
 * Names are not looked up here: their addresses are checked for every connection that is made.
 */
export function checkUrl(text: string, addresses: EgressPolicy): string | undefined {
  if (text.length > MAX_URL_LENGTH) return `must have at most ${MAX_URL_LENGTH} characters`;
  // The parser would silently drop some of these.
  if (/[\s\p{Cc}]/u.test(text)) return 'must not contain spaces or control characters';
  const url = URL.parse(text);
  if (url === null) return 'must be a complete URL, for example https://example.com/webhooks';
  const { protocol } = url;
  if (protocol !== 'https:' && !(protocol === 'http:' && addresses.opensNetworks)) {
    return 'must begin with https://';
  }
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or password';
  if (url.hash !== '') return 'must not contain a fragment (#)';
  return checkHost(url, addresses);
}

function checkHost(url: URL, addresses: EgressPolicy): string | undefined {
  const host = isLocalName(url.hostname) ? '127.0.0.1' : hostOf(url);
  if (isIP(host) === 0 || addresses.allows(host, url.protocol)) return undefined;
  return addresses.allows(host, 'https:')
    ? 'must begin with https://'
    : 'must not name a private, local or reserved address';
}

/** Whether a webhook's messages may be sent: it is enabled, and its workspace is active. */
export function isDeliveryAllowed({ state, workspace }: Webhook, known: Readonly<KeyState>): boolean {
  return state === 'enabled' && known.workspaces.get(workspace)?.state === 'active';
}

/** Who works with a webhook, with the permissions that decide which ones. */
export interface WebhookCaller extends Caller {
  permissions: readonly Permission[];
}

/**
 * One of these is needed for anything done with a webhook that sends events in that form: a caller who may not read
 * them may not have them sent anywhere, sign for what is sent, or see what became of it.
 */
const permissionsFor: Record<WebhookPayload, readonly Permission[]> = {
  reference: [],
  full: ['events'],
  limited: ['events', 'events:limited'],
  deidentified: ['events', 'events:deidentified'],
};

/** Whether a caller may work with webhooks of that payload. */
export function mayUsePayload({ permissions }: WebhookCaller, payload: WebhookPayload): boolean {
  const needed = permissionsFor[payload];
  return needed.length === 0 || needed.some((permission) => permissions.includes(permission));
}

/** Throws `permission_denied` when a caller may not work with webhooks of that payload. */
export function requirePayload(caller: WebhookCaller, payload: WebhookPayload): void {
  if (mayUsePayload(caller, payload)) return;
  const named = permissionsFor[payload].map((permission) => `'${permission}'`).join(' or ');
  const isUser = caller.principal.type === 'user';
  throw new ServiceError(
    'permission_denied',
    isUser
      ? `Only an administrator can work with webhooks of the payload '${payload}'.`
      : `The API key lacks the permission ${named}, which the payload '${payload}' needs.`,
  );
}

/** Longest search for the first event of a moment; an hour of the log is read in a fraction of it. */
const TIMEOUT_MS = 20_000;

export interface StartPorts {
  eventLog: EventLog;
  readModels: ReadModels;
}

/**
 * Resolves with the position after which to begin. Rejects with `validation_failed`, naming `field`, when that is not
 * a position of the log or lies in the future, and with `unavailable`.
 */
export async function startPosition(
  ports: StartPorts,
  workspace: string,
  start: Start,
  field: string,
): Promise<Position> {
  if ('from' in start) {
    if (start.from > Date.now()) throw validationError([{ field, message: 'must not be in the future' }]);
    return positionBefore(ports, workspace, start.from);
  }
  if (start.after === 'head') return ports.eventLog.head();
  await requirePosition(ports.eventLog, start.after, field);
  return start.after;
}

/**
 * Resolves with the place just before a workspace's first event recorded at `time` or later; with the log's end when
 * there is none.
 */
async function positionBefore(
  { eventLog, readModels }: StartPorts,
  workspace: string,
  time: number,
): Promise<Position> {
  let before = await startAt(readModels, time);
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const filter = { streamPrefixes: [`${workspace}.`] };
  for await (const { events, position, caughtUp } of eventLog.follow({ after: before, filter, signal })) {
    for (const event of events) {
      if (Date.parse(event.recordedAt) >= time) return before;
      before = event.position;
    }
    before = position;
    if (caughtUp) return before;
  }
  throw unavailable('event log');
}

/** Maximum number of webhooks in a workspace. */
export const MAX_WEBHOOKS = 100;

/** Returns the refusal to create one more webhook. */
export function tooManyWebhooks(): ServiceError {
  return new ServiceError('conflict', `A workspace can have at most ${MAX_WEBHOOKS} webhooks.`);
}

/** Returns the refusal to send anything to a disabled webhook. */
export function webhookDisabled(): ServiceError {
  return new ServiceError('conflict', 'The webhook is disabled; enable it first.');
}

/** Longest time for which a secret signs alongside its successor. */
export const MAX_OVERLAP_SECONDS = 604_800;
const DEFAULT_OVERLAP_SECONDS = 86_400;

const feedKinds = [...new Set(feedEventTypes.map(({ kind }) => kind))];
const feedTypes = feedEventTypes.map(({ type }) => type);

/** Where to begin: after a position, after the log's last event, or with the first event at or after a time (ms). */
type Start = { after: Position | 'head' } | { from: number };

function someOf<Value extends string>(values: [Value, ...Value[]], description: string) {
  return z
    .array(z.enum(values))
    .min(1, { error: 'must name one at least' })
    .nullable()
    .optional()
    .meta({ description, examples: [[values[1] ?? values[0]]] });
}

const url = z
  .string()
  .min(1)
  .meta({
    description: 'The URL to send messages to: `https`, with a public address',
    format: 'uri',
    maxLength: MAX_URL_LENGTH,
    examples: ['https://billing.example.com/webhooks/chartledger'],
  });

const settings = {
  description: text('Billing, production', 'A description for people'),
  kinds: someOf(feedKinds as [string, ...string[]], 'Only events of these kinds; all if absent or `null`'),
  types: someOf(
    feedTypes as [string, ...string[]],
    'Only events of these types, as in the event catalog; all if absent or `null`',
  ),
  ...disclosureTermsShape,
};

const payload = z.enum(webhookPayloads).meta({
  description:
    '`reference`: the ids, the version and the names of the changed fields, but no values; `full`: an ' +
    'event as in `GET /events`, which also requires the permission `events`; `limited`: its form in a limited ' +
    'data set, which also requires `events` or `events:limited`; `deidentified`: its de-identified form, which also ' +
    'requires `events` or `events:deidentified`',
});

const unchanged = z.enum(unchangedEvents).meta({
  description:
    '`skip`: sends no message for events that changed no field of their record; first versions and ' +
    'erasures are always sent',
});

const start = z
  .string()
  .refine(
    (value) =>
      value === 'now' ||
      value === 'beginning' ||
      parsePosition(value) !== undefined ||
      storedDate(value) !== undefined,
    {
      error:
        'must be now, beginning, a position (the sequence of an event), or an ISO 8601 date or date-time',
    },
  )
  .default('now')
  .meta({
    description:
      'The first event to send: `now`, the next one; `beginning`, the very first one; a position (the ' +
      '`sequence` of an event), the one after it; an ISO 8601 date-time, the first one recorded at or ' +
      'after that time',
    examples: ['now'],
  });

/** Body of `POST /integration/webhooks`. */
export const createWebhookSchema = exactObject({
  url,
  ...settings,
  payload: payload.default('reference'),
  unchanged: unchanged.default('send'),
  start,
});

/** Body of `PATCH /integration/webhooks/{id}`. */
export const updateWebhookSchema = exactObject({
  url: url.optional(),
  ...settings,
  payload: payload.optional(),
  unchanged: unchanged.optional(),
  state: z.enum(['enabled', 'disabled']).optional().meta({
    description: '`disabled`: nothing is sent; `enabled`: sending resumes where it stopped',
  }),
});

/** Body of `POST /integration/webhooks/{id}/secret/rotate`. */
export const rotateSecretSchema = exactObject({
  overlap_seconds: z
    .int()
    .min(0)
    .max(MAX_OVERLAP_SECONDS)
    .default(DEFAULT_OVERLAP_SECONDS)
    .meta({
      description:
        'How many seconds messages are also signed with the previous secret. 0 invalidates it, and any ' +
        'earlier ones, immediately',
      examples: [DEFAULT_OVERLAP_SECONDS],
    }),
});

/** Body of `POST /integration/webhooks/{id}/replay`. */
export const replaySchema = exactObject({
  after: z
    .string()
    .refine((value) => parsePosition(value) !== undefined, {
      error: 'must be a position: the sequence of an event',
    })
    .optional()
    .meta({ description: 'All events after this position (the `sequence` of an event; `0`: all events)' }),
  from: requiredDate('2026-03-14T12:00:00Z', 'All events recorded at or after this time').optional(),
  message_id: z
    .string()
    .regex(/^msg_[\w-]{1,60}$/, { error: 'must be the webhook-id of a message' })
    .optional()
    .meta({ description: 'A single message, by its `webhook-id`' }),
  failed: z
    .literal(true)
    .optional()
    .meta({ type: 'boolean', description: '`true`: all messages that were given up after the last attempt' }),
});

/** What to send again. */
export type Replay = { start: Start; field: string } | { messageId: string } | { failed: true };

/** Returns the start that a text names; it must have passed the schema. */
export function parseStart(value: string): Start {
  if (value === 'now') return { after: 'head' };
  if (value === 'beginning') return { after: 0 };
  const after = parsePosition(value);
  return after === undefined ? { from: instantOf(value) } : { after };
}

/** Returns the replay that a body asks for. Throws `validation_failed`. */
export function parseReplay(input: unknown): Replay {
  const { after, from, message_id, failed } = validate(replaySchema, input);
  if ([after, from, message_id, failed].filter((value) => value !== undefined).length !== 1) {
    throw validationError([
      { field: '', message: 'The body must have exactly one of after, from, message_id and failed' },
    ]);
  }
  if (message_id !== undefined) return { messageId: message_id };
  if (failed) return { failed };
  const field = after === undefined ? 'from' : 'after';
  return { start: parseStart((after ?? from) as string), field };
}

type Optional<Fields> = { [Name in keyof Fields]?: Fields[Name] | null | undefined };

/** Returns the settings in the events' form, from a webhook or a validated body; lists name each thing once. */
export function settingsOf({
  url,
  payload,
  description,
  kinds,
  types,
  unchanged,
  ...others
}: Pick<WebhookSettings, 'url' | 'payload'> & Optional<WebhookSettings>): WebhookSettings {
  return {
    url,
    description: description ?? null,
    kinds: kinds ? feedKinds.filter((kind) => kinds.includes(kind)) : null,
    types: types ? feedTypes.filter((type) => types.includes(type)) : null,
    payload,
    unchanged: unchanged ?? 'send',
    ...everyTerm(others),
  };
}

/** Returns the settings that differ; undefined when none does. */
export function changedSettings(
  before: WebhookSettings,
  after: WebhookSettings,
): Partial<WebhookSettings> | undefined {
  const was = new Map(Object.entries(before));
  const changed = Object.entries(after).filter(([name, value]) => !isDeepStrictEqual(value, was.get(name)));
  return changed.length === 0 ? undefined : Object.fromEntries(changed);
}

/** Throws `validation_failed` when no event can pass both filters. */
export function checkFilters({ kinds, types }: Pick<WebhookSettings, 'kinds' | 'types'>): void {
  if (kinds === null || types === null) return;
  const wanted = feedEventTypes.filter(({ kind, type }) => kinds.includes(kind) && types.includes(type));
  if (wanted.length > 0) return;
  throw validationError([{ field: 'types', message: 'must include a type of one of the kinds' }]);
}
