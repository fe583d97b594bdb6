import { LRUCache } from 'lru-cache';
import { v7 as uuidv7 } from 'uuid';
import {
  dataAs,
  type NewEvent,
  type Position,
  type Principal,
  type RecordedEvent,
} from '../../domain/events/event.ts';
import type { Caller } from '../../domain/events/newEvent.ts';
import { type DisclosureTerms, type NullableTerms, termsOf } from '../../domain/events/payloads.ts';
import { WEBHOOKS_STREAM } from '../../domain/events/streams.ts';
import { upcast } from '../../domain/events/upcasting.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { FollowedStream } from '../auth/keyDirectory.ts';
import { feedEventTypes, type UnchangedEvents } from '../eventStream/cloudEvents.ts';

/** How much of an event a webhook's messages hold. */
export const webhookPayloads = ['reference', 'full', 'limited', 'deidentified'] as const;
export type WebhookPayload = (typeof webhookPayloads)[number];

/**
 * Why a webhook is disabled: a caller asked for it, the key that it was created with was deleted, its endpoint
 * responded with 410, or accepted nothing for days.
 */
export const disabledReasons = ['caller', 'key_deleted', 'gone', 'failing'] as const;
export type DisabledReason = (typeof disabledReasons)[number];

/** A secret that signs messages, sealed (`secrets.ts`). */
interface WebhookSecret {
  sealed: string;
  /**
   * Until when it signs alongside newer ones, ISO 8601; undefined for the newest, which signs until it is rotated.
   */
  expiresAt?: string;
}

/** What to do: send a ping, try now what is waiting, or replay one of `after`, `messageId` and `failed`. */
export interface WebhookRequest {
  /** Of the request's event in the stream of webhooks; later requests have higher ones. */
  revision: number;
  /** Id of that event. */
  eventId: string;
  /** When it was requested, ISO 8601. */
  at: string;
  kind: 'ping' | 'replay' | 'retry';
  /** All events after this position once more. */
  after?: Position;
  /** This one message once more (`msg_…`). */
  messageId?: string;
  /** All messages that were given up. */
  failed?: true;
}

/**
 * An endpoint to which a workspace's events are sent, as folded from the stream of webhooks, with the terms under
 * which they are sent.
 */
export interface Webhook extends DisclosureTerms {
  /** `wh_` and 16 base62 characters. */
  id: string;
  workspace: string;
  url: string;
  description: string | undefined;
  /** Only events of these kinds; undefined: all kinds. */
  kinds: string[] | undefined;
  /** Only events of these types (`chartledger.patient.upserted.v1`); undefined: all types. */
  types: string[] | undefined;
  payload: WebhookPayload;
  /** `skip`: nothing is sent for events that changed no field of their record; undefined: `send`. */
  unchanged?: UnchangedEvents;
  /** The first event to send is the first one after this position. */
  startAfter: Position;
  /** Newest first; may include expired ones. */
  secrets: WebhookSecret[];
  /** A deleted webhook stays deleted. */
  state: 'enabled' | 'disabled' | 'deleted';
  disabledReason: DisabledReason | undefined;
  createdAt: string;
  createdBy: Principal;
  updatedAt: string;
  /** When it was created or, if it was disabled since, enabled again. */
  enabledAt: string;
  /** How often it was changed: 1, 2, 3 … Requests do not count. */
  version: number;
  /** The last 100 requests, oldest first. */
  requests: WebhookRequest[];
  /** Place among all webhooks: the revision of its creation. */
  order: number;
}

/** All webhooks of all workspaces, by id in the order of their creation. */
interface Webhooks {
  webhooks: Map<string, Webhook>;
  /** Revision of the last event folded; -1 before the first. */
  revision: number;
}

export function emptyWebhooks(): Webhooks {
  return { webhooks: new Map(), revision: -1 };
}

/** Settings that a caller can change, in the events' form: `null` for none or all. */
export interface WebhookSettings extends NullableTerms {
  url: string;
  description: string | null;
  kinds: string[] | null;
  types: string[] | null;
  payload: WebhookPayload;
  unchanged: UnchangedEvents;
}

