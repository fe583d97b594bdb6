import { dataAs, type NewEvent, type Principal, type RecordedEvent } from '../../domain/events/event.ts';
import { type Actor, eventIdOf, newActorEvent, newEvent } from '../../domain/events/newEvent.ts';
import { everyTerm } from '../../domain/events/payloads.ts';
import { WEBHOOKS_STREAM } from '../../domain/events/streams.ts';
import { validate, validationError } from '../../domain/records/schema/validation.ts';
import { notFound, ServiceError } from '../../platform/errors.ts';
import type { StateStore } from '../../storage/stateStore.ts';
import { generateId, type KeyState, keysOfSender, refuseDeleted } from '../auth/apiKeys.ts';
import type { KeyDirectory } from '../auth/keyDirectory.ts';
import type { KeyManager } from '../auth/keyManager.ts';
import { formatPosition } from '../eventStream/position.ts';
import { deterministicEventId, findPreviousAppend } from '../idempotency/keys.ts';
import type { Page, PageRequest } from '../records/queries/paging.ts';
import type { PrincipalNames } from '../records/queries/principalNames.ts';
import { type AttemptFilter, type DeliveryAttempt, findMessage } from './attempts.ts';
import { messageId } from './messages.ts';
import { encryptSecret, generateSecret, type SecretOwner, type SecretsKeys, unsealWith } from './secrets.ts';
import {
  changedSettings,
  checkFilters,
  checkUrl,
  createWebhookSchema,
  type EgressPolicy,
  MAX_WEBHOOKS,
  mayUsePayload,
  parseReplay,
  parseStart,
  type Replay,
  requirePayload,
  rotateSecretSchema,
  type StartPorts,
  settingsOf,
  startPosition,
  tooManyWebhooks,
  updateWebhookSchema,
  type WebhookCaller,
  webhookDisabled,
} from './settings.ts';
import { type DeliveryStatus, deliveryStatus, readAttempts } from './status.ts';
import { loadPositions } from './store.ts';
import {
  type DisabledReason,
  serviceCaller,
  validSecrets,
  type Webhook,
  type WebhookCreated,
  type WebhookDirectory,
  type WebhookReplayRequested,
  type WebhookSecretRotated,
  type WebhookSettings,
} from './webhook.ts';

/**
 * Resolves with what a replay's event says besides its webhook. Rejects with `not_found` when no such message was
 * sent, and as `startPosition` does.
 */
async function replayRequest(
  ports: StartPorts & { stateStore: StateStore },
  workspace: string,
  id: string,
  replay: Replay,
): Promise<Omit<WebhookReplayRequested, 'webhook_id'>> {
  if ('failed' in replay) return { failed: true };
  if ('start' in replay) return { after: await startPosition(ports, workspace, replay.start, replay.field) };
  const { messageId } = replay;
  if (await findMessage(ports.stateStore, id, messageId)) return { message_id: messageId };
  throw new ServiceError('not_found', 'No such message was sent to the webhook in the last 30 days.');
}

/** Returns a webhook as people see it: without its secrets; `nameOf` knows the names of those who created it. */
function toWebhookView(webhook: Webhook, nameOf: (principal: Principal) => string | undefined) {
  const { id, url, description, kinds, types, payload, startAfter, state, disabledReason, secrets } = webhook;
  const [, previous] = validSecrets(secrets, Date.now());
  return {
    id,
    url,
    description: description ?? null,
    kinds: kinds ?? null,
    types: types ?? null,
    payload,
    unchanged: webhook.unchanged ?? ('send' as const),
    ...everyTerm(webhook),
    start_after: formatPosition(startAfter),
    // A webhook that is deleted while the change before it is answered no longer sends anything.
    state: state === 'enabled' ? state : ('disabled' as const),
    disabled_reason: disabledReason ?? null,
    previous_secret_expires_at: previous?.expiresAt ?? null,
    created_at: webhook.createdAt,
    created_by: { ...webhook.createdBy, name: nameOf(webhook.createdBy) ?? null },
    updated_at: webhook.updatedAt,
  };
}

