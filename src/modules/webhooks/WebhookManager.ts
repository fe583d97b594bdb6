import { dataAs, type NewEvent, type RecordedEvent } from '../../domain/events/event.ts';
import { eventIdOf, newEvent } from '../../domain/events/newEvent.ts';
import { WEBHOOKS_STREAM } from '../../domain/events/streamNames.ts';
import { validate, validationError } from '../../domain/records/schema/validate.ts';
import { notFound, ServiceError } from '../../platform/errors.ts';
import type { StateStore } from '../../storage/stateStore.ts';
import { generateId } from '../auth/apiKey.ts';
import type { KeyDirectory } from '../auth/KeyDirectory.ts';
import { derivedEventId } from '../idempotency/derivedEventId.ts';
import { findEarlier } from '../idempotency/findEarlier.ts';
import type { PrincipalNames } from '../records/queries/PrincipalNames.ts';
import type { Page, PageRequest } from '../records/queries/page.ts';
import type { AddressRules } from './addressRules.ts';
import type { AttemptFilter, DeliveryAttempt } from './attempts.ts';
import { checkUrl } from './checkUrl.ts';
import { type DeliveryStatus, deliveryStatus } from './deliveryStatus.ts';
import { type SecretsKeys, unsealWith } from './openSecrets.ts';
import { mayUsePayload, requirePayload, type WebhookCaller } from './payloadPermissions.ts';
import { readAttempts } from './readAttempts.ts';
import { replayRequest } from './replayRequest.ts';
import { generateSecret, type SecretOwner, seal } from './sealSecret.ts';
import { type StartPorts, startPosition } from './startPosition.ts';
import type { WebhookDirectory } from './WebhookDirectory.ts';
import type { Webhook, WebhookCreated, WebhookSecretRotated, WebhookSettings } from './webhook.ts';
import { messageId } from './webhookMessage.ts';
import { MAX_WEBHOOKS, tooManyWebhooks, webhookDisabled } from './webhookRefusals.ts';
import {
  changedSettings,
  checkFilters,
  createWebhookSchema,
  parseReplay,
  parseStart,
  rotateSecretSchema,
  settingsOf,
  updateWebhookSchema,
} from './webhookSettings.ts';
import {
  toWebhookStatusView,
  toWebhookView,
  type WebhookStatusView,
  type WebhookView,
} from './webhookView.ts';

export interface WebhookPorts extends StartPorts {
  stateStore: StateStore;
  directory: WebhookDirectory;
  /** Which workspaces are active. */
  keys: Pick<KeyDirectory, 'known'>;
  /** The names of those who create webhooks. */
  names: PrincipalNames;
  /** Where messages may be sent. */
  addresses: AddressRules;
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
    return this.#ports.keys.known.workspaces.get(workspace)?.state === 'deactivated';
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

  /** Creates a webhook; rejects with `conflict` when the workspace has 100 of them. */
  async create(caller: WebhookCaller, input: unknown): Promise<NewSecret> {
    const { start, ...sent } = validate(createWebhookSchema, input);
    const settings = settingsOf(sent);
    this.#check(caller, settings);
    const earlier = await this.#findEarlier(caller);
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
    const made = await this.#findEarlier(caller);
    return made ? this.#secretOf(made) : { webhook: await this.view(this.#find(caller, id)), secret };
  }

  /**
   * Changes settings, then the state; what already has the requested value is not changed, and no event says that it
   * was.
   */
  async update(caller: WebhookCaller, id: string, input: unknown): Promise<WebhookView> {
    const { state, ...sent } = validate(updateWebhookSchema, input);
    const onlyDisables = state === 'disabled' && Object.keys(sent).length === 0;
    const earlier = await this.#findEarlier(caller);
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
    const secondId = derivedEventId(eventIdOf(caller), 'state');
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
    const earlier = await this.#findEarlier(caller);
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
    const made = await this.#findEarlier(caller);
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
    if (await this.#findEarlier(caller)) await directory.refresh();
    else await directory.change(() => decide(this.#find(caller, id)));
    return directory.find(id) as Webhook;
  }

  /** Also called after an append: the event that it leads to may be that of an earlier try, whose append came late. */
  #findEarlier(caller: WebhookCaller): Promise<RecordedEvent | undefined> {
    return findEarlier(this.#ports.eventLog, WEBHOOKS_STREAM, caller);
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
    return { secret, sealed: seal(key as Uint8Array, owner, secret) };
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
