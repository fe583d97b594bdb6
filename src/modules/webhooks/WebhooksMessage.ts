/** What the thread that delivers webhooks reports to the service, for its log. */
export type WebhooksMessage =
  | { kind: 'delayed'; webhookId: string; error: Record<string, unknown> }
  | { kind: 'state_lost'; webhookId: string }
  | { kind: 'unreadable'; webhookId: string; eventId: string; position: number };