/** Returns a webhook as people see it, with its delivery status. */
function toWebhookStatusView(view: WebhookView, delivery: DeliveryStatus) {
  const { position, pending, isExact, oldestPendingAt, blocked, failed } = delivery;
  const { lastSuccessAt, failingSince, problem } = delivery;
  return {
    ...view,
    delivery: {
      position: formatPosition(position),
      pending,
      pending_is_exact: isExact,
      oldest_pending_at: oldestPendingAt ?? null,
      blocked,
      failed,
      last_success_at: lastSuccessAt ?? null,
      failing_since: failingSince ?? null,
      problem: problem ?? null,
    },
  };
}

export type WebhookView = ReturnType<typeof toWebhookView>;
export type WebhookStatusView = ReturnType<typeof toWebhookStatusView>;

interface WebhookPorts extends StartPorts {
  stateStore: StateStore;
  directory: WebhookDirectory;
  /** Which workspaces are active. */
  keys: Pick<KeyDirectory, 'known'>;
  /** The names of those who create webhooks. */
  names: PrincipalNames;
  /** Where messages may be sent. */
  addresses: EgressPolicy;
  secretsKeys: SecretsKeys;
}

/** A newly created secret (`whsec_…`); it is shown only this once. */
export interface NewSecret {
  webhook: WebhookView;
  secret: string;
}

/**
 * The webhooks of workspaces, and changes to them, each made once, however often a caller with the same `earlier` try
 * asks for it. Each change is decided on the whole stream of webhooks and appended only if nobody changed it
 * meanwhile; otherwise it is decided again. Inputs are bodies as sent. Methods reject with `not_found` (also for
 * another workspace's webhook), `validation_failed`, `permission_denied`, `conflict`, `unavailable`.
 */
export class WebhookManager {
  readonly #ports: WebhookPorts;

  constructor(ports: WebhookPorts) {
    this.#ports = ports;
  }

  /** Resolves with all webhooks of a workspace, in the order of their creation, as of the log. */
  async all(workspace: string): Promise<Webhook[]> {
    await this.#ports.directory.refresh();
    return this.#ports.directory.all().filter((webhook) => isOf(webhook, workspace));
  }

  /** Resolves with those that a caller may work with. */
  async list(caller: WebhookCaller): Promise<Webhook[]> {
    return (await this.all(caller.workspace)).filter(({ payload }) => mayUsePayload(caller, payload));
  }

  /** Resolves with a webhook, as of the log. */
  async find(caller: WebhookCaller, id: string): Promise<Webhook> {
    await this.#ports.directory.refresh();
    return this.#find(caller, id);
  }

  /** Resolves with a webhook as people see it. */
  async view(webhook: Webhook): Promise<WebhookView> {
    const { names } = this.#ports;
    await names.learn([webhook.createdBy]);
    return toWebhookView(webhook, (principal) => names.nameOf(principal));
  }

