import type { NewEvent } from '../../domain/events/event.ts';
import { WEBHOOKS_STREAM } from '../../domain/events/streamNames.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { FollowedStream } from '../auth/FollowedStream.ts';
import { emptyWebhooks, evolveWebhooks, type Webhook, type Webhooks } from './webhook.ts';

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