/** Data of `WebhookCreated`. */
export interface WebhookCreated extends WebhookSettings {
  webhook_id: string;
  start_after: Position;
  sealed_secret: string;
}

/** Data of `WebhookSecretRotated`. */
export interface WebhookSecretRotated {
  webhook_id: string;
  sealed_secret: string;
  /** ISO 8601. */
  previous_expires_at: string;
}

/** Data of `WebhookSecretsSealed`: its secrets, newest first, sealed anew. The secrets themselves are the same. */
export interface WebhookSecretsSealed {
  webhook_id: string;
  sealed_secrets: string[];
}

/** Data of `WebhookReplayRequested`: one of the three. */
export interface WebhookReplayRequested {
  webhook_id: string;
  after?: Position;
  message_id?: string;
  failed?: true;
}

const MAX_REQUESTS = 100;

function created({ data, metadata, recordedAt, revision }: RecordedEvent): Webhook {
  const { webhook_id, sealed_secret, start_after, ...settings } = dataAs<WebhookCreated>(data);
  return {
    id: webhook_id,
    workspace: metadata.workspace,
    url: settings.url,
    description: settings.description ?? undefined,
    kinds: settings.kinds ?? undefined,
    types: settings.types ?? undefined,
    payload: settings.payload,
    ...(settings.unchanged && { unchanged: settings.unchanged }),
    ...termsOf(settings),
    startAfter: start_after,
    secrets: [{ sealed: sealed_secret }],
    state: 'enabled',
    disabledReason: undefined,
    createdAt: recordedAt,
    createdBy: metadata.principal,
    updatedAt: recordedAt,
    enabledAt: recordedAt,
    version: 1,
    requests: [],
    order: revision,
  };
}

/** What each type of event changes in a webhook. */
const changes: Record<string, (webhook: Webhook, event: RecordedEvent) => Partial<Webhook>> = {
  WebhookUpdated(_webhook, { data }) {
    const { webhook_id, ...settings } = dataAs<{ webhook_id: string } & Partial<WebhookSettings>>(data);
    return Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, value ?? undefined]));
  },
  WebhookDeleted: () => ({ state: 'deleted' }),
  WebhookDisabled: (_webhook, { data }) => ({
    state: 'disabled',
    disabledReason: data.reason as DisabledReason,
  }),
  WebhookEnabled: (_webhook, { recordedAt }) => ({
    state: 'enabled',
    disabledReason: undefined,
    enabledAt: recordedAt,
  }),
  WebhookSecretRotated({ secrets }, { data, recordedAt }) {
    const { sealed_secret, previous_expires_at } = dataAs<WebhookSecretRotated>(data);
    const [newest, ...older] = secrets as [WebhookSecret, ...WebhookSecret[]];
    // A rotation that ends the previous secret early because it leaked also ends those before it.
    const previous = [newest, ...older].map((secret) => {
      const endsSooner = secret.expiresAt !== undefined && secret.expiresAt < previous_expires_at;
      return endsSooner ? secret : { ...secret, expiresAt: previous_expires_at };
    });
    return { secrets: [{ sealed: sealed_secret }, ...validSecrets(previous, Date.parse(recordedAt))] };
  },
};

/** What each type of event requests. */
const requestKinds: Record<string, WebhookRequest['kind']> = {
  WebhookPinged: 'ping',
  WebhookRetryRequested: 'retry',
  WebhookReplayRequested: 'replay',
};

function request({ type, id, revision, data, recordedAt }: RecordedEvent): WebhookRequest {
  const { after, message_id, failed } = dataAs<WebhookReplayRequested>(data);
  return {
    revision,
    eventId: id,
    at: recordedAt,
    kind: requestKinds[type] ?? 'replay',
    ...(after !== undefined && { after }),
    ...(message_id !== undefined && { messageId: message_id }),
    ...(failed && { failed }),
  };
}