  /** Resolves with webhooks as people see them, with their delivery status. */
  async views(webhooks: readonly Webhook[]): Promise<WebhookStatusView[]> {
    const statuses = await deliveryStatus(this.#ports.eventLog, this.#ports.stateStore, webhooks);
    const views = await Promise.all(webhooks.map((webhook) => this.view(webhook)));
    return views.map((view, index) => toWebhookStatusView(view, statuses[index] as DeliveryStatus));
  }

  /** Whether a workspace is deactivated: its webhooks send nothing until it is activated. */
  isDeactivated(workspace: string): boolean {
    const found = this.#ports.keys.known.workspaces.get(workspace);
    return found !== undefined && found.state !== 'active';
  }

  /**
   * Resolves with a page of a webhook's attempts in the last 30 days, newest first; its endpoint's responses, which
   * may repeat what was sent, are left out for callers who may not read events. The read is recorded in the audit
   * trail before the page is returned.
   */
  async attempts(
    caller: WebhookCaller,
    id: string,
    request: PageRequest,
    filter?: AttemptFilter,
  ): Promise<Page<DeliveryAttempt>> {
    await this.find(caller, id);
    return readAttempts(this.#ports, caller, id, request, filter);
  }

  /** Creates a webhook; rejects with `conflict` when the workspace has 100 of them, or is deleted. */
  async create(caller: WebhookCaller, input: unknown): Promise<NewSecret> {
    refuseDeleted(this.#ports.keys.known.workspaces.get(caller.workspace));
    const { start, ...sent } = validate(createWebhookSchema, input);
    const settings = settingsOf(sent);
    this.#check(caller, settings);
    const earlier = await this.#findPreviousAppend(caller);
    if (earlier) return this.#secretOf(earlier);
    const startAfter = await startPosition(this.#ports, caller.workspace, parseStart(start), 'start');
    const id = generateId('wh');
    const { secret, sealed } = await this.#newSecret({ workspace: caller.workspace, id });
    const data: WebhookCreated = {
      webhook_id: id,
      ...settings,
      start_after: startAfter,
      sealed_secret: sealed,
    };
    await this.#ports.directory.change(({ webhooks }) => {
      const others = [...webhooks.values()].filter((other) => isOf(other, caller.workspace));
      if (others.length >= MAX_WEBHOOKS) {
        throw tooManyWebhooks();
      }
      return newEvent(caller, 'WebhookCreated', { ...data });
    });
    const made = await this.#findPreviousAppend(caller);
    return made ? this.#secretOf(made) : { webhook: await this.view(this.#find(caller, id)), secret };
  }

  /**
   * Changes settings, then the state; what already has the requested value is not changed, and no event says that it
   * was.
   */
  async update(caller: WebhookCaller, id: string, input: unknown): Promise<WebhookView> {
    const { state, ...sent } = validate(updateWebhookSchema, input);
    const onlyDisables = state === 'disabled' && Object.keys(sent).length === 0;
    const earlier = await this.#findPreviousAppend(caller);
    let settingsChanged = earlier !== undefined;
    const webhook = await this.#change(caller, id, (before) => {
      const { url = before.url, payload = before.payload } = sent;
      const settings = settingsOf({ ...before, ...sent, url, payload });
      if (!onlyDisables) this.#check(caller, settings);
      const changed = changedSettings(settingsOf(before), settings);
      settingsChanged = changed !== undefined;
      return changed && newEvent(caller, 'WebhookUpdated', { webhook_id: id, ...changed });
    });
    const stateChanged = earlier !== undefined && earlier.type !== 'WebhookUpdated';
    if (state === undefined || stateChanged) return this.view(webhook);
    // The request's id is that of its first event.
    const secondId = deterministicEventId(eventIdOf(caller), 'state');
    const second = caller.earlier && { eventId: secondId, appended: false };
    const after = await this.#change({ ...caller, earlier: second }, id, (before) => {
      if (before.state === state) return undefined;
      const reason = state === 'disabled' ? { reason: 'caller' } : {};
      const type = state === 'disabled' ? 'WebhookDisabled' : 'WebhookEnabled';
      const event = newEvent(caller, type, { webhook_id: id, ...reason });
      return settingsChanged ? { ...event, id: secondId } : event;
    });
    return this.view(after);
  }

  /** Deletes a webhook permanently; nothing more is sent. */
  async delete(caller: WebhookCaller, id: string): Promise<void> {
    await this.#change(caller, id, () => newEvent(caller, 'WebhookDeleted', { webhook_id: id }));
  }

  /** Gives a webhook a new secret; the previous one also signs for the time asked for. */
  async rotateSecret(caller: WebhookCaller, id: string, input: unknown): Promise<NewSecret> {
    const { overlap_seconds } = validate(rotateSecretSchema, input);
    const earlier = await this.#findPreviousAppend(caller);
    if (earlier) return this.#secretOf(earlier);
    const { secret, sealed } = await this.#newSecret(await this.find(caller, id));
    const webhook = await this.#change(caller, id, () => {
      const data: WebhookSecretRotated = {
        webhook_id: id,
        sealed_secret: sealed,
        previous_expires_at: new Date(Date.now() + overlap_seconds * 1000).toISOString(),
      };
      return newEvent(caller, 'WebhookSecretRotated', { ...data });
    });
    const made = await this.#findPreviousAppend(caller);
    return made ? this.#secretOf(made) : { webhook: await this.view(webhook), secret };
  }

  /**
   * Requests a message that only shows that messages arrive; resolves with its id. Rejects with `conflict` when
   * nothing may be sent.
   */
  async ping(caller: WebhookCaller, id: string): Promise<string> {
    await this.#change(caller, id, (webhook) => {
      this.#requireSending(webhook);
      return newEvent(caller, 'WebhookPinged', { webhook_id: id });
    });
    return messageId(id, eventIdOf(caller));
  }

  /** Has everything that is waiting tried now; rejects with `conflict` when nothing may be sent. */
  async retry(caller: WebhookCaller, id: string): Promise<void> {
    await this.#change(caller, id, (webhook) => {
      this.#requireSending(webhook);
      return newEvent(caller, 'WebhookRetryRequested', { webhook_id: id });
    });
  }

  /** Requests that messages be sent again; rejects with `conflict` when nothing may be sent. */
  async replay(caller: WebhookCaller, id: string, input: unknown): Promise<void> {
    const replay = parseReplay(input);
    await this.find(caller, id);
    const request = await replayRequest(this.#ports, caller.workspace, id, replay);
    await this.#change(caller, id, (webhook) => {
      this.#requireSending(webhook);
      return newEvent(caller, 'WebhookReplayRequested', { webhook_id: id, ...request });
    });
  }

  async #change(
    caller: WebhookCaller,
    id: string,
    decide: (webhook: Webhook) => NewEvent | undefined,
  ): Promise<Webhook> {
    const { directory } = this.#ports;
    if (await this.#findPreviousAppend(caller)) await directory.refresh();
    else await directory.change(() => decide(this.#find(caller, id)));
    return directory.find(id) as Webhook;
  }

  /** Also called after an append: the event that it leads to may be that of an earlier try, whose append came late. */
  #findPreviousAppend(caller: WebhookCaller): Promise<RecordedEvent | undefined> {
    return findPreviousAppend(this.#ports.eventLog, WEBHOOKS_STREAM, caller);
  }

  /** Resolves with the secret that an event gave a webhook, and the webhook. */
  async #secretOf({ data, metadata: { workspace } }: RecordedEvent): Promise<NewSecret> {
    const { directory, secretsKeys } = this.#ports;
    const { webhook_id: id, sealed_secret } = dataAs<WebhookCreated | WebhookSecretRotated>(data);
    await directory.refresh();
    const webhook = await this.view(directory.find(id) as Webhook);
    return { webhook, secret: unsealWith(await secretsKeys(true), { workspace, id }, sealed_secret) };
  }

  /** Generates a secret for a webhook and seals it. */
  async #newSecret(owner: SecretOwner): Promise<{ secret: string; sealed: string }> {
    const secret = generateSecret();
    const [key] = await this.#ports.secretsKeys(true);
    return { secret, sealed: encryptSecret(key as Uint8Array, owner, secret) };
  }

  #find(caller: WebhookCaller, id: string): Webhook {
    const webhook = this.#ports.directory.find(id);
    if (!webhook || !isOf(webhook, caller.workspace)) {
      throw notFound('Webhook');
    }
    requirePayload(caller, webhook.payload);
    return webhook;
  }

  #requireSending({ state, workspace }: Webhook): void {
    if (state !== 'enabled') throw webhookDisabled();
    if (this.isDeactivated(workspace)) {
      throw new ServiceError('conflict', 'The workspace is deactivated; activate it first.');
    }
  }

  #check(caller: WebhookCaller, settings: WebhookSettings): void {
    const complaint = checkUrl(settings.url, this.#ports.addresses);
    if (complaint !== undefined) throw validationError([{ field: 'url', message: complaint }]);
    checkFilters(settings);
    requirePayload(caller, settings.payload);
  }
}

function isOf({ workspace, state }: Webhook, of: string): boolean {
  return workspace === of && state !== 'deleted';
}

interface DeleteKeyPorts {
  keys: KeyManager;
  webhooks: WebhookDirectory;
  /** The existing keys. */
  known: Readonly<KeyState>;
  actor: Actor;
}

/**
 * Deletes a key permanently, and then disables the webhooks that were created with it unless they are to be kept.
 * Resolves with those webhooks that send, or would continue to send. Can be repeated if interrupted. Rejects with
 * `not_found` and `unavailable`.
 */
export async function deleteKey(
  { keys, webhooks, known, actor }: DeleteKeyPorts,
  id: string,
  { keepWebhooks = false } = {},
): Promise<Webhook[]> {
  // First, so that nothing more can be created with it.
  await keys.setKeyState(id, 'deleted');
  await webhooks.refresh();
  const found = webhooksOfKey(webhooks.all(), known, id);
  if (keepWebhooks) return found;
  for (const { id: webhook_id, workspace } of found) {
    await webhooks.change(({ webhooks: all }) => {
      if (all.get(webhook_id)?.state !== 'enabled') return undefined;
      return newActorEvent(actor, workspace, 'WebhookDisabled', { webhook_id, reason: 'key_deleted' });
    });
  }
  return found;
}