function evolveWebhook(webhook: Webhook, event: RecordedEvent): Webhook {
  if (event.type in requestKinds) {
    return { ...webhook, requests: [...webhook.requests, request(event)].slice(-MAX_REQUESTS) };
  }
  if (event.type === 'WebhookSecretsSealed') {
    const { sealed_secrets } = dataAs<WebhookSecretsSealed>(event.data);
    const secrets = webhook.secrets.map((secret, n) => ({
      ...secret,
      sealed: sealed_secrets[n] ?? secret.sealed,
    }));
    return { ...webhook, secrets };
  }
  const change = changes[event.type]?.(webhook, event);
  if (change === undefined) return webhook;
  return { ...webhook, ...change, updatedAt: event.recordedAt, version: webhook.version + 1 };
}

/**
 * Folds the next event of the stream of webhooks into `all`, in place; each webhook that changes becomes a new
 * object. Throws, and changes nothing, when the event's schema version or type is not known.
 */
export function evolveWebhooks(all: Webhooks, recorded: RecordedEvent): void {
  const event = upcast(recorded);
  const id = event.data.webhook_id as string;
  const webhook = all.webhooks.get(id);
  if (event.type === 'WebhookCreated') all.webhooks.set(id, created(event));
  else if (webhook) all.webhooks.set(id, evolveWebhook(webhook, event));
  all.revision = event.revision;
}

/** Returns the secrets that sign at a moment (milliseconds since 1970), newest first. */
export function validSecrets(secrets: readonly WebhookSecret[], now: number): WebhookSecret[] {
  return secrets.filter(({ expiresAt }) => expiresAt === undefined || Date.parse(expiresAt) > now);
}

/**
 * All webhooks of all workspaces, in memory, following their stream: a change made anywhere is seen here within a
 * quarter of a second. While the event log cannot be reached, the last known state stands.
 */
export class WebhookDirectory {
  readonly #stream: FollowedStream<Webhooks>;

  private constructor(stream: FollowedStream<Webhooks>) {
    this.#stream = stream;
  }

  /** Reads the stream of webhooks and begins to follow it. Rejects when the event log cannot be reached. */
  static async open(eventLog: EventLog): Promise<WebhookDirectory> {
    return new WebhookDirectory(
      await FollowedStream.open(eventLog, WEBHOOKS_STREAM, emptyWebhooks(), evolveWebhooks),
    );
  }

  /** Returns every webhook ever created, including deleted ones, in the order of their creation. */
  all(): Webhook[] {
    return [...this.#stream.state.webhooks.values()];
  }

  /** Returns the ids of a workspace's webhooks, including deleted ones. */
  idsOf(workspace: string): string[] {
    return this.all().flatMap((webhook) => (webhook.workspace === workspace ? [webhook.id] : []));
  }

  /** Returns the webhook with an id, as of now; a deleted one too. */
  find(id: string): Webhook | undefined {
    return this.#stream.state.webhooks.get(id);
  }

  /** Calls back after a change; returns a function that ends this. */
  onChange(listener: () => void): () => void {
    return this.#stream.onChange(listener);
  }

  /** Reads what the stream holds beyond what is known. */
  refresh(): Promise<void> {
    return this.#stream.refresh();
  }

  /** Changes webhooks by the event that `decide` returns given all of them (`FollowedStream`). */
  change(decide: (all: Webhooks) => NewEvent | undefined): Promise<void> {
    return this.#stream.change(decide);
  }

  close(): void {
    this.#stream.close();
  }
}

/** Returns the caller for what the part of the service that sends messages does on its own behalf. */
export function serviceCaller({ workspace }: Pick<Webhook, 'workspace'>): Caller {
  return { workspace, principal: { type: 'service', id: 'webhooks' }, requestId: uuidv7() };
}

const typesOfFilters = new LRUCache<string, ReadonlySet<string>>({ max: 1_000 });

/** Returns the types of events, as the log has them, that a webhook wants; one set for all that want the same. */
export function filterTypes({ kinds, types }: Pick<Webhook, 'kinds' | 'types'>): ReadonlySet<string> {
  const key = JSON.stringify([kinds, types]);
  const known = typesOfFilters.get(key);
  if (known) return known;
  const wanted = feedEventTypes.filter(
    ({ kind, type }) => (kinds?.includes(kind) ?? true) && (types?.includes(type) ?? true),
  );
  const found = new Set(wanted.map(({ eventType }) => eventType));
  typesOfFilters.set(key, found);
  return found;
}