/** Returns the enabled webhooks that were created with a key, or with one that it replaced. */
export function webhooksOfKey(
  webhooks: readonly Webhook[],
  known: Pick<KeyState, 'keys'>,
  id: string,
): Webhook[] {
  const all = keysOfSender(known, id);
  const ids = new Set(all.slice(0, all.indexOf(id) + 1));
  return webhooks.filter(
    ({ state, createdBy }) => state === 'enabled' && createdBy.type === 'api_key' && ids.has(createdBy.id),
  );
}

/**
 * Disables a webhook on the service's own behalf. Changes nothing when somebody disabled or deleted it, enabled it
 * again or gave it another URL since `webhook` was read: what was found out then no longer holds.
 */
export async function disableWebhook(
  directory: WebhookDirectory,
  webhook: Webhook,
  reason: Extract<DisabledReason, 'gone' | 'failing'>,
): Promise<void> {
  const caller = serviceCaller(webhook);
  await directory.change(({ webhooks }) => {
    const { state, url, enabledAt } = webhooks.get(webhook.id) ?? webhook;
    if (state !== 'enabled' || url !== webhook.url || enabledAt !== webhook.enabledAt) return undefined;
    return newEvent(caller, 'WebhookDisabled', { webhook_id: webhook.id, reason });
  });
}

/** A webhook that sends nothing: it is disabled, or its last attempt was not accepted. */
export interface WebhookProblem {
  webhook: Webhook;
  /** Since when nothing was accepted, in milliseconds since 1970; undefined for one that is disabled. */
  failingSince: number | undefined;
}

/** Resolves with the webhooks of a workspace that send nothing. Rejects with `unavailable`. */
export async function webhookProblems(
  { webhooks, stateStore }: { webhooks: Pick<WebhookManager, 'all'>; stateStore: StateStore },
  workspace: string,
): Promise<WebhookProblem[]> {
  const all = await webhooks.all(workspace);
  const enabled = all.filter(({ state }) => state === 'enabled').map(({ id }) => id);
  const positions = await loadPositions(stateStore, enabled);
  return all.flatMap((webhook): WebhookProblem[] => {
    if (webhook.state !== 'enabled') return [{ webhook, failingSince: undefined }];
    const since = positions.get(webhook.id)?.at.failing?.since;
    return since === undefined ? [] : [{ webhook, failingSince: since }];
  });
}
